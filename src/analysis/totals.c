// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/totals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- spread over ranks ----------------------------------------------------------------------- */

/* One row of a metric: the values of a node, by location, those of a process next to each other. */
struct row {
    const struct ar_value *values;
    size_t n;
};

/* Welford's way: squares of large numbers would leave nothing of small differences. */
void ar_spread_add(struct ar_spreading *to, uint64_t value, uint32_t process)
{
    struct ar_spread *s = &to->s;
    double distance = (double)value - s->mean;

    s->sum += (double)value;
    if (to->n == 0 || value < s->min) {
        s->min = value;
        s->min_process = process;
    }
    if (to->n == 0 || value > s->max) {
        s->max = value;
        s->max_process = process;
    }
    to->n++;
    s->mean += distance / to->n;
    to->squares += distance * ((double)value - s->mean);
}

struct ar_spread ar_spread_end(const struct ar_spreading *of)
{
    struct ar_spread s = of->s;

    s.mean = of->n ? s.sum / of->n : 0;
    s.sd = of->n ? sqrt(of->squares / of->n) : 0;
    return s;
}

/* Ranks that are not in the row have 0, all at once: the first of them is the minimum. */
static void add_absent(struct ar_spreading *to, uint32_t first_absent, uint32_t n_processes)
{
    uint32_t n_present = to->n, n_absent = n_processes - n_present;
    struct ar_spread *s = &to->s;

    if (n_present >= n_processes)
        return;

    double squares = to->squares + s->mean * s->mean * n_present * n_absent / n_processes;

    ar_spread_add(to, 0, first_absent);
    to->squares = squares;
    if (s->min == 0 && first_absent < s->min_process)
        s->min_process = first_absent;
    if (s->max == 0 && first_absent < s->max_process)
        s->max_process = first_absent;
    to->n = n_processes;
}

static struct ar_spread spread_of(const struct ar_profile *p, struct row row)
{
    struct ar_spreading s = {0};
    uint32_t first_absent = 0;

    for (size_t i = 0; i < row.n;) {
        uint32_t process = ar_profile_root(p, row.values[i].location);
        uint64_t value = 0;

        for (; i < row.n && ar_profile_root(p, row.values[i].location) == process; i++)
            value += row.values[i].value;
        ar_spread_add(&s, value, process);
        if (process == first_absent)
            first_absent++;
    }
    add_absent(&s, first_absent, (uint32_t)p->n_roots);
    return ar_spread_end(&s);
}

/* Fills `spreads` for every node from values that are sorted by node. */
static void spread_all(const struct ar_profile *p, const struct ar_value *values, size_t n_values,
                       struct ar_spread *spreads)
{
    size_t i = 0;

    for (uint32_t node = 0; node < p->n_nodes; node++) {
        struct row row = {.values = n_values ? values + i : NULL};

        for (; i < n_values && values[i].node == node; i++)
            row.n++;
        spreads[node] = spread_of(p, row);
    }
}

size_t *ar_totals_rows(const struct ar_profile *p, enum ar_metric_id metric)
{
    const struct ar_metric *m = &p->metrics[metric];
    size_t *starts = calloc(p->n_nodes + 2, sizeof *starts);

    if (!starts)
        return NULL;
    for (size_t i = 0; i < m->n_values; i++)
        starts[m->values[i].node + 1]++;
    for (size_t node = 0; node < p->n_nodes; node++)
        starts[node + 1] += starts[node];
    return starts;
}

/* ---- self time ------------------------------------------------------------------------------- */

/*
 * From each node's values its children's are taken off, location by location. `in_children` is one
 * number a location, set back after each node by going over the same children again.
 */
struct subtraction {
    const struct ar_totals *t;
    const struct ar_value *times;
    size_t *row_start; /* by node, with one more at the end */
    uint64_t *in_children;
};

static void for_children(const struct subtraction *s, uint32_t node, bool add)
{
    for (uint32_t c = s->t->first_child[node]; c != AR_NO_ID; c = s->t->next_sibling[c])
        for (size_t i = s->row_start[c]; i < s->row_start[c + 1]; i++)
            if (add)
                s->in_children[s->times[i].location] += s->times[i].value;
            else
                s->in_children[s->times[i].location] = 0;
}

