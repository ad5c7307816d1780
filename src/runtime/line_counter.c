// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/line_counter.h"

#include "base/clock.h"
#include "runtime/line_counts.h"

#include <pthread.h>
#include <stdlib.h>

#define HAS_MONITORING (PY_VERSION_HEX >= 0x030C0000)

#if HAS_MONITORING
#include "runtime/monitoring.h"
#else
#include "runtime/line_events.h"
#endif

struct counter {
    PyObject_HEAD struct ar_line_counts counts; /* code objects are owned */
};

/* A counter that is enabled in a thread. */
struct enabled {
    struct counter *counter; /* owned */
    struct ar_line_stack stack;
};

struct thread {
    struct enabled *enabled;
    size_t n_enabled;
#if !HAS_MONITORING
    Py_tracefunc program; /* what the program had set; NULL: nothing */
#endif
};

static __thread struct thread *here __attribute__((tls_model("initial-exec")));
static pthread_key_t thread_key;
static struct ar_stamp clock_start;

/* Of a thread that ends while a counter is enabled: without the GIL the counter cannot be let go of. */
static void free_thread(void *thread)
{
    struct thread *t = thread;

    for (size_t i = 0; i < t->n_enabled; i++)
        ar_line_stack_free(&t->enabled[i].stack);
    free(t->enabled);
    free(t);
    here = NULL;
}

static struct thread *this_thread(void)
{
    if (!here) {
        here = calloc(1, sizeof *here);
        if (here)
            pthread_setspecific(thread_key, here);
    }
    return here;
}

/* ---- events ------------------------------------------------------------------------------------ */

static void on_enter(const void *code)
{
    uint64_t now = ar_ticks();

    for (size_t i = 0; i < here->n_enabled; i++)
        ar_line_stack_enter(&here->enabled[i].stack, code, now);
}

static void on_leave(const void *code)
{
    uint64_t now = ar_ticks();

    for (size_t i = 0; i < here->n_enabled; i++)
        ar_line_stack_leave(&here->enabled[i].stack, code, now);
}

static void on_line(const void *code, uint32_t line)
{
    uint64_t now = ar_ticks();

    for (size_t i = 0; i < here->n_enabled; i++)
        ar_line_stack_come_to(&here->enabled[i].stack, code, line, now);
}

#if HAS_MONITORING

/* One tool for all counters. Once taken it stays: code objects keep their events as long as they live. */
static struct ar_monitoring tool;

static PyObject *enters(PyObject *self, PyObject *const *args, size_t n, PyObject *names)
{
    (void)self, (void)n, (void)names;
    if (here && here->n_enabled)
        on_enter(args[0]);
    Py_RETURN_NONE;
}

static PyObject *leaves(PyObject *self, PyObject *const *args, size_t n, PyObject *names)
{
    (void)self, (void)n, (void)names;
    if (here && here->n_enabled)
        on_leave(args[0]);
    Py_RETURN_NONE;
}

static PyObject *comes_to_line(PyObject *self, PyObject *const *args, size_t n, PyObject *names)
{
    (void)self, (void)n, (void)names;
    if (here && here->n_enabled)
        on_line(args[0], (uint32_t)PyLong_AsLong(args[1]));
    Py_RETURN_NONE;
}

static bool listen(void)
{
    static const struct ar_monitoring_event local[] = {
        {"PY_START", enters, NULL}, {"PY_RESUME", enters, NULL},   {"PY_RETURN", leaves, NULL},
        {"PY_YIELD", leaves, NULL}, {"LINE", comes_to_line, NULL},
    };
    static const struct ar_monitoring_event everywhere[] = {{"PY_THROW", enters, NULL},
                                                            {"PY_UNWIND", leaves, NULL}};

    for (size_t i = 0; i < sizeof local / sizeof *local; i++)
        if (!ar_monitoring_listen_locally(&tool, &local[i]))
            return false;
    return ar_monitoring_listen(&tool, everywhere, 2, NULL) && ar_monitoring_watch(&tool);
}

