// SPDX-License-Identifier: BSD-3-Clause
/*
 * allranks._reader: tables of runs for python/allranks/_load.py, which makes arrays or data frames of them.
 *
 * A run is a capsule around a struct ar_run and a lock: parts of it are worked out when a table is first asked for, and
 * another thread may ask meanwhile. Numbers cross as whole columns in a bytearray, never one by one; texts as a list of
 * str, in which equal texts are one object. What is not UTF-8 comes as surrogates, so that os.fsencode gives back the bytes.
 * Times are in seconds here.
 *
 * Only the limited API is used: one build serves every later Python. The GIL is released while a file is decoded, while parts
 * are worked out, and while values are copied.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "analysis/imbalance.h"
#include "open/open.h"
#include "run/measured.h"
#include "run/other_tables.h"
#include "run/tables.h"

#include <pythread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define CAPSULE_NAME "allranks.run"
#define NAME_BYTES 64

/* ---- a run ----------------------------------------------------------------------------------- */

struct opened {
    struct ar_run *run;
    PyThread_type_lock lock; /* held while the run is asked for anything */
    char *path;
    struct ar_words metrics; /* that are computed, as `--metric` has them */
};

static void free_opened(struct opened *o)
{
    if (o->lock)
        PyThread_free_lock(o->lock);
    ar_run_close(o->run);
    for (size_t i = 0; i < o->metrics.n; i++)
        free((char *)o->metrics.items[i]);
    free(o->path);
    free(o);
}

