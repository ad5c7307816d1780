// SPDX-License-Identifier: BSD-3-Clause
/*
 * All processes are replayed side by side: each goes on until it comes to an end whose begin, in another process, has not been
 * replayed yet, and is asked again when it has been. So every begin has its final time before it is compared with.
 */
#include "analysis/trace_clock.h"

#include <stdlib.h>
#include <string.h>

/* A shift is gone after so many times its own length. */
#define DECAY 100
#define NOT_YET INT64_MIN
/* Between two instants shifts are rounded. */
#define ROUNDED_NS 2

/* A begin that others need, or an end that needs one. */
struct point {
    uint64_t at_ns;
    uint32_t op;
    bool is_end;
};

struct replayed {
    struct point *points;
    size_t n, cap, next;
    uint32_t next_waiting; /* process plus 1, in the list that it waits in */
    uint32_t waiting;      /* plus 1: the first that waits for something of this one */
    bool is_queued;
    bool is_left_alone; /* its clock says nothing */
};

/* Who has come to a collective call. */
struct come {
    uint32_t n[2]; /* by side */
    int64_t latest_ns[2], root_ns;
    uint32_t waiting; /* process plus 1 */
    bool demands_nothing;
};

struct replay {
    struct ar_traces *traces;
    const struct ar_trace_matches *m;
    struct replayed *processes;
    size_t n_processes;
    uint32_t *process_of; /* by thread */
    int64_t *begin_ns;    /* of ops */
    struct come *come;    /* of groups */
    uint32_t *queue;      /* a ring of processes */
    size_t n_queued, first_queued;
    uint32_t forced; /* process plus 1 that goes on without what it needs */
};

/* ---- shifts ----------------------------------------------------------------------------------- */

void ar_trace_shifts_free(struct ar_trace_shifts *shifts)
{
    free(shifts->at_ns);
    free(shifts->shift_ns);
    *shifts = (struct ar_trace_shifts){0};
}

