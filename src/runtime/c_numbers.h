// SPDX-License-Identifier: BSD-3-Clause
/*
 * c_numbers: the number and the name of a function that is written in C.
 *
 * Names are those that cProfile gives, `built-in method builtins.len` and `method 'append' of
 * 'list' objects`, so that statistics can be compared line by line. A function is known by its
 * method definition, which outlives the objects that stand for it.
 *
 * Threads: under the GIL. A pending exception is kept.
 */
#pragma once

#include "runtime/pyframe.h"

#include <stdint.h>

/*
 * 0: not a function in C, or it could not be recorded. `all_kinds` includes what cProfile does not
 * see: static types, ufuncs.
 */
uint32_t ar_c_number(PyObject *callable, bool all_kinds);

/*
 * The program sets a profile function of its own. That would get an event for the call of
 * sys.setprofile itself, if we looked at it: so no function in C is looked at any more, unless all
 * are wanted.
 */
extern bool ar_c_looking_is_off;
void ar_c_looking_stop(void);
/* How an engine stops looking at once, in the function that is being entered; or NULL. */
extern void (*ar_c_looking_on_stop)(void);
