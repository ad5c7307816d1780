// SPDX-License-Identifier: BSD-3-Clause
/*
 * profile_object: allranks._runtime.Profiler, the type below allranks.Profile.
 *
 * It has the interface of the type below cProfile.Profile, and where that is defined by what it
 * does, it does the same: names of C functions, the order of calls to a timer, errors. Hooks are
 * PyEval_SetProfile up to 3.11 and sys.monitoring from 3.12 on. Only the thread that called enable()
 * is recorded, on every version: functions of several threads on one stack give wrong times.
 *
 * Timers, names of C functions and the ends of objects run Python code, which may call back. So a
 * profiler that is inside its timer cannot be enabled, disabled or cleared; tables are set aside
 * before their objects are let go of; and results are copied before Python objects are made of them.
 *
 * Threads: under the GIL.
 */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

/* Returns false with a Python exception set. */
bool ar_profile_object_register(PyObject *module);
