// SPDX-License-Identifier: BSD-3-Clause
/*
 * The trace API (PyEval_SetProfile), every CPython: for where another tool holds the native hook.
 *
 * It is set for one thread at a time. A thread that the program starts is given it by the one that
 * starts it, when the function that does so returns: the new one has not run by then, since both
 * need the GIL.
 *
 * The hook is also what sys.setprofile sets: a program that does so takes it from us in that thread,
 * and is not recorded there any more.
 */
#include "runtime/engine.h"

#include "runtime/function_switch.h"
#include "runtime/functions.h"
#include "runtime/python_thread.h"

static bool started;

static int on_profile(PyObject *self, PyFrameObject *frame, int what, PyObject *arg);

/* ---- threads --------------------------------------------------------------------------------- */

static const PyMethodDef *starters[2]; /* the functions that start a thread */

static void find_starters(void)
{
    static const char *const names[] = {"start_new_thread", "start_joinable_thread"};
    PyObject *module = PyImport_ImportModule("_thread");

    for (int i = 0; module && i < 2; i++) {
        PyObject *function = PyObject_GetAttrString(module, names[i]);

        if (function && PyCFunction_Check(function))
            starters[i] = ((PyCFunctionObject *)function)->m_ml;
        Py_XDECREF(function);
    }
    Py_XDECREF(module);
    PyErr_Clear();
}

static bool starts_a_thread(PyObject *callable)
{
    const PyMethodDef *def =
        PyCFunction_Check(callable) ? ((PyCFunctionObject *)callable)->m_ml : NULL;

    return def && (def == starters[0] || def == starters[1]);
}

/* Those that have a hook of their own keep it. */
static void hook_new_threads(void)
{
    PyInterpreterState *interpreter = PyThreadState_GET()->interp;
    bool has_foreign = false;

    for (PyThreadState *ts = PyInterpreterState_ThreadHead(interpreter); ts;
         ts = PyThreadState_Next(ts)) {
        has_foreign |= ts->c_profilefunc && ts->c_profilefunc != on_profile;
#if PY_VERSION_HEX < 0x030C0000
        if (!ts->c_profilefunc) {
            ts->c_profilefunc = on_profile;
            ar_tracing_update(ts);
        }
#endif
    }
#if PY_VERSION_HEX >= 0x030C0000
    if (!has_foreign) /* it is for all of them or none */
        PyEval_SetProfileAllThreads(on_profile, NULL);
#else
    (void)has_foreign;
#endif
}

/* ---- events ---------------------------------------------------------------------------------- */

static void entered(void)
{
    PyThreadState *ts = PyThreadState_GET();
    ar_frame *frame = ar_frame_innermost(ts);
    struct ar_thread *t = frame ? ar_python_thread(frame) : NULL;

    if (!t)
        return;
    ar_python_state(t, ts);

    uint32_t function = ar_function_of_frame(frame);

    if (ar_function_is_left_out(function))
        return;

    uint64_t place = ar_call_place(ar_frame_caller(frame), t->current);
    uint64_t now = ar_ticks();

    struct ar_node *node = NULL;

    if (t->n_unseen & AR_UNSEEN_BEGUN)
        ar_functions_enter(t, frame);

    bool unseen = t->n_unseen && ar_tree_is_unseen(t, now);

    if (t->n_unseen & AR_UNSEEN_SWITCHES && ar_functions_skip_call(t, ar_frame_caller(frame)))
        return;
    if (!unseen)
        node = ar_tree_enter(t, place | function, now);
    if (!node)
        ar_tree_count_unseen(t);
    else if (t->n_unseen & AR_UNSEEN_RESUMING)
        ar_tree_resume_regions(t, node, now);
}

static void left_while_switched(struct ar_thread *t, ar_frame *frame, uint32_t function,
                                uint64_t now)
{
    if (ar_functions_skip_return(t, frame) || ar_tree_is_unseen_return(t))
        return;
    ar_tree_leave_function(t, function, now);
    ar_functions_returned(t, frame);
}

static void left(uint64_t now)
{
    ar_frame *frame = ar_frame_innermost(PyThreadState_GET());
    struct ar_thread *t = ar_self;
    uint32_t function = t && frame ? ar_function_known(ar_frame_code(frame)) : 0;

    if (!function || ar_function_is_left_out(function))
        return;
    if (t->n_unseen & AR_UNSEEN_SWITCHES) {
        left_while_switched(t, frame, function, now);
        return;
    }
    if (!t->n_unseen || !ar_tree_is_unseen_return(t))
        ar_tree_leave_function(t, function, now);
}

static int on_profile(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    uint64_t now = ar_ticks();

    (void)self, (void)frame;
    if (!started)
        return 0;
    if (what == PyTrace_C_RETURN && starts_a_thread(arg))
        hook_new_threads();
    if (what == PyTrace_CALL)
        entered();
    else if (what == PyTrace_RETURN)
        left(now);
    return 0;
}

/* ---- life cycle ------------------------------------------------------------------------------ */

static bool start(void)
{
    if (PyThreadState_GET()->c_profilefunc) {
        PyErr_SetString(PyExc_RuntimeError, "another tool holds the trace API as well");
        return false;
    }
    find_starters();
    ar_functions_serve(NULL, true);
    started = true;
    PyEval_SetProfile(on_profile, NULL);
    return true;
}

static void stop(void)
{
    started = false;
    if (PyThreadState_GET()->c_profilefunc == on_profile)
        PyEval_SetProfile(NULL, NULL);
}

const struct ar_engine ar_engine_trace = {.name = "trace API", .start = start, .stop = stop};
