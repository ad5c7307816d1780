// SPDX-License-Identifier: BSD-3-Clause
/*
 * regions: what the program itself names, and when it wants not to be recorded.
 *
 *     with allranks.region("assemble", level=2): ...     a node of the tree while the block runs
 *     @allranks.region("assemble")                       a node around every call of the function
 *     with allranks.paused(): ...
 *
 * A decorated function is returned as it is: its code is known to be the region (functions.h), so
 * that generators and coroutines need nothing special, and without a recording nothing is done at
 * all.
 *
 * Threads: under the GIL.
 */
#pragma once

#include "runtime/pyframe.h"
#include "runtime/sources.h"

#include <stdbool.h>

extern const struct ar_source ar_source_regions; /* they begin when the program names one */

/* Adds region, paused, pause, resume and is_recording. Returns false with an exception set. */
bool ar_regions_register(PyObject *module);

/* The number of the region with that name, a str; 0: it cannot be recorded. */
uint32_t ar_region_number(PyObject *name);
