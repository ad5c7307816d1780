// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_OF_WALL 0.001 /* that a change has to be */
#define LEAST_OF_ITSELF 0.02
#define LARGE 0.5 /* of the larger side: too much to be called noise where that is hardly known */
#define ENOUGH_FOR_NOISE 3 /* runs a side, or ranks */
#define SMALL_RANK 0.1     /* of the mean: what a rank with less did is not worth a ratio */
#define MAD_TO_SD 1.4826   /* of the normal distribution */

/* ---- statistics ----------------------------------------------------------------------------- */

/* Hoare's selection: the k-th smallest, in linear time on average. */
static double select_kth(double *values, size_t n, size_t k)
{
    size_t low = 0, high = n - 1;

    while (low < high) {
        double pivot = values[low + (high - low) / 2];
        size_t i = low, j = high;

        for (;;) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i >= j)
                break;

            double swapped = values[i];

            values[i++] = values[j];
            values[j--] = swapped;
        }
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
    return values[k];
}

static double median(double *values, size_t n)
{
    return n ? (select_kth(values, n, (n - 1) / 2) + select_kth(values, n, n / 2)) / 2 : 0;
}

/* What it would be if they were normal, whatever a few of them are. Changes the values. */
static double robust_sd(double *values, size_t n)
{
    double middle = median(values, n);

    for (size_t i = 0; i < n; i++)
        values[i] = fabs(values[i] - middle);
    return MAD_TO_SD * median(values, n);
}

/* Two-sided, 95 %; for degrees in between the next smaller, which is the safe side. */
static double student_t(double degrees)
{
    static const struct {
        double degrees, t;
    } table[] = {{60, 2.00}, {30, 2.04}, {20, 2.09}, {15, 2.13}, {12, 2.18}, {10, 2.23}, {9, 2.26},
                 {8, 2.31},  {7, 2.36},  {6, 2.45},  {5, 2.57},  {4, 2.78},  {3, 3.18},  {2, 4.30}};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (degrees >= table[i].degrees)
            return table[i].t;
    return 12.71;
}

struct sample {
    double mean, variance; /* of one of them */
    size_t n;
};

static struct sample sample_of(const double *values, size_t n)
{
    struct sample s = {.n = n};

    for (size_t i = 0; i < n; i++)
        s.mean += values[i] / (double)n;
    for (size_t i = 0; i < n && n > 1; i++)
        s.variance += (values[i] - s.mean) * (values[i] - s.mean) / (double)(n - 1);
    return s;
}

/*
 * Of the difference of two means. Both sides are taken to vary alike: what makes runs of a program
 * differ is the machine, and of two or three runs each no more can be told. So a run may also stand
 * alone.
 */
static double student_noise(struct sample a, struct sample b)
{
    double degrees = (double)(a.n + b.n) - 2;
    double squares = a.variance * ((double)a.n - 1) + b.variance * ((double)b.n - 1);

    if (degrees < 1)
        return 0;
    return student_t(degrees) * sqrt(squares / degrees * (1 / (double)a.n + 1 / (double)b.n));
}

/* ---- ranks of two runs ---------------------------------------------------------------------- */

/* What reads the values of ranks; only where there is one run a side. */
struct reader {
    struct ar_shares functions;
    struct ar_share *shares;
    struct ar_rows times;
    struct ar_selves selves;
    double *time, *self; /* by rank, of what was asked for last */
};

struct building {
    struct ar_diff *d;
    bool by_path;
    double wall_ns;           /* mean of both sides */
    struct reader readers[2]; /* base, now */
    double *scratch;          /* one number a rank of either side */
    double *means;            /* one a run */
};

static size_t n_ranks_of(const struct building *m, int side)
{
    return m->d->runs[side].p.n_roots;
}

static enum ar_status open_reader(struct reader *r, const struct ar_summary *s, bool reads_values)
{
    size_t n = s->p.n_roots + 1;

