// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/totals.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- spread over ranks ----------------------------------------------------------------------- */

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

/* Ranks that are not in the row have 0, all in one step: the first of them is the minimum. */
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

/* Of a row, in which the values of a process are next to each other. */
static struct ar_spread spread_of(const struct ar_profile *p, struct ar_row row)
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

/* ---- self time ------------------------------------------------------------------------------- */

enum ar_status ar_selves_open(struct ar_selves *out, const struct ar_totals *t,
                              const struct ar_profile *p)
{
    enum ar_metric_id other = t->of_pairs ? AR_METRIC_SELF : AR_METRIC_TIME;
    size_t n = p->n_locations + 1;
    enum ar_status status;

    *out = (struct ar_selves){.t = t,
                              .in_children = calloc(n, sizeof *out->in_children),
                              .touched = malloc(n * sizeof *out->touched),
                              .values = malloc(n * sizeof *out->values)};
    status = out->in_children && out->touched && out->values ? AR_OK : AR_NOMEM;
    if (status == AR_OK)
        status = ar_rows_open(&out->times, p, AR_METRIC_TIME);
    if (status == AR_OK)
        status = ar_rows_open(&out->others, p, other);
    if (status < 0)
        ar_selves_close(out);
    return status;
}

void ar_selves_close(struct ar_selves *s)
{
    ar_rows_close(&s->times);
    ar_rows_close(&s->others);
    free(s->in_children);
    free(s->touched);
    free(s->values);
    *s = (struct ar_selves){0};
}

/* A file may say anything: what would begin at 0 again stays at the end. */
static void add_children(struct ar_selves *s, uint32_t node)
{
    for (uint32_t c = s->t->first_child[node]; c != AR_NO_ID; c = s->t->next_sibling[c]) {
        struct ar_row row = ar_rows_get(&s->others, c);

        for (size_t i = 0; i < row.n; i++) {
            uint64_t *inside = &s->in_children[row.values[i].location];
            uint64_t value = row.values[i].value;

            if (*inside == 0 && value)
                s->touched[s->n_touched++] = row.values[i].location;
            *inside = *inside + value < value ? UINT64_MAX : *inside + value;
        }
    }
}

static void forget_children(struct ar_selves *s)
{
    for (size_t i = 0; i < s->n_touched; i++)
        s->in_children[s->touched[i]] = 0;
    s->n_touched = 0;
}

/* Both are in order of locations. */
static void take_given(struct ar_row given, struct ar_value *selves, size_t n)
{
    for (size_t i = 0, k = 0; i < n; i++) {
        while (k < given.n && given.values[k].location < selves[i].location)
            k++;

        bool found = k < given.n && given.values[k].location == selves[i].location;

        selves[i].value = found ? given.values[k].value : 0;
    }
}

struct ar_row ar_selves_get(struct ar_selves *s, uint32_t node)
{
    struct ar_row times = ar_rows_get(&s->times, node);

    s->time = times;
    if (times.n)
        memcpy(s->values, times.values, times.n * sizeof *s->values);
    if (s->t->of_pairs) {
        take_given(ar_rows_get(&s->others, node), s->values, times.n);
        return (struct ar_row){s->values, times.n};
    }
    add_children(s, node);
    for (size_t i = 0; i < times.n; i++) {
        uint64_t inside = s->in_children[s->values[i].location];

        /* Estimates, and rounding to nanoseconds, can make the parts larger than the whole. */
        s->values[i].value -= inside < s->values[i].value ? inside : s->values[i].value;
    }
    forget_children(s);
    return (struct ar_row){s->values, times.n};
}

enum ar_status ar_totals_self_values(const struct ar_totals *t, const struct ar_profile *p,
                                     struct ar_value **out)
{
    struct ar_value *values = malloc((p->metrics[AR_METRIC_TIME].n_values + 1) * sizeof *values);
    struct ar_selves selves;
    size_t n = 0;

    if (!values || ar_selves_open(&selves, t, p) < 0) {
        free(values);
        return AR_NOMEM;
    }
    for (uint32_t node = 0; node < p->n_nodes; node++) {
        struct ar_row row = ar_selves_get(&selves, node);

        if (row.n)
            memcpy(values + n, row.values, row.n * sizeof *values);
        n += row.n;
    }
    ar_selves_close(&selves);
    *out = values;
    return AR_OK;
}

/* ---- of rows that are known ------------------------------------------------------------------- */

