// SPDX-License-Identifier: BSD-3-Clause
/* allranks._runtime: what the launcher in Python needs of the runtime in C. */
#include "runtime/pyframe.h"

#include "runtime/after_run.h"
#include "runtime/budget.h"
#include "runtime/c_cheap.h"
#include "runtime/c_stubs.h"
#include "runtime/closing_line.h"
#include "runtime/counters.h"
#include "runtime/counting_object.h"
#include "runtime/elf_slots.h"
#include "runtime/endings.h"
#include "runtime/engine.h"
#include "runtime/filter_rules.h"
#include "runtime/filters.h"
#include "runtime/function_switch.h"
#include "runtime/functions.h"
#include "runtime/last_export.h"
#include "runtime/line_counter.h"
#include "runtime/line_functions.h"
#include "runtime/livemap.h"
#include "runtime/profile_object.h"
#include "runtime/recording.h"
#include "runtime/recording_state.h"
#include "runtime/regions.h"

#include "runtime/sources.h"
#include "runtime/stretches.h"
#include "runtime/trace_functions.h"
#include "runtime/tracer.h"

#include <string.h>
#include <unistd.h>

static bool add_filters(const struct ar_option_texts *globs, enum ar_filter_kind kind)
{
    for (size_t i = 0; i < globs->n; i++)
        if (!ar_filters_add(kind, globs->items[i])) {
            PyErr_NoMemory();
            return false;
        }
    return true;
}

static bool add_rules(const struct ar_option_texts *rules)
{
    for (size_t i = 0; i < rules->n; i++)
        if (!ar_filter_rules_add(rules->items[i])) {
            PyErr_Format(PyExc_RuntimeError, "%s: no rule of a filter", rules->items[i]);
            return false;
        }
    return true;
}

/* Returns false with an exception. */
static bool start_recording(const struct ar_options *options)
{
    struct ar_error err;

    ar_filters_set_imports(options->no_import || options->builtins != AR_BUILTINS_ALL);
    ar_budget_set(options->budget);
    if (!add_filters(&options->include, AR_FILTER_INCLUDE) ||
        !add_filters(&options->exclude, AR_FILTER_EXCLUDE) || !add_rules(&options->filter_rules) ||
        !add_filters(&options->counters_at, AR_FILTER_COUNT) ||
        !add_filters(&options->trace_at, AR_FILTER_TRACE) ||
        !add_filters(&options->lines, AR_FILTER_LINES) ||
        !ar_functions_init(options->own_directory))
        return false;
    if (ar_recording_start(options, &err) == AR_OK)
        return true;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_RuntimeError, "%s", err.text);
    return false;
}

PyDoc_STRVAR(start_doc, "start(options)\n--\n\n"
                        "Begin to record this process; see src/runtime/recording_options.h.\n"
                        "RuntimeError: it cannot be recorded, and why.");

static PyObject *start(PyObject *self, PyObject *args)
{
    struct ar_options options;
    PyObject *dict;

    (void)self;
    if (!PyArg_ParseTuple(args, "O!", &PyDict_Type, &dict))
        return NULL;

    bool started = ar_recording_options_read(&options, dict) && start_recording(&options);

    ar_recording_options_free(&options);
    return started ? PyUnicode_FromString(ar_engine_name()) : NULL;
}

PyDoc_STRVAR(check_counters_doc, "check_counters(names, is_optional, everywhere)\n--\n\n"
                                 "ValueError: these cannot be counted here, and why.");

static PyObject *check_counters(PyObject *self, PyObject *args)
{
    struct ar_error err;
    const char *names;
    int is_optional, everywhere;

    (void)self;
    if (!PyArg_ParseTuple(args, "ypp", &names, &is_optional, &everywhere))
        return NULL;
    if (ar_counters_check(names, is_optional, everywhere, &err) < 0)
        return PyErr_Format(PyExc_ValueError, "%s", err.text);
    Py_RETURN_NONE;
}

/* ---- what it costs --------------------------------------------------------------------------- */

#define N_CALIBRATION_ROUNDS 5

static struct ar_calibration calibration;

/* The least of several rounds: what disturbs only adds. */
static uint64_t time_loop(PyObject *loop)
{
    uint64_t best = UINT64_MAX;

    for (int round = 0; round < N_CALIBRATION_ROUNDS; round++) {
        uint64_t before = ar_ticks();

        Py_XDECREF(PyObject_CallNoArgs(loop));

        uint64_t ticks = ar_ticks() - before;

        if (ticks < best)
            best = ticks;
    }
    PyErr_Clear();
    return best;
}