int64_t ar_trace_shift_at(const struct ar_trace_shifts *shifts, uint64_t at_ns)
{
    size_t low = 0, high = shifts->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (shifts->at_ns[middle] <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return 0;
    if (low == shifts->n)
        return shifts->shift_ns[low - 1];

    uint64_t span_ns = shifts->at_ns[low] - shifts->at_ns[low - 1];
    double part = (double)(at_ns - shifts->at_ns[low - 1]) / (double)span_ns;

    return shifts->shift_ns[low - 1] +
           (int64_t)(part * (double)(shifts->shift_ns[low] - shifts->shift_ns[low - 1]));
}

/* While it is worked out: the last one goes to 0 by and by. */
static int64_t shift_so_far(const struct ar_trace_shifts *shifts, uint64_t at_ns)
{
    if (!shifts->n || at_ns < shifts->at_ns[shifts->n - 1])
        return ar_trace_shift_at(shifts, at_ns);

    int64_t shift_ns = shifts->shift_ns[shifts->n - 1];
    int64_t gone_ns = (int64_t)((at_ns - shifts->at_ns[shifts->n - 1]) / DECAY);

    return gone_ns < shift_ns ? shift_ns - gone_ns : 0;
}

static enum ar_status add_shift(struct ar_trace_shifts *shifts, uint64_t at_ns, int64_t shift_ns)
{
    if (shifts->n && shifts->at_ns[shifts->n - 1] >= at_ns) {
        shifts->shift_ns[shifts->n - 1] = shift_ns;
        return AR_OK;
    }
    if (ar_grow((void **)&shifts->at_ns, &shifts->cap_at, shifts->n + 1, sizeof(uint64_t)) < 0 ||
        ar_grow((void **)&shifts->shift_ns, &shifts->cap_shift, shifts->n + 1, sizeof(int64_t)) < 0)
        return AR_NOMEM;
    shifts->at_ns[shifts->n] = at_ns;
    shifts->shift_ns[shifts->n++] = shift_ns;
    return AR_OK;
}

/* Where the last shift is gone. */
static enum ar_status end_shift(struct ar_trace_shifts *shifts, uint64_t before_ns)
{
    if (!shifts->n || !shifts->shift_ns[shifts->n - 1])
        return AR_OK;

    uint64_t gone_ns =
        shifts->at_ns[shifts->n - 1] + (uint64_t)shifts->shift_ns[shifts->n - 1] * DECAY;

    return gone_ns < before_ns ? add_shift(shifts, gone_ns, 0) : AR_OK;
}

/* From `at_ns` on it is `extra_ns` more; what has been since `last_ns`, where something happened last, becomes longer. */
static enum ar_status shift_more(struct ar_trace_shifts *shifts, uint64_t last_ns, uint64_t at_ns,
                                 int64_t extra_ns)
{
    int64_t shift_ns = shift_so_far(shifts, at_ns) + extra_ns, last_shift_ns;

    if (last_ns >= at_ns)
        last_ns = at_ns ? at_ns - 1 : 0;
    last_shift_ns = shift_so_far(shifts, last_ns);
    if (end_shift(shifts, last_ns) < 0)
        return AR_NOMEM;
    if ((!shifts->n || shifts->at_ns[shifts->n - 1] < last_ns) &&
        add_shift(shifts, last_ns, last_shift_ns) < 0)
        return AR_NOMEM;
    return add_shift(shifts, at_ns, shift_ns);
}

/* ---- points ----------------------------------------------------------------------------------- */

static bool is_end_of_group(const struct ar_trace_op *op)
{
    return op->kind == AR_TRACE_COLLECTIVE || op->kind == AR_TRACE_COLLECTIVE_DONE;
}

static bool begins(const struct ar_trace_op *op)
{
    return ar_trace_op_sends(op) || ar_trace_op_comes(op);
}

static bool ends(const struct ar_trace_op *op)
{
    return ar_trace_op_receives(op) || op->kind == AR_TRACE_PROBED || is_end_of_group(op);
}

static enum ar_status add_point(struct replayed *process, uint64_t at_ns, uint32_t op, bool is_end)
{
    if (ar_grow((void **)&process->points, &process->cap, process->n + 1, sizeof(struct point)) < 0)
        return AR_NOMEM;
    process->points[process->n++] = (struct point){at_ns, op, is_end};
    return AR_OK;
}

/* At the same time what ends comes first; calls that take no time begin before they end. */
static int by_time(const void *a, const void *b)
{
    const struct point *x = a, *y = b;

    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    if (x->op == y->op)
        return x->is_end - y->is_end;
    if (x->is_end != y->is_end)
        return y->is_end - x->is_end;
    return (x->op > y->op) - (x->op < y->op);
}

static enum ar_status add_points(struct replay *r)
{
    const struct ar_trace_matches *m = r->m;

    for (size_t thread = 0; thread < r->traces->n; thread++) {
        struct replayed *process = &r->processes[r->process_of[thread]];

        for (size_t i = m->first[thread]; i < m->first[thread + 1]; i++) {
            const struct ar_trace_op *op = &m->ops[i];

            r->begin_ns[i] = NOT_YET;
            if (op->partner == AR_NO_ID || process->is_left_alone)
                continue;
            if ((begins(op) && add_point(process, op->start_ns, (uint32_t)i, false) < 0) ||
                (ends(op) && add_point(process, op->end_ns, (uint32_t)i, true) < 0))
                return AR_NOMEM;
        }
    }
    for (size_t i = 0; i < r->n_processes; i++)
        if (r->processes[i].n)
            qsort(r->processes[i].points, r->processes[i].n, sizeof(struct point), by_time);
    return AR_OK;
}

static uint32_t process_of_op(const struct replay *r, uint32_t op)
{
    return r->process_of[ar_trace_matches_thread_of(r->m, op)];
}

static void begin_groups(struct replay *r)
{
    for (size_t i = 0; i < r->m->n_groups; i++) {
        const struct ar_trace_group *group = &r->m->groups[i];
        struct come *come = &r->come[i];

        come->latest_ns[0] = come->latest_ns[1] = come->root_ns = NOT_YET;
        come->demands_nothing = group->may_pass;
        for (uint32_t k = 0; k < group->n; k++)
            come->demands_nothing =
                come->demands_nothing ||
                r->processes[process_of_op(r, r->m->members[group->first + k])].is_left_alone;
    }
}

/* ---- what an end needs ------------------------------------------------------------------------ */

#define NOTHING (INT64_MIN + 1)

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The sizes of a communicator are those of the rank that told of it first: which side is which is not known there. */
static uint32_t n_on_side(const struct replay *r, const struct ar_trace_group *group, uint32_t side)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < group->n; i++)
        n += (r->m->ops[r->m->members[group->first + i]].rank & 1) == side;
    return n;
}

/* All of a side have come: the last of them. */
static int64_t last_of_side(const struct replay *r, uint32_t group, uint32_t side)
{
    const struct come *come = &r->come[group];

    return come->n[side] < n_on_side(r, &r->m->groups[group], side) ? NOT_YET
                                                                    : come->latest_ns[side];
}

static int64_t last_of_all(const struct replay *r, uint32_t group)
{
    const struct come *come = &r->come[group];

    return come->n[0] + come->n[1] < r->m->groups[group].n
               ? NOT_YET
               : later(come->latest_ns[0], come->latest_ns[1]);
}

