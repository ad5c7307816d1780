// SPDX-License-Identifier: BSD-3-Clause
/*
 * own_files: what this process and its children have recorded, read from their files, and what becomes
 * of the files at the end.
 *
 *     close ──> profile ──> written to a run ──> remove
 *                      └──> not written ───────> keep: moved beside the output, or left where they are
 *
 * Threads: one, the one that ends the recording.
 */
#pragma once

#include "runtime/family.h"

/*
 * Stops this thread's events and makes the live file final. Other threads may continue: what they add
 * is not read.
 */
void ar_own_file_close(void);
/* Notes the time, and the commands that were started: before a merge after which the program continues. */
void ar_own_file_stamp(void);

/* Of this process alone. */
AR_MUST_CHECK enum ar_status ar_own_profile(struct ar_profile *p, struct ar_error *err);
/* With what its children have left, or have so far, if there may be any (`expected`). */
AR_MUST_CHECK enum ar_status ar_own_family_profile(struct ar_profile *p, struct ar_family *family,
                                                   bool expected, int lock, struct ar_error *err);

/* All is in a run file. Children that still run need the directory, and what is in it about the family. */
void ar_own_files_remove(size_t n_running);
/* Where to, if need be. As soon as this rank is known, and again when MPI has said which it is. */
void ar_own_files_prepare_to_keep(void);
/* The file is closed, and in no run. Returns where this rank's files are now; NULL: another rank says where. */
const char *ar_own_files_keep(void);
/* All of its files have been moved away. A child that still runs finds the directory as it is. */
void ar_own_family_leave(void);
