// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/hot_lines.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_OF_RUN 0.02
#define LEAST_OF_FUNCTION (1.0 / 3)

/* Whether the time of a node counts for the Python function that it is below, as `here` does. */
static bool is_its_own(uint32_t kind)
{
    return kind == AR_FUNCTION_PYTHON || kind == AR_FUNCTION_REGION ||
           kind == AR_FUNCTION_BUILTIN || kind == AR_FUNCTION_MPI || kind == AR_FUNCTION_OPERATION;
}

/* By function: own time with what it calls in C and in MPI, of all ranks. */
static enum ar_status find_own_ns(const struct ar_profile *p, const struct ar_totals *t,
                                  double **out)
{
    double *own_ns = calloc(p->n_functions + 1, sizeof *own_ns);
    uint32_t *python =
        malloc((p->n_nodes + 1) * sizeof *python); /* the node itself, or the next one above */
    bool is_done = own_ns && python;

    for (uint32_t node = 0; is_done && node < p->n_nodes; node++) {
        uint32_t kind = p->functions[p->nodes[node].function].kind, parent = p->nodes[node].parent;

        python[node] = kind == AR_FUNCTION_PYTHON                ? node
                       : parent == AR_NO_ID || !is_its_own(kind) ? AR_NO_ID
                                                                 : python[parent];
        if (python[node] != AR_NO_ID)
            own_ns[p->nodes[python[node]].function] += t->self[node].sum;
    }
    free(python);
    if (!is_done) {
        free(own_ns);
        own_ns = NULL;
    }
    *out = own_ns;
    return own_ns ? AR_OK : AR_NOMEM;
}

static bool *find_hot_functions(const struct ar_profile *p, const struct ar_totals *t,
                                const double *own_ns)
{
    bool *is_hot = calloc(p->n_functions + 1, sizeof *is_hot);
    double least_ns = LEAST_OF_RUN * t->mean_wall_ns * (double)p->n_roots;

    for (uint32_t i = 0; is_hot && i < p->n_functions; i++)
        is_hot[i] =
            p->functions[i].kind == AR_FUNCTION_PYTHON && own_ns[i] > 0 && own_ns[i] >= least_ns;
    return is_hot;
}

/* An estimate counts without its standard error. */
static double certain_ns(const struct ar_line *line)
{
    return line->here.sum - 1000 * sqrt(line->here.doubt.variance);
}

static void keep_hottest(struct ar_hot_lines *hot, const struct ar_profile *p,
                         const struct ar_line *line, double own_ns)
{
    struct ar_hot_line *known = &hot->by_function[line->function];
    double share = certain_ns(line) / own_ns;

    if (share < LEAST_OF_FUNCTION || share <= known->share)
        return;
    *known = (struct ar_hot_line){.first = line->first ? line->first
                                                       : p->functions[line->function].first_line,
                                  .last = line->last,
                                  .share = share};
    hot->has_any = true;
}

static enum ar_status find_lines(struct ar_hot_lines *hot, const struct ar_profile *p,
                                 const struct ar_totals *t, const double *own_ns,
                                 const bool *is_hot)
{
    struct ar_lines lines;

    if (ar_lines_build(&lines, p, t, is_hot) < 0)
        return AR_NOMEM;
    for (size_t i = 0; i < lines.n; i++)
        keep_hottest(hot, p, &lines.rows[i], own_ns[lines.rows[i].function]);
    ar_lines_free(&lines);
    return AR_OK;
}

enum ar_status ar_hot_lines_build(struct ar_hot_lines *out, const struct ar_profile *p,
                                  const struct ar_totals *t)
{
    double *own_ns = NULL;
    bool *is_hot = NULL;
    enum ar_status status;

    *out = (struct ar_hot_lines){.n_functions = p->n_functions};
    out->by_function = calloc(p->n_functions + 1, sizeof *out->by_function);
    status = out->by_function ? AR_OK : AR_NOMEM;
    if (status < 0 || ar_profile_of_pairs(p))
        return status;
    status = find_own_ns(p, t, &own_ns);
    if (status == AR_OK && !(is_hot = find_hot_functions(p, t, own_ns)))
        status = AR_NOMEM;
    if (status == AR_OK)
        status = find_lines(out, p, t, own_ns, is_hot);
    free(own_ns);
    free(is_hot);
    if (status < 0)
        ar_hot_lines_free(out);
    return status;
}

void ar_hot_lines_free(struct ar_hot_lines *hot)
{
    free(hot->by_function);
    *hot = (struct ar_hot_lines){0};
}

bool ar_hot_line_is_known(const struct ar_hot_lines *hot, uint32_t function)
{
    return function < hot->n_functions && hot->by_function[function].first;
}
