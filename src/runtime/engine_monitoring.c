// SPDX-License-Identifier: BSD-3-Clause
/*
 * sys.monitoring (PEP 669), CPython 3.12 and later.
 *
 * The interpreter calls whatever object is registered through its vectorcall slot: a bare object
 * with a C function in that slot is 5 to 9 ns a call cheaper than a built-in function. Events are
 * per interpreter, so all threads are seen.
 *
 * Enter and leave are separate events here. A leave names the code that is left: where that is not
 * the innermost open function, returns were missed, and the tree is set right; where it is not open
 * at all, the recording began inside it. Calls that are not recorded (the file is full, recording is
 * paused) are counted, so that their returns close nothing.
 *
 * An event whose function is not recorded is switched off where it happened (DISABLE), and costs
 * nothing from then on.
 */
#include "runtime/engine.h"

#include "runtime/budget.h"
#include "runtime/cfunctions.h"
#include "runtime/functions.h"
#include "runtime/monitoring_calls.h"
#include "runtime/python_thread.h"
#include "runtime/quiet.h"

#include <stddef.h>

/*
 * Ids 0, 1, 2 and 5 are meant for debuggers, coverage, profilers such as cProfile, and optimisers.
 */
static const int wanted_tool_ids[] = {4, 3};

struct callback {
    PyObject_HEAD vectorcallfunc call;
};

static PyTypeObject callback_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "allranks._runtime.callback",
    .tp_basicsize = sizeof(struct callback),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(struct callback, call),
    .tp_call = PyVectorcall_Call,
};

static int tool_id = -1;
static PyObject *disable; /* sys.monitoring.DISABLE */

