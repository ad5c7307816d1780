// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/line_events.h"

#include "runtime/chosen_lines.h"
#include "runtime/functions.h"
#include "runtime/livemap.h"

static int on_event(PyObject *unused, PyFrameObject *frame, int what, PyObject *argument)
{
    (void)unused, (void)argument;
#if PY_VERSION_HEX >= 0x030B0000
    PyCodeObject *code = frame->f_frame->f_code;
#else
    PyCodeObject *code = frame->f_code;
#endif

    if (what == PyTrace_LINE && ar_self)
        ar_lines_come_to(ar_self, code, (uint32_t)frame->f_lineno);
    return 0;
}

static void note_other_tool(void)
{
    static bool is_noted;

    if (!is_noted)
        ar_livemap_fact("lines",
                        "not counted while another tool or the program traces (sys.settrace)");
    is_noted = true;
}

static void set_trace(PyThreadState *ts, Py_tracefunc function)
{
#if PY_VERSION_HEX < 0x030A0000
    /* How many threads have one: where none has, the interpreter does not look. */
    ts->interp->ceval.tracing_possible += (function != NULL) - (ts->c_tracefunc != NULL);
#endif
    ts->c_tracefunc = function;
    ar_tracing_update(ts);
}

bool ar_line_events_on(PyThreadState *ts)
{
    if (ts->c_tracefunc) {
        note_other_tool();
        return false;
    }
    set_trace(ts, on_event);
    return true;
}

bool ar_line_events_off(PyThreadState *ts)
{
    if (ts->c_tracefunc != on_event)
        return false;
    set_trace(ts, NULL);
    return true;
}

bool ar_line_events_come_by(Py_tracefunc function)
{
    return function == on_event;
}

void ar_line_events_listen(PyCodeObject *code)
{
    (void)code;
}
