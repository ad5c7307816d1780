// SPDX-License-Identifier: BSD-3-Clause
#include "run/measured.h"

#include "run/parts.h"

#include <string.h>

size_t ar_measured_n(struct ar_run *run)
{
    const struct ar_form *f = ar_run_form(run, run->choice.form);

    return f ? ar_profile_n_metrics(f->p) : 0;
}

void ar_measured_name(struct ar_run *run, size_t i, char *out, size_t n_out)
{
    const struct ar_metric_kind *kind =
        ar_profile_metric(ar_run_form(run, run->choice.form)->p, (unsigned)i);

    ar_shown_name(&(struct ar_shown_column){.name = kind->name, .unit = kind->unit}, AR_IN_SECONDS,
                  out, n_out);
}

/* Self times are worked out of times, where no other tool has given them. */
static enum ar_status find_selves(struct ar_run *run, struct ar_form *f)
{
    if (f->selves)
        return AR_OK;
    return ar_run_totals(run, run->choice.form)
               ? ar_totals_self_values(&f->totals, f->p, &f->selves)
               : AR_NOMEM;
}

enum ar_status ar_measured_get(struct ar_measured *out, struct ar_run *run, size_t i)
{
    struct ar_form *f = ar_run_form(run, run->choice.form);
    bool is_self = i == AR_METRIC_SELF;
    const struct ar_metric *metric;

    if (!f || ar_run_unpack(run, run->choice.form) < 0 || (is_self && find_selves(run, f) < 0))
        return AR_NOMEM;
    metric = &f->p->metrics[is_self ? AR_METRIC_TIME : i];
    *out = (struct ar_measured){.name = ar_profile_metric(f->p, (unsigned)i)->name,
                                .unit = ar_profile_metric(f->p, (unsigned)i)->unit,
                                .values = is_self ? f->selves : metric->values,
                                .n_values = metric->n_values};
    return AR_OK;
}

void ar_measured_nodes(const struct ar_measured *m, uint32_t *out)
{
    for (size_t i = 0; i < m->n_values; i++)
        out[i] = m->values[i].node;
}

void ar_measured_locations(const struct ar_measured *m, uint32_t *out)
{
    for (size_t i = 0; i < m->n_values; i++)
        out[i] = m->values[i].location;
}

bool ar_measured_is_time(const struct ar_measured *m)
{
    return strcmp(m->unit, "ns") == 0;
}

void ar_measured_values(const struct ar_measured *m, void *out)
{
    bool is_time = ar_measured_is_time(m);
    double *seconds = out;
    int64_t *integers = out;

    for (size_t i = 0; i < m->n_values; i++)
        if (is_time)
            seconds[i] = (double)m->values[i].value / 1e9;
        else
            integers[i] = (int64_t)m->values[i].value;
}
