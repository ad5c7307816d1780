// SPDX-License-Identifier: BSD-3-Clause
/*
 * mpi4py_methods: a call of a method of mpi4py, as one operation of the tree.
 *
 * `comm.allreduce(object)` is a chain of sends on a communicator that the program has not made, or three other
 * calls: what the user wrote is one operation, at one line. So each method of mpi4py's types has a
 * node of its own, named `Comm.allreduce`, and the MPI calls that it makes are below it:
 *
 *     solve                               Comm.Send      opened by its first MPI call, at that call's
 *       Comm.Send          solver.py:88     MPI_Send     time, and closed at the end of its last
 *       Comm.bcast         solver.py:91   Comm.bcast     timed from beginning to end
 *         built-in method _pickle.dumps                  its pickling and unpickling as well
 *         MPI_Bcast
 *         MPI_Bcast
 *
 * How they are seen: by a stub each (c_stubs.h), made at the end of the module's own initialisation, and so
 * are pickle.dumps and pickle.loads, the very functions that mpi4py calls. What the program has
 * set with MPI.pickle.__init__ is a Python function, as a rule, and seen as one, below the method:
 * analysis/picklers.h tells it from others.
 *
 * Life cycle: stays until the process ends. Threads: methods are called under the GIL, and write to
 * their own thread's tree; MPI calls are made without it.
 */
#pragma once

#include "runtime/pyframe.h"
#include "runtime/sources.h"
#include "runtime/tree.h"

extern const struct ar_source ar_source_mpi4py; /* starts before ar_source_c */

/* Is that file mpi4py's module? */
bool ar_is_mpi4py(const char *path);

/* Opens the operation's node. */
void ar_operation_open(struct ar_thread *t, uint64_t place, uint64_t now);

/* An MPI call begins, `key` is that of its node: if it is the first of an operation, that begins. */
static inline void ar_operation_opens(struct ar_thread *t, uint64_t key, uint64_t now)
{
    if (t->operation.waits_at == t->current)
        ar_operation_open(t, key & ~(uint64_t)UINT32_MAX, now);
}

/*
 * Is this call, or the one that has just been left, part of a method that gives its caller no
 * communicator? Then one that it makes is mpi4py's own.
 */
bool ar_operation_makes_its_own(const struct ar_thread *t);
