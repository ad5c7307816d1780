// SPDX-License-Identifier: BSD-3-Clause
/*
 * line_events: the interpreter's events of lines inside a few frames, CPython 3.9 to 3.11.
 *
 * There they come from the trace function of the thread, which makes all that runs slower. So it is set only while a frame of a chosen function
 * runs, and is taken out for what that calls. It is set in the thread's state itself: sys.settrace would be seen by audit hooks, and this is not by
 * sys.gettrace.
 *
 * Where the program or another tool traces, it keeps its trace function, and lines are not counted meanwhile; this is said once.
 *
 * Threads: under the GIL, in the thread itself.
 */
#pragma once

#include "runtime/pyframe.h"

#include <stdbool.h>

/* false: another tool traces this thread. */
bool ar_line_events_on(PyThreadState *ts);
/* Whether they were on. A trace function that is not ours stays. */
bool ar_line_events_off(PyThreadState *ts);
/* Whether it is the function by which they come. */
bool ar_line_events_come_by(Py_tracefunc function);
/* For ar_lines_serve: code needs no preparation. */
void ar_line_events_listen(PyCodeObject *code);
