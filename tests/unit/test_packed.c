// SPDX-License-Identifier: BSD-3-Clause
#include "format/packed.h"

#include "dice.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define N_LOCATIONS 5000
#define MOST_ROWS 64

struct matrix {
    struct ar_value values[MOST_ROWS][N_LOCATIONS];
    size_t n[MOST_ROWS];
    uint32_t sets[MOST_ROWS];
    size_t n_rows;
};

static struct matrix matrix;

static void add_row(const uint32_t *locations, size_t n, const uint64_t *values)
{
    size_t row = matrix.n_rows++;

    matrix.n[row] = n;
    for (size_t i = 0; i < n; i++)
        matrix.values[row][i] = (struct ar_value){
            .node = (uint32_t)(2 * row), .location = locations[i], .value = values[i]};
}

/* As the run file lays it out: sets, then what is known of rows, then their values. */
static size_t encode(struct ar_bytes *sets, struct ar_bytes *rows)
{
    struct ar_set_writer writer = {0};
    struct ar_bytes sizes = {0}, values = {0};
    size_t n_sets;

    ar_bytes_varint(rows, matrix.n_rows);
    for (size_t i = 0; i < matrix.n_rows; i++) {
        size_t before = values.n;

        if (ar_set_add(&writer, matrix.values[i], matrix.n[i], &matrix.sets[i]) < 0)
            abort();
        ar_bytes_varint(rows, i ? 2 : 0);
        ar_packed_put(&values, matrix.values[i], matrix.n[i]);
        ar_bytes_varint(&sizes, values.n - before);
    }
    for (size_t i = 0; i < matrix.n_rows; i++)
        ar_bytes_varint(rows, matrix.sets[i]);
    ar_bytes_put(rows, sizes.data, sizes.n);
    ar_bytes_put(rows, values.data, values.n);
    ar_set_writer_put(&writer, sets);
    n_sets = writer.n_sets;
    ar_set_writer_free(&writer);
    ar_bytes_free(&sizes);
    ar_bytes_free(&values);
    return n_sets;
}

static bool is_row(const struct ar_packed *packed, const struct ar_sets *sets, size_t row)
{
    struct ar_value *found = malloc((sets->n_most + 1) * sizeof *found);
    size_t n = ar_packed_get(packed, sets, row, found);
    bool same = n == matrix.n[row] && memcmp(found, matrix.values[row], n * sizeof *found) == 0;

    free(found);
    return same;
}

/* Into bytes and back, each in a buffer of its own length: a byte too far is noticed. */
static size_t check_round_trip(const char *what)
{
    struct ar_bytes set_bytes = {0}, row_bytes = {0};
    size_t n_sets = encode(&set_bytes, &row_bytes), n_bytes = set_bytes.n + row_bytes.n;
    unsigned char *a = malloc(set_bytes.n), *b = malloc(row_bytes.n);
    struct ar_sets sets = {0};
    struct ar_packed packed = {0};

    memcpy(a, set_bytes.data, set_bytes.n);
    memcpy(b, row_bytes.data, row_bytes.n);

    struct ar_cursor in_sets = ar_cursor_over(a, set_bytes.n);
    struct ar_cursor in_rows = ar_cursor_over(b, row_bytes.n);

    ar_sets_open(&sets, &in_sets, N_LOCATIONS);
    ar_packed_open(&packed, &in_rows, &sets, 2 * MOST_ROWS);
    tap_ok(!in_sets.bad && !in_rows.bad && sets.n_sets == n_sets && packed.n_rows == matrix.n_rows,
           "%s: read", what);

    bool same = !in_sets.bad && !in_rows.bad;

    for (size_t i = 0; i < matrix.n_rows && same; i++)
        same = is_row(&packed, &sets, i);
    tap_ok(same, "%s: every row is what it was", what);
    ar_sets_free(&sets);
    ar_packed_free(&packed);
    ar_bytes_free(&set_bytes);
    ar_bytes_free(&row_bytes);
    free(a);
    free(b);
    matrix.n_rows = 0;
    return n_bytes;
}

