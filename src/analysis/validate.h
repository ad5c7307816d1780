// SPDX-License-Identifier: BSD-3-Clause
/*
 * validate: does a live file hold together as livefile.h says? For tests that look at programs while
 * they run and after they were killed, and for `allranks info --check`.
 *
 * Whatever state a writer can be in is accepted, between any two of its stores; anything else is
 * refused, with the first thing that is wrong. Of all threads this is checked: the header, records,
 * slots and extents; every node has a parent that comes before it in the same tree, a function that
 * is recorded, and values that are there; current nodes are nodes of their threads; what a thread
 * waited for names calls, communicators and times that can be, one after the other.
 *
 * Which nodes are open, and that no call took longer than its caller, can only be said of threads that
 * were at rest while the file was copied. Those are found by a second copy, begun when the first was
 * complete: what is the same in both was so all the time in between.
 *
 *     struct ar_validated found;
 *     if (ar_validate_file(path, &found, &err) < 0) ...
 *
 * Threads: none of this is shared.
 */
#pragma once

#include "format/livefile.h"

struct ar_validated {
    size_t n_nodes;
    size_t n_threads, n_at_rest;
};

/*
 * `later` is NULL for a file that no process writes to: then all threads are at rest. `now_ticks` is the
 * time after the copy on the clock of the file, 0: not known. AR_BAD: it does not hold together, the
 * text says where.
 */
AR_MUST_CHECK enum ar_status ar_validate(const struct ar_live *live, const struct ar_live *later,
                                         uint64_t now_ticks, struct ar_validated *found,
                                         struct ar_error *err);
/* Copies a file twice and checks it, with the time of this machine if it was written here. */
AR_MUST_CHECK enum ar_status ar_validate_file(const char *path, struct ar_validated *found,
                                              struct ar_error *err);
