// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/counting_object.h"

#include "base/clock.h"
#include "counters/counter_set.h"
#include "runtime/counters.h"
#include "runtime/measures.h"
#include "runtime/regions.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A counter of the program: one of its own, or of the recording, which counts the event already. */
struct event {
    struct ar_counter counter; /* with the name that the program asked for */
    bool is_borrowed;
    size_t which; /* among the program's own, or among the recording's */
};

/* Counters count the thread that has opened them. PAPI wants them closed by that thread, too. */
struct opened {
    struct ar_counter_set set;
    uint64_t thread; /* 0: it is not open */
    pid_t process;
};

/*
 * Opening counters takes the kernel 50 to 150 microseconds, and reading them less than 10. So those of the main thread stay open from one
 * start() to the next; another thread, which may end unnoticed, closes its own in stop().
 */
struct counting {
    PyObject_HEAD struct event events[AR_MAX_COUNTERS];
    size_t n;
    struct ar_counter own[AR_MAX_COUNTERS]; /* those that are not borrowed */
    size_t n_own;
    struct opened of_main,
        of_other; /* counters of the main thread, and of another one while it counts */
    /* Since start(): */
    struct opened *in_use;
    uint32_t region; /* 0: not recorded */
    uint64_t since[AR_MAX_COUNTERS];
    uint64_t since_ns;
};

/* Not the system's number of a thread, which is given again. */
static __thread uint64_t thread_here __attribute__((tls_model("initial-exec")));
static uint64_t n_threads;

static uint64_t this_thread(void)
{
    if (!thread_here)
        thread_here = __atomic_add_fetch(&n_threads, 1, __ATOMIC_RELAXED);
    return thread_here;
}

/* ---- metrics --------------------------------------------------------------------------------- */

/* Which measure and word a name has in the live file. Measures never end, so neither do these. */
#define MOST_METRICS 128
static struct metric {
    char name[AR_COUNTER_NAME_BYTES];
    uint32_t measure;
    uint8_t word;
} metrics[MOST_METRICS];
static size_t n_metrics;

static const struct metric *find_metric(const char *name)
{
    for (size_t i = 0; i < n_metrics; i++)
        if (strcmp(metrics[i].name, name) == 0)
            return &metrics[i];
    return NULL;
}

static void declare(const struct ar_counter *list, size_t n)
{
    uint32_t measure = ar_counters_measure(list, n);

    for (size_t i = 0; i < n && measure; i++) {
        struct metric *metric = &metrics[n_metrics++];

        memcpy(metric->name, list[i].name, sizeof metric->name);
        metric->measure = measure;
        metric->word = (uint8_t)(1 + i);
    }
}

/* Those that the live file does not describe yet, in as few measures as there can be. */
static void declare_metrics(const struct counting *self)
{
    struct ar_counter list[AR_COUNTERS_PER_MEASURE];
    size_t n = 0;

    for (size_t i = 0; i < self->n; i++) {
        const struct ar_counter *counter = &self->events[i].counter;

        if (ar_counters_has_metric(counter->name) || find_metric(counter->name) ||
            n_metrics + n == MOST_METRICS)
            continue;
        list[n++] = *counter;
        if (n == AR_COUNTERS_PER_MEASURE) {
            declare(list, n);
            n = 0;
        }
    }
    if (n)
        declare(list, n);
}

static void add_to_node(struct ar_thread *t, struct ar_node *node, const char *name, uint64_t value)
{
    const struct metric *metric = ar_counters_has_metric(name) ? NULL : find_metric(name);
    uint64_t *words = metric ? ar_measure_block(t, node, metric->measure) : NULL;

    if (words)
        __atomic_store_n(&words[metric->word], words[metric->word] + value, __ATOMIC_RELAXED);
}

/* The region may have been left, or nothing is recorded at present: then the values are the program's alone. */
static void record(const struct counting *self, const uint64_t *values)
{
    struct ar_thread *t = ar_live_base && self->region ? ar_self : NULL;
    struct ar_node *node = t ? ar_tree_find_open(t, self->region) : NULL;

    if (!node || t->n_unseen & AR_UNSEEN_PAUSED)
        return;
    for (size_t i = 0; i < self->n; i++)
        add_to_node(t, node, self->events[i].counter.name, values[i]);
}

/* ---- which ------------------------------------------------------------------------------------ */

/* Can it be counted together with those before it? */
static enum ar_status try_own(struct counting *self, const char *name, struct ar_error *err)
{
    struct ar_counter_set set;
    size_t which;
    enum ar_status status = AR_OK;

