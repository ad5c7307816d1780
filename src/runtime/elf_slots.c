// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/elf_slots.h"

#include "base/arena.h"

#include <dlfcn.h>
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

struct listing {
    struct ar_object *objects;
    size_t n, cap;
};

static int add_object(struct dl_phdr_info *info, size_t n_bytes, void *context)
{
    struct listing *list = context;
    struct ar_object object = describe(info);

    (void)n_bytes;
    /* The kernel's vdso has addresses that nobody has relocated; it calls nothing. */
    if (!object.dynamic || strstr(info->dlpi_name, "vdso"))
        return 0;
    if (ar_grow((void **)&list->objects, &list->cap, list->n + 1, sizeof *list->objects) < 0)
        return 1;
    list->objects[list->n++] = object;
    return 0;
}

struct ar_object *ar_objects_list(size_t *n_objects)
{
    struct listing list = {0};

    dl_iterate_phdr(add_object, &list);
    *n_objects = list.n;
    return list.objects;
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

static struct tables find_tables(const struct ar_object *object)
{
    struct tables t = {0};

    for (const ElfW(Dyn) *d = object->dynamic; d->d_tag != DT_NULL; d++)
        switch (d->d_tag) {
        case DT_SYMTAB:
            t.symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
            break;
        case DT_STRTAB:
            t.strings = (const char *)d->d_un.d_ptr;
            break;
        case DT_JMPREL:
            t.relocations[0] = (const ElfW(Rela) *)d->d_un.d_ptr;
            break;
        case DT_PLTRELSZ:
            t.n_relocations[0] = d->d_un.d_val / sizeof(ElfW(Rela));
            break;
        case DT_RELA:
            t.relocations[1] = (const ElfW(Rela) *)d->d_un.d_ptr;
            break;
        case DT_RELASZ:
            t.n_relocations[1] = d->d_un.d_val / sizeof(ElfW(Rela));
            break;
        default:
            break;
        }
    return t;
}

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

void *ar_object_open(const struct ar_object *object)
{
    return dlopen(*object->name ? object->name : NULL, RTLD_LAZY | RTLD_NOLOAD);
}

bool ar_object_contains(const struct ar_object *object, const void *address)
{
    return (uintptr_t)address >= object->start && (uintptr_t)address < object->end;
}
