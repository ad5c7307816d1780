// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/hang.h"

#include "analysis/mpi_class.h"
#include "analysis/stacks.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LEAST_NS 1000000000u /* ranks are apart by less than that in programs that move */
#define MOST_TURNS 64        /* more than are shown */

static const struct ar_function *function_of(const struct ar_profile *p, uint32_t node)
{
    return &p->functions[p->nodes[node].function];
}

static const char *name_of(const struct ar_profile *p, uint32_t node)
{
    return ar_strtab_text(&p->strings, function_of(p, node)->name);
}

/* ---- where threads are ------------------------------------------------------------------------ */

/* The method of mpi4py around an MPI call, which may be made of messages; or else the call itself. */
static uint32_t find_call(const struct ar_profile *p, uint32_t node)
{
    uint32_t call = AR_NO_ID;

    for (; node != AR_NO_ID && node != 0; node = p->nodes[node].parent) {
        uint32_t kind = function_of(p, node)->kind;

        if (kind == AR_FUNCTION_OPERATION)
            return node;
        if (kind == AR_FUNCTION_MPI)
            call = node;
        else if (kind != AR_FUNCTION_BUILTIN)
            break;
    }
    return call;
}

static bool is_collective(const struct ar_profile *p, uint32_t call)
{
    static const char *const methods[] = {"barrier",  "bcast",  "gather",    "scatter", "allgather",
                                          "alltoall", "reduce", "allreduce", "scan",    "exscan"};
    const char *name = name_of(p, call), *dot = strrchr(name, '.');

    if (function_of(p, call)->kind == AR_FUNCTION_MPI)
        return strcmp(ar_mpi_class_of(name).name, "collective") == 0;
    for (size_t i = 0; dot && i < sizeof methods / sizeof *methods; i++)
        if (strncasecmp(dot + 1, methods[i], strlen(methods[i])) == 0)
            return true;
    return false;
}

/* Functions that do nothing but wait: the standard library's own, and functions in C. */
static bool is_blocking(const struct ar_profile *p, uint32_t node)
{
    static const char *const names[] = {"sleep", "acquire", "join", "get",  "select",
                                        "poll",  "wait",    "read", "recv", "accept"};
    static const char *const files[] = {"/threading.py", "/queue.py", "/selectors.py"};
    const struct ar_function *f = function_of(p, node);
    const char *name = ar_strtab_text(&p->strings, f->name);
    const char *file = ar_strtab_text(&p->strings, f->file);

    for (size_t i = 0; f->kind == AR_FUNCTION_PYTHON && i < sizeof files / sizeof *files; i++)
        if (ar_ends_with(file, files[i]))
            return true;
    for (size_t i = 0; f->kind == AR_FUNCTION_BUILTIN && i < sizeof names / sizeof *names; i++)
        if (strstr(name, names[i]))
            return true;
    return false;
}

/* A process that was killed waits no longer, however short it was: then this is where the job stopped. */
static struct ar_hang_thread thread_at(const struct ar_profile *p, uint32_t location)
{
    const struct ar_location *at = &p->locations[location];
    uint32_t node = at->current - 1, call = find_call(p, node);
    bool is_running = p->processes[at->process].state == AR_PROCESS_RUNNING;
    struct ar_hang_thread thread = {.process = at->process,
                                    .location = location,
                                    .node = node,
                                    .call = call,
                                    .still_ns = ar_stacks_still_ns(p, location),
                                    .is_blocked = call == AR_NO_ID && is_blocking(p, node),
                                    .peer = AR_NO_ID,
                                    .turn = AR_NO_ID,
                                    .beside = AR_NO_ID,
                                    .open = at->open};

    thread.waits = call != AR_NO_ID && (!is_running || thread.still_ns >= LEAST_NS);
    return thread;
}

static int by_process(const void *a, const void *b)
{
    const struct ar_hang_thread *x = a, *y = b;

    return (x->process > y->process) - (x->process < y->process);
}