static int64_t last_of_lower(const struct replay *r, uint32_t group, uint32_t rank)
{
    const struct ar_trace_group *g = &r->m->groups[group];
    int64_t last_ns = NOTHING;

    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t op = r->m->members[g->first + i];

        if (r->m->ops[op].rank >= rank)
            break;
        if (r->begin_ns[op] == NOT_YET)
            return NOT_YET;
        last_ns = later(last_ns, r->begin_ns[op]);
    }
    return last_ns;
}

static int64_t need_of_group(const struct replay *r, const struct ar_trace_op *op)
{
    const struct ar_trace_group *group = &r->m->groups[op->partner];
    const struct come *come = &r->come[op->partner];
    bool is_root = op->flags & AR_OP_ROOT;
    uint32_t side = 1 - (op->rank & 1);

    if (come->demands_nothing || (group->has_two && group->sync != AR_SYNC_BARRIER &&
                                  group->sync != AR_SYNC_ALL)) /* not all of a side take part */
        return NOTHING;
    switch (group->sync) {
    case AR_SYNC_BARRIER:
    case AR_SYNC_ALL:
        return group->has_two ? last_of_side(r, op->partner, side) : last_of_all(r, op->partner);
    case AR_SYNC_FROM_ROOT:
        return is_root ? NOTHING : come->root_ns;
    case AR_SYNC_TO_ROOT:
        return is_root ? last_of_all(r, op->partner) : NOTHING;
    case AR_SYNC_SCAN:
        return last_of_lower(r, op->partner, op->rank);
    default:
        return NOTHING;
    }
}

/* NOT_YET: it is not known yet; NOTHING: it may end at any time. */
static int64_t need_of(const struct replay *r, const struct ar_trace_op *op)
{
    if (is_end_of_group(op))
        return need_of_group(r, op);
    if (r->processes[process_of_op(r, op->partner)].is_left_alone)
        return NOTHING;
    return r->begin_ns[op->partner];
}

/* ---- the replay ------------------------------------------------------------------------------- */

static void enqueue(struct replay *r, uint32_t process)
{
    if (r->processes[process].is_queued)
        return;
    r->processes[process].is_queued = true;
    r->queue[(r->first_queued + r->n_queued++) % r->n_processes] = process;
}

static void wake(struct replay *r, uint32_t *list)
{
    uint32_t process = *list;

    *list = 0;
    while (process) {
        uint32_t next = r->processes[process - 1].next_waiting;

        enqueue(r, process - 1);
        process = next;
    }
}

static void wait_in(struct replay *r, uint32_t process, uint32_t *list)
{
    r->processes[process].next_waiting = *list;
    *list = process + 1;
}

static int64_t time_of(const struct replay *r, uint32_t process, const struct point *point)
{
    const struct ar_trace_clock *clock =
        &r->traces->clocks[ar_trace_matches_thread_of(r->m, point->op)];

    return clock->offset_ns + (int64_t)point->at_ns +
           ar_whole_ns(clock->drift * (double)point->at_ns) +
           shift_so_far(&r->traces->shifts[process], point->at_ns);
}

static void begin(struct replay *r, uint32_t process, const struct point *point)
{
    const struct ar_trace_op *op = &r->m->ops[point->op];
    int64_t ns = time_of(r, process, point);
    uint32_t side = op->rank & 1;
    struct come *come;

    r->begin_ns[point->op] = ns;
    if (!ar_trace_op_comes(op))
        return;
    come = &r->come[op->partner];
    come->n[side]++;
    come->latest_ns[side] = later(come->latest_ns[side], ns);
    if (op->flags & AR_OP_ROOT)
        come->root_ns = ns;
    wake(r, &come->waiting);
}

static enum ar_status end_at(struct replay *r, uint32_t process, const struct point *point,
                             int64_t need_ns)
{
    struct ar_clock_correction *done = &r->traces->correction;
    struct ar_trace_shifts *shifts = &r->traces->shifts[process];
    struct replayed *own = &r->processes[process];
    uint64_t last_ns = own->next ? own->points[own->next - 1].at_ns : 0;
    int64_t ns = time_of(r, process, point);

    done->n_checked++;
    if (need_ns == NOTHING || need_ns <= ns)
        return AR_OK;
    if (is_end_of_group(&r->m->ops[point->op]))
        done->n_collectives++;
    else
        done->n_messages++;
    if (shift_more(shifts, last_ns, point->at_ns, need_ns + ROUNDED_NS - ns) < 0)
        return AR_NOMEM;
    if (shifts->shift_ns[shifts->n - 1] > done->largest_ns) {
        done->largest_ns = shifts->shift_ns[shifts->n - 1];
        done->process = process;
    }
    return AR_OK;
}

/* Until it has to wait for another one. */
static enum ar_status go_on(struct replay *r, uint32_t process)
{
    struct replayed *own = &r->processes[process];
    bool must = r->forced == process + 1;
    size_t before = own->next;
    enum ar_status status = AR_OK;

