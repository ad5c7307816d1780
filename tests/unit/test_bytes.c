// SPDX-License-Identifier: BSD-3-Clause
/*
 * What is read is copied to a block of memory of its own size: the address sanitizer sees one byte
 * too many.
 */
#include "base/bytes.h"

#include "dice.h"
#include "failing_alloc.h"
#include "tap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define N_ITEMS(array) (sizeof(array) / sizeof *(array))

/* ---- numbers --------------------------------------------------------------------------------- */

static size_t expected_varint_bytes(uint64_t value)
{
    size_t n = 1;

    while (value >>= 7)
        n++;
    return n;
}

static bool varint_survives(uint64_t value)
{
    struct ar_bytes b = {0};

    ar_bytes_varint(&b, value);

    struct ar_cursor c = ar_cursor_over(b.data, b.n);
    bool good = b.n == expected_varint_bytes(value) && ar_cursor_varint(&c) == value && !c.bad &&
                ar_cursor_left(&c) == 0;

    for (size_t n = 0; n < b.n; n++) { /* cut short, it is bad and 0 */
        c = ar_cursor_over(b.data, n);
        good = good && ar_cursor_varint(&c) == 0 && c.bad;
    }
    ar_bytes_free(&b);
    return good;
}

static void test_varints(void)
{
    struct dice d = {1};
    bool random_good = true;

    tap_ok(varint_survives(0), "varint 0");
    for (unsigned bits = 7; bits < 64; bits += 7) {
        uint64_t edge = (uint64_t)1 << bits;

        tap_ok(varint_survives(edge - 1) && varint_survives(edge) && varint_survives(edge + 1),
               "varints around 2^%u", bits);
    }
    tap_ok(varint_survives(UINT32_MAX) && varint_survives((uint64_t)UINT32_MAX + 1),
           "varints around 2^32");
    tap_ok(varint_survives(UINT64_MAX - 1) && varint_survives(UINT64_MAX), "the largest varints");
    for (int i = 0; i < 10000; i++)
        random_good = random_good && varint_survives(dice_number(&d));
    tap_ok(random_good, "random varints");
}

static void test_varint_bytes(void)
{
    struct ar_bytes b = {0};

    ar_bytes_varint(&b, 300);
    ar_bytes_varint(&b, UINT64_MAX);
    tap_ok(b.n == 12 && memcmp(b.data, "\xac\x02", 2) == 0, "300 is ac 02, as LEB128 has it");
    tap_ok(b.n == 12 && memcmp(b.data + 2, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10) == 0,
           "UINT64_MAX takes ten bytes");
    ar_bytes_free(&b);
}

struct reading {
    uint64_t value;
    bool bad;
};

static struct reading read_varint(const char *bytes, size_t n_bytes)
{
    unsigned char *copy = malloc(n_bytes ? n_bytes : 1);

    memcpy(copy, bytes, n_bytes);

    struct ar_cursor c = ar_cursor_over(copy, n_bytes);
    struct reading r = {.value = ar_cursor_varint(&c)};

    r.bad = c.bad;
    free(copy);
    return r;
}

#define READ(literal) read_varint(literal, sizeof(literal) - 1)

static void test_overlong_varints(void)
{
    struct reading r = READ("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");

    tap_ok(r.bad && r.value == 0, "beyond 64 bits is bad");
    r = READ("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00");
    tap_ok(r.bad && r.value == 0, "eleven bytes are bad");
    r = READ("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80");
    tap_ok(r.bad && r.value == 0, "one that never ends is bad");
    r = READ("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01");
    tap_ok(!r.bad && r.value == (uint64_t)1 << 63, "the 64th bit alone");
}

