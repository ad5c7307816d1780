// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/waits.h"

#include "analysis/mpi_class.h"
#include "analysis/totals.h"
#include "analysis/wait_partners.h"
#include "analysis/wait_sums.h"

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
    };

    return names[class];
}

/* Several calls are unpacked at once: of thousands of threads none is in the cache when its turn comes. */
#define AHEAD 8

struct unpacked {
    struct ar_profile_sync sync;
    struct ar_profile_part parts[AR_INTERVAL_PARTS];
};

struct supply {
    struct ar_stream_cursor cursor;
    struct unpacked calls[AHEAD];
};

/* A thread that is being read: two lines of the cache, with what is touched at every call. */
struct reading {
    double drift, offset_ns; /* to the common clock, from when the process began */
    int64_t exit_ns;         /* of the call at hand, on that clock */
    struct supply *supply;
    uint32_t at, n_ahead; /* the one at hand, of as many that are unpacked */
    uint32_t root;
    bool is_main;
    uint32_t interval; /* that the thread is in */
    struct ar_intervals_back back;
};

/* A call may wait for several partners at once (MPI_Waitall): it waits for the last of them. */
struct call {
    uint32_t n_open; /* that have not been met */
    uint32_t root, node;
    uint32_t after; /* the interval that its wait is part of; held */
    uint32_t late, site;
    double waited_ns;
    uint32_t blame; /* 0: it has not waited */
    bool nonblocking;
    bool ends_interval; /* its wait was before `after`, and not in it */
    bool is_main;       /* of the thread that is its process's main one */
    bool is_setup;      /* MPI_Init or MPI_Finalize */
};

/* What all who met at once share. */
struct held_blame {
    struct ar_blame blame;
    uint32_t n_held; /* by calls, and while it is looked for; then the next one that is free */
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
    int64_t first_ns;
    struct ar_partners *partners;
    struct ar_intervals intervals;
    struct ar_wait_sums sums;
    struct call *calls; /* from 1 */
    size_t n_calls, cap_calls;
    uint32_t free_call;
    struct held_blame *blames; /* likewise */
    size_t n_blames, cap_blames;
    uint32_t free_blame;
    uint32_t *others; /* intervals of those who waited */
    size_t cap_others;
    double *main_waits, *setup_waits; /* by root, of its main thread */
    bool failed;
};

/* ---- blame ------------------------------------------------------------------------------------ */

/* Held once; 0: no memory. */
static uint32_t new_blame(struct analysis *a)
{
    uint32_t id = a->free_blame;

    if (id) {
        a->free_blame = a->blames[id].n_held;
    } else {
        if (ar_grow((void **)&a->blames, &a->cap_blames, a->n_blames + 2, sizeof *a->blames) < 0)
            return 0;
        id = (uint32_t)++a->n_blames;
    }
    a->blames[id].n_held = 1;
    return id;
}

static void drop_blame(struct analysis *a, uint32_t id)
{
    if (--a->blames[id].n_held)
        return;
    a->blames[id].n_held = a->free_blame;
    a->free_blame = id;
}

/* ---- calls ------------------------------------------------------------------------------------ */

static uint32_t new_call(struct analysis *a)
{
    uint32_t id = a->free_call;

    if (id) {
        a->free_call = a->calls[id].late;
    } else {
        if (ar_grow((void **)&a->calls, &a->cap_calls, a->n_calls + 2, sizeof *a->calls) < 0)
            return 0;
        id = (uint32_t)++a->n_calls;
    }
    a->calls[id].n_open = 0;
    a->calls[id].waited_ns = 0;
    a->calls[id].blame = 0;
    return id;
}

static void add_to_node(struct analysis *a, const struct call *call)
{
    double **by_root = &a->out->node_ns[call->node];

    if (!*by_root)
        *by_root = calloc(a->p->n_roots, sizeof **by_root);
    if (*by_root)
        (*by_root)[call->root] += call->waited_ns;
    else
        a->failed = true;
}

static void count_wait(struct analysis *a, const struct call *call)
{
    if (call->is_main)
        a->main_waits[call->root] += call->waited_ns;
    if (call->is_main && call->is_setup)
        a->setup_waits[call->root] += call->waited_ns;
    if (call->is_main && a->out->node_ns)
        add_to_node(a, call);
    if (a->of && !a->of[call->root])
        return;
    a->out->waited_ns += call->waited_ns;
    if (ar_wait_sums_add(&a->sums, call->site, call->root, call->late,
                         &a->blames[call->blame].blame, call->waited_ns) < 0)
        a->failed = true;
}

/* All partners are known, or never will be. */
static void end_call(struct analysis *a, uint32_t id)
{
    struct call *call = &a->calls[id];

    if (call->blame) {
        count_wait(a, call);
        ar_interval_waited(&a->intervals, call->after, call->site, call->node, call->ends_interval,
                           &a->blames[call->blame].blame, call->waited_ns);
        drop_blame(a, call->blame);
    }
    ar_interval_drop(&a->intervals, call->after);
    call->late = a->free_call;
    a->free_call = id;
}

