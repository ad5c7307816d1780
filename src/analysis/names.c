// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/names.h"

#include "analysis/mpi_class.h"

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

/* Of a list of functions that is longer the first ones. */
#define MOST_UNASSIGNED (AR_NAME_BYTES - 20)

const char *ar_plain_name(const struct ar_profile *p, uint32_t function, char *room)
{
    const char *name = ar_strtab_text(&p->strings, p->functions[function].name);

    if (p->functions[function].kind == AR_FUNCTION_MPI)
        return ar_mpi_class_of(name).function;
    if (p->functions[function].kind == AR_FUNCTION_UNASSIGNED) {
        snprintf(room, AR_NAME_BYTES, "%.*s? or caller", MOST_UNASSIGNED, name);
        return room;
    }
    return p->functions[function].kind == AR_FUNCTION_BUILTIN ? name_of_builtin(name, room) : name;
}
