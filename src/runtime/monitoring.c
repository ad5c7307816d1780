// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/monitoring.h"

#include <stddef.h>

static void callback_dealloc(PyObject *self)
{
    PyObject *owner = ((struct ar_monitoring_callback *)self)->owner;

    Py_TYPE(self)->tp_free(self);
    Py_XDECREF(owner);
}

static PyTypeObject callback_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "allranks._runtime.callback",
    .tp_basicsize = sizeof(struct ar_monitoring_callback),
    .tp_dealloc = callback_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(struct ar_monitoring_callback, call),
    .tp_call = PyVectorcall_Call,
};

/* Borrowed; NULL with an exception, or without one where the interpreter is nearly gone. */
static PyObject *monitoring_module(void)
{
    PyObject *module = PySys_GetObject("monitoring");

    if (!module && !PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, "there is no sys.monitoring");
    return module;
}

static bool call_and_forget(PyObject *result)
{
    Py_XDECREF(result);
    return result != NULL;
}

/* ---- taking an id ---------------------------------------------------------------------------- */

static bool try_tool_id(PyObject *module, int tool_id, PyObject *name)
{
    return call_and_forget(PyObject_CallMethod(module, "use_tool_id", "iO", tool_id, name));
}

bool ar_monitoring_take(struct ar_monitoring *m, const int *tool_ids, size_t n_tool_ids,
                        const char *name)
{
    PyObject *module = monitoring_module();
    PyObject *text = module ? PyUnicode_FromString(name) : NULL;

    if (!text || PyType_Ready(&callback_type) < 0)
        goto failed;
    for (size_t i = 0; i < n_tool_ids; i++) {
        if (try_tool_id(module, tool_ids[i], text)) {
            *m = (struct ar_monitoring){.name = text, .tool_id = tool_ids[i]};
            return true;
        }
        if (!PyErr_ExceptionMatches(PyExc_ValueError))
            goto failed;
        PyErr_Clear();
    }
    PyErr_SetString(PyExc_ValueError, "other tools hold the ids of sys.monitoring");
failed:
    Py_XDECREF(text);
    return false;
}

/* ---- callbacks ------------------------------------------------------------------------------- */

static PyObject *new_callback(const struct ar_monitoring_event *event, PyObject *owner)
{
    struct ar_monitoring_callback *callback =
        PyObject_New(struct ar_monitoring_callback, &callback_type);

    if (callback) {
        callback->call = event->call;
        callback->context = event->context;
        callback->owner = Py_XNewRef(owner);
    }
    return (PyObject *)callback;
}

static bool listen_to(struct ar_monitoring *m, PyObject *module, PyObject *names,
                      const struct ar_monitoring_event *event, PyObject *owner)
{
    PyObject *number = PyObject_GetAttrString(names, event->name);
    PyObject *callback = number ? new_callback(event, owner) : NULL;
    bool done = callback && call_and_forget(PyObject_CallMethod(module, "register_callback", "iOO",
                                                                m->tool_id, number, callback));

    if (done)
        m->event_set |= PyLong_AsLong(number);
    Py_XDECREF(number);
    Py_XDECREF(callback);
    return done;
}

bool ar_monitoring_listen(struct ar_monitoring *m, const struct ar_monitoring_event *events,
                          size_t n_events, PyObject *owner)
{
    PyObject *module = monitoring_module();
    PyObject *names = module ? PyObject_GetAttrString(module, "events") : NULL;
    bool done = names != NULL;

    for (size_t i = 0; done && i < n_events; i++)
        done = listen_to(m, module, names, &events[i], owner);
    Py_XDECREF(names);
    return done;
}

bool ar_monitoring_watch(struct ar_monitoring *m)
{
    PyObject *module = monitoring_module();

    return module && call_and_forget(
                         PyObject_CallMethod(module, "set_events", "il", m->tool_id, m->event_set));
}

/* ---- the end --------------------------------------------------------------------------------- */

static bool still_ours(const struct ar_monitoring *m, PyObject *module)
{
    PyObject *holder = PyObject_CallMethod(module, "get_tool", "i", m->tool_id);

    Py_XDECREF(holder); /* compared only */
    return holder == m->name;
}

static void attempt(PyObject *result)
{
    if (!call_and_forget(result))
        PyErr_Clear();
}

/* Events first: what happens on the way out is nobody's. */
static void give_back(const struct ar_monitoring *m, PyObject *module)
{
    attempt(PyObject_CallMethod(module, "set_events", "ii", m->tool_id, 0));
    for (long event = 1; event <= m->event_set; event <<= 1)
        if (m->event_set & event)
            attempt(PyObject_CallMethod(module, "register_callback", "ilO", m->tool_id, event,
                                        Py_None));
    attempt(PyObject_CallMethod(module, "free_tool_id", "i", m->tool_id));
}

void ar_monitoring_free(struct ar_monitoring *m)
{
    struct ar_monitoring taken = *m; /* letting go of owners may end whatever holds *m */
    PyObject *type, *value, *traceback;

    *m = (struct ar_monitoring){0};
    if (!taken.name)
        return;
    PyErr_Fetch(&type, &value, &traceback);

    PyObject *module = monitoring_module();

    if (module && still_ours(&taken, module))
        give_back(&taken, module);
    PyErr_Clear();
    Py_DECREF(taken.name);
    PyErr_Restore(type, value, traceback);
}
