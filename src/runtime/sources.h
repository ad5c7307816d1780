// SPDX-License-Identifier: BSD-3-Clause
/*
 * sources: where events come from, each described in one place.
 *
 *     recording ──> sources ──> mpi, python, c, tasks …       start, stop, fork
 *     threads ────> sources ──> those that keep something per thread
 *
 * A source is a descriptor in a table (source_table.c). The order of the table is the one in which
 * sources start, and in which their locks are taken one inside the other: a fork takes all of them.
 * Only what is rare goes through a descriptor. Events themselves are direct calls from the source's hook
 * into the tree.
 *
 * Threads: start and stop under the GIL; thread_starts and thread_ends in the thread itself or, for threads
 * that a fork did not take along, in the child.
 */
#pragma once

#include "base/status.h"
#include "runtime/forking.h"

struct ar_options;
struct ar_thread;

enum ar_source_end {
    AR_SOURCE_PYTHON_ENDS, /* what Python still runs is recorded until the live file is closed */
    AR_SOURCE_CANCELLED,   /* as if it had not started */
};

typedef void ar_fact_fn(const char *key, const char *value);

/* Functions that a source has no need of are NULL. */
struct ar_source {
    const char *name;
    /*
     * Options are in runtime/recording_options.h. AR_OK also where they do not ask for the source: it does nothing then.
     * AR_UNSUPPORTED: it is not available here, and why; the recording continues without it, and says so. Any
     * other failure ends the recording; then a Python exception may be set.
     */
    enum ar_status (*start)(const struct ar_options *options, struct ar_error *err);
    void (*stop)(enum ar_source_end why);
    /* Also for the thread that starts the recording. */
    void (*thread_starts)(struct ar_thread *t);
    /* Frees what the source keeps for the thread. */
    void (*thread_ends)(struct ar_thread *t);
    void (*fork)(enum ar_fork_step step);
    /* Its lines of `info`, once all have started; keys of 10 characters at most line up. Facts that are found later are added where they are found. */
    void (*describe)(ar_fact_fn *fact);
};

/* `sources` ends with NULL, and stays. On failure those that had started are stopped again. */
AR_MUST_CHECK enum ar_status ar_sources_start(const struct ar_source *const *sources,
                                              const struct ar_options *options,
                                              struct ar_error *err);
void ar_sources_stop(enum ar_source_end why);
void ar_sources_fork(enum ar_fork_step step);
