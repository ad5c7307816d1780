// SPDX-License-Identifier: BSD-3-Clause
/*
 * line_counter: allranks._runtime.LineCounter, what the class LineProfiler of compat/line_profiler counts with.
 *
 *     counter = LineCounter()
 *     counter.add(function.__code__)
 *     counter.enable()                  this thread, from now on
 *     counter.disable()
 *     counter.results()                 [(code object, [(line, hits, ns), …]), …]
 *
 * It works with a recording and without. Code objects are not changed. From 3.12 on events are local ones of these code objects, under a tool
 * id of its own; besides, exceptions that leave a function are looked at, since sys.monitoring tells of those in all code only. Before 3.12 events
 * come from the trace function of the thread, as long as it has a counter that is enabled. A trace function that the program has set is called by ours,
 * and sys.gettrace still answers with it. If the program sets one meanwhile, it takes the place of ours, and counting in this thread ends.
 *
 * Threads: under the GIL. A counter may be enabled in several threads; its counts are their sum.
 */
#pragma once

#include "runtime/pyframe.h"

#include <stdbool.h>

/* false: an exception is set. */
bool ar_line_counter_register(PyObject *module);
