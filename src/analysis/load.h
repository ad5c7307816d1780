// SPDX-License-Identifier: BSD-3-Clause
/*
 * load: anything that holds profiles, as one profile.
 *
 * A run file, a live file of a process that runs or was killed, or a directory of such files (and
 * directories of jobs in it); a pstats file, or a pattern ("cpu_*.prof") for the pstats files of
 * all ranks. What the user names on the command line. What a file is, is told by its contents.
 *
 *     struct ar_profile p;
 *     if (ar_load(&p, "heat.allranks", &err) < 0) ...
 *     ar_profile_free(&p);
 */
#pragma once

#include "format/profile.h"

/* On failure there is nothing to free. */
AR_MUST_CHECK enum ar_status ar_load(struct ar_profile *out, const char *path,
                                     struct ar_error *err);
/*
 * Everything that is named, by paths and patterns, as one run. Pstats files are numbered as ranks,
 * all of them together.
 */
AR_MUST_CHECK enum ar_status ar_load_all(struct ar_profile *out, char *const *names, size_t n,
                                         struct ar_error *err);
