// SPDX-License-Identifier: BSD-3-Clause
/*
 * elf_slots: the import slots of loaded objects, to be read and redirected.
 *
 * A shared object calls a function of another one through a slot that the dynamic linker fills in.
 * Redirecting the slot sees every call that this object makes, whatever the scope it was loaded in,
 * and leaves every other object alone: nothing is exported, nothing preloaded, nothing inherited by
 * children.
 *
 * Another thread may load or unload objects at any time. An object can be read safely only
 *   - inside a walk (ar_objects_each, ar_objects_list): the linker's lock on its list is held, so
 *     nothing is unmapped, and no function of <dlfcn.h> may be called, since that takes the locks in
 *     the opposite order; or
 *   - between ar_object_hold and dlclose. Holding also waits for a load under way to finish: while
 *     the linker still relocates an object, its slots must not be written, nor made read-only.
 *
 * Threads: any. A slot is changed by one aligned store.
 *
 *     struct ar_object *all = ar_objects_list(is_wanted, NULL, &n);
 *     void *handle = ar_object_hold(&all[0]);
 *     if (handle) {
 *         ar_slots_each(&all[0], "MPI_", visit, NULL);
 *         dlclose(handle);
 *     }
 *     ar_objects_free(all, n);
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

typedef bool ar_object_test(const struct ar_object *object, void *context);

/* Calls `is_last` for each loaded object until it returns true. The object's name ends with the walk. */
void ar_objects_each(ar_object_test *is_last, void *context);
/*
 * Those for which `is_wanted` returns true, with names of their own; to be freed by ar_objects_free.
 * NULL when there are none, or no memory. `*n_walked` objects are passed over, and it becomes the number of all:
 * the linker appends what it loads, so as long as nothing is unloaded those are the ones that were there last time.
 */
struct ar_object *ar_objects_list(ar_object_test *is_wanted, void *context, size_t *n_walked,
                                  size_t *n_objects);
void ar_objects_free(struct ar_object *objects, size_t n_objects);
/* The object at an address that cannot be unloaded meanwhile. Its name is "". */
bool ar_object_at(const void *address, struct ar_object *out);

/*
 * How often objects have been loaded and unloaded: unchanged means there is nothing new to look at.
 */
struct ar_load_counts {
    uint64_t n_loaded, n_unloaded;
};
struct ar_load_counts ar_objects_counts(void);

/*
 * Keeps the object loaded until the handle is closed. NULL: it is gone, or cannot be found by name.
 * Closing the handle may run the object's destructors, so no lock may be held there.
 */
void *ar_object_hold(const struct ar_object *object);

/* Address of the function that the object itself defines under this name; NULL: it defines none. */
void *ar_object_function(const struct ar_object *object, const char *name);
/* The same of a variable of that size; NULL: it defines none, or one of another size. */
void *ar_object_variable(const struct ar_object *object, const char *name, size_t n_bytes);

/*
 * Calls `visit` for every name that the object may have a slot for, and does not define itself, in much less time than
 * going through its slots takes.
 */
void ar_imports_each(const struct ar_object *object,
                     void (*visit)(const char *symbol, void *context), void *context);
/* Calls `visit` for every slot whose symbol begins with `prefix`. */
void ar_slots_each(const struct ar_object *object, const char *prefix,
                   void (*visit)(const struct ar_object *object, const char *symbol, void **slot,
                                 void *context),
                   void *context);
/* Stores `value`, also where the slot is read-only. */
bool ar_slot_set(const struct ar_object *object, void **slot, void *value);
/*
 * Does the address lie in the object? A lazy slot that is not resolved yet points into its own
 * object.
 */
bool ar_object_contains(const struct ar_object *object, const void *address);
