// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/pairs.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CALLS 64

/* What a function that has called nothing yet called last, and what follows it: a failing guess. */
static struct ar_pair no_pair = {.successor = &no_pair};

/*
 * Hashes lead to numbers here, and two keys may have one hash: a key that finds another's number goes
 * on to the next hash.
 */
static uint64_t first_hash(uint64_t a, const void *key)
{
    return ar_pair_key(a, (uint64_t)(uintptr_t)key);
}

static uint64_t next_hash(uint64_t hash)
{
    return ar_pair_key(hash, 1);
}

static struct ar_entry *find_entry(const struct ar_pairs *p, const void *key, uint64_t *hash)
{
    for (*hash = first_hash(0, key);; *hash = next_hash(*hash)) {
        uint32_t id = ar_idmap_get(&p->entry_ids, *hash, AR_NO_ID);

        if (id == AR_NO_ID)
            return NULL;
        if (p->entries[id]->key == key)
            return p->entries[id];
    }
}

static struct ar_pair *find_pair(const struct ar_pairs *p, const struct ar_entry *caller,
                                 const void *key, uint64_t *hash)
{
    for (*hash = first_hash(caller->id, key);; *hash = next_hash(*hash)) {
        uint32_t id = ar_idmap_get(&p->pair_ids, *hash, AR_NO_ID);

        if (id == AR_NO_ID)
            return NULL;
        if (p->pairs[id]->key == key && p->pairs[id]->caller == caller)
            return p->pairs[id];
    }
}

static void *zeroed(struct ar_arena *arena, size_t n_bytes)
{
    void *piece = ar_arena_alloc(arena, n_bytes);

    if (piece)
        memset(piece, 0, n_bytes);
    return piece;
}

static struct ar_entry *new_entry(struct ar_pairs *p)
{
    struct ar_entry *entry = zeroed(&p->arena, sizeof *entry);

    if (entry) {
        entry->latest = &no_pair;
        entry->id = p->n_entries + 1; /* 0 is the root's */
    }
    return entry;
}

/* ---- making ---------------------------------------------------------------------------------- */

static enum ar_status make_root(struct ar_pairs *p)
{
    struct ar_pair *pair = zeroed(&p->arena, sizeof *pair);

    p->root = new_entry(p);
    p->calls = malloc(FIRST_CALLS * sizeof *p->calls);
    if (!pair || !p->root || !p->calls)
        return AR_NOMEM;
    p->root->id = 0;
    pair->callee = pair->caller = p->root;
    pair->successor = &no_pair;
    p->calls[0] = (struct ar_open_call){.pair = pair};
    p->top = p->calls;
    p->last_place = p->calls + FIRST_CALLS - 1;
    return AR_OK;
}

enum ar_status ar_pairs_init(struct ar_pairs *p)
{
    *p = (struct ar_pairs){.by_caller = true};
    if (make_root(p) < 0) {
        ar_pairs_free(p);
        return AR_NOMEM;
    }
    return AR_OK;
}

void ar_pairs_free(struct ar_pairs *p)
{
    free(p->calls);
    free(p->entries);
    free(p->pairs);
    ar_idmap_free(&p->entry_ids);
    ar_idmap_free(&p->pair_ids);
    ar_arena_free(&p->arena);
    *p = (struct ar_pairs){0};
}

bool ar_pairs_knows(const struct ar_pairs *p, const void *key)
{
    uint64_t hash;

    return find_entry(p, key, &hash) != NULL;
}

enum ar_status ar_pairs_add(struct ar_pairs *p, const void *key, void *object)
{
    uint64_t hash;

    if (find_entry(p, key, &hash))
        return AR_OK;
    if (ar_grow((void **)&p->entries, &p->entries_cap, (size_t)p->n_entries + 1, sizeof(void *)) <
        0)
        return AR_NOMEM;

    struct ar_entry *entry = new_entry(p);

    if (!entry || ar_idmap_put(&p->entry_ids, hash, p->n_entries) < 0)
        return AR_NOMEM;
    entry->key = key;
    entry->object = object;
    p->entries[p->n_entries++] = entry;
    if (p->last_entry)
        p->last_entry->next = entry;
    else
        p->first_entry = entry;
    p->last_entry = entry;
    return AR_OK;
}

