// SPDX-License-Identifier: BSD-3-Clause
/* Collective calls that members of a communicator are missing in, or do not agree on: see hang.h. */
#include "analysis/hang_parts.h"

#include <stdlib.h>

#define MOST_TURNS 64 /* more than are shown */

static bool is_numbered(const struct ar_open_call *open)
{
    return open->kind >= AR_SYNC_BARRIER && open->kind <= AR_SYNC_SCAN && open->comm &&
           open->n_requests <= 1 && !(open->flags & AR_CALL_ANY_REQUEST);
}

/* Which turn a thread is in. false: in none. */
static bool turn_of(const struct ar_profile *p, const struct ar_hang_thread *t,
                    struct ar_hang_turn *turn)
{
    if (t->call == AR_NO_ID || t->is_dead)
        return false;
    *turn = (struct ar_hang_turn){.comm = ar_comm_shown(p, t->open.comm),
                                  .function = p->nodes[t->call].function};
    if (is_numbered(&t->open)) {
        turn->comm = t->open.comm;
        turn->has_number = true;
        turn->number = t->open.sequence + 1;
        turn->function = 0;
        return true;
    }
    return ar_hang_is_collective(p, t->call);
}

static bool is_same_turn(const struct ar_hang_turn *a, const struct ar_hang_turn *b)
{
    return a->comm == b->comm && a->has_number == b->has_number && a->number == b->number &&
           a->function == b->function;
}

static bool is_in(const struct ar_profile *p, const struct ar_hang_turn *turn,
                  const struct ar_hang_thread *t)
{
    struct ar_hang_turn other;

    return turn_of(p, t, &other) && is_same_turn(turn, &other);
}

/* Those that wait are the reason for a turn; others may have come to it meanwhile. */
static void list_turns(struct ar_hang *out, const struct ar_profile *p)
{
    for (size_t i = 0; i < out->n_threads; i++) {
        struct ar_hang_turn turn;
        size_t k = 0;

        if (!out->threads[i].waits || !turn_of(p, &out->threads[i], &turn))
            continue;
        while (k < out->n_turns && !is_same_turn(&out->turns[k], &turn))
            k++;
        if (k == out->n_turns && k < MOST_TURNS)
            out->turns[out->n_turns++] = turn;
    }
}

/* By process: which ranks are in it. */
static void mark_in(const struct ar_hang *hang, const struct ar_hang_turn *turn, bool *is_here)
{
    for (size_t i = 0; i < turn->n_in; i++)
        is_here[hang->threads[turn->in[i]].process] = true;
}

static void add_missing(const struct ar_hang *hang, struct ar_hang_turn *turn, uint32_t process,
                        bool *is_here)
{
    uint32_t rank = ar_hang_rank_of(hang, process);

    if (rank != AR_NO_ID && !is_here[process])
        turn->missing[turn->n_missing++] = rank;
    is_here[process] = true;
}

/* A rank that has completed a call of that number, as the root of a broadcast does before others come, is not missing. */
static void find_missing(const struct ar_hang *hang, struct ar_hang_turn *turn, bool *is_here)
{
    size_t n;
    const struct ar_member *members = ar_hang_members_of(hang, turn->comm, &n);

    mark_in(hang, turn, is_here);
    if (!turn->comm)
        for (size_t i = 0; i < hang->n_ranks; i++)
            add_missing(hang, turn, hang->threads[i].process, is_here);
    for (size_t i = 0; i < n; i++)
        if (!turn->has_number || members[i].n_calls < turn->number)
            add_missing(hang, turn, members[i].process, is_here);
}

static bool is_rooted(const struct ar_open_call *open)
{
    return open->kind == AR_SYNC_FROM_ROOT || open->kind == AR_SYNC_TO_ROOT;
}

/* Of a call that was posted only its kind is known. */
static bool is_same_call(const struct ar_profile *p, const struct ar_hang_thread *a,
                         const struct ar_hang_thread *b)
{
    bool has_two = a->open.comm && p->comms[a->open.comm - 1].remote_size;

    if (a->open.kind != b->open.kind ||
        (is_rooted(&a->open) && !has_two && a->open.peer != b->open.peer))
        return false;
    return a->open.n_requests || b->open.n_requests ||
           p->nodes[a->node].function == p->nodes[b->node].function;
}

static void look_at_calls(const struct ar_hang *hang, const struct ar_profile *p,
                          struct ar_hang_turn *turn)
{
    for (size_t i = 0; i < turn->n_in; i++) {
        const struct ar_hang_thread *t = &hang->threads[turn->in[i]];

        if (t->still_ns > turn->most_ns)
            turn->most_ns = t->still_ns;
        if (turn->has_number && !is_same_call(p, t, &hang->threads[turn->in[0]]))
            turn->is_mismatch = true;
    }
}

static enum ar_status fill_turn(const struct ar_hang *hang, const struct ar_profile *p,
                                struct ar_hang_turn *turn)
{
    bool *is_here = calloc(p->n_roots + 1, sizeof *is_here);

    turn->in = calloc(hang->n_threads + 1, sizeof *turn->in);
    turn->missing = calloc(hang->n_ranks + 1, sizeof *turn->missing);
    if (!turn->in || !turn->missing || !is_here) {
        free(is_here);
        return AR_NOMEM;
    }
    for (uint32_t i = 0; i < hang->n_threads; i++)
        if (is_in(p, turn, &hang->threads[i]))
            turn->in[turn->n_in++] = i;
    find_missing(hang, turn, is_here);
    look_at_calls(hang, p, turn);
    free(is_here);
    return AR_OK;
}

void ar_hang_free_turn(struct ar_hang_turn *turn)
{
    free(turn->in);
    free(turn->missing);
}

static int worst_first(const void *a, const void *b)
{
    const struct ar_hang_turn *x = a, *y = b;

    if (x->is_mismatch != y->is_mismatch)
        return x->is_mismatch ? -1 : 1;
    if (x->n_in != y->n_in)
        return x->n_in > y->n_in ? -1 : 1;
    return (x->in[0] > y->in[0]) - (x->in[0] < y->in[0]);
}

/* A turn that all have come to goes on, and is none to report. */
enum ar_status ar_hang_find_turns(struct ar_hang *out, const struct ar_profile *p)
{
    enum ar_status status = AR_OK;
    size_t n = 0;

    list_turns(out, p);
    for (size_t i = 0; i < out->n_turns; i++) {
        struct ar_hang_turn turn = out->turns[i];

        if (status == AR_OK)
            status = fill_turn(out, p, &turn);
        if (status == AR_OK && (turn.n_missing || turn.is_mismatch))
            out->turns[n++] = turn;
        else
            ar_hang_free_turn(&turn);
    }
    out->n_turns = n;
    if (status == AR_OK && n)
        qsort(out->turns, n, sizeof *out->turns, worst_first);
    for (uint32_t i = 0; i < n; i++)
        for (size_t k = 0; k < out->turns[i].n_in; k++)
            out->threads[out->turns[i].in[k]].turn = i;
    return status;
}
