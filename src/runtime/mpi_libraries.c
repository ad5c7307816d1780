// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/mpi_libraries.h"

#include "base/idmap.h"
#include "base/text.h"
#include "runtime/livemap.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define MAX_PROVIDERS 8

static struct {
    struct ar_mpi_provider providers[MAX_PROVIDERS];
    size_t n_providers, n_libraries;
    struct ar_idmap strangers; /* by name and address of their dynamic section */
} known;

void *ar_mpi_symbol(const struct ar_mpi_abi *abi, const char *name)
{
    return abi->library ? dlsym(abi->library, name) : NULL;
}

/* ---- what an object looks like --------------------------------------------------------------- */

static void note_import(const char *symbol, void *context)
{
    struct ar_mpi_traits *traits = context;

    traits->imports_mpi |= strncmp(symbol, "MPI_", 4) == 0;
    traits->imports_pmpi |= strncmp(symbol, "PMPI_", 5) == 0;
    traits->imports_fortran |= strncmp(symbol, "mpi_", 4) == 0;
    traits->imports_dlsym |= strcmp(symbol, "dlsym") == 0;
}

struct ar_mpi_traits ar_mpi_traits_of(const struct ar_object *object)
{
    struct ar_mpi_traits traits = {.defines_mpi = ar_object_function(object, "PMPI_Init") != NULL};

    ar_imports_each(object, note_import, &traits);
    return traits;
}

/* ---- which library is it --------------------------------------------------------------------- */

/* Version 1 of the ABI that MPI-5 has fixed; -1 says that the library has one of its own. */
static bool has_standard_abi(const struct ar_object *object)
{
    int major = -1, minor = -1;
    int (*get)(int *, int *) =
        (int (*)(int *, int *))ar_object_function(object, "PMPI_Abi_get_version");

    return get && get(&major, &minor) == 0 && major == 1;
}

/* With the standard's ABI it does not matter who made it, nor how its file is called. */
static struct ar_mpi_abi *abi_of(const struct ar_object *object, const char *version)
{
    if (has_standard_abi(object))
        return &ar_mpi_standard;
    if (strstr(ar_base_name(object->name), "mpi_abi"))
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

/*
 * Stubs define a few functions and do in them what they like; a library with what came with MPI-3 is
 * none of these, and its version may be asked for.
 */
static bool is_complete(const struct ar_object *object)
{
    static const char *const of_mpi3[] = {"PMPI_Get_library_version", "PMPI_Mprobe",
                                          "PMPI_Ibarrier", "PMPI_Comm_create_group"};

    for (size_t i = 0; i < sizeof of_mpi3 / sizeof *of_mpi3; i++)
        if (!ar_object_function(object, of_mpi3[i]))
            return false;
    return true;
}

/* The standard allows this call before MPI_Init. MPICH fills up to 8 KiB. */
void ar_mpi_library_recognise(const struct ar_object *object, struct ar_mpi_finding *out)
{
    char text[16384] = "";
    int n = 0;

    *out = (struct ar_mpi_finding){0};
    if (!is_complete(object))
        return;

    int (*get)(char *, int *) =
        (int (*)(char *, int *))ar_object_function(object, "PMPI_Get_library_version");

    get(text, &n);
    text[sizeof text - 1] = '\0';
    short_version(text, out->version, sizeof out->version);
    out->abi = abi_of(object, text);
}

/* ---- libraries ------------------------------------------------------------------------------- */

static uint64_t stranger_key(const struct ar_object *object)
{
    return ar_pair_key(ar_hash_bytes(object->name, strlen(object->name)),
                       (uint64_t)(uintptr_t)object->dynamic);
}

/* A second time it is neither asked for its version nor named. */
static void add_stranger(const struct ar_object *object, const char *why)
{
    char text[256];

    if (ar_idmap_get(&known.strangers, stranger_key(object), 0) ||
        ar_idmap_put(&known.strangers, stranger_key(object), 1) < 0)
        return;
    snprintf(text, sizeof text, "%.120s: %s, its calls are not recorded",
             ar_base_name(object->name), why);
    ar_livemap_fact("mpi", text);
}

bool ar_mpi_is_provider(const struct ar_object *object)
{
    for (size_t i = 0; i < known.n_providers; i++)
        if (known.providers[i].object.dynamic == object->dynamic)
            return true;
    return false;
}

bool ar_mpi_library_is_unknown(const struct ar_object *object)
{
    return !ar_mpi_is_provider(object) && !ar_idmap_get(&known.strangers, stranger_key(object), 0);
}

static struct ar_mpi_provider *add_provider(const struct ar_object *object, struct ar_mpi_abi *abi)
{
    struct ar_mpi_provider *provider = &known.providers[known.n_providers++];

