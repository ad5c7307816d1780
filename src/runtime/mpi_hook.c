// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/mpi_hook.h"

#include "base/idmap.h"
#include "runtime/elf_slots.h"
#include "runtime/livemap.h"
#include "runtime/mpi4py_methods.h"
#include "runtime/mpi_abi.h"
#include "runtime/process_hook.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LIBRARIES 4

struct library {
    struct ar_object object;
    struct ar_mpi_abi *abi;
    bool has_fortran; /* by itself, without a layer whose calls could be seen */
};

static struct {
    pthread_mutex_t lock;
    struct ar_load_counts counts; /* when we last looked */
    struct ar_idmap seen;         /* objects, by the address of their dynamic section */
    struct library libraries[MAX_LIBRARIES];
    size_t n_libraries;
    struct ar_idmap ids; /* hash of a function's name to enum ar_mpi_id */
} hook = {.lock = PTHREAD_MUTEX_INITIALIZER};

void *ar_mpi_symbol(const struct ar_mpi_abi *abi, const char *name)
{
    return abi->library ? dlsym(abi->library, name) : NULL;
}

/* ---- which library is it --------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The standard allows this call before MPI_Init. MPICH fills up to 8 KiB. */
static const char *library_version(void *handle)
{
    static char text[16384];
    int n = 0;
    int (*get)(char *, int *) = (int (*)(char *, int *))dlsym(handle, "PMPI_Get_library_version");

    text[0] = '\0';
    if (get)
        get(text, &n);
    text[sizeof text - 1] = '\0';
    return text;
}

/* Version 1 of the ABI that MPI-5 has fixed; -1 says that the library has one of its own. */
static bool has_standard_abi(void *handle)
{
    int major = -1, minor = -1;
    int (*get)(int *, int *) = (int (*)(int *, int *))dlsym(handle, "PMPI_Abi_get_version");

    return get && get(&major, &minor) == 0 && major == 1;
}

/* With the standard's ABI it does not matter who made it, nor how its file is called. */
static struct ar_mpi_abi *recognise(const struct ar_object *object, void *handle,
                                    const char *version)
{
    if (has_standard_abi(handle))
        return &ar_mpi_standard;
    if (strstr(base_name(object->name), "mpi_abi"))
        return NULL; /* of a draft, or of a later version */
    if (strncmp(version, "Open MPI", 8) == 0)
        return &ar_mpi_openmpi;
    if (strstr(version, "MPICH") || strstr(version, "Intel(R) MPI") || strstr(version, "MVAPICH"))
        return &ar_mpi_mpich;
    return NULL;
}

/* "MPICH Version:\t4.3.2" becomes "MPICH 4.3.2". */
static void short_version(const char *version, char *text, size_t n_text)
{
    size_t n = 0;

    for (const char *c = version; *c && *c != '\n' && *c != ',' && n + 1 < n_text; c++) {
        bool blank = *c == ' ' || *c == '\t' || *c == ':';

        if (strncmp(c, "Version", 7) == 0)
            c += 6;
        else if (!blank)
            text[n++] = *c;
        else if (n && text[n - 1] != ' ')
            text[n++] = ' ';
    }
    text[n] = '\0';
}

/* One library may have two ABIs, in two files; `why_not` is NULL where its calls are recorded. */
static void note_library(const struct ar_object *object, const char *version,
                         const struct ar_mpi_abi *abi, const char *why_not)
{
    char text[256];

    if (why_not)
        snprintf(text, sizeof text, "%.120s: %s, its calls are not recorded",
                 base_name(object->name), why_not);
    else
        short_version(version, text, sizeof text - 16);
    if (!why_not && abi == &ar_mpi_standard)
        strcat(text, " (MPI-5 ABI)");
    ar_livemap_fact("mpi", text);
}

/* A program without MPI has no use for it. */
static bool know_functions(void)
{
    for (uint32_t id = hook.ids.n_used ? AR_N_MPI : 0; id < AR_N_MPI; id++)
        if (ar_idmap_put(&hook.ids, ar_hash_bytes(ar_mpi_names[id], strlen(ar_mpi_names[id])), id) <
            0)
            return false;
    return true;
}

static void add_library(const struct ar_object *object, void *handle)
{
    const char *version = library_version(handle);
    struct ar_mpi_abi *abi = recognise(object, handle, version);
    const char *why_not = abi ? NULL : "not recognised";

    if (abi && (abi->library || hook.n_libraries == MAX_LIBRARIES))
        why_not = "a second one of its kind"; /* its functions are not those we call */
    else if (abi && !know_functions())
        why_not = "there is no memory";
    note_library(object, version, abi, why_not);
    if (why_not)
        return;
    abi->library = handle; /* kept open: the process holds the library anyway */

    void *fortran = dlsym(handle, "mpi_send_");

    hook.libraries[hook.n_libraries++] =
        (struct library){*object, abi, fortran && ar_object_contains(object, fortran)};
}

