// SPDX-License-Identifier: BSD-3-Clause
/*
 * filter_rules: which functions are recorded, by the ordered rules of Score-P's filter files.
 *
 * The launcher reads the files (python/allranks/_filter_file.py); here a rule is a text: '-' or '+' for EXCLUDE or INCLUDE, 'r' or 'f'
 * for names of regions or of source files, and a glob. Of each kind the last rule that matches holds; without one a function is
 * recorded. It is hidden if either kind says so, and its time is its caller's. Names are those that Score-P's bindings for Python
 * give:
 *
 *     module:function   module.Class:function   user:region   MPI functions, which are never hidden
 *
 * Where code has no qualified name (before Python 3.11), a method is module:function. What has no source file, as functions
 * in C and regions, is not judged by files.
 *
 * A function is judged once, when it is called first.
 *
 * Threads: set before recording starts; then read under the GIL.
 */
#pragma once

#include "runtime/pyframe.h"

#include <stdbool.h>

/* false: it is no rule, or there is no memory. */
bool ar_filter_rules_add(const char *rule);

bool ar_filter_rules_hide_python(const char *name, const char *file, PyObject *globals);
bool ar_filter_rules_hide_region(const char *name);
/* `owner` is a module or a type; NULL: it is in front of the last dot of the name, or else "builtins". */
bool ar_filter_rules_hide_c(const char *owner, const char *name);
