// SPDX-License-Identifier: BSD-3-Clause
/*
 * output: the run file that the user gets, under the name that was asked for.
 *
 * A name may hold {rank}, {host}, {pid} and {job}, which become those of the process that the user
 * started; {{ and }} are braces. They are filled in when the file is written: by then MPI has said
 * which rank this is. With `per_rank` each rank has a file of its own, and a name without {rank} has
 * the rank before its ending: heat.3.allranks.
 *
 * A name that ends in a slash names a directory, and no run can have it: the slash is left out.
 *
 * Nothing is overwritten. Only a run that holds this process, or its root, is replaced by one that
 * holds more.
 *
 * Threads: one, the one that ends. Life cycle: ar_output_set, then the others, any number of times.
 */
#pragma once

#include "format/profile.h"
#include "runtime/identity.h"

void ar_output_set(const char *name, bool per_rank);
bool ar_output_is_per_rank(void);
/* The name with its words filled in, of AR_PATH_BYTES. */
void ar_output_name(const struct ar_identity *identity, char *path);
/*
 * Before the program starts: whether a run can be written under that name, as far as can be told
 * without making a file. The text says what is wrong, and what becomes of the run.
 */
AR_MUST_CHECK enum ar_status ar_output_check(const struct ar_identity *identity,
                                             struct ar_error *err);
/*
 * For `allranks recover`, after a run could not be written: the name, of AR_PATH_BYTES, or, if nothing can be
 * written there now, the same in the current directory, $HOME, $TMPDIR or /tmp.
 */
void ar_output_name_elsewhere(const struct ar_identity *identity, char *path);
/* Where it will be. */
void ar_output_directory(const struct ar_identity *identity, char *path);

/* `written`, of AR_PATH_BYTES, is the name that it has: another one where the name was taken. */
AR_MUST_CHECK enum ar_status ar_output_write(const struct ar_identity *identity,
                                             struct ar_profile *p, char *written,
                                             struct ar_error *err);
/* The same under a name of ours. */
AR_MUST_CHECK enum ar_status ar_output_write_to(struct ar_profile *p, const char *path,
                                                char *written, struct ar_error *err);
/*
 * Adds to the run that has been written, and that `p` then is. AR_BAD: there is none with this
 * family in it any more. The caller holds the lock that all have who may do the same.
 */
AR_MUST_CHECK enum ar_status ar_output_add(const struct ar_identity *identity, struct ar_profile *p,
                                           char *written, struct ar_error *err);
