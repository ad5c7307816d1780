// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/monitoring.h"

#include "runtime/tree.h"

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

/* ---- the module's functions ------------------------------------------------------------------ */

enum {
    USE_TOOL_ID,
    FREE_TOOL_ID,
    GET_TOOL,
    REGISTER_CALLBACK,
    SET_EVENTS,
    SET_LOCAL_EVENTS,
    RESTART_EVENTS,
    EVENTS
};

static const char *const names[] = {
    "use_tool_id", "free_tool_id",     "get_tool",       "register_callback",
    "set_events",  "set_local_events", "restart_events", "events",
};

#define N_NAMES (sizeof names / sizeof *names)

static PyObject *found[N_NAMES];

bool ar_monitoring_find(void)
{
    PyObject *module = PySys_GetObject("monitoring");

    for (size_t i = 0; i < N_NAMES; i++) {
        if (!found[i] && module)
            found[i] = PyObject_GetAttrString(module, names[i]);
        if (!found[i] && !PyErr_Occurred())
            PyErr_SetString(PyExc_RuntimeError, "there is no sys.monitoring");
        if (!found[i])
            return false;
    }
    return true;
}

/* Without a tuple for the arguments: the collector would count it. */
static PyObject *tool_of(int tool_id)
{
    PyObject *number = PyLong_FromLong(tool_id);
    PyObject *name = number ? PyObject_CallOneArg(found[GET_TOOL], number) : NULL;

    Py_XDECREF(number);
    return name;
}

static bool call_and_forget(PyObject *result)
{
    Py_XDECREF(result);
    return result != NULL;
}

/* ---- taking an id ---------------------------------------------------------------------------- */

static bool try_tool_id(int tool_id, PyObject *name)
{
    return call_and_forget(PyObject_CallFunction(found[USE_TOOL_ID], "iO", tool_id, name));
}

bool ar_monitoring_take(struct ar_monitoring *m, const int *tool_ids, size_t n_tool_ids,
                        const char *name)
{
    PyObject *text = ar_monitoring_find() ? PyUnicode_FromString(name) : NULL;

    if (!text || PyType_Ready(&callback_type) < 0)
        goto failed;
    for (size_t i = 0; i < n_tool_ids; i++) {
        if (try_tool_id(tool_ids[i], text)) {
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

static bool listen_to(struct ar_monitoring *m, const struct ar_monitoring_event *event,
                      PyObject *owner, long *event_set)
{
    PyObject *number = PyObject_GetAttrString(found[EVENTS], event->name);
    PyObject *callback = number ? new_callback(event, owner) : NULL;
    bool done = callback && call_and_forget(PyObject_CallFunction(found[REGISTER_CALLBACK], "iOO",
                                                                  m->tool_id, number, callback));

    if (done)
        *event_set |= PyLong_AsLong(number);
    m->has_owner |= owner != NULL;
    Py_XDECREF(number);
    Py_XDECREF(callback);
    return done;
}

bool ar_monitoring_listen(struct ar_monitoring *m, const struct ar_monitoring_event *events,
                          size_t n_events, PyObject *owner)
{
    for (size_t i = 0; i < n_events; i++)
        if (!listen_to(m, &events[i], owner, &m->event_set))
            return false;
    return true;
}

bool ar_monitoring_listen_locally(struct ar_monitoring *m, const struct ar_monitoring_event *event)
{
    return listen_to(m, event, NULL, &m->local_events);
}

bool ar_monitoring_watch_code(const struct ar_monitoring *m, PyCodeObject *code)
{
    return call_and_forget(
        PyObject_CallFunction(found[SET_LOCAL_EVENTS], "iOl", m->tool_id, code, m->local_events));
}

bool ar_monitoring_watch(struct ar_monitoring *m)
{
    return call_and_forget(
        PyObject_CallFunction(found[SET_EVENTS], "il", m->tool_id, m->event_set));
}

bool ar_monitoring_is_alone(const struct ar_monitoring *m)
{
    for (int id = 0; id < 6; id++) {
        PyObject *name = tool_of(id);
        bool taken = name && name != Py_None && id != m->tool_id;

        Py_XDECREF(name);
        if (!name || taken)
            return false;
    }
    return true;
}

void ar_monitoring_switch_on_again(void)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);

    struct ar_ours ours = ar_ours_begin(ar_self);

    Py_XDECREF(PyObject_CallNoArgs(found[RESTART_EVENTS]));
    PyErr_Clear();
    ar_ours_end(ours);
    PyErr_Restore(type, value, traceback);
}

/* ---- the end --------------------------------------------------------------------------------- */

static bool still_ours(const struct ar_monitoring *m)
{
    PyObject *holder = tool_of(m->tool_id);

    Py_XDECREF(holder); /* compared only */
    return holder == m->name;
}

static void attempt(PyObject *result)
{
    if (!call_and_forget(result))
        PyErr_Clear();
}

/*
 * Events first: what happens on the way out is not recorded. Callbacks without an owner stay where they
 * are, since each that is taken back is an audit event, and nothing calls them any more.
 */
static void give_back(const struct ar_monitoring *m)
{
    attempt(PyObject_CallFunction(found[SET_EVENTS], "ii", m->tool_id, 0));
    for (long event = 1; m->has_owner && event <= m->event_set; event <<= 1)
        if (m->event_set & event)
            attempt(
                PyObject_CallFunction(found[REGISTER_CALLBACK], "ilO", m->tool_id, event, Py_None));
    attempt(PyObject_CallFunction(found[FREE_TOOL_ID], "i", m->tool_id));
}

void ar_monitoring_free(struct ar_monitoring *m)
{
    struct ar_monitoring taken = *m; /* letting go of owners may end whatever holds *m */
    PyObject *type, *value, *traceback;

    *m = (struct ar_monitoring){0};
    if (!taken.name)
        return;
    PyErr_Fetch(&type, &value, &traceback);
    if (PySys_GetObject("monitoring") &&
        still_ours(&taken)) /* else the interpreter is nearly gone */
        give_back(&taken);
    PyErr_Clear();
    Py_DECREF(taken.name);
    PyErr_Restore(type, value, traceback);
}
