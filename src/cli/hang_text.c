// SPDX-License-Identifier: BSD-3-Clause
#include "cli/hang_text.h"

#include "analysis/hang.h"
#include "cli/screen.h"
#include "findings/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* There are other things on the screen. */
#define MOST_SHOWN_TURNS 2
#define MOST_PLACES 3 /* of missing ranks, and of ranks that wait for messages */
#define MOST_OF_CIRCLE 3

/* ---- sentences -------------------------------------------------------------------------------- */

struct sentence {
    char text[1024];
    size_t n;
};

static void add(struct sentence *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct sentence *s, const char *format, ...)
{
    size_t room = sizeof s->text - s->n;
    va_list arguments;

    va_start(arguments, format);

    int n = vsnprintf(s->text + s->n, room, format, arguments);

    va_end(arguments);
    if (n > 0)
        s->n += (size_t)n < room ? (size_t)n : room - 1;
}

static size_t print_sentence(const struct sentence *s)
{
    ar_print("    ");
    return ar_print_wrapped(s->text, ar_screen_columns() - 1, 4, NULL);
}

struct telling {
    const struct ar_profile *p;
    struct ar_hang hang;
    bool *is_shown;      /* by thread */
    uint32_t *processes; /* room for all ranks */
};

/* ---- places ----------------------------------------------------------------------------------- */

static const char *name_of(const struct ar_profile *p, uint32_t node)
{
    return ar_strtab_text(&p->strings, p->functions[p->nodes[node].function].name);
}

static bool is_in_c(const struct ar_profile *p, uint32_t node)
{
    return p->functions[p->nodes[node].function].kind == AR_FUNCTION_BUILTIN;
}

/* " at solver.py:12", or nothing where no line is known. */
static void add_at(struct sentence *s, const struct ar_profile *p, uint32_t node)
{
    const char *line = ar_show_line(p, ar_place_of_call(p, node));

    if (*line)
        add(s, " at %s", line);
}

static void add_call(struct sentence *s, const struct ar_profile *p, uint32_t call)
{
    add(s, "%s", name_of(p, call));
    add_at(s, p, call);
}

/* A function in C has no line: the function that called it, and the line of that call. */
static void add_code(struct sentence *s, const struct ar_profile *p, uint32_t node)
{
    uint32_t code = node, called = AR_NO_ID;

    while (code && is_in_c(p, code)) {
        called = code;
        code = p->nodes[code].parent;
    }
    add(s, "%s", name_of(p, code));
    if (called == AR_NO_ID)
        add(s, " (%s)", ar_show_place(p, code));
    else
        add_at(s, p, called);
}

/* "MPI_COMM_WORLD", "a communicator of ranks 0,2,4" */
static void add_comm(struct sentence *s, struct telling *w, uint32_t comm)
{
    const struct ar_comm *c = &w->p->comms[comm - 1];
    uint32_t *members = malloc((ar_hang_members(&w->hang, comm, NULL) + 1) * sizeof *members);
    size_t n = members ? ar_hang_members(&w->hang, comm, members) : 0;
    const char *what = c->origin == AR_COMM_WINDOW ? "a window"
                       : c->origin == AR_COMM_FILE ? "a file"
                                                   : "a communicator";

    if (c->origin == AR_COMM_WORLD)
        add(s, "MPI_COMM_WORLD");
    else if (c->name)
        add(s, "%s", ar_strtab_text(&w->p->strings, c->name));
    else
        add(s, "%s", what);
    if (c->origin != AR_COMM_WORLD && n)
        add(s, " of %s", ar_show_ranks(w->p, members, n));
    free(members);
}

/* " on MPI_COMM_WORLD (number 17 on it)" */
static void add_turn(struct sentence *s, struct telling *w, const struct ar_hang_turn *turn)
{
    if (!turn->comm)
        return;
    add(s, " on ");
    add_comm(s, w, turn->comm);
    if (turn->has_number)
        add(s, " (number %u on it)", turn->number);
}

