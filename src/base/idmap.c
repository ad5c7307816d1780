// SPDX-License-Identifier: BSD-3-Clause
#include "base/idmap.h"

#include <stdlib.h>
#include <string.h>

uint64_t ar_mix64(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    return x;
}

uint64_t ar_pair_key(uint64_t a, uint64_t b)
{
    uint64_t key = ar_mix64(a * 0x9e3779b97f4a7c15u + b);

    return key ? key : 1;
}

uint64_t ar_hash_bytes(const void *bytes, size_t n_bytes)
{
    const unsigned char *p = bytes;
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < n_bytes; i++)
        h = (h ^ p[i]) * 0x100000001b3u;
    return ar_mix64(h);
}

uint64_t ar_hash_words(const void *words, size_t n_words)
{
    const unsigned char *p = words;
    uint64_t h = n_words;

    for (size_t i = 0; i < n_words; i++) {
        uint64_t word;

        memcpy(&word, p + 8 * i, sizeof word);
        h = (h ^ word) * 0x9fb21c651e98df25u;
        h ^= h >> 35;
    }
    return ar_mix64(h);
}

uint64_t ar_hash_long(const void *bytes, size_t n_bytes)
{
    size_t n_words = n_bytes / 8;

    return ar_pair_key(ar_hash_words(bytes, n_words),
                       ar_hash_bytes((const unsigned char *)bytes + 8 * n_words, n_bytes % 8));
}

static struct ar_idmap_slot *find(const struct ar_idmap *map, uint64_t key)
{
    size_t mask = map->n_slots - 1;
    size_t i = ar_mix64(key) & mask;

    while (map->slots[i].key && map->slots[i].key != key)
        i = (i + 1) & mask;
    return &map->slots[i];
}

uint32_t ar_idmap_get(const struct ar_idmap *map, uint64_t key, uint32_t otherwise)
{
    if (!map->n_slots)
        return otherwise;

    const struct ar_idmap_slot *slot = find(map, key);

    return slot->key ? slot->value : otherwise;
}

static enum ar_status rehash(struct ar_idmap *map, size_t n_slots)
{
    struct ar_idmap bigger = {.slots = calloc(n_slots, sizeof *bigger.slots), .n_slots = n_slots};

    if (!bigger.slots)
        return AR_NOMEM;
    for (size_t i = 0; i < map->n_slots; i++)
        if (map->slots[i].key)
            *find(&bigger, map->slots[i].key) = map->slots[i];
    bigger.n_used = map->n_used;
    free(map->slots);
    *map = bigger;
    return AR_OK;
}

enum ar_status ar_idmap_put(struct ar_idmap *map, uint64_t key, uint32_t value)
{
    if (2 * (map->n_used + 1) > map->n_slots) {
        enum ar_status status = rehash(map, map->n_slots ? 2 * map->n_slots : 64);

        if (status < 0)
            return status;
    }

    struct ar_idmap_slot *slot = find(map, key);

    if (!slot->key)
        map->n_used++;
    *slot = (struct ar_idmap_slot){.key = key, .value = value};
    return AR_OK;
}

void ar_idmap_free(struct ar_idmap *map)
{
    free(map->slots);
    *map = (struct ar_idmap){0};
}