/* A process of another host cannot be told to be dead. */
static bool runs_on(const struct ar_profile *p, uint32_t host)
{
    for (uint32_t i = 0; i < p->n_roots; i++)
        if (p->processes[i].host == host && p->processes[i].state == AR_PROCESS_RUNNING)
            return true;
    return false;
}

static void find_dead(struct ar_hang *out, const struct ar_profile *p)
{
    for (size_t i = 0; i < out->n_ranks; i++) {
        struct ar_hang_thread *t = &out->threads[i];
        const struct ar_process *process = &p->processes[t->process];

        out->is_running = out->is_running || process->state == AR_PROCESS_RUNNING;
        t->is_dead = process->state == AR_PROCESS_SILENT && runs_on(p, process->host);
        if (t->is_dead)
            t->waits = false;
    }
}

static void list_ranks(struct ar_hang *out, const struct ar_profile *p)
{
    for (uint32_t i = 0; i < p->n_roots; i++)
        if (p->processes[i].state == AR_PROCESS_FINISHED)
            out->threads[out->n_ranks++] = (struct ar_hang_thread){.process = i,
                                                                   .location = AR_NO_ID,
                                                                   .node = AR_NO_ID,
                                                                   .call = AR_NO_ID,
                                                                   .peer = AR_NO_ID,
                                                                   .turn = AR_NO_ID,
                                                                   .beside = AR_NO_ID};
    for (uint32_t i = 0; i < p->n_locations; i++) {
        const struct ar_location *at = &p->locations[i];

        if (at->thread == 0 && at->process < p->n_roots && at->current &&
            p->processes[at->process].state != AR_PROCESS_FINISHED)
            out->threads[out->n_ranks++] = thread_at(p, i);
    }
    qsort(out->threads, out->n_ranks, sizeof *out->threads, by_process);
    out->n_threads = out->n_ranks;
    find_dead(out, p);
}

static uint32_t rank_of_process(const struct ar_hang *hang, uint32_t process)
{
    struct ar_hang_thread key = {.process = process};
    const struct ar_hang_thread *found =
        bsearch(&key, hang->threads, hang->n_ranks, sizeof key, by_process);

    return found ? (uint32_t)(found - hang->threads) : AR_NO_ID;
}

/* Other threads that wait. What a rank does whose main thread is blocked, one of these may say. */
static void list_others(struct ar_hang *out, const struct ar_profile *p)
{
    for (uint32_t i = 0; i < p->n_locations; i++) {
        const struct ar_location *at = &p->locations[i];
        uint32_t rank = at->process < p->n_roots ? rank_of_process(out, at->process) : AR_NO_ID;

        if (at->thread == 0 || !at->current || rank == AR_NO_ID ||
            out->threads[rank].node == AR_NO_ID || out->threads[rank].is_dead)
            continue;

        struct ar_hang_thread thread = thread_at(p, i);

        if (!thread.waits)
            continue;
        if (out->threads[rank].is_blocked && out->threads[rank].beside == AR_NO_ID)
            out->threads[rank].beside = (uint32_t)out->n_threads;
        out->threads[out->n_threads++] = thread;
    }
}

bool ar_hang_has_left(const struct ar_profile *p, const struct ar_hang_thread *t)
{
    return t->node == AR_NO_ID || t->is_dead ||
           (t->call != AR_NO_ID && strcmp(name_of(p, t->call), "MPI_Finalize") == 0);
}

/* ---- members ---------------------------------------------------------------------------------- */

