// SPDX-License-Identifier: BSD-3-Clause
/*
 * load: anything that holds profiles, as one profile.
 *
 * A run file, a live file of a process that runs or was killed, or a directory of such files (and
 * directories of jobs in it). What the user names on the command line.
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
/* Adds what is at `path` to a profile. */
AR_MUST_CHECK enum ar_status ar_load_into(struct ar_profile *p, const char *path,
                                          struct ar_error *err);