/* ---- what a thread waits for ------------------------------------------------------------------ */

static void add_tag(struct sentence *s, const struct ar_hang_thread *t)
{
    if ((int32_t)t->open.sequence < 0)
        add(s, " (any tag)");
    else
        add(s, " (tag %u)", t->open.sequence);
}

static void add_peer(struct sentence *s, const struct telling *w, const struct ar_hang_thread *t)
{
    if (t->peer != AR_NO_ID)
        add(s, "%s", ar_show_process(w->p, w->hang.threads[t->peer].process));
    else if (t->open.peer == AR_PEER_UNKNOWN)
        add(s, "any rank");
    else
        add(s, "rank %u of its communicator", t->open.peer);
}

/* "from rank 1 (tag 7)" */
static void add_message(struct sentence *s, const struct telling *w, const struct ar_hang_thread *t)
{
    add(s, "%s ", ar_hang_is_send(t) ? "to" : "from");
    add_peer(s, w, t);
    add_tag(s, t);
}

static bool is_of_message(const struct ar_hang_thread *t)
{
    return t->open.kind == AR_SYNC_SEND || t->open.kind == AR_SYNC_RECEIVE ||
           t->open.kind == AR_SYNC_PROBE;
}

/* "for 4 requests, the first a receive from rank 1 (tag 7)" */
static void add_requests(struct sentence *s, const struct telling *w,
                         const struct ar_hang_thread *t)
{
    bool is_any = t->open.flags & AR_CALL_ANY_REQUEST;

    if (t->open.n_requests == 1)
        add(s, "for a request");
    else
        add(s, "for %s%u requests", is_any ? "one of " : "", t->open.n_requests);
    if (t->open.n_requests > 1 && is_of_message(t)) {
        add(s, ", the first a %s ", ar_hang_is_send(t) ? "send" : "receive");
        add_message(s, w, t);
    }
}

/* After "waits": "for a message from rank 1 (tag 7) at halo.py:51" */
static void add_wait(struct sentence *s, const struct telling *w, const struct ar_hang_thread *t)
{
    if (t->open.n_requests > 1 || !is_of_message(t)) {
        add_requests(s, w, t);
    } else if (ar_hang_is_send(t)) {
        add(s, "for ");
        add_peer(s, w, t);
        add(s, " to receive its message");
        add_tag(s, t);
    } else {
        add(s, "for a message ");
        add_message(s, w, t);
    }
    add_at(s, w->p, t->call);
}

/* Does it wait for a message or a request? Methods of mpi4py that are made of messages count as what they are. */
static bool is_message_wait(const struct telling *w, const struct ar_hang_thread *t)
{
    uint32_t index = (uint32_t)(t - w->hang.threads);

    for (size_t i = 0; i < w->hang.n_messages; i++)
        if (w->hang.messages[i] == index)
            return true;
    return false;
}

static void add_in_code(struct sentence *s, const struct telling *w, const struct ar_hang_thread *t,
                        bool are_several)
{
    const struct ar_hang_thread *beside =
        ar_hang_waiting(&w->hang, (uint32_t)(t - w->hang.threads));

    add(s, "%s %s ", are_several ? "are" : "is", t->is_blocked ? "in" : "computing in");
    add_code(s, w->p, t->node);
    if (beside != t) {
        add(s, ", while %s thread %s waits ", are_several ? "their" : "its",
            ar_strtab_text(&w->p->strings, w->p->locations[beside->location].name));
        add_wait(s, w, beside);
    }
}

