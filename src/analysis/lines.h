// SPDX-License-Identifier: BSD-3-Clause
/*
 * lines: what each line of Python functions took, over all ranks.
 *
 * Three measurements become rows of one function and one line, or a range of lines:
 *
 *     calls       each call has the line that makes it: its time is that line's
 *     stretches   between two events of a function: of one line, or of a range of lines (runtime/stretches.h); sampled
 *     lines       counted lines of chosen functions (runtime/chosen_lines.h): hits and time, exact
 *
 * Of a function whose lines were counted, stretches are left out, and its own time on a line is the line's less that of the calls there.
 * Calls in regions belong to the function around the region. In recursion each time counts once, in the innermost call.
 *
 * `here` is what a line takes itself, with functions in C and MPI, and without the Python functions that it calls: of that a hot line has most.
 *
 * Life cycle: built from a profile that is in order and its totals; ar_lines_free. Threads: read-only once built.
 * Cost: linear in nodes and values of what is wanted, plus rows times ranks.
 *
 *     struct ar_lines lines;
 *     if (ar_lines_build(&lines, &profile, &totals, NULL) < 0) ...
 *     lines.rows[i].here.mean …
 *     ar_lines_free(&lines);
 */
#pragma once

#include "analysis/totals.h"

struct ar_line {
    uint32_t function;
    uint32_t first,
        last;        /* the same: one line. 0: from where the function begins; to where it ends */
    bool is_counted; /* `hits` are known */
    bool
        is_guessed; /* recursive calls, whose lines are not recorded, are taken for calls on this line */
    uint64_t hits;         /* of all ranks */
    uint64_t n_calls;      /* made on that line, of all ranks */
    struct ar_spread time; /* with all that it calls, but the function itself */
    struct ar_spread here; /* without Python functions that it calls */
    struct ar_spread own;  /* without anything that it calls */
    struct ar_spread c;    /* in C functions that it calls, with what these call */
    struct ar_spread mpi;  /* in MPI calls, wherever below: part of the others */
};

struct ar_lines {
    struct ar_line *rows; /* by function, then line; a range comes behind its first line */
    size_t n;
    uint32_t *hottest;               /* their numbers, those with most `here` first */
    bool has_counted, has_stretches; /* in the run */
};

/* Of functions of which `only` says so, by function; NULL: of all. */
AR_MUST_CHECK enum ar_status ar_lines_build(struct ar_lines *out, const struct ar_profile *p,
                                            const struct ar_totals *t, const bool *only);
void ar_lines_free(struct ar_lines *lines);
static inline bool ar_line_is_range(const struct ar_line *line)
{
    return line->first != line->last;
}
