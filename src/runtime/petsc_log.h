// SPDX-License-Identifier: BSD-3-Clause
/*
 * petsc_log: stages and events of PETSc's log, as annotations.
 *
 * PETSc is found when petsc4py has been loaded (followed.h). In the slots of those that call it, the functions that begin and end PETSc, that
 * switch its logging on, and that push and pop stages are replaced by ours, which call them. Events cannot be seen so: they are
 * a macro of PETSc's header, which looks for functions to call in variables of the library. There we put ours
 *
 *     until 3.19     in PetscLogPLB and PetscLogPLE, in front of those that are there: ours call them
 *     since 3.20     in the last of four slots for log handlers, which PETSc itself takes last. It has no handler there, so that
 *                    PetscLogIsActive, stages and the end of PETSc pass it by
 *
 * and only while the program has logging on: events are recorded if and when it is. Logging is switched on by us only where
 * the options say so. The stage that PETSc begins with, Main Stage, is the whole program, and no region.
 *
 * Work is what PETSc's own table has: floating-point operations, messages sent and received and their lengths, reductions.
 *
 * Threads: that which runs PETSc. Failure: PETSc is left alone, and `info` says why.
 */
#pragma once

#include "runtime/followed.h"
#include "runtime/sources.h"

extern const struct ar_source ar_source_petsc; /* starts before ar_source_mpi */
extern const struct ar_followed ar_petsc_followed;
