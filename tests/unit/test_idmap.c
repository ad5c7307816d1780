// SPDX-License-Identifier: BSD-3-Clause
#include "base/idmap.h"

#include "dice.h"
#include "failing_alloc.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define N_ITEMS(array) (sizeof(array) / sizeof *(array))
#define MAX_PAIRS 2000

/* ---- the slow map: a list -------------------------------------------------------------------- */

static struct {
    uint64_t key;
    uint32_t value;
} pairs[MAX_PAIRS];
static size_t n_pairs;

static size_t model_find(uint64_t key)
{
    size_t i = 0;

    while (i < n_pairs && pairs[i].key != key)
        i++;
    return i;
}

static void model_put(uint64_t key, uint32_t value)
{
    size_t i = model_find(key);

    if (i == n_pairs)
        n_pairs++;
    pairs[i].key = key;
    pairs[i].value = value;
}

static bool agrees(const struct ar_idmap *m)
{
    bool good =
        m->n_used == n_pairs && (m->n_slots & (m->n_slots - 1)) == 0 && 2 * m->n_used <= m->n_slots;

    for (size_t i = 0; i < n_pairs; i++)
        good = good && ar_idmap_get(m, pairs[i].key, AR_NO_ID) == pairs[i].value;
    return good;
}

/* ---- the map --------------------------------------------------------------------------------- */

static void test_empty(void)
{
    struct ar_idmap m = {0};

    tap_ok(ar_idmap_get(&m, 5, 77) == 77, "nothing is in an empty map");
    tap_ok(ar_idmap_put(&m, 5, 0) == AR_OK && ar_idmap_get(&m, 5, 77) == 0, "a value of 0");
    tap_ok(ar_idmap_get(&m, 0, 77) == 77, "key 0 is never there");
    tap_ok(ar_idmap_put(&m, 5, AR_NO_ID) == AR_OK && ar_idmap_get(&m, 5, 77) == AR_NO_ID &&
               m.n_used == 1,
           "a value is replaced");
    ar_idmap_free(&m);
    tap_ok(!m.slots && m.n_slots == 0 && m.n_used == 0, "freed, it is empty");
    ar_idmap_free(&m);
}

/* `n_keys` is small for many replacements, large for growth. */
static void test_against_model(uint64_t seed, uint32_t n_keys)
{
    struct ar_idmap m = {0};
    struct dice d = {seed};
    bool good = true;

    n_pairs = 0;
    for (int i = 0; i < MAX_PAIRS; i++) {
        uint64_t key = 1 + dice_below(&d, n_keys);
        uint32_t value = dice_below(&d, UINT32_MAX);

        if (dice_below(&d, 2)) /* spread over all bits */
            key *= 0x9e3779b97f4a7c15u;
        good = good && ar_idmap_put(&m, key, value) == AR_OK;
        model_put(key, value);
        key = 1 + dice_below(&d, n_keys);

        size_t at = model_find(key);

        good = good && ar_idmap_get(&m, key, 123) == (at < n_pairs ? pairs[at].value : 123);
        if (i % 50 == 0)
            good = good && agrees(&m);
    }
    tap_ok(good && agrees(&m), "a map of %u keys agrees with a list", n_keys);
    ar_idmap_free(&m);
}

/*
 * Keys that all begin their search at one slot, the last one, in every size that the map comes to
 * have.
 */
static void test_collisions(void)
{
    struct ar_idmap m = {0};
    bool put = true;

    n_pairs = 0;
    for (uint64_t key = 1; n_pairs < 200; key++)
        if ((ar_mix64(key) & 1023) == 1023) {
            put = put && ar_idmap_get(&m, key, 0) == 0 &&
                  ar_idmap_put(&m, key, (uint32_t)key) == AR_OK;
            model_put(key, (uint32_t)key);
        }
    tap_ok(put && agrees(&m), "200 keys that collide and go round the end");
    for (size_t i = 0; i < n_pairs; i += 2) {
        put = put && ar_idmap_put(&m, pairs[i].key, 1) == AR_OK;
        pairs[i].value = 1;
    }
    tap_ok(put && agrees(&m), "replaced one by one");
    ar_idmap_free(&m);
}