static int by_comm(const void *a, const void *b)
{
    const struct ar_member *x = a, *y = b;

    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static bool is_world(const struct ar_profile *p, uint32_t comm)
{
    return p->comms[comm].origin == AR_COMM_WORLD;
}

static void take_members(struct ar_hang *out, const struct ar_profile *p)
{
    for (size_t i = 0; i < p->n_members; i++)
        if (p->members[i].process < p->n_roots)
            out->members[out->n_members++] = p->members[i];
}

/* All ranks are members of the world, also one that has not recorded it. `is_there` has room for all ranks. */
static void complete_world(struct ar_hang *out, const struct ar_profile *p, uint32_t comm,
                           bool *is_there)
{
    memset(is_there, 0, p->n_roots);
    for (size_t i = 0; i < out->n_members; i++)
        if (out->members[i].comm == comm)
            is_there[out->members[i].process] = true;
    for (uint32_t i = 0; i < p->n_roots; i++)
        if (!is_there[i] && p->processes[i].world_rank != AR_RANK_NONE)
            out->members[out->n_members++] = (struct ar_member){
                .comm = comm, .process = i, .rank = AR_OWN_RANK(p->processes[i].world_rank, 0)};
}

static enum ar_status list_members(struct ar_hang *out, const struct ar_profile *p)
{
    bool *is_there = malloc(p->n_roots + 1);
    uint32_t world = 0;

    while (world < p->n_comms && !is_world(p, world))
        world++;
    out->members = malloc((p->n_members + p->n_roots + 1) * sizeof *out->members);
    if (!out->members || !is_there) {
        free(is_there);
        return AR_NOMEM;
    }
    take_members(out, p);
    if (world < p->n_comms)
        complete_world(out, p, world, is_there);
    qsort(out->members, out->n_members, sizeof *out->members, by_comm);
    free(is_there);
    return AR_OK;
}

/* The members of a communicator (number plus 1), and how many there are. */
static const struct ar_member *members_of(const struct ar_hang *hang, uint32_t comm, size_t *n)
{
    size_t low = 0, high = hang->n_members;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (hang->members[middle].comm + 1 < comm)
            low = middle + 1;
        else
            high = middle;
    }
    *n = 0;
    while (comm && low + *n < hang->n_members && hang->members[low + *n].comm + 1 == comm)
        ++*n;
    return hang->members + low;
}

size_t ar_hang_members(const struct ar_hang *hang, uint32_t comm, uint32_t *out)
{
    size_t n;
    const struct ar_member *members = members_of(hang, comm, &n);

    for (size_t i = 0; i < n && out; i++)
        out[i] = members[i].process;
    return n;
}

/* ---- turns ------------------------------------------------------------------------------------ */

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
    return is_collective(p, t->call);
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
    uint32_t rank = rank_of_process(hang, process);

    if (rank != AR_NO_ID && !is_here[process])
        turn->missing[turn->n_missing++] = rank;
    is_here[process] = true;
}

/* A rank that has completed a call of that number, as the root of a broadcast does before others come, is not missing. */
static void find_missing(const struct ar_hang *hang, struct ar_hang_turn *turn, bool *is_here)
{
    size_t n;
    const struct ar_member *members = members_of(hang, turn->comm, &n);

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

    turn->in = malloc((hang->n_threads + 1) * sizeof *turn->in);
    turn->missing = malloc((hang->n_ranks + 1) * sizeof *turn->missing);
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

static void free_turn(struct ar_hang_turn *turn)
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
static enum ar_status find_turns(struct ar_hang *out, const struct ar_profile *p)
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
            free_turn(&turn);
    }
    out->n_turns = n;
    if (status == AR_OK && n)
        qsort(out->turns, n, sizeof *out->turns, worst_first);
    for (uint32_t i = 0; i < n; i++)
        for (size_t k = 0; k < out->turns[i].n_in; k++)
            out->threads[out->turns[i].in[k]].turn = i;
    return status;
}

/* ---- messages --------------------------------------------------------------------------------- */

bool ar_hang_is_send(const struct ar_hang_thread *t)
{
    return t->open.kind == AR_SYNC_SEND;
}

static bool is_message(const struct ar_open_call *open)
{
    return open->kind == AR_SYNC_SEND || open->kind == AR_SYNC_RECEIVE ||
           open->kind == AR_SYNC_PROBE;
}

static uint32_t own_rank(const struct ar_hang *hang, uint32_t comm, uint32_t process)
{
    size_t n;
    const struct ar_member *members = members_of(hang, comm, &n);

    for (size_t i = 0; i < n; i++)
        if (members[i].process == process)
            return members[i].rank;
    return AR_NO_ID;
}

