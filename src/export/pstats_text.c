// SPDX-License-Identifier: BSD-3-Clause
#include "export/pstats_text.h"

#include "base/text.h"
#include "export/pstats_key.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_BYTES ((size_t)64 << 20)

/* ---- names ------------------------------------------------------------------------------------ */

static void put_str(struct ar_bytes *out, struct ar_str s)
{
    ar_bytes_put(out, s.text, s.n_bytes);
}

static void put_text(struct ar_bytes *out, const char *text)
{
    ar_bytes_put(out, text, strlen(text));
}

static bool is_in_brackets(const struct ar_pstats_key *key)
{
    if (*key->name_before)
        return key->name_before[0] == '<' && key->name_after[0] == '>';
    return key->name.n_bytes > 1 && key->name.text[0] == '<' &&
           key->name.text[key->name.n_bytes - 1] == '>';
}

static bool is_without_file(const struct ar_pstats_key *key)
{
    bool is_tilde = key->file.n_bytes == 1 && key->file.text[0] == '~' && !*key->file_before;

    return key->line == 0 && ((*key->file_before && key->file.n_bytes == 0) || is_tilde);
}

/* "{built-in method time.sleep}", "/home/me/a.py:3(main)": pstats.func_std_string. */
static void put_name(struct ar_bytes *out, const struct ar_pstats_key *key)
{
    struct ar_bytes name = {0};
    char line[32];

    put_text(&name, key->name_before);
    put_str(&name, key->name);
    put_text(&name, key->name_after);
    if (name.bad || is_without_file(key)) {
        bool is_short = !name.bad && is_in_brackets(key);

        put_text(out, is_short ? "{" : "");
        ar_bytes_put(out, name.data + is_short, name.n - 2 * (size_t)is_short);
        put_text(out, is_short ? "}" : "");
    } else {
        snprintf(line, sizeof line, ":%" PRIu32 "(", key->line);
        put_text(out, key->file_before);
        put_str(out, key->file);
        put_text(out, line);
        ar_bytes_put(out, name.data, name.n);
        put_text(out, ")");
    }
    out->bad |= name.bad;
    ar_bytes_free(&name);
}

static enum ar_status find_entries(struct ar_pstats_texts *t)
{
    struct ar_bytes name = {0};
    enum ar_status status = AR_OK;

    for (uint32_t i = 0; i < t->p->n_functions && status == AR_OK; i++) {
        struct ar_pstats_key key;

        if (!ar_pstats_key_of(t->p, i, t->t.of_pairs, &key))
            continue;
        name.n = 0;
        put_name(&name, &key);
        status = name.bad
                     ? AR_NOMEM
                     : ar_strtab_put(&t->keys, (const char *)name.data, name.n, &t->entry_of[i]);
    }
    ar_bytes_free(&name);
    return status;
}

/* ---- figures ---------------------------------------------------------------------------------- */

/* NULL: it is of a root that is not read now, or no function. */
static struct ar_pstats_counts *counts_at(struct ar_pstats_texts *t, uint32_t entry,
                                          uint32_t location)
{
    uint32_t root = ar_profile_root(t->p, location);

    if (!entry || root < t->first || root >= t->first + t->n)
        return NULL;
    return &t->counts[(size_t)entry * t->n + (root - t->first)];
}

static uint64_t *field_of(struct ar_pstats_counts *c, enum ar_metric_id metric)
{
    switch (metric) {
    case AR_METRIC_CALLS:
        return &c->n_calls;
    case AR_METRIC_PRIMITIVE:
        return &c->n_primitive;
    case AR_METRIC_SELF:
        return &c->self_ns;
    default:
        return &c->total_ns;
    }
}

static void add_row(struct ar_pstats_texts *t, uint32_t entry, struct ar_row row,
                    enum ar_metric_id metric)
{
    for (size_t i = 0; i < row.n; i++) {
        struct ar_pstats_counts *c = counts_at(t, entry, row.values[i].location);

        if (c) {
            *field_of(c, metric) += row.values[i].value;
            c->is_there |= t->t.of_pairs ? metric == AR_METRIC_CALLS : row.values[i].value > 0;
        }
    }
}

struct reading {
    struct ar_rows calls, times;
    struct ar_selves selves;
    struct ar_doubts doubts;
};

struct marking {
    struct ar_pstats_texts *t;
    uint32_t entry, caller; /* 0: none */
    bool is_primitive;
};

static void mark(uint32_t location, struct ar_doubt doubt, void *context)
{
    const struct marking *m = context;
    struct ar_pstats_counts *c = counts_at(m->t, m->entry, location);
    struct ar_pstats_counts *caller = counts_at(m->t, m->caller, location);
    bool is_estimated = doubt.marks & AR_MARK_ESTIMATED;

    if (c)
        c->self_is_estimated |= is_estimated;
    if (c && m->is_primitive)
        c->total_is_estimated |= is_estimated;
    if (caller) /* of whose own time it is taken off */
        caller->self_is_estimated |= is_estimated;
}

