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
 * at all, the recording began inside it. While the file is full, calls that were not recorded are
 * counted, so that their returns close nothing.
 */
#include "runtime/engine.h"

#include "runtime/functions.h"
#include "runtime/python_thread.h"

#include <stddef.h>

const char *const ar_engine_name = "sys.monitoring (PEP 669)";

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

/* ---- events ---------------------------------------------------------------------------------- */

static PyObject *on_enter(PyObject *self, PyObject *const *args, size_t n_args, PyObject *names)
{
    (void)self, (void)n_args, (void)names;
    ar_frame *frame = ar_frame_skip_shims(*ar_frame_top_slot(PyThreadState_GET()));
    struct ar_thread *t = ar_python_thread(frame);

    if (__builtin_expect(!t || !frame, 0))
        Py_RETURN_NONE;

    uint32_t function = ar_function_of_code((PyCodeObject *)args[0]);

    if (__builtin_expect(function == AR_FUNCTION_LOST, 0))
        Py_RETURN_NONE; /* what it calls is its caller's */
    if (__builtin_expect(t->n_unseen, 0)) {
        t->n_unseen++;
        Py_RETURN_NONE;
    }

    uint64_t place = ar_call_place(ar_frame_caller(frame), t->current);

    if (__builtin_expect(!ar_tree_enter(t, place | function, ar_ticks()), 0))
        t->n_unseen++;
    Py_RETURN_NONE;
}

/* The innermost open node of that function, or NULL. */
static struct ar_node *find_open(const struct ar_thread *t, uint32_t function)
{
    for (struct ar_node *node = t->current; node != t->root; node = ar_live_ptr(node->parent_ref))
        if ((uint32_t)node->key == function)
            return node;
    return NULL;
}

static PyObject *on_leave(PyObject *self, PyObject *const *args, size_t n_args, PyObject *names)
{
    (void)self, (void)n_args, (void)names;
    uint64_t now = ar_ticks();
    struct ar_thread *t = ar_self;

    if (__builtin_expect(!t, 0))
        Py_RETURN_NONE;

    struct ar_node *node = t->current;
    uint32_t function = ar_function_of_code((PyCodeObject *)args[0]);

    if (__builtin_expect(function == AR_FUNCTION_LOST, 0))
        Py_RETURN_NONE;
    if (__builtin_expect(t->n_unseen, 0)) {
        t->n_unseen--;
        Py_RETURN_NONE;
    }

    if (__builtin_expect((uint32_t)node->key != function, 0))
        node = find_open(t, function);
    if (__builtin_expect(node != NULL, 1))
        ar_tree_leave(t, node, now);
    Py_RETURN_NONE;
}

/* ---- registration, once, through the module: there is no C interface ------------------------- */

static const struct {
    const char *name;
    vectorcallfunc call;
} events[] = {
    {"PY_START", on_enter},  {"PY_RESUME", on_enter}, {"PY_THROW", on_enter},
    {"PY_RETURN", on_leave}, {"PY_YIELD", on_leave},  {"PY_UNWIND", on_leave},
};

static bool call_and_forget(PyObject *result)
{
    Py_XDECREF(result);
    return result != NULL;
}

static bool register_event(PyObject *monitoring, PyObject *names, size_t i, long *event_set)
{
    PyObject *event = PyObject_GetAttrString(names, events[i].name);
    struct callback *callback = event ? PyObject_New(struct callback, &callback_type) : NULL;
    bool done = false;

    if (callback) {
        callback->call = events[i].call;
        *event_set |= PyLong_AsLong(event);
        done = call_and_forget(PyObject_CallMethod(monitoring, "register_callback", "iOO", tool_id,
                                                   event, (PyObject *)callback));
    }
    Py_XDECREF(event);
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

bool ar_engine_start(void)
{
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
    PyObject *names = monitoring ? PyObject_GetAttrString(monitoring, "events") : NULL;
    long event_set = 0;
    bool done = names && PyType_Ready(&callback_type) == 0 && take_tool_id(monitoring);

    for (size_t i = 0; done && i < sizeof events / sizeof *events; i++)
        done = register_event(monitoring, names, i, &event_set);
    Py_XDECREF(names);
    return done &&
           call_and_forget(PyObject_CallMethod(monitoring, "set_events", "il", tool_id, event_set));
}

void ar_engine_stop(void)
{
    PyObject *monitoring = PySys_GetObject("monitoring");

    if (tool_id < 0 || !monitoring)
        return;
    if (!call_and_forget(PyObject_CallMethod(monitoring, "set_events", "ii", tool_id, 0)) ||
        !call_and_forget(PyObject_CallMethod(monitoring, "free_tool_id", "i", tool_id)))
        PyErr_Clear();
    tool_id = -1;
}
