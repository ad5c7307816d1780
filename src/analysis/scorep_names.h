// SPDX-License-Identifier: BSD-3-Clause
/*
 * scorep_names: functions as Score-P's Python bindings name them, in traces and profiles for its tools.
 *
 *     heat:relax                  a Python function: its module and its name
 *     heat.Grid:relax             a method; the class that is nearest to it
 *     heat:inner                  a function in a function: what is around it is not named
 *     user:assemble(level=2)      a region that the program named, with its parameters
 *     __main__:solve, name        regions "__main__:solve" and ":name", as they are: a region that has a colon in front of its
 *                                 parameters brings its own prefix, and one that begins with a colon wants none
 *     numpy:dot, list:append      C functions of modules and of types; numpy:add also of a ufunc
 *     MPI_Allreduce               MPI functions
 *     mpi4py.MPI.Comm:bcast       methods of mpi4py
 *     thread:Thread-1             and import:, task:, process: and unassigned:
 *
 * A function whose module was not recorded is named after its file.
 *
 *     char room[AR_NAME_BYTES];
 *     puts(ar_scorep_name(&profile, function, room));
 */
#pragma once

#include "analysis/names.h"

/* In `room`, of AR_NAME_BYTES, or as the profile has it. Never empty. What is longer is cut between characters. */
const char *ar_scorep_name(const struct ar_profile *p, uint32_t function, char *room);
