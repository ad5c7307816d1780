// SPDX-License-Identifier: BSD-3-Clause
/*
 * match: what the user names on the command line, and whether something is it.
 *
 *     "solver.py:88"   a line: of a call that is made there, or of a function that begins there
 *     "Solver.step"    a name, whole or its end from a dot on: "step"
 *     "*step*"         a pattern for all of it
 *
 * The same as allranks.load takes. Where files can be chosen, too, "solver.py" is one, or the end of a path from a
 * slash on, and a pattern holds for its path or its name.
 */
#pragma once

#include "format/profile.h"

struct ar_wanted {
    const char *text; /* NULL: nothing was named, and everything fits */
    const char *file; /* within it; NULL: it is no place */
    int n_file;
    uint32_t line;
};

struct ar_wanted ar_wanted_parse(const char *text);
bool ar_wanted_name(const struct ar_wanted *wanted, const char *name);
/* `file` may have directories before what was named. */
bool ar_wanted_place(const struct ar_wanted *wanted, const char *file, uint32_t line);
bool ar_wanted_file(const struct ar_wanted *wanted, const char *file);
/* Of a region, with its parameters or without: "assemble" is also "assemble(level=2)". */
bool ar_wanted_region(const struct ar_wanted *wanted, const struct ar_profile *p,
                      uint32_t function);
/*
 * By any of its names: "MPI_Send", "Send", "list.append" …; by the line where it begins, or, of MPI and
 * mpi4py, is called.
 */
bool ar_wanted_function(const struct ar_wanted *wanted, const struct ar_profile *p,
                        uint32_t function);
bool ar_wanted_node(const struct ar_wanted *wanted, const struct ar_profile *p, uint32_t node);
