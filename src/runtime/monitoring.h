// SPDX-License-Identifier: BSD-3-Clause
/*
 * monitoring: sys.monitoring (PEP 669) for C, CPython 3.12 and later.
 *
 * The interpreter calls whatever object is registered through its vectorcall slot: a bare object
 * with a C function in that slot is 5 to 9 ns a call cheaper than a built-in function. There is no C
 * interface for registering, so that goes through the module's functions, which is rarely done.
 * They are looked for once, before the program can put others in their place.
 *
 * Life cycle: take an id, listen, watch; free at any time, also when nothing was taken, or when
 * another tool has taken the id away meanwhile. A zeroed struct holds nothing.
 * Errors:     false with a Python exception set; what was done until then is undone by free.
 * Threads:    under the GIL. Events come from all threads of the interpreter.
 *
 *     static PyObject *on_start(PyObject *self, PyObject *const *args, size_t n, PyObject *names)
 *     {
 *         struct counter *counter = ar_monitoring_context(self);
 *         counter->n++;
 *         Py_RETURN_NONE;
 *     }
 *
 *     const struct ar_monitoring_event events[] = {{"PY_START", on_start, counter}};
 *     done = ar_monitoring_take(&m, (const int[]){4, 3}, 2, "allranks") &&
 *            ar_monitoring_listen(&m, events, 1, NULL) && ar_monitoring_watch(&m);
 */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

struct ar_monitoring {
    PyObject *name; /* the id is ours as long as the interpreter has this very object for it */
    int tool_id;
    long event_set;    /* of what was listened to */
    long local_events; /* of what was listened to locally */
    bool has_owner;    /* one of the callbacks keeps something alive */
};

struct ar_monitoring_event {
    const char *name; /* in sys.monitoring.events */
    vectorcallfunc call;
    void *context;
};

struct ar_monitoring_callback {
    PyObject_HEAD vectorcallfunc call;
    void *context;
    PyObject *owner;
};

/* Finds what sys.monitoring has; done already after the first time. */
bool ar_monitoring_find(void);
/* The first of these ids that is free. ValueError: there is none. */
bool ar_monitoring_take(struct ar_monitoring *m, const int *tool_ids, size_t n_tool_ids,
                        const char *name);
/* May be called several times. `owner`, if not NULL, is kept alive as long as callbacks are there. */
bool ar_monitoring_listen(struct ar_monitoring *m, const struct ar_monitoring_event *events,
                          size_t n_events, PyObject *owner);
/* The same of an event that arrives only from code that ar_monitoring_watch_code has named. */
bool ar_monitoring_listen_locally(struct ar_monitoring *m, const struct ar_monitoring_event *event);
/* From now on `events`, bits of local events, arrive from that code. */
bool ar_monitoring_watch_code(const struct ar_monitoring *m, PyCodeObject *code);
/* From now on events of all kinds listened to arrive. */
bool ar_monitoring_watch(struct ar_monitoring *m);
/* Has no other tool taken an id? */
bool ar_monitoring_is_alone(const struct ar_monitoring *m);
/*
 * Events that callbacks have switched off where they happened come again. Those of other tools do so, too: a tool that has
 * come since then gets events once more that it had switched off, and may switch them off again. Ours would be lost for good.
 */
void ar_monitoring_switch_on_again(void);
void ar_monitoring_free(struct ar_monitoring *m);

/* In a callback: the context of its event. */
static inline void *ar_monitoring_context(PyObject *self)
{
    return ((struct ar_monitoring_callback *)self)->context;
}

/*
 * In a callback: the code object that the event is about. NULL: a library in C has fired the event
 * for an object of its own (PyMonitoring_FirePyStartEvent and the like, from 3.13 on).
 */
static inline PyCodeObject *ar_monitoring_code(PyObject *const *args)
{
    return __builtin_expect(PyCode_Check(args[0]), 1) ? (PyCodeObject *)args[0] : NULL;
}
