// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/recording_options.h"

#include <stdlib.h>
#include <string.h>

/* ---- types ----------------------------------------------------------------------------------- */

/* A type of options; `read` is false where the value is not of it. No exception is left. */
struct kind {
    const char *wanted;
    bool (*read)(PyObject *value, void *to);
};

static bool read_text(PyObject *value, void *to)
{
    if (!PyBytes_Check(value) ||
        strlen(PyBytes_AS_STRING(value)) != (size_t)PyBytes_GET_SIZE(value))
        return false;
    *(const char **)to = PyBytes_AS_STRING(value);
    return true;
}

static bool read_text_or_none(PyObject *value, void *to)
{
    return value == Py_None || read_text(value, to);
}

static bool read_texts(PyObject *value, void *to)
{
    struct ar_option_texts *texts = to;

    if (!PyTuple_Check(value))
        return false;
    free(texts->items);
    texts->items = calloc((size_t)PyTuple_GET_SIZE(value) + 1, sizeof *texts->items);
    if (!texts->items)
        return false;
    texts->n = (size_t)PyTuple_GET_SIZE(value);
    for (size_t i = 0; i < texts->n; i++)
        if (!read_text(PyTuple_GET_ITEM(value, (Py_ssize_t)i), &texts->items[i]))
            return false;
    return true;
}

static bool read_flag(PyObject *value, void *to)
{
    *(bool *)to = value == Py_True;
    return PyBool_Check(value);
}

static bool read_count(PyObject *value, void *to)
{
    unsigned long long count = PyLong_Check(value) ? PyLong_AsUnsignedLongLong(value) : 0;
    bool is_count = PyLong_Check(value) && !PyErr_Occurred();

    PyErr_Clear();
    *(uint64_t *)to = count;
    return is_count;
}

static bool read_share(PyObject *value, void *to)
{
    *(double *)to = PyFloat_Check(value) ? PyFloat_AS_DOUBLE(value) : 0;
    return PyFloat_Check(value);
}

static bool read_builtins(PyObject *value, void *to)
{
    const char *name;

    if (!read_text(value, &name))
        return false;
    for (int i = 0; i < AR_N_BUILTINS; i++)
        if (strcmp(name, ar_builtins_names[i]) == 0) {
            *(enum ar_builtins *)to = (enum ar_builtins)i;
            return true;
        }
    return false;
}

static const struct kind text = {"bytes", read_text};
static const struct kind text_or_none = {"bytes or None", read_text_or_none};
static const struct kind texts = {"a tuple of bytes", read_texts};
static const struct kind flag = {"a bool", read_flag};
static const struct kind count = {"a number", read_count};
static const struct kind share = {"a float", read_share};
static const struct kind builtins = {"none, counted or all", read_builtins};

/* ---- the table ------------------------------------------------------------------------------- */

#define AT(field) offsetof(struct ar_options, field)

static const struct entry {
    const char *name;
    const struct kind *kind;
    size_t offset;
} entries[] = {
    {"output", &text, AT(output)},
    {"per-rank", &flag, AT(per_rank)},
    {"no-merge", &flag, AT(keeps)},
    {"merge-timeout", &count, AT(merge_timeout_s)},
    {"quiet", &flag, AT(quiet)},
    {"live-dir", &text, AT(live_dir)},
    {"max-size", &count, AT(n_bytes_max)},
    {"builtins", &builtins, AT(builtins)},
    {"exact", &flag, AT(exact)},
    {"budget", &share, AT(budget)},
    {"include", &texts, AT(include)},
    {"exclude", &texts, AT(exclude)},
    {"filter-rule", &texts, AT(filter_rules)},
    {"no-import", &flag, AT(no_import)},
    {"counters", &text, AT(counters)},
    {"counters-at", &texts, AT(counters_at)},
    {"counters-optional", &flag, AT(counters_optional)},
    {"counters-everywhere", &flag, AT(counters_everywhere)},
    {"petsc-log", &flag, AT(petsc_log)},
    {"trace", &flag, AT(trace)},
    {"trace-later", &flag, AT(trace_later)},
    {"trace-limit", &count, AT(trace_limit)},
    {"trace-last", &share, AT(trace_last_s)},
    {"trace-min", &share, AT(trace_min_s)},
    {"trace-depth", &count, AT(trace_depth)},
    {"trace-at", &texts, AT(trace_at)},
    {"lines", &texts, AT(lines)},
    {"own-directory", &text, AT(own_directory)},
    {"stem", &text, AT(stem)},
    {"children", &text_or_none, AT(children)},
};

#define N_ENTRIES (sizeof entries / sizeof *entries)

static const struct entry *find_entry(PyObject *name)
{
    for (size_t i = 0; PyUnicode_Check(name) && i < N_ENTRIES; i++)
        if (PyUnicode_CompareWithASCIIString(name, entries[i].name) == 0)
            return &entries[i];
    return NULL;
}

static bool read_entry(struct ar_options *out, PyObject *name, PyObject *value, bool *is_given)
{
    const struct entry *entry = find_entry(name);

    if (!entry) {
        PyErr_Format(PyExc_TypeError, "the runtime knows no option %R", name);
        return false;
    }
    if (!entry->kind->read(value, (char *)out + entry->offset)) {
        PyErr_Format(PyExc_TypeError, "the option %s is to be %s, not %R", entry->name,
                     entry->kind->wanted, value);
        return false;
    }
    is_given[entry - entries] = true;
    return true;
}

bool ar_recording_options_read(struct ar_options *out, PyObject *dict)
{
    PyObject *name, *value;
    Py_ssize_t at = 0;
    bool is_given[N_ENTRIES] = {false};

    *out = (struct ar_options){0};
    while (PyDict_Next(dict, &at, &name, &value))
        if (!read_entry(out, name, value, is_given))
            return false;
    for (size_t i = 0; i < N_ENTRIES; i++)
        if (!is_given[i]) {
            PyErr_Format(PyExc_TypeError, "the option %s is missing", entries[i].name);
            return false;
        }
    return true;
}

void ar_recording_options_free(struct ar_options *options)
{
    free(options->include.items);
    free(options->exclude.items);
    free(options->filter_rules.items);
    free(options->counters_at.items);
    free(options->trace_at.items);
    free(options->lines.items);
    options->include = options->exclude = (struct ar_option_texts){0};
    options->filter_rules = (struct ar_option_texts){0};
    options->counters_at = options->trace_at = options->lines = (struct ar_option_texts){0};
}