static void test_varint32(void)
{
    struct ar_bytes b = {0};

    ar_bytes_varint(&b, UINT32_MAX);
    ar_bytes_varint(&b, (uint64_t)UINT32_MAX + 1);

    struct ar_cursor c = ar_cursor_over(b.data, b.n);

    tap_ok(ar_cursor_varint32(&c) == UINT32_MAX && !c.bad, "UINT32_MAX fits");
    tap_ok(ar_cursor_varint32(&c) == 0 && c.bad, "one more does not");
    ar_bytes_free(&b);
}

static void test_fixed_sizes(void)
{
    struct ar_bytes b = {0};
    static const unsigned char expected[] = {0x12, 0x34, 0x12, 0x78, 0x56, 0x34, 0x12, 0xf0,
                                             0xde, 0xbc, 0x9a, 0x78, 0x56, 0x34, 0x12};

    ar_bytes_u8(&b, 0x12);
    ar_bytes_u16(&b, 0x1234);
    ar_bytes_u32(&b, 0x12345678);
    ar_bytes_u64(&b, 0x123456789abcdef0);
    tap_ok(!b.bad && b.n == sizeof expected && memcmp(b.data, expected, b.n) == 0,
           "integers are little-endian");

    struct ar_cursor c = ar_cursor_over(b.data, b.n);

    tap_ok(ar_cursor_u8(&c) == 0x12 && ar_cursor_u16(&c) == 0x1234 &&
               ar_cursor_u32(&c) == 0x12345678 && ar_cursor_u64(&c) == 0x123456789abcdef0 &&
               !c.bad && ar_cursor_left(&c) == 0,
           "and read back");
    ar_bytes_free(&b);
}

/* ---- the cursor ------------------------------------------------------------------------------ */

static void test_short_reads(void)
{
    const unsigned char bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct ar_cursor c = ar_cursor_over(bytes, 0);

    tap_ok(ar_cursor_u8(&c) == 0 && c.bad, "no byte");
    c = ar_cursor_over(bytes, 1);
    tap_ok(ar_cursor_u16(&c) == 0 && c.bad, "one byte of two");
    c = ar_cursor_over(bytes, 3);
    tap_ok(ar_cursor_u32(&c) == 0 && c.bad, "three bytes of four");
    c = ar_cursor_over(bytes, 7);
    tap_ok(ar_cursor_u64(&c) == 0 && c.bad, "seven bytes of eight");
    c = ar_cursor_over(bytes, 8);
    tap_ok(ar_cursor_take(&c, 9) == NULL && c.bad, "nine bytes of eight");
    c = ar_cursor_over(bytes, 8);
    tap_ok(ar_cursor_take(&c, SIZE_MAX) == NULL && c.bad, "as many as there can be");
    c = ar_cursor_over(bytes, 8);
    tap_ok(ar_cursor_take(&c, 8) == bytes && !c.bad, "eight of eight");
    tap_ok(ar_cursor_take(&c, 0) == bytes + 8 && !c.bad, "none of none");
}