    status = ar_counter_find(&self->own[self->n_own], name, err);
    if (status == AR_OK)
        status = ar_counter_set_open(&set, self->own, self->n_own + 1, &which, err);
    if (status == AR_OK)
        ar_counter_set_close(&set);
    else if (status == AR_UNSUPPORTED && ar_live_base && ar_counters_use_papi() &&
             strncmp(name, "PAPI_", 5) == 0)
        ar_fail(err, status,
                "the recording counts with PAPI, which counts for a thread in one place only (name "
                "it in --counters, too)");
    return status;
}

static enum ar_status add_named(struct counting *self, const char *name, struct ar_error *err)
{
    struct event *event = &self->events[self->n];
    size_t which;
    const struct ar_counter *of_recording = ar_live_base ? ar_counters_find(name, &which) : NULL;

    if (of_recording) {
        *event = (struct event){.counter = *of_recording, .is_borrowed = true, .which = which};
        snprintf(event->counter.name, sizeof event->counter.name, "%s", name);
    } else {
        enum ar_status status = try_own(self, name, err);

        if (status < 0)
            return status;
        *event = (struct event){.counter = self->own[self->n_own], .which = self->n_own};
        self->n_own++;
    }
    self->n++;
    return AR_OK;
}

static bool has(const struct counting *self, const char *name)
{
    for (size_t i = 0; i < self->n; i++)
        if (strcmp(self->events[i].counter.name, name) == 0)
            return true;
    return false;
}

static enum ar_status add_event(struct counting *self, const char *name, struct ar_error *err)
{
    if (self->n == AR_MAX_COUNTERS)
        return ar_fail(err, AR_UNSUPPORTED, "more than %d counters (ask for fewer)",
                       AR_MAX_COUNTERS);
    if (has(self, name))
        return ar_fail(err, AR_UNSUPPORTED, "it is counted already (name it once)");
    return add_named(self, name, err);
}

/* ---- reading ---------------------------------------------------------------------------------- */

static bool is_ours(const struct opened *opened)
{
    return opened->thread == this_thread() && opened->process == getpid();
}

static void close_set(struct counting *self, struct opened *opened)
{
    if (!opened->thread)
        return;
    if (opened->process != getpid())
        ar_counter_set_forked();
    ar_counter_set_close(&opened->set);
    opened->thread = 0;
    if (self->in_use == opened)
        self->in_use = NULL;
}

static struct opened *opened_here(struct counting *self)
{
    return syscall(SYS_gettid) == getpid() ? &self->of_main : &self->of_other;
}

static enum ar_status open_set(struct counting *self, struct opened *opened, struct ar_error *err)
{
    size_t which;

    if (is_ours(opened))
        return AR_OK;
    close_set(self, opened);
    if (self->n_own && ar_counter_set_open(&opened->set, self->own, self->n_own, &which, err) < 0)
        return AR_UNSUPPORTED;
    opened->thread = this_thread();
    opened->process = getpid();
    return AR_OK;
}

/* By event. Nothing but the counters is touched, since what is done here counts, too. */
static bool read_all(const struct counting *self, struct opened *opened, uint64_t *values)
{
    uint64_t own[AR_MAX_COUNTERS], of_recording[AR_MAX_COUNTERS];

    if (self->n_own && !ar_counter_set_read(&opened->set, own))
        return false;
    if (self->n_own < self->n && !ar_counters_read(ar_self, of_recording))
        return false;
    for (size_t i = 0; i < self->n; i++) {
        const struct event *event = &self->events[i];

        values[i] = event->is_borrowed ? of_recording[event->which] : own[event->which];
    }
    return true;
}

static PyObject *lost(const char *why)
{
    return PyErr_Format(PyExc_RuntimeError, "%s", why);
}

#define GONE "its counters are gone (does the program close descriptors that it has not opened?)"

/* ---- methods --------------------------------------------------------------------------------- */

PyDoc_STRVAR(add_doc,
             "add(event)\n--\n\n"
             "Count that, too: a name, or PAPI's number. Returns the name.\n"
             "LookupError: there is no such event; ValueError: it cannot be counted here.");

static PyObject *fail(enum ar_status status, const struct ar_error *err)
{
    PyErr_SetString(status == AR_BAD ? PyExc_LookupError : PyExc_ValueError, err->text);
    return NULL;
}

static PyObject *add(PyObject *object, PyObject *event)
{
    struct counting *self = (struct counting *)object;
    struct ar_error err;
    char of_code[AR_PAPI_NAME_BYTES];
    const char *name = of_code;
    enum ar_status status = AR_OK;

    if (PyLong_Check(event)) {
        int overflows;
        long code = PyLong_AsLongAndOverflow(event, &overflows);

        if (overflows || code != (int)code)
            status = ar_fail(&err, AR_BAD, "no number of PAPI (it has 32 bits)");
        else
            status = ar_papi_name(of_code, (int)code, &err);
    } else {
        name = PyUnicode_AsUTF8(event);
        if (!name)
            return NULL;
    }
    close_set(self, &self->of_main);
    close_set(self, &self->of_other);
    if (status == AR_OK)
        status = add_event(self, name, &err);
    return status < 0 ? fail(status, &err) : PyUnicode_FromString(name);
}

