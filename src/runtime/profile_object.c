// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/profile_object.h"

#include "base/clock.h"
#include "runtime/c_function.h"
#include "runtime/pairs.h"
#include "runtime/profile_results.h"
#include "runtime/timer_result.h"

#include <errno.h>

#define HAS_MONITORING (PY_VERSION_HEX >= 0x030C0000)

#if HAS_MONITORING
#include "runtime/monitoring.h"
#else
#include <frameobject.h>
#endif

struct profiler {
    PyObject_HEAD struct ar_pairs pairs; /* objects of entries are owned */
    uint64_t session;                    /* that of the thread that is recorded, or NO_THREAD */
    PyObject *timer;                     /* NULL: ar_ticks */
    double timer_unit;                   /* seconds; 0: it returns seconds */
    double ns_per_tick;
    bool builtins;
    bool is_busy;          /* Python code runs within a hook */
    bool is_out_of_memory; /* since the last time it was reported */
#if HAS_MONITORING
    struct ar_monitoring monitoring;
#endif
};

/*
 * Each enable() begins a session, and its thread remembers which. A number, because a profiler that
 * another thread disables, and even one that is gone, must not be taken for the next at its address.
 */
static __thread uint64_t session_here __attribute__((tls_model("initial-exec")));
static uint64_t n_sessions;

#define NO_THREAD UINT64_MAX /* not 0, which is what threads have that never recorded */

static struct ar_stamp clock_start;

/* ---- time ------------------------------------------------------------------------------------ */

/* No exception may be set. One in the timer is shown, since no caller could handle it here, and the time is 0. */
static uint64_t ask_timer(struct profiler *self)
{
    PyObject *timer = self->timer;
    int64_t now = 0;

    Py_INCREF(timer);
    self->is_busy = true;

    PyObject *result = PyObject_CallNoArgs(timer);

    if (!result || !ar_timer_result(result, self->timer_unit, &now)) {
        PyErr_WriteUnraisable(timer);
        now = 0;
    }
    Py_XDECREF(result);
    Py_DECREF(timer);
    self->is_busy = false;
    return (uint64_t)now;
}

static uint64_t time_now(struct profiler *self)
{
    return self->timer ? ask_timer(self) : ar_ticks();
}

static double seconds_per_unit(const struct profiler *self)
{
    if (!self->timer)
        return self->ns_per_tick * 1e-9;
    return self->timer_unit != 0.0 ? self->timer_unit : 1e-9;
}

