// SPDX-License-Identifier: BSD-3-Clause
/*
 * allranks._reader: run files for python/allranks/_load.py, which makes arrays or data frames of them.
 *
 * A run is a capsule around a struct ar_view. Numbers cross as whole columns in a bytearray, never
 * one by one; texts as a list of str, in which equal texts are one object. What is not UTF-8 comes
 * as surrogates, so that os.fsencode gives back the bytes.
 *
 * Only the limited API is used: one build serves every later Python. The GIL is released while a
 * file is decoded and while values are copied.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "reader/columns.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CAPSULE_NAME "allranks.run"

/* ---- a run ----------------------------------------------------------------------------------- */

static void close_run(PyObject *capsule)
{
    struct ar_view *v = PyCapsule_GetPointer(capsule, CAPSULE_NAME);

    if (v) {
        ar_view_close(v);
        free(v);
    }
}

static PyObject *text(struct ar_str s)
{
    return PyUnicode_DecodeUTF8(s.text, (Py_ssize_t)s.n_bytes, "surrogateescape");
}

/* OSError for what could not be read, ValueError for what is no run. */
static PyObject *fail(enum ar_status status, const struct ar_error *err)
{
    PyObject *message = text((struct ar_str){err->text, strlen(err->text)});
    PyObject *kind = PyExc_ValueError;

    if (status == AR_IO)
        kind = PyExc_OSError;
    else if (status == AR_NOMEM)
        kind = PyExc_MemoryError;
    if (message)
        PyErr_SetObject(kind, message);
    Py_XDECREF(message);
    return NULL;
}

PyDoc_STRVAR(open_doc, "open(path, folded)\n--\n\nThe run at a path, for the functions below.");

static PyObject *open_run(PyObject *self, PyObject *args)
{
    const char *path;
    int folded;
    struct ar_error err = {""};
    enum ar_status status = AR_NOMEM;
    struct ar_view *v;
    PyObject *capsule;

    (void)self;
    if (!PyArg_ParseTuple(args, "yp", &path, &folded))
        return NULL;
    v = malloc(sizeof *v);
    if (!v)
        return PyErr_NoMemory();
    Py_BEGIN_ALLOW_THREADS status = ar_view_open(v, path, folded, &err);
    Py_END_ALLOW_THREADS if (status < 0)
    {
        free(v);
        return fail(status, &err);
    }
    capsule = PyCapsule_New(v, CAPSULE_NAME, close_run);
    if (!capsule) {
        ar_view_close(v);
        free(v);
    }
    return capsule;
}

static const struct ar_view *view_of(PyObject *capsule)
{
    return PyCapsule_GetPointer(capsule, CAPSULE_NAME);
}

/* ---- columns --------------------------------------------------------------------------------- */

static size_t cell_bytes(enum ar_cell_type type)
{
    return type == AR_CELL_BOOL ? sizeof(bool) : 8;
}

static PyObject *new_column(enum ar_cell_type type, size_t n_rows)
{
    if (type == AR_CELL_TEXT)
        return PyList_New((Py_ssize_t)n_rows);
    return PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(n_rows * cell_bytes(type)));
}

/* Adds (name, type, column) to a list, and gives up the reference to the column. */
static int add_column(PyObject *columns, const char *name, char type, PyObject *column)
{
    PyObject *triple;
    int failed;

    if (!column)
        return -1;
    triple = Py_BuildValue("(sCN)", name, (int)type, column);
    if (!triple)
        return -1;
    failed = PyList_Append(columns, triple);
    Py_DECREF(triple);
    return failed;
}

/* Texts that were made already, by where they lie. */
struct made_texts {
    struct ar_idmap ids;
    PyObject *list;
};

static PyObject *shared_text(struct made_texts *made, struct ar_str s)
{
    uint64_t key = (uint64_t)(uintptr_t)s.text;
    uint32_t id = key ? ar_idmap_get(&made->ids, key, AR_NO_ID) : AR_NO_ID;
    PyObject *object;

    if (id != AR_NO_ID) {
        object = PyList_GetItem(made->list, id);
        Py_XINCREF(object);
        return object;
    }
    object = text(s);
    if (object && key) {
        id = (uint32_t)PyList_Size(made->list);
        if (PyList_Append(made->list, object) < 0 || ar_idmap_put(&made->ids, key, id) < 0)
            Py_CLEAR(object);
        if (!object && !PyErr_Occurred())
            PyErr_NoMemory();
    }
    return object;
}

static int put_cell(PyObject *column, enum ar_cell_type type, size_t row, const union ar_cell *cell,
                    struct made_texts *made)
{
    size_t n_bytes = cell_bytes(type);
    PyObject *object;

    if (type != AR_CELL_TEXT) {
        memcpy(PyByteArray_AsString(column) + row * n_bytes, cell, n_bytes);
        return 0;
    }
    object = shared_text(made, cell->text);
    return object ? PyList_SetItem(column, (Py_ssize_t)row, object) : -1;
}

