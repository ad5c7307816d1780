// SPDX-License-Identifier: BSD-3-Clause
/*
 * jobs: directories with live files of this user, where the runtime puts them if nobody says
 * otherwise: /dev/shm, $TMPDIR, /tmp, each with allranks-UID/JOB.
 *
 *     struct ar_jobs jobs;
 *     if (ar_jobs_find(&jobs) < 0) ...
 *     jobs.items[0].path, jobs.items[0].n_running …
 *     ar_jobs_free(&jobs);
 */
#pragma once

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

struct ar_job {
    char *path;
    size_t n_processes; /* that have a live file */
    size_t n_running;
    uint64_t start_real_ns; /* of the first of them */
};

struct ar_jobs {
    struct ar_job *items; /* the one that started last first */
    size_t n, cap;
};

/* On failure there is nothing to free. */
AR_MUST_CHECK enum ar_status ar_jobs_find(struct ar_jobs *out);
/* In a directory that the user has named: that one, if it holds live files, and those below it. */
AR_MUST_CHECK enum ar_status ar_jobs_find_in(struct ar_jobs *out, const char *directory);
void ar_jobs_free(struct ar_jobs *jobs);
