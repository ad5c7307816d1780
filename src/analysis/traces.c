// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/traces.h"

#include "analysis/clock_estimate.h"
#include "analysis/trace_clock.h"

#include <stdlib.h>

/* ---- clocks ----------------------------------------------------------------------------------- */

static const struct ar_process *process_of(const struct ar_traces *traces, size_t i)
{
    const struct ar_profile *p = traces->profile;

    return &p->processes[p->locations[traces->items[i].location].process];
}

static struct ar_trace_clock clock_of(const struct ar_process *process)
{
    uint64_t span_ns = process->wall_ns ? process->wall_ns : 1;
    int64_t begin = ar_process_clock_ns(process, 0), end = ar_process_clock_ns(process, span_ns);

    return (struct ar_trace_clock){
        .offset_ns = begin, .drift = (double)(end - begin - (int64_t)span_ns) / (double)span_ns};
}

static int64_t compared_ns(const struct ar_trace_clock *clock, uint64_t at_ns)
{
    return clock->offset_ns + (int64_t)at_ns + ar_whole_ns(clock->drift * (double)at_ns);
}

static uint64_t compared_at(const struct ar_trace_clock *clock, int64_t ns)
{
    int64_t since = ns > INT64_MAX / 2 ? INT64_MAX / 2 : ns - clock->offset_ns;

    if (since <= 0)
        return 0;
    return (uint64_t)(since - ar_whole_ns(clock->drift / (1 + clock->drift) * (double)since));
}

/* NULL: nothing of that thread is moved. */
static const struct ar_trace_shifts *shifts_of(const struct ar_traces *traces, size_t i)
{
    const struct ar_trace_shifts *shifts =
        traces->shifts
            ? &traces->shifts[traces->profile->locations[traces->items[i].location].process]
            : NULL;

    return shifts && shifts->n ? shifts : NULL;
}

int64_t ar_traces_ns(const struct ar_traces *traces, size_t i, uint64_t at_ns)
{
    const struct ar_trace_shifts *shifts = shifts_of(traces, i);
    int64_t ns = compared_ns(&traces->clocks[i], at_ns);

    return shifts ? ns + ar_trace_shift_at(shifts, at_ns) : ns;
}