    for (; status == AR_OK && own->next < own->n; own->next++) {
        const struct point *point = &own->points[own->next];
        const struct ar_trace_op *op = &r->m->ops[point->op];

        if (!point->is_end) {
            begin(r, process, point);
            continue;
        }

        int64_t need_ns = need_of(r, op);

        if (need_ns == NOT_YET && !must) {
            wait_in(r, process,
                    is_end_of_group(op) ? &r->come[op->partner].waiting
                                        : &r->processes[process_of_op(r, op->partner)].waiting);
            break;
        }
        r->traces->correction.n_ignored += need_ns == NOT_YET;
        status = end_at(r, process, point, need_ns == NOT_YET ? NOTHING : need_ns);
        must = false;
    }
    r->forced = r->forced == process + 1 ? 0 : r->forced;
    if (own->next > before) /* else two that wait for each other would wake each other for ever */
        wake(r, &own->waiting);
    return status;
}

/* Made-up files may have circles: then one goes on without what it needs. false: all are at their end. */
static bool break_circle(struct replay *r, uint32_t *process)
{
    for (size_t i = 0; i < r->n_processes; i++)
        if (r->processes[i].next < r->processes[i].n) {
            *process = (uint32_t)i;
            return true;
        }
    return false;
}

static void forget_waiting(struct replay *r)
{
    for (size_t i = 0; i < r->n_processes; i++)
        r->processes[i].waiting = r->processes[i].next_waiting = 0;
    for (size_t i = 0; i < r->m->n_groups; i++)
        r->come[i].waiting = 0;
    for (size_t i = 0; i < r->n_processes; i++)
        enqueue(r, (uint32_t)i);
}

static enum ar_status go_through(struct replay *r)
{
    enum ar_status status = AR_OK;
    uint32_t process;

    for (size_t i = 0; i < r->n_processes; i++)
        enqueue(r, (uint32_t)i);
    while (status == AR_OK) {
        if (!r->n_queued) {
            if (!break_circle(r, &process))
                break;
            forget_waiting(r);
            r->forced = process + 1;
            continue;
        }
        process = r->queue[r->first_queued];
        r->first_queued = (r->first_queued + 1) % r->n_processes;
        r->n_queued--;
        r->processes[process].is_queued = false;
        status = go_on(r, process);
    }
    for (size_t i = 0; status == AR_OK && i < r->n_processes; i++)
        status = end_shift(&r->traces->shifts[i], UINT64_MAX);
    return status;
}

/* ---- all together ----------------------------------------------------------------------------- */

bool ar_trace_clock_is_needed(const struct ar_traces *traces)
{
    const struct ar_profile *p = traces->profile;

    for (size_t i = 0; i < p->n_processes; i++)
        if (p->processes[i].host != p->processes[0].host ||
            p->processes[i].clock_links[AR_CLOCK_AT_INIT].offset_ns)
            return true;
    return false;
}

static bool open_replay(struct replay *r)
{
    const struct ar_profile *p = r->traces->profile;

    r->n_processes = p->n_processes;
    r->processes = calloc(p->n_processes + 1, sizeof *r->processes);
    r->queue = calloc(p->n_processes + 1, sizeof *r->queue);
    r->process_of = calloc(r->traces->n + 1, sizeof *r->process_of);
    r->begin_ns = calloc(r->m->n_ops + 1, sizeof *r->begin_ns);
    r->come = calloc(r->m->n_groups + 1, sizeof *r->come);
    r->traces->shifts = calloc(p->n_processes + 1, sizeof *r->traces->shifts);
    if (!r->processes || !r->queue || !r->process_of || !r->begin_ns || !r->come ||
        !r->traces->shifts)
        return false;
    for (size_t i = 0; i < r->traces->n; i++)
        r->process_of[i] = p->locations[r->traces->items[i].location].process;
    for (uint32_t i = 0; i < p->n_processes; i++)
        r->processes[i].is_left_alone =
            r->traces->sources && r->traces->sources[i].how == AR_CLOCK_UNKNOWN;
    return true;
}

static void close_replay(struct replay *r)
{
    for (size_t i = 0; r->processes && i < r->n_processes; i++)
        free(r->processes[i].points);
    free(r->processes);
    free(r->queue);
    free(r->process_of);
    free(r->begin_ns);
    free(r->come);
}

enum ar_status ar_trace_clock_correct(struct ar_traces *traces, const struct ar_trace_matches *m)
{
    struct replay r = {.traces = traces, .m = m};
    enum ar_status status = AR_NOMEM;

    traces->correction = (struct ar_clock_correction){.is_done = true};
    if (open_replay(&r)) {
        status = add_points(&r);
        if (status == AR_OK) {
            begin_groups(&r);
            status = go_through(&r);
        }
    }
    close_replay(&r);
    return status;
}
