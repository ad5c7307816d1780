// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/profile_results.h"

#include <stdbool.h>
#include <stdlib.h>

static PyStructSequence_Field entry_fields[] = {
    {"code", "code object, or the name of a function in C"},
    {"callcount", "calls that have ended"},
    {"reccallcount", "those of them that were inside another one"},
    {"totaltime", "seconds from start to end of outermost calls"},
    {"inlinetime", "seconds without those of functions that were called"},
    {"calls", "list of the functions that were called, or None"},
    {NULL, NULL},
};

static PyStructSequence_Field subentry_fields[] = {
    {"code", "code object, or the name of a function in C"},
    {"callcount", "calls by this caller that have ended"},
    {"reccallcount", "those of them that were inside another one"},
    {"totaltime", "seconds from start to end of outermost calls"},
    {"inlinetime", "seconds without those of functions that were called"},
    {NULL, NULL},
};

static PyStructSequence_Desc entry_desc = {
    .name = "allranks._runtime.profiler_entry", .fields = entry_fields, .n_in_sequence = 6};
static PyStructSequence_Desc subentry_desc = {
    .name = "allranks._runtime.profiler_subentry", .fields = subentry_fields, .n_in_sequence = 5};

/* Made when first needed: every program that is recorded imports this module. */
static PyTypeObject *entry_type, *subentry_type;

static bool make_types(void)
{
    if (!entry_type)
        entry_type = PyStructSequence_NewType(&entry_desc);
    if (!subentry_type)
        subentry_type = PyStructSequence_NewType(&subentry_desc);
    return entry_type && subentry_type;
}

/* Takes `calls` over, which is NULL for a callee. */
static PyObject *new_item(PyTypeObject *type, const struct ar_pairs_row *row, double unit_s,
                          PyObject *calls)
{
    PyObject *item = PyStructSequence_New(type);
    PyObject *fields[] = {
        (Py_INCREF((PyObject *)row->object), row->object),
        PyLong_FromUnsignedLongLong(row->n_calls),
        PyLong_FromUnsignedLongLong(row->n_nested),
        PyFloat_FromDouble(unit_s * (double)row->time),
        PyFloat_FromDouble(unit_s * (double)row->self_time),
        calls,
    };
    bool done = item != NULL;

    for (Py_ssize_t i = 0; i < (calls ? 6 : 5); i++) {
        done = done && fields[i];
        if (item)
            PyStructSequence_SET_ITEM(item, i, fields[i]);
        else
            Py_XDECREF(fields[i]);
    }
    if (!done)
        Py_CLEAR(item);
    return item;
}

static bool append(PyObject *list, PyObject *item)
{
    bool done = item && PyList_Append(list, item) == 0;

    Py_XDECREF(item);
    return done;
}

static PyObject *new_list_of_callees(const struct ar_pairs_row *rows, size_t n, double unit_s)
{
    if (n == 0)
        return Py_INCREF(Py_None), Py_None;

    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < n; i++)
        if (!append(list, new_item(subentry_type, &rows[i], unit_s, NULL)))
            Py_CLEAR(list);
    return list;
}

static PyObject *new_list(const struct ar_pairs_row *rows, size_t n_rows, double unit_s)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < n_rows; i += 1 + rows[i].n_callees) {
        PyObject *calls = new_list_of_callees(&rows[i + 1], rows[i].n_callees, unit_s);

        if (!calls || !append(list, new_item(entry_type, &rows[i], unit_s, calls)))
            Py_CLEAR(list);
    }
    return list;
}

PyObject *ar_profile_results(struct ar_pairs *pairs, double unit_s)
{
    struct ar_pairs_row *rows;
    size_t n_rows;

    if (!make_types())
        return NULL;
    if (ar_pairs_rows(pairs, &rows, &n_rows) < 0)
        return PyErr_NoMemory();
    for (size_t i = 0; i < n_rows; i++)
        Py_INCREF((PyObject *)rows[i].object);

    PyObject *list = new_list(rows, n_rows, unit_s);

    for (size_t i = 0; i < n_rows; i++)
        Py_DECREF((PyObject *)rows[i].object);
    free(rows);
    return list;
}