PyDoc_STRVAR(start_doc, "start(region)\n--\n\n"
                        "Count this thread from now on. RuntimeError: it cannot be, and why.");

static PyObject *start(PyObject *object, PyObject *region)
{
    struct counting *self = (struct counting *)object;
    struct ar_error err;

    if (!PyUnicode_Check(region))
        return PyErr_Format(PyExc_TypeError, "the name of a region is a str");
    struct opened *opened = opened_here(self);

    self->in_use = NULL;
    self->region = 0;
    if (ar_live_base) {
        declare_metrics(self);
        self->region = ar_region_number(region);
    }
    if (open_set(self, opened, &err) < 0)
        return lost(err.text);
    if (!read_all(self, opened, self->since)) { /* closed by the program since the last time */
        close_set(self, opened);
        if (open_set(self, opened, &err) < 0)
            return lost(err.text);
    }
    self->in_use = opened;
    self->since_ns = ar_clock_ns(CLOCK_MONOTONIC);
    if (!read_all(self, opened, self->since))
        return lost(GONE);
    Py_RETURN_NONE;
}

static PyObject *list_of(const uint64_t *values, size_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);

    for (size_t i = 0; list && i < n; i++) {
        PyObject *value = PyLong_FromUnsignedLongLong(values[i]);

        if (value)
            PyList_SET_ITEM(list, (Py_ssize_t)i, value);
        else
            Py_CLEAR(list);
    }
    return list;
}

PyDoc_STRVAR(stop_doc, "stop()\n--\n\n"
                       "Values in the order of events, nanoseconds since start(), and whether the\n"
                       "values are estimates. RuntimeError: there are none, and why.");

static PyObject *stop(PyObject *object, PyObject *unused)
{
    struct counting *self = (struct counting *)object;
    uint64_t values[AR_MAX_COUNTERS] = {0};
    uint64_t now_ns = ar_clock_ns(CLOCK_MONOTONIC);
    struct opened *opened = self->in_use;
    bool is_there = opened && is_ours(opened) && read_all(self, opened, values);

    (void)unused;
    if (!opened || opened->process != getpid())
        return lost("it was not started in this process");
    if (!is_ours(opened))
        return lost("it was started in another thread (start and end it in the same one)");

    bool is_estimate = ar_counter_set_is_scaled(&opened->set);

    self->in_use = NULL;
    if (!is_there || opened == &self->of_other)
        close_set(self, opened);
    if (!is_there)
        return lost(GONE);
    for (size_t i = 0; i < self->n; i++)
        values[i] = values[i] > self->since[i] ? values[i] - self->since[i] : 0;
    record(self, values);
    return Py_BuildValue("NKN", list_of(values, self->n),
                         (unsigned long long)(now_ns - self->since_ns),
                         PyBool_FromLong(is_estimate));
}

PyDoc_STRVAR(close_doc, "close()\n--\n\nCount nothing until the next start().");

/* Those of the main thread are left to it, if this is another one. */
static PyObject *close_method(PyObject *object, PyObject *unused)
{
    struct counting *self = (struct counting *)object;

    (void)unused;
    close_set(self, &self->of_other);
    if (is_ours(&self->of_main) || self->of_main.process != getpid())
        close_set(self, &self->of_main);
    Py_RETURN_NONE;
}

/* ---- the type -------------------------------------------------------------------------------- */

static void counting_dealloc(PyObject *object)
{
    struct counting *self = (struct counting *)object;

    close_set(self, &self->of_other);
    close_set(self, &self->of_main);
    Py_TYPE(object)->tp_free(object);
}

static PyMethodDef methods[] = {
    {"add", add, METH_O, add_doc},
    {"start", start, METH_O, start_doc},
    {"stop", stop, METH_NOARGS, stop_doc},
    {"close", close_method, METH_NOARGS, close_doc},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(counting_doc, "Counting()\n--\n\nCounters of the calling thread.");

static PyTypeObject counting_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "allranks._runtime.Counting",
    .tp_doc = counting_doc,
    .tp_basicsize = sizeof(struct counting),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_dealloc = counting_dealloc,
    .tp_methods = methods,
};

bool ar_counting_object_register(PyObject *module)
{
    if (PyType_Ready(&counting_type) < 0)
        return false;
    Py_INCREF(&counting_type);
    if (PyModule_AddObject(module, "Counting", (PyObject *)&counting_type) == 0)
        return true;
    Py_DECREF(&counting_type);
    return false;
}