/* The last instant of the shifts that comes before; its time is `*ns`. false: there is none, or nothing is moved any more. */
static bool find_shift(const struct ar_trace_clock *clock, const struct ar_trace_shifts *shifts,
                       int64_t ns, size_t *at)
{
    size_t low = 0, high = shifts->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (compared_ns(clock, shifts->at_ns[middle]) + shifts->shift_ns[middle] <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    *at = low ? low - 1 : 0;
    return low && low < shifts->n;
}

uint64_t ar_traces_at(const struct ar_traces *traces, size_t i, int64_t ns)
{
    const struct ar_trace_clock *clock = &traces->clocks[i];
    const struct ar_trace_shifts *shifts = shifts_of(traces, i);
    size_t k;

    if (!shifts || !find_shift(clock, shifts, ns, &k))
        return compared_at(clock, ns);

    int64_t from_ns = compared_ns(clock, shifts->at_ns[k]) + shifts->shift_ns[k];
    int64_t to_ns = compared_ns(clock, shifts->at_ns[k + 1]) + shifts->shift_ns[k + 1];
    uint64_t span_ns = shifts->at_ns[k + 1] - shifts->at_ns[k];

    if (to_ns <= from_ns)
        return shifts->at_ns[k];
    return shifts->at_ns[k] +
           (uint64_t)((double)(ns - from_ns) / (double)(to_ns - from_ns) * (double)span_ns);
}

const char *ar_clock_hosts_name(const struct ar_clock_hosts *hosts)
{
    return hosts->n_unknown     ? "not_known"
           : hosts->n_estimated ? "estimated"
           : hosts->is_compared ? "compared"
                                : "one";
}

bool ar_traces_have_one_clock(const struct ar_traces *traces, size_t i, size_t k)
{
    const struct ar_profile *p = traces->profile;
    uint32_t x = p->locations[traces->items[i].location].process;
    uint32_t y = p->locations[traces->items[k].location].process;

    return !traces->sources || p->processes[x].host == p->processes[y].host ||
           (traces->sources[x].how != AR_CLOCK_UNKNOWN &&
            traces->sources[y].how != AR_CLOCK_UNKNOWN);
}

/* The run begins with its first process. */
static void set_clocks(struct ar_traces *traces)
{
    int64_t zero = INT64_MAX;

    for (size_t i = 0; i < traces->n; i++) {
        traces->clocks[i] = clock_of(process_of(traces, i));
        zero = traces->clocks[i].offset_ns < zero ? traces->clocks[i].offset_ns : zero;
    }
    traces->zero_ns = zero;
    for (size_t i = 0; i < traces->n; i++)
        traces->clocks[i].offset_ns -= zero;
}

/* Since the process began: a trace that was switched off or is full ends before its thread does. */
static uint64_t recorded_until(const struct ar_trace *trace)
{
    const struct ar_trace_chunk *last;
    double ns;

    if (!trace->n_chunks)
        return trace->end_ns;
    last = &trace->chunks[trace->n_chunks - 1];
    ns = (double)last->start_ns + (double)last->units * trace->ns_per_unit;
    return last->end_item != AR_NO_ID || ns > (double)trace->end_ns ? trace->end_ns : (uint64_t)ns;
}

static void set_span(struct ar_traces *traces)
{
    traces->start_ns = INT64_MAX;
    traces->end_ns = traces->recorded_ns = 0;
    traces->n_events = traces->n_bytes = 0;
    for (size_t i = 0; i < traces->n; i++) {
        int64_t start = ar_traces_ns(traces, i, traces->items[i].start_ns);
        int64_t end = ar_traces_ns(traces, i, traces->items[i].end_ns);

        traces->start_ns = start < traces->start_ns ? start : traces->start_ns;
        int64_t recorded = ar_traces_ns(traces, i, recorded_until(&traces->items[i]));

        traces->end_ns = end > traces->end_ns ? end : traces->end_ns;
        traces->recorded_ns = recorded > traces->recorded_ns ? recorded : traces->recorded_ns;
        traces->n_events += traces->items[i].n_events;
        traces->n_bytes += traces->items[i].bulk ? traces->items[i].bulk->n_bytes : 0;
    }
}

/* ---- all traces ------------------------------------------------------------------------------- */

void ar_traces_close(struct ar_traces *traces)
{
    for (size_t i = 0; i < traces->n; i++)
        ar_trace_close(&traces->items[i]);
    for (size_t i = 0; traces->shifts && i < traces->profile->n_processes; i++)
        ar_trace_shifts_free(&traces->shifts[i]);
    free(traces->items);
    free(traces->clocks);
    free(traces->shifts);
    free(traces->sources);
    *traces = (struct ar_traces){0};
}

static int by_location(const void *a, const void *b)
{
    uint32_t x = ((const struct ar_trace *)a)->location, y = ((const struct ar_trace *)b)->location;

    return (x > y) - (x < y);
}

static enum ar_status open_all(struct ar_traces *out, struct ar_error *err)
{
    const struct ar_other_streams *streams = &out->profile->other_streams;
    enum ar_status status = AR_OK;

    for (size_t i = 0; i < streams->n && status == AR_OK; i++) {
        if (!ar_is_trace(&streams->items[i]))
            continue;
        status = ar_trace_open(&out->items[out->n], out->profile, &streams->items[i], err);
        out->n += status == AR_OK;
    }
    return status;
}

/* Of a run that was to have one. */
static bool is_announced(const struct ar_profile *p)
{
    for (size_t i = 0; i < p->n_facts; i++)
        if (strcmp(ar_strtab_text(&p->strings, p->facts[i].key), "trace") == 0)
            return true;
    return false;
}

static enum ar_status refuse(const struct ar_profile *p, struct ar_error *err)
{
    if (is_announced(p))
        return ar_fail(err, AR_UNSUPPORTED,
                       "its trace has no events: nothing has switched it on (--trace-at, "
                       "--trace-later), or the program did nothing that is recorded");
    return ar_fail(err, AR_UNSUPPORTED, "it has no trace (record one with: allranks run --trace)");
}

enum ar_status ar_traces_open_as_compared(struct ar_traces *out, const struct ar_profile *p,
                                          struct ar_error *err)
{
    size_t n = p->other_streams.n;
    enum ar_status status;

    *out = (struct ar_traces){.profile = p,
                              .items = calloc(n + 1, sizeof *out->items),
                              .clocks = calloc(n + 1, sizeof *out->clocks)};
    if (!out->items || !out->clocks) {
        ar_traces_close(out);
        ar_fail(err, AR_NOMEM, "out of memory");
        return AR_NOMEM;
    }
    status = open_all(out, err);
    if (status == AR_OK && !out->n)
        status = refuse(p, err);
    if (status < 0) {
        ar_traces_close(out);
        return status;
    }
    qsort(out->items, out->n, sizeof *out->items, by_location);
    set_clocks(out);
    set_span(out);
    return AR_OK;
}

static enum ar_status correct(struct ar_traces *traces, struct ar_error *err)
{
    struct ar_trace_matches m;
    enum ar_status status = ar_trace_matches_build(&m, traces, err);

    if (status < 0)
        return status;
    status = ar_clock_estimate(traces, &m);
    if (status == AR_OK)
        status = ar_trace_clock_correct(traces, &m);
    ar_trace_matches_free(&m);
    if (status < 0)
        return ar_fail(err, status, "out of memory");
    set_span(traces);
    return AR_OK;
}

enum ar_status ar_traces_open(struct ar_traces *out, const struct ar_profile *p,
                              struct ar_error *err)
{
    enum ar_status status = ar_traces_open_as_compared(out, p, err);

    if (status < 0 || !ar_trace_clock_is_needed(out))
        return status;
    status = correct(out, err);
    if (status == AR_BAD) /* events cannot be read: who reads them will be told */
        status = AR_OK;
    if (status < 0)
        ar_traces_close(out);
    return status;
}

enum ar_status ar_traces_check_window(const struct ar_traces *traces, int64_t from_ns,
                                      struct ar_error *err)
{
    if (from_ns < traces->end_ns)
        return AR_OK;
    return ar_fail(err, AR_BAD, "the trace ends at %.9g s, before this window begins",
                   (double)traces->end_ns / 1e9);
}

/* ---- events of all threads -------------------------------------------------------------------- */

static bool is_before(const struct ar_traces_cursor *c, size_t a, size_t b)
{
    int64_t x = c->next[a].ns, y = c->next[b].ns;

    return x != y ? x < y : a < b;
}

static void sift_down(struct ar_traces_cursor *c, size_t at)
{
    size_t thread = c->heap[at];

    for (size_t child; (child = 2 * at + 1) < c->n_heap; at = child) {
        if (child + 1 < c->n_heap && is_before(c, c->heap[child + 1], c->heap[child]))
            child++;
        if (!is_before(c, c->heap[child], thread))
            break;
        c->heap[at] = c->heap[child];
    }
    c->heap[at] = thread;
}

static bool fetch(struct ar_traces_cursor *c, size_t thread)
{
    struct ar_traces_event *next = &c->next[thread];

    next->thread = thread;
    if (!ar_trace_next(&c->cursors[thread], &next->event))
        return false;
    next->ns = ar_traces_ns(c->traces, thread, next->event.at_ns);
    return true;
}

enum ar_status ar_traces_begin(struct ar_traces_cursor *c, const struct ar_traces *traces,
                               int64_t from_ns, int64_t to_ns)
{
    *c = (struct ar_traces_cursor){.traces = traces,
                                   .cursors = calloc(traces->n, sizeof *c->cursors),
                                   .next = calloc(traces->n, sizeof *c->next),
                                   .heap = calloc(traces->n, sizeof *c->heap)};
    if (!c->cursors || !c->next || !c->heap)
        return AR_NOMEM;
    for (size_t i = 0; i < traces->n; i++) {
        ar_trace_seek(&c->cursors[i], &traces->items[i], ar_traces_at(traces, i, from_ns),
                      ar_traces_at(traces, i, to_ns));
        if (fetch(c, i))
            c->heap[c->n_heap++] = i;
    }
    for (size_t i = c->n_heap / 2; i-- > 0;)
        sift_down(c, i);
    return AR_OK;
}

/* Only now: reading on may replace the bytes that texts of the event before point to. */
static void read_on(struct ar_traces_cursor *c)
{
    c->has_told = false;
    if (!fetch(c, c->heap[0]))
        c->heap[0] = c->heap[--c->n_heap];
    if (c->n_heap)
        sift_down(c, 0);
}

bool ar_traces_next(struct ar_traces_cursor *c, struct ar_traces_event *out)
{
    if (c->has_told)
        read_on(c);
    if (!c->n_heap)
        return false;
    *out = c->next[c->heap[0]];
    c->has_told = true;
    return true;
}

enum ar_status ar_traces_end(struct ar_traces_cursor *c, struct ar_error *err)
{
    enum ar_status status = c->heap ? AR_OK : ar_fail(err, AR_NOMEM, "out of memory");

    for (size_t i = 0; c->cursors && i < c->traces->n; i++) {
        if (status == AR_OK && c->cursors[i].status < 0) {
            *err = c->cursors[i].err;
            status = c->cursors[i].status;
        }
        ar_trace_end(&c->cursors[i]);
    }
    free(c->cursors);
    free(c->next);
    free(c->heap);
    *c = (struct ar_traces_cursor){0};
    return status;
}
