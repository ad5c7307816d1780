// SPDX-License-Identifier: BSD-3-Clause
/*
 * jobs: directories with live files of this user, where the runtime puts them by
 * default: /dev/shm, $TMPDIR, /tmp, each with allranks-UID/JOB.
 *
 * Files that were copied may be those of several jobs in one directory. A file names its job. The hosts of one job may
 * name it differently: two names are one job if the world size is the same and no rank has two files.
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
    char *path;         /* of the directory */
    char name[64];      /* as its first file names it */
    char **files;       /* paths, if the directory has files of other jobs, too; else NULL */
    size_t n_processes; /* that have a live file, and how many files there are */
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
