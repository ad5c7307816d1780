// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/mpi_class.h"

#include <stddef.h>
#include <string.h>

static const struct ar_mpi_class functions[] = {
#define X(id, name, class, ...) {name, #class},
#include "mpi_functions.inc"
#undef X
};

/* There are a few hundred, and a program uses a dozen. */
static const struct ar_mpi_class *find(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strncmp(functions[i].function, name, n) == 0 && !functions[i].function[n])
            return &functions[i];
    return NULL;
}

struct ar_mpi_class ar_mpi_class_of(const char *function)
{
    size_t n = strlen(function);
    bool is_large = n > 2 && strcmp(function + n - 2, "_c") == 0;
    const struct ar_mpi_class *found = is_large ? find(function, n - 2) : NULL;

    if (!found)
        found = find(function, n);
    return found ? *found : (struct ar_mpi_class){function, "other"};
}

bool ar_mpi_class_waits(const char *name)
{
    return strcmp(name, "wait") == 0 || strcmp(name, "probe") == 0;
}
