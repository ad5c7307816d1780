// SPDX-License-Identifier: BSD-3-Clause
/*
 * look: a running job at one instant, to be compared with the instant before.
 *
 * Each process's live file is read and summed up by function; the difference of two looks is what
 * happened between them. Functions have the same number in all looks of a watch, whichever process or
 * look they were first seen in.
 *
 * A process whose file has gone has finished: the file is removed when the run file is written. It
 * stays in the next looks as it was.
 *
 * Life cycle: ar_watch_init (or zeroed), ar_watch_look again and again, ar_watch_free. One owner.
 *
 *     struct ar_watch w = {0};
 *     if (ar_watch_look(&w, "/dev/shm/allranks-1000/job1", &err) < 0) ...
 *     w.processes[0].now.shares[function].self_ns …
 */
#pragma once

#include "analysis/by_function.h"

/* What a process had done at one instant. */
struct ar_look {
    struct ar_share *shares; /* by function of `names` */
    size_t n_shares;
    uint64_t wall_ns;
    uint64_t mpi_ns;
};

struct ar_watched {
    struct ar_process process; /* strings are those of `names` */
    uint64_t still_ns;         /* since any of its threads moved */
    uint32_t n_threads;        /* that have not ended */
    /* Where its main thread is: the innermost Python function, the line in it, and what that called. */
    uint32_t function, line, leaf; /* AR_NO_ID, 0, AR_NO_ID: not known */
    struct ar_look now, before;    /* `before` is all zero at first */
    bool is_new;                   /* there was no look before */
    bool was_seen;                 /* in the look that is being taken */
};

struct ar_watch {
    struct ar_profile names;      /* functions, texts, facts of all looks; processes of the last */
    struct ar_watched *processes; /* in order of rank, then of pid */
    size_t n_processes, cap;
    size_t n_unreadable; /* files that could not be read in the last look */
};

AR_MUST_CHECK enum ar_status ar_watch_init(struct ar_watch *w);
void ar_watch_free(struct ar_watch *w);
/* AR_BAD: there is no live file that can be read, and there was none before. */
AR_MUST_CHECK enum ar_status ar_watch_look(struct ar_watch *w, const char *path,
                                           struct ar_error *err);
bool ar_watch_any_running(const struct ar_watch *w);

/* What a function has taken, of one process or of all (AR_NO_ID), since the start or the last look. */
struct ar_share ar_watch_share(const struct ar_watch *w, uint32_t process, uint32_t function,
                               bool since_start);
/* The time in which it did so. */
uint64_t ar_watch_span_ns(const struct ar_watch *w, uint32_t process, bool since_start);
uint64_t ar_watch_mpi_ns(const struct ar_watch *w, uint32_t process, bool since_start);