    r->time = calloc(n, sizeof *r->time);
    r->self = calloc(n, sizeof *r->self);
    r->shares = calloc(s->p.n_processes + 1, sizeof *r->shares);
    if (!r->shares || !r->time || !r->self)
        return AR_NOMEM;
    if (!reads_values)
        return AR_OK;
    if (ar_shares_open(&r->functions, &s->f) < 0 ||
        ar_rows_open(&r->times, &s->p, AR_METRIC_TIME) < 0)
        return AR_NOMEM;
    return ar_selves_open(&r->selves, &s->t, &s->p);
}

static void close_reader(struct reader *r)
{
    ar_shares_close(&r->functions);
    ar_rows_close(&r->times);
    ar_selves_close(&r->selves);
    free(r->shares);
    free(r->time);
    free(r->self);
}

static void add_row(const struct ar_profile *p, struct ar_row row, double *to)
{
    for (size_t i = 0; i < row.n; i++)
        to[ar_profile_root(p, row.values[i].location)] += (double)row.values[i].value;
}

static void read_ranks(struct building *m, int side, uint32_t id)
{
    const struct ar_profile *p = &m->d->runs[side].p;
    struct reader *r = &m->readers[side];

    memset(r->time, 0, p->n_roots * sizeof *r->time);
    memset(r->self, 0, p->n_roots * sizeof *r->self);
    if (id == AR_NO_ID)
        return;
    if (m->by_path) {
        add_row(p, ar_rows_get(&r->times, id), r->time);
        add_row(p, ar_selves_get(&r->selves, id), r->self);
        return;
    }
    ar_shares_get(&r->functions, id, r->shares);
    for (size_t i = 0; i < p->n_roots; i++) {
        r->time[i] = (double)r->shares[i].time_ns;
        r->self[i] = (double)r->shares[i].self_ns;
    }
}

/* From the relative change of each rank, which is between -1 and 1. */
static double noise_of_pairs(struct building *m, const double *base, const double *now)
{
    size_t n_ranks = n_ranks_of(m, 0), n = 0;
    double sum = 0;

    for (size_t i = 0; i < n_ranks; i++)
        sum += (base[i] + now[i]) / (double)n_ranks;
    for (size_t i = 0; i < n_ranks; i++)
        if (base[i] + now[i] > SMALL_RANK * sum)
            m->scratch[n++] = (now[i] - base[i]) / (base[i] + now[i]);
    return n ? 2 * robust_sd(m->scratch, n) / sqrt((double)n) * sum : 0;
}

static double error_of_ranks(struct building *m, const double *values, size_t n)
{
    memcpy(m->scratch, values, n * sizeof *values);
    return robust_sd(m->scratch, n) / sqrt((double)n);
}

static double noise_of_ranks(struct building *m, const double *base, const double *now)
{
    return 2 * hypot(error_of_ranks(m, base, n_ranks_of(m, 0)),
                     error_of_ranks(m, now, n_ranks_of(m, 1)));
}

/* ---- changes -------------------------------------------------------------------------------- */

static double least_noise(const struct building *m, const struct ar_change *change)
{
    double of_wall = LEAST_OF_WALL * m->wall_ns;
    double larger = change->base > change->now ? change->base : change->now;

    if (m->d->noise == AR_NOISE_OF_RUNS || LEAST_OF_ITSELF * larger < of_wall)
        return of_wall;
    return LEAST_OF_ITSELF * larger;
}

/* Of an estimate whose error is not known nothing can be said. */
static double noise_of_estimates(const struct ar_change *change)
{
    double error =
        hypot(ar_doubt_error(change->base_doubt, 1), ar_doubt_error(change->now_doubt, 1));

    return isnan(error) ? 0 : 2 * error;
}

static bool is_large(const struct ar_change *change, double least)
{
    double ns = fabs(ar_change_ns(change));

    return ns > least && ns > LARGE * fmax(change->base, change->now);
}

static void decide(const struct building *m, struct ar_change *change, double noise)
{
    double least = fmax(least_noise(m, change), noise_of_estimates(change));

    change->noise = noise > least ? noise : least;
    change->counts = fabs(ar_change_ns(change)) > change->noise;
    change->is_undecided = m->d->has_few && !change->counts && is_large(change, least);
}

