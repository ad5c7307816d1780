// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/mpi_hook.h"

#include "base/idmap.h"
#include "base/text.h"
#include "runtime/elf_slots.h"
#include "runtime/followed.h"
#include "runtime/livemap.h"
#include "runtime/mpi4py_methods.h"
#include "runtime/mpi_abi.h"
#include "runtime/mpi_libraries.h"
#include "runtime/petsc_log.h"
#include "runtime/spending.h"

#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    struct ar_load_counts counts; /* when we last looked */
    size_t n_walked;              /* objects that need not be looked at again */
    struct ar_idmap seen;         /* objects, by the address of their dynamic section */
    struct ar_idmap preloaded;    /* likewise */
    struct ar_idmap ids;          /* hash of a function's name to enum ar_mpi_id */
    ar_wrapper_fn *for_python;
} hook = {.lock = PTHREAD_MUTEX_INITIALIZER};

const struct ar_mpi_events *ar_mpi_events;

/* ---- whose calls ----------------------------------------------------------------------------- */

/*
 * What Fortran programs call (mpi_send_ and its like) is a layer of its own, which converts handles
 * and then calls the C function: MPICH's under its name, Open MPI's under its PMPI_ name. Those calls
 * are the program's.
 */
static bool is_fortran_layer(const struct ar_object *object)
{
    static const char *const names[] = {"libmpi_mpifh", "libmpi_usempi", "libmpifort",
                                        "libmpichfort", "libmpichf90"};
    const char *name = ar_base_name(object->name);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* MPI's own objects call MPI too: the library, and the plug-ins of Open MPI; so do tools. */
static bool belongs_to_mpi(const struct ar_object *object)
{
    const char *name = ar_base_name(object->name);

    if (is_fortran_layer(object))
        return false;
    return ar_mpi_is_provider(object) || ar_starts_with(name, "mca_") ||
           ar_starts_with(name, "libmpi") || ar_starts_with(name, "libopen-") ||
           ar_starts_with(name, "libpmpi");
}

/* ---- slots ----------------------------------------------------------------------------------- */

/* A program without MPI has no use for it. */
static bool know_functions(void)
{
    for (uint32_t id = hook.ids.n_used ? AR_N_MPI : 0; id < AR_N_MPI; id++)
        if (ar_idmap_put(&hook.ids, ar_hash_bytes(ar_mpi_names[id], strlen(ar_mpi_names[id])), id) <
            0)
            return false;
    return true;
}

static uint32_t id_of(const char *name)
{
    return ar_idmap_get(&hook.ids, ar_hash_bytes(name, strlen(name)), AR_NO_ID);
}

/*
 * The wrapper that stands for `target`, the function `name`; NULL where there is none. A wrapper
 * calls one function: if it passes calls on to a tool, callers that go past the tool are left alone,
 * and the other way round.
 */
static void *wrapper_for(const char *name, void *target)
{
    uint32_t id = id_of(name);
    const struct ar_mpi_provider *provider = id == AR_NO_ID ? NULL : ar_mpi_provider_of(target);
    struct ar_mpi_abi *abi = provider ? provider->abi : NULL;

    if (!abi || !abi->wrappers[id])
        return NULL;
    if (!abi->real[id])
        abi->real[id] = target;
    return ar_mpi_provider_of(abi->real[id]) == provider ? abi->wrappers[id] : NULL;
}

struct definitions {
    const char *name;
    void *first;
    size_t n;
};

static bool count_definition(const struct ar_object *object, void *context)
{
    struct definitions *found = context;
    void *function = ar_object_function(object, found->name);

    if (function && found->n++ == 0)
        found->first = function;
    return found->n > 1;
}

/*
 * What a lazy slot will be bound to. That depends on the scopes its object was loaded into, which
 * cannot be asked for; it does not matter as long as one object alone defines the function.
 */
static void *only_definition(const char *name)
{
    struct definitions found = {.name = name};

    ar_objects_each(count_definition, &found);
    return found.n == 1 ? found.first : NULL;
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
    void *target = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

    if (!target || id == AR_NO_ID) /* a weak function that this library does not have */
        return;
    if (is_light[id] && ar_is_mpi4py(object->name))
        return;
    if (ar_object_contains(object, target))
        target = only_definition(name);

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
             ar_base_name(object->name));
    ar_livemap_fact("fortran", text);
}

static void redirect_all(const struct ar_object *object)
{
    static char no_prefix[] = "", profiling[] = "P";
    bool said = false;

    ar_slots_each(object, "MPI_", redirect, no_prefix);
    if (is_fortran_layer(object))
        ar_slots_each(object, "PMPI_", redirect, profiling);
    if (ar_mpi_hides_fortran())
        ar_slots_each(object, "mpi_", say_fortran, &said);
}

/* ---- dlsym ----------------------------------------------------------------------------------- */

