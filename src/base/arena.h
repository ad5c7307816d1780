// SPDX-License-Identifier: BSD-3-Clause
/*
 * arena: memory that is given back in one step, and arrays that grow.
 *
 * An arena hands out pieces of large blocks. Pieces never move and are never freed alone; they live
 * until ar_arena_free. Used for strings and whatever lives as long as the object that owns the
 * arena.
 *
 * ar_grow is the one way an array grows in this project: doubling, overflow-checked, unchanged on
 * failure.
 *
 * Threads: one owner. A zeroed struct is an empty arena; ar_arena_free leaves a zeroed one.
 *
 *     struct ar_arena a = {0};
 *     char *copy = ar_arena_copy(&a, text, n_bytes);      // NULL: out of memory
 *     ar_arena_free(&a);
 *
 *     if (ar_grow((void **)&items, &cap, n + 1, sizeof *items) < 0)
 *         return AR_NOMEM;
 *     items[n++] = item;
 */
#pragma once

#include "base/status.h"

#include <stddef.h>

struct ar_arena_block;

struct ar_arena {
    struct ar_arena_block *newest;
    size_t n_left; /* bytes left in the newest block */
};

void *ar_arena_alloc(struct ar_arena *arena, size_t n_bytes); /* aligned to 16, not zeroed */
char *ar_arena_copy(struct ar_arena *arena, const void *bytes, size_t n_bytes); /* adds a NUL */
void ar_arena_free(struct ar_arena *arena);

AR_MUST_CHECK enum ar_status ar_grow(void **items, size_t *cap, size_t n_wanted, size_t item_bytes);

/*
 * An array that will be filled from end to end, in large pages where there are some; not zeroed, NULL:
 * out of memory. It is freed, and grows, like any other.
 */
void *ar_large_array(size_t n_items, size_t item_bytes);