static int read_rows(const struct ar_view *v, const struct ar_shown_table *table,
                     PyObject **columns)
{
    struct made_texts made = {.list = PyList_New(0)};
    union ar_cell cells[AR_MAX_SHOWN_COLUMNS];
    size_t n_rows = table->n_rows(v);
    int failed = made.list ? 0 : -1;

    for (uint32_t row = 0; row < n_rows && !failed; row++) {
        table->read(v, row, cells);
        for (size_t i = 0; i < table->n_columns && !failed; i++)
            failed = put_cell(columns[i], table->columns[i].type, row, &cells[i], &made);
    }
    Py_XDECREF(made.list);
    ar_idmap_free(&made.ids);
    return failed;
}

static PyObject *read_table(const struct ar_view *v, const struct ar_shown_table *table)
{
    PyObject *columns[AR_MAX_SHOWN_COLUMNS] = {NULL};
    PyObject *result = PyList_New(0);
    int failed = result ? 0 : -1;

    for (size_t i = 0; i < table->n_columns && !failed; i++) {
        columns[i] = new_column(table->columns[i].type, table->n_rows(v));
        failed =
            add_column(result, table->columns[i].name, (char)table->columns[i].type, columns[i]);
    }
    if (!failed)
        failed = read_rows(v, table, columns);
    if (failed)
        Py_CLEAR(result);
    return result;
}

PyDoc_STRVAR(table_doc,
             "table(run, name)\n--\n\n"
             "A table as a list of (column, type, values): docs/load.md has the columns.\n"
             "Values are a list for type 'U', else a bytearray of that type of array.");

static PyObject *table(PyObject *self, PyObject *args)
{
    PyObject *capsule;
    const char *name;
    const struct ar_view *v;
    const struct ar_shown_table *found;

    (void)self;
    if (!PyArg_ParseTuple(args, "Os", &capsule, &name))
        return NULL;
    v = view_of(capsule);
    if (!v)
        return NULL;
    found = ar_shown_table_find(name);
    if (!found)
        return PyErr_Format(PyExc_KeyError, "%s", name);
    return read_table(v, found);
}

/* ---- values ---------------------------------------------------------------------------------- */

PyDoc_STRVAR(metrics_doc, "metrics(run)\n--\n\nWhat values() knows.");