static void look_at_new_objects(void);
static void *followed_wrapper(const void *function);

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

    int saved_errno = errno;

    look_at_new_objects();
    errno = saved_errno;
    if (strncmp(name, "MPI_", 4) == 0) {
        pthread_mutex_lock(&hook.lock);
        void *wrapper = wrapper_for(name, found);
        pthread_mutex_unlock(&hook.lock);
        if (wrapper)
            return wrapper;
    }

    void *wrapper = followed_wrapper(found);

    return wrapper ? wrapper : found;
}

static void redirect_for_python(const struct ar_object *object, const char *name, void **slot,
                                void *context)
{
    void *wrapper = strcmp(name, "dlsym") == 0 ? (void *)our_dlsym : hook.for_python(name);

    (void)context;
    if (wrapper)
        ar_slot_set(object, slot, wrapper);
}

static bool loads_for_python(const struct ar_object *object)
{
    const char *name = ar_base_name(object->name);

    return *name == '\0' || ar_starts_with(name, "libpython") || ar_starts_with(name, "_ctypes.") ||
           ar_starts_with(name, "_cffi_backend.") || ar_starts_with(name, "_posixsubprocess.");
}

/* ---- looking at what was loaded -------------------------------------------------------------- */

/* An object that was found, held while it is looked at. */
struct held {
    void *handle; /* NULL: it is gone */
    bool is_library, stays;
    struct ar_mpi_finding finding;
};

struct look {
    bool at_everything; /* not only at what is new */
    bool has_missed;    /* something that could not be held, and may be there next time */
    struct ar_object *objects;
    struct held *held;
    size_t n;
};

static uint64_t key_of(const struct ar_object *object)
{
    return (uint64_t)(uintptr_t)object->dynamic;
}

static bool see(const struct ar_object *object)
{
    return ar_idmap_put(&hook.seen, key_of(object), 1) == AR_OK;
}

static bool was_preloaded(const struct ar_object *object)
{
    return ar_idmap_get(&hook.preloaded, key_of(object), 0);
}

static bool may_be_tool(const struct ar_object *object, const struct ar_mpi_traits *traits)
{
    return traits->imports_pmpi || (traits->imports_dlsym && was_preloaded(object));
}

/* Before there is an MPI library it does not matter who calls one. */
static bool concerns_mpi(const struct ar_object *object)
{
    struct ar_mpi_traits traits = ar_mpi_traits_of(object);

    if (traits.defines_mpi && ar_mpi_library_is_unknown(object))
        return true;
    return ar_mpi_n_libraries() &&
           (traits.imports_mpi || traits.imports_fortran || may_be_tool(object, &traits) ||
            ar_object_function(object, "MPI_Init"));
}

/* ---- other libraries -------------------------------------------------------------------------- */

static const struct ar_followed *const followed[] = {&ar_petsc_followed, NULL};

struct import_search {
    const char *prefix;
    bool is_found;
};

static void note_import(const char *symbol, void *context)
{
    struct import_search *search = context;

    search->is_found |= strncmp(symbol, search->prefix, strlen(search->prefix)) == 0;
}

static bool imports(const struct ar_object *object, const char *prefix)
{
    struct import_search search = {.prefix = prefix};

    ar_imports_each(object, note_import, &search);
    return search.is_found;
}

static bool concerns_followed(const struct ar_object *object)
{
    for (size_t i = 0; followed[i]; i++)
        if (ar_object_function(object, followed[i]->function) ||
            (followed[i]->is_found() && imports(object, followed[i]->prefix)))
            return true;
    return false;
}

static size_t n_followed(void)
{
    size_t n = 0;

    for (size_t i = 0; followed[i]; i++)
        n += followed[i]->is_found();
    return n;
}

/* True: the object is to stay loaded. */
static bool add_followed(const struct ar_object *object)
{
    bool stays = false;

    for (size_t i = 0; followed[i]; i++)
        stays |= ar_object_function(object, followed[i]->function) && followed[i]->found(object);
    return stays;
}

/* What was found stays as it is: no lock is needed. */
static void *followed_wrapper(const void *function)
{
    void *wrapper = NULL;

    for (size_t i = 0; followed[i] && !wrapper; i++)
        wrapper = followed[i]->is_found() ? followed[i]->wrapper(function) : NULL;
    return wrapper;
}

static void redirect_followed(const struct ar_object *object)
{
    for (size_t i = 0; followed[i]; i++)
        if (followed[i]->is_found())
            followed[i]->redirect(object);
}

/* ---- looking at all that is new --------------------------------------------------------------- */

/* Most objects have nothing to do with MPI, and need not be held. */
static bool is_wanted(const struct ar_object *object, void *context)
{
    const struct look *look = context;

    if (!look->at_everything && ar_idmap_get(&hook.seen, key_of(object), 0))
        return false;
    if (loads_for_python(object) || concerns_mpi(object) || concerns_followed(object))
        return true;
    see(object);
    return false;
}

