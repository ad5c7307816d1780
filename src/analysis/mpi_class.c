// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/mpi_class.h"

#include "format/mpi_functions.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The small form of a large-count function; NULL: it is none. */
static const struct ar_mpi_function *small_form(const char *function)
{
    size_t n = strlen(function);
    char name[64];

    if (n < 2 || n >= sizeof name || strcmp(function + n - 2, "_c") != 0)
        return NULL;
    snprintf(name, sizeof name, "%.*s", (int)(n - 2), function);
    return ar_mpi_function_named(name);
}

struct ar_mpi_class ar_mpi_class_of(const char *function)
{
    const struct ar_mpi_function *found = small_form(function);

    if (!found)
        found = ar_mpi_function_named(function);
    return found ? (struct ar_mpi_class){found->name, found->class}
                 : (struct ar_mpi_class){function, "other"};
}

bool ar_mpi_class_waits(const char *name)
{
    return strcmp(name, "wait") == 0 || strcmp(name, "probe") == 0;
}

bool ar_mpi_is_setup(const struct ar_profile *p, uint32_t node)
{
    const struct ar_function *f = &p->functions[p->nodes[node].function];

    return f->kind == AR_FUNCTION_MPI &&
           strcmp(ar_mpi_class_of(ar_strtab_text(&p->strings, f->name)).name, "setup") == 0;
}