/* Ranks of a communicator between two groups are those of the other group. */
static uint32_t find_peer(const struct ar_hang *hang, const struct ar_profile *p,
                          const struct ar_hang_thread *t)
{
    size_t n;
    const struct ar_member *members = members_of(hang, t->open.comm, &n);
    uint32_t own = own_rank(hang, t->open.comm, t->process);

    if (!is_message(&t->open) || t->open.peer >= AR_PEER_UNKNOWN / 2 || own == AR_NO_ID)
        return AR_NO_ID;

    uint32_t side = p->comms[t->open.comm - 1].remote_size ? 1 - (own & 1) : own & 1;

    for (size_t i = 0; i < n; i++)
        if (members[i].rank == AR_OWN_RANK(t->open.peer, side))
            return rank_of_process(hang, members[i].process);
    return AR_NO_ID;
}

bool ar_hang_tags_differ(const struct ar_hang_thread *receiver, const struct ar_hang_thread *sender)
{
    return (int32_t)receiver->open.sequence >= 0 &&
           receiver->open.sequence != sender->open.sequence;
}

/* A message that is on its way: both sides are there. */
static bool is_under_way(const struct ar_hang *hang, uint32_t i)
{
    const struct ar_hang_thread *t = &hang->threads[i];
    const struct ar_hang_thread *peer = t->peer == AR_NO_ID ? NULL : &hang->threads[t->peer];

    if (!peer || peer->peer != i || ar_hang_is_send(t) == ar_hang_is_send(peer) ||
        t->open.comm != peer->open.comm)
        return false;
    return ar_hang_is_send(t) ? !ar_hang_tags_differ(peer, t) : !ar_hang_tags_differ(t, peer);
}

/* Where the main thread is blocked, the thread beside it says what the rank waits for. */
const struct ar_hang_thread *ar_hang_waiting(const struct ar_hang *hang, uint32_t rank)
{
    const struct ar_hang_thread *main_thread = &hang->threads[rank];

    return main_thread->beside == AR_NO_ID ? main_thread : &hang->threads[main_thread->beside];
}

/* For which rank this one waits; of several requests only the first is known, which may have ended. */
static uint32_t next_of(const struct ar_hang *hang, uint32_t rank)
{
    const struct ar_hang_thread *t = ar_hang_waiting(hang, rank);

    return t->open.n_requests <= 1 && !t->is_under_way ? t->peer : AR_NO_ID;
}

/* From each rank there is one way on: where it comes to a rank of the same walk, there is a circle. */
static void find_circles(struct ar_hang *out, uint32_t *walk)
{
    memset(walk, 0, out->n_threads * sizeof *walk);
    for (uint32_t first = 0; first < out->n_ranks; first++) {
        uint32_t at = first;

        while (!walk[at] && next_of(out, at) != AR_NO_ID) {
            walk[at] = first + 1;
            at = next_of(out, at);
        }
        if (walk[at] != first + 1)
            continue;
        out->n_circles++;
        for (; !out->threads[at].circle; at = next_of(out, at))
            out->threads[at].circle = (uint32_t)out->n_circles;
    }
}

/* A thread beside a main one that works listens, and holds up no rank. */
static bool is_message_wait(const struct ar_hang *hang, const struct ar_profile *p, uint32_t i)
{
    const struct ar_hang_thread *t = &hang->threads[i];
    uint32_t rank = rank_of_process(hang, t->process);

    if (!t->waits || (i >= hang->n_ranks && hang->threads[rank].beside != i))
        return false;
    if (is_collective(p, t->call) || t->turn != AR_NO_ID)
        return false;
    return t->open.n_requests || (is_message(&t->open) && t->open.peer != AR_PEER_NULL);
}

static enum ar_status find_messages(struct ar_hang *out, const struct ar_profile *p)
{
    uint32_t *walk = malloc((out->n_threads + 1) * sizeof *walk);

    out->messages = malloc((out->n_threads + 1) * sizeof *out->messages);
    if (!walk || !out->messages) {
        free(walk);
        return AR_NOMEM;
    }
    for (uint32_t i = 0; i < out->n_threads; i++)
        if (is_message_wait(out, p, i)) {
            out->threads[i].peer = find_peer(out, p, &out->threads[i]);
            out->messages[out->n_messages++] = i;
        }
    for (size_t i = 0; i < out->n_messages; i++)
        out->threads[out->messages[i]].is_under_way = is_under_way(out, out->messages[i]);
    find_circles(out, walk);
    free(walk);
    return AR_OK;
}

