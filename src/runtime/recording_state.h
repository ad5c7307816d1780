// SPDX-License-Identifier: BSD-3-Clause
/*
 * recording_state: how far the recording of this process has come.
 *
 * There is one recording per process. It is shared by the files that start it (recording.h), end it
 * (endings.h, own_files.h, closing_line.h) and follow MPI (mpi_events.h), and by no others.
 *
 * Life cycle: filled when the recording starts; a forked child continues with a copy. Threads: the one
 * that starts or ends the recording, or calls MPI_Init or MPI_Finalize.
 */
#pragma once

#include "runtime/identity.h"

struct ar_mpi_abi;

struct ar_recording {
    struct ar_identity identity;
    char written[AR_PATH_BYTES]; /* the run file, once there is one */
    bool with_children;
    bool keeps;                /* ranks are not to be merged */
    uint64_t merge_timeout_ns; /* for ranks that do not reach MPI_Finalize */
    bool finished;    /* written, or given up with a message: nothing is left to do at exit */
    bool is_merged;   /* MPI is over and the ranks' run is written, but the program continues */
    bool is_given_up; /* the ranks could not be merged, and that has been said */
    struct ar_mpi_abi *linked; /* MPI on which all ranks can merge */
};

extern struct ar_recording ar_recording;

/* Signals: all may be asked by a handler. */
bool ar_recording_has_ended(void);
/* After vfork this is the parent's memory, and not the parent. */
bool ar_recording_is_own(void);
/* It is of this process, and nothing has been written yet. */
bool ar_recording_is_open(void);