/* From the means of all runs. */
static struct ar_change change_of(const struct building *m, struct ar_doubt base_doubt,
                                  struct ar_doubt now_doubt)
{
    struct sample base = sample_of(m->means, m->d->n_base);
    struct sample now = sample_of(m->means + m->d->n_base, m->d->n_runs - m->d->n_base);
    struct ar_change change = {
        .base = base.mean, .now = now.mean, .base_doubt = base_doubt, .now_doubt = now_doubt};

    decide(m, &change, m->d->noise == AR_NOISE_OF_RUNS ? student_noise(base, now) : 0);
    return change;
}

/* What is too little to count need not be held against ranks. */
static void weigh_ranks(struct building *m, struct ar_change *change, const double *base,
                        const double *now)
{
    if (!change->counts)
        return;
    if (m->d->noise == AR_NOISE_OF_PAIRS)
        decide(m, change, noise_of_pairs(m, base, now));
    else if (m->d->noise == AR_NOISE_OF_RANKS)
        decide(m, change, noise_of_ranks(m, base, now));
}

static bool reads_ranks(const struct building *m)
{
    return m->d->noise == AR_NOISE_OF_PAIRS || m->d->noise == AR_NOISE_OF_RANKS;
}

/* ---- the run -------------------------------------------------------------------------------- */

static double wall_of(const struct ar_summary *s)
{
    return s->t.mean_wall_ns;
}

static double mpi_of(const struct ar_summary *s)
{
    double sum = 0;

    for (size_t i = 0; i < s->e.n_ranks; i++)
        sum += (double)s->e.ranks[i].mpi_ns;
    return s->e.n_ranks ? sum / (double)s->e.n_ranks : 0;
}

static struct ar_change compare_runs(struct building *m, bool of_mpi)
{
    struct ar_change change;

    for (size_t i = 0; i < m->d->n_runs; i++)
        m->means[i] = of_mpi ? mpi_of(&m->d->runs[i]) : wall_of(&m->d->runs[i]);
    change = change_of(m, (struct ar_doubt){0}, (struct ar_doubt){0});
    if (!reads_ranks(m))
        return change;
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < n_ranks_of(m, side); i++) {
            const struct ar_rank_time *rank = &m->d->runs[side].e.ranks[i];

            m->readers[side].time[i] = (double)(of_mpi ? rank->mpi_ns : rank->wall_ns);
        }
    weigh_ranks(m, &change, m->readers[0].time, m->readers[1].time);
    return change;
}

/* ---- rows ----------------------------------------------------------------------------------- */

enum figure { FIGURE_TIME, FIGURE_SELF, FIGURE_CALLS };

static const struct ar_spread *spread_of(const struct building *m, const struct ar_summary *s,
                                         uint32_t id, enum figure figure)
{
    if (m->by_path)
        return figure == FIGURE_TIME ? &s->t.time[id] : &s->t.self[id];
    return figure == FIGURE_TIME ? &s->f.sums[id].time : &s->f.sums[id].self;
}

static double figure_of(const struct building *m, const struct ar_summary *s, uint32_t id,
                        enum figure figure)
{
    if (id == AR_NO_ID)
        return 0;
    if (m->by_path && figure == FIGURE_CALLS)
        return s->p.n_roots ? (double)s->t.n_calls[id] / (double)s->p.n_roots : 0;
    if (figure == FIGURE_CALLS)
        return s->f.sums[id].calls.mean;
    return spread_of(m, s, id, figure)->mean;
}

/* Of the mean over ranks and over the runs of a side. */
static struct ar_doubt doubt_of(const struct building *m, const struct ar_common *common,
                                uint32_t row, enum figure figure, size_t first, size_t end)
{
    struct ar_doubt sum = {0};

    for (size_t i = first; i < end && figure != FIGURE_CALLS; i++) {
        const struct ar_summary *s = &m->d->runs[i];
        uint32_t id = ar_common_id(common, i, row);
        double n = (double)s->p.n_roots * (double)(end - first);

        if (id == AR_NO_ID || n <= 0)
            continue;

        struct ar_doubt doubt = spread_of(m, s, id, figure)->doubt;

        doubt.variance /= n * n;
        ar_doubt_add(&sum, doubt);
    }
    return sum;
}

