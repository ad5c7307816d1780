// SPDX-License-Identifier: BSD-3-Clause
/*
 * hang_parts: what the files of hang.h share. They are called in this order: threads and members, turns, messages, and then
 * which ranks can go on.
 */
#pragma once

#include "analysis/hang.h"

/* Of a method of mpi4py, or an MPI call, by name. */
bool ar_hang_is_collective(const struct ar_profile *p, uint32_t call);
/* The index of a rank; AR_NO_ID: the process has no main thread here. */
uint32_t ar_hang_rank_of(const struct ar_hang *hang, uint32_t process);
/* The members of a communicator (number plus 1), and how many there are. */
const struct ar_member *ar_hang_members_of(const struct ar_hang *hang, uint32_t comm, size_t *n);

AR_MUST_CHECK enum ar_status ar_hang_find_turns(struct ar_hang *out, const struct ar_profile *p);
void ar_hang_free_turn(struct ar_hang_turn *turn);

AR_MUST_CHECK enum ar_status ar_hang_find_messages(struct ar_hang *out, const struct ar_profile *p);
void ar_hang_find_movers(struct ar_hang *out, const struct ar_profile *p);
/* Only now is it known which ranks can go on. */
void ar_hang_drop_usual_waits(struct ar_hang *out);
