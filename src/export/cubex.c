// SPDX-License-Identifier: BSD-3-Clause
#include "export/cubex.h"

#include "export/cubex_anchor.h"
#include "export/tar.h"
#include "format/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Of all that stands before the last values, and these: a small file may describe a large one, and memory holds it. */
#define MOST_BYTES AR_TAR_MOST_BYTES

struct members {
    struct ar_bytes *out;
    uint64_t mtime_s; /* when the run began: the same run makes the same file */
    struct ar_error *err;
};

/* CUBE's own reader looks for a further block after a member that fills its last one; the reader of every other tool does not. */
static void avoid_whole_blocks(struct ar_bytes *anchor)
{
    if (anchor->n % AR_TAR_BLOCK == 0)
        ar_bytes_u8(anchor, '\n');
}

static enum ar_status put_anchor(const struct members *to, const struct ar_cubex *c)
{
    struct ar_bytes anchor = {0};
    enum ar_status status = AR_OK;

    ar_cubex_put_anchor(c, &anchor);
    avoid_whole_blocks(&anchor);
    if (anchor.bad) {
        status = ar_fail(to->err, AR_NOMEM, "out of memory");
    } else {
        ar_tar_begin(to->out, "anchor.xml", anchor.n, to->mtime_s);
        ar_bytes_put(to->out, anchor.data, anchor.n);
        ar_tar_end_member(to->out, anchor.n);
    }
    ar_bytes_free(&anchor);
    return status;
}

static void begin(const struct members *to, size_t metric, const char *ending, uint64_t n_bytes)
{
    char name[40];

    snprintf(name, sizeof name, "%zu.%s", metric, ending);
    ar_tar_begin(to->out, name, n_bytes, to->mtime_s);
}

/* Neither file ever fills its last block: their heads are of 22 and 10 bytes, and what follows of 4 and 8 each. */
static enum ar_status put_rows(const struct members *to, const struct ar_cubex *c, size_t metric,
                               const struct ar_cubex_rows *rows)
{
    uint64_t index_bytes = ar_cubex_index_bytes(rows);
    uint64_t values_bytes = ar_cubex_values_bytes(rows, &c->system);
    uint64_t most = MOST_BYTES < SIZE_MAX / 2 ? MOST_BYTES : SIZE_MAX / 2;

    if (values_bytes > most || to->out->n > most - values_bytes)
        return ar_fail(to->err, AR_FULL,
                       "%" PRIu32 " call paths on %" PRIu32
                       " threads are too many for a CUBE file (try: --ranks, --exclude)",
                       rows->n, c->system.n_columns);
    begin(to, metric, "index", index_bytes);
    ar_cubex_put_index(rows, to->out);
    ar_tar_end_member(to->out, index_bytes);
    begin(to, metric, "data", values_bytes);
    if (ar_cubex_put_values(rows, c->p, &c->system, to->out) < 0)
        return ar_fail(to->err, AR_NOMEM, "out of memory");
    ar_tar_end_member(to->out, values_bytes);
    return AR_OK;
}

static enum ar_status put_metric(const struct members *to, const struct ar_cubex *c, size_t metric)
{
    struct ar_cubex_rows rows;
    enum ar_status status;

    if (ar_cubex_rows_find(&rows, &c->metrics.list[metric], c->p, &c->tree) < 0)
        return ar_fail(to->err, AR_NOMEM, "out of memory");
    status = put_rows(to, c, metric, &rows);
    ar_cubex_rows_free(&rows);
    return status;
}

static enum ar_status put_archive(const struct members *to, const struct ar_cubex *c)
{
    enum ar_status status = put_anchor(to, c);

    for (size_t i = 0; i < c->metrics.n && status == AR_OK; i++)
        status = put_metric(to, c, i);
    if (status == AR_OK)
        ar_tar_end(to->out);
    if (status == AR_OK && to->out->bad)
        status = ar_fail(to->err, AR_NOMEM, "out of memory");
    return status;
}

/* ---- what cannot be said there ---------------------------------------------------------------- */

static bool has_estimate(struct ar_row marks)
{
    for (size_t i = 0; i < marks.n; i++)
        if (marks.values[i].value & AR_MARK_ESTIMATED)
            return true;
    return false;
}

static enum ar_status count_estimated(const struct ar_profile *p, size_t *n_estimated)
{
    bool *is_estimated = calloc(p->n_functions + 1, sizeof *is_estimated);
    struct ar_rows marks;

    if (!is_estimated || ar_rows_open(&marks, p, AR_METRIC_MARKS) < 0) {
        free(is_estimated);
        return AR_NOMEM;
    }
    *n_estimated = 0;
    for (uint32_t node = 0; node < p->n_nodes; node++) {
        bool *is_known = &is_estimated[p->nodes[node].function];

        if (!*is_known && has_estimate(ar_rows_get(&marks, node))) {
            *is_known = true;
            (*n_estimated)++;
        }
    }
    ar_rows_close(&marks);
    free(is_estimated);
    return AR_OK;
}

/* ---- all of it -------------------------------------------------------------------------------- */

static enum ar_status prepare(struct ar_cubex *c, struct ar_profile *p)
{
    enum ar_status status = ar_profile_sort(p);

    c->p = p;
    if (status == AR_OK)
        status = ar_cubex_metrics_find(&c->metrics, p);
    if (status == AR_OK)
        status = ar_cubex_tree_build(&c->tree, p, c->metrics.has_values);
    if (status == AR_OK)
        status = ar_cubex_system_build(&c->system, p);
    return status;
}

enum ar_status ar_cubex_encode(struct ar_profile *p, const struct ar_export_choice *which,
                               struct ar_bytes *out, size_t *n_estimated, struct ar_error *err)
{
    struct ar_cubex c = {0};
    struct members to = {.out = out, .err = err};
    enum ar_status status;

    (void)which;
    if (ar_profile_of_pairs(p))
        return ar_fail(err, AR_BAD,
                       "cProfile keeps no call paths, and a CUBE file needs them (try: -f pstats)");
    status = prepare(&c, p);
    if (status == AR_OK && n_estimated)
        status = count_estimated(p, n_estimated);
    if (status < 0) {
        status = ar_fail(err, AR_NOMEM, "out of memory");
    } else if (!c.system.n_columns) {
        status = ar_fail(err, AR_BAD,
                         "no process was recorded, and Cube cannot read a file without one");
    } else {
        to.mtime_s = p->processes[0].start_real_ns / 1000000000;
        status = put_archive(&to, &c);
    }
    ar_cubex_metrics_free(&c.metrics);
    ar_cubex_tree_free(&c.tree);
    ar_cubex_system_free(&c.system);
    return status;
}