/* By the processor's clock: when this module was loaded, which is the first that we can know. */
static uint64_t loaded_cpu_ns;

/* The program is about to run. What has been spent until now, on whatever, is the start. */
static void note_start(void)
{
    struct ar_live_header *h = ar_live_header();
    uint64_t cpu_ns = ar_clock_ns(CLOCK_THREAD_CPUTIME_ID) - loaded_cpu_ns;

    memset(h->spent_ticks, 0, sizeof h->spent_ticks);
    memset(h->spent_ns, 0, sizeof h->spent_ns);
    h->n_sought = 0;
    h->spent_ns[AR_OVERHEAD_START] = cpu_ns;
}

PyDoc_STRVAR(calibrate_doc,
             "calibrate(loop, loop_in_c, n_calls)\n--\n\n"
             "Time loops that call a function n_calls times, before start and after it.");

static PyObject *calibrate(PyObject *self, PyObject *args)
{
    PyObject *loop, *loop_in_c;

    (void)self;
    if (!PyArg_ParseTuple(args, "OOI", &loop, &loop_in_c, &calibration.n_calls))
        return NULL;
    if (!ar_live_base) {
        ar_clock_choose();
        calibration.plain_ticks = time_loop(loop);
        calibration.plain_c_ticks = time_loop(loop_in_c);
    } else {
        calibration.ticks = time_loop(loop);
        calibration.c_ticks = time_loop(loop_in_c);
        calibration.times_all = !ar_c_learns;
        ar_budget_calibrate(&calibration);
        ar_c_cheap_calibrate();
        ar_stretches_calibrate();
        note_start();
        ar_thread_restart(ar_self);
        ar_trace_begin();
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(
    finish_doc,
    "finish(says_nothing)\n--\n\n"
    "Write the run file, unless MPI is to do so. Returns its path, and whether this process\n"
    "speaks for all ranks; None: nothing was written.");

static PyObject *finish(PyObject *self, PyObject *args)
{
    int says_nothing;

    (void)self;
    if (!PyArg_ParseTuple(args, "p", &says_nothing))
        return NULL;
    ar_sources_stop(AR_SOURCE_PYTHON_ENDS);
    ar_end_at_python_exit(says_nothing);
    if (!*ar_recording_written())
        Py_RETURN_NONE;
    return Py_BuildValue("yO", ar_recording_written(), ar_closing_prints() ? Py_True : Py_False);
}

PyDoc_STRVAR(export_if_terminated_doc,
             "export_if_terminated(program, format, target, keeps)\n--\n\n"
             "On SIGTERM have the command write a file of that format, in\n"
             "place of the live file or besides it.");

static PyObject *export_if_terminated(PyObject *self, PyObject *args)
{
    struct ar_last_export wanted;
    int keeps;

    (void)self;
    if (!PyArg_ParseTuple(args, "ysyp", &wanted.program, &wanted.format, &wanted.target, &keeps))
        return NULL;
    wanted.keeps = keeps;
    return PyBool_FromLong(ar_export_when_terminated(&wanted));
}

PyDoc_STRVAR(live_file_doc,
             "live_file()\n--\n\n"
             "Path of this process's live file, which the command reads; None: there\n"
             "is no recording.");

static PyObject *live_file(PyObject *self, PyObject *args)
{
    (void)self, (void)args;
    if (!ar_recording_is_open())
        Py_RETURN_NONE;
    return PyBytes_FromString(ar_livemap_path());
}

PyDoc_STRVAR(after_run_doc, "after_run(*words)\n--\n\n"
                            "What this process starts at its end if it writes the run file, with\n"
                            "the path of that. Without words: now.");

static PyObject *after_run(PyObject *self, PyObject *args)
{
    const char *words[64];
    Py_ssize_t n = PyTuple_GET_SIZE(args);

    (void)self;
    if (n > (Py_ssize_t)(sizeof words / sizeof *words)) {
        PyErr_SetString(PyExc_ValueError, "too many words");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (!(words[i] = PyBytes_AsString(PyTuple_GET_ITEM(args, i))))
            return NULL;
    if (!n)
        ar_after_run();
    else if (!ar_after_run_set(words, (size_t)n))
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

PyDoc_STRVAR(expect_sigint_doc,
             "expect_sigint()\n--\n\nThe interpreter will end the process by SIGINT.");

static PyObject *expect_sigint(PyObject *self, PyObject *args)
{
    (void)self, (void)args;
    ar_after_run_expect_signal();
    Py_RETURN_NONE;
}

PyDoc_STRVAR(forked_doc, "forked()\n--\n\nIn the child of a fork: go on in a file of its own.");

static PyObject *forked(PyObject *self, PyObject *args)
{
    (void)self, (void)args;
    ar_recording_forked();
    Py_RETURN_NONE;
}

PyDoc_STRVAR(fact_doc, "fact(key, value)\n--\n\nNote something about the run.");

static PyObject *fact(PyObject *self, PyObject *args)
{
    const char *key, *value;

    (void)self;
    if (!PyArg_ParseTuple(args, "sy", &key, &value))
        return NULL;
    ar_livemap_fact(key, value);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(
    remote_file_system_doc,
    "remote_file_system()\n--\n\n"
    "Name of the network or user-space file system that the live file is on, and the directory.\n"
    "None: it is on a local one, or another rank says so.");

static PyObject *remote_file_system(PyObject *self, PyObject *args)
{
    const char *name = ar_recording_remote_file_system();

    (void)self, (void)args;
    if (!name || !ar_closing_prints())
        Py_RETURN_NONE;
    return Py_BuildValue("sy", name, ar_recording_directory());
}

PyDoc_STRVAR(unrecorded_doc,
             "unrecorded(function, *args)\n--\n\n"
             "Call it; what it does in this thread, MPI calls included, is not recorded.");

static PyObject *unrecorded(PyObject *self, PyObject *args)
{
    (void)self;
    if (PyTuple_GET_SIZE(args) < 1) {
        PyErr_SetString(PyExc_TypeError, "unrecorded needs a function");
        return NULL;
    }

    PyObject *rest = PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args));

    if (!rest)
        return NULL;

    struct ar_ours ours = ar_ours_begin(ar_self);
    PyObject *result = PyObject_CallObject(PyTuple_GET_ITEM(args, 0), rest);

    ar_ours_end(ours);
    Py_DECREF(rest);
    return result;
}

PyDoc_STRVAR(cancel_doc, "cancel()\n--\n\nRecord nothing, and leave nothing behind.");

static PyObject *cancel(PyObject *self, PyObject *args)
{
    (void)self, (void)args;
    ar_end_cancelled();
    ar_sources_stop(AR_SOURCE_CANCELLED);
    Py_RETURN_NONE;
}

/* ---- running the program --------------------------------------------------------------------- */

/*
 * Each of these runs at the bottom of an empty stack and prints what goes wrong there, where the
 * traceback has the program's frames only. SystemExit is left to the interpreter.
 */

PyDoc_STRVAR(
    run_file_doc,
    "run_file(path)\n--\n\n"
    "Run a script, compiled file or (as '<stdin>') standard input as __main__, by the function\n"
    "that the interpreter itself uses. False: it failed, and that was printed.");

static PyObject *run_file(PyObject *self, PyObject *args)
{
    const char *path;
    PyCompilerFlags flags = {.cf_flags = 0, .cf_feature_version = PY_MINOR_VERSION};

    (void)self;
    if (!PyArg_ParseTuple(args, "y", &path))
        return NULL;

    bool is_stdin = strcmp(path, "<stdin>") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "rbe");

    if (!file)
        return PyErr_SetFromErrnoWithFilename(PyExc_OSError, path);

    PyThreadState *ts = PyThreadState_Get();
    struct ar_hidden_frames hidden = ar_frames_hide(ts);
    int rc = PyRun_AnyFileExFlags(file, path, !is_stdin, &flags);

    ar_frames_show(ts, hidden);
    return PyBool_FromLong(rc == 0);
}

PyDoc_STRVAR(run_code_doc, "run_code(source)\n--\n\nThe same for the source after -c.");

static PyObject *run_code(PyObject *self, PyObject *args)
{
    const char *source;
    PyCompilerFlags flags = {.cf_flags = PyCF_IGNORE_COOKIE,
                             .cf_feature_version = PY_MINOR_VERSION};

    (void)self;
    if (!PyArg_ParseTuple(args, "y", &source))
        return NULL;

    PyThreadState *ts = PyThreadState_Get();
    struct ar_hidden_frames hidden = ar_frames_hide(ts);
    int rc = PyRun_SimpleStringFlags(source, &flags);

    ar_frames_show(ts, hidden);
    return PyBool_FromLong(rc == 0);
}

PyDoc_STRVAR(run_module_doc,
             "run_module(function, *args)\n--\n\n"
             "The same for a function that runs a module as __main__, which is runpy's.");

static PyObject *run_module(PyObject *self, PyObject *args)
{
    (void)self;
    if (PyTuple_GET_SIZE(args) < 1) {
        PyErr_SetString(PyExc_TypeError, "run_module needs a function");
        return NULL;
    }

    PyObject *rest = PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args));

    if (!rest)
        return NULL;

    PyThreadState *ts = PyThreadState_Get();
    struct ar_hidden_frames hidden = ar_frames_hide(ts);
    PyObject *result = PyObject_CallObject(PyTuple_GET_ITEM(args, 0), rest);
    bool failed = !result && !PyErr_ExceptionMatches(PyExc_SystemExit);

    if (failed)
        PyErr_Print();
    ar_frames_show(ts, hidden);
    Py_DECREF(rest);
    if (!result && !failed)
        return NULL;
    Py_XDECREF(result);
    return PyBool_FromLong(!failed);
}