static void close_run(PyObject *capsule)
{
    struct opened *o = PyCapsule_GetPointer(capsule, CAPSULE_NAME);

    if (o)
        free_opened(o);
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

PyDoc_STRVAR(open_doc,
             "open(path, folded, metrics)\n--\n\nThe run at a path, for the functions below.");

/* A tuple of bytes, NAME=FORMULA each. false: an exception is set. */
static bool take_metrics(struct opened *o, PyObject *words)
{
    Py_ssize_t n = PyTuple_Size(words);

    if (n > AR_MOST_WORDS)
        PyErr_Format(PyExc_ValueError, "more than %d metrics (ask for fewer)", AR_MOST_WORDS);
    for (Py_ssize_t i = 0; i < n && n <= AR_MOST_WORDS; i++) {
        PyObject *word = PyTuple_GetItem(words, i);
        const char *bytes = word ? PyBytes_AsString(word) : NULL;
        char *copy = bytes ? strdup(bytes) : NULL;

        if (bytes && !copy)
            PyErr_NoMemory();
        if (!copy)
            return false;
        o->metrics.items[o->metrics.n++] = copy;
    }
    return !PyErr_Occurred();
}

static enum ar_status open_path(struct opened *o, int folded, struct ar_error *err)
{
    return ar_run_open(&o->run,
                       &(struct ar_run_choice){
                           .path = o->path,
                           .metrics = &o->metrics,
                           .form = folded ? AR_FORM_FOLDED : AR_FORM_RECORDED,
                       },
                       err);
}

static PyObject *open_run(PyObject *self, PyObject *args)
{
    const char *path;
    int folded;
    struct ar_error err = {"out of memory"};
    enum ar_status status = AR_NOMEM;
    struct opened *o;
    PyObject *capsule = NULL, *words;

    (void)self;
    if (!PyArg_ParseTuple(args, "ypO!", &path, &folded, &PyTuple_Type, &words))
        return NULL;
    o = calloc(1, sizeof *o);
    if (!o)
        return PyErr_NoMemory();
    if (!take_metrics(o, words)) {
        free_opened(o);
        return NULL;
    }
    o->path = strdup(path);
    o->lock = PyThread_allocate_lock();
    if (o->path && o->lock) {
        PyThreadState *state = PyEval_SaveThread();

        status = open_path(o, folded, &err);
        PyEval_RestoreThread(state);
    }
    if (status == AR_OK)
        capsule = PyCapsule_New(o, CAPSULE_NAME, close_run);
    else
        fail(status, &err);
    if (!capsule)
        free_opened(o);
    return capsule;
}

/* The run of a capsule, for one thread at a time; NULL: it is none. */
static struct opened *lock_run(PyObject *capsule)
{
    struct opened *o = PyCapsule_GetPointer(capsule, CAPSULE_NAME);

    if (o) {
        PyThreadState *state = PyEval_SaveThread();

        PyThread_acquire_lock(o->lock, WAIT_LOCK);
        PyEval_RestoreThread(state);
    }
    return o;
}

static void unlock_run(struct opened *o)
{
    PyThread_release_lock(o->lock);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* What a column becomes: times are seconds, and sets of ranks texts. */
static char type_of(const struct ar_shown_column *column)
{
    if (column->type == AR_CELL_RANKS)
        return AR_CELL_TEXT;
    return strcmp(column->unit, "ns") == 0 ? AR_CELL_REAL : (char)column->type;
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

static PyObject *ranks_text(struct ar_rank_list list)
{
    struct ar_bytes bytes = {0};
    PyObject *object = NULL;

    ar_rank_ranges_text(&bytes, list.ranks, list.n, (struct ar_range_style){0});
    if (bytes.bad)
        PyErr_NoMemory();
    else
        object = PyUnicode_FromStringAndSize((const char *)bytes.data, (Py_ssize_t)bytes.n);
    ar_bytes_free(&bytes);
    return object;
}

/* Where cells are read from. */
struct source {
    const struct ar_subject *of;
    const struct ar_shown_table *table;
    struct ar_shown_rows rows;
};

static PyObject *read_texts(const struct source *from, size_t column, struct made_texts *made)
{
    bool is_ranks = from->table->columns[column].type == AR_CELL_RANKS;
    PyObject *list = PyList_New((Py_ssize_t)from->rows.n);

    for (size_t i = 0; list && i < from->rows.n; i++) {
        union ar_cell cell = from->table->cell(from->of, column, ar_shown_row(&from->rows, i));
        PyObject *object = is_ranks ? ranks_text(cell.ranks) : shared_text(made, cell.text);

        if (!object || PyList_SetItem(list, (Py_ssize_t)i, object) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* In place: both are of 8 bytes. */
static void make_seconds(void *cells, size_t n, bool is_integer)
{
    double *reals = cells;
    int64_t value;

    for (size_t i = 0; i < n; i++) {
        memcpy(&value, &reals[i], sizeof value);
        reals[i] = (is_integer ? (double)value : reals[i]) / 1e9;
    }
}

static PyObject *read_numbers(const struct source *from, size_t column)
{
    const struct ar_shown_column *c = &from->table->columns[column];
    size_t n = from->rows.n;
    PyObject *array = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(n * ar_cell_bytes(c->type)));

    if (array) {
        void *cells = PyByteArray_AsString(array); /* no other code has seen it yet */
        PyThreadState *state = PyEval_SaveThread();

        ar_shown_read(from->table, from->of, &from->rows, column, 0, n, cells);
        if (strcmp(c->unit, "ns") == 0)
            make_seconds(cells, n, c->type == AR_CELL_INTEGER);
        PyEval_RestoreThread(state);
    }
    return array;
}

static int read_column(const struct source *from, size_t i, PyObject *result,
                       struct made_texts *made)
{
    const struct ar_shown_column *column = &from->table->columns[i];
    char type = type_of(column), name[NAME_BYTES];

    ar_shown_name(column, AR_IN_SECONDS, name, sizeof name);
    return add_column(result, name, type,
                      type == AR_CELL_TEXT ? read_texts(from, i, made) : read_numbers(from, i));
}

/* How ranks differ comes last: people look at the first columns. */
static bool is_detail(const struct ar_shown_column *column)
{
    return column->group && strcmp(column->name, "sum") != 0;
}

static PyObject *read_table(const struct source *from)
{
    struct made_texts made = {.list = PyList_New(0)};
    PyObject *result = PyList_New(0);
    int failed = result && made.list ? 0 : -1;

    for (int details = 0; details < 2; details++)
        for (size_t i = 0; i < from->table->n_columns && !failed; i++)
            if (is_detail(&from->table->columns[i]) == details)
                failed = read_column(from, i, result, &made);
    Py_XDECREF(made.list);
    ar_idmap_free(&made.ids);
    if (failed)
        Py_CLEAR(result);
    return result;
}

static PyObject *prepare_and_read(struct source *from)
{
    enum ar_status status;
    PyThreadState *state = PyEval_SaveThread();

    status = ar_shown_prepare(from->table, from->of, &from->rows);
    PyEval_RestoreThread(state);
    return status < 0 ? PyErr_NoMemory() : read_table(from);
}

PyDoc_STRVAR(table_doc,
             "table(run, name)\n--\n\n"
             "A table as a list of (column, type, values): docs/tables.md has the columns.\n"
             "Values are a list for type 'U', else a bytearray of that type of array.");

/* One of ours, or one that came with the file. */
static PyObject *read_by_name(struct opened *o, const char *name)
{
    struct source from = {.of = ar_run_subject(o->run), .table = ar_shown_find(name)};
    const struct ar_other_table *other = from.table ? NULL : ar_run_other_table(o->run, name);

    if (other)
        from = (struct source){.of = &other->subject, .table = &other->shown};
    if (!from.table || from.table->about != AR_ABOUT_RUN)
        return PyErr_Format(PyExc_KeyError, "%s", name);
    return prepare_and_read(&from);
}

static PyObject *table(PyObject *self, PyObject *args)
{
    PyObject *capsule, *result;
    const char *name;
    struct opened *o;

    (void)self;
    if (!PyArg_ParseTuple(args, "Os", &capsule, &name))
        return NULL;
    o = lock_run(capsule);
    if (!o)
        return NULL;
    result = read_by_name(o, name);
    unlock_run(o);
    return result;
}

PyDoc_STRVAR(other_tables_doc,
             "other_tables(run)\n--\n\n"
             "Names of tables that came with the file, which table() knows, too.");

static PyObject *other_tables(PyObject *self, PyObject *capsule)
{
    struct opened *o = lock_run(capsule);
    PyObject *names = o ? PyList_New(0) : NULL;
    size_t n = 0;
    const struct ar_other_table *others = o ? ar_run_other_tables(o->run, &n) : NULL;

    (void)self;
    if (o && !others) {
        Py_CLEAR(names);
        PyErr_NoMemory();
    }
    for (size_t i = 0; i < n && names; i++) {
        PyObject *name = PyUnicode_FromString(others[i].shown.name);

        if (!name || PyList_Append(names, name) < 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    if (o)
        unlock_run(o);
    return names;
}

PyDoc_STRVAR(tables_doc, "tables()\n--\n\n"
                         "All tables: (name, command, key, help, columns), a column being\n"
                         "(name here, name in JSON and CSV, group, unit, type, help).\n"
                         "Tables without a command are about a run, and table() knows them; the\n"
                         "others are about what that command shows.");

static PyObject *describe_columns(const struct ar_shown_table *t)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < t->n_columns; i++) {
        const struct ar_shown_column *c = &t->columns[i];
        char here[NAME_BYTES], elsewhere[NAME_BYTES];
        PyObject *column;

        ar_shown_name(c, AR_IN_SECONDS, here, sizeof here);
        ar_shown_name(c, AR_IN_NS, elsewhere, sizeof elsewhere);
        column =
            Py_BuildValue("(sszsCs)", here, elsewhere, c->group, c->unit, (int)c->type, c->help);
        if (!column || PyList_Append(list, column) < 0)
            Py_CLEAR(list);
        Py_XDECREF(column);
    }
    return list;
}

static PyObject *tables(PyObject *self, PyObject *args)
{
    PyObject *list = PyList_New(0);

    (void)self;
    (void)args;
    for (size_t i = 0; list && ar_shown_tables[i]; i++) {
        const struct ar_shown_table *t = ar_shown_tables[i];
        PyObject *columns = describe_columns(t), *item = NULL;

        if (columns)
            item = Py_BuildValue("(ssssN)", t->name, ar_subject_commands[t->about], t->key, t->help,
                                 columns);
        if (!item || PyList_Append(list, item) < 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* ---- values ---------------------------------------------------------------------------------- */

PyDoc_STRVAR(metrics_doc, "metrics(run)\n--\n\nWhat values() knows.");

static PyObject *metrics(PyObject *self, PyObject *capsule)
{
    struct opened *o = lock_run(capsule);
    PyObject *names = o ? PyList_New(0) : NULL;
    size_t n = o ? ar_measured_n(o->run) : 0;

    (void)self;
    for (size_t i = 0; i < n && names; i++) {
        char text[NAME_BYTES];
        PyObject *name;

        ar_measured_name(o->run, i, text, sizeof text);
        name = PyUnicode_FromString(text);
        if (!name || PyList_Append(names, name) < 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    if (o)
        unlock_run(o);
    return names;
}

static PyObject *read_values(const struct ar_measured *m, const char *name)
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
        PyThreadState *state = PyEval_SaveThread();

        ar_measured_nodes(m, to[0]);
        ar_measured_locations(m, to[1]);
        ar_measured_values(m, to[2]);
        PyEval_RestoreThread(state);
        result =
            Py_BuildValue("[(sCO)(sCO)(sCO)]", "node", 'I', nodes, "thread", 'I', threads, name,
                          ar_measured_is_time(m) ? AR_CELL_REAL : AR_CELL_INTEGER, values);
    }
    Py_XDECREF(nodes);
    Py_XDECREF(threads);
    Py_XDECREF(values);
    return result;
}

/* The number of the metric of that name; `n`: there is none. */
static size_t find_measured(struct ar_run *run, const char *name, size_t n)
{
    char known[NAME_BYTES];
    size_t i = 0;

    for (; i < n; i++) {
        ar_measured_name(run, i, known, sizeof known);
        if (strcmp(known, name) == 0)
            break;
    }
    return i;
}

static PyObject *measure(struct ar_run *run, const char *name)
{
    struct ar_measured m;
    size_t n = ar_measured_n(run), i = find_measured(run, name, n);

    if (n && i == n)
        return PyErr_Format(PyExc_KeyError, "%s", name);

    PyThreadState *state = PyEval_SaveThread();
    enum ar_status status = n ? ar_measured_get(&m, run, i) : AR_NOMEM;

    PyEval_RestoreThread(state);
    return status < 0 ? PyErr_NoMemory() : read_values(&m, name);
}

PyDoc_STRVAR(values_doc, "values(run, metric)\n--\n\n"
                         "A metric by node and thread, in the form of table().");

static PyObject *values(PyObject *self, PyObject *args)
{
    PyObject *capsule, *result = NULL;
    const char *name;
    struct opened *o;

    (void)self;
    if (!PyArg_ParseTuple(args, "Os", &capsule, &name))
        return NULL;
    o = lock_run(capsule);
    if (o) {
        result = measure(o->run, name);
        unlock_run(o);
    }
    return result;
}

/* ---- one function on all ranks --------------------------------------------------------------- */

PyDoc_STRVAR(shares_doc, "shares(run, function_id)\n--\n\n"
                         "The rows of function_ranks that are about one function, as table().");

/* Functions have as many rows as there are ranks, in the order of their own table. */
static PyObject *read_shares(struct opened *o, unsigned int id)
{
    struct source from = {.of = ar_run_subject(o->run), .table = ar_shown_find("function_ranks")};
    struct ar_shown_rows functions;
    size_t n_ranks, i = 0;
    enum ar_status status;
    PyThreadState *state = PyEval_SaveThread();

    status = ar_shown_prepare(ar_shown_find("functions"), from.of, &functions);
    if (status == AR_OK)
        status = ar_shown_prepare(from.table, from.of, &from.rows);
    PyEval_RestoreThread(state);
    if (status < 0)
        return PyErr_NoMemory();
    n_ranks = ar_run_profile(o->run, ar_run_choice(o->run)->form)->n_roots;
    while (i < functions.n && ar_shown_row(&functions, i) != id)
        i++;
    if (i == functions.n)
        return PyErr_Format(PyExc_IndexError, "no function %u", id);
    from.rows = (struct ar_shown_rows){.first = i * n_ranks, .n = n_ranks};
    return read_table(&from);
}

static PyObject *shares(PyObject *self, PyObject *args)
{
    PyObject *capsule, *result;
    struct opened *o;
    unsigned int id;

    (void)self;
    if (!PyArg_ParseTuple(args, "OI", &capsule, &id))
        return NULL;
    o = lock_run(capsule);
    if (!o)
        return NULL;
    result = read_shares(o, id);
    unlock_run(o);
    return result;
}

/* ---- about the whole ------------------------------------------------------------------------- */

static int put_fact(const struct ar_profile *p, const struct ar_fact *fact, PyObject *dict)
{
    PyObject *key = text(ar_strtab_get(&p->strings, fact->key));
    PyObject *value = text(ar_strtab_get(&p->strings, fact->value));
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
    struct opened *o = lock_run(capsule);
    PyObject *dict = o ? PyDict_New() : NULL;

    (void)self;
    if (dict) {
        const struct ar_profile *p = ar_run_profile(o->run, AR_FORM_RECORDED);

        for (size_t i = 0; dict && i < p->n_facts; i++)
            if (put_fact(p, &p->facts[i], dict))
                Py_CLEAR(dict);
    }
    if (o)
        unlock_run(o);
    return dict;
}

/* ---- module ---------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"open", open_run, METH_VARARGS, open_doc},
    {"tables", tables, METH_NOARGS, tables_doc},
    {"table", table, METH_VARARGS, table_doc},
    {"metrics", metrics, METH_O, metrics_doc},
    {"values", values, METH_VARARGS, values_doc},
    {"shares", shares, METH_VARARGS, shares_doc},
    {"facts", facts, METH_O, facts_doc},
    {"other_tables", other_tables, METH_O, other_tables_doc},
    {NULL, NULL, 0, NULL},
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
