// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/elf_slots.h"

#include "base/arena.h"
#include "base/text.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The relocations that fill a slot with a function's address. */
#if defined(__x86_64__)
static bool is_slot(uint32_t type)
{
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
}
#elif defined(__aarch64__)
static bool is_slot(uint32_t type)
{
    return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT || type == R_AARCH64_ABS64;
}
#else
#error "import slots are known for x86-64 and aarch64"
#endif

struct tables {
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Rela) * relocations[2]; /* calls, data */
    size_t n_relocations[2];
    const uint32_t *gnu_hash, *hash; /* NULL: there is no such table */
};

static struct ar_object describe(const struct dl_phdr_info *info)
{
    struct ar_object object = {
        .name = info->dlpi_name, .base = info->dlpi_addr, .start = UINTPTR_MAX};
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + header->p_vaddr, end = at + header->p_memsz;

        if (header->p_type == PT_DYNAMIC)
            object.dynamic = (const ElfW(Dyn) *)at;
        if (header->p_type == PT_LOAD && at < object.start)
            object.start = at;
        if (header->p_type == PT_LOAD && end > object.end)
            object.end = end;
        if (header->p_type == PT_GNU_RELRO) {
            object.relro_start = at & ~(page - 1);
            object.relro_end = end & ~(page - 1);
        }
    }
    return object;
}

struct walk {
    ar_object_test *is_last;
    void *context;
    size_t n, n_passed_over;
};

static int visit_object(struct dl_phdr_info *info, size_t n_bytes, void *context)
{
    struct walk *walk = context;

    (void)n_bytes;
    if (walk->n++ < walk->n_passed_over)
        return 0;

    struct ar_object object = describe(info);

    /* The kernel's vdso calls nothing. */
    if (!object.dynamic || ar_starts_with(info->dlpi_name, "linux-vdso"))
        return 0;
    return walk->is_last(&object, walk->context);
}

void ar_objects_each(ar_object_test *is_last, void *context)
{
    struct walk walk = {.is_last = is_last, .context = context};

    dl_iterate_phdr(visit_object, &walk);
}

struct listing {
    struct ar_object *objects;
    size_t n, cap;
    ar_object_test *is_wanted;
    void *context;
};

/* The linker frees a name with its object, which may be as soon as the walk is over. */
static bool add_object(const struct ar_object *object, void *context)
{
    struct listing *list = context;

    if (!list->is_wanted(object, list->context))
        return false;
    if (ar_grow((void **)&list->objects, &list->cap, list->n + 1, sizeof *list->objects) < 0)
        return true;

    char *name = strdup(object->name);

    if (!name)
        return true;
    list->objects[list->n] = *object;
    list->objects[list->n++].name = name;
    return false;
}

struct ar_object *ar_objects_list(ar_object_test *is_wanted, void *context, size_t *n_walked,
                                  size_t *n_objects)
{
    struct listing list = {.is_wanted = is_wanted, .context = context};
    struct walk walk = {.is_last = add_object, .context = &list, .n_passed_over = *n_walked};

    dl_iterate_phdr(visit_object, &walk);
    *n_walked = walk.n;
    *n_objects = list.n;
    return list.objects;
}

void ar_objects_free(struct ar_object *objects, size_t n_objects)
{
    for (size_t i = 0; i < n_objects; i++)
        free((char *)objects[i].name);
    free(objects);
}

struct search {
    const void *address;
    struct ar_object *out;
    bool is_found;
};

static bool is_at(const struct ar_object *object, void *context)
{
    struct search *search = context;

    if (!ar_object_contains(object, search->address))
        return false;
    *search->out = *object;
    search->out->name = "";
    return search->is_found = true;
}

bool ar_object_at(const void *address, struct ar_object *out)
{
    struct search search = {.address = address, .out = out};

    ar_objects_each(is_at, &search);
    return search.is_found;
}

