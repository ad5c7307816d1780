// SPDX-License-Identifier: BSD-3-Clause
/*
 * c_calls: a call of a function in C, as a node of the tree.
 *
 * A call that stands for others that went unseen has their number as its weight. What was seen is
 * in the node itself; what is to be added for the unseen is in values of its own, and marks the node
 * as an estimate.
 *
 * Threads: the thread's own tree, under the GIL.
 */
#pragma once

#include "runtime/pyframe.h"
#include "runtime/tree.h"

/*
 * Is `number` open already, and nothing else in C inside it? A call that is looked at takes a level
 * of recursion more than one that the interpreter has specialised; where a program recurses through
 * a function in C, that would be felt.
 */
bool ar_c_call_recurses(const struct ar_thread *t, uint32_t number);
/* For what a call counts. */
struct ar_weight {
    uint32_t n;         /* calls, this one included */
    uint64_t gap_ticks; /* in which the others were made; 0: not known */
};

/* `caller` is the Python frame that calls. */
void ar_c_call_enter(struct ar_thread *t, uint32_t number, ar_frame *caller,
                     struct ar_weight weight);
/* false: it is not the innermost open function, so its call was not recorded. */
bool ar_c_call_leave(struct ar_thread *t, uint32_t number, uint64_t now);
