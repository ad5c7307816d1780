// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/names.h"

#include "analysis/mpi_class.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* If `text` begins with `start`, what comes after it, else NULL. */
static const char *after(const char *text, const char *start)
{
    size_t n = strlen(start);

    return strncmp(text, start, n) == 0 ? text + n : NULL;
}

/* "method 'append' of 'list' objects"; the parts are shown even if it ends in some other way. */
static const char *name_of_method(const char *quoted, char *room)
{
    const char *end = strchr(quoted, '\''), *type = end ? after(end, "' of '") : NULL;

    if (!type)
        return quoted;
    snprintf(room, AR_NAME_BYTES, "%.*s.%.*s", (int)strcspn(type, "'"), type, (int)(end - quoted),
             quoted);
    return room;
}

static const char *name_of_builtin(const char *name, char *room)
{
    const char *rest;

    if ((rest = after(name, "built-in method builtins.")) ||
        (rest = after(name, "built-in method ")) || (rest = after(name, "type ")))
        return rest;
    if ((rest = after(name, "method '")))
        return name_of_method(rest, room);
    rest = after(name, "ufunc ");
    if (!rest)
        return name;
    snprintf(room, AR_NAME_BYTES, "numpy.%s", rest);
    return room;
}

/* Where a dotted name begins: behind the directory that modules are installed in. */
static const char *outermost_package(const char *file, const char *last)
{
    static const char *const homes[] = {"/site-packages/", "/dist-packages/", "/lib/python3"};

    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
        const char *home = strstr(file, homes[i]);
        const char *inside = home ? strchr(home + strlen(homes[i]) - 1, '/') : NULL;

        if (inside && inside + 1 <= last)
            return inside + 1;
    }
    return last;
}

/*
 * "numpy.linalg" of "…/site-packages/numpy/linalg/__init__.py". Outside of such directories it is not
 * recorded which directories above a package are packages: only the last one is named.
 */
static const char *name_of_package(const char *file, char *room)
{
    const char *end = strrchr(file, '/'), *last = end;

    while (last > file && last[-1] != '/')
        last--;
    snprintf(room, AR_NAME_BYTES, "%.*s", (int)(end - outermost_package(file, last)),
             outermost_package(file, last));
    for (char *at = room; (at = strchr(at, '/'));)
        *at = '.';
    return room;
}

static bool is_module(const struct ar_profile *p, const struct ar_function *f)
{
    return f->kind == AR_FUNCTION_PYTHON &&
           strcmp(ar_strtab_text(&p->strings, f->name), "<module>") == 0;
}

static bool is_package(const struct ar_profile *p, const struct ar_function *f)
{
    return is_module(p, f) && ar_ends_with(ar_strtab_text(&p->strings, f->file), "/__init__.py");
}

bool ar_is_top_level(const struct ar_profile *p, uint32_t function)
{
    const struct ar_function *f = &p->functions[function];

    return is_module(p, f) && !is_package(p, f);
}

/* Of a list of functions that is longer the first ones. */
#define MOST_UNASSIGNED (AR_NAME_BYTES - 20)

const char *ar_plain_name(const struct ar_profile *p, uint32_t function, char *room)
{
    const char *name = ar_strtab_text(&p->strings, p->functions[function].name);

    if (is_package(p, &p->functions[function]))
        return name_of_package(ar_strtab_text(&p->strings, p->functions[function].file), room);
    if (p->functions[function].kind == AR_FUNCTION_MPI)
        return ar_mpi_class_of(name).function;
    if (p->functions[function].kind == AR_FUNCTION_UNASSIGNED) {
        snprintf(room, AR_NAME_BYTES, "%.*s? or caller", MOST_UNASSIGNED, name);
        return room;
    }
    return p->functions[function].kind == AR_FUNCTION_BUILTIN ? name_of_builtin(name, room) : name;
}
