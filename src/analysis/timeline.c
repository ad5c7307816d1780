// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ------------------------------------------------------------------------------------- */

static const struct ar_location *location_of(const struct ar_traces *traces, size_t thread)
{
    return &traces->profile->locations[traces->items[thread].location];
}

static const struct ar_process *root_of(const struct ar_traces *traces, size_t thread)
{
    const struct ar_profile *p = traces->profile;

    return &p->processes[p->processes[location_of(traces, thread)->process].root];
}

static bool is_main(const struct ar_traces *traces, size_t thread)
{
    const struct ar_location *l = location_of(traces, thread);

    return !l->thread && traces->profile->processes[l->process].root == l->process;
}

struct key {
    uint32_t rank, root, is_child, process, thread;
    size_t index;
};

static struct key key_of(const struct ar_traces *traces, size_t thread)
{
    const struct ar_location *l = location_of(traces, thread);
    uint32_t root = traces->profile->processes[l->process].root;

    return (struct key){.rank = root_of(traces, thread)->world_rank,
                        .root = root,
                        .is_child = root != l->process,
                        .process = l->process,
                        .thread = l->thread,
                        .index = thread};
}

static int compare(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int by_rank(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    int order = compare(x->rank, y->rank);

    if (!order)
        order = compare(x->root, y->root);
    if (!order)
        order = compare(x->is_child, y->is_child);
    if (!order)
        order = compare(x->process, y->process);
    return order ? order : compare(x->thread, y->thread);
}

static bool has_main(const struct ar_traces *traces)
{
    for (size_t i = 0; i < traces->n; i++)
        if (is_main(traces, i))
            return true;
    return false;
}

/* Main threads, or all; where no main thread has a trace, there is nothing else to show. */
static enum ar_status choose_threads(struct ar_timeline *t, bool with_threads)
{
    const struct ar_traces *traces = t->traces;
    struct key *keys = calloc(traces->n + 1, sizeof *keys);
    bool with_all = with_threads || !has_main(traces);

    t->threads = calloc(traces->n + 1, sizeof *t->threads);
    if (!keys || !t->threads) {
        free(keys);
        return AR_NOMEM;
    }
    for (size_t i = 0; i < traces->n; i++)
        if (with_all || is_main(traces, i))
            keys[t->n_threads++] = key_of(traces, i);
    qsort(keys, t->n_threads, sizeof *keys, by_rank);
    for (size_t i = 0; i < t->n_threads; i++)
        t->threads[i] = keys[i].index;
    t->n_left_out = traces->n - t->n_threads;
    t->clocks = traces->hosts;
    free(keys);
    return AR_OK;
}

static enum ar_status make_rows(struct ar_timeline *t, size_t most_rows)
{
    t->per_row = most_rows && t->n_threads ? (t->n_threads - 1) / most_rows + 1 : 1;
    t->n_rows = (t->n_threads + t->per_row - 1) / t->per_row;
    t->rows = calloc(t->n_rows + 1, sizeof *t->rows);
    t->cells = calloc(t->n_rows * t->n_columns + 1, sizeof *t->cells);
    for (size_t i = 0; t->rows && i < t->n_rows; i++) {
        size_t first = i * t->per_row;

        t->rows[i].first = first;
        t->rows[i].n = first + t->per_row <= t->n_threads ? t->per_row : t->n_threads - first;
    }
    return t->rows && t->cells ? AR_OK : AR_NOMEM;
}

/* ---- cells ------------------------------------------------------------------------------------ */

/* A node of one thread has its share of all of them, at least. */
static void add_cell(struct ar_window_cell *to, const struct ar_window_cell *cell, float part)
{
    for (unsigned kind = 0; kind < AR_N_WINDOW_CLASSES; kind++)
        to->shares[kind] += part * cell->shares[kind];
    if (cell->node != AR_NO_ID && part * cell->node_share > to->node_share) {
        to->node = cell->node;
        to->node_share = part * cell->node_share;
    }
}

static void fill_row(struct ar_timeline *t, size_t at, const struct ar_trace_window *w)
{
    struct ar_timeline_row *row = &t->rows[at];
    struct ar_window_cell *cells = &t->cells[at * t->n_columns];

    for (size_t i = 0; i < t->n_columns; i++) {
        cells[i].node = AR_NO_ID;
        for (size_t k = 0; k < w->n_rows; k++)
            add_cell(&cells[i], ar_window_cell(w, k, i), 1.0f / (float)w->n_rows);
    }
    for (unsigned kind = 0; kind < AR_N_WINDOW_CLASSES; kind++)
        for (size_t k = 0; k < w->n_rows; k++) {
            row->class_ns[kind] += w->class_ns[k][kind] / (double)w->n_rows;
            t->class_ns[kind] += w->class_ns[k][kind] / (double)t->n_threads;
        }
    t->error = w->error > t->error ? w->error : t->error;
    t->n_events += w->n_events;
    t->n_bins += w->n_bins;
}

static enum ar_status read_row(struct ar_timeline *t, size_t at, const uint8_t *is_wanted,
                               struct ar_error *err)
{
    const struct ar_window_choice choice = {.from_ns = t->from_ns,
                                            .to_ns = t->to_ns,
                                            .threads = t->threads + t->rows[at].first,
                                            .n_threads = t->rows[at].n,
                                            .n_columns = t->n_columns,
                                            .is_wanted = is_wanted};
    struct ar_trace_window w;
    enum ar_status status = ar_trace_window_read(&w, t->traces, &choice, err);

    if (status < 0)
        return status;
    fill_row(t, at, &w);
    ar_trace_window_free(&w);
    return AR_OK;
}

/* ---- all -------------------------------------------------------------------------------------- */

void ar_timeline_free(struct ar_timeline *t)
{
    free(t->threads);
    free(t->rows);
    free(t->cells);
    *t = (struct ar_timeline){0};
}

/* A column is at least so many units of the trace: edges between columns are whole units. */
#define LEAST_COLUMN_UNITS 4

static double longest_unit_ns(const struct ar_traces *traces)
{
    double longest = 1;

    for (size_t i = 0; i < traces->n; i++)
        if (traces->items[i].ns_per_unit > longest)
            longest = traces->items[i].ns_per_unit;
    return longest;
}

/* A short window has fewer columns than were asked for. */
static enum ar_status limit_columns(struct ar_timeline *t, struct ar_error *err)
{
    double least_ns = LEAST_COLUMN_UNITS * longest_unit_ns(t->traces);
    double most = (double)(t->to_ns - t->from_ns) / least_ns;

    if (most < 1)
        return ar_fail(err, AR_BAD, "this window is too short: %.0f ns are the least that is drawn",
                       ceil(least_ns));
    if ((double)t->n_columns > most)
        t->n_columns = (size_t)most;
    return AR_OK;
}

/* A window without end is as long as the run. */
static enum ar_status cut_window(struct ar_timeline *t, const struct ar_timeline_choice *choice,
                                 struct ar_error *err)
{
    int64_t end = t->traces->end_ns;

    t->from_ns = choice->from_ns > 0 ? choice->from_ns : 0;
    t->to_ns = choice->to_ns < end ? choice->to_ns : end;

    enum ar_status status = ar_traces_check_window(t->traces, t->from_ns, err);

    return status < 0 ? status : limit_columns(t, err);
}

enum ar_status ar_timeline_make(struct ar_timeline *out, const struct ar_traces *traces,
                                const struct ar_timeline_choice *choice, struct ar_error *err)
{
    enum ar_status status;

    *out = (struct ar_timeline){.traces = traces, .n_columns = choice->n_columns};
    status = cut_window(out, choice, err);
    if (status == AR_OK &&
        (choose_threads(out, choice->with_threads) < 0 || make_rows(out, choice->most_rows) < 0))
        status = ar_fail(err, AR_NOMEM, "out of memory");
    for (size_t i = 0; i < out->n_rows && status == AR_OK; i++)
        status = read_row(out, i, choice->is_wanted, err);
    if (status < 0)
        ar_timeline_free(out);
    return status;
}

void ar_timeline_classes(const struct ar_timeline *t, size_t row, uint8_t *classes)
{
    float owed[AR_N_WINDOW_CLASSES] = {0};

    for (size_t i = 0; i < t->n_columns; i++) {
        const struct ar_window_cell *cell = ar_timeline_cell(t, row, i);
        unsigned best = AR_N_WINDOW_CLASSES;

        for (unsigned kind = 0; kind < AR_N_WINDOW_CLASSES; kind++) {
            bool is_there = cell->shares[kind] > 1e-4f;

            owed[kind] = is_there ? owed[kind] + cell->shares[kind] : 0;
            if (is_there && (best == AR_N_WINDOW_CLASSES || owed[kind] > owed[best]))
                best = kind;
        }
        if (best == AR_N_WINDOW_CLASSES)
            best = AR_CLASS_NONE;
        owed[best] -= 1;
        classes[i] = (uint8_t)best;
    }
}
