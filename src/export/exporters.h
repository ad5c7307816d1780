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

/* Which ranks to sum up, all or one; and which part of a trace. A zeroed one is all of both. */
struct ar_export_choice {
    bool one_rank; /* false: every process of the run, with or without a rank */
    uint32_t world_rank;
    int64_t from_ns, to_ns; /* since the run began; `to_ns` 0: to the end */
};

static inline int64_t ar_export_end(const struct ar_export_choice *which)
{
    return which->to_ns ? which->to_ns : INT64_MAX;
}

struct ar_sink;

/* How far it has come, in events or whatever there is much of. */
typedef void ar_export_tell_fn(uint64_t n_done, uint64_t n_all);
#define AR_EXPORT_TELL_EVERY 65536 /* events */

struct ar_exporter {
    const char *name;        /* after -f; NULL ends the table */
    const char *suffixes[5]; /* a file is named with the first, and known by any of them */
    const char *help;        /* what it is for, in lines of 66 columns */
    /*
     * `p` is put in order, otherwise unchanged. `out` is appended to; after a failure it is only fit
     * to be freed. `n_estimated`: how many functions have an estimated time, where the format has no
     * place to say so; NULL: it is not needed.
     */
    enum ar_status (*write)(struct ar_profile *p, const struct ar_export_choice *which,
                            struct ar_bytes *out, size_t *n_estimated, struct ar_error *err);
    /*
     * In place of `write`, for formats of traces: too large for memory, or several files. Writes the file or directory itself, in
     * place of one that is there; after a failure nothing of it is left. `tell` may be NULL.
     */
    enum ar_status (*save)(struct ar_profile *p, const struct ar_export_choice *which,
                           const char *path, ar_export_tell_fn *tell, struct ar_error *err);
    /*
     * In place of `write` and `save`: passes on what it makes, block by block, so that memory holds none of it for long. After a
     * failure what was passed on is to be thrown away.
     */
    enum ar_status (*encode)(struct ar_profile *p, const struct ar_export_choice *which,
                             struct ar_sink *out, ar_export_tell_fn *tell, struct ar_error *err);
    uint64_t most_events; /* of a trace, that programs which read it can hold; 0: any number */
    bool one_rank;        /* it can be of a single rank */
    bool is_directory;    /* what `save` writes */
    bool has_window;      /* it can be of a part of the time */
};

extern const struct ar_exporter ar_exporters[];

/* NULL: there is none. */
const struct ar_exporter *ar_exporter_named(const char *name);
/* By the ending of a file's name. NULL: it has none that is known. */
const struct ar_exporter *ar_exporter_of_file(const char *path);
