// SPDX-License-Identifier: BSD-3-Clause
#include "format/table.h"

#include "base/idmap.h"

#include "dice.h"
#include "failing_alloc.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

/* Lines of a function on a thread, say. */
static const struct ar_column columns[] = {
    {.name = "node", .unit = "", .role = AR_ROLE_NODE, .flags = AR_COLUMN_KEY | AR_COLUMN_STEPS},
    {.name = "line", .unit = "", .role = AR_ROLE_NUMBER, .flags = AR_COLUMN_KEY},
    {.name = "where",
     .unit = "",
     .role = AR_ROLE_STRING,
     .flags = AR_COLUMN_KEY | AR_COLUMN_OPTIONAL},
    {.name = "hits", .unit = "1", .combine = AR_COMBINE_SUM},
    {.name = "longest", .unit = "ns", .combine = AR_COMBINE_MAX},
    {.name = "seed", .unit = "", .combine = AR_COMBINE_OR, .flags = AR_COLUMN_PLAIN},
};
static const struct ar_table_kind narrow = {
    .name = "lines", .columns = columns, .n_columns = 4, .n_keys = 3};
static const struct ar_table_kind wide = {
    .name = "lines", .columns = columns, .n_columns = 6, .n_keys = 3};

struct narrow_row {
    uint32_t node, line, where, spare;
    uint64_t hits;
};
struct wide_row {
    uint32_t node, line, where, spare;
    uint64_t hits, longest, seed;
};

static const struct ar_role_limits limits = {.n = {[AR_ROLE_NODE] = 10, [AR_ROLE_STRING] = 3}};
static const struct ar_role_maps same_numbers = {.to = {NULL}};

static void add(struct ar_table *table, struct wide_row row)
{
    if (ar_table_add(table, &row,
                     table->row_bytes < sizeof row ? sizeof(struct narrow_row) : sizeof row) < 0)
        abort();
}

static const struct wide_row *at(const struct ar_table *table, size_t i)
{
    return ar_table_row(table, i);
}

static struct ar_table some_rows(void)
{
    struct ar_table table = {0};

    ar_table_be(&table, &wide);
    add(&table, (struct wide_row){7, 3, 0, 0, 5, 50, 1});
    add(&table, (struct wide_row){2, 9, 3, 0, 1, 10, 2});
    add(&table, (struct wide_row){7, 3, 0, 0, 6, 40, 4});
    add(&table, (struct wide_row){2, 8, 1, 0, 2, 20, UINT64_MAX});
    return table;
}

static void test_order(void)
{
    struct ar_table table = some_rows();

    tap_ok(!ar_table_is_sorted(&table), "not in order");
    ar_table_sort(&table);
    tap_ok(ar_table_is_sorted(&table) && table.n == 3, "rows with equal keys are one");
    tap_ok(at(&table, 0)->line == 8 && at(&table, 1)->line == 9 && at(&table, 2)->node == 7,
           "in the order of their keys");
    tap_ok(at(&table, 2)->hits == 11 && at(&table, 2)->longest == 50 && at(&table, 2)->seed == 5,
           "each value by its own rule");
    ar_table_free(&table);
}

static void test_numbers(void)
{
    static const uint32_t nodes[] = {0, 1, 5, 3, 4, 2, 6, AR_NO_ID}, strings[] = {2, 1, 0};
    const struct ar_role_maps maps = {.to = {[AR_ROLE_NODE] = nodes, [AR_ROLE_STRING] = strings}};
    struct ar_table table = some_rows(), other = {0};

    ar_table_renumber(&table, &maps);
    tap_ok(table.n == 2 && at(&table, 0)->node == 5 && at(&table, 1)->node == 5,
           "what has no number any more is left out");
    tap_ok(at(&table, 0)->where == 1 && at(&table, 1)->where == 3, "numbers plus one are replaced");
    ar_table_be(&other, &wide);
    add(&other, (struct wide_row){7, 1, 0, 0, 1, 1, 1});
    add(&other, (struct wide_row){2, 1, 0, 0, 1, 1, 1});
    tap_ok(ar_table_append(&table, &other, &maps) == AR_OK && table.n == 3 &&
               at(&table, 2)->node == 5 && at(&table, 2)->where == 0,
           "so are those that are added");
    ar_table_free(&table);
    ar_table_free(&other);
}

static struct ar_bytes encoded(const struct ar_table *table)
{
    struct ar_bytes bytes = {0};

    ar_table_encode(table, &bytes);
    if (bytes.bad)
        abort();
    return bytes;
}

/* With the description that the bytes have, or with ours. */
static bool decode(struct ar_table *table, const struct ar_bytes *bytes, bool with_ours)
{
    struct ar_cursor in = ar_cursor_over(bytes->data, bytes->n);
    struct ar_table_kind *kind = ar_table_kind_decode(&in);

    *table = (struct ar_table){0};
    if (!kind)
        return false;

    bool is_ours = with_ours && ar_table_kind_extends(&wide, kind);
    size_t n_columns = kind->n_columns;

    if (is_ours)
        ar_table_kind_free(kind);
    ar_table_decode(table, is_ours ? &wide : kind, n_columns, &in, &limits);
    return !in.bad && !ar_cursor_left(&in);
}