/* ---- what partners tell ----------------------------------------------------------------------- */

static double waited_ns(const struct ar_arrival *waiting, const struct ar_arrival *late)
{
    int64_t until = late->came_ns < waiting->exit_ns ? late->came_ns : waiting->exit_ns;

    if (waiting->may_pass && until < late->came_ns)
        return 0;
    return until > waiting->waits_ns ? (double)(until - waiting->waits_ns) : 0;
}

static bool make_others(struct analysis *a, size_t n)
{
    if (ar_grow((void **)&a->others, &a->cap_others, n, sizeof *a->others) == AR_OK)
        return true;
    a->failed = true;
    return false;
}

static void charge(struct analysis *a, const struct ar_arrival *waiting, uint32_t late,
                   uint32_t site, uint32_t blame, double ns)
{
    struct call *call = &a->calls[waiting->call];

    if (ns <= call->waited_ns)
        return;
    call->waited_ns = ns;
    call->late = late;
    call->site = site;
    if (call->blame)
        drop_blame(a, call->blame);
    call->blame = blame;
    a->blames[blame].n_held++;
}

static void met(void *who, enum ar_wait_class class, const struct ar_arrival *late,
                const struct ar_arrival *const *waiting, size_t n)
{
    struct analysis *a = who;
    uint32_t blame;
    double sum_ns = 0;
    size_t n_others = 0;
    uint32_t site = AR_NO_ID;

    if (a->failed || !make_others(a, n))
        return;
    for (size_t i = 0; i < n; i++) {
        const struct ar_arrival *w = waiting[i];
        double ns = waited_ns(w, late);

        if (ns <= 0)
            continue;
        if (n_others == 0)
            site = ar_wait_sums_site(&a->sums, w->node, class, a->calls[w->call].nonblocking);
        a->others[n_others++] = w->interval;
        sum_ns += ns;
    }
    if (n_others == 0)
        return;
    blame = site == AR_NO_ID ? 0 : new_blame(a);
    if (!blame) {
        a->failed = true;
        return;
    }
    ar_blame_find(&a->intervals,
                  &(struct ar_lateness){.location = late->location,
                                        .late = late->interval,
                                        .site = a->sums.sites[site].is_composed ? site : AR_NO_ID,
                                        .came_ns = late->came_ns,
                                        .mean_ns = sum_ns / (double)n_others,
                                        .others = a->others,
                                        .n_others = n_others},
                  &a->blames[blame].blame);
    for (size_t i = 0; i < n; i++) {
        const struct ar_arrival *w = waiting[i];
        double ns = waited_ns(w, late);

        if (ns <= 0)
            continue;
        site = ar_wait_sums_site(&a->sums, w->node, class, a->calls[w->call].nonblocking);
        if (site == AR_NO_ID)
            a->failed = true;
        else
            charge(a, w, late->location, site, blame, ns);
    }
    drop_blame(a, blame);
}

static void kept(void *who, const struct ar_arrival *arrival)
{
    struct analysis *a = who;

    ar_interval_hold(&a->intervals, arrival->interval);
}