static struct ar_change compare_figure(const struct building *m, const struct ar_common *common,
                                       uint32_t row, enum figure figure)
{
    size_t n_base = m->d->n_base, n_runs = m->d->n_runs;

    for (size_t i = 0; i < m->d->n_runs; i++)
        m->means[i] = figure_of(m, &m->d->runs[i], ar_common_id(common, i, row), figure);
    return change_of(m, doubt_of(m, common, row, figure, 0, n_base),
                     doubt_of(m, common, row, figure, n_base, n_runs));
}

static bool is_on_side(const struct ar_common *common, uint32_t row, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        if (ar_common_id(common, i, row) != AR_NO_ID)
            return true;
    return false;
}

static struct ar_diff_row compare_row(struct building *m, const struct ar_common *common,
                                      uint32_t row)
{
    size_t run = ar_common_run(common, row);
    struct ar_change calls = compare_figure(m, common, row, FIGURE_CALLS);
    struct ar_diff_row r = {
        .row = row,
        .run = (uint32_t)run,
        .id = ar_common_id(common, run, row),
        .has_base = is_on_side(common, row, 0, m->d->n_base),
        .has_now = is_on_side(common, row, m->d->n_base, m->d->n_runs),
        .time = compare_figure(m, common, row, FIGURE_TIME),
        .self = compare_figure(m, common, row, FIGURE_SELF),
        .base_calls = calls.base,
        .now_calls = calls.now,
    };

    if (reads_ranks(m) && (r.time.counts || r.self.counts)) {
        for (int side = 0; side < 2; side++)
            read_ranks(m, side, ar_common_id(common, (size_t)side, row));
        weigh_ranks(m, &r.time, m->readers[0].time, m->readers[1].time);
        weigh_ranks(m, &r.self, m->readers[0].self, m->readers[1].self);
    }
    return r;
}

/* Functions that are in no tree, as those of files that were merged, belong to no call path. */
static bool is_there(const struct building *m, const struct ar_diff_row *r)
{
    const struct ar_common *common = &m->d->functions.common;

    if (m->by_path)
        return true;
    for (size_t run = 0; run < m->d->n_runs; run++) {
        uint32_t id = ar_common_id(common, run, r->row);

        if (id != AR_NO_ID && id != m->d->runs[run].p.nodes[0].function &&
            m->d->runs[run].f.sums[id].n_nodes)
            return true;
    }
    return false;
}

static enum ar_status compare_rows(struct building *m, struct ar_diff_table *table)
{
    table->rows = malloc((table->common.n_rows + 1) * sizeof *table->rows);
    if (!table->rows)
        return AR_NOMEM;
    for (uint32_t row = 0; row < table->common.n_rows; row++) {
        struct ar_diff_row r = compare_row(m, &table->common, row);

        if (is_there(m, &r))
            table->rows[table->n_rows++] = r;
    }
    ar_diff_sort(table, false);
    return AR_OK;
}

static int level_of(const struct ar_change *x)
{
    return x->counts ? 2 : x->is_undecided;
}

static int in_order(const struct ar_change *x, const struct ar_change *y)
{
    double dx = fabs(ar_change_ns(x)), dy = fabs(ar_change_ns(y));

    if (level_of(x) != level_of(y))
        return level_of(y) - level_of(x);
    return dx == dy ? 0 : dx > dy ? -1 : 1;
}

static int by_self(const void *a, const void *b)
{
    const struct ar_diff_row *x = a, *y = b;
    int order = in_order(&x->self, &y->self);

    return order ? order : (x->row > y->row) - (x->row < y->row);
}

static int by_time(const void *a, const void *b)
{
    const struct ar_diff_row *x = a, *y = b;
    int order = in_order(&x->time, &y->time);

    return order ? order : (x->row > y->row) - (x->row < y->row);
}

void ar_diff_sort(struct ar_diff_table *table, bool inclusive)
{
    if (table->n_rows)
        qsort(table->rows, table->n_rows, sizeof *table->rows, inclusive ? by_time : by_self);
}

