// SPDX-License-Identifier: BSD-3-Clause
/*
 * trace_tracks: what the processes and threads of a trace are called in other tools, and in which order they stand.
 *
 * Viewers know processes by their pid. On several hosts, and on one where pids come again, two processes may have the same one: the
 * later one is given a number that no process of Linux has. Ranks come first, in order, each with its children below it.
 *
 *     struct ar_tracks tracks;
 *     if (ar_tracks_build(&tracks, &traces) < 0) ...       // AR_NOMEM
 *     tracks.processes[tracks.threads[i].process].name     // "rank 3", of trace `i`
 *     ar_tracks_free(&tracks);
 */
#pragma once

#include "analysis/traces.h"
#include "base/arena.h"

struct ar_track_process {
    uint32_t process; /* of the profile */
    uint32_t pid;     /* different for each; not always that of the system */
    const char *name; /* "rank 3", "rank 3 child 4711", "solve.py" */
    const char *host; /* "": all processes ran on one */
};

struct ar_track_thread {
    uint32_t process; /* of `processes` */
    uint32_t tid;     /* the pid for the main thread, as on Linux; else its number in the process */
    const char *name; /* "MainThread" */
};

struct ar_tracks {
    struct ar_track_process *processes; /* those with a trace, as they are to be shown */
    size_t n_processes;
    struct ar_track_thread *threads; /* by trace */
    size_t n_threads;
    struct ar_arena names;
};

/* On failure there is nothing to free. */
AR_MUST_CHECK enum ar_status ar_tracks_build(struct ar_tracks *out, const struct ar_traces *traces);
void ar_tracks_free(struct ar_tracks *tracks);

/* "rank 3", the name of a process of a sorted profile; appended. */
void ar_track_name(const struct ar_profile *p, uint32_t process, struct ar_bytes *out);
