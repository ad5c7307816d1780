// SPDX-License-Identifier: BSD-3-Clause
#include "run/other_data.h"

#include "format/trace.h"
#include "run/parts.h"

#include <stdlib.h>
#include <string.h>

const char *ar_other_kind_name(enum ar_other_kind kind)
{
    static const char *const names[] = {
        [AR_OTHER_METRIC] = "metric", [AR_OTHER_TABLE] = "table", [AR_OTHER_STREAM] = "stream"};

    return names[kind];
}

static void add_metrics(struct ar_run *run, const struct ar_profile *p)
{
    for (unsigned m = AR_N_METRICS; m < ar_profile_n_metrics(p); m++)
        run->other_rows[run->n_other_rows++] =
            (struct ar_other_row){.kind = AR_OTHER_METRIC,
                                  .name = ar_profile_metric(p, m)->name,
                                  .unit = ar_profile_metric(p, m)->unit,
                                  .n_rows = p->metrics[m].n_values + p->packed[m].n_values};
}

static void add_tables(struct ar_run *run, const struct ar_profile *p)
{
    for (size_t i = AR_N_TABLES; i < ar_profile_n_tables(p); i++)
        run->other_rows[run->n_other_rows++] =
            (struct ar_other_row){.kind = AR_OTHER_TABLE,
                                  .name = p->tables[i].kind->name,
                                  .unit = "",
                                  .n_rows = p->tables[i].n};
}

/* Streams are sorted by name, then by thread. */
static void add_streams(struct ar_run *run, const struct ar_profile *p)
{
    const struct ar_other_stream *s = p->other_streams.items;

    for (size_t i = 0; i < p->other_streams.n; i++) {
        bool is_same = i && strcmp(s[i].name, s[i - 1].name) == 0;
        struct ar_other_row *row;

        if (ar_is_trace(&s[i]))
            continue;
        if (!is_same)
            run->other_rows[run->n_other_rows++] =
                (struct ar_other_row){.kind = AR_OTHER_STREAM, .name = s[i].name, .unit = ""};
        row = &run->other_rows[run->n_other_rows - 1];
        row->n_bytes += s[i].n_bytes;
        row->n_threads += !is_same || s[i].location != s[i - 1].location;
    }
}

const struct ar_other_row *ar_run_other_data(struct ar_run *run, size_t *n)
{
    struct ar_profile *p = run->forms[AR_FORM_RECORDED].p;
    size_t n_most = p->n_other_metrics + p->n_other_tables + p->other_streams.n;

    if (!run->other_rows && ar_profile_sort(p) == AR_OK) {
        run->other_rows = calloc(n_most + 1, sizeof *run->other_rows);
        if (run->other_rows) {
            ar_other_streams_sort(&p->other_streams);
            add_metrics(run, p);
            add_tables(run, p);
            add_streams(run, p);
        }
    }
    *n = run->n_other_rows;
    return run->other_rows;
}
