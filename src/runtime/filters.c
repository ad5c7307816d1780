// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/filters.h"

#include "runtime/pyread.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct filter {
    struct filter *next;
    enum ar_filter_kind kind;
    char glob[];
};

static struct filter *filters;
static bool has[AR_N_FILTERS], hides_imports;

bool ar_filters_add(enum ar_filter_kind kind, const char *glob)
{
    size_t n_bytes = strlen(glob) + 1;
    struct filter *filter = malloc(sizeof *filter + n_bytes);

    if (!filter)
        return false;
    filter->next = filters;
    filter->kind = kind;
    memcpy(filter->glob, glob, n_bytes);
    filters = filter;
    has[kind] = true;
    return true;
}

void ar_filters_set_imports(bool hide)
{
    hides_imports = hide;
}

bool ar_filters_hide_imports(void)
{
    return hides_imports;
}

/* The whole, or a part of it that ends before a dot: a package stands for its modules. */
static bool matches_package(const char *glob, const char *module)
{
    char part[512];
    int n = snprintf(part, sizeof part, "%s", module);

    if (n < 0 || n >= (int)sizeof part)
        return false;
    for (char *end = part + n; end; end = strrchr(part, '.')) {
        *end = '\0';
        if (fnmatch(glob, part, 0) == 0)
            return true;
    }
    return false;
}

static bool matches_name(const char *glob, const char *module, const char *name)
{
    char whole[1024];

    if (fnmatch(glob, name, 0) == 0)
        return true;
    snprintf(whole, sizeof whole, "%s.%s", module, name);
    return fnmatch(glob, whole, 0) == 0;
}

/* "solver.py:step", also with more of the path. */
static bool matches_place(const char *glob, const char *file, const char *last, const char *name)
{
    char whole[1024];

    if (!strchr(glob, ':'))
        return false;
    snprintf(whole, sizeof whole, "%s:%s", last, name);
    if (fnmatch(glob, whole, 0) == 0)
        return true;
    snprintf(whole, sizeof whole, "%s:%s", file, name);
    return fnmatch(glob, whole, 0) == 0;
}

static bool matches(const char *glob, const char *name, const char *file, const char *module)
{
    const char *slash = strrchr(file, '/');
    const char *last = slash ? slash + 1 : file;

    return fnmatch(glob, file, 0) == 0 || fnmatch(glob, last, 0) == 0 ||
           matches_package(glob, module) || matches_name(glob, module, name) ||
           matches_place(glob, file, last, name);
}

static bool is_hidden(const char *name, const char *file, const char *module)
{
    bool wanted = !has[AR_FILTER_INCLUDE];

    for (const struct filter *filter = filters; filter; filter = filter->next) {
        if (filter->kind >= AR_FILTER_COUNT || !matches(filter->glob, name, file, module))
            continue;
        if (filter->kind == AR_FILTER_EXCLUDE)
            return true;
        wanted = true;
    }
    return !wanted;
}

/* Without memory the module has no name. */
bool ar_filters_hide(const char *name, const char *file, PyObject *globals)
{
    if (!has[AR_FILTER_INCLUDE] && !has[AR_FILTER_EXCLUDE])
        return false;

    char *module = ar_pyread_module_name(globals);
    bool hidden = is_hidden(name, file, module ? module : "");

    free(module);
    return hidden;
}

static bool is_chosen(enum ar_filter_kind kind, const char *name, const char *file,
                      PyObject *globals)
{
    if (!has[kind])
        return false;

    char *module = globals ? ar_pyread_module_name(globals) : NULL;
    bool is_one = false;

    for (const struct filter *filter = filters; filter && !is_one; filter = filter->next)
        is_one = filter->kind == kind && matches(filter->glob, name, file, module ? module : "");
    free(module);
    return is_one;
}

bool ar_filters_count(const char *name, const char *file, PyObject *globals)
{
    return is_chosen(AR_FILTER_COUNT, name, file, globals);
}

bool ar_filters_line(const char *name, const char *file, PyObject *globals)
{
    return is_chosen(AR_FILTER_LINES, name, file, globals);
}

bool ar_filters_trace(const char *name, const char *file, PyObject *globals)
{
    return is_chosen(AR_FILTER_TRACE, name, file, globals);
}