/* When a recording ends, and not at each look at it: what was measured then stays as it is. */
static void measure_clock(struct profiler *self)
{
    struct ar_stamp now = ar_stamp_now();

    self->ns_per_tick = ar_clock_kind == AR_CLOCK_MONOTONIC
                            ? 1.0
                            : ar_scale_between(&clock_start, &now).ns_per_tick;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Either a code object or a C function: the other is NULL. */
static bool add_function(struct profiler *self, const void *key, PyObject *code,
                         const struct ar_c_function *c_function)
{
    PyObject *object = code;

    if (ar_pairs_knows(&self->pairs, key))
        return true; /* and there was no memory for the pair */
    self->is_busy = true;
    Py_XINCREF(code);
    if (!object)
        object = ar_c_function_name(c_function);
    self->is_busy = false;
    if (!object || ar_pairs_add(&self->pairs, key, object) < 0) {
        PyErr_Clear();
        Py_XDECREF(object);
        return false;
    }
    return true;
}

/* The slow ways may run Python code, which may end the profiler or raise what is not the program's. */
struct shelter {
    PyObject *type, *value, *traceback;
    int errno_before;
};

static struct shelter take_shelter(struct profiler *self)
{
    struct shelter s = {.errno_before = errno};

    Py_INCREF(self);
    PyErr_Fetch(&s.type, &s.value, &s.traceback);
    return s;
}

static void leave_shelter(struct profiler *self, struct shelter s)
{
    Py_DECREF(self);
    PyErr_Restore(s.type, s.value, s.traceback);
    errno = s.errno_before;
}

static void enter_slowly(struct profiler *self, const void *key, PyObject *code,
                         const struct ar_c_function *c_function)
{
    struct shelter shelter = take_shelter(self);
    struct ar_pair *pair = ar_pairs_find(&self->pairs, key);

    if (!pair && add_function(self, key, code, c_function))
        pair = ar_pairs_find(&self->pairs, key);

    struct ar_open_call *call = ar_pairs_push(&self->pairs, pair);

    if (call)
        call->start = time_now(self);
    else
        self->is_out_of_memory = true;
    leave_shelter(self, shelter);
}

static inline void enter(struct profiler *self, const void *key, PyObject *code,
                         const struct ar_c_function *c_function)
{
    struct ar_pair *pair = self->timer ? NULL : ar_pairs_find(&self->pairs, key);

    if (__builtin_expect(!pair, 0)) {
        enter_slowly(self, key, code, c_function);
        return;
    }

    struct ar_open_call *call = ar_pairs_push(&self->pairs, pair);

    if (__builtin_expect(call != NULL, 1))
        call->start = ar_ticks();
    else
        self->is_out_of_memory = true;
}

static void leave_slowly(struct profiler *self, size_t n_to_close)
{
    struct shelter shelter = take_shelter(self);
    uint64_t now = time_now(self);

    for (; n_to_close > 0; n_to_close--)
        ar_pairs_pop(&self->pairs, now);
    leave_shelter(self, shelter);
}

static inline void leave(struct profiler *self, const void *key)
{
    uint64_t now = self->timer ? 0 : ar_ticks();
    size_t n_to_close = ar_pairs_n_to_close(&self->pairs, key);

    if (__builtin_expect(n_to_close == 1 && !self->timer, 1))
        ar_pairs_pop(&self->pairs, now);
    else if (n_to_close > 0)
        leave_slowly(self, n_to_close);
}

/* Closes what is open; a timer is asked for each call, as many as it expects to be asked. */
static void close_all(struct profiler *self)
{
    uint64_t now = self->timer ? 0 : ar_ticks();

    while (ar_pairs_n_open(&self->pairs) > 0)
        ar_pairs_pop(&self->pairs, self->timer ? ask_timer(self) : now);
    self->pairs.n_unseen = 0;
}

/* ---- hooks ----------------------------------------------------------------------------------- */

#if HAS_MONITORING

static PyObject *missing; /* sys.monitoring.MISSING: there is no first argument */

static inline struct profiler *recorded_here(PyObject *callback)
{
    struct profiler *self = ar_monitoring_context(callback);

    return __builtin_expect(self->session == session_here, 1) ? self : NULL;
}

static PyObject *on_enter(PyObject *callback, PyObject *const *args, size_t n, PyObject *names)
{
    struct profiler *self = recorded_here(callback);

    (void)n, (void)names;
    if (self)
        enter(self, args[0], args[0], NULL);
    Py_RETURN_NONE;
}

static PyObject *on_leave(PyObject *callback, PyObject *const *args, size_t n, PyObject *names)
{
    struct profiler *self = recorded_here(callback);

    (void)n, (void)names;
    if (self)
        leave(self, args[0]);
    Py_RETURN_NONE;
}

/*
 * Functions and methods in C, called on what they are for; classes, slots and the like are not.
 * Exact types first: CALL comes for every call there is, and most are of these three.
 */
static inline bool find_c_function(PyObject *const *args, struct ar_c_function *out)
{
    PyObject *callable = args[2], *first = args[3];
    PyTypeObject *type = Py_TYPE(callable);

    if (type == &PyFunction_Type)
        return false;
    if (type == &PyMethodDescr_Type) {
        *out = (struct ar_c_function){((PyMethodDescrObject *)callable)->d_method, first, NULL};
        return first != missing && PyObject_TypeCheck(first, PyDescr_TYPE(callable));
    }
    if (type != &PyCFunction_Type && !PyCFunction_Check(callable))
        return false;
    *out = ar_c_function_of(callable);
    return true;
}

static PyObject *on_c_enter(PyObject *callback, PyObject *const *args, size_t n, PyObject *names)
{
    struct profiler *self = recorded_here(callback);
    struct ar_c_function function;

    (void)n, (void)names;
    if (self && find_c_function(args, &function))
        enter(self, ar_c_function_key(&function), NULL, &function);
    Py_RETURN_NONE;
}

static PyObject *on_c_leave(PyObject *callback, PyObject *const *args, size_t n, PyObject *names)
{
    struct profiler *self = recorded_here(callback);
    struct ar_c_function function;

    (void)n, (void)names;
    if (self && find_c_function(args, &function))
        leave(self, ar_c_function_key(&function));
    Py_RETURN_NONE;
}

static bool listen(struct profiler *self)
{
    const struct ar_monitoring_event events[] = {
        {"PY_START", on_enter, self},  {"PY_RESUME", on_enter, self},
        {"PY_THROW", on_enter, self},  {"PY_RETURN", on_leave, self},
        {"PY_YIELD", on_leave, self},  {"PY_UNWIND", on_leave, self},
        {"CALL", on_c_enter, self},    {"C_RETURN", on_c_leave, self},
        {"C_RAISE", on_c_leave, self},
    };
    size_t n = sizeof events / sizeof *events;

    /* CALL comes for Python functions too: not to ask for it is what builtins=False saves. */
    return ar_monitoring_listen(&self->monitoring, events, self->builtins ? n : n - 3,
                                (PyObject *)self);
}

static bool take_tool_id(struct profiler *self)
{
    static const int profiler_id = 2; /* sys.monitoring.PROFILER_ID */

    if (ar_monitoring_take(&self->monitoring, &profiler_id, 1, "allranks"))
        return true;
    if (PyErr_ExceptionMatches(PyExc_ValueError)) /* the new words of cProfile and its old ones */
        PyErr_SetString(PyExc_ValueError,
                        "Another profiling tool is already active (tool 2 is already in use)");
    return false;
}

static bool find_missing(void)
{
    PyObject *monitoring = PySys_GetObject("monitoring");

    if (!missing && monitoring)
        missing = PyObject_GetAttrString(monitoring, "MISSING");
    return missing != NULL;
}

static bool start_hooks(struct profiler *self, bool by_caller, bool builtins)
{
    if (!find_missing() || !take_tool_id(self))
        return false;
    self->pairs.by_caller = by_caller;
    self->builtins = builtins;
    self->session = session_here = ++n_sessions;
    if (listen(self) && ar_monitoring_watch(&self->monitoring))
        return true;
    self->session = NO_THREAD;
    ar_monitoring_free(&self->monitoring);
    return false;
}

static void stop_hooks(struct profiler *self)
{
    ar_monitoring_free(&self->monitoring);
}

#else

static inline void on_code(struct profiler *self, PyFrameObject *frame, bool is_enter)
{
    PyObject *code = (PyObject *)PyFrame_GetCode(frame);

    if (is_enter)
        enter(self, code, code, NULL);
    else
        leave(self, code);
    Py_DECREF(code);
}

static inline void on_c_function(struct profiler *self, PyObject *callable, bool is_enter)
{
    if (!self->builtins || !PyCFunction_Check(callable))
        return;

    struct ar_c_function function = ar_c_function_of(callable);

    if (is_enter)
        enter(self, ar_c_function_key(&function), NULL, &function);
    else
        leave(self, ar_c_function_key(&function));
}

static int on_event(PyObject *object, PyFrameObject *frame, int what, PyObject *arg)
{
    struct profiler *self = (struct profiler *)object;

    if (__builtin_expect(self->session != session_here, 0))
        return 0;
    switch (what) {
    case PyTrace_CALL:
    case PyTrace_RETURN:
        on_code(self, frame, what == PyTrace_CALL);
        break;
    case PyTrace_C_CALL:
    case PyTrace_C_RETURN:
    case PyTrace_C_EXCEPTION:
        on_c_function(self, arg, what == PyTrace_C_CALL);
        break;
    default:
        break;
    }
    return 0;
}

/* A thread has one profile function: the last one that is set has it. */
static bool start_hooks(struct profiler *self, bool by_caller, bool builtins)
{
    if (self->session != session_here) {
        close_all(self); /* of another thread, or from before another profiler */
        self->session = session_here = ++n_sessions;
    }
    self->pairs.by_caller = by_caller;
    self->builtins = builtins;
    PyEval_SetProfile(on_event, (PyObject *)self);
    return true;
}

/* Whichever tool has it: programs rely on there being none afterwards. */
static void stop_hooks(struct profiler *self)
{
    (void)self;
    PyEval_SetProfile(NULL, NULL);
}

#endif

/* ---- methods --------------------------------------------------------------------------------- */

static bool may_change(const struct profiler *self, const char *how)
{
    if (self->is_busy)
        PyErr_Format(PyExc_RuntimeError, "cannot %s profiler in external timer", how);
    return !self->is_busy;
}

static bool had_memory(struct profiler *self)
{
    if (!self->is_out_of_memory)
        return true;
    self->is_out_of_memory = false;
    PyErr_SetString(PyExc_MemoryError, "memory was exhausted while profiling");
    return false;
}

PyDoc_STRVAR(
    enable_doc,
    "enable($self, /, subcalls=True, builtins=True)\n--\n\n"
    "Record this thread from now on. With subcalls, times are also kept by caller; with\n"
    "builtins, functions in C have entries of their own. What is not given stays as it was.");

static PyObject *enable(PyObject *object, PyObject *args, PyObject *kwargs)
{
    struct profiler *self = (struct profiler *)object;
    static char *names[] = {"subcalls", "builtins", NULL};
    int subcalls = self->pairs.by_caller, builtins = self->builtins;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|pp:enable", names, &subcalls, &builtins) ||
        !may_change(self, "enable"))
        return NULL;
    return start_hooks(self, subcalls, builtins) ? Py_BuildValue("") : NULL;
}