/* What the totals of a profile are made from: itself, and the totals of the one whose rows it shows, if there are any. */
struct source {
    const struct ar_profile *p;
    const struct ar_totals *of_rows; /* NULL: none */
};

/* The one node that another shows, on the same locations; AR_NO_ID: it shows several, or none. */
static uint32_t shown_node(const struct source *from, uint32_t node)
{
    const struct ar_profile *p = from->p;

    if (!from->of_rows ||
        p->rows[AR_ROWS_SHOWN].first[node + 1] - p->rows[AR_ROWS_SHOWN].first[node] != 1)
        return AR_NO_ID;
    return p->rows[AR_ROWS_SHOWN].nodes[p->rows[AR_ROWS_SHOWN].first[node]];
}

/* Whether the children of a node show all children of the node that it shows, and nothing else: then self times are the same. */
static bool has_same_children(const struct source *from, const struct ar_totals *t, uint32_t node,
                              uint32_t shown)
{
    const struct ar_profile *p = from->p;
    size_t n = 0;

    for (uint32_t c = t->first_child[node]; c != AR_NO_ID; c = t->next_sibling[c])
        for (uint32_t i = p->rows[AR_ROWS_SHOWN].first[c]; i < p->rows[AR_ROWS_SHOWN].first[c + 1];
             i++, n++)
            if (p->rows_of->nodes[p->rows[AR_ROWS_SHOWN].nodes[i]].parent != shown)
                return false;
    for (uint32_t c = from->of_rows->first_child[shown]; c != AR_NO_ID;
         c = from->of_rows->next_sibling[c])
        n--;
    return n == 0;
}

/* Time and self time together: both are of the same rows. */
static enum ar_status build_times(struct ar_totals *t, const struct source *from)
{
    struct ar_selves selves;

    if (ar_selves_open(&selves, t, from->p) < 0)
        return AR_NOMEM;
    for (uint32_t node = 0; node < from->p->n_nodes; node++) {
        uint32_t shown = shown_node(from, node);

        if (shown != AR_NO_ID && has_same_children(from, t, node, shown)) {
            t->time[node] = from->of_rows->time[shown];
            t->self[node] = from->of_rows->self[shown];
            t->time[node].doubt = t->self[node].doubt = (struct ar_doubt){0};
        } else {
            t->self[node] = spread_of(from->p, ar_selves_get(&selves, node));
            t->time[node] = spread_of(from->p, selves.time);
        }
    }
    ar_selves_close(&selves);
    return AR_OK;
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* Parents come first, so that going backwards each has its children's before it is asked for. */
static void find_mpi_below(struct ar_totals *t, const struct ar_profile *p)
{
    for (size_t node = p->n_nodes; node-- > 1;) {
        uint32_t parent = p->nodes[node].parent;

        if (ar_totals_is_mpi(t, p, (uint32_t)node))
            t->mpi_below_ns[node] = t->time[node].sum;
        t->mpi_below_ns[parent] += t->mpi_below_ns[node];
    }
}

/* "from package import module" calls `__import__`, which imports the module. */
static bool is_import(const struct ar_profile *p, uint32_t node)
{
    const struct ar_function *f = &p->functions[p->nodes[node].function];

    return f->kind == AR_FUNCTION_IMPORT ||
           (f->kind == AR_FUNCTION_BUILTIN &&
            ar_ends_with(ar_strtab_text(&p->strings, f->name), "__import__"));
}

double ar_totals_rank(const struct ar_totals *t, const struct ar_profile *p, uint32_t node)
{
    return t->time[node].sum - (is_import(p, node) ? t->mpi_below_ns[node] : 0);
}

struct ordered {
    double key;
    uint32_t node;
};

static int smaller_first(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->node < y->node ? 1 : -1;
}

/* In any order, for those who need no other. */
static void link_children(struct ar_totals *t, const struct ar_profile *p)
{
    for (uint32_t i = 0; i < p->n_nodes; i++)
        t->first_child[i] = t->next_sibling[i] = AR_NO_ID;
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        uint32_t parent = p->nodes[i].parent;

        if (parent == AR_NO_ID)
            continue;
        t->next_sibling[i] = t->first_child[parent];
        t->first_child[parent] = i;
    }
}

/* Children are put in front of their parent's list one after the other, the largest last. */
enum ar_status ar_totals_order(struct ar_totals *t, const struct ar_profile *p, const double *keys)
{
    struct ordered *order = malloc((p->n_nodes + 1) * sizeof *order);

