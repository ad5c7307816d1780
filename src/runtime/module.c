// SPDX-License-Identifier: BSD-3-Clause
/* allranks._runtime: what the launcher in Python needs of the runtime in C. */
#include "runtime/pyframe.h"

#include "runtime/engine.h"
#include "runtime/functions.h"
#include "runtime/livemap.h"
#include "runtime/recording.h"

PyDoc_STRVAR(start_doc,
             "start(output, live_dir, max_bytes, quiet, own_directory)\n--\n\n"
             "Begin to record this process. RuntimeError: it cannot be recorded, and why.");

static PyObject *start(PyObject *self, PyObject *args)
{
    struct ar_options options = {0};
    unsigned long long n_bytes_max;
    int quiet;
    const char *own_directory;
    struct ar_error err;

    (void)self;
    if (!PyArg_ParseTuple(args, "yyKpy", &options.output, &options.live_dir, &n_bytes_max, &quiet,
                          &own_directory))
        return NULL;
    options.n_bytes_max = n_bytes_max;
    options.quiet = quiet;
    if (!ar_functions_init(own_directory))
        return NULL;
    if (ar_recording_start(&options, &err) < 0)
        return PyErr_Format(PyExc_RuntimeError, "%s", err.text);
    ar_livemap_fact("engine", ar_engine_name);
    if (!ar_engine_start()) {
        ar_recording_cancel();
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(finish_doc, "finish()\n--\n\nWrite the run file, unless MPI is to do so.");

static PyObject *finish(PyObject *self, PyObject *args)
{
    (void)self, (void)args;
    ar_recording_end_without_mpi();
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

/*
 * SystemExit is the interpreter's to handle; all else is printed here, where the traceback has the
 * program's frames only.
 */
static PyObject *print_error(void)
{
    int interrupted = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);

    if (PyErr_ExceptionMatches(PyExc_SystemExit))
        return NULL;
    PyErr_Print();
    return Py_BuildValue("(sO)", interrupted ? "interrupted" : "failed", Py_None);
}

PyDoc_STRVAR(
    call_main_doc,
    "call_main(function_or_code, *args)\n--\n\n"
    "Call a function, or run code in a namespace, at the bottom of an empty stack, as the\n"
    "interpreter runs the main module.\n"
    "Returns ('done', result), or 'failed' or 'interrupted' with the traceback printed.");

/*
 * Code is evaluated without a call of exec in between, which would take a level of the recursion
 * limit.
 */
static PyObject *call_or_run(PyObject *what, PyObject *args)
{
    if (PyCode_Check(what) && PyTuple_GET_SIZE(args) == 1)
        return PyEval_EvalCode(what, PyTuple_GET_ITEM(args, 0), PyTuple_GET_ITEM(args, 0));
    return PyObject_CallObject(what, args);
}

static PyObject *call_main(PyObject *self, PyObject *args)
{
    (void)self;
    if (PyTuple_GET_SIZE(args) < 1) {
        PyErr_SetString(PyExc_TypeError, "call_main needs something to call");
        return NULL;
    }

    PyObject *what = PyTuple_GET_ITEM(args, 0);
    PyObject *rest = PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args));

    if (!rest)
        return NULL;

    PyThreadState *ts = PyThreadState_Get();
    struct ar_hidden_frames hidden = ar_frames_hide(ts);
    PyObject *result = call_or_run(what, rest);
    PyObject *answer = result ? Py_BuildValue("(sN)", "done", result) : print_error();

    ar_frames_show(ts, hidden);
    Py_DECREF(rest);
    return answer;
}

static PyMethodDef methods[] = {
    {"start", start, METH_VARARGS, start_doc},
    {"fact", fact, METH_VARARGS, fact_doc},
    {"finish", finish, METH_NOARGS, finish_doc},
    {"call_main", call_main, METH_VARARGS, call_main_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "allranks._runtime",
    .m_doc = "The recorder. See ARCHITECTURE.md.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__runtime(void)
{
    return PyModule_Create(&definition);
}
