// SPDX-License-Identifier: BSD-3-Clause
/*
 * hang_text: what ranks wait for, and which rank is missing, for people.
 *
 *     Where it hangs
 *         MPI_Allreduce at model.py:23 on a communicator of ranks 0,2,4 (number 17 on it): ranks 0,2 have waited for 12.3 s
 *         rank 4 is missing: it has left the script and is in MPI_Finalize
 */
#pragma once

#include "format/profile.h"

/* Of a profile with call sites as they were recorded. Returns how many lines it took; 0: no rank waits. */
size_t ar_print_hang(const struct ar_profile *p);
