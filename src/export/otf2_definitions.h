// SPDX-License-Identifier: BSD-3-Clause
/*
 * otf2_definitions: what the numbers in the records of an archive stand for.
 *
 *     clock            ticks of 1 ns; the first event, and when that was
 *     system tree      the machine, its nodes (hosts)
 *     location groups  processes: those with a rank have its number; children belong to the process that started them
 *     locations        threads, by their number in the profile
 *     regions          functions, by their number in the profile, named as Score-P's Python bindings do (scorep_names.h), with file and line
 *     groups           the ranks of MPI_COMM_WORLD, and of each communicator
 *     communicators    in the order of the profile; windows and files have none of their own
 *     parameters       those that were met
 *     metrics          counters that were met, each in a class of its own
 *
 * A rank that is not part of the export (--ranks) is a location without events, because ranks of communicators are counted through
 * all. One more stands for all members of communicators that the run does not tell, if there are any.
 */
#pragma once

#include "export/otf2_events.h"

/* Ranks of the world, those that are not there included. */
struct ar_otf2_world {
    uint32_t n_ranks;   /* 0: no MPI */
    uint32_t *of_rank;  /* process; AR_NO_ID: it is not there */
    uint32_t *location; /* of each process its main thread */
    uint32_t *group;    /* of each process its location group */
    uint32_t n_groups;  /* location groups */
    uint64_t n_absent;
    uint32_t unknown; /* the rank that stands for those that are not known; 0: none does */
};

/* AR_BAD: its ranks make no sense. On failure there is nothing to free. */
AR_MUST_CHECK enum ar_status ar_otf2_world_find(struct ar_otf2_world *out,
                                                const struct ar_profile *p, struct ar_error *err);
void ar_otf2_world_free(struct ar_otf2_world *world);

/* All locations: those of the profile, absent ranks, and the one that stands for unknown ranks. */
static inline uint64_t ar_otf2_n_locations(const struct ar_profile *p,
                                           const struct ar_otf2_world *world)
{
    return p->n_locations + world->n_absent + (world->unknown > 0);
}

/* When all events are written: whether all members of all communicators are known. */
void ar_otf2_world_end(struct ar_otf2_world *world, struct ar_otf2_work *work);

/* The number of each in the archive; of windows and files that of their processes. NULL: no memory. */
uint32_t *ar_otf2_comms(const struct ar_profile *p);

/* When all events are written. `written` is by location. */
AR_MUST_CHECK enum ar_status ar_otf2_define(struct ar_otf2_work *work,
                                            const struct ar_otf2_world *world,
                                            const struct ar_otf2_written *written,
                                            struct ar_error *err);
