// SPDX-License-Identifier: BSD-3-Clause
/*
 * strtab: each different string once, known by a small number.
 *
 * Id 0 is always the empty string. Strings may hold any byte but are also NUL-terminated, so that
 * they can be printed. They never move.
 *
 * Threads: one owner. A zeroed struct is an empty table.
 *
 *     struct ar_strtab t = {0};
 *     uint32_t id;
 *     if (ar_strtab_put(&t, "solve", 5, &id) < 0) ...
 *     puts(ar_strtab_text(&t, id));
 *     ar_strtab_free(&t);
 */
#pragma once

#include "base/arena.h"
#include "base/idmap.h"

struct ar_str {
    const char *text;
    size_t n_bytes;
};

struct ar_strtab {
    struct ar_arena arena;
    struct ar_str *strings;
    size_t n_strings, cap;
    struct ar_idmap by_hash; /* hash, stepped on by one at a collision, to id */
};

AR_MUST_CHECK enum ar_status ar_strtab_put(struct ar_strtab *table, const char *text,
                                           size_t n_bytes, uint32_t *id);
struct ar_str ar_strtab_get(const struct ar_strtab *table, uint32_t id); /* unknown id: empty */
const char *ar_strtab_text(const struct ar_strtab *table, uint32_t id);
void ar_strtab_free(struct ar_strtab *table);
