// SPDX-License-Identifier: BSD-3-Clause
/*
 * timer_result: a number of 64 bits from what a timer written in Python returns.
 *
 * A timer that has a unit returns integers, which are taken as they are. One without returns
 * seconds, float or int, which become nanoseconds.
 */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

/* unit_s > 0: it has a unit. Returns false with TypeError, ValueError or OverflowError set. */
bool ar_timer_result(PyObject *result, double unit_s, int64_t *out);
