// SPDX-License-Identifier: BSD-3-Clause
/*
 * filters: which functions are recorded, by the user's choice.
 *
 * A pattern is a glob over the module (or a package that it is in), the file (whole, or its last
 * part), the qualified name (with and without the module), and the last part of the file with the name: "solver.py:*". A function is recorded if it matches
 * no exclude, and, where there are includes, one of them. What is not recorded is its caller's.
 *
 * Threads: set before recording starts; then read under the GIL.
 */
#pragma once

#include "runtime/pyframe.h"

#include <stdbool.h>

/* What becomes of functions that match. */
enum ar_filter_kind {
    AR_FILTER_INCLUDE,
    AR_FILTER_EXCLUDE,
    AR_FILTER_COUNT,
    AR_FILTER_TRACE,
    AR_FILTER_LINES,
    AR_N_FILTERS
};

/* false: no memory. */
bool ar_filters_add(enum ar_filter_kind kind, const char *glob);
void ar_filters_set_imports(bool hide);

bool ar_filters_hide(const char *name, const char *file, PyObject *globals);
bool ar_filters_hide_imports(void);
/* Are counters to be read around its calls? */
bool ar_filters_count(const char *name, const char *file, PyObject *globals);
/* Are its lines to be counted? */
bool ar_filters_line(const char *name, const char *file, PyObject *globals);
/* Is a trace to be on while it runs? Of a region `file` is "" and there are no globals. */
bool ar_filters_trace(const char *name, const char *file, PyObject *globals);
