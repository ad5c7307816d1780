// SPDX-License-Identifier: BSD-3-Clause
/*
 * filters: which functions are recorded, by the user's choice.
 *
 * A pattern is a glob over the module (or a package that it is in), the file (whole, or its last
 * part), and the qualified name (with and without the module). A function is recorded if it matches
 * no exclude, and, where there are includes, one of them. What is not recorded is its caller's.
 *
 * Threads: set before recording starts; then read under the GIL.
 */
#pragma once

#include "runtime/pyframe.h"

#include <stdbool.h>

/* false: too many, or no memory. */
bool ar_filters_add(bool include, const char *glob);
void ar_filters_set_imports(bool hide);

bool ar_filters_hide(const char *name, const char *file, PyObject *globals);
bool ar_filters_hide_imports(void);