static PyObject *disabled(void)
{
    return Py_NewRef(disable);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Cheap and frequent, and the budget is used up: this call is the last, and it is not counted. */
static __attribute__((noinline)) bool is_stopped(struct ar_thread *t, PyCodeObject *code,
                                                 struct ar_node *node, uint64_t now)
{
    if (!ar_budget_is_over(t, node, now))
        return false;
    ar_tree_leave(t, node, now);
    ar_function_stop(code, (uint32_t)node->key);
    return true;
}

static __attribute__((noinline)) bool is_unseen(struct ar_thread *t, uint64_t now)
{
    bool unseen = t->n_unseen && ar_tree_is_unseen(t, now);

    if (unseen)
        t->n_unseen++;
    else
        t->turn_ticks = ar_calls_turn(now);
    return unseen;
}

/* false: the function is not recorded, neither now nor later. */
static inline bool enter(PyCodeObject *code)
{
    ar_frame *frame = ar_frame_skip_shims(*ar_frame_top_slot(PyThreadState_GET()));
    struct ar_thread *t = ar_python_thread(frame);

    if (__builtin_expect(!t || !frame, 0))
        return true;

    uint32_t function = ar_function_known(code);

    if (__builtin_expect(function == 0, 0))
        function = ar_function_first_seen(code, ar_frame_globals(frame));
    if (__builtin_expect(function == AR_FUNCTION_LOST, 0))
        return false;

    uint64_t place = ar_call_place(ar_frame_caller(frame), t->current);
    uint64_t now = ar_ticks();

    if (__builtin_expect(now >= t->turn_ticks, 0) && is_unseen(t, now))
        return true;

    struct ar_node *node = ar_tree_enter(t, place | function, now);

    if (__builtin_expect(!node, 0))
        ar_tree_unseen(t, 1);
    else if (__builtin_expect(node->n_calls % AR_BUDGET_CALLS == 0, 0))
        return !is_stopped(t, code, node, now);
    return true;
}

static __attribute__((noinline)) bool is_unseen_return(struct ar_thread *t, uint64_t now)
{
    if (t->n_unseen & AR_UNSEEN_QUIET)
        ar_quiet_end(t, now);
    if (!(t->n_unseen & AR_UNSEEN_COUNT))
        return false; /* paused, or asked to be; this function was entered before */
    t->n_unseen--;
    return true;
}

/* The same for the other end. */
static inline bool leave(PyCodeObject *code)
{
    uint64_t now = ar_ticks();
    struct ar_thread *t = ar_self;

    if (__builtin_expect(!t, 0))
        return true;

    uint32_t function = ar_function_known(code);

    if (__builtin_expect(function == AR_FUNCTION_LOST, 0))
        return false;
    if (__builtin_expect(t->n_unseen, 0) && is_unseen_return(t, now))
        return true;
    if (__builtin_expect(function != 0, 1))
        ar_tree_leave_function(t, function, now);
    return true;
}

static PyObject *on_enter(PyObject *self, PyObject *const *args, size_t n_args, PyObject *names)
{
    (void)self, (void)n_args, (void)names;
    if (__builtin_expect(!enter((PyCodeObject *)args[0]), 0))
        return disabled();
    Py_RETURN_NONE;
}

static PyObject *on_leave(PyObject *self, PyObject *const *args, size_t n_args, PyObject *names)
{
    (void)self, (void)n_args, (void)names;
    if (__builtin_expect(!leave((PyCodeObject *)args[0]), 0))
        return disabled();
    Py_RETURN_NONE;
}

/* Exceptions are not tied to a place, and so cannot be switched off. */
static PyObject *on_throw(PyObject *self, PyObject *const *args, size_t n_args, PyObject *names)
{
    (void)self, (void)n_args, (void)names;
    enter((PyCodeObject *)args[0]);
    Py_RETURN_NONE;
}

static PyObject *on_unwind(PyObject *self, PyObject *const *args, size_t n_args, PyObject *names)
{
    (void)self, (void)n_args, (void)names;
    leave((PyCodeObject *)args[0]);
    Py_RETURN_NONE;
}

static PyObject *on_call(PyObject *self, PyObject *const *args, size_t n_args, PyObject *names)
{
    (void)self, (void)n_args, (void)names;
    if (__builtin_expect(!ar_calls_enter((PyCodeObject *)args[0], args[1], args[2]), 0))
        return disabled();
    Py_RETURN_NONE;
}

static PyObject *on_c_leave(PyObject *self, PyObject *const *args, size_t n_args, PyObject *names)
{
    (void)self, (void)n_args, (void)names;
    ar_calls_leave((PyCodeObject *)args[0], args[1], args[2]);
    Py_RETURN_NONE;
}

/* ---- registration, once, through the module: there is no C interface ------------------------- */

static const struct event {
    const char *name;
    vectorcallfunc call;
    bool builtins;
} events[] = {
    {"PY_START", on_enter, false}, {"PY_RESUME", on_enter, false}, {"PY_RETURN", on_leave, false},
    {"PY_YIELD", on_leave, false}, {"PY_THROW", on_throw, false},  {"PY_UNWIND", on_unwind, false},
    {"CALL", on_call, true},       {"C_RETURN", on_c_leave, true}, {"C_RAISE", on_c_leave, true},
};

static bool call_and_forget(PyObject *result)
{
    Py_XDECREF(result);
    return result != NULL;
}

static bool register_event(PyObject *monitoring, PyObject *names, const struct event *event,
                           long *event_set)
{
    PyObject *number = PyObject_GetAttrString(names, event->name);
    struct callback *callback = number ? PyObject_New(struct callback, &callback_type) : NULL;
    bool done = false;

    if (callback) {
        callback->call = event->call;
        *event_set |= PyLong_AsLong(number);
        done = call_and_forget(PyObject_CallMethod(monitoring, "register_callback", "iOO", tool_id,
                                                   number, (PyObject *)callback));
    }
    Py_XDECREF(number);
    Py_XDECREF((PyObject *)callback);
    return done;
}

static bool take_tool_id(PyObject *monitoring)
{
    for (size_t i = 0; i < sizeof wanted_tool_ids / sizeof *wanted_tool_ids; i++) {
        if (call_and_forget(PyObject_CallMethod(monitoring, "use_tool_id", "is", wanted_tool_ids[i],
                                                "allranks"))) {
            tool_id = wanted_tool_ids[i];
            return true;
        }
        if (!PyErr_ExceptionMatches(PyExc_ValueError))
            return false;
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_RuntimeError, "other tools hold the ids 3 and 4 of sys.monitoring");
    return false;
}

static long python_events; /* those of functions in Python */

static bool set_events(PyObject *monitoring, long event_set)
{
    return call_and_forget(PyObject_CallMethod(monitoring, "set_events", "il", tool_id, event_set));
}

static bool register_events(PyObject *monitoring, enum ar_builtins builtins)
{
    PyObject *names = PyObject_GetAttrString(monitoring, "events");
    long c_events = 0;
    bool done = names != NULL;

    python_events = 0;
    for (size_t i = 0; done && i < sizeof events / sizeof *events; i++)
        if (!events[i].builtins || builtins != AR_BUILTINS_NONE)
            done = register_event(monitoring, names, &events[i],
                                  events[i].builtins ? &c_events : &python_events);
    Py_XDECREF(names);
    return done && set_events(monitoring, python_events | c_events);
}

static void stop_looking(void)
{
    PyObject *monitoring = PySys_GetObject("monitoring");

    if (tool_id >= 0 && monitoring && !set_events(monitoring, python_events))
        PyErr_Clear();
}

static bool start(enum ar_builtins builtins)
{
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */

    if (!monitoring || PyType_Ready(&callback_type) < 0)
        return false;
    disable = PyObject_GetAttrString(monitoring, "DISABLE");
    if (!disable || !take_tool_id(monitoring))
        return false;
    ar_calls_start(monitoring, tool_id, builtins);
    ar_threads_watch_from(0);
    if (builtins == AR_BUILTINS_COSTLY)
        ar_cfunctions_on_stop = stop_looking;
    return register_events(monitoring, builtins);
}

static void stop(void)
{
    PyObject *monitoring = PySys_GetObject("monitoring");

    if (tool_id < 0 || !monitoring)
        return;
    if (!set_events(monitoring, 0) ||
        !call_and_forget(PyObject_CallMethod(monitoring, "free_tool_id", "i", tool_id)))
        PyErr_Clear();
    tool_id = -1;
}

const struct ar_engine ar_engine_native = {"sys.monitoring (PEP 669)", start, stop};