static PyObject *metrics(PyObject *self, PyObject *capsule)
{
    const struct ar_view *v = view_of(capsule);
    PyObject *names = v ? PyList_New(0) : NULL;

    (void)self;
    for (size_t i = 0; i < AR_N_MEASURED && names; i++) {
        PyObject *name = PyUnicode_FromString(ar_measured_get(v, i).name);

        if (!name || PyList_Append(names, name) < 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

static PyObject *read_values(const struct ar_measured *m)
{
    Py_ssize_t n = (Py_ssize_t)m->n_values;
    PyObject *nodes = PyByteArray_FromStringAndSize(NULL, n * 4);
    PyObject *threads = PyByteArray_FromStringAndSize(NULL, n * 4);
    PyObject *values = PyByteArray_FromStringAndSize(NULL, n * 8);
    PyObject *result = NULL;

    if (nodes && threads && values) {
        void *to[] = {PyByteArray_AsString(nodes), PyByteArray_AsString(threads),
                      PyByteArray_AsString(values)};

        /* No other code has seen them yet. */
        Py_BEGIN_ALLOW_THREADS ar_measured_nodes(m, to[0]);
        ar_measured_locations(m, to[1]);
        ar_measured_values(m, to[2]);
        Py_END_ALLOW_THREADS result =
            Py_BuildValue("[(sCO)(sCO)(sCO)]", "node", 'I', nodes, "thread", 'I', threads, m->name,
                          (int)m->type, values);
    }
    Py_XDECREF(nodes);
    Py_XDECREF(threads);
    Py_XDECREF(values);
    return result;
}

PyDoc_STRVAR(values_doc, "values(run, metric)\n--\n\n"
                         "A metric by node and thread, in the form of table().");

static PyObject *values(PyObject *self, PyObject *args)
{
    PyObject *capsule;
    const char *name;
    const struct ar_view *v;

    (void)self;
    if (!PyArg_ParseTuple(args, "Os", &capsule, &name))
        return NULL;
    v = view_of(capsule);
    for (size_t i = 0; i < AR_N_MEASURED && v; i++) {
        struct ar_measured m = ar_measured_get(v, i);

        if (strcmp(m.name, name) == 0)
            return read_values(&m);
    }
    return v ? PyErr_Format(PyExc_KeyError, "%s", name) : NULL;
}

/* ---- one function on all ranks --------------------------------------------------------------- */

static const struct ar_shown_column share_columns[] = {
    {"calls", AR_CELL_INTEGER},     {"time_s", AR_CELL_REAL},
    {"self_s", AR_CELL_REAL},       {"estimated", AR_CELL_BOOL},
    {"time_error_s", AR_CELL_REAL}, {"self_estimated", AR_CELL_BOOL},
    {"self_error_s", AR_CELL_REAL},
};
#define N_SHARE_COLUMNS (sizeof share_columns / sizeof *share_columns)

static void read_share(const struct ar_share *share, union ar_cell *cells)
{
    cells[0].integer = (int64_t)share->n_calls;
    cells[1].real = (double)share->time_ns / 1e9;
    cells[2].real = (double)share->self_ns / 1e9;
    cells[3].boolean = share->time_doubt.marks & AR_MARK_ESTIMATED;
    cells[4].real = ar_doubt_error(share->time_doubt, 1) / 1e9;
    cells[5].boolean = share->self_doubt.marks & AR_MARK_ESTIMATED;
    cells[6].real = ar_doubt_error(share->self_doubt, 1) / 1e9;
}

static PyObject *put_shares(const struct ar_share *shares, size_t n)
{
    PyObject *columns[N_SHARE_COLUMNS] = {NULL}, *result = PyList_New(0);
    union ar_cell cells[N_SHARE_COLUMNS];
    int failed = result ? 0 : -1;

    for (size_t i = 0; i < N_SHARE_COLUMNS && !failed; i++) {
        columns[i] = new_column(share_columns[i].type, n);
        failed = add_column(result, share_columns[i].name, (char)share_columns[i].type, columns[i]);
    }
    for (size_t row = 0; row < n && !failed; row++) {
        read_share(&shares[row], cells);
        for (size_t i = 0; i < N_SHARE_COLUMNS; i++)
            put_cell(columns[i], share_columns[i].type, row, &cells[i], NULL);
    }
    if (failed)
        Py_CLEAR(result);
    return result;
}

PyDoc_STRVAR(shares_doc, "shares(run, function_id)\n--\n\n"
                         "What each process has of a function, as table().");

static PyObject *shares(PyObject *self, PyObject *args)
{
    PyObject *capsule, *result;
    const struct ar_view *v;
    struct ar_shares reading;
    struct ar_share *all;
    unsigned int id;

    (void)self;
    if (!PyArg_ParseTuple(args, "OI", &capsule, &id))
        return NULL;
    v = view_of(capsule);
    if (!v)
        return NULL;
    if (id >= v->p.n_functions)
        return PyErr_Format(PyExc_IndexError, "no function %u", id);
    all = calloc(v->p.n_roots + 1, sizeof *all);
    if (!all || ar_shares_open(&reading, &v->f) < 0) {
        free(all);
        return PyErr_NoMemory();
    }
    ar_shares_get(&reading, id, all);
    ar_shares_close(&reading);
    result = put_shares(all, v->p.n_roots);
    free(all);
    return result;
}

/* ---- about the whole ------------------------------------------------------------------------- */

static int put_fact(const struct ar_view *v, const struct ar_fact *fact, PyObject *dict)
{
    PyObject *key = text(ar_strtab_get(&v->p.strings, fact->key));
    PyObject *value = text(ar_strtab_get(&v->p.strings, fact->value));
    int known = key && value ? PyDict_Contains(dict, key) : -1;
    int failed = known == 0 ? PyDict_SetItem(dict, key, value) : known < 0;

    Py_XDECREF(key);
    Py_XDECREF(value);
    return failed;
}

PyDoc_STRVAR(facts_doc, "facts(run)\n--\n\n"
                        "Facts about the run; where ranks differ, what the first one says.");

static PyObject *facts(PyObject *self, PyObject *capsule)
{
    const struct ar_view *v = view_of(capsule);
    PyObject *dict = v ? PyDict_New() : NULL;

    (void)self;
    for (size_t i = 0; dict && i < v->p.n_facts; i++)
        if (put_fact(v, &v->p.facts[i], dict))
            Py_CLEAR(dict);
    return dict;
}

PyDoc_STRVAR(means_doc, "means(run)\n--\n\n"
                        "Mean over the processes of the time recorded and of that in MPI, in s.");

static PyObject *means(PyObject *self, PyObject *capsule)
{
    const struct ar_view *v = view_of(capsule);

    (void)self;
    return v ? Py_BuildValue("(dd)", v->t.mean_wall_ns / 1e9, v->t.mpi_ns / 1e9) : NULL;
}

/* ---- module ---------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"open", open_run, METH_VARARGS, open_doc},   {"table", table, METH_VARARGS, table_doc},
    {"metrics", metrics, METH_O, metrics_doc},    {"values", values, METH_VARARGS, values_doc},
    {"shares", shares, METH_VARARGS, shares_doc}, {"facts", facts, METH_O, facts_doc},
    {"means", means, METH_O, means_doc},          {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "allranks._reader",
    .m_doc = "Run files as columns. See python/allranks/_load.py.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__reader(void)
{
    return PyModuleDef_Init(&definition);
}
