// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/waits.h"

#include "analysis/mpi_class.h"
#include "analysis/totals.h"
#include "analysis/wait_follow.h"
#include "analysis/wait_partners.h"

#include <stdlib.h>
#include <string.h>

const char *ar_wait_class_name(enum ar_wait_class class)
{
    static const char *const names[AR_N_WAIT_CLASSES] = {
        [AR_WAIT_BARRIER] = "barrier",
        [AR_WAIT_ALL] = "all",
        [AR_WAIT_LATE_BROADCAST] = "late_broadcast",
        [AR_WAIT_EARLY_REDUCE] = "early_reduce",
        [AR_WAIT_EARLY_SCAN] = "early_scan",
        [AR_WAIT_LATE_SENDER] = "late_sender",
        [AR_WAIT_LATE_RECEIVER] = "late_receiver",
        [AR_WAIT_LATE_MEMBER] = "late_member",
        [AR_WAIT_LATE_PROGRESS] = "late_progress",
    };

    return names[class];
}

/* Several calls are unpacked at once: of thousands of threads none is in the cache when its turn comes. */
#define AHEAD 8

struct unpacked {
    struct ar_profile_sync sync;
    uint32_t pattern;
    const unsigned char *shares; /* NULL: it has no parts */
    uint64_t parts_ns;
};

struct supply {
    struct ar_stream_cursor cursor;
    struct unpacked calls[AHEAD];
};

/* A thread that is being read: a line of the cache, with what is touched at every call. */
struct reading {
    double drift, offset_ns; /* to the common clock, from when the process began */
    int64_t exit_ns;         /* of the call at hand, on that clock */
    struct supply *supply;
    uint32_t at, n_ahead; /* the one at hand, of as many that are unpacked */
    uint32_t root;
    bool is_main;
};

struct analysis {
    struct ar_profile *p;
    const struct ar_totals *t;
    struct ar_waits *out;
    const bool *of;           /* by root: whose waits count; NULL: all */
    struct reading *readings; /* one a stream */
    struct supply *supplies;
    size_t n_readings;
    /*
     * Whose turn it is: a heap of those that are not at their end, the earliest first. A word each, of when its call
     * ended and, in the lower bits, which it is.
     */
    uint64_t *turns;
    size_t n_turns;
    unsigned n_reading_bits, n_rounded_bits; /* the latter of long runs of very many threads */
    int64_t first_ns, last_ns;
    struct ar_partners *partners;
    struct ar_follow *follow;
    struct ar_wait_sums sums;
    double *main_waits, *setup_waits; /* by root, of its main thread */
};

/* ---- what partners tell ----------------------------------------------------------------------- */

static double waited_ns(const struct ar_arrival *waiting, const struct ar_arrival *late)
{
    int64_t until = late->came_ns < waiting->exit_ns ? late->came_ns : waiting->exit_ns;

    if (waiting->may_pass && until < late->came_ns)
        return 0;
    return until > waiting->waits_ns ? (double)(until - waiting->waits_ns) : 0;
}

static void met(void *who, enum ar_wait_class class, const struct ar_arrival *late,
                const struct ar_arrival *const *waiting, size_t n)
{
    struct analysis *a = who;

    for (size_t i = 0; i < n; i++) {
        double ns = waited_ns(waiting[i], late);

        if (ns > 0)
            ar_follow_wait(a->follow, waiting[i]->call, class, late->location, late->point, ns);
    }
}

static double waited(void *who, const struct ar_arrival *arrival)
{
    return ar_follow_waited(((struct analysis *)who)->follow, arrival->call);
}

static void kept(void *who, const struct ar_arrival *arrival)
{
    struct analysis *a = who;

    ar_follow_hold(a->follow, arrival->point);
    ar_follow_hold(a->follow, arrival->again);
}

static void left(void *who, const struct ar_arrival *gone, bool is_resolved)
{
    struct analysis *a = who;

    ar_follow_let_go(a->follow, gone->point);
    ar_follow_let_go(a->follow, gone->again);
    if (!gone->call)
        return;
    a->out->n_resolved += is_resolved;
    a->out->n_unresolved += !is_resolved;
    ar_follow_partner(a->follow, gone->call, is_resolved);
}

/* ---- reading ---------------------------------------------------------------------------------- */

static unsigned n_bits_of(uint64_t number)
{
    return number ? 64 - (unsigned)__builtin_clzll(number) : 0;
}

