// SPDX-License-Identifier: BSD-3-Clause
#include "base/strtab.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool same(struct ar_str s, const char *text, size_t n_bytes)
{
    return s.n_bytes == n_bytes && memcmp(s.text, text, n_bytes) == 0;
}

static enum ar_status append(struct ar_strtab *table, const char *text, size_t n_bytes,
                             uint64_t key, uint32_t *id)
{
    char *copy = ar_arena_copy(&table->arena, text, n_bytes);

    if (!copy || table->n_strings >= AR_NO_ID)
        return AR_NOMEM;
    if (ar_grow((void **)&table->strings, &table->cap, table->n_strings + 1,
                sizeof *table->strings) < 0)
        return AR_NOMEM;
    if (ar_idmap_put(&table->by_hash, key, (uint32_t)table->n_strings) < 0)
        return AR_NOMEM;
    *id = (uint32_t)table->n_strings;
    table->strings[table->n_strings++] = (struct ar_str){copy, n_bytes};
    return AR_OK;
}

/* Keys are the string's hash; where another string has it already the next free number is taken. */
static enum ar_status put(struct ar_strtab *table, const char *text, size_t n_bytes, uint32_t *id)
{
    uint64_t key = ar_hash_bytes(text, n_bytes);

    for (;; key++) {
        if (!key)
            continue;
        uint32_t found = ar_idmap_get(&table->by_hash, key, AR_NO_ID);

        if (found == AR_NO_ID)
            return append(table, text, n_bytes, key, id);
        if (same(table->strings[found], text, n_bytes)) {
            *id = found;
            return AR_OK;
        }
    }
}

enum ar_status ar_strtab_put(struct ar_strtab *table, const char *text, size_t n_bytes,
                             uint32_t *id)
{
    if (table->n_strings == 0) {
        uint32_t empty;
        enum ar_status status = put(table, "", 0, &empty);

        if (status < 0)
            return status;
    }
    return put(table, text, n_bytes, id);
}

struct ar_str ar_strtab_get(const struct ar_strtab *table, uint32_t id)
{
    if (id >= table->n_strings)
        return (struct ar_str){"", 0};
    return table->strings[id];
}

const char *ar_strtab_text(const struct ar_strtab *table, uint32_t id)
{
    return ar_strtab_get(table, id).text;
}

void ar_strtab_free(struct ar_strtab *table)
{
    ar_arena_free(&table->arena);
    ar_idmap_free(&table->by_hash);
    free(table->strings);
    *table = (struct ar_strtab){0};
}
