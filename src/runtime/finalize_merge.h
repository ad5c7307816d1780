// SPDX-License-Identifier: BSD-3-Clause
/*
 * finalize_merge: all ranks' profiles become one at rank 0, in MPI_Finalize.
 *
 * A binomial tree: the parent of a rank is the rank without its lowest bit. Four times or more a message goes
 * along each edge, on our own communicator, so that there are O(log P) rounds:
 *
 *     hello    up      this rank and all below it are here, and able to merge
 *     go       down    all are
 *     data     up      this rank's profile, with those from below merged into it, as a run file in
 *                      memory: one way of merging for ranks and for files. Or, if all of them lie on
 *                      the host of the rank above: that their files may be read
 *     bulk     down    a rank that has sent a profile is to send a trace that belongs to it, in pieces, which go up
 *     written  down    the file has its name, and live files may go
 *
 * No rank is hung by it. Until all are known to be here only a few bytes are sent, which MPI takes off
 * the sender's hands; nothing large is sent to a rank that may never take it. Every receive is polled,
 * and cancelled if the other process has ended or nothing came for so long (the patience). Who gives up says so
 * in both directions: up by an empty message where data or a hello is expected, down by an order to
 * keep the files. A rank that comes later, or was stopped meanwhile, finds that and continues immediately; so an order
 * that comes where something else is waited for is always bad news.
 *
 * After a failure nothing is written, and every rank keeps its live file; what a rank has been told that it was
 * written has been written.
 *
 * Threads: one, in MPI_Finalize. Both are called by all ranks, or by none.
 */
#pragma once

#include "format/profile.h"
#include "runtime/mpi_abi.h"

/*
 * Hello and go. AR_OK: all ranks are here, and ar_finalize_merge is to be called; otherwise it is not
 * to be, and `err` says why.
 */
AR_MUST_CHECK enum ar_status ar_finalize_assemble(const struct ar_mpi_link *link,
                                                  uint64_t patience_ns, struct ar_error *err);
/* Where profiles come from, and where the one of all goes. */
struct ar_merge_steps {
    /* Has this rank a file that is all it has done? */
    bool (*may_be_read)(void);
    /* Makes the profile of this rank, or adds that of another one on this host. */
    enum ar_status (*own)(struct ar_profile *p, struct ar_error *err);
    enum ar_status (*read)(struct ar_profile *p, uint32_t rank, struct ar_error *err);
    /* Called at rank 0. */
    enum ar_status (*write)(struct ar_profile *p, struct ar_error *err);
};

/* Data and written. */
AR_MUST_CHECK enum ar_status ar_finalize_merge(const struct ar_merge_steps *steps,
                                               struct ar_error *err);
