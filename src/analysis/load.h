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
/*
 * Adds one process from its live file. If it runs on this machine, calls that are open are closed
 * now, and its state says so; otherwise at the newest stamp in the file. `keep_builtins`: see livefile.h.
 */
AR_MUST_CHECK enum ar_status ar_load_live(struct ar_profile *p, const char *path,
                                          bool keep_builtins, struct ar_error *err);
/* A quick look: false if it is no live file. */
bool ar_live_read_header(const char *path, struct ar_live_header *out);
/* Does the process that writes it run, on this machine? */
bool ar_live_is_running(const struct ar_live_header *header);

/* Adds what is at `path` to a profile. */
AR_MUST_CHECK enum ar_status ar_load_into(struct ar_profile *p, const char *path,
                                          struct ar_error *err);