static struct ar_pair *add_pair(struct ar_pairs *p, struct ar_entry *caller,
                                struct ar_entry *callee, uint64_t hash)
{
    if (ar_grow((void **)&p->pairs, &p->pairs_cap, (size_t)p->n_pairs + 1, sizeof(void *)) < 0)
        return NULL;

    struct ar_pair *pair = zeroed(&p->arena, sizeof *pair);

    if (!pair || ar_idmap_put(&p->pair_ids, hash, p->n_pairs) < 0)
        return NULL;
    pair->key = callee->key;
    pair->caller = caller;
    pair->callee = callee;
    pair->successor = &no_pair;
    p->pairs[p->n_pairs++] = pair;
    if (caller->last_pair)
        caller->last_pair->next = pair;
    else
        caller->first_pair = pair;
    caller->last_pair = pair;
    return pair;
}

/* ---- the rare branches of calls -------------------------------------------------------------- */

struct ar_pair *ar_pairs_look_up(struct ar_pairs *p, struct ar_entry *caller, const void *key)
{
    uint64_t pair_hash, entry_hash;

    if (p->n_unseen) /* then `caller` is not the caller */
        return NULL;

    struct ar_pair *pair = find_pair(p, caller, key, &pair_hash);

    if (!pair) {
        struct ar_entry *callee = find_entry(p, key, &entry_hash);

        pair = callee ? add_pair(p, caller, callee, pair_hash) : NULL;
    }
    if (pair && caller->latest != &no_pair)
        caller->latest->successor = pair;
    return pair;
}

bool ar_pairs_deepen(struct ar_pairs *p)
{
    size_t n = ar_pairs_n_open(p) + 1;

    if (n > SIZE_MAX / 2 / sizeof *p->calls)
        return false;

    struct ar_open_call *bigger = realloc(p->calls, 2 * n * sizeof *bigger);

    if (!bigger)
        return false;
    p->calls = bigger;
    p->top = bigger + n - 1;
    p->last_place = bigger + 2 * n - 1;
    return true;
}

size_t ar_pairs_n_to_close_outer(struct ar_pairs *p, const void *key)
{
    if (p->n_unseen) {
        p->n_unseen--;
        return 0;
    }
    for (const struct ar_open_call *call = p->top; call != p->calls; call--)
        if (call->pair->key == key)
            return (size_t)(p->top - call) + 1;
    return 0;
}

/* ---- results --------------------------------------------------------------------------------- */

static void sum_up(struct ar_pairs *p)
{
    for (struct ar_entry *entry = p->first_entry; entry; entry = entry->next)
        entry->n_calls = entry->self_time = 0;
    for (uint32_t i = 0; i < p->n_pairs; i++) {
        p->pairs[i]->callee->n_calls += p->pairs[i]->n_calls;
        p->pairs[i]->callee->self_time += p->pairs[i]->self_time;
    }
}

static size_t write_callees(const struct ar_entry *entry, struct ar_pairs_row *rows)
{
    size_t n = 0;

    for (const struct ar_pair *pair = entry->first_pair; pair; pair = pair->next)
        rows[n++] = (struct ar_pairs_row){
            .object = pair->callee->object,
            .n_calls = pair->n_calls,
            .n_nested = pair->n_nested,
            .time = (int64_t)pair->time,
            .self_time = (int64_t)pair->self_time,
        };
    return n;
}

static size_t write_entry(const struct ar_entry *entry, struct ar_pairs_row *rows)
{
    size_t n_callees = write_callees(entry, rows + 1);

    rows[0] = (struct ar_pairs_row){
        .object = entry->object,
        .n_calls = entry->n_calls,
        .n_nested = entry->n_nested,
        .time = (int64_t)entry->time,
        .self_time = (int64_t)entry->self_time,
        .n_callees = n_callees,
    };
    return 1 + n_callees;
}

enum ar_status ar_pairs_rows(struct ar_pairs *p, struct ar_pairs_row **rows, size_t *n_rows)
{
    size_t n_max = (size_t)p->n_entries + p->n_pairs;

    *rows = NULL;
    *n_rows = 0;
    if (n_max == 0)
        return AR_OK;
    *rows = malloc(n_max * sizeof **rows);
    if (!*rows)
        return AR_NOMEM;
    sum_up(p);
    for (const struct ar_entry *entry = p->first_entry; entry; entry = entry->next)
        if (entry->n_calls > 0)
            *n_rows += write_entry(entry, *rows + *n_rows);
    return AR_OK;
}