static bool watch(PyCodeObject *code)
{
    static const int ids[] = {3, 4, 5, 2, 1};

    if (!tool.name) {
        if (!ar_monitoring_take(&tool, ids, sizeof ids / sizeof *ids, "allranks lines"))
            return false;
        if (!listen()) {
            ar_monitoring_free(&tool);
            return false;
        }
    }
    return ar_monitoring_watch_code(&tool, code);
}

static void begin_thread(void)
{
}

static void end_thread(void)
{
}

#else

static int on_event(PyObject *object, PyFrameObject *frame, int what, PyObject *argument)
{
#if PY_VERSION_HEX >= 0x030B0000
    PyCodeObject *code = frame->f_frame->f_code;
#else
    PyCodeObject *code = frame->f_code;
#endif

    if (!here || !here->n_enabled)
        return 0;
    if (what == PyTrace_LINE)
        on_line(code, (uint32_t)frame->f_lineno);
    else if (what == PyTrace_CALL)
        on_enter(code);
    else if (what == PyTrace_RETURN)
        on_leave(code);
    return here->program ? here->program(object, frame, what, argument) : 0;
}

/* In the thread's state itself: sys.settrace would be seen by audit hooks, and sys.gettrace would answer with it. */
static void set_trace(Py_tracefunc function)
{
    PyThreadState *ts = PyThreadState_Get();

#if PY_VERSION_HEX < 0x030A0000
    /* How many threads have one: where none has, the interpreter does not look. */
    ts->interp->ceval.tracing_possible += (function != NULL) - (ts->c_tracefunc != NULL);
#endif
    ts->c_tracefunc = function;
    ar_tracing_update(ts);
}

static bool watch(PyCodeObject *code)
{
    (void)code;
    return true;
}

static void begin_thread(void)
{
    Py_tracefunc before = PyThreadState_Get()->c_tracefunc;

    if (before == on_event)
        return;
    here->program = ar_line_events_come_by(before) ? NULL : before;
    set_trace(on_event);
}

static void end_thread(void)
{
    if (PyThreadState_Get()->c_tracefunc == on_event)
        set_trace(here->program);
    here->program = NULL;
}

#endif

/* ---- methods ----------------------------------------------------------------------------------- */

PyDoc_STRVAR(add_doc, "add(code)\n--\n\nCount its lines.");

static PyObject *add(PyObject *object, PyObject *argument)
{
    struct ar_line_counts *counts = &((struct counter *)object)->counts;
    PyCodeObject *code = (PyCodeObject *)argument;
    size_t n_before = counts->n_codes;

    if (!PyCode_Check(argument))
        return PyErr_Format(PyExc_TypeError, "LineCounter.add takes a code object");
    if (ar_line_counts_add(counts, code, (uint32_t)code->co_firstlineno) < 0)
        return PyErr_NoMemory();
    if (counts->n_codes > n_before)
        Py_INCREF(argument);
    if (!watch(code))
        return NULL;
    Py_RETURN_NONE;
}

static struct enabled *find_enabled(const struct counter *self)
{
    for (size_t i = 0; here && i < here->n_enabled; i++)
        if (here->enabled[i].counter == self)
            return &here->enabled[i];
    return NULL;
}

PyDoc_STRVAR(enable_doc, "enable()\n--\n\nCount in this thread from now on.");

static PyObject *enable(PyObject *object, PyObject *unused)
{
    struct counter *self = (struct counter *)object;
    struct thread *t = this_thread();
    struct enabled *enabled;

    (void)unused;
    if (find_enabled(self))
        Py_RETURN_NONE;
    enabled = t ? realloc(t->enabled, (t->n_enabled + 1) * sizeof *enabled) : NULL;
    if (!enabled)
        return PyErr_NoMemory();
    Py_INCREF(object);
    t->enabled = enabled;
    t->enabled[t->n_enabled++] =
        (struct enabled){.counter = self, .stack = {.counts = &self->counts}};
    begin_thread();
    Py_RETURN_NONE;
}

PyDoc_STRVAR(disable_doc,
             "disable()\n--\n\nCount no longer in this thread. Lines that are open end.");