static int64_t common_ns(const struct reading *r, uint64_t since_start_ns)
{
    return ar_whole_ns((double)since_start_ns * r->drift + r->offset_ns);
}

/* On clocks of processes, of which any may be far from the others: only differences are exact in a double. */
static void find_clock(struct reading *r, const struct ar_process *process, int64_t epoch_ns)
{
    uint64_t wall_ns = process->wall_ns > 1000 ? process->wall_ns : 1000;
    int64_t start = ar_process_clock_ns(process, 0);
    int64_t end = ar_process_clock_ns(process, wall_ns);

    r->offset_ns = (double)(int64_t)((uint64_t)start - (uint64_t)epoch_ns);
    r->drift = (double)(int64_t)((uint64_t)end - (uint64_t)start) / (double)wall_ns;
}

/* Between the start of the first process and the end of the last, which may both be nonsense. */
static const struct ar_process *process_of(const struct ar_profile *p,
                                           const struct ar_stream *stream)
{
    return &p->processes[p->locations[stream->location].process];
}

static void plan_turns(struct analysis *a)
{
    int64_t last_ns = INT64_MIN;

    a->first_ns = INT64_MAX;
    for (size_t i = 0; i < a->n_readings; i++) {
        int64_t start = common_ns(&a->readings[i], 0);
        int64_t end = common_ns(&a->readings[i], process_of(a->p, &a->p->streams[i])->wall_ns);

        a->first_ns = start < a->first_ns ? start : a->first_ns;
        last_ns = end > last_ns ? end : last_ns;
    }
    a->last_ns = last_ns;
    a->n_reading_bits = n_bits_of(a->n_readings);

    unsigned n_bits = n_bits_of((uint64_t)last_ns - (uint64_t)a->first_ns) + a->n_reading_bits;

    a->n_rounded_bits = n_bits > 63 ? n_bits - 63 : 0;
}

static uint64_t turn_of(const struct analysis *a, const struct reading *r)
{
    uint64_t since = r->exit_ns > a->first_ns ? (uint64_t)r->exit_ns - (uint64_t)a->first_ns : 0;
    uint64_t most = (UINT64_MAX >> a->n_reading_bits) - 1;

    since >>= a->n_rounded_bits;
    return (since < most ? since : most) << a->n_reading_bits | (uint64_t)(r - a->readings);
}

static struct reading *reading_of(const struct analysis *a, uint64_t turn)
{
    return &a->readings[turn & (((uint64_t)1 << a->n_reading_bits) - 1)];
}

/* Whose turn has come is late the next time: so down to the end without looking, and up again a little. */
static void sift_down(struct analysis *a, size_t top, uint64_t moving)
{
    uint64_t *turns = a->turns;
    size_t at = top;

    for (size_t child; (child = 2 * at + 1) < a->n_turns; at = child) {
        child += turns[child + 1] < turns[child]; /* no branch: it would be a guess */
        turns[at] = turns[child];
    }
    for (size_t above; at > top && moving < turns[above = (at - 1) / 2]; at = above)
        turns[at] = turns[above];
    turns[at] = moving;
}

/* One more behind the last, which is later than all: every node has two below it, or none. */
static void end_turns(struct analysis *a)
{
    a->turns[a->n_turns] = UINT64_MAX;
}

static void close_reading(struct reading *r)
{
    ar_stream_close(&r->supply->cursor);
}

static const struct unpacked *call_of(const struct reading *r)
{
    return &r->supply->calls[r->at];
}

static void unpack(struct reading *r)
{
    struct ar_stream_cursor *cursor = &r->supply->cursor;

    r->at = r->n_ahead = 0;
    while (r->n_ahead < AHEAD && ar_stream_next(cursor)) {
        struct unpacked *to = &r->supply->calls[r->n_ahead++];

        to->sync = cursor->sync;
        to->shares = cursor->sync.n_parts ? cursor->shares : NULL;
        to->pattern = cursor->pattern;
        to->parts_ns = cursor->parts_ns;
    }
}

static bool read_next(struct reading *r)
{
    if (++r->at >= r->n_ahead)
        unpack(r);
    if (!r->n_ahead)
        return false;
    r->exit_ns = common_ns(r, call_of(r)->sync.exit_ns);
    return true;
}

