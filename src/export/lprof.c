// SPDX-License-Identifier: BSD-3-Clause
/*
 * Rows of all call paths and threads are copied and sorted, so that those of one function stand together, and those of one
 * line in it. The copy is as large as the table, and needs no map from keys to sums.
 */
#include "export/lprof.h"

#include "export/pickle.h"
#include "export/rank_choice.h"

#include <stdlib.h>
#include <string.h>

struct row {
    const struct ar_function *function;
    struct ar_str file, name;
    uint32_t line;
    uint64_t hits, ns;
};

static int compare_texts(struct ar_str a, struct ar_str b)
{
    size_t n = a.n_bytes < b.n_bytes ? a.n_bytes : b.n_bytes;
    int order = n ? memcmp(a.text, b.text, n) : 0;

    return order ? order : (a.n_bytes > b.n_bytes) - (a.n_bytes < b.n_bytes);
}

/* 0: the same function to a reader of the file. */
static int compare_functions(const struct row *a, const struct row *b)
{
    uint32_t x = a->function->first_line, y = b->function->first_line;
    int order = a->function == b->function ? 0 : compare_texts(a->file, b->file);

    if (order || a->function == b->function)
        return order;
    return x != y ? (x > y) - (x < y) : compare_texts(a->name, b->name);
}

static int by_place(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = compare_functions(x, y);

    return order ? order : (x->line > y->line) - (x->line < y->line);
}

static struct row row_of(const struct ar_profile *p, const struct ar_counted_line *counted)
{
    const struct ar_function *f = &p->functions[p->nodes[counted->node].function];

    return (struct row){.function = f,
                        .file = ar_strtab_get(&p->strings, f->file),
                        .name = ar_strtab_get(&p->strings, f->name),
                        .line = counted->line,
                        .hits = counted->hits,
                        .ns = counted->ns};
}

static size_t take_rows(const struct ar_profile *p, const bool *wanted, struct row *rows)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_counted_lines; i++) {
        const struct ar_counted_line *counted = ar_counted_lines_at(p, i);

        if (wanted[counted->location])
            rows[n++] = row_of(p, counted);
    }
    return n;
}

/* Adds up rows of one line, which stand together. Returns how many are left. */
static size_t add_up(struct row *rows, size_t n)
{
    size_t n_left = 0;

    for (size_t i = 0; i < n; i++) {
        if (n_left && by_place(&rows[n_left - 1], &rows[i]) == 0) {
            rows[n_left - 1].hits += rows[i].hits;
            rows[n_left - 1].ns += rows[i].ns;
        } else {
            rows[n_left++] = rows[i];
        }
    }
    return n_left;
}

/* ---- writing ----------------------------------------------------------------------------------- */

static void put_word(struct ar_bytes *out, const char *word)
{
    ar_pickle_text(out, (struct ar_str){word, strlen(word)});
}

static void put_key(struct ar_bytes *out, const struct row *row)
{
    ar_pickle_text(out, row->file);
    ar_pickle_int(out, row->function->first_line);
    ar_pickle_text(out, row->name);
    ar_pickle_triple(out);
}

static void put_line(struct ar_bytes *out, const struct row *row)
{
    ar_pickle_int(out, row->line);
    ar_pickle_int(out, row->hits);
    ar_pickle_int(out, row->ns);
    ar_pickle_triple(out);
}

static void put_functions(struct ar_bytes *out, const struct row *rows, size_t n)
{
    ar_pickle_dict(out);
    for (size_t i = 0, first = 0; i < n; first = i) {
        put_key(out, &rows[first]);
        ar_pickle_list(out);
        for (; i < n && compare_functions(&rows[first], &rows[i]) == 0; i++)
            put_line(out, &rows[i]);
        ar_pickle_list_end(out);
    }
    ar_pickle_dict_end(out);
}

static void put_stats(struct ar_bytes *out, const struct row *rows, size_t n)
{
    ar_pickle_begin(out);
    ar_pickle_object(out, "line_profiler._line_profiler", "LineStats");
    ar_pickle_dict(out);
    put_word(out, "timings");
    put_functions(out, rows, n);
    put_word(out, "unit");
    ar_pickle_float(out, 1e-9);
    ar_pickle_dict_end(out);
    ar_pickle_object_end(out);
    ar_pickle_end(out);
}

enum ar_status ar_lprof_encode(struct ar_profile *p, const struct ar_export_choice *which,
                               struct ar_bytes *out, size_t *n_estimated, struct ar_error *err)
{
    struct row *rows = NULL;
    bool *wanted = NULL;
    enum ar_status status = AR_OK;
    size_t n;

    if (n_estimated)
        *n_estimated = 0;
    if (!p->n_counted_lines)
        return ar_fail(err, AR_BAD,
                       "no lines were counted (record with: allranks run --lines GLOB SCRIPT)");
    wanted = calloc(p->n_locations + 1, sizeof *wanted);
    rows = calloc(p->n_counted_lines, sizeof *rows);
    if (!wanted || !rows) {
        status = ar_fail(err, AR_NOMEM, "out of memory");
        goto out;
    }
    status = ar_export_choose_locations(p, which, wanted, err);
    if (status < 0)
        goto out;
    n = take_rows(p, wanted, rows);
    if (n)
        qsort(rows, n, sizeof *rows, by_place);
    put_stats(out, rows, add_up(rows, n));
    if (out->bad)
        status = ar_fail(err, AR_NOMEM, "out of memory");
out:
    free(rows);
    free(wanted);
    return status;
}
