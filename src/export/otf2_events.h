// SPDX-License-Identifier: BSD-3-Clause
/*
 * otf2_events: the events of a thread as records of an archive.
 *
 *     in the trace                        in the archive
 *     enter, leave                        ENTER, LEAVE; where the window begins and ends, too, so that all is left again
 *     send, receive                       MPI_SEND where its call begins, MPI_RECV where it ends
 *     posted, done                        MPI_ISEND, MPI_ISEND_COMPLETE; MPI_IRECV_REQUEST, MPI_IRECV
 *     cancelled                           MPI_REQUEST_CANCELLED
 *     collective call                     MPI_COLLECTIVE_BEGIN, MPI_COLLECTIVE_END
 *     … posted, done                      NON_BLOCKING_COLLECTIVE_REQUEST, NON_BLOCKING_COLLECTIVE_COMPLETE
 *     parameter                           PARAMETER_INT, PARAMETER_UNSIGNED_INT, PARAMETER_STRING
 *     off, on, limit                      MEASUREMENT_ON_OFF
 *
 * An archive knows of collective operations only those that MPI-1 has, and the making and freeing of communicators and windows.
 * Collective calls among neighbours, on files and of persistent requests are ENTER and LEAVE, and so are one-sided calls. A message whose
 * request was posted before the events begin, or by another thread, is received as if its call had blocked.
 *
 * The root of a call between two groups is a rank where its group gives, and none for its neighbours, who do not know it.
 *
 * Times are nanoseconds since the run began, never less than the one before of the same thread.
 */
#pragma once

#include "analysis/comm_members.h"
#include "analysis/traces.h"
#include "export/otf2_library.h"
#include "export/otf2_names.h"

#include <stdatomic.h>

/*
 * The number of a rank in a communicator's group. One of two groups is defined as one that has both, the second from its end, because
 * readers in Python fail at definitions of the other kind. AR_NO_ID: it makes no sense.
 */
static inline uint32_t ar_otf2_rank(const struct ar_comm *comm, uint32_t rank, uint32_t side)
{
    uint64_t n = (uint64_t)comm->size + comm->remote_size;

    if (!comm->remote_size)
        return rank;
    return rank >= n ? AR_NO_ID : side ? (uint32_t)(n - 1 - rank) : rank;
}

/* What an archive is written from, and what all that write it share. */
struct ar_otf2_work {
    const struct ar_otf2_library *lib;
    const struct ar_profile *p;
    const struct ar_traces *traces;
    OTF2_Archive *archive;
    int64_t from_ns, to_ns;
    const uint32_t *comms; /* ar_otf2_comms; OTF2_UNDEFINED_COMM: not known */
    struct ar_otf2_names names;
    pthread_mutex_t lock; /* of what follows */
    struct ar_comm_members members;
    _Atomic uint64_t n_done; /* events */
    atomic_bool is_stopped;  /* it has failed somewhere */
};

/* Of one location. */
struct ar_otf2_written {
    uint64_t n_events;
    uint64_t first_ns, last_ns; /* if there is any */
    uint64_t least_bytes;       /* that they take at least */
};

/* Events of the trace `thread`; AR_IO: the library refused, and `err` says why. */
AR_MUST_CHECK enum ar_status ar_otf2_write_events(struct ar_otf2_work *work, size_t thread,
                                                  OTF2_EvtWriter *evt, struct ar_otf2_written *out,
                                                  struct ar_error *err);
