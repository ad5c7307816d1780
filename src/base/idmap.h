// SPDX-License-Identifier: BSD-3-Clause
/*
 * idmap: hash map from u64 to u32.
 *
 * Finds the child of a tree node on the recording path, and the new number of an old one when files
 * are merged. Open addressing, linear probing, power-of-two capacity, load factor at most 1/2. Key
 * 0 means "empty".
 *
 * Threads:    one owner, never shared.
 * Signals:    ar_idmap_get is async-signal-safe, ar_idmap_put is not.
 * Allocation: only in ar_idmap_put; on AR_NOMEM the map is unchanged.
 *
 *     struct ar_idmap m = {0};
 *     if (ar_idmap_put(&m, key, 7) < 0) ...
 *     uint32_t v = ar_idmap_get(&m, key, AR_NO_ID);
 *     ar_idmap_free(&m);
 */
#pragma once

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#define AR_NO_ID UINT32_MAX

struct ar_idmap_slot {
    uint64_t key;
    uint32_t value;
};

struct ar_idmap {
    struct ar_idmap_slot *slots;
    size_t n_slots; /* 0 or a power of two */
    size_t n_used;
};

/* A good 64-bit mixer: every input bit reaches every output bit. */
uint64_t ar_mix64(uint64_t x);
/* Two words into one key; never 0, so that it can be a key here. */
uint64_t ar_pair_key(uint64_t a, uint64_t b);
/* FNV-1a over bytes, mixed. */
uint64_t ar_hash_bytes(const void *bytes, size_t n_bytes);
/* Of whole words, at a word a step: for what is long. */
uint64_t ar_hash_words(const void *words, size_t n_words);
/* The same for any number of bytes. */
uint64_t ar_hash_long(const void *bytes, size_t n_bytes);

uint32_t ar_idmap_get(const struct ar_idmap *map, uint64_t key, uint32_t otherwise);
AR_MUST_CHECK enum ar_status ar_idmap_put(struct ar_idmap *map, uint64_t key, uint32_t value);
void ar_idmap_free(struct ar_idmap *map);
