// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/summary.h"

#include "analysis/fold.h"

#include <stdlib.h>

/* Messages, which can be most of a run, are needed for waits only, to know who is who. */
static void drop_messages(struct ar_profile *p)
{
    free(p->traffic);
    free(p->completed);
    p->traffic = NULL;
    p->completed = NULL;
    p->n_traffic = p->n_completed = p->cap_traffic = p->cap_completed = 0;
}

static enum ar_status find_efficiencies(struct ar_summary *s, bool with_waits)
{
    struct ar_waits w = {0};
    enum ar_status status = with_waits ? ar_waits_build_by_node(&w, &s->p, &s->t) : AR_OK;

    if (status == AR_OK)
        status = ar_efficiencies_build(&s->e, &s->f, with_waits ? &w : NULL);
    ar_waits_free(&w);
    return status;
}

static enum ar_status build(struct ar_summary *s, bool with_waits)
{
    enum ar_status status;

    if (!with_waits)
        drop_messages(&s->whole);
    status = ar_fold(&s->p, &s->whole);
    if (status == AR_OK)
        status = ar_totals_build(&s->t, &s->p);
    if (status == AR_OK)
        status = ar_by_function_build(&s->f, &s->p, &s->t);
    if (status == AR_OK)
        status = find_efficiencies(s, with_waits);
    drop_messages(&s->whole);
    drop_messages(&s->p);
    s->has_values = status == AR_OK;
    return status;
}

enum ar_status ar_summary_take(struct ar_summary *out, struct ar_profile *p, bool with_waits)
{
    enum ar_status status;

    *out = (struct ar_summary){.whole = *p};
    *p = (struct ar_profile){0};
    status = build(out, with_waits);
    if (status < 0)
        ar_summary_free(out);
    return status;
}

void ar_summary_forget_values(struct ar_summary *s)
{
    ar_profile_free(&s->whole);
    s->whole = (struct ar_profile){0};
    s->p.rows_of = NULL;
    for (unsigned m = 0; m < ar_profile_n_metrics(&s->p); m++) {
        free(s->p.metrics[m].values);
        s->p.metrics[m] = (struct ar_metric){.own = s->p.metrics[m].own, .sorted = true};
    }
    s->has_values = false;
}

void ar_summary_free(struct ar_summary *s)
{
    ar_efficiencies_free(&s->e);
    ar_by_function_free(&s->f);
    ar_totals_free(&s->t);
    ar_profile_free(&s->p);
    ar_profile_free(&s->whole);
    *s = (struct ar_summary){0};
}