    *provider = (struct ar_mpi_provider){.object = *object, .abi = abi};
    provider->object.name = ""; /* it ends with its list */
    return provider;
}

/* One library may have two ABIs, in two files. */
bool ar_mpi_library_add(const struct ar_object *object, void *handle,
                        const struct ar_mpi_finding *finding)
{
    struct ar_mpi_abi *abi = finding->abi;
    char text[256];

    if (!ar_mpi_library_is_unknown(object)) /* another thread was faster */
        return false;
    if (!abi || abi->library || known.n_providers == MAX_PROVIDERS) {
        add_stranger(object, abi ? "a second one of its kind" : "not recognised");
        return false;
    }
    abi->library = handle;
    known.n_libraries++;
    add_provider(object, abi)->has_fortran = ar_object_function(object, "mpi_send_") != NULL;
    snprintf(text, sizeof text, "%s%s", finding->version,
             abi == &ar_mpi_standard ? " (MPI-5 ABI)" : "");
    ar_livemap_fact("mpi", text);
    return true;
}

const struct ar_mpi_provider *ar_mpi_provider_of(const void *function)
{
    for (size_t i = 0; i < known.n_providers; i++)
        if (ar_object_contains(&known.providers[i].object, function))
            return &known.providers[i];
    return NULL;
}

size_t ar_mpi_n_libraries(void)
{
    return known.n_libraries;
}

bool ar_mpi_hides_fortran(void)
{
    for (size_t i = 0; i < known.n_providers; i++)
        if (known.providers[i].has_fortran)
            return true;
    return false;
}

/* ---- tools in front of them ------------------------------------------------------------------ */

static bool defines_any(const struct ar_object *object)
{
    for (uint32_t id = 0; id < AR_N_MPI; id++)
        if (ar_object_function(object, ar_mpi_names[id]))
            return true;
    return false;
}

struct way_on {
    struct ar_mpi_abi *abi;
    size_t n_unresolved, n_elsewhere;
};

static void follow(const struct ar_object *object, const char *symbol, void **slot, void *context)
{
    struct way_on *way = context;
    void *target = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    const struct ar_mpi_provider *provider = ar_mpi_provider_of(target);

    (void)symbol;
    if (provider)
        way->abi = provider->abi;
    else if (ar_object_contains(object, target))
        way->n_unresolved++;
    else if (target) /* a weak function may be missing */
        way->n_elsewhere++;
}

static struct ar_mpi_abi *only_abi(void)
{
    return known.n_libraries == 1 ? known.providers[0].abi : NULL;
}

/*
 * Where its calls go on to: into the library that its imports of PMPI_ functions lead to. A tool that
 * asks dlsym for them says nothing of that: it is believed to be one if it was preloaded, which is
 * what is done to tools, and if there is one library only.
 */
static struct ar_mpi_abi *way_on_from(const struct ar_object *object, bool was_preloaded)
{
    struct ar_mpi_traits traits = ar_mpi_traits_of(object);
    struct way_on way = {0};

    ar_slots_each(object, "PMPI_", follow, &way);
    if (traits.defines_mpi || way.n_elsewhere)
        return NULL;
    if (way.abi || way.n_unresolved)
        return way.abi ? way.abi : only_abi();
    return was_preloaded && traits.imports_dlsym ? only_abi() : NULL;
}

bool ar_mpi_tool_add(const struct ar_object *object, void *handle, bool was_preloaded)
{
    if (!ar_mpi_library_is_unknown(object) || !defines_any(object))
        return false;

    struct ar_mpi_abi *abi = way_on_from(object, was_preloaded);

    if (!abi || known.n_providers == MAX_PROVIDERS) {
        add_stranger(object, "not recognised");
        return false;
    }
    (void)handle; /* never closed */
    add_provider(object, abi)->is_tool = true;
    return true;
}
