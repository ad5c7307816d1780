// SPDX-License-Identifier: BSD-3-Clause
/*
 * profile_results: what a profiler's getstats() returns.
 *
 * A list with one tuple for each function, whose items have the names that cProfile's have. All
 * numbers are copied first: making Python objects may run Python code, and so change the pairs.
 */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "runtime/pairs.h"

/* Objects of entries are Python objects, times are in units of so many seconds. */
PyObject *ar_profile_results(struct ar_pairs *pairs, double unit_s);
