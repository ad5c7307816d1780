// SPDX-License-Identifier: BSD-3-Clause
/*
 * place: the line of the program that made a call, as its author would point at it.
 *
 * What MPI does within a method of mpi4py has no line of its own: it is the method's, and so it is within other
 * functions in C where no line is known. What is called
 * from the inside of the import system is called by the line that imports.
 */
#pragma once

#include "format/profile.h"

struct ar_place {
    uint32_t function; /* the Python function that the line is in; AR_NO_ID: none */
    uint32_t line;     /* 0: not known */
};

struct ar_place ar_place_of_call(const struct ar_profile *p, uint32_t node);
/* The method of mpi4py that a call is made in, or the call itself. */
uint32_t ar_operation_of(const struct ar_profile *p, uint32_t node);
/*
 * The line of a node, for callers that take nodes above it away: below a function in C it may have none of its own, and then
 * it is the line where C was called. Methods of mpi4py stay above what they call.
 */
uint32_t ar_line_of_node(const struct ar_profile *p, uint32_t node);
/* "…/solver.py" of a place, or "". */
const char *ar_place_file(const struct ar_profile *p, struct ar_place place);
