// SPDX-License-Identifier: BSD-3-Clause
#include "format/live_known.h"

#include <stdlib.h>
#include <string.h>

static bool is_same(const struct ar_record *a, const struct ar_record *b)
{
    return a->n_bytes == b->n_bytes && memcmp(a, b, a->n_bytes) == 0;
}

static struct ar_known_function *add(struct ar_known *known, const struct ar_record *record,
                                     uint64_t key)
{
    struct ar_known_function *function = ar_arena_alloc(&known->arena, sizeof *function);
    char *copy = ar_arena_copy(&known->arena, record, record->n_bytes);

    if (!function || !copy ||
        ar_grow((void **)&known->items, &known->cap, known->n + 1, sizeof(void *)) < 0 ||
        ar_idmap_put(&known->ids, key, (uint32_t)known->n) < 0)
        return NULL;
    *function =
        (struct ar_known_function){.record = (const struct ar_record *)copy, .id = AR_NO_ID};
    known->items[known->n++] = function;
    return function;
}

/* Ranks meet their functions in the same order, but for some that one of them has not met. */
static struct ar_known_function *guess(struct ar_known *known, const struct ar_record *record)
{
    for (size_t i = known->n_next; i < known->n && i < known->n_next + AR_KNOWN_GUESSES; i++)
        if (is_same(known->items[i]->record, record)) {
            known->n_next = i + 1;
            return known->items[i];
        }
    return NULL;
}

/* Records are whole words. */
static struct ar_known_function *look_up(struct ar_known *known, const struct ar_record *record)
{
    uint64_t key = ar_hash_words(record, record->n_bytes / 8);

    for (;; key++) {
        uint32_t found = ar_idmap_get(&known->ids, key ? key : 1, AR_NO_ID);

        if (found == AR_NO_ID)
            return add(known, record, key ? key : 1);
        if (is_same(known->items[found]->record, record)) {
            known->n_next = found + 1;
            return known->items[found];
        }
    }
}

struct ar_known_function *ar_known_find(struct ar_known *known, const struct ar_record *record)
{
    struct ar_known_function *found = guess(known, record);

    return found ? found : look_up(known, record);
}

enum ar_status ar_known_note_call(struct ar_known *known, uint32_t node, struct ar_known_call call)
{
    size_t n = (size_t)node + 1;

    if (ar_grow((void **)&known->calls, &known->cap_calls, n, sizeof *known->calls) < 0)
        return AR_NOMEM;
    if (known->n_calls < n) {
        memset(known->calls + known->n_calls, 0, (n - known->n_calls) * sizeof *known->calls);
        known->n_calls = n;
    }
    known->calls[node] = call;
    return AR_OK;
}

void ar_known_delete(struct ar_known *known)
{
    if (!known)
        return;
    for (size_t i = 0; i < known->n; i++)
        free(known->items[i]->ranges);
    free(known->items);
    free(known->calls);
    ar_idmap_free(&known->ids);
    ar_arena_free(&known->arena);
    free(known);
}