static enum ar_status open_reading(struct analysis *a, const struct ar_stream *stream,
                                   int64_t epoch_ns)
{
    const struct ar_location *location = &a->p->locations[stream->location];
    struct reading *r = &a->readings[a->n_readings];

    r->supply = &a->supplies[a->n_readings];
    if (ar_stream_open(&r->supply->cursor, stream) < 0)
        return AR_NOMEM;
    a->n_readings++;
    r->root = ar_profile_root(a->p, stream->location);
    r->is_main = location->thread == 0 && location->process < a->p->n_roots;
    find_clock(r, process_of(a->p, stream), epoch_ns);
    return AR_OK;
}

static enum ar_status open_readings(struct analysis *a)
{
    int64_t epoch_ns = a->p->n_processes ? ar_process_clock_ns(&a->p->processes[0], 0) : 0;

    a->readings = ar_large_array(a->p->n_streams + 1, sizeof *a->readings);
    a->supplies = ar_large_array(a->p->n_streams + 1, sizeof *a->supplies);
    a->turns = calloc(a->p->n_streams + 1, sizeof *a->turns);
    if (!a->readings || !a->turns || !a->supplies)
        return AR_NOMEM;
    memset(a->readings, 0, (a->p->n_streams + 1) * sizeof *a->readings);
    for (size_t i = 0; i < a->p->n_streams; i++)
        if (open_reading(a, &a->p->streams[i], epoch_ns) < 0)
            return AR_NOMEM;
    plan_turns(a);
    for (size_t i = 0; i < a->n_readings; i++)
        if (read_next(&a->readings[i]))
            a->turns[a->n_turns++] = turn_of(a, &a->readings[i]);
    end_turns(a);
    for (size_t i = a->n_turns / 2; i-- > 0;)
        sift_down(a, i, a->turns[i]);
    return AR_OK;
}

/* ---- record by record ------------------------------------------------------------------------- */

static bool is_same_call(const struct ar_profile_sync *a, const struct ar_profile_sync *b)
{
    return a->node == b->node && a->enter_ns == b->enter_ns && a->exit_ns == b->exit_ns;
}

/* A thread beside the main one holds its process up while that is blocked as well: see AR_SYNC_HOLDS_UP. */
static float counts(const struct reading *r, const struct ar_profile_sync *sync)
{
    return r->is_main || sync->flags & AR_SYNC_HOLDS_UP ? 1 : 0;
}

static uint32_t begin_call(struct analysis *a, const struct reading *r)
{
    const struct unpacked *c = call_of(r);
    const struct ar_profile_sync *sync = &c->sync;
    bool is_posted_send = sync->kind == AR_SYNC_SEND && sync->flags & AR_SYNC_NONBLOCKING;

    return ar_follow_add(a->follow, (uint32_t)(r - a->readings),
                         &(struct ar_follow_call){
                             .enter_ns = common_ns(r, sync->enter_ns),
                             .exit_ns = r->exit_ns,
                             .node = sync->node,
                             .nonblocking = sync->posted != 0,
                             .is_post = sync->kind == AR_SYNC_POST || is_posted_send,
                             .is_setup = sync->kind == AR_SYNC_START || sync->kind == AR_SYNC_END,
                             .counts = counts(r, sync),
                             .shares = c->shares,
                             .pattern = c->pattern,
                             .parts_ns = c->parts_ns,
                         });
}

/* What was posted is there from when it was posted on; a send of which others wait for the end is not. */
static bool came_when_posted(const struct ar_profile_sync *sync)
{
    return sync->posted && sync->kind != AR_SYNC_TAKEN;
}

static enum ar_status add_record(struct analysis *a, struct reading *r, uint32_t call)
{
    const struct ar_profile_sync *sync = &call_of(r)->sync;
    int64_t enter_ns = common_ns(r, sync->enter_ns);
    struct ar_arrival *arrival = ar_partners_new_arrival(a->partners);

