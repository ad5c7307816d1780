// SPDX-License-Identifier: BSD-3-Clause
/*
 * waits: who waited for whom, how long, and what the one who came last had done meanwhile.
 *
 * From the streams of all threads (format/streams.h), read side by side in the order of time: what is in
 * memory is what ranks are apart, however long they ran. A call waits from when it began until the one that it
 * needs has come, and not longer than it took. Calls of mpi4py that are made of many messages are one operation,
 * on the line of the method.
 *
 *     barrier, all      for the last who came
 *     late_broadcast    (also scatter) for the root
 *     early_reduce      (also gather) the root, for the last of the others
 *     early_scan        for the last of those with lower ranks
 *     late_sender       for the message to be sent
 *     late_receiver     for a receiver to take it
 *     late_member       for one that MPI says is not needed, but left soon after that came: large data move in pieces
 *                       through others
 *     late_progress     for one that is there, but called MPI again only then: most libraries move nothing in between
 *
 * The last two are guesses from times: they are made only where more than half of the time that is not explained
 * otherwise had passed when that one came.
 *
 * A wait is charged to what the trail of the late one has more of than that of the one who waited: see wait_trails.h and
 * wait_charge.h. What that is in the end is named by function and rank; what is spread over many functions by the deepest one that
 * contains it; what is not known stays so.
 *
 * Life cycle: built from a profile, which must outlive it and stay as it is. Threads: read-only once built.
 * Cost: linear in calls, times the logarithm of threads.
 *
 *     struct ar_waits w;
 *     if (ar_waits_build(&w, &profile, NULL) < 0) ...
 *     w.sites[0].waited_ns …
 *     ar_waits_free(&w);
 */
#pragma once

#include "analysis/place.h"
#include "analysis/totals.h"

enum ar_wait_class {
    AR_WAIT_BARRIER,
    AR_WAIT_ALL,
    AR_WAIT_LATE_BROADCAST,
    AR_WAIT_EARLY_REDUCE,
    AR_WAIT_EARLY_SCAN,
    AR_WAIT_LATE_SENDER,
    AR_WAIT_LATE_RECEIVER,
    AR_WAIT_LATE_MEMBER,
    AR_WAIT_LATE_PROGRESS,
    AR_N_WAIT_CLASSES
};

const char *ar_wait_class_name(enum ar_wait_class class); /* "barrier" … */

/* What one process has of a site. */
struct ar_wait_share {
    uint32_t process;
    uint64_t n;
    double ns;
};

/* For qsort: the largest first. */
int ar_wait_share_order(const void *a, const void *b);

/* A function on a process, once. */
struct ar_wait_cause {
    uint32_t process;  /* that spent its time there */
    uint32_t node;     /* one of the function's; AR_NO_ID: not known */
    bool with_callees; /* in it and the functions that it calls, of which none has much by itself */
    double ns;
    double
        indirect_ns; /* of it, that reached those who waited through others who had waited for it */
};

/* A line of the program at which ranks waited, and for what kind of reason. */
struct ar_wait_site {
    enum ar_wait_class class;
    uint32_t node; /* one of its nodes: the method's of mpi4py where there is one, else MPI's */
    uint32_t mpi;  /* function of MPI that waited, one of them */
    struct ar_place place;
    bool nonblocking;
    bool is_composed; /* a collective method of mpi4py: its messages wait for each other */
    uint64_t n;       /* calls that waited */
    double waited_ns;
    /* The largest first. */
    struct ar_wait_share *waiting, *late;
    size_t n_waiting, n_late;
    struct ar_wait_cause *causes;
    size_t n_causes;
};

/* Of a process, its main thread. The three are its wall time. */
struct ar_wait_times {
    double computing_ns, waiting_ns, communicating_ns;
    double setting_up_ns; /* within communicating: in MPI_Init and MPI_Finalize */
    double caused_ns;     /* that others waited because of it */
};

struct ar_waits {
    struct ar_wait_site *sites; /* the largest first */
    size_t n_sites;
    struct ar_wait_times *times; /* by root */
    double waited_ns;            /* over all */
    uint64_t n_calls, n_resolved, n_unresolved;
    uint64_t n_lost; /* that could not be recorded */
    /* Only where it was asked for: by node NULL, or by root how long its main thread waited there. */
    double **node_ns;
    size_t n_nodes;
};

/* `of`, by root: whose waits count; NULL: everybody's. */
AR_MUST_CHECK enum ar_status ar_waits_build(struct ar_waits *out, struct ar_profile *p,
                                            const bool *of);
/* With totals that are built already. */
AR_MUST_CHECK enum ar_status ar_waits_build_with(struct ar_waits *out, struct ar_profile *p,
                                                 const struct ar_totals *t, const bool *of);
/* With `node_ns`, too; everybody's. */
AR_MUST_CHECK enum ar_status ar_waits_build_by_node(struct ar_waits *out, struct ar_profile *p,
                                                    const struct ar_totals *t);
void ar_waits_free(struct ar_waits *w);