static uint32_t all[N_LOCATIONS];
static uint64_t values[N_LOCATIONS];

static void test_every_width(void)
{
    struct dice d = {3};

    for (unsigned width = 0; width <= 64; width += width < 8 || width > 54 ? 1 : 7) {
        uint64_t most = width == 64 ? UINT64_MAX : ((uint64_t)1 << width) - 1;

        for (size_t i = 0; i < N_LOCATIONS; i++)
            values[i] = (dice_roll(&d) & most) + (width < 60 ? 1000 : 0);
        values[0] = most + (width < 60 ? 1000 : 0);
        add_row(all, 1 + dice_below(&d, N_LOCATIONS - 1), values);
    }
    check_round_trip("values of every width");
}

static void test_one_large_value(void)
{
    for (size_t i = 0; i < 128; i++)
        values[i] = i % 2;
    values[77] = UINT64_MAX;
    add_row(all, 128, values);
    tap_ok(check_round_trip("one large value") < 200, "it costs its own length, not everybody's");
}

static void test_alike(void)
{
    for (size_t i = 0; i < N_LOCATIONS; i++)
        values[i] = 12345;
    for (size_t row = 0; row < 20; row++)
        add_row(all, N_LOCATIONS, values);
    tap_ok(check_round_trip("the same on all") < 20 * (4 * N_LOCATIONS / 128 + 8) + 8,
           "takes no bits for any of them");
}

static void test_sets(void)
{
    static const uint32_t last[] = {N_LOCATIONS - 1}, two[] = {0, N_LOCATIONS - 1};
    uint32_t some[N_LOCATIONS];
    struct dice d = {9};

    values[0] = values[1] = 0;
    add_row(last, 1, values);
    add_row(two, 2, values);
    add_row(last, 1, values);
    for (uint32_t part = 2; part < 400; part *= 2) {
        size_t n = 0;

        for (uint32_t i = 0; i < N_LOCATIONS; i++)
            if (dice_below(&d, part) == 0)
                some[n++] = i;
        add_row(some, n, values);
        add_row(some, n, values);
    }
    check_round_trip("sets of every density");
    tap_ok(matrix.sets[0] == matrix.sets[2] && matrix.sets[0] != matrix.sets[1],
           "the same set has the same number");
    tap_ok(matrix.sets[3] == matrix.sets[4] && matrix.sets[3] != matrix.sets[5], "and no other");
}

static bool sets_are_read(const char *bytes, size_t n_bytes, size_t n_locations)
{
    struct ar_cursor in = ar_cursor_over(bytes, n_bytes);
    struct ar_sets sets = {0};

    ar_sets_open(&sets, &in, n_locations);
    ar_sets_free(&sets);
    return !in.bad;
}

#define SETS(literal, n) sets_are_read(literal, sizeof(literal) - 1, n)

static void test_sets_that_cannot_be(void)
{
    tap_ok(SETS("\x01\x02\x04\x01\x00", 2), "a run of two");
    tap_ok(!SETS("\x01\x02\x04\x01\x00", 1), "with one location there is none");
    tap_ok(!SETS("\x01\x03\x04\x01\x00", 9), "nor has it three");
    tap_ok(!SETS("\x01\x00\x00", 9), "a set of nothing");
    tap_ok(SETS("\x01\x01\x03\x80", 8), "a bit");
    tap_ok(!SETS("\x01\x01\x03\x80", 7), "a bit of nobody");
    tap_ok(!SETS("\x01\x02\x03\x80", 8), "a bit less than it says");
    tap_ok(!SETS("\x01\x02\x04\x81\x01", 99), "a length that does not end");
    tap_ok(!SETS("\x01\x01\x14\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 99), "beyond everything");
}

int main(void)
{
    for (uint32_t i = 0; i < N_LOCATIONS; i++)
        all[i] = i;
    test_every_width();
    test_one_large_value();
    test_alike();
    test_sets();
    test_sets_that_cannot_be();
    return tap_done();
}
