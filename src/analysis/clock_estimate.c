// SPDX-License-Identifier: BSD-3-Clause
/*
 * Bounds are those of Bellman and Ford. Bounds that contradict each other are a circle that never ends: it is noticed by a pass
 * more than there are clocks.
 */
#include "analysis/clock_estimate.h"

#include <math.h>
#include <stdlib.h>

/* Of widening bounds that contradict each other: to within a millionth part. */
#define N_HALVINGS 20
#define REFERENCE 0 /* the clock of rank 0, and all that were compared with it */

/* The clock of `later` is ahead of that of `earlier` by `least_ns` at least. */
struct bound {
    uint32_t earlier, later;
    double least_ns;
};

/* A clock: all hosts that were compared have one, each other host has its own. */
struct clock {
    double low_ns, high_ns; /* what is to be added to it */
    uint32_t host;          /* string */
    uint32_t process;       /* the first that has it */
};

struct estimating {
    struct ar_traces *traces;
    const struct ar_trace_matches *m;
    uint32_t *clock_of; /* by process */
    struct clock *clocks;
    size_t n_clocks, cap_clocks;
    struct bound *bounds;
    size_t n_bounds, cap_bounds;
    struct ar_idmap bound_of; /* plus 1, by pair of clocks */
};

/* ---- which clocks there are -------------------------------------------------------------------- */

static bool is_compared(const struct ar_process *process)
{
    return process->clock_links[AR_CLOCK_AT_INIT].at_ns != 0;
}

static int64_t error_of(const struct ar_process *process)
{
    uint64_t first = process->clock_links[AR_CLOCK_AT_INIT].error_ns;
    uint64_t last = process->clock_links[AR_CLOCK_AT_FINALIZE].error_ns;
    uint64_t error = first > last ? first : last;

    return error < INT64_MAX ? (int64_t)error : INT64_MAX;
}