PyDoc_STRVAR(disable_doc, "disable($self, /)\n--\n\nRecord no more. Calls that are open end here.");

static PyObject *disable(PyObject *object, PyObject *args)
{
    struct profiler *self = (struct profiler *)object;

    (void)args;
    if (!may_change(self, "disable"))
        return NULL;

    bool was_on = self->session != NO_THREAD;

    self->session = NO_THREAD;
    if (!self->timer)
        close_all(self); /* before the hooks are taken out, which takes its time */
    stop_hooks(self);
    close_all(self);
    if (was_on)
        measure_clock(self);
    return had_memory(self) ? Py_BuildValue("") : NULL;
}

/* Letting go of a code object may run Python code; nothing of it can reach this table any more. */
static void drop(struct ar_pairs pairs)
{
    for (struct ar_entry *entry = pairs.first_entry; entry; entry = entry->next)
        Py_DECREF((PyObject *)entry->object);
    ar_pairs_free(&pairs);
}

PyDoc_STRVAR(clear_doc, "clear($self, /)\n--\n\nForget all that was recorded.");

static PyObject *clear(PyObject *object, PyObject *args)
{
    struct profiler *self = (struct profiler *)object;
    struct ar_pairs old = self->pairs, empty;

    (void)args;
    if (!may_change(self, "clear"))
        return NULL;
    if (ar_pairs_init(&empty) < 0)
        return PyErr_NoMemory();
    empty.by_caller = old.by_caller;
    self->pairs = empty;
    drop(old);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(
    getstats_doc,
    "getstats($self, /)\n--\n\n"
    "What was recorded: code, callcount, reccallcount, totaltime, inlinetime and calls of\n"
    "each function. calls is None, or a list with the first five for each function that it\n"
    "called.");

static PyObject *getstats(PyObject *object, PyObject *args)
{
    struct profiler *self = (struct profiler *)object;

    (void)args;
    if (!had_memory(self))
        return NULL;
    if (self->session != NO_THREAD)
        measure_clock(self);
    return ar_profile_results(&self->pairs, seconds_per_unit(self));
}

/* ---- the type -------------------------------------------------------------------------------- */

static PyObject *profiler_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    struct profiler *self = (struct profiler *)type->tp_alloc(type, 0);

    (void)args, (void)kwargs;
    if (!self)
        return NULL;
    self->session = NO_THREAD;
    self->builtins = true;
    self->ns_per_tick = 1.0;
    if (ar_pairs_init(&self->pairs) < 0) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    if (!clock_start.mono_ns) {
        ar_clock_choose();
        clock_start = ar_stamp_now();
    }
    return (PyObject *)self;
}

