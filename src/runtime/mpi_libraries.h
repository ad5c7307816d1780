// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi_libraries: whose functions our wrappers stand for.
 *
 * A process can hold several libraries that define MPI's functions: the MPI that mpi4py uses, a copy
 * of it, the sequential stub inside a solver, a tool that stands between a caller and MPI. A wrapper
 * passes each call on to one of them, so it may replace only what belongs to that one. Known here are
 *
 *   - one library per ABI, recognised by what it says of itself, and
 *   - tools in front of such a library: objects that define functions of MPI and pass them on. A call
 *     of a tool is recorded as a call of MPI, and still goes through the tool.
 *
 * Each is held open, so that no address of a wrapper's can dangle. All others are strangers: they are
 * left alone, are not held, and `info` names them.
 *
 * Threads: under the caller's lock, unless it says otherwise.
 */
#pragma once

#include "runtime/elf_slots.h"
#include "runtime/mpi_abi.h"

/* What an object defines or imports, as far as MPI is concerned. */
struct ar_mpi_traits {
    bool defines_mpi;  /* it has a PMPI_Init of its own */
    bool imports_mpi;  /* MPI_ */
    bool imports_pmpi; /* PMPI_ */
    bool imports_fortran;
    bool imports_dlsym;
};
/* In a walk or of an object that is held; no lock is needed. */
struct ar_mpi_traits ar_mpi_traits_of(const struct ar_object *object);

struct ar_mpi_finding {
    struct ar_mpi_abi *abi; /* NULL: not recognised */
    char version[240];
};
/* Calls the library, so it must be held; and no lock may be. */
void ar_mpi_library_recognise(const struct ar_object *object, struct ar_mpi_finding *out);

/* Is it new, and neither a library nor a stranger? */
bool ar_mpi_library_is_unknown(const struct ar_object *object);
/* These take the handle over if they return true. */
bool ar_mpi_library_add(const struct ar_object *object, void *handle,
                        const struct ar_mpi_finding *finding);
bool ar_mpi_tool_add(const struct ar_object *object, void *handle, bool was_preloaded);

struct ar_mpi_provider {
    struct ar_object object;
    struct ar_mpi_abi *abi;
    bool is_tool;
    bool has_fortran; /* by itself, without a layer whose calls could be seen */
};
/* The library or tool that the function lies in; NULL: a stranger's, or ours. */
const struct ar_mpi_provider *ar_mpi_provider_of(const void *function);
bool ar_mpi_is_provider(const struct ar_object *object);
size_t ar_mpi_n_libraries(void);
/* Does one of them define Fortran's functions itself? */
bool ar_mpi_hides_fortran(void);
