// SPDX-License-Identifier: BSD-3-Clause
#include "format/mpi_functions.h"

#include <stddef.h>
#include <string.h>

#define X(class, what) static const char about_##class[] = what;
#include "mpi_classes.inc"
#undef X

#define X(id, name, class, sync, light) {name, #class, about_##class, AR_SYNC_##sync},
static const struct ar_mpi_function functions[] = {
#include "mpi_functions.inc"
};
#undef X

const struct ar_mpi_function *ar_mpi_function_named(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    return NULL;
}