static void subtract_children(const struct subtraction *s, size_t n_nodes, struct ar_value *selves)
{
    for (uint32_t node = 0; node < n_nodes; node++) {
        for_children(s, node, true);
        for (size_t i = s->row_start[node]; i < s->row_start[node + 1]; i++) {
            uint64_t inside = s->in_children[selves[i].location];

            /* Estimates, and rounding to nanoseconds, can make the parts larger than the whole. */
            selves[i].value -= inside < selves[i].value ? inside : selves[i].value;
        }
        for_children(s, node, false);
    }
}

static bool comes_before(const struct ar_value *a, const struct ar_value *b)
{
    return a->node < b->node || (a->node == b->node && a->location < b->location);
}

/* Both are in the same order. */
static void take_given(const struct ar_profile *p, struct ar_value *selves)
{
    const struct ar_metric *given = &p->metrics[AR_METRIC_SELF];
    size_t n_values = p->metrics[AR_METRIC_TIME].n_values;

    for (size_t i = 0, k = 0; i < n_values; i++) {
        while (k < given->n_values && comes_before(&given->values[k], &selves[i]))
            k++;

        bool found = k < given->n_values && !comes_before(&selves[i], &given->values[k]);

        selves[i].value = found ? given->values[k].value : 0;
    }
}

enum ar_status ar_totals_self_values(const struct ar_totals *t, const struct ar_profile *p,
                                     struct ar_value **out)
{
    const struct ar_metric *m = &p->metrics[AR_METRIC_TIME];
    struct subtraction s = {
        .t = t,
        .times = m->values,
        .row_start = ar_totals_rows(p, AR_METRIC_TIME),
        .in_children = calloc(p->n_locations + 1, sizeof *s.in_children),
    };
    struct ar_value *selves = malloc((m->n_values + 1) * sizeof *selves);
    enum ar_status status = AR_NOMEM;

    if (s.row_start && s.in_children && selves) {
        if (m->n_values)
            memcpy(selves, m->values, m->n_values * sizeof *selves);
        if (t->of_pairs)
            take_given(p, selves);
        else
            subtract_children(&s, p->n_nodes, selves);
        *out = selves;
        selves = NULL;
        status = AR_OK;
    }
    free(s.row_start);
    free(s.in_children);
    free(selves);
    return status;
}

static enum ar_status build_self(struct ar_totals *t, const struct ar_profile *p)
{
    struct ar_value *selves;

    if (ar_totals_self_values(t, p, &selves) < 0)
        return AR_NOMEM;
    spread_all(p, selves, p->metrics[AR_METRIC_TIME].n_values, t->self);
    free(selves);
    return AR_OK;
}

/* ---- the tree -------------------------------------------------------------------------------- */

struct ordered {
    double time;
    uint32_t node;
};

static int shorter_first(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->node < y->node ? 1 : -1;
}

/* Children are put in front of their parent's list one after the other, the longest last. */
static enum ar_status build_children(struct ar_totals *t, const struct ar_profile *p)
{
    struct ordered *order = malloc((p->n_nodes + 1) * sizeof *order);

    if (!order)
        return AR_NOMEM;
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        order[i] = (struct ordered){t->time[i].sum, i};
        t->first_child[i] = t->next_sibling[i] = AR_NO_ID;
    }
    qsort(order, p->n_nodes, sizeof *order, shorter_first);
    for (size_t i = 0; i < p->n_nodes; i++) {
        uint32_t node = order[i].node, parent = p->nodes[node].parent;

        if (parent == AR_NO_ID)
            continue;
        t->next_sibling[node] = t->first_child[parent];
        t->first_child[parent] = node;
    }
    free(order);
    return AR_OK;
}

bool ar_totals_is_mpi(const struct ar_totals *t, const struct ar_profile *p, uint32_t node)
{
    return p->functions[p->nodes[node].function].kind == AR_FUNCTION_MPI &&
           !(t->of_pairs && ar_node_is_pair(p, node));
}

/* ---- all together ---------------------------------------------------------------------------- */

static void sum_over_ranks(const struct ar_profile *p, enum ar_metric_id metric, uint64_t *sums)
{
    const struct ar_metric *m = &p->metrics[metric];

    for (size_t i = 0; i < m->n_values; i++)
        sums[m->values[i].node] += m->values[i].value;
}

