// SPDX-License-Identifier: BSD-3-Clause
#include "base/arena.h"

#include "dice.h"
#include "failing_alloc.h"
#include "tap.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define N_PIECES 3000

struct piece {
    unsigned char *at;
    size_t n_bytes;
    unsigned char fill;
};

static bool piece_is_whole(const struct piece *piece)
{
    for (size_t i = 0; i < piece->n_bytes; i++)
        if (piece->at[i] != piece->fill)
            return false;
    return true;
}

/*
 * Sizes from 1 to what does not fit into a block; every piece is filled at once and looked at at
 * the end.
 */
static void test_pieces(void)
{
    static struct piece pieces[N_PIECES];
    struct ar_arena a = {0};
    struct dice d = {7};
    bool aligned = true, whole = true;

    for (size_t i = 0; i < N_PIECES; i++) {
        struct piece *p = &pieces[i];

        p->n_bytes = 1 + dice_below(&d, i % 100 == 99 ? 200000 : 200);
        p->fill = (unsigned char)i;
        p->at = ar_arena_alloc(&a, p->n_bytes);
        aligned = aligned && p->at && (uintptr_t)p->at % 16 == 0;
        memset(p->at, p->fill, p->n_bytes);
    }
    for (size_t i = 0; i < N_PIECES; i++)
        whole = whole && piece_is_whole(&pieces[i]);
    tap_ok(aligned, "all pieces are aligned to 16");
    tap_ok(whole, "none of them moved or lies on another");
    ar_arena_free(&a);
    tap_ok(!a.newest && a.n_left == 0, "freed, it is a zeroed one");
}

static void test_after_a_big_piece(void)
{
    struct ar_arena a = {0};
    char *small = ar_arena_alloc(&a, 1), *big = ar_arena_alloc(&a, (size_t)10 << 20);
    char *again = ar_arena_alloc(&a, 1);

    tap_ok(small && big && again, "small, 10 MiB, small");
    memset(big, 1, (size_t)10 << 20);
    *small = *again = 2;
    tap_ok(big[0] == 1 && big[((size_t)10 << 20) - 1] == 1, "the big one is whole");
    ar_arena_free(&a);
}

static void test_copy(void)
{
    struct ar_arena a = {0};
    char text[4] = {'a', '\0', 'b', 'c'};
    char *copy = ar_arena_copy(&a, text, sizeof text);

    tap_ok(copy && memcmp(copy, text, sizeof text) == 0 && copy[4] == '\0', "a copy and a NUL");
    text[0] = 'x';
    tap_ok(copy[0] == 'a', "it is a copy");
    copy = ar_arena_copy(&a, NULL, 0);
    tap_ok(copy && *copy == '\0', "of nothing");
    ar_arena_free(&a);
    ar_arena_free(&a);
}

static void test_nothing(void)
{
    struct ar_arena a = {0};

    tap_ok(ar_arena_alloc(&a, 0) != NULL, "no bytes of an empty arena");
    tap_ok(ar_arena_alloc(&a, 8) != NULL, "then some");
    ar_arena_free(&a);
}

static void test_no_memory(void)
{
    struct ar_arena a = {0};
    char *piece = ar_arena_alloc(&a, 16);
    size_t n_left = a.n_left;

    tap_ok(ar_arena_alloc(&a, SIZE_MAX) == NULL, "all there is");
    tap_ok(ar_arena_alloc(&a, SIZE_MAX / 2 + 1) == NULL, "half of it");
    alloc_fail_after(0);
    tap_ok(ar_arena_alloc(&a, n_left + 1) == NULL, "a block that cannot be had");
    tap_ok(ar_arena_copy(&a, piece, (size_t)1 << 20) == NULL, "likewise a copy");
    tap_ok(a.n_left == n_left && ar_arena_alloc(&a, n_left), "what is left can still be had");
    alloc_restore();
    ar_arena_free(&a);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static void test_grow(void)
{
    uint32_t *items = NULL;
    size_t cap = 0, n_moves = 0;
    bool grown = true, kept = true;

    for (uint32_t i = 0; i < 100000; i++) {
        size_t before = cap;

        grown = grown && ar_grow((void **)&items, &cap, i + 1, sizeof *items) == AR_OK && cap > i;
        items[i] = i;
        n_moves += cap != before;
    }
    for (uint32_t i = 0; i < 100000; i++)
        kept = kept && items[i] == i;
    tap_ok(grown && kept, "an array of 100,000");
    tap_ok(n_moves <= 17, "it doubled: %zu steps", n_moves);
    free(items);
}

static void test_grow_in_one_step(void)
{
    uint64_t *items = NULL;
    size_t cap = 0;

    tap_ok(ar_grow((void **)&items, &cap, 0, sizeof *items) == AR_OK && !items, "none are wanted");
    tap_ok(ar_grow((void **)&items, &cap, 1000, sizeof *items) == AR_OK && cap >= 1000,
           "a thousand at once");

    size_t before = cap;
    uint64_t *at = items;

    tap_ok(ar_grow((void **)&items, &cap, 10, sizeof *items) == AR_OK && cap == before &&
               items == at,
           "enough is left alone");
    free(items);
}

/* An array that was made elsewhere, with room for just what it holds. */
static void test_grow_from_odd_capacity(void)
{
    uint32_t *items = malloc(3 * sizeof *items);
    size_t cap = 3;

    items[2] = 77;
    tap_ok(ar_grow((void **)&items, &cap, 4, sizeof *items) == AR_OK && cap >= 4 && items[2] == 77,
           "from 3 to 4");
    free(items);
}

static void test_grow_failures(void)
{
    static const struct {
        size_t n_wanted, item_bytes;
    } cases[] = {
        {SIZE_MAX, 1},         {SIZE_MAX / 2 + 2, 1},       {SIZE_MAX / 8, 16},
        {SIZE_MAX / 4 + 2, 4}, {SIZE_MAX, SIZE_MAX},        {(size_t)1 << 60, 16},
        {17, SIZE_MAX / 16},   {((size_t)1 << 59) + 1, 24},
    };
    uint32_t *items = NULL;
    size_t cap = 0;

    tap_ok(ar_grow((void **)&items, &cap, 5, sizeof *items) == AR_OK, "five to begin with");
    items[0] = 5;

    uint32_t *at = items;
    size_t before = cap;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum ar_status status =
            ar_grow((void **)&items, &cap, cases[i].n_wanted, cases[i].item_bytes);

        tap_ok(status == AR_NOMEM && items == at && cap == before,
               "%zu items of %zu bytes: refused, unchanged", cases[i].n_wanted,
               cases[i].item_bytes);
    }
    alloc_fail_after(0);
    tap_ok(ar_grow((void **)&items, &cap, before + 1, sizeof *items) == AR_NOMEM && items == at &&
               cap == before && items[0] == 5,
           "no memory: refused, unchanged");
    alloc_restore();
    free(items);
}

int main(void)
{
    test_pieces();
    test_after_a_big_piece();
    test_copy();
    test_nothing();
    test_no_memory();
    test_grow();
    test_grow_in_one_step();
    test_grow_from_odd_capacity();
    test_grow_failures();
    return tap_done();
}
