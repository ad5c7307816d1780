// SPDX-License-Identifier: BSD-3-Clause
/*
 * family: a process and all Python processes that it started, and they, and so on.
 *
 * Each has a live file of its own in the job's directory, named after the first of them, the root:
 *
 *     p100-7.live              the root
 *     p100-7.c101-9.live       a child that runs, or was killed
 *     p100-7.c102-9.allranks   one that has ended: a run file, which is smaller
 *     p100-7.unrecorded        a byte for each child that could not be recorded
 *     p100-7.lock              held by the process that ends
 *     ranks.lock               held by the process that changes the run of all ranks
 *
 * The root ends by writing the run of all of them. Who ends after the root and is the last one left
 * adds itself and the others to that run, or writes it if the root was killed. So no process is waited
 * for, and nothing is lost, whichever dies first.
 *
 * Threads: one, the one that ends. Failure: what cannot be read or written stays where it is.
 */
#pragma once

#include "format/profile.h"
#include "runtime/identity.h"

/* What a family has left, besides this process's own file. */
struct ar_family {
    char **paths; /* that are in the profile, of processes that have ended */
    size_t n_paths, cap_paths;
    size_t n_running;
};

/* -1: it could not be had within a few seconds. Another process may be at its end. */
int ar_family_lock(const struct ar_identity *identity);
void ar_family_unlock(int lock);
/* The same for all ranks and their children. Taken after that of the family, or without it. */
int ar_family_lock_ranks(const struct ar_identity *identity);

/* Has this process started another one, as far as is known? Then there may be something to find. */
void ar_family_expect(void);
bool ar_family_is_expected(const struct ar_identity *identity);
/* From here on a change of the job's directory means children. */
void ar_family_begin(const struct ar_identity *identity);

/*
 * Adds to `p`, and to what `family` lists, what others have left, or have so far; but not
 * `own_path`. Without the lock (-1) what another process may be writing just now is left alone.
 */
AR_MUST_CHECK enum ar_status ar_family_gather(struct ar_family *family,
                                              const struct ar_identity *identity, int lock,
                                              const char *own_path, struct ar_profile *p);
/* Is there one that runs, besides this process? The root does not count. */
bool ar_family_runs(const struct ar_identity *identity);
/* Removes the files of those that have ended: they are in a run file now. */
void ar_family_remove(const struct ar_family *family);
void ar_family_free(struct ar_family *family);
/* Removes what only the family itself needs. */
void ar_family_leave(const struct ar_identity *identity);

/*
 * Is one of them recorded now, whichever? A name that is left in the environment of a process which
 * outlives the family is worth nothing: what the family has recorded is finished.
 */
bool ar_family_is_alive(const struct ar_identity *identity);
/* Few enough to be recorded, one more? */
bool ar_family_has_room(const struct ar_identity *identity);
/* A child is not recorded. */
void ar_family_count_lost(const struct ar_identity *identity);

/* Then only a last child is left to write the run. */
bool ar_family_root_is_done(const struct ar_identity *identity);
/* Has it become, by exec, a program that is not recorded? Then it does not write the run. */
bool ar_family_root_is_lost(const struct ar_identity *identity);
/* Its run is that of all ranks, unless each has its own. */
bool ar_family_root_is_rank(const struct ar_identity *identity);
/* Is the root in it? */
bool ar_family_wrote(const struct ar_identity *identity, const struct ar_profile *run);