    if (!order)
        return AR_NOMEM;
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        order[i] = (struct ordered){keys ? keys[i] : ar_totals_rank(t, p, i), i};
        t->first_child[i] = t->next_sibling[i] = AR_NO_ID;
    }
    qsort(order, p->n_nodes, sizeof *order, smaller_first);
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

/* `known` are those of the rows that are shown, if there are any. */
static enum ar_status sum_over_ranks(const struct source *from, enum ar_metric_id metric,
                                     const uint64_t *known, uint64_t *sums)
{
    struct ar_rows rows;

    if (ar_rows_open(&rows, from->p, metric) < 0)
        return AR_NOMEM;
    for (uint32_t node = 0; node < from->p->n_nodes; node++) {
        uint32_t shown = known ? shown_node(from, node) : AR_NO_ID;
        struct ar_row row = {0};

        if (shown != AR_NO_ID)
            sums[node] = known[shown];
        else
            row = ar_rows_get(&rows, node);
        for (size_t i = 0; i < row.n; i++)
            sums[node] += row.values[i].value;
    }
    ar_rows_close(&rows);
    return AR_OK;
}

/* ---- how far times are to be believed --------------------------------------------------------- */

void ar_doubt_add(struct ar_doubt *to, struct ar_doubt part)
{
    to->marks |= part.marks;
    to->variance += part.variance;
}

struct ar_doubt ar_doubt_estimated(struct ar_doubt doubt)
{
    return (struct ar_doubt){doubt.marks & ~(uint32_t)AR_MARK_PARTIAL, doubt.variance};
}

double ar_doubt_error(struct ar_doubt doubt, size_t n_ranks)
{
    if (doubt.marks & AR_MARK_NO_ERROR)
        return NAN;
    return n_ranks ? 1000 * sqrt(doubt.variance) / (double)n_ranks : 0;
}

enum ar_status ar_doubts_open(struct ar_doubts *out, const struct ar_profile *p)
{
    *out = (struct ar_doubts){0};
    if (ar_rows_open(&out->marks, p, AR_METRIC_MARKS) == AR_OK &&
        ar_rows_open(&out->variances, p, AR_METRIC_VARIANCE) == AR_OK)
        return AR_OK;
    ar_doubts_close(out);
    return AR_NOMEM;
}

void ar_doubts_close(struct ar_doubts *d)
{
    ar_rows_close(&d->marks);
    ar_rows_close(&d->variances);
    *d = (struct ar_doubts){0};
}

/* Both are in order of locations. */
void ar_doubts_each(struct ar_doubts *d, uint32_t node,
                    void (*visit)(uint32_t location, struct ar_doubt doubt, void *context),
                    void *context)
{
    struct ar_row marks = ar_rows_get(&d->marks, node), variances = {0};

    if (marks.n)
        variances = ar_rows_get(&d->variances, node);
    for (size_t i = 0, at = 0; i < marks.n; i++) {
        uint32_t location = marks.values[i].location;
        struct ar_doubt doubt = {.marks = (uint32_t)marks.values[i].value &
                                          (AR_MARK_ESTIMATED | AR_MARK_PARTIAL)};

        while (at < variances.n && variances.values[at].location < location)
            at++;
        if (at < variances.n && variances.values[at].location == location)
            doubt.variance = (double)variances.values[at].value;
        else if (doubt.marks & AR_MARK_ESTIMATED)
            doubt.marks |= AR_MARK_NO_ERROR;
        visit(location, doubt, context);
    }
}

static void add_doubt(uint32_t location, struct ar_doubt doubt, void *spread)
{
    (void)location;
    ar_doubt_add(&((struct ar_spread *)spread)->doubt, doubt);
}

/* What is left when estimated children are taken off is an estimate, too. */
static void doubt_self(struct ar_totals *t, const struct ar_profile *p, uint32_t node)
{
    uint32_t parent = p->nodes[node].parent;

    ar_doubt_add(&t->self[node].doubt, t->time[node].doubt);
    if (parent != AR_NO_ID)
        ar_doubt_add(&t->self[parent].doubt, ar_doubt_estimated(t->time[node].doubt));
}

static enum ar_status build_doubts(struct ar_totals *t, const struct ar_profile *p)
{
    struct ar_doubts doubts;

    if (ar_doubts_open(&doubts, p) < 0)
        return AR_NOMEM;
    for (uint32_t node = 0; node < p->n_nodes; node++) {
        ar_doubts_each(&doubts, node, add_doubt, &t->time[node]);
        doubt_self(t, p, node);
    }
    ar_doubts_close(&doubts);
    return AR_OK;
}

