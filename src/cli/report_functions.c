// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report_functions.h"

#include "analysis/by_function.h"
#include "cli/screen.h"

#include <stdlib.h>
#include <string.h>

#define IMBALANCE_ROWS 3

struct report {
    const struct ar_profile *p;
    struct ar_totals t;
    struct ar_by_function f;
    uint32_t *functions; /* those that were called, the longest self time first */
    size_t n_functions;
    double unit_ns;
    const char *unit;
    double min_share;
};

static const struct ar_function_sums *sums_of(const struct report *r, size_t row)
{
    return &r->f.sums[r->functions[row]];
}

/* ---- order ----------------------------------------------------------------------------------- */

struct ordered {
    double ns;
    uint32_t function;
};

static int longest_first(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    return (x->function > y->function) - (x->function < y->function);
}

static bool order_functions(struct report *r)
{
    struct ordered *order = calloc(r->p->n_functions + 1, sizeof *order);

    r->functions = calloc(r->p->n_functions + 1, sizeof *r->functions);
    if (order && r->functions) {
        for (uint32_t i = 1; i < r->p->n_functions; i++)
            if (r->f.sums[i].n_nodes)
                order[r->n_functions++] = (struct ordered){r->f.sums[i].self.sum, i};
        qsort(order, r->n_functions, sizeof *order, longest_first);
        for (size_t i = 0; i < r->n_functions; i++)
            r->functions[i] = order[i].function;
    }
    free(order);
    return order && r->functions;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Name and place, in 33 columns: there is one more number than in the tree. */
static void print_label(const struct report *r, size_t row)
{
    uint32_t node = r->f.nodes[r->f.first_node[r->functions[row]]];

    printf(" ");
    ar_print_fit(ar_show_name(r->p, node, 16), 16, AR_KEEP_START);
    printf(" ");
    ar_print_fit(ar_show_place(r->p, node), 15, AR_KEEP_END);
}

static void print_title(const struct report *r, const char *title, const char *first,
                        const char *second, const char *third)
{
    printf("\n%s%-17s%s %-15s %8s %8s %8s%s\n", ar_bold(), title, ar_plain(), r->unit, first,
           second, third, r->p->n_processes > 1 ? " self min-max (rank)" : "");
}

static void print_function(const struct report *r, size_t row)
{
    const struct ar_function_sums *s = sums_of(r, row);

    print_label(r, row);
    printf(" %8s %8s %8s", ar_show_count(s->n_calls), ar_show_time(s->time.mean, r->unit_ns),
           ar_show_time(s->self.mean, r->unit_ns));
    ar_print_range(r->p, &s->self, r->unit_ns);
    printf("\n");
}

static void print_functions(const struct report *r, const char *path, size_t n_rows)
{
    size_t n_shown = 0;

    print_title(r, "Functions", "calls", "total", "self");
    for (size_t i = 0; i < r->n_functions && (n_rows == 0 || n_shown < n_rows); i++)
        if ((double)sums_of(r, i)->time.max >= r->min_share * r->t.mean_wall_ns) {
            print_function(r, i);
            n_shown++;
        }
    if (n_shown < r->n_functions)
        printf(" %s%s: allranks report --rows 0 --min 0 '%s'%s\n", ar_dim(),
               ar_show_items(r->n_functions - n_shown, "more function", "more functions"), path,
               ar_plain());
}

/* ---- imbalance ------------------------------------------------------------------------------- */

/* What the run would win if the slowest rank were an average one; waiting in MPI is no cause. */
static double gain_ns(const struct report *r, size_t row)
{
    const struct ar_spread *s = &sums_of(r, row)->self;
    bool is_mpi = r->p->functions[r->functions[row]].kind == AR_FUNCTION_MPI;

    return is_mpi ? 0 : (double)s->max - s->mean;
}

static void print_imbalance(const struct report *r)
{
    double below = 1e300;

    for (size_t n = 0; n < IMBALANCE_ROWS && r->p->n_processes > 1; n++) {
        size_t worst = r->n_functions;

        for (size_t i = 0; i < r->n_functions; i++)
            if (gain_ns(r, i) < below &&
                (worst == r->n_functions || gain_ns(r, i) > gain_ns(r, worst)))
                worst = i;
        if (worst == r->n_functions || gain_ns(r, worst) < r->min_share * r->t.mean_wall_ns)
            break;
        if (n == 0)
            print_title(r, "Imbalance", "", "max-mean", "self");
        below = gain_ns(r, worst);
        print_label(r, worst);
        printf(" %8s %8s %8s", "", ar_show_time(below, r->unit_ns),
               ar_show_time(sums_of(r, worst)->self.mean, r->unit_ns));
        ar_print_range(r->p, &sums_of(r, worst)->self, r->unit_ns);
        printf("\n");
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void choose_unit(struct report *r)
{
    bool several = r->p->n_processes > 1;

    r->unit_ns = r->t.mean_wall_ns < 1e9 ? 1e6 : 1e9;
    if (r->unit_ns == 1e9)
        r->unit = several ? "seconds, mean" : "seconds";
    else
        r->unit = several ? "ms, mean" : "milliseconds";
}

static void print_head(const struct report *r, const char *path)
{
    size_t n_path = strlen(path);

    printf("%s", ar_bold());
    ar_print_fit(path, n_path < 40 ? n_path : 40, AR_KEEP_END);
    printf("%s   %s   %s", ar_plain(), ar_show_items(r->p->n_processes, "rank", "ranks"),
           ar_show_duration(r->t.mean_wall_ns));
    if (r->t.mpi_ns > 0)
        printf("   in MPI %.0f %%", 100 * r->t.mpi_ns / r->t.mean_wall_ns);
    printf("\npstats files: functions and who called them, no call paths\n");
}

int ar_report_functions(struct ar_profile *p, const char *path, size_t n_rows, double min_share)
{
    struct report r = {.p = p, .min_share = min_share};
    int status = AR_EXIT_OK;

    if (ar_totals_build(&r.t, p) < 0 || ar_by_function_build(&r.f, p, &r.t) < 0 ||
        !order_functions(&r)) {
        status = ar_complain("out of memory");
    } else {
        choose_unit(&r);
        print_head(&r, path);
        print_imbalance(&r);
        print_functions(&r, path, n_rows);
    }
    free(r.functions);
    ar_by_function_free(&r.f);
    ar_totals_free(&r.t);
    return status;
}