static bool is_new_library(const struct ar_object *object)
{
    pthread_mutex_lock(&hook.lock);
    bool is_unknown = ar_mpi_library_is_unknown(object);

    pthread_mutex_unlock(&hook.lock);
    return is_unknown && ar_object_function(object, "PMPI_Init");
}

static void hold_all(struct look *look)
{
    look->held = look->n ? calloc(look->n, sizeof *look->held) : NULL;
    for (size_t i = 0; look->held && i < look->n; i++) {
        struct held *held = &look->held[i];

        held->handle = ar_object_hold(&look->objects[i]);
        held->is_library = held->handle && is_new_library(&look->objects[i]);
        look->has_missed |= !held->handle;
        if (held->is_library)
            ar_mpi_library_recognise(&look->objects[i], &held->finding);
    }
}

/* Those that were taken over are held for good. */
static void release_all(struct look *look)
{
    for (size_t i = 0; look->held && i < look->n; i++)
        if (look->held[i].handle && !look->held[i].stays)
            dlclose(look->held[i].handle);
    free(look->held);
    ar_objects_free(look->objects, look->n);
}

static void add_libraries(struct look *look)
{
    for (size_t i = 0; i < look->n; i++) {
        struct held *held = &look->held[i];

        if (held->handle && ar_object_function(&look->objects[i], "PMPI_Init") &&
            know_functions() && ar_mpi_library_add(&look->objects[i], held->handle, &held->finding))
            held->stays = true;
        if (held->handle && add_followed(&look->objects[i]))
            held->stays = true;
    }
}

static void add_tools(struct look *look)
{
    for (size_t i = 0; i < look->n; i++) {
        const struct ar_object *object = &look->objects[i];
        struct held *held = &look->held[i];

        if (held->handle && !loads_for_python(object) && !is_fortran_layer(object) &&
            ar_mpi_tool_add(object, held->handle, was_preloaded(object)))
            held->stays = true;
    }
}

/* Libraries and tools first, so that what calls one finds it known. */
static void go_through(struct look *look)
{
    add_libraries(look);
    if (ar_mpi_n_libraries())
        add_tools(look);
    for (size_t i = 0; i < look->n; i++) {
        const struct ar_object *object = &look->objects[i];

        if (!look->held[i].handle || !see(object))
            continue;
        if (loads_for_python(object))
            ar_slots_each(object, "", redirect_for_python, NULL);
        if (ar_mpi_n_libraries() && !belongs_to_mpi(object))
            redirect_all(object);
        redirect_followed(object);
    }
}

/*
 * Objects are held, and what they hold is released, without our lock: the linker has locks of its own
 * then, and runs code of the objects. Returns whether there is a new library: whoever was seen before
 * it may call it.
 */
static bool look(struct ar_load_counts counts, bool at_everything)
{
    struct look look = {.at_everything = at_everything};

    pthread_mutex_lock(&hook.lock);
    size_t n_libraries = ar_mpi_n_libraries() + n_followed(),
           n_walked = at_everything ? 0 : hook.n_walked;
    look.objects = ar_objects_list(is_wanted, &look, &n_walked, &look.n);
    pthread_mutex_unlock(&hook.lock);
    hold_all(&look);
    pthread_mutex_lock(&hook.lock);
    if (look.held)
        go_through(&look);
    hook.counts = counts;
    hook.n_walked = look.has_missed || (look.n && !look.held) ? 0 : n_walked;
    bool is_new = ar_mpi_n_libraries() + n_followed() > n_libraries;
    pthread_mutex_unlock(&hook.lock);
    release_all(&look);
    return is_new;
}

static void look_at_new_objects(void)
{
    uint64_t begin_ns = ar_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    struct ar_load_counts counts = ar_objects_counts();

    pthread_mutex_lock(&hook.lock);
    bool is_news = counts.n_loaded != hook.counts.n_loaded;

    if (counts.n_unloaded != hook.counts.n_unloaded) {
        ar_idmap_free(&hook.seen); /* an address may come again with another object at it */
        hook.n_walked = 0;
    }
    pthread_mutex_unlock(&hook.lock);
    for (bool at_everything = false; is_news; at_everything = true)
        is_news = look(counts, at_everything);
    ar_spent_since(AR_OVERHEAD_IMPORTS, begin_ns);
}

/* The linker lists the program first, then what is preloaded, and then what the program needs. */
static bool note_preloaded(const struct ar_object *object, void *context)
{
    (void)context;
    return ar_object_contains(object, (void *)gnu_get_libc_version) ||
           ar_idmap_put(&hook.preloaded, key_of(object), 1) < 0;
}

void ar_mpi_hook_start(const struct ar_mpi_events *events, ar_wrapper_fn *for_python)
{
    ar_mpi_events = events;
    hook.for_python = for_python;
    ar_objects_each(note_preloaded, NULL);
    look_at_new_objects();
}

void ar_mpi_hook_forking(enum ar_fork_step step)
{
    ar_fork_lock(&hook.lock, step);
}