    if (!arrival)
        return AR_NOMEM;
    *arrival = (struct ar_arrival){
        .location = sync->location,
        .process = r->root,
        .node = sync->node,
        .call = call,
        .came_ns = sync->posted ? common_ns(r, sync->post_ns) : enter_ns,
        .waits_ns = enter_ns,
        .exit_ns = r->exit_ns,
        .is_posted = sync->flags & AR_SYNC_NONBLOCKING && !sync->posted,
    };
    if (came_when_posted(sync))
        arrival->point = ar_follow_post(a->follow, (uint32_t)(r - a->readings), arrival->came_ns,
                                        call, &arrival->again_ns, &arrival->again);
    else
        arrival->point = ar_follow_point(a->follow, call);
    if (arrival->again &&
        sync->kind >= AR_SYNC_SEND) { /* messages are there as soon as they are posted */
        ar_follow_let_go(a->follow, arrival->again);
        arrival->again = 0;
    }
    a->out->n_calls++;
    return ar_partners_add(a->partners, sync, arrival);
}

/* It waits for no rank; its point is held by the thread's posts. */
static bool is_only_post(const struct ar_profile_sync *sync)
{
    return sync->kind == AR_SYNC_POST;
}

/* All records of the call that ended first. */
static enum ar_status take_call(struct analysis *a, struct reading *r, bool *goes_on)
{
    struct ar_profile_sync first = call_of(r)->sync;
    uint32_t call = begin_call(a, r);

    if (!call)
        return AR_NOMEM;
    do {
        if (!is_only_post(&call_of(r)->sync) && add_record(a, r, call) < 0)
            return AR_NOMEM;
        *goes_on = read_next(r);
    } while (*goes_on && is_same_call(&call_of(r)->sync, &first));
    ar_follow_partner(a->follow, call, true);
    return ar_follow_on(a->follow);
}

static enum ar_status read_all(struct analysis *a)
{
    while (a->n_turns) {
        struct reading *r = reading_of(a, a->turns[0]);
        bool goes_on;

        if (take_call(a, r, &goes_on) < 0)
            return AR_NOMEM;
        if (goes_on) {
            sift_down(a, 0, turn_of(a, r));
        } else if (--a->n_turns) {
            uint64_t last = a->turns[a->n_turns];

            end_turns(a);
            sift_down(a, 0, last);
        }
    }
    ar_partners_end(a->partners);
    return ar_follow_end(a->follow);
}

/* ---- the time of ranks ------------------------------------------------------------------------ */

static void add_row(const struct ar_profile *p, struct ar_row row, double *mpi_ns)
{
    for (size_t i = 0; i < row.n; i++) {
        const struct ar_location *l = &p->locations[row.values[i].location];

        if (l->thread == 0 && l->process < p->n_roots)
            mpi_ns[l->process] += (double)row.values[i].value;
    }
}

/* In MPI, by root, of its main thread: MPI calls do not contain each other but in callbacks. */
static enum ar_status find_mpi_times(const struct ar_profile *p, const struct ar_totals *t,
                                     double *mpi_ns, double *setup_ns)
{
    struct ar_selves selves;
    enum ar_status status = ar_selves_open(&selves, t, p);

    for (uint32_t i = 0; status == AR_OK && i < p->n_nodes; i++)
        if (ar_totals_is_mpi(t, p, i)) {
            struct ar_row row = ar_selves_get(&selves, i);

            add_row(p, row, mpi_ns);
            if (ar_mpi_is_setup(p, i))
                add_row(p, row, setup_ns);
        }
    if (status == AR_OK)
        ar_selves_close(&selves);
    return status;
}

static double less(double a, double b)
{
    return a < b ? a : b;
}

static enum ar_status divide_times(struct analysis *a)
{
    double *mpi_ns = calloc(2 * a->p->n_roots + 2, sizeof *mpi_ns);
    double *setup_ns = mpi_ns ? mpi_ns + a->p->n_roots : NULL;
    enum ar_status status = mpi_ns ? find_mpi_times(a->p, a->t, mpi_ns, setup_ns) : AR_NOMEM;

    a->out->times = calloc(a->p->n_roots + 1, sizeof *a->out->times);
    if (!a->out->times)
        status = AR_NOMEM;
    for (size_t i = 0; status == AR_OK && i < a->p->n_roots; i++) {
        struct ar_wait_times *times = &a->out->times[i];
        double wall_ns = (double)a->p->processes[i].wall_ns, in_mpi_ns = less(mpi_ns[i], wall_ns);

        times->computing_ns = wall_ns - in_mpi_ns;
        times->waiting_ns = less(a->main_waits[i], in_mpi_ns);
        times->communicating_ns = in_mpi_ns - times->waiting_ns;
        times->setting_up_ns =
            less(setup_ns[i] - less(a->setup_waits[i], setup_ns[i]), times->communicating_ns);
        times->caused_ns = a->sums.caused_ns[i];
    }
    free(mpi_ns);
    return status;
}

