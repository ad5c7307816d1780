// SPDX-License-Identifier: BSD-3-Clause
/*
 * sites: do all ranks run allranks, where they cannot see each other's live files?
 *
 * A site is the ranks that share a directory, mostly those of one node; the lowest of them leads it. Leaders
 * leave notes in the launcher's table of names (MPI_Publish_name), which has nothing to do with any
 * communicator: a rank that is not recorded never notices. Each note has one writer.
 *
 *     rank 0            "open"                     then looks for notes until they cover all ranks
 *     another leader    sees "open", writes its ranks under the lowest of them
 *     rank 0            "verdict": yes if all ranks are covered, within a few seconds of "open"
 *     another leader    waits for the verdict
 *
 * Two ranks must never come to different answers, since what follows is collective. The verdict is rank 0's
 * alone. Another leader that gives up waiting for it does so only when rank 0 would have written no, for
 * many times the span that rank 0 allows itself; or when it is not there to say anything. It waits only after it has seen "open", so a
 * job in which rank 0 is not recorded continues immediately, or nearly so.
 *
 * Only launchers that are known to have such a table are asked, mpiexec of Open MPI and hydra: with
 * others Open MPI prints half a page about that, and MPICH 4.3 ends in a segmentation fault.
 * Elsewhere, as under srun, leaders leave files; see notefiles.h.
 *
 * Threads: one, in MPI_Init.
 */
#pragma once

#include "runtime/mpi_abi.h"

struct ar_site {
    const uint32_t *ranks; /* ascending; the first one leads */
    uint32_t n_ranks;
    uint32_t world_size;
    uint32_t local_size; /* ranks on this node, recorded or not; 0: not known */
    uint64_t job;        /* the same on all nodes; 0: it has no name */
    bool is_able;        /* all of its ranks can merge */
    const char *beside;  /* the directory of the output; "": there is none */
    uint32_t kept_in;    /* says where live files go that are not merged; 0: they stay */
};

/* Called by the leader. */
bool ar_sites_agree(const struct ar_mpi_link *link, const struct ar_site *site);
/* Takes the notes back, when they are no longer needed. */
void ar_sites_leave(const struct ar_mpi_link *link);
/* The lowest rank that is known to leave its files in the same place; may be the leader itself. */
uint32_t ar_sites_first(const struct ar_site *site);
/* How many ranks are known to be recorded, in all sites; 0: that is not known. */
uint32_t ar_sites_known(void);

/* The ranks as text, "first:number:stride;" for each run of them. false: it is too long. */
bool ar_site_write(const struct ar_site *site, char *text, size_t n_text);
/* Marks them, a byte a rank. false: it is not such a text, or does not begin with `first`. */
bool ar_site_read(const char *text, uint32_t first, uint8_t *marks, uint32_t world_size);
