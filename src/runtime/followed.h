// SPDX-License-Identifier: BSD-3-Clause
/*
 * followed: libraries other than MPI that are found when they are loaded, and whose callers' slots are redirected.
 *
 * mpi_hook.h looks at new objects, and passes them on here: each library is a descriptor in the list of mpi_hook.c.
 *
 * Threads: under the hook's lock; neither the library nor the dynamic linker may be called there.
 */
#pragma once

#include "runtime/elf_slots.h"

#include <stdbool.h>

struct ar_followed {
    /* A function that the library has, and no other object. */
    const char *function;
    /* The object defines it. True: it is followed from now on, and is to stay loaded. */
    bool (*found)(const struct ar_object *object);
    bool (*is_found)(void);
    /* After that: of each object that imports a function whose name begins so. */
    const char *prefix;
    void (*redirect)(const struct ar_object *object);
    /* The function of ours that stands for this one, for those that ask the linker for it, as ctypes does; NULL: there is none. */
    void *(*wrapper)(const void *function);
};