static void test_extreme_keys(void)
{
    static const uint64_t keys[] = {1,         2, UINT32_MAX, (uint64_t)1 << 32, (uint64_t)1 << 63,
                                    UINT64_MAX};
    struct ar_idmap m = {0};
    bool put = true;

    n_pairs = 0;
    for (uint32_t i = 0; i < N_ITEMS(keys); i++) {
        put = put && ar_idmap_put(&m, keys[i], i) == AR_OK;
        model_put(keys[i], i);
    }
    tap_ok(put && agrees(&m), "the smallest and largest keys");
    ar_idmap_free(&m);
}

static void test_no_memory(void)
{
    struct ar_idmap m = {0};
    uint64_t key = 1;

    alloc_fail_after(0);
    tap_ok(ar_idmap_put(&m, key, 1) == AR_NOMEM && !m.slots, "the first allocation fails");
    alloc_restore();
    n_pairs = 0;
    for (; m.n_slots == 0 || 2 * (m.n_used + 1) <= m.n_slots; key++) {
        if (ar_idmap_put(&m, key, (uint32_t)key) < 0)
            break;
        model_put(key, (uint32_t)key);
    }

    struct ar_idmap before = m;

    alloc_fail_after(0);
    tap_ok(ar_idmap_put(&m, key, 7) == AR_NOMEM, "a full map cannot grow");
    alloc_restore();
    tap_ok(memcmp(&before, &m, sizeof m) == 0 && agrees(&m), "and is unchanged");
    tap_ok(ar_idmap_put(&m, key, 7) == AR_OK && ar_idmap_get(&m, key, 0) == 7, "until it can");
    ar_idmap_free(&m);
}

/* ---- hashes ---------------------------------------------------------------------------------- */

/* Bits of the output that changed at least once when the given bit of the input did. */
static uint64_t reached_by(unsigned bit)
{
    struct dice d = {bit};
    uint64_t reached = 0;

    for (int i = 0; i < 200; i++) {
        uint64_t x = dice_roll(&d);

        reached |= ar_mix64(x) ^ ar_mix64(x ^ (uint64_t)1 << bit);
    }
    return reached;
}

static void test_hashes(void)
{
    bool all_reached = true, never_zero = true;
    struct dice d = {3};

    for (unsigned bit = 0; bit < 64; bit++)
        all_reached = all_reached && reached_by(bit) == UINT64_MAX;
    tap_ok(all_reached, "every bit of x reaches every bit of ar_mix64(x)");
    for (int i = 0; i < 1000; i++) {
        uint64_t a = dice_number(&d); /* with its counterpart the sum inside is 0 */

        never_zero = never_zero && ar_pair_key(a, 0 - a * 0x9e3779b97f4a7c15u) != 0;
    }
    tap_ok(never_zero && ar_pair_key(0, 0) != 0, "ar_pair_key is never 0");
    tap_ok(ar_pair_key(1, 2) != ar_pair_key(2, 1), "a pair has an order");
    tap_ok(ar_hash_bytes("ab", 2) != ar_hash_bytes("ba", 2), "so have bytes");
    tap_ok(ar_hash_bytes("a", 1) != ar_hash_bytes("a", 2), "a NUL counts");
    tap_ok(ar_hash_bytes("", 0) == ar_hash_bytes(NULL, 0), "no bytes need no address");
    tap_ok(ar_hash_words("12345678abcdefgh", 2) != ar_hash_words("abcdefgh12345678", 2) &&
               ar_hash_words("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 1) !=
                   ar_hash_words("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 2),
           "order and number of words count");
    tap_ok(ar_hash_long("12345678a", 9) != ar_hash_long("12345678b", 9) &&
               ar_hash_long("12345678a", 9) != ar_hash_long("12345679a", 9) &&
               ar_hash_long("12345678", 8) != ar_hash_long("12345678", 9),
           "so do bytes after the last whole word, and those in words");
}

int main(void)
{
    test_empty();
    for (uint64_t seed = 1; seed <= 5; seed++) {
        test_against_model(seed, 10);
        test_against_model(seed, 300);
        test_against_model(seed, 1000000);
    }
    test_collisions();
    test_extreme_keys();
    test_no_memory();
    test_hashes();
    return tap_done();
}
