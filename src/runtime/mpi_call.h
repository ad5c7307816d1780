// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_call: one MPI call as a node of the tree, below the Python line that made it.
 *
 * The wrappers of every ABI call these around the real function. The clock starts after our work
 * and stops before it. What MPI calls inside one of its own functions is not the user's call and is
 * not recorded.
 *
 * Threads: any, with or without the GIL; a thread that is not known yet is attached.
 */
#pragma once

#include "format/livefile.h"
#include "runtime/mpi_comms.h"

#include <stdbool.h>
#include <stdint.h>

struct ar_mpi_abi; /* mpi_abi.h */
struct ar_node;
struct ar_thread;

enum ar_mpi_id {
#define X(id, name, class, sync, light) AR_MPI_##id,
#include "mpi_functions.inc"
#undef X
    AR_N_MPI
};

extern const char *const ar_mpi_names[AR_N_MPI];

struct ar_mpi_call {
    struct ar_thread *thread;
    struct ar_node *node;
    struct ar_mpi_abi *abi;
    uint64_t start, end;
    bool has_counted; /* its time is with one of its messages */
    bool is_nested;   /* MPI called itself: the call around this one tells all */
    bool
        may_hold_up; /* of another thread than the main one, which was blocked when it was entered */
    enum ar_mpi_id id;
};

/*
 * false: this call is not to be recorded, and of the following only what is about the end of requests
 * is to be called.
 */
bool ar_mpi_enter(struct ar_mpi_call *call, struct ar_mpi_abi *abi, enum ar_mpi_id id);
void ar_mpi_leave(struct ar_mpi_call *call);
/* What came after `end`, until which it took, was our own doing: it goes on now. */
void ar_mpi_restart(struct ar_mpi_call *call);

/*
 * For what a recorded call is about to wait, after it was entered: a reader of the live file finds it there while it lasts. `kind` and `peer` as in
 * struct ar_sync, `peer` as the program passed it; `tag` is 0 where there is none.
 */
void ar_mpi_waits(struct ar_mpi_call *call, enum ar_sync_kind kind, uint64_t handle, int peer,
                  int tag);
/* The same of a call that completes `n` requests, or any one of them; `handle` is the first that is not null. */
void ar_mpi_waits_for(struct ar_mpi_call *call, uint64_t handle, uint32_t n, bool is_any);

/*
 * What a call did, after it was left, and if it succeeded. Handles are passed as words; a
 * communicator, window or file is known by its handle, 0 where it is not known, and windows and files
 * by AR_MPI_NOT_COMM. Reading and writing files is told as collective calls are. Several messages of
 * one call are noted one by one; the call's time goes with the first of them.
 */
#define AR_MPI_NOT_COMM (UINT64_C(1) << 63)
void ar_mpi_out(struct ar_mpi_call *call, uint64_t handle, int peer, int tag, uint64_t n_bytes);
void ar_mpi_in(struct ar_mpi_call *call, uint64_t handle, int peer, int tag, uint64_t n_bytes);
/* A message was found that is not received yet. */
void ar_mpi_probed(struct ar_mpi_call *call, uint64_t handle, int peer, int tag);
/* A collective call; `root` is AR_MPI_NO_ROOT where there is none. */
#define AR_MPI_NO_ROOT (-0x7fffffff)
void ar_mpi_collective(struct ar_mpi_call *call, uint64_t handle, int root, uint64_t n_out,
                       uint64_t n_in);

/* ---- requests -------------------------------------------------------------------------------- */

enum ar_request_kind {
    AR_REQUEST_SEND,
    AR_REQUEST_RECEIVE, /* its status says how much came, and from whom */
    AR_REQUEST_COLLECTIVE,
    AR_REQUEST_RMA,
    AR_REQUEST_KNOWN, /* partitioned, or both ways: its status says nothing, `n_in` is known before */
    AR_REQUEST_READ,  /* its status says how much */
    AR_REQUEST_WRITE, /* likewise */
    AR_REQUEST_OTHER  /* a communicator being made, a generalised request */
};

struct ar_mpi_post {
    uint64_t request, comm;
    int peer; /* or root; AR_MPI_NO_ROOT */
    int tag;
    enum ar_request_kind kind;
    bool is_persistent; /* prepared, and not active before it is started */
    bool may_share;     /* the library may give this handle to several requests at a time */
    /*
     * What is moved, each time; of what its status tells, only what is not known from that. Of a receive
     * `n_in` is the room for it.
     */
    uint64_t n_out, n_in;
};

void ar_mpi_posted(struct ar_mpi_call *call, const struct ar_mpi_post *post);
void ar_mpi_started(struct ar_mpi_call *call, uint64_t handle);
/* Before the real call, which forgets the handle. */
void ar_mpi_request_freed(struct ar_mpi_call *call, uint64_t handle);

/*
 * What is known of a request's end. Of one that was cancelled, or failed, nothing has moved. Libraries
 * leave it to chance what a status says that has nothing to say: `is_cancelled` is to be believed of
 * sends and receives, `source` of receives, `n_bytes` of receives and files. Of a message that was
 * truncated `n_bytes` may be its whole length.
 */
struct ar_mpi_done {
    bool is_cancelled, is_truncated;
    int source, tag;
    uint64_t n_bytes;
};

/* Is anything followed at all? If not, waiting need not look at its requests. */
bool ar_mpi_follows(void);
/* A wait or test completed what had this handle before; it did so for `n_together`. */
void ar_mpi_completed(struct ar_mpi_call *call, uint64_t handle, const struct ar_mpi_done *done,
                      uint32_t n_together);

/* ---- communicators, windows and files -------------------------------------------------------- */

/*
 * `tag` tells apart what members alone make (MPI_Comm_create_group, MPI_Intercomm_create); 0
 * otherwise. `made` is 0 where this process is not a member, and `parent` where there is none.
 */
void ar_mpi_made(struct ar_mpi_call *call, enum ar_comm_origin origin, uint64_t parent,
                 uint64_t made, uint64_t tag);
/* Before the real call, which forgets the handle; also if that is not recorded. Returns what it was. */
struct ar_mpi_comm ar_mpi_unmade(struct ar_mpi_abi *abi, uint64_t handle);
/* That call, which is a collective one on what it freed. */
void ar_mpi_freed(struct ar_mpi_call *call, struct ar_mpi_comm *was);
void ar_mpi_named(struct ar_mpi_abi *abi, uint64_t handle, const char *name);
/* Of a handle that the program has not just passed: may MPI be asked about it? */
bool ar_mpi_is_known(const struct ar_mpi_abi *abi, uint64_t handle);

/* ---- the beginning and the end --------------------------------------------------------------- */

/*
 * Rare events that concern the process as a whole. Wrappers are below the code that handles them, which
 * passes its functions to ar_mpi_hook_start. All that happens at every call is called directly.
 */
struct ar_mpi_events {
    /* After MPI_Init and before MPI_Finalize; `call` is NULL where it is not recorded. */
    void (*initialized)(struct ar_mpi_abi *abi, struct ar_mpi_call *call);
    void (*finalizing)(struct ar_mpi_abi *abi, struct ar_mpi_call *call);
    /* Around MPI_Comm_spawn and MPI_Comm_spawn_multiple, at the root, which alone starts processes. */
    void (*spawning)(void);
    void (*spawned)(void);
};
extern const struct ar_mpi_events *ar_mpi_events; /* set before the first slot is redirected */

/* All ranks have come to the call, AR_SYNC_START or AR_SYNC_END, and whoever was early has waited. */
void ar_mpi_all_have_come(struct ar_mpi_call *call, enum ar_sync_kind kind);
