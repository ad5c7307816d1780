// SPDX-License-Identifier: BSD-3-Clause
/*
 * trace_class: what kind of work a thread does in a node of its tree, for pictures of a trace.
 *
 * Every instant of a thread belongs to one class: that of the innermost node that it is in, or AR_CLASS_NONE where nothing was
 * recorded. The class of each node is written into the trace (trace.h) when a live file is read, so that sums of classes which are
 * kept there and classes of single events always agree. So numbers are never given to something else, and new ones come at the end.
 *
 *     class = ar_trace_class_of(profile, node, class_of_its_parent);
 *     puts(ar_trace_class_label(class));             // "MPI collective"
 */
#pragma once

#include "format/profile.h"

enum ar_trace_class {
    AR_CLASS_NONE = 0,  /* not recorded: the trace was off, or not there, or recording was paused */
    AR_CLASS_OTHER = 1, /* in no function that is known: before, between and after them */
    AR_CLASS_PYTHON = 2, /* Python functions, and tasks of asyncio */
    AR_CLASS_C = 3,      /* C functions */
    AR_CLASS_REGION = 4, /* directly in a region that the program named */
    AR_CLASS_IMPORT = 5, /* the import system, and modules of libraries while they are loaded */
    AR_CLASS_IO = 6,     /* C functions that read or write files, and MPI-IO */
    AR_CLASS_SLEEP = 7,  /* C functions that wait for time, threads, processes or sockets */
    AR_CLASS_MPI4PY = 8, /* methods of mpi4py outside MPI: pickling */
    AR_CLASS_MPI = 9,    /* all of MPI that is not below */
    AR_CLASS_P2P = 10,   /* blocking messages, and posting of others */
    AR_CLASS_COLLECTIVE = 11,
    AR_CLASS_WAIT = 12, /* waiting and testing for requests and messages */
    AR_N_TRACE_CLASSES
};

/* `above` is that of the node's parent; AR_CLASS_NONE: it is a root. */
enum ar_trace_class ar_trace_class_of(const struct ar_profile *p, uint32_t node,
                                      enum ar_trace_class above);
/* "mpi_collective", for programs. */
const char *ar_trace_class_key(enum ar_trace_class class);
/* "MPI collective", for people. */
const char *ar_trace_class_label(enum ar_trace_class class);
/* By the name of a C function as cProfile has it: it reads or writes files. Memory that looks like a file is none. */
bool ar_is_file_function(const char *name);
