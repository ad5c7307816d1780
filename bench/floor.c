// SPDX-License-Identifier: BSD-3-Clause
/*
 * floor: hooks that do nothing. What they add to a call is what no profiler with the same hook can
 * go below on that interpreter.
 *
 *     import floor
 *     floor.python_functions()    # up to 3.11 PEP 523, later six events of sys.monitoring
 *     floor.all_functions()       # up to 3.11 PyEval_SetProfile, later three events more
 *
 * Built by bench/floors.py, once for each interpreter. What is installed stays until the process
 * ends.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stddef.h>

#if PY_VERSION_HEX < 0x030C0000

static _PyFrameEvalFunction next_evaluator;

#if PY_VERSION_HEX >= 0x030B0000
typedef struct _PyInterpreterFrame frame_type;
#else
typedef PyFrameObject frame_type;
#endif

/* Not a jump: a profiler has to come back here when the function is left. */
static PyObject *pass_on(PyThreadState *ts, frame_type *frame, int throwing)
{
    PyObject *result = next_evaluator(ts, frame, throwing);

    __asm__ volatile("" ::: "memory");
    return result;
}

static PyObject *hook_python_functions(PyObject *module, PyObject *unused)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();

    (void)module, (void)unused;
    next_evaluator = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    _PyInterpreterState_SetEvalFrameFunc(interpreter, pass_on);
    Py_RETURN_NONE;
}

static int ignore(PyObject *self, PyFrameObject *frame, int what, PyObject *argument)
{
    (void)self, (void)frame, (void)what, (void)argument;
    return 0;
}

static PyObject *hook_all_functions(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyEval_SetProfile(ignore, NULL);
    Py_RETURN_NONE;
}

static int prepare(void)
{
    return 0;
}

#else

#define TOOL_ID 4 /* the one that allranks takes */

struct callback {
    PyObject_HEAD vectorcallfunc call;
};

static PyTypeObject callback_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "floor.callback",
    .tp_basicsize = sizeof(struct callback),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(struct callback, call),
    .tp_call = PyVectorcall_Call,
};

/* In the order of calling: the last three are for functions written in C. */
static const char *const events[] = {
    "PY_START",  "PY_RESUME", "PY_THROW", "PY_RETURN", "PY_YIELD",
    "PY_UNWIND", "CALL",      "C_RETURN", "C_RAISE",
};
enum { N_PYTHON_EVENTS = 6, N_ALL_EVENTS = 9 };

static PyObject *ignore(PyObject *self, PyObject *const *args, size_t n_args, PyObject *names)
{
    (void)self, (void)args, (void)n_args, (void)names;
    Py_RETURN_NONE;
}

static int call_and_forget(PyObject *result)
{
    Py_XDECREF(result);
    return result ? 0 : -1;
}

static int hook_event(PyObject *monitoring, PyObject *callback, const char *name, long *event_set)
{
    PyObject *names = PyObject_GetAttrString(monitoring, "events");
    PyObject *event = names ? PyObject_GetAttrString(names, name) : NULL;

    Py_XDECREF(names);
    if (!event)
        return -1;
    *event_set |= PyLong_AsLong(event);
    int status = call_and_forget(
        PyObject_CallMethod(monitoring, "register_callback", "iOO", TOOL_ID, event, callback));
    Py_DECREF(event);
    return status;
}

static PyObject *hook_events(size_t n_events)
{
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
    struct callback *callback = PyObject_New(struct callback, &callback_type);
    long event_set = 0;
    int status = -1;

    if (callback && monitoring) {
        callback->call = ignore;
        status =
            call_and_forget(PyObject_CallMethod(monitoring, "use_tool_id", "is", TOOL_ID, "floor"));
    }
    for (size_t i = 0; status == 0 && i < n_events; i++)
        status = hook_event(monitoring, (PyObject *)callback, events[i], &event_set);
    Py_XDECREF((PyObject *)callback);
    return status < 0 ? NULL
                      : PyObject_CallMethod(monitoring, "set_events", "il", TOOL_ID, event_set);
}

static PyObject *hook_python_functions(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return hook_events(N_PYTHON_EVENTS);
}

static PyObject *hook_all_functions(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return hook_events(N_ALL_EVENTS);
}

static int prepare(void)
{
    return PyType_Ready(&callback_type);
}

#endif

static PyMethodDef methods[] = {
    {"python_functions", hook_python_functions, METH_NOARGS, NULL},
    {"all_functions", hook_all_functions, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "floor",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit_floor(void)
{
    return prepare() < 0 ? NULL : PyModule_Create(&module_definition);
}
