// SPDX-License-Identifier: BSD-3-Clause
/*
 * trace_functions: traces as the program sees them.
 *
 *     allranks.trace_on(); allranks.trace_off()
 *     allranks.parameter("level", 3)
 *
 * Threads: under the GIL.
 */
#pragma once

#include "runtime/pyframe.h"

#include <stdbool.h>

/* Returns false with an exception set. */
bool ar_trace_functions_register(PyObject *module);
