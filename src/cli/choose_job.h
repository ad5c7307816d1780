// SPDX-License-Identifier: BSD-3-Clause
/* choose_job: which job is meant where no directory is named, or one that holds several. */
#pragma once

#include <stddef.h>

/* The only running job of this user, or an exit status after a list of those there are; -1: found. */
int ar_choose_job(const char *command, char *path, size_t n_path);
/*
 * The live files of several jobs are no run, nor are several run files: returns an exit status after a list of
 * what is in a directory, with what to type. -1: the path is something else, or holds one job.
 */
int ar_refuse_several_jobs(const char *command, const char *path);
