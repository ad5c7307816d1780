// SPDX-License-Identifier: BSD-3-Clause
/*
 * finalize_merge: all ranks' profiles become one at rank 0, in MPI_Finalize.
 *
 * A binomial tree: in round k a rank whose bit k is set sends all it has to the rank without that
 * bit and is done; the others receive and merge. What is sent is a run file in memory, so that
 * there is one way of merging for ranks and for files. When rank 0 has written the file, the word
 * goes down the same tree, and only then may a rank drop its live file.
 *
 * A rank that has ended is not waited for, and a living one for five minutes. Then nothing is written, every rank is told so, and the
 * files stay.
 */
#pragma once

#include "format/profile.h"
#include "runtime/mpi_abi.h"

/*
 * `own` is NULL where this rank has no profile to give. `write` is called at rank 0 with the whole.
 */
AR_MUST_CHECK enum ar_status
ar_finalize_merge(const struct ar_mpi_link *link, struct ar_profile *own,
                  enum ar_status (*write)(struct ar_profile *, struct ar_error *),
                  struct ar_error *err);