static int read_counts(struct dl_phdr_info *info, size_t n_bytes, void *context)
{
    if (n_bytes >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        *(struct ar_load_counts *)context =
            (struct ar_load_counts){.n_loaded = info->dlpi_adds, .n_unloaded = info->dlpi_subs};
    return 1;
}

struct ar_load_counts ar_objects_counts(void)
{
    struct ar_load_counts counts = {0};

    dl_iterate_phdr(read_counts, &counts);
    return counts;
}

/*
 * glibc replaces most offsets in the dynamic section by addresses. It leaves them in sections that
 * are read-only, as some linkers make them.
 */
static const void *address_in(const struct ar_object *object, const ElfW(Dyn) * d)
{
    if (ar_object_contains(object, (const void *)d->d_un.d_ptr))
        return (const void *)d->d_un.d_ptr;
    if (ar_object_contains(object, (const void *)(object->base + d->d_un.d_ptr)))
        return (const void *)(object->base + d->d_un.d_ptr);
    return NULL;
}

static struct tables find_tables(const struct ar_object *object)
{
    struct tables t = {0};

    for (const ElfW(Dyn) *d = object->dynamic; d->d_tag != DT_NULL; d++)
        switch (d->d_tag) {
        case DT_SYMTAB:
            t.symbols = address_in(object, d);
            break;
        case DT_STRTAB:
            t.strings = address_in(object, d);
            break;
        case DT_JMPREL:
            t.relocations[0] = address_in(object, d);
            break;
        case DT_PLTRELSZ:
            t.n_relocations[0] = d->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_RELA:
            t.relocations[1] = address_in(object, d);
            break;
        case DT_RELASZ:
            t.n_relocations[1] = d->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_GNU_HASH:
            t.gnu_hash = address_in(object, d);
            break;
        case DT_HASH:
            t.hash = address_in(object, d);
            break;
        default:
            break;
        }
    return t;
}

/* ---- functions and variables that an object defines ------------------------------------------ */

struct wanted {
    const char *name;
    unsigned char type; /* STT_FUNC or STT_OBJECT */
};

static bool is_symbol(const struct tables *t, uint32_t symbol, struct wanted wanted)
{
    const ElfW(Sym) *s = &t->symbols[symbol];

    return s->st_shndx != SHN_UNDEF && s->st_value && ELF64_ST_TYPE(s->st_info) == wanted.type &&
           strcmp(t->strings + s->st_name, wanted.name) == 0;
}

static uint32_t gnu_hash_of(const char *name)
{
    uint32_t h = 5381;

    for (; *name; name++)
        h = h * 33 + (unsigned char)*name;
    return h;
}

/*
 * The table: number of buckets, first symbol in it, words of a Bloom filter, its shift; the filter; the
 * first symbol of each bucket; a hash per symbol, whose lowest bit marks the last one of a bucket.
 */
static uint32_t find_by_gnu_hash(const struct tables *t, struct wanted wanted)
{
    const uint32_t *table = t->gnu_hash;
    uint32_t n_buckets = table[0], first = table[1], n_filter = table[2], shift = table[3];
    const ElfW(Addr) *filter = (const ElfW(Addr) *)(table + 4);
    const uint32_t *buckets = (const uint32_t *)(filter + n_filter), *hashes = buckets + n_buckets;
    uint32_t hash = gnu_hash_of(wanted.name), bits = 8 * sizeof *filter;
    ElfW(Addr) mask = (ElfW(Addr))1 << hash % bits | (ElfW(Addr))1 << (hash >> shift) % bits;

    if ((filter[hash / bits % n_filter] & mask) != mask)
        return 0;

    uint32_t symbol = buckets[hash % n_buckets];

    for (; symbol >= first; symbol++) {
        uint32_t found = hashes[symbol - first];

        if ((found | 1) == (hash | 1) && is_symbol(t, symbol, wanted))
            return symbol;
        if (found & 1)
            break;
    }
    return 0;
}

static uint32_t hash_of(const char *name)
{
    uint32_t h = 0;

    for (; *name; name++) {
        h = (h << 4) + (unsigned char)*name;
        h = (h ^ (h & 0xf0000000) >> 24) & 0x0fffffff;
    }
    return h;
}

/* The table: number of buckets and of symbols; the first symbol of each bucket; the next of each symbol. */
static uint32_t find_by_hash(const struct tables *t, struct wanted wanted)
{
    uint32_t n_buckets = t->hash[0];
    const uint32_t *buckets = t->hash + 2, *next = buckets + n_buckets;

    for (uint32_t symbol = buckets[hash_of(wanted.name) % n_buckets]; symbol; symbol = next[symbol])
        if (is_symbol(t, symbol, wanted))
            return symbol;
    return 0;
}

/* NULL: there is none. */
static const ElfW(Sym) * find_symbol(const struct ar_object *object, struct wanted wanted)
{
    struct tables t = find_tables(object);
    uint32_t symbol = 0;

    if (!t.symbols || !t.strings)
        return NULL;
    if (t.gnu_hash && t.gnu_hash[0] && t.gnu_hash[2])
        symbol = find_by_gnu_hash(&t, wanted);
    else if (t.hash && t.hash[0])
        symbol = find_by_hash(&t, wanted);
    return symbol ? &t.symbols[symbol] : NULL;
}

void *ar_object_function(const struct ar_object *object, const char *name)
{
    const ElfW(Sym) *symbol = find_symbol(object, (struct wanted){name, STT_FUNC});

    return symbol ? (void *)(object->base + symbol->st_value) : NULL;
}

void *ar_object_variable(const struct ar_object *object, const char *name, size_t n_bytes)
{
    const ElfW(Sym) *symbol = find_symbol(object, (struct wanted){name, STT_OBJECT});

    return symbol && symbol->st_size == n_bytes ? (void *)(object->base + symbol->st_value) : NULL;
}

/* ---- functions that an object imports -------------------------------------------------------- */

/*
 * Symbols that are not defined come before those in the GNU hash table. Of an object that defines none the table does
 * not say where they end: 0.
 */
static uint32_t n_undefined(const struct tables *t)
{
    if (!t->gnu_hash)
        return 0;

    uint32_t n_buckets = t->gnu_hash[0], first = t->gnu_hash[1];
    const uint32_t *buckets =
        (const uint32_t *)((const ElfW(Addr) *)(t->gnu_hash + 4) + t->gnu_hash[2]);

    for (uint32_t i = 0; i < n_buckets; i++)
        if (buckets[i])
            return first;
    return 0;
}

struct import_visit {
    void (*visit)(const char *symbol, void *context);
    void *context;
};

static void visit_import(const struct ar_object *object, const char *symbol, void **slot,
                         void *context)
{
    const struct import_visit *v = context;

    (void)object, (void)slot;
    v->visit(symbol, v->context);
}

void ar_imports_each(const struct ar_object *object,
                     void (*visit)(const char *symbol, void *context), void *context)
{
    struct tables t = find_tables(object);
    uint32_t n = t.symbols && t.strings ? n_undefined(&t) : 0;

    if (!n)
        ar_slots_each(object, "", visit_import, &(struct import_visit){visit, context});
    for (uint32_t i = 1; i < n; i++)
        if (t.symbols[i].st_shndx == SHN_UNDEF)
            visit(t.strings + t.symbols[i].st_name, context);
}

/* ---- slots ----------------------------------------------------------------------------------- */

void ar_slots_each(const struct ar_object *object, const char *prefix,
                   void (*visit)(const struct ar_object *object, const char *symbol, void **slot,
                                 void *context),
                   void *context)
{
    struct tables t = find_tables(object);
    size_t n_prefix = strlen(prefix);

    if (!t.symbols || !t.strings)
        return;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; t.relocations[k] && i < t.n_relocations[k]; i++) {
            const ElfW(Rela) *r = &t.relocations[k][i];

            if (!is_slot(ELF64_R_TYPE(r->r_info)) || ELF64_R_SYM(r->r_info) == 0)
                continue;

            const char *symbol = t.strings + t.symbols[ELF64_R_SYM(r->r_info)].st_name;

            if (strncmp(symbol, prefix, n_prefix) == 0)
                visit(object, symbol, (void **)(object->base + r->r_offset), context);
        }
}

bool ar_slot_set(const struct ar_object *object, void **slot, void *value)
{
    uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t at = (uintptr_t)slot;
    void *page = (void *)(at & ~(page_bytes - 1));
    bool read_only = at >= object->relro_start && at < object->relro_end;

    if (read_only && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) < 0)
        return false;
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
    if (read_only)
        mprotect(page, page_bytes, PROT_READ);
    return true;
}

/* Another object may have come to the same name or the same address meanwhile. */
void *ar_object_hold(const struct ar_object *object)
{
    void *handle = dlopen(*object->name ? object->name : NULL, RTLD_LAZY | RTLD_NOLOAD);
    struct link_map *map = NULL;

    if (handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_ld == object->dynamic &&
        map->l_addr == object->base)
        return handle;
    if (handle)
        dlclose(handle);
    dlerror(); /* the failure is not one of the program's */
    return NULL;
}

bool ar_object_contains(const struct ar_object *object, const void *address)
{
    return (uintptr_t)address >= object->start && (uintptr_t)address < object->end;
}
