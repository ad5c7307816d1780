// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_hook: puts our wrappers into the import slots of everything that calls MPI.
 *
 * Objects are looked at when recording starts and whenever Python has loaded another one and wants
 * something of it: of an extension module it asks dlsym for the PyInit_ function, which is after
 * loading and before MPI_Init. dlsym is redirected for Python and for the foreign function
 * interfaces (ctypes, cffi), which also get their wrappers there; dlopen is not, since it would then
 * search with our RUNPATH instead of its caller's. What a library in C loads by itself is so found
 * at the next import.
 *
 * Threads: any; there is a lock.
 */
#pragma once

#include "runtime/forking.h"
#include "runtime/mpi_call.h"

/* The function of ours that replaces `name` where Python calls it; NULL: there is none. */
typedef void *ar_wrapper_fn(const char *name);

/* Once. `for_python` names functions of the C library that are redirected for Python, besides dlsym. */
void ar_mpi_hook_start(const struct ar_mpi_events *events, ar_wrapper_fn *for_python);
void ar_mpi_hook_forking(enum ar_fork_step step);