static uint32_t entry_above(const struct ar_pstats_texts *t, uint32_t node)
{
    uint32_t parent = t->p->nodes[node].parent;

    return parent == AR_NO_ID ? 0 : t->entry_of[t->p->nodes[parent].function];
}

static void enter(struct ar_pstats_texts *t, struct reading *r, uint32_t node)
{
    uint32_t entry = t->entry_of[t->p->nodes[node].function];
    bool is_primitive = t->n_active[entry]++ == 0;

    add_row(t, entry, ar_rows_get(&r->calls, node), AR_METRIC_CALLS);
    add_row(t, entry, ar_selves_get(&r->selves, node), AR_METRIC_SELF);
    if (is_primitive) {
        add_row(t, entry, ar_rows_get(&r->calls, node), AR_METRIC_PRIMITIVE);
        add_row(t, entry, ar_rows_get(&r->times, node), AR_METRIC_TIME);
    }
    if (t->p->functions[t->p->nodes[node].function].kind == AR_FUNCTION_UNASSIGNED)
        add_row(t, entry_above(t, node), ar_rows_get(&r->times, node), AR_METRIC_SELF);
    if (t->t.time[node].doubt.marks)
        ar_doubts_each(&r->doubts, node, mark,
                       &(struct marking){t, entry, entry_above(t, node), is_primitive});
}

/* Depth first, so that the counters say who is active; see pstats.c. */
static void walk(struct ar_pstats_texts *t, struct reading *r)
{
    const struct ar_profile_node *nodes = t->p->nodes;
    uint32_t node = 0;

    for (;;) {
        enter(t, r, node);
        if (t->t.first_child[node] != AR_NO_ID) {
            node = t->t.first_child[node];
            continue;
        }
        t->n_active[t->entry_of[nodes[node].function]]--;
        while (t->t.next_sibling[node] == AR_NO_ID) {
            node = nodes[node].parent;
            if (node == AR_NO_ID)
                return;
            t->n_active[t->entry_of[nodes[node].function]]--;
        }
        node = t->t.next_sibling[node];
    }
}

static enum ar_status read_tree(struct ar_pstats_texts *t)
{
    struct reading r = {0};
    enum ar_status status = AR_NOMEM;

    if (ar_rows_open(&r.calls, t->p, AR_METRIC_CALLS) == AR_OK &&
        ar_rows_open(&r.times, t->p, AR_METRIC_TIME) == AR_OK &&
        ar_selves_open(&r.selves, &t->t, t->p) == AR_OK &&
        ar_doubts_open(&r.doubts, t->p) == AR_OK) {
        walk(t, &r);
        status = AR_OK;
    }
    ar_rows_close(&r.calls);
    ar_rows_close(&r.times);
    ar_selves_close(&r.selves);
    ar_doubts_close(&r.doubts);
    return status;
}

/* Caller pairs have all four, of functions and of pairs, which are not wanted here. */
static enum ar_status read_pairs(struct ar_pstats_texts *t)
{
    static const enum ar_metric_id metrics[] = {AR_METRIC_CALLS, AR_METRIC_PRIMITIVE,
                                                AR_METRIC_SELF, AR_METRIC_TIME};

    for (size_t m = 0; m < sizeof metrics / sizeof *metrics; m++) {
        struct ar_rows rows;

        if (ar_rows_open(&rows, t->p, metrics[m]) < 0)
            return AR_NOMEM;
        for (uint32_t i = 1; i < t->p->n_nodes; i++)
            if (!ar_node_is_pair(t->p, i))
                add_row(t, t->entry_of[t->p->nodes[i].function], ar_rows_get(&rows, i), metrics[m]);
        ar_rows_close(&rows);
    }
    return AR_OK;
}

static enum ar_status read_batch(struct ar_pstats_texts *t, uint32_t first)
{
    size_t a_root = (t->keys.n_strings + 1) * sizeof *t->counts;
    size_t n = BATCH_BYTES / a_root + 1, n_left = t->p->n_roots - first;

    t->first = first;
    t->n = (uint32_t)(n < n_left ? n : n_left);
    free(t->counts);
    t->counts = calloc(t->n, a_root);
    if (!t->counts)
        return AR_NOMEM;
    return t->t.of_pairs ? read_pairs(t) : read_tree(t);
}

/* ---- text ------------------------------------------------------------------------------------- */

static const struct ar_pstats_texts *sorting;
static uint32_t sorting_root;

static const struct ar_pstats_counts *counts_of(const struct ar_pstats_texts *t, uint32_t root,
                                                uint32_t entry)
{
    return &t->counts[(size_t)entry * t->n + (root - t->first)];
}

static uint64_t key_of(const struct ar_pstats_counts *c, enum ar_pstats_by by)
{
    return by == AR_PSTATS_BY_CALLS  ? c->n_calls
           : by == AR_PSTATS_BY_TIME ? c->self_ns
                                     : c->total_ns;
}

