// SPDX-License-Identifier: BSD-3-Clause
/*
 * monitoring_calls: functions in C, from sys.monitoring's CALL events (3.12 and later).
 *
 * A CALL event comes from every call, of Python functions too, and costs as much as a small C
 * function takes. Unless all calls are wanted, a place that has proved cheap is switched off; from
 * time to time all places are switched on again for a window (watch.h). A place whose calls are long
 * is never switched off, and is exact.
 *
 * Threads: under the GIL; one watch for all threads, since places are switched for all.
 */
#pragma once

#include "runtime/engine.h"
#include "runtime/pyframe.h"

void ar_calls_start(PyObject *monitoring, int tool_id, enum ar_builtins builtins);
/* Opens or closes a window if it is time; returns when to ask again. */
uint64_t ar_calls_turn(uint64_t now);
/* false: this place is not to be seen any more. */
bool ar_calls_enter(PyCodeObject *code, PyObject *offset, PyObject *callable);
void ar_calls_leave(PyCodeObject *code, PyObject *offset, PyObject *callable);