static void left(void *who, const struct ar_arrival *gone, bool is_resolved)
{
    struct analysis *a = who;

    if (!gone->call) {
        ar_interval_drop(&a->intervals, gone->interval);
        return;
    }
    a->out->n_resolved += is_resolved;
    a->out->n_unresolved += !is_resolved;
    ar_interval_drop(&a->intervals, gone->interval);
    if (--a->calls[gone->call].n_open == 0)
        end_call(a, gone->call);
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

static void close_reading(struct analysis *a, struct reading *r)
{
    ar_intervals_forget(&a->intervals, &r->back);
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
        memcpy(to->parts, cursor->parts, sizeof to->parts);
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
    r->interval = ar_interval_new(&a->intervals, &r->back, common_ns(r, 0), AR_NO_ID, 0);
    if (r->interval == AR_NO_ID)
        return AR_NOMEM;
    return AR_OK;
}

static enum ar_status open_readings(struct analysis *a)
{
    int64_t epoch_ns = a->p->n_processes ? ar_process_clock_ns(&a->p->processes[0], 0) : 0;

    a->readings = ar_large_array(a->p->n_streams + 1, sizeof *a->readings);
    a->supplies = ar_large_array(a->p->n_streams + 1, sizeof *a->supplies);
    a->intervals.cap = a->p->n_streams * (AR_INTERVALS_BACK + 2);
    a->intervals.items = ar_large_array(a->intervals.cap, sizeof *a->intervals.items);
    a->turns = calloc(a->p->n_streams + 1, sizeof *a->turns);
    if (!a->readings || !a->turns || !a->supplies || !a->intervals.items)
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

/* It ends the interval before it where it says what was done in that. */
static enum ar_status enter_interval(struct analysis *a, struct reading *r, uint32_t *before)
{
    const struct ar_profile_sync *sync = &call_of(r)->sync;

    *before = r->interval;
    ar_interval_hold(&a->intervals, *before); /* for the arrival */
    if (!sync->n_parts)
        return AR_OK;
    ar_interval_end(&a->intervals, *before, call_of(r)->parts, sync->n_parts);
    r->interval = ar_interval_new(&a->intervals, &r->back, r->exit_ns, sync->node,
                                  r->exit_ns - common_ns(r, sync->enter_ns));
    if (r->interval == AR_NO_ID)
        return AR_NOMEM;
    /* Until it is known what is done in the new one, it is as the one before. */
    struct ar_interval *next = &a->intervals.items[r->interval];
    const struct ar_interval *last = &a->intervals.items[*before];

    next->n_parts = last->n_parts;
    memcpy(next->parts, last->parts, sizeof next->parts);
    return AR_OK;
}

static bool is_same_call(const struct ar_profile_sync *a, const struct ar_profile_sync *b)
{
    return a->node == b->node && a->enter_ns == b->enter_ns && a->exit_ns == b->exit_ns;
}

static uint32_t begin_call(struct analysis *a, const struct reading *r,
                           const struct ar_profile_sync *sync)
{
    uint32_t id = new_call(a);

    if (!id)
        return 0;
    a->calls[id].root = r->root;
    a->calls[id].is_main = r->is_main;
    a->calls[id].node = sync->node;
    a->calls[id].nonblocking = sync->posted != 0;
    a->calls[id].is_setup = sync->kind == AR_SYNC_START || sync->kind == AR_SYNC_END;
    a->calls[id].ends_interval = sync->n_parts > 0;
    a->calls[id].after = r->interval;
    a->calls[id].n_open = 1; /* until all of its records are read */
    ar_interval_hold(&a->intervals, r->interval);
    return id;
}

static enum ar_status add_record(struct analysis *a, struct reading *r, uint32_t call,
                                 uint32_t interval)
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
        .interval = interval,
        .came_ns = sync->posted ? common_ns(r, sync->post_ns) : enter_ns,
        .waits_ns = enter_ns,
        .exit_ns = r->exit_ns,
        .is_posted = sync->flags & AR_SYNC_NONBLOCKING && !sync->posted,
    };

    a->calls[call].n_open++;
    a->out->n_calls++;
    return ar_partners_add(a->partners, sync, arrival);
}

/* All records of the call that ended first. */
static enum ar_status take_call(struct analysis *a, struct reading *r, bool *goes_on)
{
    struct ar_profile_sync first = call_of(r)->sync;
    uint32_t interval, call;

    if (enter_interval(a, r, &interval) < 0)
        return AR_NOMEM;
    call = begin_call(a, r, &first);
    if (!call)
        return AR_NOMEM;
    do {
        if (add_record(a, r, call, interval) < 0)
            return AR_NOMEM;
        *goes_on = read_next(r);
        if (!*goes_on || !is_same_call(&call_of(r)->sync, &first))
            break;
        ar_interval_hold(&a->intervals, interval); /* one for each arrival */
    } while (true);
    if (--a->calls[call].n_open == 0)
        end_call(a, call);
    return AR_OK;
}

/* What a thread did last may still be asked for when it is at its end. */
static enum ar_status read_all(struct analysis *a)
{
    while (a->n_turns) {
        struct reading *r = reading_of(a, a->turns[0]);
        bool goes_on;

        if (take_call(a, r, &goes_on) < 0 || a->failed)
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
    return a->failed ? AR_NOMEM : AR_OK;
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

static enum ar_status analyse(struct analysis *a)
{
    a->main_waits = calloc(a->p->n_processes + 1, sizeof *a->main_waits);
    a->setup_waits = calloc(a->p->n_processes + 1, sizeof *a->setup_waits);
    a->partners = ar_partners_new(a->p, (struct ar_partners_tell){a, met, kept, left});
    if (!a->main_waits || !a->setup_waits || !a->partners)
        return AR_NOMEM;

    enum ar_status status = ar_wait_sums_open(&a->sums, a->p);

    if (status == AR_OK)
        status = open_readings(a);
    if (status == AR_OK)
        status = read_all(a);
    if (status == AR_OK)
        status = divide_times(a);
    if (status == AR_OK)
        status = ar_wait_sums_take(&a->sums, a->out);
    return status;
}

static void release(struct analysis *a)
{
    for (size_t i = 0; i < a->n_readings; i++)
        close_reading(a, &a->readings[i]);
    free(a->readings);
    free(a->supplies);
    free(a->turns);
    if (a->partners)
        ar_partners_delete(a->partners);
    ar_wait_sums_close(&a->sums);
    free(a->intervals.items);
    free(a->calls);
    free(a->blames);
    free(a->others);
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