static PyMethodDef methods[] = {
    {"start", start, METH_VARARGS, start_doc},
    {"after_run", after_run, METH_VARARGS, after_run_doc},
    {"expect_sigint", expect_sigint, METH_NOARGS, expect_sigint_doc},
    {"calibrate", calibrate, METH_VARARGS, calibrate_doc},
    {"cancel", cancel, METH_NOARGS, cancel_doc},
    {"check_counters", check_counters, METH_VARARGS, check_counters_doc},
    {"export_if_terminated", export_if_terminated, METH_VARARGS, export_if_terminated_doc},
    {"fact", fact, METH_VARARGS, fact_doc},
    {"finish", finish, METH_VARARGS, finish_doc},
    {"forked", forked, METH_NOARGS, forked_doc},
    {"remote_file_system", remote_file_system, METH_NOARGS, remote_file_system_doc},
    {"live_file", live_file, METH_NOARGS, live_file_doc},
    {"run_code", run_code, METH_VARARGS, run_code_doc},
    {"run_file", run_file, METH_VARARGS, run_file_doc},
    {"run_module", run_module, METH_VARARGS, run_module_doc},
    {"unrecorded", unrecorded, METH_VARARGS, unrecorded_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "allranks._runtime",
    .m_doc = "The recorder. See ARCHITECTURE.md.",
    .m_size = -1,
    .m_methods = methods,
};

/* Pre-releases load what was built for another one, and keep their frames elsewhere. */
static bool check_version(void)
{
    PyObject *hexversion = PySys_GetObject("hexversion"); /* borrowed */
    uint32_t running = hexversion ? (uint32_t)PyLong_AsUnsignedLong(hexversion) : 0;
    char built_for_text[AR_PYTHON_TEXT_BYTES], running_text[AR_PYTHON_TEXT_BYTES];

    if (ar_python_fits(PY_VERSION_HEX, running))
        return true;
    ar_python_text(PY_VERSION_HEX, built_for_text);
    ar_python_text(running, running_text);
    PyErr_Format(PyExc_ImportError, "allranks was built for Python %s, and this is %s",
                 built_for_text, running_text);
    return false;
}

PyMODINIT_FUNC PyInit__runtime(void);

/* Import slots are found in the linker's tables, as glibc keeps them: our own have to be found so. */
static bool check_linker(void)
{
    struct ar_object own;

    if (confstr(_CS_GNU_LIBC_VERSION, NULL, 0) && ar_object_at((void *)PyInit__runtime, &own) &&
        ar_object_function(&own, "PyInit__runtime") == (void *)PyInit__runtime)
        return true;
    PyErr_SetString(
        PyExc_ImportError,
        "this Python runs on another C library than GNU's (use one that runs on glibc)");
    return false;
}

PyMODINIT_FUNC PyInit__runtime(void)
{
    loaded_cpu_ns = ar_clock_ns(CLOCK_THREAD_CPUTIME_ID);

    bool fits = check_version() && check_linker();
    PyObject *module = fits ? PyModule_Create(&definition) : NULL;

    if (module && (!ar_regions_register(module) || !ar_profile_object_register(module) ||
                   !ar_line_counter_register(module) || !ar_trace_functions_register(module) ||
                   !ar_line_functions_register(module) || !ar_function_switch_register(module) ||
                   !ar_counting_object_register(module)))
        Py_CLEAR(module);
    return module;
}
