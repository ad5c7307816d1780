// SPDX-License-Identifier: BSD-3-Clause
/*
 * quiet: a function that goes on calling functions in C which are not looked at any more, and does
 * nothing else that is seen.
 *
 *     for x in data: total.append(x)        a loop like this, in a script, for minutes
 *
 * Until they were given up, it was seen what share of its time each of them took. At the next event
 * of the thread it is known how long it has gone on, and each is given its share of that, as an
 * estimate.
 *
 * Threads: the thread's own.
 */
#pragma once

#include "runtime/tree.h"

/* A call of `node`, a function in C, is over. */
void ar_quiet_note(struct ar_thread *t, struct ar_node *node, uint64_t entered, uint64_t now);
/* Calls by the current function are not looked at from now on. */
void ar_quiet_begin(struct ar_thread *t, uint64_t now);
/* Something has happened. */
void ar_quiet_end(struct ar_thread *t, uint64_t now);
