// SPDX-License-Identifier: BSD-3-Clause
/*
 * counting_object: counters for programs, with a recording and without: what allranks.compat.pyperfdump is made of.
 *
 *     counting = _runtime.Counting()
 *     counting.add("perf::PAGE-FAULTS")     or PAPI's number; LookupError: there is no such event; ValueError: it cannot be counted here
 *     counting.start("assemble")            RuntimeError: no more of it can be counted, and why
 *     ...
 *     values, runtime_ns, is_estimate = counting.stop()
 *     counting.close()                      descriptors are gone
 *
 * In a recording stop() adds the values to the innermost open node of the region that start() names, as inclusive metrics by the
 * events' names. Where `--counters` names the same, the recording counts that metric itself, and nothing is added.
 *
 * Threads: under the GIL. What start() began is stopped by the same thread. A forked child begins anew.
 */
#pragma once

#include "runtime/pyframe.h"

#include <stdbool.h>

/* Adds Counting. Returns false with an exception set. */
bool ar_counting_object_register(PyObject *module);
