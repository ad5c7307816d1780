// SPDX-License-Identifier: BSD-3-Clause
/*
 * kinds: the numbers by which live files, run files and profiles say what something is. They are written to files: a number is
 * never given to something else, and new ones come at the end.
 */
#pragma once

#include <stdint.h>

/* Of a process. */
#define AR_RANK_NONE UINT32_MAX

enum ar_function_kind {
    AR_FUNCTION_PYTHON = 1,
    AR_FUNCTION_MPI = 2,
    AR_FUNCTION_THREAD = 3, /* the root of a thread's tree */
    AR_FUNCTION_BUILTIN = 4,
    AR_FUNCTION_REGION = 5,
    AR_FUNCTION_IMPORT = 6,     /* never recorded: made by analysis/fold.c */
    AR_FUNCTION_TASK = 7,       /* an asyncio task, or all of that name */
    AR_FUNCTION_OURS = 8,       /* measures the profiler itself: readers leave it out */
    AR_FUNCTION_PROCESS = 9,    /* never recorded: readers make it, for child processes */
    AR_FUNCTION_OPERATION = 10, /* a method of mpi4py: what MPI calls it makes are one operation */
    /* Measured time of the functions in C that its name lists, or of their caller: not known which. */
    AR_FUNCTION_UNASSIGNED = 11,
};

/* What keeps ranks waiting: see struct ar_sync in livefile.h. */
enum ar_sync_kind {
    AR_SYNC_NONE = 0,
    AR_SYNC_BARRIER = 1,
    AR_SYNC_ALL = 2, /* everybody waits for everybody */
    AR_SYNC_FROM_ROOT = 3,
    AR_SYNC_TO_ROOT = 4,
    AR_SYNC_SCAN = 5,
    AR_SYNC_SEND = 6,
    AR_SYNC_RECEIVE = 7,
    AR_SYNC_PROBE = 8, /* waits for a message that a later call receives */
    AR_SYNC_TAKEN =
        9, /* waits for one that it has posted to be taken; only where that took a while */
    AR_SYNC_START = 10,   /* MPI_Init: on the world, but none of its collective calls */
    AR_SYNC_END = 11,     /* MPI_Finalize, in the same way */
    AR_SYNC_POST = 12,    /* waits for no rank: from here on others may go on because of it */
    AR_SYNC_UNKNOWN = 13, /* waits, for others that are not known */
    AR_N_SYNC_KINDS
};

#define AR_SYNC_NONBLOCKING 1u /* it was posted, and waited for later */
#define AR_SYNC_HOLDS_UP                                                                           \
    2u /* not of the main thread: which is blocked as well, and may be for this */
#define AR_SYNC_MAY_PASS 4u /* MPI lets ranks go on before all have come; most libraries do not */

/* Of `n_requests` any one will do, and not all are waited for. */
#define AR_CALL_ANY_REQUEST 1u

/* What is no rank, where one could be. */
#define AR_PEER_ALL UINT32_MAX           /* a collective call that has no root */
#define AR_PEER_OTHERS (UINT32_MAX - 1)  /* of several: there was no room to tell them apart */
#define AR_PEER_NULL (UINT32_MAX - 2)    /* MPI_PROC_NULL: nothing moves */
#define AR_PEER_UNKNOWN (UINT32_MAX - 3) /* of a receive that is open: MPI_ANY_SOURCE */

/* Where a communicator comes from; windows and files are kept among them. */
enum ar_comm_origin {
    AR_COMM_UNKNOWN = 0, /* its making was not seen */
    AR_COMM_WORLD = 1,
    AR_COMM_SELF = 2,
    AR_COMM_DUP = 3,
    AR_COMM_SPLIT = 4,
    AR_COMM_CREATE = 5, /* of a group, by all of the parent */
    AR_COMM_GROUP = 6,  /* of a group, by its members alone; also from a session */
    AR_COMM_TOPOLOGY = 7,
    AR_COMM_INTER = 8, /* of two groups of this run */
    AR_COMM_MERGE = 9, /* of the two groups of an intercommunicator */
    AR_COMM_SPAWN = 10,
    AR_COMM_CONNECT = 11, /* connect, accept, join: with another run */
    AR_COMM_PARENT = 12,  /* to those who started this run */
    AR_COMM_WINDOW = 13,
    AR_COMM_FILE = 14,
    AR_N_COMM_ORIGINS
};

/* What was not recorded, and why. Each is shown by `allranks info`. */
enum ar_live_loss {
    AR_LOST_NODES,     /* calls whose node found no room: their time is their caller's */
    AR_LOST_FUNCTIONS, /* functions that could not be recorded: their time is their caller's */
    AR_LOST_THREADS,   /* threads that could not be recorded at all */
    AR_LOST_FRAMES,    /* returns that had to be inferred */
    AR_LOST_REGIONS,   /* ends of regions that were not open */
    AR_LOST_PROCESSES, /* children that could not be recorded */
    AR_LOST_TRAFFIC,   /* messages that are not told apart by peer, size and communicator */
    AR_LOST_REQUESTS,  /* requests that could not be followed to their end */
    AR_LOST_SYNCS,     /* synchronising calls whose record found no room: who waited is not known */
    AR_LOST_COMMS,     /* communicators that are not told apart from others */
    AR_LOST_ROWS,      /* blocks and rows of other measurements: no room, or no such node */
    AR_LOST_TRACE,     /* threads whose trace ended before they did: its limit was reached */
    AR_N_LIVE_LOSSES = 12, /* that a live file has room for */
    /* Of a run file: */
    AR_LOST_METRICS = AR_N_LIVE_LOSSES, /* beyond AR_MAX_METRICS */
    AR_LOST_TABLES,                     /* beyond AR_MAX_TABLES */
    AR_LOST_SECTIONS, /* of a kind that is not known, whose numbers could not be replaced */
    AR_N_LOSSES
};

/* What the recording adds to a program, by reason. */
enum ar_overhead {
    AR_OVERHEAD_START,   /* until the first line of the program runs */
    AR_OVERHEAD_IMPORTS, /* looking at modules that the program has loaded */
    AR_OVERHEAD_PATHS,   /* call paths that are new or were not expected, and new functions */
    AR_OVERHEAD_PYTHON,  /* calls of Python functions */
    AR_OVERHEAD_C,       /* calls of C functions */
    AR_OVERHEAD_MPI,     /* MPI calls */
    AR_OVERHEAD_END,     /* reading and writing what was recorded */
    AR_N_OVERHEADS
};

/*
 * This process's clock beside that of rank 0: both are CLOCK_MONOTONIC, which is the same clock on one
 * host.
 */
struct ar_clock_link {
    uint64_t at_ns;    /* by this process's; 0: not measured */
    int64_t offset_ns; /* what is to be added to it */
    uint64_t error_ns; /* and how far off that may be */
};

/* Facts of a trace that is not whole, and the text of one of them. */
#define AR_FACT_TRACE_FULL "trace full"
#define AR_FACT_TRACE_SHORT "trace short"
#define AR_TRACE_IS_SHORT "less than --trace-last fits into --trace-limit"

enum ar_clock_instant { AR_CLOCK_AT_INIT, AR_CLOCK_AT_FINALIZE, AR_N_CLOCK_INSTANTS };
