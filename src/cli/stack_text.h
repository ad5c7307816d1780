// SPDX-License-Identifier: BSD-3-Clause
/*
 * stack_text: a stack in one line: "main > step > solve", "solver.py:88", "MPI_Allreduce".
 *
 * Regions and tasks are said to be such. The import system is one "(import)", and a function that
 * calls itself is there once, with how often. The script's own `<module>` goes without saying.
 *
 * "solver.py:88" is where the innermost Python function made the call that is open. Where that is
 * not known it is "solver.py:61+": the function begins there, and it is somewhere in it.
 *
 * Texts are in the arena of the caller; NULL: no memory.
 */
#pragma once

#include "analysis/stacks.h"

/* A function's name as it stands in a path. */
const char *ar_stack_name(const struct ar_profile *p, uint32_t function, struct ar_arena *arena);
/* The outer part is left out where it does not fit, marked by "..". */
const char *ar_stack_path(const struct ar_profile *p, const struct ar_frame *frames, size_t n,
                          size_t n_columns, struct ar_arena *arena);
/* Where a frame is, with what marks a line that is only the function's first; "": no place. */
const char *ar_stack_place(const struct ar_profile *p, struct ar_frame frame,
                           struct ar_arena *arena);
/* The place of the innermost Python function. */
const char *ar_stack_innermost(const struct ar_profile *p, const struct ar_frame *frames, size_t n,
                               struct ar_arena *arena);
/* The function of MPI or C that it is in, or ""; modules are left out where they do not fit. */
const char *ar_stack_leaf(const struct ar_profile *p, const struct ar_frame *frames, size_t n,
                          size_t n_columns, struct ar_arena *arena);