/* Of each host the process, plus 1, that was compared: others there have its clock. */
static enum ar_status find_compared(const struct ar_profile *p, struct ar_idmap *compared)
{
    for (uint32_t i = 0; i < p->n_processes; i++) {
        uint64_t host = (uint64_t)p->processes[i].host + 1;

        if (is_compared(&p->processes[i]) && !ar_idmap_get(compared, host, 0) &&
            ar_idmap_put(compared, host, i + 1) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

static enum ar_status add_clock(struct estimating *e, uint32_t host, uint32_t process)
{
    if (ar_grow((void **)&e->clocks, &e->cap_clocks, e->n_clocks + 1, sizeof *e->clocks) < 0)
        return AR_NOMEM;
    e->clocks[e->n_clocks++] = (struct clock){.host = host, .process = process};
    return AR_OK;
}

/* `others` has the clocks of hosts that were not compared. */
static enum ar_status take_clock(struct estimating *e, uint32_t process, struct ar_idmap *others)
{
    uint32_t host = e->traces->profile->processes[process].host;

    e->clock_of[process] = ar_idmap_get(others, (uint64_t)host + 1, AR_NO_ID);
    if (e->clock_of[process] != AR_NO_ID)
        return AR_OK;
    e->clock_of[process] = (uint32_t)e->n_clocks;
    if (add_clock(e, host, process) < 0)
        return AR_NOMEM;
    return ar_idmap_put(others, (uint64_t)host + 1, e->clock_of[process]);
}

/* Returns whether the process has the clock of the reference, and how its clock got there. */
static bool shares_reference(struct estimating *e, const struct ar_idmap *compared, uint32_t i)
{
    const struct ar_profile *p = e->traces->profile;
    const struct ar_process *process = &p->processes[i];
    uint32_t like = ar_idmap_get(compared, (uint64_t)process->host + 1, 0);
    struct ar_clock_source *source = &e->traces->sources[i];

    if (is_compared(process))
        *source = (struct ar_clock_source){AR_CLOCK_COMPARED, error_of(process)};
    else if (like)
        *source = (struct ar_clock_source){AR_CLOCK_COMPARED, error_of(&p->processes[like - 1])};
    else
        *source = (struct ar_clock_source){AR_CLOCK_SHARED, 0};
    return like || process->host == p->processes[0].host;
}

static enum ar_status find_clocks(struct estimating *e)
{
    const struct ar_profile *p = e->traces->profile;
    struct ar_idmap compared = {0}, others = {0};
    enum ar_status status = find_compared(p, &compared);

    if (status == AR_OK && p->n_processes)
        status = add_clock(e, p->processes[0].host, 0);
    for (uint32_t i = 0; i < p->n_processes && status == AR_OK; i++)
        if (!shares_reference(e, &compared, i))
            status = take_clock(e, i, &others);
    ar_idmap_free(&compared);
    ar_idmap_free(&others);
    return status;
}

/* ---- what messages say ------------------------------------------------------------------------- */

static uint32_t thread_of(const struct estimating *e, uint32_t op)
{
    return (uint32_t)ar_trace_matches_thread_of(e->m, op);
}

static uint32_t clock_of_thread(const struct estimating *e, uint32_t thread)
{
    const struct ar_traces *traces = e->traces;

    return e->clock_of[traces->profile->locations[traces->items[thread].location].process];
}

/* `end` is the end of a call that needs the begin of another one, `begin`. */
static enum ar_status add_bound(struct estimating *e, uint32_t begin, uint32_t end)
{
    uint32_t from = thread_of(e, begin), to = thread_of(e, end);
    uint32_t earlier = clock_of_thread(e, from), later = clock_of_thread(e, to);
    uint64_t key = ar_pair_key(earlier, later);
    double least_ns;

    if (earlier == later)
        return AR_OK;
    least_ns = (double)ar_traces_ns(e->traces, from, e->m->ops[begin].start_ns) -
               (double)ar_traces_ns(e->traces, to, e->m->ops[end].end_ns);

    uint32_t known = ar_idmap_get(&e->bound_of, key, 0);

    if (known && e->bounds) {
        struct bound *bound = &e->bounds[known - 1];

        bound->least_ns = fmax(bound->least_ns, least_ns);
        return AR_OK;
    }
    if (ar_grow((void **)&e->bounds, &e->cap_bounds, e->n_bounds + 1, sizeof *e->bounds) < 0)
        return AR_NOMEM;
    e->bounds[e->n_bounds++] = (struct bound){earlier, later, least_ns};
    return ar_idmap_put(&e->bound_of, key, (uint32_t)e->n_bounds);
}

static enum ar_status add_messages(struct estimating *e)
{
    const struct ar_trace_matches *m = e->m;
    enum ar_status status = AR_OK;

    for (uint32_t i = 0; i < m->n_ops && status == AR_OK; i++) {
        const struct ar_trace_op *op = &m->ops[i];

        if (op->partner != AR_NO_ID && (ar_trace_op_receives(op) || op->kind == AR_TRACE_PROBED))
            status = add_bound(e, op->partner, i);
    }
    return status;
}

/* Where a member leaves a collective call. AR_NO_ID: not in the trace. */
static uint32_t end_of_member(const struct ar_trace_matches *m, uint32_t member)
{
    return m->ops[member].kind == AR_TRACE_COLLECTIVE ? member : m->ops[member].other;
}

static uint32_t root_of(const struct ar_trace_matches *m, const struct ar_trace_group *group)
{
    for (uint32_t i = 0; i < group->n; i++)
        if (m->ops[m->members[group->first + i]].flags & AR_OP_ROOT)
            return m->members[group->first + i];
    return AR_NO_ID;
}

/* Each member beside one of them, the root or the first: not all pairs, which are many. */
static enum ar_status add_group(struct estimating *e, const struct ar_trace_group *group)
{
    const struct ar_trace_matches *m = e->m;
    bool is_from = group->sync == AR_SYNC_FROM_ROOT, is_to = group->sync == AR_SYNC_TO_ROOT;
    uint32_t middle = is_from || is_to ? root_of(m, group) : m->members[group->first];
    enum ar_status status = AR_OK;

    if (group->may_pass || group->has_two || middle == AR_NO_ID)
        return AR_OK;

    uint32_t end_of_middle = end_of_member(m, middle);

    for (uint32_t i = 0; i < group->n && status == AR_OK; i++) {
        uint32_t member = m->members[group->first + i], end = end_of_member(m, member);

        if (!is_to && end != AR_NO_ID)
            status = add_bound(e, middle, end);
        if (status == AR_OK && !is_from && group->sync != AR_SYNC_SCAN && end_of_middle != AR_NO_ID)
            status = add_bound(e, member, end_of_middle);
    }
    return status;
}

static enum ar_status find_bounds(struct estimating *e)
{
    enum ar_status status = add_messages(e);

    for (size_t i = 0; i < e->m->n_groups && status == AR_OK; i++)
        status = add_group(e, &e->m->groups[i]);
    return status;
}

/* ---- what follows from all of them together ---------------------------------------------------- */

/* One more bound of each; false: nothing has changed. */
static bool narrow(struct estimating *e, double slack_ns)
{
    bool has_changed = false;

    for (size_t i = 0; i < e->n_bounds; i++) {
        const struct bound *bound = &e->bounds[i];
        struct clock *earlier = &e->clocks[bound->earlier], *later = &e->clocks[bound->later];
        double least_ns = bound->least_ns - slack_ns;

        if (earlier->low_ns + least_ns > later->low_ns) {
            later->low_ns = earlier->low_ns + least_ns;
            has_changed = true;
        }
        if (later->high_ns - least_ns < earlier->high_ns) {
            earlier->high_ns = later->high_ns - least_ns;
            has_changed = true;
        }
    }
    return has_changed;
}

/* false: they contradict each other. */
static bool solve(struct estimating *e, double slack_ns)
{
    for (size_t i = 0; i < e->n_clocks; i++) {
        e->clocks[i].low_ns = i == REFERENCE ? 0 : -INFINITY;
        e->clocks[i].high_ns = i == REFERENCE ? 0 : INFINITY;
    }
    for (size_t pass = 0; pass <= e->n_clocks; pass++)
        if (!narrow(e, slack_ns))
            return true;
    return false;
}

/* Returns by how much bounds have to be widened, nearly as little as possible. */
static double solve_at_any_rate(struct estimating *e)
{
    double low_ns = 0, high_ns = 1000;

    if (solve(e, 0))
        return 0;
    while (high_ns < 0x1p62 && !solve(e, high_ns)) {
        low_ns = high_ns;
        high_ns *= 2;
    }
    for (int i = 0; i < N_HALVINGS; i++) {
        double middle_ns = (low_ns + high_ns) / 2;

        if (solve(e, middle_ns))
            high_ns = middle_ns;
        else
            low_ns = middle_ns;
    }
    solve(e, high_ns);
    return high_ns;
}

/* ---- what becomes of it ------------------------------------------------------------------------ */

static bool is_known(const struct clock *clock)
{
    return isfinite(clock->low_ns) && isfinite(clock->high_ns);
}

/* By how much a clock is behind the time of day, where that is known. */
static bool find_epoch(const struct ar_process *process, int64_t *epoch_ns)
{
    *epoch_ns = (int64_t)(process->start_real_ns - (uint64_t)ar_process_clock_ns(process, 0));
    return process->start_real_ns != 0;
}

/* What is to be added to the clock of a host so that it shows the same time of day as the first process does. */
static int64_t by_time_of_day(const struct estimating *e, const struct clock *clock)
{
    const struct ar_process *processes = e->traces->profile->processes;
    int64_t first_ns, own_ns;

    if (!find_epoch(&processes[0], &first_ns) || !find_epoch(&processes[clock->process], &own_ns))
        return 0;
    return (int64_t)((uint64_t)own_ns - (uint64_t)first_ns);
}

static int64_t moved_by(const struct estimating *e, const struct clock *clock)
{
    return is_known(clock) ? ar_whole_ns(clock->low_ns / 2 + clock->high_ns / 2)
                           : by_time_of_day(e, clock);
}

/* A process that was not compared, on a host where another one was: both read one clock. */
static int64_t moved_like_its_host(const struct estimating *e, uint32_t process)
{
    const struct ar_profile *p = e->traces->profile;
    struct ar_process copy = p->processes[process];

    for (uint32_t i = 0; i < p->n_processes; i++)
        if (p->processes[i].host == copy.host && is_compared(&p->processes[i])) {
            int64_t own_ns = ar_process_clock_ns(&copy, 0);

            for (int at = 0; at < AR_N_CLOCK_INSTANTS; at++)
                copy.clock_links[at] = p->processes[i].clock_links[at];
            return (int64_t)((uint64_t)ar_process_clock_ns(&copy, 0) - (uint64_t)own_ns);
        }
    return 0;
}

static void move_clocks(struct estimating *e)
{
    struct ar_traces *traces = e->traces;
    int64_t first_ns = INT64_MAX;

    for (size_t i = 0; i < traces->n; i++) {
        uint32_t process = traces->profile->locations[traces->items[i].location].process;
        const struct clock *clock = &e->clocks[e->clock_of[process]];
        int64_t by_ns = e->clock_of[process] != REFERENCE ? moved_by(e, clock)
                        : is_compared(&traces->profile->processes[process])
                            ? 0
                            : moved_like_its_host(e, process);
        int64_t *offset_ns = &traces->clocks[i].offset_ns;

        *offset_ns = (int64_t)((uint64_t)*offset_ns + (uint64_t)by_ns);
        first_ns = *offset_ns < first_ns ? *offset_ns : first_ns;
    }
    traces->zero_ns = (int64_t)((uint64_t)traces->zero_ns + (uint64_t)first_ns);
    for (size_t i = 0; i < traces->n; i++)
        traces->clocks[i].offset_ns =
            (int64_t)((uint64_t)traces->clocks[i].offset_ns - (uint64_t)first_ns);
}

static void say_sources(struct estimating *e, double slack_ns)
{
    struct ar_traces *traces = e->traces;

    for (uint32_t i = 0; i < traces->profile->n_processes; i++) {
        const struct clock *clock = &e->clocks[e->clock_of[i]];

        if (e->clock_of[i] == REFERENCE)
            continue;
        traces->sources[i] =
            is_known(clock)
                ? (struct ar_clock_source){AR_CLOCK_ESTIMATED,
                                           ar_whole_ns(ceil((clock->high_ns - clock->low_ns) / 2 +
                                                            slack_ns))}
                : (struct ar_clock_source){AR_CLOCK_UNKNOWN, 0};
    }
}

static void count_hosts(struct estimating *e)
{
    struct ar_traces *traces = e->traces;
    struct ar_clock_hosts *hosts = &traces->hosts;

    *hosts = (struct ar_clock_hosts){0};
    for (uint32_t i = 0; i < traces->profile->n_processes; i++) {
        const struct ar_clock_source *source = &traces->sources[i];
        int64_t *error_ns = source->how == AR_CLOCK_ESTIMATED ? &hosts->estimated_error_ns
                                                              : &hosts->compared_error_ns;

        hosts->is_compared = hosts->is_compared || source->how == AR_CLOCK_COMPARED;
        *error_ns = source->error_ns > *error_ns ? source->error_ns : *error_ns;
    }
    for (size_t i = e->n_clocks; i-- > REFERENCE + 1;) {
        bool known = is_known(&e->clocks[i]);

        *(known ? &hosts->first_estimated : &hosts->first_unknown) = e->clocks[i].host;
        *(known ? &hosts->n_estimated : &hosts->n_unknown) += 1;
    }
}

enum ar_status ar_clock_estimate(struct ar_traces *traces, const struct ar_trace_matches *m)
{
    size_t n = traces->profile->n_processes;
    struct estimating e = {.traces = traces, .m = m, .clock_of = calloc(n + 1, sizeof(uint32_t))};
    enum ar_status status = AR_NOMEM;

    free(traces->sources);
    traces->sources = calloc(n + 1, sizeof *traces->sources);
    if (e.clock_of && traces->sources)
        status = find_clocks(&e);
    if (status == AR_OK)
        status = find_bounds(&e);
    if (status == AR_OK) {
        say_sources(&e, solve_at_any_rate(&e));
        move_clocks(&e);
        count_hosts(&e);
    }
    free(e.clock_of);
    free(e.clocks);
    free(e.bounds);
    ar_idmap_free(&e.bound_of);
    return status;
}
