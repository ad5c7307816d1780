// SPDX-License-Identifier: BSD-3-Clause
/*
 * rollcall: do all ranks of this job run allranks?
 *
 * A collective call of ours would hang a job in which one rank is not profiled, so we make one only
 * when that is proved, without MPI. Every profiled rank has made its live file in the job's
 * directory before MPI_Init. After it, each looks for the files of all others and writes into its
 * own whether it found them (its vote, once and for all). Who found them waits for the others' votes,
 * for so long and no longer, and then writes the verdict, a file that can be made only once:
 * whatever it says holds for everybody. It can say yes only if all votes are yes, so a rank that
 * voted no need not read it, and no two ranks ever come to different answers.
 *
 * Ranks on nodes that do not share the directory are not found. Then those that are found vote for each other, and
 * the lowest of them asks for the rest; see sites.h.
 *
 * A process that ends as a rank without having called MPI_Init, since what it started did, or
 * no process does, looks for the others then, when it is too late to talk: the last one to end may
 * merge all that are there.
 *
 * Threads: called once, in MPI_Init, or at the end.
 */
#pragma once

#include "runtime/identity.h"
#include "runtime/mpi_abi.h"

#include <stdbool.h>

bool ar_rollcall(const struct ar_identity *identity, const struct ar_mpi_link *link,
                 uint32_t world_rank, uint32_t world_size);
/*
 * How many ranks are there at the end of this one, those that have ended before it too; if they are
 * all, it is known about each what it would be after a roll call. 0: it cannot be told.
 */
uint32_t ar_rollcall_at_end(const struct ar_identity *identity, uint32_t world_size);
/* Removes the verdict; when the ranks have merged it is no longer needed. */
void ar_rollcall_leave(void);
/* The lowest rank that was found; 0 where there was no roll call. */
uint32_t ar_rollcall_first(void);
/* How many ranks were found. */
uint32_t ar_rollcall_found(void);
/* The lowest that is known to leave its files in the same place, on whatever node. */
uint32_t ar_rollcall_first_known(void);
/* How many are known to be recorded, on all nodes; 0: that is not known. */
uint32_t ar_rollcall_known(void);
/* Do all ranks share a directory? */
bool ar_rollcall_is_one_site(void);
/* The live file of a rank; NULL: it was not found. */
const char *ar_rollcall_path(uint32_t rank);
/* Has every other rank that was found ended its recording, or died? Of other hosts only what they wrote is known. */
bool ar_rollcall_others_ended(uint32_t own_rank);
/* Is that rank's process still there? Ranks of other hosts are taken to be. */
bool ar_rollcall_alive(uint32_t rank);
bool ar_rollcall_same_host(uint32_t rank);
