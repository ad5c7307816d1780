// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engine.h"

#include "runtime/pyframe.h"

#include <stdio.h>

static const struct ar_engine *engine;
static char described[512]; /* which one, and why if it is not the native one */

static void describe_fallback(PyObject *why)
{
    PyObject *text = PyUnicode_FromFormat("%s, since %S", engine->name, why);
    const char *bytes = text ? PyUnicode_AsUTF8(text) : NULL;

    if (bytes)
        snprintf(described, sizeof described, "%s", bytes);
    else
        PyErr_Clear();
    Py_XDECREF(text);
}

/* Where another tool holds the native engine's hook. */
static bool start_fallback(void)
{
    PyObject *type, *why, *traceback;

    PyErr_Fetch(&type, &why, &traceback);
    engine = &ar_engine_trace;

    bool started = engine->start();

    if (started)
        describe_fallback(why);
    Py_XDECREF(type);
    Py_XDECREF(why);
    Py_XDECREF(traceback);
    return started;
}

static enum ar_status start(const struct ar_options *options, struct ar_error *err)
{
    (void)options;
    engine = &ar_engine_native;
    if (engine->start()) {
        snprintf(described, sizeof described, "%s", engine->name);
        return AR_OK;
    }
    if (PyErr_ExceptionMatches(PyExc_RuntimeError) && start_fallback())
        return AR_OK;
    return ar_fail(err, AR_BAD, "Python functions cannot be seen");
}

static void stop(enum ar_source_end why)
{
    if (why == AR_SOURCE_CANCELLED)
        engine->stop();
}

static void thread_starts(struct ar_thread *t)
{
    if (engine->thread_starts)
        engine->thread_starts(t);
}

static void describe(ar_fact_fn *fact)
{
    if (*described)
        fact("engine", described);
}

const struct ar_source ar_source_python = {
    .name = "python",
    .start = start,
    .stop = stop,
    .thread_starts = thread_starts,
    .describe = describe,
};

const char *ar_engine_name(void)
{
    return engine->name;
}
