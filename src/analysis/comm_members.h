// SPDX-License-Identifier: BSD-3-Clause
/*
 * comm_members: which ranks of the world belong to each communicator, with their ranks there, as far as a finished run says it.
 *
 * A process has told its own rank in each communicator that it has synchronised on; messages say which rank of the world a peer is.
 * Duplicates, windows and files have the members of the communicator that they were made of, and share one entry with it: its
 * representative. A rank that has not communicated on a communicator is not known.
 *
 *     struct ar_comm_members members;
 *     if (ar_comm_members_begin(&members, profile) < 0) ...
 *     if (ar_comm_members_add(&members, comm, rank, world_rank) < 0) ...           // what is known from elsewhere: messages of a trace
 *     ar_comm_members_end(&members);
 *     const struct ar_comm_member *at = ar_comm_members_of(&members, comm, &n);    // by rank
 *     ar_comm_members_free(&members);
 *
 * Memory is proportional to what the run has recorded, not to sizes that it claims.
 */
#pragma once

#include "format/profile.h"

struct ar_comm_member {
    uint32_t comm;       /* the representative */
    uint32_t rank;       /* AR_OWN_RANK: of two groups, in which of them */
    uint32_t world_rank; /* also of ranks that are not selected, where messages say it */
};

struct ar_comm_members {
    struct ar_comm_member *items; /* by communicator and rank; no two for one rank */
    size_t n, cap;
    size_t *first;   /* of each communicator, with one more */
    uint32_t *alike; /* its representative */
    size_t n_comms;
};

/* On failure there is nothing to free. */
AR_MUST_CHECK enum ar_status ar_comm_members_begin(struct ar_comm_members *out,
                                                   const struct ar_profile *p);
/* What makes no sense is passed over. On failure the others are as they were. */
AR_MUST_CHECK enum ar_status ar_comm_members_add(struct ar_comm_members *members, uint32_t comm,
                                                 uint32_t rank, uint32_t world_rank);
/* Puts them in order: only from here on can they be asked for. */
void ar_comm_members_end(struct ar_comm_members *members);
void ar_comm_members_free(struct ar_comm_members *members);

const struct ar_comm_member *ar_comm_members_of(const struct ar_comm_members *members,
                                                uint32_t comm, size_t *n);
