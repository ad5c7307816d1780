// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/trace_functions.h"

#include "runtime/tracer.h"
#include "runtime/tree.h"

#include <string.h>

PyDoc_STRVAR(
    trace_on_doc,
    "trace_on()\n--\n\n"
    "Record every call with its time from now on, in all threads. See: allranks run --trace.");

static PyObject *trace_on(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (ar_live_base)
        ar_trace_switch(true);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(trace_off_doc, "trace_off()\n--\n\nRecord no more single calls; the profile goes on.");

static PyObject *trace_off(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (ar_live_base)
        ar_trace_switch(false);
    Py_RETURN_NONE;
}

/* An int of 64 bits: signed, if it is one; else it has to fit without a sign. False: an exception is set. */
static bool read_number(PyObject *value, bool is_unsigned, struct ar_trace_parameter *out)
{
    int overflow = 0;
    long long number = is_unsigned ? 0 : PyLong_AsLongLongAndOverflow(value, &overflow);

    out->type = is_unsigned || overflow > 0 ? AR_TRACE_UNSIGNED : AR_TRACE_SIGNED;
    out->value = (uint64_t)number;
    if (overflow < 0)
        PyErr_SetString(PyExc_OverflowError, "a parameter has at most 64 bits");
    else if (out->type == AR_TRACE_UNSIGNED)
        out->value = PyLong_AsUnsignedLongLong(value);
    return !PyErr_Occurred();
}

static bool read_text(PyObject *text, const char **to, size_t *n)
{
    Py_ssize_t n_bytes;

    *to = PyUnicode_AsUTF8AndSize(text, &n_bytes);
    *n = (size_t)n_bytes;
    return *to != NULL;
}

PyDoc_STRVAR(parameter_doc, "parameter(name, value, is_unsigned=False)\n--\n\n"
                            "Note an int or a str in the trace, where the program is now.");

static PyObject *note_parameter(PyObject *self, PyObject *args)
{
    struct ar_trace_parameter parameter = {.type = AR_TRACE_TEXT};
    PyObject *name, *value;
    int is_unsigned = 0;

    (void)self;
    if (!PyArg_ParseTuple(args, "UO|p", &name, &value, &is_unsigned))
        return NULL;
    if (!PyUnicode_Check(value) && !PyLong_Check(value)) {
        PyErr_Format(PyExc_TypeError, "a parameter is an int or a str, not %s",
                     Py_TYPE(value)->tp_name);
        return NULL;
    }
    if (!read_text(name, &parameter.name, &parameter.n_name) ||
        !(PyLong_Check(value) ? read_number(value, is_unsigned, &parameter)
                              : read_text(value, &parameter.text, &parameter.n_text)))
        return NULL;
    if (ar_live_base)
        ar_trace_parameter(ar_thread_self(), &parameter);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(trace_place_doc,
             "trace_place()\n--\n\nWhere this thread's trace ends now; 0: there is none.");

static PyObject *trace_place(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyLong_FromUnsignedLongLong(ar_self ? ar_trace_place(ar_self) : 0);
}

PyDoc_STRVAR(trace_take_back_doc,
             "trace_take_back(place)\n--\n\nForget what this thread's trace has recorded since.");

static PyObject *trace_take_back(PyObject *self, PyObject *arg)
{
    unsigned long long place = PyLong_AsUnsignedLongLong(arg);

    (void)self;
    if (PyErr_Occurred())
        return NULL;
    if (ar_self)
        ar_trace_take_back(ar_self, place);
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"trace_on", trace_on, METH_NOARGS, trace_on_doc},
    {"trace_off", trace_off, METH_NOARGS, trace_off_doc},
    {"parameter", note_parameter, METH_VARARGS, parameter_doc},
    {"trace_place", trace_place, METH_NOARGS, trace_place_doc},
    {"trace_take_back", trace_take_back, METH_O, trace_take_back_doc},
    {NULL, NULL, 0, NULL},
};

bool ar_trace_functions_register(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}