/* "is computing in assemble (model.py:12)"; "has left the script and is in MPI_Finalize" */
static void add_where(struct sentence *s, struct telling *w, const struct ar_hang_thread *t,
                      bool are_several)
{
    const char *is = are_several ? "are" : "is", *has = are_several ? "have" : "has";

    if (t->node == AR_NO_ID) {
        add(s, "%s finished", has);
    } else if (t->is_dead) {
        add(s, "died in ");
        add_code(s, w->p, t->call == AR_NO_ID ? t->node : t->call);
    } else if (t->call == AR_NO_ID) {
        add_in_code(s, w, t, are_several);
    } else if (t->circle) {
        add(s, "%s in a circle, see below", are_several ? "wait" : "waits");
    } else if (is_message_wait(w, t)) {
        add(s, "%s ", are_several ? "wait" : "waits");
        add_wait(s, w, t);
    } else {
        if (w->p->nodes[t->call].parent == 0)
            add(s, "%s left the script and ", has);
        add(s, "%s in ", is);
        add_call(s, w->p, t->call);
        if (t->turn != AR_NO_ID)
            add_turn(s, w, &w->hang.turns[t->turn]);
    }
}

/* ---- collective calls ------------------------------------------------------------------------- */

/* Of a killed job that is how long it is known to have gone on, which may be next to nothing. */
static const char *show_time(const struct telling *w, uint64_t ns)
{
    char *text = ar_text_buffer();

    snprintf(text, AR_TEXT_BYTES, "for %s%s", w->hang.is_running ? "" : "at least ",
             ar_show_duration((double)ns));
    return text;
}

static const char *show_ranks(const struct telling *w, const uint32_t *threads, size_t n)
{
    for (size_t i = 0; i < n; i++)
        w->processes[i] = w->hang.threads[threads[i]].process;
    return ar_show_ranks(w->p, w->processes, n);
}

static bool is_same_place(const struct telling *w, uint32_t a, uint32_t b)
{
    return w->hang.threads[a].call == w->hang.threads[b].call;
}

static size_t print_turn_head(struct telling *w, const struct ar_hang_turn *turn)
{
    const struct ar_hang_thread *first = &w->hang.threads[turn->in[0]];
    bool is_one_place = true;
    struct sentence s = {.n = 0};

    for (size_t i = 1; i < turn->n_in; i++)
        is_one_place = is_one_place && is_same_place(w, turn->in[0], turn->in[i]);
    add(&s, "%s", name_of(w->p, first->call));
    if (is_one_place)
        add_at(&s, w->p, first->call);
    if (first->open.n_requests)
        add(&s, " for a collective call");
    add_turn(&s, w, turn);
    add(&s, ": %s %s waited %s", show_ranks(w, turn->in, turn->n_in),
        turn->n_in == 1 ? "has" : "have", show_time(w, turn->most_ns));
    return print_sentence(&s);
}

/* AR_NO_ID: it has none, or is one itself between two groups. */
static uint32_t root_of(const struct ar_hang_thread *t)
{
    bool is_rooted = t->open.kind == AR_SYNC_FROM_ROOT || t->open.kind == AR_SYNC_TO_ROOT;

    return is_rooted && t->open.peer < AR_PEER_UNKNOWN ? t->open.peer : AR_NO_ID;
}

/* Ranks that are at the same place and name the same root, from one on; those are shown then. */
static size_t take_same_place(struct telling *w, const struct ar_hang_turn *turn, size_t first,
                              uint32_t *out)
{
    size_t n = 0;

    for (size_t i = first; i < turn->n_in; i++)
        if (!w->is_shown[turn->in[i]] && is_same_place(w, turn->in[first], turn->in[i]) &&
            root_of(&w->hang.threads[turn->in[first]]) == root_of(&w->hang.threads[turn->in[i]])) {
            w->is_shown[turn->in[i]] = true;
            out[n++] = turn->in[i];
        }
    return n;
}