/* ---- all together ----------------------------------------------------------------------------- */

static enum ar_status open_follow(struct analysis *a)
{
    struct ar_follow_results results = {.of = a->of,
                                        .main_waits = a->main_waits,
                                        .setup_waits = a->setup_waits,
                                        .node_ns = a->out->node_ns,
                                        .waited_ns = &a->out->waited_ns};
    enum ar_status status = AR_OK;

    a->follow = ar_follow_new(a->p, &a->sums, &results,
                              a->n_readings ? (double)(a->last_ns - a->first_ns) : 0);
    if (!a->follow)
        return AR_NOMEM;
    for (uint32_t i = 0; i < a->n_readings && status == AR_OK; i++)
        status = ar_follow_thread(a->follow, i, &a->p->streams[i], a->readings[i].is_main,
                                  a->first_ns, common_ns(&a->readings[i], 0));
    return status;
}

static enum ar_status analyse(struct analysis *a)
{
    a->main_waits = calloc(a->p->n_processes + 1, sizeof *a->main_waits);
    a->setup_waits = calloc(a->p->n_processes + 1, sizeof *a->setup_waits);
    a->partners = ar_partners_new(a->p, (struct ar_partners_tell){a, met, waited, kept, left});
    if (!a->main_waits || !a->setup_waits || !a->partners)
        return AR_NOMEM;

    enum ar_status status = ar_wait_sums_open(&a->sums, a->p);

    if (status == AR_OK)
        status = open_readings(a);
    if (status == AR_OK)
        status = open_follow(a);
    if (status == AR_OK)
        status = read_all(a);
    if (status == AR_OK)
        status = ar_wait_sums_take(&a->sums, ar_follow_paths(a->follow), a->out);
    if (status == AR_OK)
        status = divide_times(a);
    return status;
}

static void release(struct analysis *a)
{
    for (size_t i = 0; i < a->n_readings; i++)
        close_reading(&a->readings[i]);
    free(a->readings);
    free(a->supplies);
    free(a->turns);
    if (a->partners)
        ar_partners_delete(a->partners);
    if (a->follow)
        ar_follow_delete(a->follow);
    ar_wait_sums_close(&a->sums);
    free(a->main_waits);
    free(a->setup_waits);
}

enum ar_status ar_waits_build(struct ar_waits *out, struct ar_profile *p, const bool *of)
{
    struct ar_totals t;

    *out = (struct ar_waits){0};
    if (ar_totals_build(&t, p) < 0)
        return AR_NOMEM;

    enum ar_status status = ar_waits_build_with(out, p, &t, of);

    ar_totals_free(&t);
    return status;
}

static enum ar_status build(struct ar_waits *out, struct ar_profile *p, const struct ar_totals *t,
                            const bool *of)
{
    struct analysis a = {.p = p, .t = t, .out = out, .of = of};
    enum ar_status status = ar_profile_sort(p);

    for (size_t i = 0; i < p->n_processes; i++)
        out->n_lost += p->processes[i].n_lost[AR_LOST_SYNCS];
    if (status == AR_OK)
        status = analyse(&a);
    release(&a);
    if (status < 0)
        ar_waits_free(out);
    return status;
}

enum ar_status ar_waits_build_with(struct ar_waits *out, struct ar_profile *p,
                                   const struct ar_totals *t, const bool *of)
{
    *out = (struct ar_waits){0};
    return build(out, p, t, of);
}

enum ar_status ar_waits_build_by_node(struct ar_waits *out, struct ar_profile *p,
                                      const struct ar_totals *t)
{
    *out = (struct ar_waits){.node_ns = calloc(p->n_nodes + 1, sizeof *out->node_ns),
                             .n_nodes = p->n_nodes};
    return out->node_ns ? build(out, p, t, NULL) : AR_NOMEM;
}

void ar_waits_free(struct ar_waits *w)
{
    for (size_t i = 0; i < w->n_sites; i++) {
        free(w->sites[i].waiting);
        free(w->sites[i].late);
        free(w->sites[i].causes);
    }
    for (size_t i = 0; w->node_ns && i < w->n_nodes; i++)
        free(w->node_ns[i]);
    free(w->node_ns);
    free(w->sites);
    free(w->times);
    *w = (struct ar_waits){0};
}
