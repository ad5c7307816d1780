// SPDX-License-Identifier: BSD-3-Clause
#include "run/comparison.h"

#include <stdlib.h>

const char *ar_compared_name(enum ar_compared by)
{
    static const char *const names[] = {[AR_COMPARED_BY_OWN] = "self_with_c",
                                        [AR_COMPARED_BY_SELF] = "self",
                                        [AR_COMPARED_BY_TOTAL] = "time"};

    return names[by];
}

enum ar_compared ar_compared_by(struct ar_run *run, uint32_t function)
{
    const struct ar_profile *p = ar_run_profile(run, AR_FORM_FOLDED);
    enum ar_compared by = ar_run_choice(run)->compared;
    uint32_t kind = p->functions[function].kind;
    bool has_own = kind != AR_FUNCTION_MPI && kind != AR_FUNCTION_OPERATION &&
                   kind != AR_FUNCTION_BUILTIN && kind != AR_FUNCTION_UNASSIGNED &&
                   !ar_profile_of_pairs(p);

    return by == AR_COMPARED_BY_OWN && !has_own ? AR_COMPARED_BY_SELF : by;
}

static enum ar_status read_values(struct ar_comparison *c, struct ar_run *run, uint64_t *values,
                                  size_t n)
{
    const struct ar_share *shares = ar_run_shares_of(run, AR_FORM_FOLDED, c->function);
    struct ar_own_time *own = ar_run_own_time(run);
    const struct ar_function_sums *sums;

    if (!shares || !own)
        return AR_NOMEM;
    sums = &ar_run_functions(run, AR_FORM_FOLDED)->sums[c->function];
    if (c->by == AR_COMPARED_BY_OWN)
        c->time = ar_own_time_get(own, c->function);
    else
        c->time = c->by == AR_COMPARED_BY_SELF ? sums->self : sums->time;
    for (size_t i = 0; i < n; i++)
        values[i] = c->by == AR_COMPARED_BY_OWN    ? own->by_root[i]
                    : c->by == AR_COMPARED_BY_SELF ? shares[i].self_ns
                                                   : shares[i].time_ns;
    return AR_OK;
}

static void list_ranks(struct ar_comparison *c, const struct ar_profile *p)
{
    size_t n = 0;

    for (size_t class = 0; class < c->im.n_classes; class ++) {
        c->first_rank[class] = n;
        for (uint32_t i = 0; i < p->n_roots; i++)
            if (c->im.class_of[i] == class)
                c->ranks[n++] =
                    p->processes[i].world_rank == AR_RANK_NONE ? i : p->processes[i].world_rank;
    }
    c->first_rank[c->im.n_classes] = n;
}

enum ar_status ar_compare_ranks(struct ar_comparison *out, struct ar_run *run, uint32_t function)
{
    const struct ar_profile *p = ar_run_profile(run, AR_FORM_FOLDED);
    size_t n = p->n_roots;
    uint64_t *values = malloc((n + 1) * sizeof *values);
    enum ar_status status = AR_NOMEM;

    *out = (struct ar_comparison){.function = function,
                                  .by = ar_compared_by(run, function),
                                  .ranks = malloc((n + 1) * sizeof *out->ranks)};
    if (values && out->ranks)
        status = read_values(out, run, values, n);
    if (status == AR_OK)
        status = ar_imbalance_build(&out->im, values, n);
    if (status == AR_OK)
        list_ranks(out, p);
    for (uint32_t i = 0; i < n && status == AR_OK; i++)
        if (values[i] > values[out->most])
            out->most = i;
    free(values);
    if (status < 0)
        ar_comparison_free(out);
    return status;
}

void ar_comparison_free(struct ar_comparison *c)
{
    ar_imbalance_free(&c->im);
    free(c->ranks);
    *c = (struct ar_comparison){0};
}
