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

void ar_mpi_hook_start(void);
void ar_mpi_hook_forking(enum ar_fork_step step);
