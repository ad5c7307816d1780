// SPDX-License-Identifier: BSD-3-Clause
/*
 * elf_slots: the import slots of loaded objects, to be read and redirected.
 *
 * A shared object calls a function of another one through a slot that the dynamic linker fills in.
 * Redirecting the slot sees every call that this object makes, whatever the scope it was loaded in,
 * and leaves everybody else alone: nothing is exported, nothing preloaded, nothing inherited by
 * children.
 *
 * Threads: under the caller's lock. A slot is changed by one aligned store.
 */
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct ar_object {
    const char *name; /* path; "" for the program itself */
    ElfW(Addr) base;
    const ElfW(Dyn) * dynamic;
    uintptr_t start, end;             /* all that is mapped of it */
    uintptr_t relro_start, relro_end; /* pages that are read-only once relocated */
};

/*
 * The loaded objects, as an array to be freed by the caller; NULL when there is no memory. A list,
 * since the linker's lock is held while it is walked, and nothing that takes another one may be
 * called meanwhile.
 */
struct ar_object *ar_objects_list(size_t *n_objects);

/*
 * How often objects have been loaded and unloaded: unchanged means there is nothing new to look at.
 */
struct ar_load_counts {
    uint64_t n_loaded, n_unloaded;
};
struct ar_load_counts ar_objects_counts(void);

/* Calls `visit` for every slot whose symbol begins with `prefix`. */
void ar_slots_each(const struct ar_object *object, const char *prefix,
                   void (*visit)(const struct ar_object *object, const char *symbol, void **slot,
                                 void *context),
                   void *context);
/* Stores `value`, also where the slot is read-only. */
bool ar_slot_set(const struct ar_object *object, void **slot, void *value);
/* A handle for dlsym, to be closed; NULL where the object cannot be had by name. */
void *ar_object_open(const struct ar_object *object);
/*
 * Does the address lie in the object? A lazy slot that is not resolved yet points into its own
 * object.
 */
bool ar_object_contains(const struct ar_object *object, const void *address);
