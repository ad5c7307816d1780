// SPDX-License-Identifier: BSD-3-Clause
/*
 * rollcall: do all ranks of this job run allranks?
 *
 * A collective call of ours would hang a job in which one rank is not profiled, so we make one only
 * when that is proved, without MPI: every profiled rank has made its live file in the job's
 * directory before MPI_Init, which no rank leaves before all have entered it. Each rank counts the
 * files once and writes its vote into its own; the answer is yes if every vote is, so that all
 * ranks come to the same one. Ranks on nodes that do not share the directory are not found, and the
 * answer is no.
 *
 * Threads: called once, in MPI_Init.
 */
#pragma once

#include "runtime/identity.h"

#include <stdbool.h>

bool ar_rollcall(const struct ar_identity *identity, uint32_t world_rank, uint32_t world_size);
/* How many ranks were found. */
uint32_t ar_rollcall_found(void);
/* Is that rank's process still there? Ranks of other hosts are taken to be. */
bool ar_rollcall_alive(uint32_t rank);