static bool is_known_library(const struct ar_object *object)
{
    for (size_t i = 0; i < hook.n_libraries; i++)
        if (hook.libraries[i].object.dynamic == object->dynamic)
            return true;
    return false;
}

/* An MPI library is what defines PMPI_Init itself, whatever its name. */
static void look_for_library(const struct ar_object *object)
{
    bool candidate = *object->name && !is_known_library(object);
    void *handle = candidate ? ar_object_open(object) : NULL;
    void *init = handle ? dlsym(handle, "PMPI_Init") : NULL;

    if (init && ar_object_contains(object, init))
        add_library(object, handle);
    else if (handle)
        dlclose(handle);
}

/*
 * What Fortran programs call (mpi_send_ and its like) is a layer of its own, which converts handles
 * and then calls the C function: MPICH's under its name, Open MPI's under its PMPI_ name. Those calls
 * are the program's.
 */
static bool is_fortran_layer(const struct ar_object *object)
{
    static const char *const names[] = {"libmpi_mpifh", "libmpi_usempi", "libmpifort",
                                        "libmpichfort", "libmpichf90"};
    const char *name = base_name(object->name);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* MPI's own objects call MPI too: the library, and the plug-ins of Open MPI. */
static bool belongs_to_mpi(const struct ar_object *object)
{
    const char *name = base_name(object->name);

    if (is_fortran_layer(object))
        return false;
    return is_known_library(object) || strncmp(name, "mca_", 4) == 0 ||
           strncmp(name, "libmpi", 6) == 0 || strncmp(name, "libopen-", 8) == 0 ||
           strncmp(name, "libpmpi", 7) == 0;
}

static struct ar_mpi_abi *abi_of(const void *function)
{
    for (size_t i = 0; i < hook.n_libraries; i++)
        if (ar_object_contains(&hook.libraries[i].object, function))
            return hook.libraries[i].abi;
    /* Another tool's wrapper stands in between: with one library there is no doubt whose. */
    return hook.n_libraries == 1 ? hook.libraries[0].abi : NULL;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static uint32_t id_of(const char *name)
{
    return ar_idmap_get(&hook.ids, ar_hash_bytes(name, strlen(name)), AR_NO_ID);
}

/* The wrapper that stands for `target`, the function `name`; NULL where there is none. */
static void *wrapper_for(const char *name, void *target)
{
    uint32_t id = id_of(name);
    struct ar_mpi_abi *abi = id == AR_NO_ID ? NULL : abi_of(target);

    if (!abi || !abi->wrappers[id] || target == abi->wrappers[id])
        return NULL;
    if (!abi->real[id])
        abi->real[id] = target;
    return abi->wrappers[id];
}

/*
 * What a lazy slot would be bound to: the global scope comes first, then the object's own
 * libraries.
 */
static void *resolve(const struct ar_object *object, const char *name)
{
    void *target = dlsym(RTLD_DEFAULT, name);
    void *handle = target ? NULL : ar_object_open(object);

    if (handle) {
        target = dlsym(handle, name);
        dlclose(handle);
    }
    return target;
}

#define X(id, name, class, sync, light) light,
static const bool is_light[AR_N_MPI] = {
#include "mpi_functions.inc"
};
#undef X

/* `context` is the part of the name before that of the function. */
static void redirect(const struct ar_object *object, const char *name, void **slot, void *context)
{
    const char *function = name + strlen(context);
    uint32_t id = id_of(function);
    void *target = *slot;

    if (!target || id == AR_NO_ID) /* a weak function that this library does not have */
        return;
    if (is_light[id] && ar_is_mpi4py(object->name))
        return;
    if (ar_object_contains(object, target))
        target = resolve(object, name);

    void *wrapper = target ? wrapper_for(function, target) : NULL;

    if (wrapper)
        ar_slot_set(object, slot, wrapper);
}

/* A library that does not call C for it: there is no call that we could see. */
static void say_fortran(const struct ar_object *object, const char *name, void **slot, void *said)
{
    char text[256];

    (void)name;
    (void)slot;
    if (*(bool *)said)
        return;
    *(bool *)said = true;
    snprintf(text, sizeof text, "%s: its calls from Fortran are not recorded",
             base_name(object->name));
    ar_livemap_fact("fortran", text);
}

static void redirect_all(const struct ar_object *object)
{
    static char no_prefix[] = "", profiling[] = "P";
    bool said = false;

    ar_slots_each(object, "MPI_", redirect, no_prefix);
    if (is_fortran_layer(object))
        ar_slots_each(object, "PMPI_", redirect, profiling);
    for (size_t i = 0; i < hook.n_libraries; i++)
        if (hook.libraries[i].has_fortran)
            ar_slots_each(object, "mpi_", say_fortran, &said);
}

/* ---- dlsym ----------------------------------------------------------------------------------- */

static void look_at_new_objects(void);

/*
 * Whoever asks for a function of a library has loaded it, and not called it yet: Python for an
 * extension's PyInit_…, ctypes and cffi for anything. For the two special handles the answer depends
 * on who asks: the call is passed on with the caller's return address.
 */
__attribute__((optimize("O2"))) static void *our_dlsym(void *handle, const char *name)
{
    if (handle == RTLD_DEFAULT || handle == RTLD_NEXT)
        return dlsym(handle, name);

    void *found = dlsym(handle, name);

    if (!found || !name || !ar_live_base)
        return found;
    look_at_new_objects();
    if (strcmp(name, "PyInit_MPI") == 0)
        found = ar_mpi4py_init(found);
    if (strncmp(name, "MPI_", 4) == 0) {
        pthread_mutex_lock(&hook.lock);
        void *wrapper = wrapper_for(name, found);
        pthread_mutex_unlock(&hook.lock);
        if (wrapper)
            return wrapper;
    }
    return found;
}

static void redirect_for_python(const struct ar_object *object, const char *name, void **slot,
                                void *context)
{
    void *wrapper = strcmp(name, "dlsym") == 0 ? (void *)our_dlsym : ar_process_wrapper(name);

    (void)context;
    if (wrapper)
        ar_slot_set(object, slot, wrapper);
}

static bool loads_for_python(const struct ar_object *object)
{
    const char *name = base_name(object->name);

    return *name == '\0' || strncmp(name, "libpython", 9) == 0 ||
           strncmp(name, "_ctypes.", 8) == 0 || strncmp(name, "_cffi_backend.", 14) == 0 ||
           strncmp(name, "_posixsubprocess.", 17) == 0;
}

/* ---- scanning -------------------------------------------------------------------------------- */

static bool seen_before(const struct ar_object *object)
{
    uint64_t key = (uint64_t)(uintptr_t)object->dynamic;

    if (ar_idmap_get(&hook.seen, key, 0))
        return true;
    if (ar_idmap_put(&hook.seen, key, 1) < 0)
        return true;
    return false;
}

/* Moves the objects that are new to the front and returns how many they are. */
static size_t new_ones_first(struct ar_object *objects, size_t n_objects)
{
    size_t n_new = 0;

    for (size_t i = 0; i < n_objects; i++)
        if (!seen_before(&objects[i])) {
            struct ar_object object = objects[i];

            objects[i] = objects[n_new];
            objects[n_new++] = object;
        }
    return n_new;
}

/*
 * Libraries first, so that what uses one finds it recognised; with a new one everything is looked
 * at again.
 */
static void scan(void)
{
    size_t n_objects, n_known = hook.n_libraries;
    struct ar_object *objects = ar_objects_list(&n_objects);
    size_t n_new = new_ones_first(objects, n_objects);

    for (size_t i = 0; i < n_new; i++)
        look_for_library(&objects[i]);
    for (size_t i = 0; i < n_new; i++)
        if (loads_for_python(&objects[i]))
            ar_slots_each(&objects[i], "", redirect_for_python, NULL);
    for (size_t i = 0; i < (hook.n_libraries > n_known ? n_objects : n_new); i++)
        if (hook.n_libraries && !belongs_to_mpi(&objects[i]))
            redirect_all(&objects[i]);
    free(objects);
}

static void look_at_new_objects(void)
{
    struct ar_load_counts counts = ar_objects_counts();

    pthread_mutex_lock(&hook.lock);
    if (counts.n_unloaded != hook.counts.n_unloaded)
        ar_idmap_free(&hook.seen); /* an address may come again with another object at it */
    if (counts.n_loaded != hook.counts.n_loaded) {
        hook.counts = counts;
        scan();
    }
    pthread_mutex_unlock(&hook.lock);
}

void ar_mpi_hook_start(void)
{
    look_at_new_objects();
}

void ar_mpi_hook_forking(enum ar_fork_step step)
{
    ar_fork_lock(&hook.lock, step);
}