static enum ar_status build_sums(struct ar_totals *t, const struct source *from)
{
    static const struct ar_totals none = {0};
    const struct ar_totals *known = from->of_rows ? from->of_rows : &none;
    const struct ar_profile *p = from->p;
    const struct {
        enum ar_metric_id metric;
        const uint64_t *known;
        uint64_t *to;
    } sums[] = {{AR_METRIC_CALLS, known->n_calls, t->n_calls},
                {AR_METRIC_BYTES_OUT, known->bytes_out, t->bytes_out},
                {AR_METRIC_BYTES_IN, known->bytes_in, t->bytes_in},
                {AR_METRIC_AWAITED, known->awaited_ns, t->awaited_ns},
                {AR_METRIC_PRIMITIVE, known->n_primitive, t->n_primitive}};

    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        if (sum_over_ranks(from, sums[i].metric, sums[i].known, sums[i].to) < 0)
            return AR_NOMEM;
    if (ar_profile_find_inherited(p, t->n_calls, t->is_inherited) < 0)
        return AR_NOMEM;
    return build_doubts(t, p);
}

const char *const ar_overhead_names[AR_N_OVERHEADS] = {
    [AR_OVERHEAD_START] = "start", [AR_OVERHEAD_IMPORTS] = "imports",
    [AR_OVERHEAD_PATHS] = "paths", [AR_OVERHEAD_PYTHON] = "python_calls",
    [AR_OVERHEAD_C] = "c_calls",   [AR_OVERHEAD_MPI] = "mpi_calls",
    [AR_OVERHEAD_END] = "end",
};

static void add_process(struct ar_totals *t, const struct ar_process *process)
{
    t->overhead_ns += process->overhead_ns;
    for (int reason = 0; reason < AR_N_OVERHEADS; reason++)
        t->overheads_ns[reason] += process->overheads_ns[reason];
}

static void sum_processes(struct ar_totals *t, const struct ar_profile *p)
{
    double wall_ns = 0, roots_ns = 0;

    for (size_t i = 0; i < p->n_processes; i++) {
        wall_ns += (double)p->processes[i].wall_ns;
        roots_ns += i < p->n_roots ? (double)p->processes[i].wall_ns : 0;
        add_process(t, &p->processes[i]);
    }
    for (int loss = 0; loss < AR_N_LOSSES; loss++)
        t->n_lost[loss] = ar_profile_lost(p, AR_NO_ID, (enum ar_live_loss)loss);
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
    t->mpi_below_ns = calloc(n, sizeof *t->mpi_below_ns);
    t->is_inherited = calloc(n, sizeof *t->is_inherited);
    t->n_primitive = calloc(n, sizeof *t->n_primitive);
    t->first_child = calloc(n, sizeof *t->first_child);
    t->next_sibling = calloc(n, sizeof *t->next_sibling);
    return t->time && t->self && t->n_calls && t->bytes_out && t->bytes_in && t->awaited_ns &&
           t->mpi_below_ns && t->is_inherited && t->n_primitive && t->first_child &&
           t->next_sibling;
}

enum ar_status ar_totals_build(struct ar_totals *out, struct ar_profile *p)
{
    return ar_totals_build_from(out, p, NULL);
}

enum ar_status ar_totals_build_from(struct ar_totals *out, struct ar_profile *p,
                                    const struct ar_totals *of_rows)
{
    struct source from = {.p = p, .of_rows = p->rows_of && !p->location_of ? of_rows : NULL};
    enum ar_status status;

    *out = (struct ar_totals){.of_pairs = ar_profile_of_pairs(p)};
    status = allocate(out, p->n_nodes) ? ar_profile_sort(p) : AR_NOMEM;
    if (status == AR_OK) {
        link_children(out, p);
        status = build_times(out, &from);
    }
    if (status == AR_OK) {
        find_mpi_below(out, p);
        status = ar_totals_order(out, p, NULL);
    }
    if (status == AR_OK)
        status = build_sums(out, &from);
    if (status == AR_OK)
        sum_processes(out, p);
    else
        ar_totals_free(out);
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
    free(t->mpi_below_ns);
    free(t->is_inherited);
    free(t->n_primitive);
    free(t->first_child);
    free(t->next_sibling);
    *t = (struct ar_totals){0};
}
