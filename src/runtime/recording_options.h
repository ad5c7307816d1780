// SPDX-License-Identifier: BSD-3-Clause
/*
 * recording_options: what is to be recorded, and where to, as the launcher says it.
 *
 * Options of `allranks run` are declared in the launcher (OPTIONS in python/allranks/_launch.py) and
 * come as a dict by their names, without dashes in front, together with what the launcher has found
 * out itself. Which field a name becomes, and of which type it is, is a line of the table in
 * recording_options.c. A dict with a name that is not in the table, or without one that is, is refused:
 * an option that one side does not know is no option that has no effect.
 *
 * Texts are those of the dict: they are valid as long as the call that got it.
 *
 *     struct ar_options options;
 *     if (ar_recording_options_read(&options, dict)) ...
 *     ar_recording_options_free(&options);
 */
#pragma once

#include "runtime/pyframe.h"

#include "runtime/engine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ar_option_texts {
    const char **items;
    size_t n;
};

struct ar_options {
    const char *output;       /* run file, see output.h; an existing one is not overwritten */
    bool per_rank;            /* a run file for each rank */
    bool keeps;               /* live files, for `allranks merge`: ranks are not merged */
    uint64_t merge_timeout_s; /* how long ranks wait for each other in MPI_Finalize */
    bool quiet;               /* no closing line */
    const char *live_dir;     /* empty: the default */
    uint64_t n_bytes_max;     /* of the live file */
    enum ar_builtins builtins;
    bool exact;    /* every call of a function in C is timed */
    double budget; /* what recording may cost, as a share of the time; 0: no limit */
    struct ar_option_texts include, exclude; /* globs: filters.h */
    struct ar_option_texts filter_rules;     /* in order: filter_rules.h */
    bool no_import;       /* also where functions in C are recorded as cProfile has them */
    const char *counters; /* names, with commas; empty: none */
    struct ar_option_texts counters_at; /* globs: which functions are counted, besides regions */
    bool counters_optional;             /* what cannot be counted is left out */
    bool counters_everywhere;           /* all call paths are counted, but those of C functions */
    bool petsc_log;                     /* PETSc's logging is switched on; see petsc_log.h */

    bool trace, trace_later;          /* from the start, or when it is switched on; see tracer.h */
    uint64_t trace_limit;             /* bytes */
    double trace_last_s, trace_min_s; /* 0: all of it */
    uint64_t trace_depth;             /* 0: any */
    struct ar_option_texts trace_at;  /* globs: only while these functions and regions run */
    struct ar_option_texts lines;     /* globs: functions whose lines are counted */

    const char *own_directory; /* of the package: what is in it is not recorded */
    const char *stem;     /* of the family that has started this process; empty: the user has */
    const char *children; /* what Python children are to know; NULL: they are not recorded */
};

/* False: a Python exception says what is wrong. To be freed in either case. */
bool ar_recording_options_read(struct ar_options *out, PyObject *dict);
void ar_recording_options_free(struct ar_options *options);