/* ---- all together --------------------------------------------------------------------------- */

bool ar_diff_needs_values(size_t n_base, size_t n_runs)
{
    return n_base == 1 && n_runs == 2;
}

static enum ar_diff_noise kind_of_noise(const struct ar_diff *d)
{
    size_t n_base = d->runs[0].p.n_roots, n_now = d->runs[d->n_base].p.n_roots;

    if (!ar_diff_needs_values(d->n_base, d->n_runs))
        return AR_NOISE_OF_RUNS;
    if (n_base < 2 || n_now < 2)
        return AR_NOISE_UNKNOWN;
    return n_base == n_now ? AR_NOISE_OF_PAIRS : AR_NOISE_OF_RANKS;
}

static bool has_few(const struct ar_diff *d)
{
    size_t n_base = d->runs[0].p.n_roots, n_now = d->runs[d->n_base].p.n_roots;

    if (d->noise == AR_NOISE_UNKNOWN)
        return false; /* then no change is called noise for being unlike others */
    if (d->noise == AR_NOISE_OF_RUNS) {
        n_base = d->n_base;
        n_now = d->n_runs - d->n_base;
    }
    return n_base < ENOUGH_FOR_NOISE || n_now < ENOUGH_FOR_NOISE;
}

static enum ar_status match(struct ar_diff *d, bool with_paths)
{
    const struct ar_profile **profiles = malloc((d->n_runs + 1) * sizeof(void *));
    enum ar_status status = AR_NOMEM;

    for (size_t i = 0; i < d->n_runs && profiles; i++)
        profiles[i] = &d->runs[i].p;
    if (profiles)
        status = ar_common_functions(&d->functions.common, profiles, d->n_runs);
    if (status == AR_OK && with_paths)
        status = ar_common_paths(&d->paths.common, &d->functions.common, profiles, d->n_runs);
    free(profiles);
    return status;
}

static enum ar_status start(struct building *m)
{
    size_t n_most = 0;
    enum ar_status status = AR_OK;

    for (size_t i = 0; i < m->d->n_runs; i++) {
        m->wall_ns += wall_of(&m->d->runs[i]) / (double)m->d->n_runs;
        if (m->d->runs[i].p.n_roots > n_most)
            n_most = m->d->runs[i].p.n_roots;
    }
    m->scratch = malloc((n_most + 1) * sizeof *m->scratch);
    m->means = calloc(m->d->n_runs + 1, sizeof *m->means);
    if (!m->scratch || !m->means)
        return AR_NOMEM;
    for (int side = 0; side < 2 && status == AR_OK; side++)
        status = open_reader(&m->readers[side], &m->d->runs[side], reads_ranks(m));
    return status;
}

static enum ar_status compare(struct building *m, bool with_paths)
{
    enum ar_status status;

    m->d->total = compare_runs(m, false);
    m->d->mpi = compare_runs(m, true);
    status = compare_rows(m, &m->d->functions);
    if (status < 0 || !with_paths)
        return status;
    m->by_path = true;
    return compare_rows(m, &m->d->paths);
}

enum ar_status ar_diff_build(struct ar_diff *out, const struct ar_summary *runs, size_t n_base,
                             size_t n_runs, bool with_paths)
{
    struct building m = {.d = out};
    enum ar_status status;

    *out = (struct ar_diff){.runs = runs, .n_base = n_base, .n_runs = n_runs};
    out->noise = kind_of_noise(out);
    out->has_few = has_few(out);
    status = match(out, with_paths);
    if (status == AR_OK)
        status = start(&m);
    if (status == AR_OK)
        status = compare(&m, with_paths);
    close_reader(&m.readers[0]);
    close_reader(&m.readers[1]);
    free(m.scratch);
    free(m.means);
    if (status < 0)
        ar_diff_free(out);
    return status;
}

static void free_table(struct ar_diff_table *table)
{
    ar_common_free(&table->common);
    free(table->rows);
    *table = (struct ar_diff_table){0};
}

void ar_diff_free(struct ar_diff *d)
{
    free_table(&d->functions);
    free_table(&d->paths);
}