static void test_bytes(void)
{
    struct ar_table table = some_rows(), read;

    ar_table_sort(&table);

    struct ar_bytes bytes = encoded(&table);

    tap_ok(decode(&read, &bytes, false) && read.n == 3 && read.kind->is_owned &&
               strcmp(read.kind->columns[4].name, "longest") == 0 &&
               strcmp(read.kind->columns[4].unit, "ns") == 0 && read.kind->n_keys == 3,
           "what is not known is read with the description of the file");
    tap_ok(memcmp(read.rows, table.rows, 3 * sizeof(struct wide_row)) == 0,
           "and has the same rows");
    tap_ok(ar_table_kind_extends(read.kind, &wide) && ar_table_kind_extends(&wide, read.kind) &&
               ar_table_kind_extends(read.kind, &narrow) &&
               !ar_table_kind_extends(&narrow, read.kind),
           "it is known again");
    ar_table_free(&read);
    tap_ok(decode(&read, &bytes, true) && read.kind == &wide, "ours is read as ours");
    ar_table_free(&read);
    ar_table_free(&table);
    ar_bytes_free(&bytes);
}

/* A file of an earlier version has fewer columns, of which `complete` would know more. */
static void test_widths(void)
{
    struct ar_table table = {0}, read, more = some_rows();

    ar_table_be(&table, &narrow);
    add(&table, (struct wide_row){4, 4, 0, 0, 4, 0, 0});

    struct ar_bytes bytes = encoded(&table);

    tap_ok(decode(&read, &bytes, true) && read.row_bytes == sizeof(struct wide_row) &&
               at(&read, 0)->hits == 4 && at(&read, 0)->longest == 0,
           "columns that a file lacks are 0");
    tap_ok(ar_table_append(&read, &table, &same_numbers) == AR_OK && read.n == 2 &&
               at(&read, 1)->hits == 4 && at(&read, 1)->seed == 0,
           "a narrow one is added to a wide one");
    tap_ok(ar_table_widen(&table, &wide) == AR_OK && table.row_bytes == sizeof(struct wide_row) &&
               at(&table, 0)->hits == 4 && at(&table, 0)->longest == 0,
           "a narrow one becomes wide");
    tap_ok(ar_table_append(&table, &more, &same_numbers) == AR_OK && table.n == 5 &&
               at(&table, 4)->seed == UINT64_MAX,
           "and takes what has more columns");
    ar_table_free(&table);
    ar_table_free(&read);
    ar_table_free(&more);
    ar_bytes_free(&bytes);
}

/* Every byte changed to every other: refused, or a table that is in order and within its limits. */
static void test_damage(void)
{
    struct ar_table table = some_rows(), read;

    ar_table_sort(&table);

    struct ar_bytes bytes = encoded(&table);
    size_t n_read = 0, n_wrong = 0;

    for (size_t i = 0; i < bytes.n; i++)
        for (unsigned flip = 1; flip < 256; flip++) {
            bytes.data[i] ^= (unsigned char)flip;
            if (decode(&read, &bytes, flip % 2)) {
                n_read++;
                n_wrong += !ar_table_is_sorted(&read);
                for (size_t row = 0; row < read.n && read.kind->n_keys == 3; row++)
                    n_wrong +=
                        at(&read, row)->node >= 10 && read.kind->columns[0].role == AR_ROLE_NODE;
            }
            ar_table_free(&read);
            bytes.data[i] ^= (unsigned char)flip;
        }
    tap_ok(n_wrong == 0 && n_read > 0, "every byte changed to every other: %zu are read", n_read);
    for (size_t n = 0; n < bytes.n; n++) {
        struct ar_bytes shorter = {.data = bytes.data, .n = n};

        n_wrong += decode(&read, &shorter, n % 2);
        ar_table_free(&read);
    }
    tap_ok(n_wrong == 0, "whatever is cut off is missed");
    ar_table_free(&table);
    ar_bytes_free(&bytes);
}

static void test_no_memory(void)
{
    struct ar_table table = some_rows(), read;

    ar_table_sort(&table);

    struct ar_bytes bytes = encoded(&table);
    bool done = false;

    for (int n = 0; !done; n++) {
        alloc_fail_after((size_t)n);
        done = decode(&read, &bytes, false) && ar_table_widen(&read, read.kind) == AR_OK;
        alloc_restore();
        ar_table_free(&read);
    }
    tap_ok(done, "without memory nothing is lost, and nothing is left");
    ar_table_free(&table);
    ar_bytes_free(&bytes);
}

int main(void)
{
    test_order();
    test_numbers();
    test_bytes();
    test_widths();
    test_damage();
    test_no_memory();
    return tap_done();
}