static PyObject *disable(PyObject *object, PyObject *unused)
{
    uint64_t now = ar_ticks();
    struct enabled *found = find_enabled((struct counter *)object);

    (void)unused;
    if (!found)
        Py_RETURN_NONE;
    ar_line_stack_close(&found->stack, now);
    ar_line_stack_free(&found->stack);
    *found = here->enabled[--here->n_enabled];
    if (!here->n_enabled)
        end_thread();
    Py_DECREF(object);
    Py_RETURN_NONE;
}

static double ns_per_tick(void)
{
    struct ar_stamp now = ar_stamp_now();

    return ar_clock_kind == AR_CLOCK_MONOTONIC ? 1.0
                                               : ar_scale_between(&clock_start, &now).ns_per_tick;
}

static PyObject *lines_of(const struct ar_counted_code *code, double scale)
{
    PyObject *lines = PyList_New(0);

    for (uint32_t i = 0; lines && i < code->n_rows; i++) {
        const struct ar_line_row *row = &code->rows[i];

        if (!row->hits)
            continue;

        PyObject *line = Py_BuildValue("(IKK)", code->first_line + i, row->hits,
                                       (unsigned long long)((double)row->ticks * scale));

        if (!line || PyList_Append(lines, line) < 0)
            Py_CLEAR(lines);
        Py_XDECREF(line);
    }
    return lines;
}

PyDoc_STRVAR(results_doc,
             "results()\n--\n\n"
             "A list of (code object, lines) for each that was added. Each line is its\n"
             "number, hits, and time in ns, without the line that is open.");

/* A list and no dict: two code objects may be equal, as after a module was loaded anew. */
static PyObject *results(PyObject *object, PyObject *unused)
{
    const struct ar_line_counts *counts = &((struct counter *)object)->counts;
    PyObject *all = PyList_New(0);
    double scale = ns_per_tick();

    (void)unused;
    for (size_t i = 0; all && i < counts->n_codes; i++) {
        PyObject *lines = lines_of(counts->codes[i], scale);
        PyObject *pair = lines ? PyTuple_Pack(2, counts->codes[i]->key, lines) : NULL;

        if (!pair || PyList_Append(all, pair) < 0)
            Py_CLEAR(all);
        Py_XDECREF(lines);
        Py_XDECREF(pair);
    }
    return all;
}

/* ---- the type ---------------------------------------------------------------------------------- */

static PyObject *counter_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args, (void)kwargs;
    if (!clock_start.mono_ns) {
        ar_clock_choose();
        clock_start = ar_stamp_now();
    }
    return type->tp_alloc(type, 0); /* zeroed */
}

/* Enabled counters are owned, so none of its stacks is left. */
static void counter_dealloc(PyObject *object)
{
    struct ar_line_counts counts = ((struct counter *)object)->counts;

    Py_TYPE(object)->tp_free(object);
    for (size_t i = 0; i < counts.n_codes; i++)
        Py_DECREF((PyObject *)counts.codes[i]->key);
    ar_line_counts_free(&counts);
}

static PyMethodDef methods[] = {
    {"add", add, METH_O, add_doc},
    {"enable", enable, METH_NOARGS, enable_doc},
    {"disable", disable, METH_NOARGS, disable_doc},
    {"results", results, METH_NOARGS, results_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(counter_doc,
             "LineCounter()\n--\n\nCounts lines of code objects, where it is enabled.");

static PyTypeObject counter_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "allranks._runtime.LineCounter",
    .tp_doc = counter_doc,
    .tp_basicsize = sizeof(struct counter),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = counter_new,
    .tp_dealloc = counter_dealloc,
    .tp_methods = methods,
};

bool ar_line_counter_register(PyObject *module)
{
    if (pthread_key_create(&thread_key, free_thread) != 0) {
        PyErr_SetString(PyExc_RuntimeError, "too many thread-specific data keys");
        return false;
    }
    if (PyType_Ready(&counter_type) < 0)
        return false;
    Py_INCREF(&counter_type);
    if (PyModule_AddObject(module, "LineCounter", (PyObject *)&counter_type) == 0)
        return true;
    Py_DECREF(&counter_type);
    return false;
}