/* "rank 0 is in MPI_Bcast at a.py:3 (root 1), rank 1 in MPI_Reduce at a.py:5 (root 1): a mismatch …" */
static size_t print_mismatch(struct telling *w, const struct ar_hang_turn *turn, uint32_t *same)
{
    struct sentence s = {.n = 0};
    size_t n_places = 0, n_more = 0;

    for (size_t i = 0; i < turn->n_in; i++) {
        const struct ar_hang_thread *t = &w->hang.threads[turn->in[i]];

        if (w->is_shown[turn->in[i]])
            continue;
        if (n_places == MOST_PLACES) {
            n_more++;
            continue;
        }
        n_places++;

        size_t n = take_same_place(w, turn, i, same);

        add(&s, "%s%s %s ", n_places > 1 ? ", " : "", show_ranks(w, same, n),
            n_places > 1 ? "in"
            : n == 1     ? "is in"
                         : "are in");
        add_call(&s, w->p, t->call);
        if (root_of(t) != AR_NO_ID)
            add(&s, " (root %u)", root_of(t));
    }
    if (n_more)
        add(&s, ", %s elsewhere", ar_show_items(n_more, "more rank", "more ranks"));
    add(&s, ": a mismatch, all in the same turn (number %u on ", turn->number);
    add_comm(&s, w, turn->comm);
    add(&s, ")");
    return print_sentence(&s);
}

/* A missing rank that waits for a message of one that is in the call. */
static bool is_mixed_circle(const struct telling *w, const struct ar_hang_turn *turn,
                            const struct ar_hang_thread *t)
{
    return is_message_wait(w, t) && t->peer != AR_NO_ID && t->open.n_requests <= 1 &&
           w->hang.threads[t->peer].turn == (uint32_t)(turn - w->hang.turns);
}

static size_t print_missing_at(struct telling *w, const struct ar_hang_turn *turn, size_t first)
{
    const struct ar_hang_thread *t = &w->hang.threads[turn->missing[first]];
    struct sentence one = {.n = 0}, s = {.n = 0};
    size_t n = 0;

    add_where(&one, w, t, false);
    for (size_t i = first; i < turn->n_missing; i++) {
        struct sentence other = {.n = 0};

        if (w->is_shown[turn->missing[i]])
            continue;
        add_where(&other, w, &w->hang.threads[turn->missing[i]], false);
        if (strcmp(one.text, other.text) != 0)
            continue;
        w->is_shown[turn->missing[i]] = true;
        w->processes[n++] = w->hang.threads[turn->missing[i]].process;
    }
    add(&s, "%s %s missing: %s ", ar_show_ranks(w->p, w->processes, n), n == 1 ? "is" : "are",
        n == 1 ? "it" : "they");
    add_where(&s, w, t, n > 1);
    if (is_mixed_circle(w, turn, t))
        add(&s, ", which is in this call: a circle");
    return print_sentence(&s);
}

/* Which ranks were shown is known of this turn alone: a rank may be missing in several. */
static size_t print_missing(struct telling *w, const struct ar_hang_turn *turn)
{
    size_t n_lines = 0, n_places = 0, n_more = 0;

    for (size_t i = 0; i < turn->n_missing; i++)
        w->is_shown[turn->missing[i]] = false;
    for (size_t i = 0; i < turn->n_missing; i++) {
        if (w->is_shown[turn->missing[i]])
            continue;
        if (n_places < MOST_PLACES) {
            n_lines += print_missing_at(w, turn, i);
            n_places++;
        } else {
            n_more++;
        }
    }
    if (n_more) {
        struct sentence s = {.n = 0};

        add(&s, "%s %s missing", ar_show_items(n_more, "more rank", "more ranks"),
            n_more == 1 ? "is" : "are");
        n_lines += print_sentence(&s);
    }
    return n_lines;
}

