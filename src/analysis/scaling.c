// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/scaling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCALES_FROM 0.7
#define CONSTANT_BELOW 0.2
#define WORTH_A_LOOK 0.001 /* of the wall time: what never has as much is left out */
#define NO_TIME_NS 1.0     /* instead of 0, of which there are no powers */

/* ---- points --------------------------------------------------------------------------------- */

static int fewer_ranks_first(const void *a, const void *b)
{
    const struct ar_scaling_point *x = a, *y = b;

    if (x->n_ranks != y->n_ranks)
        return x->n_ranks < y->n_ranks ? -1 : 1;
    return x->wall_ns == y->wall_ns ? 0 : x->wall_ns < y->wall_ns ? -1 : 1;
}

/* The fastest of as many ranks is the first of them. */
static void choose_points(struct ar_scaling *s, const struct ar_summary *runs, size_t n_runs)
{
    for (size_t i = 0; i < n_runs; i++)
        s->points[i] = (struct ar_scaling_point){
            .run = &runs[i], .n_ranks = runs[i].p.n_roots, .wall_ns = runs[i].e.run.wall_ns};
    qsort(s->points, n_runs, sizeof *s->points, fewer_ranks_first);
    for (size_t i = 0; i < n_runs; i++)
        if (i == 0 || s->points[i].n_ranks != s->points[s->n_points - 1].n_ranks)
            s->points[s->n_points++] = s->points[i];
    s->n_left_out = n_runs - s->n_points;
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

static double rank_ratio(const struct ar_scaling *s, size_t point)
{
    return (double)s->points[point].n_ranks / (double)s->points[0].n_ranks;
}

static void measure_points(struct ar_scaling *s)
{
    const struct ar_scaling_point *first = &s->points[0];

    for (size_t i = 0; i < s->n_points; i++) {
        struct ar_scaling_point *point = &s->points[i];
        double of_means =
            ratio(first->run->e.run.mean_computing_ns, point->run->e.run.mean_computing_ns);

        point->speed_up =
            ratio(first->wall_ns, point->wall_ns) * (s->is_weak ? rank_ratio(s, i) : 1);
        point->computation = s->is_weak ? of_means : of_means / rank_ratio(s, i);
        point->global = point->run->e.run.parallel * point->computation;
    }
}

/* ---- functions ------------------------------------------------------------------------------ */

struct ar_function_sums ar_scaling_sums(const struct ar_scaling *s, uint32_t row, size_t point)
{
    const struct ar_function_sums none = {0};
    uint32_t id = ar_common_id(&s->common, point, row);

    return id == AR_NO_ID ? none : s->points[point].run->f.sums[id];
}

static double most_ns(const struct ar_scaling *s, uint32_t row, size_t point)
{
    double ns = (double)ar_scaling_sums(s, row, point).self.max;

    return ns > NO_TIME_NS ? ns : NO_TIME_NS;
}

static double mean_ns(const struct ar_scaling *s, uint32_t row, size_t point)
{
    double ns = ar_scaling_sums(s, row, point).self.mean;

    return ns > NO_TIME_NS ? ns : NO_TIME_NS;
}

/* Of the number of ranks that the time falls with, from one point to another. */
static double power_of(const struct ar_scaling *s, double from_ns, double to_ns, size_t from,
                       size_t to)
{
    double ranks = (double)s->points[to].n_ranks / (double)s->points[from].n_ranks;

    return log(from_ns / to_ns) / log(ranks) + (s->is_weak ? 1 : 0);
}

static double power_of_most(const struct ar_scaling *s, uint32_t row, size_t from, size_t to)
{
    return power_of(s, most_ns(s, row, from), most_ns(s, row, to), from, to);
}

static bool is_worth_a_look(const struct ar_scaling *s, uint32_t row)
{
    for (size_t i = 0; i < s->n_points; i++)
        if (most_ns(s, row, i) > WORTH_A_LOOK * s->points[i].wall_ns)
            return true;
    return false;
}

/* It scaled up to a point, and hardly from there on; or 0. */
static size_t find_stop(const struct ar_scaling *s, uint32_t row)
{
    size_t last = s->n_points - 1;

    for (size_t i = 1; i < last; i++)
        if (power_of_most(s, row, 0, i) >= SCALES_FROM &&
            power_of_most(s, row, i, i + 1) < SCALES_FROM / 2 &&
            power_of_most(s, row, i, last) < SCALES_FROM / 2)
            return i;
    return 0;
}

/* The work as a whole is divided, but one rank keeps more and more of it. */
static bool imbalance_grows(const struct ar_scaling *s, uint32_t row)
{
    size_t last = s->n_points - 1;

    return power_of(s, mean_ns(s, row, 0), mean_ns(s, row, last), 0, last) >= SCALES_FROM;
}

static bool is_on_one_rank(const struct ar_scaling *s, uint32_t row)
{
    size_t last = s->n_points - 1;
    struct ar_spread self = ar_scaling_sums(s, row, last).self;

    return s->points[last].n_ranks > 1 && (double)self.max > 0.99 * self.sum;
}

static void judge(const struct ar_scaling *s, struct ar_scaling_function *f)
{
    size_t last = s->n_points - 1, stop = find_stop(s, f->row);

    f->power = power_of_most(s, f->row, 0, last);
    if (f->power >= SCALES_FROM)
        f->verdict = AR_SCALES;
    else if (is_on_one_rank(s, f->row) && f->power > -CONSTANT_BELOW)
        f->verdict = AR_ONE_RANK;
    else if (imbalance_grows(s, f->row))
        f->verdict = AR_IMBALANCE_GROWS;
    else if (stop)
        f->verdict = AR_STOPS_SCALING;
    else if (f->power >= CONSTANT_BELOW)
        f->verdict = AR_SCALES_POORLY;
    else
        f->verdict = f->power > -CONSTANT_BELOW ? AR_CONSTANT : AR_GROWS;
    /* Weak: what does not become faster at all takes n times as long on n times the ranks. */
    if (s->is_weak && f->verdict == AR_CONSTANT)
        f->verdict = AR_GROWS;
    f->stops_at = f->verdict == AR_STOPS_SCALING ? s->points[stop].n_ranks : 0;
    f->lost_ns = (double)ar_scaling_sums(s, f->row, last).self.max -
                 most_ns(s, f->row, 0) / (s->is_weak ? 1 : rank_ratio(s, last));
}

static int loses_more_first(const void *a, const void *b)
{
    const struct ar_scaling_function *x = a, *y = b;

    if (x->lost_ns != y->lost_ns)
        return x->lost_ns > y->lost_ns ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static void judge_functions(struct ar_scaling *s)
{
    for (uint32_t row = 0; row < s->common.n_rows; row++) {
        size_t run = ar_common_run(&s->common, row);
        struct ar_scaling_function f = {
            .row = row, .run = (uint32_t)run, .id = ar_common_id(&s->common, run, row)};

        /* The root has no function. */
        if (f.id == s->points[run].run->p.nodes[0].function || !is_worth_a_look(s, row))
            continue;
        judge(s, &f);
        s->functions[s->n_functions++] = f;
    }
    qsort(s->functions, s->n_functions, sizeof *s->functions, loses_more_first);
}

/* ---- all together --------------------------------------------------------------------------- */

static enum ar_status match(struct ar_scaling *s)
{
    const struct ar_profile **profiles = malloc((s->n_points + 1) * sizeof(void *));
    enum ar_status status = AR_NOMEM;

    for (size_t i = 0; i < s->n_points && profiles; i++)
        profiles[i] = &s->points[i].run->p;
    if (profiles)
        status = ar_common_functions(&s->common, profiles, s->n_points);
    free(profiles);
    if (status == AR_OK)
        s->functions = malloc((s->common.n_rows + 1) * sizeof *s->functions);
    return s->functions ? status : AR_NOMEM;
}

enum ar_status ar_scaling_build(struct ar_scaling *out, const struct ar_summary *runs,
                                size_t n_runs, bool is_weak)
{
    enum ar_status status = AR_NOMEM;

    *out = (struct ar_scaling){.is_weak = is_weak,
                               .points = malloc((n_runs + 1) * sizeof *out->points)};
    if (out->points) {
        choose_points(out, runs, n_runs);
        status = out->n_points > 1 && out->points[0].n_ranks ? AR_OK : AR_BAD;
    }
    if (status == AR_OK)
        status = match(out);
    if (status == AR_OK) {
        measure_points(out);
        judge_functions(out);
    } else {
        ar_scaling_free(out);
    }
    return status;
}

void ar_scaling_free(struct ar_scaling *s)
{
    ar_common_free(&s->common);
    free(s->points);
    free(s->functions);
    *s = (struct ar_scaling){0};
}

const char *ar_verdict_name(enum ar_verdict verdict)
{
    static const char *const names[AR_N_VERDICTS] = {
        "scales",   "scales_poorly", "stops_scaling", "imbalance_grows",
        "one_rank", "constant",      "grows"};

    return names[verdict];
}
