// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_tables: what MPI costs, put together in several ways.
 *
 *     by path         a line of the program: a method of mpi4py with all that it does, or an MPI call
 *     by function     a function of MPI, wherever it is called
 *     by class        point-to-point, collective, waiting …
 *     by communicator, by peer, by size     of messages; only where the run has them
 *
 * Time is that of the calls, summed over a rank's threads and children, and spread over ranks. That of
 * a method is all of its time, of which pickling, waiting, transferring and unpickling are told apart;
 * a function or class has the time within MPI only. Waiting is what analysis/waits.h found, so that it is the same figure as that
 * of `allranks waits`; the rest of the time within MPI is transferring. Where waits are not known neither is.
 *
 * Life cycle: ar_mpi_open on a profile and its totals, which must outlive it and stay as they are; then what is wanted
 * may be chosen; then any number of tables, each the caller's to free(); ar_mpi_close.
 * Threads: none of this is shared.
 *
 *     struct ar_mpi m;
 *     if (ar_mpi_open(&m, &profile, &totals) < 0) ...
 *     struct ar_mpi_row *rows;
 *     size_t n;
 *     if (ar_mpi_table(&m, AR_MPI_BY_PATH, &rows, &n) < 0) ...
 *     free(rows);
 *     ar_mpi_close(&m);
 */
#pragma once

#include "analysis/match.h"
#include "analysis/mpi_class.h"
#include "analysis/totals.h"
#include "analysis/waits.h"

enum ar_mpi_by {
    AR_MPI_BY_PATH,
    AR_MPI_BY_FUNCTION,
    AR_MPI_BY_CLASS,
    AR_MPI_BY_COMM,
    AR_MPI_BY_PEER,
    AR_MPI_BY_SIZE,
    AR_N_MPI_BY
};

/* Of a method of mpi4py: what its time is made of, over all ranks. */
struct ar_mpi_parts {
    uint64_t pickling_ns, mpi_ns, unpickling_ns;
    double waiting_ns; /* within MPI, for other ranks; the rest is transferring */
};

struct ar_mpi_row {
    uint32_t node;    /* one of its nodes: the method's where there is one; AR_NO_ID by messages */
    const char *name; /* of the function, method or class */
    uint32_t comm;    /* by communicator: the shown one, plus 1; 0: not known. By peer, where … */
    uint32_t peer, world_peer; /* … the world rank is not known; AR_PEER_… */
    uint32_t size_class;
    bool is_operation;
    uint64_t n_calls; /* 0 by messages: calls and messages are not the same */
    uint64_t n_out, n_in, bytes_out, bytes_in;
    struct ar_spread time; /* over ranks, in nanoseconds */
    struct ar_mpi_parts parts;
};

/* Requests that were posted by one line and completed by another. */
struct ar_mpi_request_row {
    uint32_t posted, completed; /* one node of each */
    uint64_t n;
    double flight_ns, waited_ns, exposed_ns; /* in all; see struct ar_completed */
};

/* Who sends how much to whom: point-to-point and one-sided, by world rank. */
struct ar_mpi_pair {
    uint32_t from, to;
    uint64_t n, n_bytes;
    uint64_t ns; /* that `from` spent with `to`, sending or receiving */
};

/* "rank"; "all": of collective calls without a root; "several": that there was no room to tell apart; "unknown". */
const char *ar_peer_kind_name(uint32_t peer, uint32_t world_peer);

struct ar_mpi {
    const struct ar_profile *p;
    const struct ar_totals *t;
    struct ar_mpi_class *functions; /* by function; where `name` is NULL it is none of MPI */
    uint8_t *picklers;              /* by function, see picklers.h */
    uint32_t *shown;                /* by node: as what it is shown; AR_NO_ID: not at all */
    bool *is_chosen;                /* by node of MPI, or within a method of mpi4py */
    size_t n_chosen;                /* nodes of MPI that ar_mpi_choose has left */
    size_t n_ranks;
    double wall_ns, mpi_ns;    /* mean over those */
    struct ar_mpi_parts parts; /* of all methods, over those */
    const struct ar_waits *w;  /* NULL: not known */
    double waiting_ns;         /* in all that is chosen, over all ranks */
};

AR_MUST_CHECK enum ar_status ar_mpi_open(struct ar_mpi *out, const struct ar_profile *p,
                                         const struct ar_totals *t);
/* With waits of the same profile, which must outlive it. Waits that were not recorded are not known. */
void ar_mpi_use_waits(struct ar_mpi *m, const struct ar_waits *w);
/* Of the time within MPI, what is not waiting; 0 where waits are not known. */
double ar_mpi_transferring_ns(const struct ar_mpi_parts *parts);
void ar_mpi_close(struct ar_mpi *m);
/* Is there any MPI call in it; is it known who sent what to whom? */
bool ar_mpi_has_calls(const struct ar_mpi *m);
bool ar_mpi_has_messages(const struct ar_mpi *m);

/* Only what is called there, or by a function of that name: `n_chosen`. Ranks are chosen by select.h. */
AR_MUST_CHECK enum ar_status ar_mpi_choose(struct ar_mpi *m, const struct ar_wanted *wanted);

/* The longest time first; by size from the smallest on. */
AR_MUST_CHECK enum ar_status ar_mpi_table(const struct ar_mpi *m, enum ar_mpi_by by,
                                          struct ar_mpi_row **rows, size_t *n);
/* The longest in flight first. */
AR_MUST_CHECK enum ar_status ar_mpi_requests(const struct ar_mpi *m,
                                             struct ar_mpi_request_row **rows, size_t *n);
/* In order of `from` and `to`. */
AR_MUST_CHECK enum ar_status ar_mpi_pairs(const struct ar_mpi *m, struct ar_mpi_pair **pairs,
                                          size_t *n);
