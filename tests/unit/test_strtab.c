// SPDX-License-Identifier: BSD-3-Clause
#include "base/strtab.h"

#include "failing_alloc.h"
#include "tap.h"

#include <stdio.h>
#include <string.h>

#define N_STRINGS 20000

static uint32_t put(struct ar_strtab *t, const char *text, size_t n_bytes)
{
    uint32_t id = AR_NO_ID;

    return ar_strtab_put(t, text, n_bytes, &id) == AR_OK ? id : AR_NO_ID;
}

static uint32_t put_text(struct ar_strtab *t, const char *text)
{
    return put(t, text, strlen(text));
}

static void test_small(void)
{
    struct ar_strtab t = {0};

    tap_ok(strcmp(ar_strtab_text(&t, 0), "") == 0 && strcmp(ar_strtab_text(&t, 9), "") == 0,
           "an empty table has empty strings");
    tap_ok(put_text(&t, "solve") == 1, "the first string is number 1");
    tap_ok(put_text(&t, "") == 0, "the empty string is number 0");
    tap_ok(put_text(&t, "step") == 2 && put_text(&t, "solve") == 1, "each string once");
    tap_ok(t.n_strings == 3, "three strings");
    tap_ok(strcmp(ar_strtab_text(&t, 2), "step") == 0 && ar_strtab_get(&t, 2).n_bytes == 4,
           "text and length");
    tap_ok(ar_strtab_get(&t, 3).n_bytes == 0 && *ar_strtab_text(&t, AR_NO_ID) == '\0',
           "an unknown number is empty");
    ar_strtab_free(&t);
    tap_ok(t.n_strings == 0 && !t.strings && put_text(&t, "again") == 1, "freed, it is empty");
    ar_strtab_free(&t);
}

static void test_bytes(void)
{
    struct ar_strtab t = {0};
    char text[] = {'a', '\0', 'b', 'x'};
    uint32_t with_nul = put(&t, text, 3), before_nul = put(&t, text, 1);
    uint32_t not_utf8 = put(&t, "\xff\xfe", 2);

    text[0] = 'x';
    tap_ok(with_nul != before_nul, "a NUL does not end a string");
    tap_ok(ar_strtab_get(&t, with_nul).n_bytes == 3 &&
               memcmp(ar_strtab_text(&t, with_nul), "a\0b", 4) == 0,
           "it is a copy, with a NUL at the end");
    tap_ok(strcmp(ar_strtab_text(&t, not_utf8), "\xff\xfe") == 0, "any byte will do");
    ar_strtab_free(&t);
}

/* These have the same FNV-1a hash of 64 bits. */
static void test_equal_hashes(void)
{
    static const char *const a = "8yn0iYCKYHlIj4-BwPqk", *const b = "GReLUrM4wMqfg9yzV3KQ";
    struct ar_strtab t = {0};

    tap_ok(ar_hash_bytes(a, strlen(a)) == ar_hash_bytes(b, strlen(b)), "two equal hashes");
    tap_ok(put_text(&t, a) == 1 && put_text(&t, b) == 2, "two numbers");
    tap_ok(put_text(&t, b) == 2 && put_text(&t, a) == 1, "the same numbers again");
    tap_ok(strcmp(ar_strtab_text(&t, 1), a) == 0 && strcmp(ar_strtab_text(&t, 2), b) == 0,
           "two texts");
    ar_strtab_free(&t);
}

static void test_many(void)
{
    static const char *first_seen[N_STRINGS];
    struct ar_strtab t = {0};
    bool numbered = true, found = true, stayed = true;
    char text[32];

    for (uint32_t i = 0; i < N_STRINGS; i++) {
        snprintf(text, sizeof text, "function_%u", i);
        numbered = numbered && put_text(&t, text) == i + 1;
        first_seen[i] = ar_strtab_text(&t, i + 1);
    }
    for (uint32_t i = N_STRINGS; i-- > 0;) {
        snprintf(text, sizeof text, "function_%u", i);
        found = found && put_text(&t, text) == i + 1;
        stayed = stayed && ar_strtab_text(&t, i + 1) == first_seen[i] &&
                 strcmp(first_seen[i], text) == 0;
    }
    tap_ok(numbered, "%d strings are numbered in their order", N_STRINGS);
    tap_ok(found && t.n_strings == N_STRINGS + 1, "and found again");
    tap_ok(stayed, "they never move");
    ar_strtab_free(&t);
}

/* Whichever allocation fails, the table says so and can be freed. */
static void test_no_memory(void)
{
    bool refused = true, worked = false;
    size_t n = 0;

    for (; !worked; n++) {
        struct ar_strtab t = {0};
        uint32_t id;

        alloc_fail_after(n);
        enum ar_status status = ar_strtab_put(&t, "solve", 5, &id);
        alloc_restore();
        worked = status == AR_OK;
        refused = refused && (worked || status == AR_NOMEM);
        ar_strtab_free(&t);
    }
    tap_ok(refused && n > 1, "every one of %zu allocations may fail", n - 1);
}

int main(void)
{
    test_small();
    test_bytes();
    test_equal_hashes();
    test_many();
    test_no_memory();
    return tap_done();
}
