// SPDX-License-Identifier: BSD-3-Clause
/* choose_job: which job is meant where nobody has named a directory, or one that holds several. */
#pragma once

#include <stddef.h>

/* The only running job of this user, or an exit status after a list of those there are; -1: found. */
int ar_choose_job(const char *command, char *path, size_t n_path);
/*
 * The live files of several jobs are no run: returns an exit status after a list of the jobs in a
 * directory. -1: the path is something else, or holds one job.
 */
int ar_refuse_several_jobs(const char *command, const char *path);
