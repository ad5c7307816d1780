// SPDX-License-Identifier: BSD-3-Clause
/*
 * exporters: the formats of other tools that a run can be written in, one line each in exporters.c.
 *
 * `allranks export` takes its help, -f, the names of files and its messages from there; `merge -o`
 * and `recover -o` know by the ending of a name that another format than the run file is meant.
 *
 *     const struct ar_exporter *exporter = ar_exporter_named("pstats");
 *     struct ar_export_choice rank_3 = {.one_rank = true, .world_rank = 3};
 *     struct ar_bytes out = {0};
 *     if (exporter->write(&p, &rank_3, &out, NULL, &err) < 0) ...
 *     ar_bytes_free(&out);
 */
#pragma once

#include "format/profile.h"

/* Which ranks to sum up: all, or one. */
struct ar_export_choice {
    bool one_rank; /* false: every process of the run, with or without a rank */
    uint32_t world_rank;
};

struct ar_exporter {
    const char *name;        /* after -f; NULL ends the table */
    const char *suffixes[5]; /* a file is named with the first, and known by any of them */
    const char *help;        /* what it is for, in lines of 66 columns */
    bool one_rank;           /* it can be of a single rank */
    /*
     * `p` is put in order, otherwise unchanged. `out` is appended to; after a failure it is only fit
     * to be freed. `n_estimated`: how many functions have an estimated time, where the format has no
     * place to say so; NULL: it is not needed.
     */
    enum ar_status (*write)(struct ar_profile *p, const struct ar_export_choice *which,
                            struct ar_bytes *out, size_t *n_estimated, struct ar_error *err);
};

extern const struct ar_exporter ar_exporters[];

/* NULL: there is none. */
const struct ar_exporter *ar_exporter_named(const char *name);
/* By the ending of a file's name. NULL: it has none that is known. */
const struct ar_exporter *ar_exporter_of_file(const char *path);