static void mark_nodes(const struct ar_profile *p, uint8_t *marks)
{
    const struct ar_metric *m = &p->metrics[AR_METRIC_MARKS];

    for (size_t i = 0; i < m->n_values; i++) {
        uint8_t *mark = &marks[m->values[i].node];

        if (m->values[i].value > *mark)
            *mark = m->values[i].value < UINT8_MAX ? (uint8_t)m->values[i].value : UINT8_MAX;
    }
}

static void add_process(struct ar_totals *t, const struct ar_process *process)
{
    for (int loss = 0; loss < AR_N_LOSSES; loss++)
        t->n_lost[loss] += process->n_lost[loss];
    t->overhead_ns += process->overhead_ns;
    if (process->n_cheap_builtins > t->n_cheap_builtins)
        t->n_cheap_builtins = process->n_cheap_builtins;
}

static void sum_processes(struct ar_totals *t, const struct ar_profile *p)
{
    double wall_ns = 0, roots_ns = 0;

    for (size_t i = 0; i < p->n_processes; i++) {
        wall_ns += (double)p->processes[i].wall_ns;
        roots_ns += i < p->n_roots ? (double)p->processes[i].wall_ns : 0;
        add_process(t, &p->processes[i]);
    }
    if (p->n_roots)
        t->mean_wall_ns = roots_ns / (double)p->n_roots;
    if (wall_ns > 0)
        t->overhead = (double)t->overhead_ns / wall_ns;
    for (uint32_t node = 0; node < p->n_nodes; node++)
        if (ar_totals_is_mpi(t, p, node))
            t->mpi_ns += t->self[node].mean;
}

static bool allocate(struct ar_totals *t, size_t n)
{
    t->time = calloc(n, sizeof *t->time);
    t->self = calloc(n, sizeof *t->self);
    t->n_calls = calloc(n, sizeof *t->n_calls);
    t->bytes_out = calloc(n, sizeof *t->bytes_out);
    t->bytes_in = calloc(n, sizeof *t->bytes_in);
    t->awaited_ns = calloc(n, sizeof *t->awaited_ns);
    t->n_primitive = calloc(n, sizeof *t->n_primitive);
    t->marks = calloc(n, sizeof *t->marks);
    t->first_child = calloc(n, sizeof *t->first_child);
    t->next_sibling = calloc(n, sizeof *t->next_sibling);
    return t->time && t->self && t->n_calls && t->bytes_out && t->bytes_in && t->awaited_ns &&
           t->n_primitive && t->marks && t->first_child && t->next_sibling;
}

enum ar_status ar_totals_build(struct ar_totals *out, struct ar_profile *p)
{
    enum ar_status status;

    *out = (struct ar_totals){.of_pairs = ar_profile_of_pairs(p)};
    status = allocate(out, p->n_nodes) ? ar_profile_sort(p) : AR_NOMEM;
    if (status == AR_OK) {
        spread_all(p, p->metrics[AR_METRIC_TIME].values, p->metrics[AR_METRIC_TIME].n_values,
                   out->time);
        status = build_children(out, p);
    }
    if (status == AR_OK)
        status = build_self(out, p);
    if (status == AR_OK) {
        sum_over_ranks(p, AR_METRIC_CALLS, out->n_calls);
        sum_over_ranks(p, AR_METRIC_BYTES_OUT, out->bytes_out);
        sum_over_ranks(p, AR_METRIC_BYTES_IN, out->bytes_in);
        sum_over_ranks(p, AR_METRIC_AWAITED, out->awaited_ns);
        sum_over_ranks(p, AR_METRIC_PRIMITIVE, out->n_primitive);
        mark_nodes(p, out->marks);
        sum_processes(out, p);
    } else {
        ar_totals_free(out);
    }
    return status;
}

void ar_totals_free(struct ar_totals *t)
{
    free(t->time);
    free(t->self);
    free(t->n_calls);
    free(t->bytes_out);
    free(t->bytes_in);
    free(t->awaited_ns);
    free(t->n_primitive);
    free(t->marks);
    free(t->first_child);
    free(t->next_sibling);
    *t = (struct ar_totals){0};
}