static size_t print_turns(struct telling *w)
{
    uint32_t *same = malloc((w->hang.n_threads + 1) * sizeof *same);
    size_t n_lines = 0;

    for (size_t i = 0; same && i < w->hang.n_turns && i < MOST_SHOWN_TURNS; i++) {
        const struct ar_hang_turn *turn = &w->hang.turns[i];

        n_lines += turn->is_mismatch ? print_mismatch(w, turn, same) : print_turn_head(w, turn);
        n_lines += print_missing(w, turn);
    }
    if (w->hang.n_turns > MOST_SHOWN_TURNS) {
        struct sentence s = {.n = 0};

        add(&s, "so do ranks in %s",
            ar_show_items(w->hang.n_turns - MOST_SHOWN_TURNS, "more collective call",
                          "more collective calls"));
        n_lines += print_sentence(&s);
    }
    free(same);
    return n_lines;
}

/* ---- messages --------------------------------------------------------------------------------- */

/* "rank 0, in thread worker,", where it is not the main one. */
static void add_waiting(struct sentence *s, const struct telling *w, const struct ar_hang_thread *t,
                        const char *who)
{
    const struct ar_location *at = &w->p->locations[t->location];

    add(s, "%s", who);
    if (at->thread)
        add(s, ", in thread %s,", ar_strtab_text(&w->p->strings, at->name));
}

/* The first of a circle says what all wait for, where the others do the same. */
static void add_of_circle(struct sentence *s, const struct telling *w, uint32_t rank, bool is_first,
                          bool is_same)
{
    const struct ar_hang_thread *t = ar_hang_waiting(&w->hang, rank);

    add(s, "%s", is_first ? "" : ", ");
    add_waiting(s, w, t, ar_show_process(w->p, t->process));
    add(s, " ");
    if (is_first || !is_same) {
        add(s, "waits ");
        add_wait(s, w, t);
    } else {
        add(s, "for one ");
        add_message(s, w, t);
        add_at(s, w->p, t->call);
    }
}

static bool all_receive(const struct telling *w, uint32_t first)
{
    uint32_t at = first;

    do {
        const struct ar_hang_thread *t = ar_hang_waiting(&w->hang, at);

        if (ar_hang_is_send(t))
            return false;
        at = t->peer;
    } while (at != first);
    return true;
}

/* Of two, where one sends what the other does not receive, that is the reason. */
static const char *show_reason(const struct telling *w, uint32_t first)
{
    const struct ar_hang_thread *a = ar_hang_waiting(&w->hang, first);
    const struct ar_hang_thread *b = ar_hang_waiting(&w->hang, a->peer);

    if (b->peer != first || ar_hang_is_send(a) == ar_hang_is_send(b))
        return "a circle";
    if (a->open.comm != b->open.comm)
        return "their communicators differ";
    return "the tags differ";
}

static size_t print_circle(const struct telling *w, uint32_t first)
{
    bool is_same = all_receive(w, first);
    struct sentence s = {.n = 0};
    uint32_t at = first;
    size_t n = 0;

    do {
        if (n < MOST_OF_CIRCLE)
            add_of_circle(&s, w, at, n == 0, is_same);
        n++;
        at = ar_hang_waiting(&w->hang, at)->peer;
    } while (at != first);
    if (n > MOST_OF_CIRCLE)
        add(&s, " and so on, %s", ar_show_items(n - MOST_OF_CIRCLE, "more rank", "more ranks"));
    add(&s, ": %s", show_reason(w, first));
    return print_sentence(&s);
}

static size_t print_circles(const struct telling *w)
{
    uint32_t n_seen = 0;
    size_t n_lines = 0;

    for (uint32_t i = 0; i < w->hang.n_ranks; i++)
        if (w->hang.threads[i].circle > n_seen) { /* they are numbered in this order */
            n_seen = w->hang.threads[i].circle;
            if (n_seen <= MOST_PLACES)
                n_lines += print_circle(w, i);
        }
    return n_lines;
}