static void test_bad_stays_bad(void)
{
    const unsigned char bytes[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct ar_cursor c = ar_cursor_over(bytes, sizeof bytes);
    size_t n_bytes = 7;

    tap_ok(ar_cursor_u8(&c) == 1 && !c.bad, "good to begin with");
    ar_cursor_take(&c, 100);
    tap_ok(ar_cursor_u8(&c) == 0 && ar_cursor_u16(&c) == 0 && ar_cursor_u32(&c) == 0 &&
               ar_cursor_u64(&c) == 0,
           "then integers are 0, though there are bytes left");
    tap_ok(ar_cursor_varint(&c) == 0 && ar_cursor_varint32(&c) == 0 && ar_cursor_count(&c, 1) == 0,
           "so are varints and counts");
    tap_ok(ar_cursor_take(&c, 0) == NULL, "nothing can be taken");
    tap_ok(strcmp(ar_cursor_string(&c, &n_bytes), "") == 0 && n_bytes == 0, "strings are empty");
    tap_ok(c.bad, "it is still bad");
}

static bool count_is_good(uint64_t n_items, size_t item_bytes, size_t n_left)
{
    struct ar_bytes b = {0};
    unsigned char zeros[64] = {0};

    ar_bytes_varint(&b, n_items);
    ar_bytes_put(&b, zeros, n_left);

    struct ar_cursor c = ar_cursor_over(b.data, b.n);
    uint32_t n = ar_cursor_count(&c, item_bytes);
    bool good = !c.bad && n == n_items;

    tap_ok(good || (c.bad && n == 0), "a bad count of %" PRIu64 " is 0", n_items);
    ar_bytes_free(&b);
    return good;
}

static void test_counts(void)
{
    tap_ok(count_is_good(0, 4, 0), "none of none");
    tap_ok(count_is_good(3, 4, 12), "three of four bytes in twelve");
    tap_ok(!count_is_good(3, 4, 11), "not in eleven");
    tap_ok(!count_is_good(1, 2, 1), "not one of two in one");
    tap_ok(count_is_good(64, 1, 64) && !count_is_good(65, 1, 64), "bytes");
    tap_ok(!count_is_good(UINT32_MAX, 1, 64), "a count that would take 4 GiB");
    tap_ok(!count_is_good((uint64_t)UINT32_MAX + 2, 1, 64), "one that is more than 32 bits");
    tap_ok(!count_is_good((uint64_t)1 << 30, 1 << 30, 64), "a product that would overflow");
}

static void test_strings(void)
{
    struct ar_bytes b = {0};
    size_t n_bytes;

    ar_bytes_string(&b, "", 0);
    ar_bytes_string(&b, "a\0b", 3);
    ar_bytes_varint(&b, UINT64_MAX);
    tap_ok(b.n == 15, "a length and the bytes");

    struct ar_cursor c = ar_cursor_over(b.data, b.n);

    ar_cursor_string(&c, &n_bytes);
    tap_ok(n_bytes == 0 && !c.bad, "the empty string");

    const char *text = ar_cursor_string(&c, &n_bytes);

    tap_ok(n_bytes == 3 && memcmp(text, "a\0b", 3) == 0 && !c.bad, "a string with a NUL in it");
    text = ar_cursor_string(&c, &n_bytes);
    tap_ok(c.bad && n_bytes == 0 && *text == '\0', "one that is longer than what is left");
    ar_bytes_free(&b);
}

/* ---- the writer ------------------------------------------------------------------------------ */

static void test_writer(void)
{
    struct ar_bytes b = {0};
    bool kept = true;

    ar_bytes_put(&b, NULL, 0);
    tap_ok(b.n == 0 && !b.bad, "nothing put is nothing there");
    for (uint32_t i = 0; i < 100000; i++)
        ar_bytes_u32(&b, i);

    struct ar_cursor c = ar_cursor_over(b.data, b.n);

    for (uint32_t i = 0; i < 100000; i++)
        kept = kept && ar_cursor_u32(&c) == i;
    tap_ok(kept && !b.bad && b.cap >= b.n, "what was written is kept while it grows");
    ar_bytes_free(&b);
    tap_ok(!b.data && b.n == 0 && b.cap == 0 && !b.bad, "freed, it is empty");
    ar_bytes_free(&b);
}

static void test_writer_without_memory(void)
{
    struct ar_bytes b = {0};

    ar_bytes_u8(&b, 7);
    alloc_fail_after(0);
    ar_bytes_put(&b, "0123456789012345678901234567890123456789", 40);
    alloc_restore();
    tap_ok(b.bad && b.n == 1 && b.data[0] == 7, "a failed allocation makes it bad");
    ar_bytes_u8(&b, 8);
    ar_bytes_varint(&b, 8);
    ar_bytes_put(&b, "8", 1);
    tap_ok(b.bad && b.n == 1, "what follows is ignored, though it would fit");
    ar_bytes_free(&b);
}

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

/*
 * By the definition: decode whatever it says, then see whether that is a character and this its
 * shortest form.
 */
static size_t slow_utf8_length(const unsigned char *s, size_t n_left)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = s[0] < 0x80           ? 1
               : (s[0] >> 5) == 0x06 ? 2
               : (s[0] >> 4) == 0x0e ? 3
               : (s[0] >> 3) == 0x1e ? 4
                                     : 0;
    uint32_t code = n == 1 ? s[0] : s[0] & (0x7f >> n);

    if (n == 0 || n > n_left)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] >> 6) != 2)
            return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    if (code < smallest[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    return n;
}

static uint32_t count_wrong_utf8(const unsigned char *s)
{
    uint32_t n_wrong = 0;

    for (size_t n = 1; n <= 4; n++)
        n_wrong += ar_utf8_length(s, n) != slow_utf8_length(s, n);
    return n_wrong;
}

/* All first three bytes; of the fourth the edges of what may follow. */
static void test_utf8_against_definition(void)
{
    static const unsigned char fourth[] = {0x00, 0x7f, 0x80, 0xbf, 0xc0, 0xff};
    uint32_t n_wrong = 0;

    for (uint32_t i = 0; i < 1u << 24; i++) {
        unsigned char s[4] = {(unsigned char)(i >> 16), (unsigned char)(i >> 8), (unsigned char)i,
                              fourth[i % N_ITEMS(fourth)]};

        n_wrong += count_wrong_utf8(s);
    }
    for (uint32_t i = 0; i < 1u << 16; i++)
        for (size_t k = 0; k < N_ITEMS(fourth) * N_ITEMS(fourth); k++) {
            unsigned char s[4] = {(unsigned char)(i >> 8), (unsigned char)i,
                                  fourth[k / N_ITEMS(fourth)], fourth[k % N_ITEMS(fourth)]};

            n_wrong += count_wrong_utf8(s);
        }
    tap_ok(n_wrong == 0, "UTF-8 agrees with its definition");
}

static void test_utf8_cut_short(void)
{
    static const char *const characters[] = {"a", "\u00e9", "\u20ac", "\U0001f600"};

    for (size_t i = 0; i < N_ITEMS(characters); i++)
        for (size_t n = 1; n <= i + 1; n++) {
            char *copy = malloc(n);

            memcpy(copy, characters[i], n);
            tap_ok(ar_utf8_length(copy, n) == (n == i + 1 ? n : 0), "%zu of %zu bytes", n, i + 1);
            free(copy);
        }
}

/* ---- CRC ------------------------------------------------------------------------------------- */

static void test_crc32(void)
{
    const unsigned char zeros[32] = {0};
    char text[] = "The quick brown fox jumps over the lazy dog";
    uint32_t whole = ar_crc32(text, strlen(text));
    bool noticed = true;

    tap_ok(ar_crc32("", 0) == 0, "of nothing");
    tap_ok(ar_crc32("123456789", 9) == 0xcbf43926u, "the check value");
    tap_ok(ar_crc32("a", 1) == 0xe8b7be43u, "of a");
    tap_ok(ar_crc32(zeros, sizeof zeros) == 0x190a55adu, "of 32 zeros");
    tap_ok(whole == 0x414fa339u, "of the quick brown fox");
    for (size_t bit = 0; bit < 8 * strlen(text); bit++) {
        text[bit / 8] = (char)(text[bit / 8] ^ (1 << bit % 8));
        noticed = noticed && ar_crc32(text, strlen(text)) != whole;
        text[bit / 8] = (char)(text[bit / 8] ^ (1 << bit % 8));
    }
    tap_ok(noticed, "each single bit is noticed");
}

int main(void)
{
    test_varints();
    test_varint_bytes();
    test_overlong_varints();
    test_varint32();
    test_fixed_sizes();
    test_short_reads();
    test_bad_stays_bad();
    test_counts();
    test_strings();
    test_writer();
    test_writer_without_memory();
    test_utf8_against_definition();
    test_utf8_cut_short();
    test_crc32();
    return tap_done();
}
