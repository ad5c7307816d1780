// SPDX-License-Identifier: BSD-3-Clause
/*
 * line_functions: the lines of one function, by the program's wish.
 *
 *     @allranks.lines
 *     def solve(): ...
 *
 * The function itself is returned, and its code is not changed. When nothing is recorded, that is all.
 */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

/* false: an exception is set. */
bool ar_line_functions_register(PyObject *module);