/* Equal ones as the file of pstats.h has them, whose order pstats keeps. */
static int in_order(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint64_t kx = key_of(counts_of(sorting, sorting_root, x), sorting->by);
    uint64_t ky = key_of(counts_of(sorting, sorting_root, y), sorting->by);

    if (kx != ky)
        return kx < ky ? 1 : -1;
    return (x > y) - (x < y);
}

static void put_sums(const struct ar_pstats_texts *t, uint32_t root, size_t n, struct ar_bytes *out)
{
    uint64_t n_calls = 0, n_primitive = 0;
    double seconds = 0;
    char text[160];

    for (size_t i = 0; i < n; i++) {
        const struct ar_pstats_counts *c = counts_of(t, root, t->order[i]);

        n_calls += c->n_calls;
        n_primitive += c->n_primitive;
        seconds += (double)c->self_ns / 1e9;
    }
    snprintf(text, sizeof text, "         %" PRIu64 " function calls ", n_calls);
    put_text(out, text);
    if (n_calls != n_primitive) {
        snprintf(text, sizeof text, "(%" PRIu64 " primitive calls) ", n_primitive);
        put_text(out, text);
    }
    snprintf(text, sizeof text, "in %.3f seconds\n\n", seconds);
    put_text(out, text);
}

static void put_seconds(struct ar_bytes *out, double seconds, uint64_t n, bool is_estimated)
{
    char number[48] = "", text[64];

    if (n)
        snprintf(number, sizeof number, is_estimated ? "~%.3f" : "%.3f", seconds / (double)n);
    snprintf(text, sizeof text, "%8s ", number);
    put_text(out, text);
}

static void put_line(const struct ar_pstats_texts *t, uint32_t root, uint32_t entry,
                     struct ar_bytes *out)
{
    const struct ar_pstats_counts *c = counts_of(t, root, entry);
    struct ar_str name = ar_strtab_get(&t->keys, entry);
    double self = (double)c->self_ns / 1e9, total = (double)c->total_ns / 1e9;
    char calls[64], text[80];

    snprintf(calls, sizeof calls, "%" PRIu64, c->n_calls);
    if (c->n_calls != c->n_primitive)
        snprintf(calls, sizeof calls, "%" PRIu64 "/%" PRIu64, c->n_calls, c->n_primitive);
    snprintf(text, sizeof text, "%9s ", calls);
    put_text(out, text);
    put_seconds(out, self, 1, c->self_is_estimated);
    put_seconds(out, self, c->n_calls, c->self_is_estimated);
    put_seconds(out, total, 1, c->total_is_estimated);
    put_seconds(out, total, c->n_primitive, c->total_is_estimated);
    ar_text_put(out, name.text, name.n_bytes);
    put_text(out, "\n");
}

enum ar_status ar_pstats_text_put(struct ar_pstats_texts *t, uint32_t root, struct ar_bytes *out)
{
    static const char *const orders[] = {"cumulative time", "internal time", "call count"};
    size_t n = 0;

    if ((root < t->first || root >= t->first + t->n) && read_batch(t, root) < 0)
        return AR_NOMEM;
    for (uint32_t i = 1; i < t->keys.n_strings; i++)
        if (counts_of(t, root, i)->is_there)
            t->order[n++] = i;
    put_sums(t, root, n, out);
    sorting = t;
    sorting_root = root;
    qsort(t->order, n, sizeof *t->order, in_order);
    put_text(out, "   Ordered by: ");
    put_text(out, orders[t->by]);
    put_text(out, "\n\n   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n");
    for (size_t i = 0; i < n; i++)
        put_line(t, root, t->order[i], out);
    put_text(out, "\n\n");
    return out->bad ? AR_NOMEM : AR_OK;
}

/* ---- life ------------------------------------------------------------------------------------- */

enum ar_status ar_pstats_texts_open(struct ar_pstats_texts *out, struct ar_profile *p,
                                    enum ar_pstats_by by)
{
    *out = (struct ar_pstats_texts){.p = p, .by = by};
    out->entry_of = calloc(p->n_functions + 1, sizeof *out->entry_of);
    if (out->entry_of && ar_totals_build(&out->t, p) == AR_OK && find_entries(out) == AR_OK) {
        out->n_active = calloc(out->keys.n_strings + 1, sizeof *out->n_active);
        out->order = malloc((out->keys.n_strings + 1) * sizeof *out->order);
        if (out->n_active && out->order)
            return AR_OK;
    }
    ar_pstats_texts_close(out);
    return AR_NOMEM;
}

void ar_pstats_texts_close(struct ar_pstats_texts *t)
{
    ar_totals_free(&t->t);
    ar_strtab_free(&t->keys);
    free(t->entry_of);
    free(t->n_active);
    free(t->order);
    free(t->counts);
    *t = (struct ar_pstats_texts){0};
}