static size_t print_message_of(struct telling *w, uint32_t first)
{
    const struct ar_hang_thread *t = &w->hang.threads[first];
    struct sentence one = {.n = 0}, s = {.n = 0};
    size_t n = 0;

    add_wait(&one, w, t);
    for (size_t i = 0; i < w->hang.n_messages; i++) {
        uint32_t each = w->hang.messages[i];
        struct sentence other = {.n = 0};

        if (w->is_shown[each])
            continue;
        add_wait(&other, w, &w->hang.threads[each]);
        if (each != first && strcmp(one.text, other.text) != 0)
            continue;
        w->is_shown[each] = true;
        w->processes[n++] = w->hang.threads[each].process;
    }
    add_waiting(&s, w, t, ar_show_ranks(w->p, w->processes, n));
    add(&s, " wait%s %s", n == 1 ? "s" : "", one.text);
    if (t->peer != AR_NO_ID) {
        add(&s, "; %s ", ar_show_process(w->p, w->hang.threads[t->peer].process));
        add_where(&s, w, &w->hang.threads[t->peer], false);
    } else if (t->open.peer == AR_PEER_UNKNOWN && !t->open.n_requests) {
        add(&s, ", and no rank can send one");
    }
    return print_sentence(&s);
}

/* What was said of a circle, or of a rank that is missing and waits for those in the call, is not said again. */
static bool is_said(const struct telling *w, uint32_t i)
{
    const struct ar_hang_thread *t = &w->hang.threads[i];

    for (uint32_t rank = 0; rank < w->hang.n_ranks; rank++)
        if (w->hang.threads[rank].process == t->process && w->hang.threads[rank].circle)
            return true;
    if (t->peer == AR_NO_ID || w->hang.threads[t->peer].turn >= MOST_SHOWN_TURNS)
        return false;

    const struct ar_hang_turn *turn = &w->hang.turns[w->hang.threads[t->peer].turn];

    for (size_t k = 0; k < turn->n_missing; k++)
        if (turn->missing[k] == i)
            return true;
    return false;
}

static size_t print_messages(struct telling *w)
{
    size_t n_lines = 0, n_places = 0, n_more = 0;

    for (size_t i = 0; i < w->hang.n_messages; i++)
        w->is_shown[w->hang.messages[i]] = is_said(w, w->hang.messages[i]);
    for (size_t i = 0; i < w->hang.n_messages; i++) {
        if (w->is_shown[w->hang.messages[i]])
            continue;
        if (n_places < MOST_PLACES) {
            n_lines += print_message_of(w, w->hang.messages[i]);
            n_places++;
        } else {
            n_more++;
        }
    }
    if (n_more) {
        struct sentence s = {.n = 0};

        add(&s, "%s for messages, too", n_more == 1 ? "1 more rank waits" : "more ranks wait");
        n_lines += print_sentence(&s);
    }
    return n_lines;
}

/* ---- all together ----------------------------------------------------------------------------- */

static const char *title_of(const struct ar_hang *hang)
{
    if (!hang->is_running)
        return "Where ranks were when the job was killed";
    return hang->is_certain ? "Where it hangs" : "Where ranks wait";
}

static size_t print_hang(struct telling *w)
{
    size_t n_lines = 2;

    ar_print("\n%s%s%s\n", ar_bold(), title_of(&w->hang), ar_plain());
    n_lines += print_turns(w);
    n_lines += print_circles(w);
    return n_lines + print_messages(w);
}

static bool is_any(const struct ar_hang *hang)
{
    return hang->n_turns || hang->n_messages;
}

size_t ar_print_hang(const struct ar_profile *p)
{
    struct telling w = {.p = p};
    size_t n_lines = 0;

    if (ar_hang_find(&w.hang, p) < 0)
        return 0;
    w.is_shown = calloc(w.hang.n_threads + 1, sizeof *w.is_shown);
    w.processes = malloc((w.hang.n_threads + 1) * sizeof *w.processes);
    if (w.is_shown && w.processes && is_any(&w.hang))
        n_lines = print_hang(&w);
    ar_hang_free(&w.hang);
    free(w.is_shown);
    free(w.processes);
    return n_lines;
}