static int profiler_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    struct profiler *self = (struct profiler *)object;
    static char *names[] = {"timer", "timeunit", "subcalls", "builtins", NULL};
    PyObject *timer = NULL, *old = self->timer;
    double unit = 0.0;
    int subcalls = 1, builtins = 1;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|Odpp:Profiler", names, &timer, &unit,
                                     &subcalls, &builtins))
        return -1;
    self->timer = timer == Py_None ? NULL : timer;
    Py_XINCREF(self->timer);
    self->timer_unit = unit;
    self->pairs.by_caller = subcalls;
    self->builtins = builtins;
    Py_XDECREF(old);
    return 0;
}

static int profiler_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(((struct profiler *)object)->timer);
    return 0;
}

static int profiler_clear(PyObject *object)
{
    Py_CLEAR(((struct profiler *)object)->timer);
    return 0;
}

/* Hooks hold a reference: they are there only if another tool has taken the callbacks away. */
static void profiler_dealloc(PyObject *object)
{
    struct profiler *self = (struct profiler *)object;

    PyObject_GC_UnTrack(object);
#if HAS_MONITORING
    ar_monitoring_free(&self->monitoring);
#endif
    profiler_clear(object);
    drop(self->pairs);
    Py_TYPE(object)->tp_free(object);
}

static PyMethodDef methods[] = {
    {"enable", (PyCFunction)(void (*)(void))enable, METH_VARARGS | METH_KEYWORDS, enable_doc},
    {"disable", disable, METH_NOARGS, disable_doc},
    {"clear", clear, METH_NOARGS, clear_doc},
    {"getstats", getstats, METH_NOARGS, getstats_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(profiler_doc, "Profile(timer=None, timeunit=0.0, subcalls=True, builtins=True)\n--\n\n"
                           "What allranks.Profile is made of.");

/* Its methods are seen in profiles, so its name is the one that people know. */
static PyTypeObject profiler_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "allranks.Profile",
    .tp_doc = profiler_doc,
    .tp_basicsize = sizeof(struct profiler),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = profiler_new,
    .tp_init = profiler_init,
    .tp_traverse = profiler_traverse,
    .tp_clear = profiler_clear,
    .tp_dealloc = profiler_dealloc,
    .tp_methods = methods,
};

bool ar_profile_object_register(PyObject *module)
{
    if (PyType_Ready(&profiler_type) < 0)
        return false;
    Py_INCREF(&profiler_type);
    if (PyModule_AddObject(module, "Profiler", (PyObject *)&profiler_type) == 0)
        return true;
    Py_DECREF(&profiler_type);
    return false;
}