/* ---- which ranks can go on -------------------------------------------------------------------- */

static bool all_can_go_on(const struct ar_hang *hang, const struct ar_hang_turn *turn)
{
    for (size_t i = 0; i < turn->n_missing; i++)
        if (!hang->threads[turn->missing[i]].can_go_on)
            return false;
    return !turn->is_mismatch;
}

static bool any_can_go_on(const struct ar_hang *hang)
{
    for (size_t i = 0; i < hang->n_ranks; i++)
        if (hang->threads[i].can_go_on)
            return true;
    return false;
}

/* A rank that waits goes on if those can that it waits for; a call of another kind is not understood, and may end. */
static bool can_go_on(const struct ar_hang *hang, const struct ar_profile *p, uint32_t rank)
{
    const struct ar_hang_thread *t = ar_hang_waiting(hang, rank);

    if (ar_hang_has_left(p, t))
        return false;
    if (t->turn != AR_NO_ID)
        return all_can_go_on(hang, &hang->turns[t->turn]);
    if (!t->waits || t->is_under_way || !is_message_wait(hang, p, (uint32_t)(t - hang->threads)))
        return true;
    if (next_of(hang, rank) != AR_NO_ID)
        return hang->threads[next_of(hang, rank)].can_go_on;
    return any_can_go_on(hang);
}

/* From the ranks that compute on to those that wait for these. Ranks that only wait for each other are never reached. */
static void find_movers(struct ar_hang *out, const struct ar_profile *p)
{
    bool has_changed = true;

    while (has_changed) {
        has_changed = false;
        for (uint32_t i = 0; i < out->n_ranks; i++)
            if (!out->threads[i].can_go_on && can_go_on(out, p, i))
                out->threads[i].can_go_on = has_changed = true;
    }
    for (uint32_t i = 0; i < out->n_ranks; i++) {
        const struct ar_hang_thread *t = ar_hang_waiting(out, i);

        out->is_certain =
            out->is_certain || (t->waits && !out->threads[i].can_go_on && !ar_hang_has_left(p, t));
    }
}

/* Reports a message from any rank only where none can send it: a rank that distributes work waits so all the time. */
static void drop_usual_waits(struct ar_hang *out)
{
    size_t n = 0;

    for (size_t i = 0; i < out->n_messages; i++) {
        const struct ar_hang_thread *t = &out->threads[out->messages[i]];
        const struct ar_hang_thread *rank = &out->threads[rank_of_process(out, t->process)];

        if (!t->is_under_way && (t->peer != AR_NO_ID || !rank->can_go_on))
            out->messages[n++] = out->messages[i];
    }
    out->n_messages = n;
}

/* ---- all together ----------------------------------------------------------------------------- */

enum ar_status ar_hang_find(struct ar_hang *out, const struct ar_profile *p)
{
    size_t n = p->n_locations + p->n_roots + 1;
    enum ar_status status = AR_NOMEM;

    *out = (struct ar_hang){.threads = malloc(n * sizeof *out->threads),
                            .turns = malloc(n * sizeof *out->turns)};
    if (out->threads && out->turns) {
        list_ranks(out, p);
        list_others(out, p);
        status = list_members(out, p);
    }
    if (status == AR_OK)
        status = find_turns(out, p);
    if (status == AR_OK)
        status = find_messages(out, p);
    if (status < 0) {
        ar_hang_free(out);
        return status;
    }
    find_movers(out, p);
    drop_usual_waits(out);
    return AR_OK;
}

void ar_hang_free(struct ar_hang *hang)
{
    for (size_t i = 0; i < hang->n_turns; i++)
        free_turn(&hang->turns[i]);
    free(hang->threads);
    free(hang->turns);
    free(hang->messages);
    free(hang->members);
    *hang = (struct ar_hang){0};
}
