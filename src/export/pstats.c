// SPDX-License-Identifier: BSD-3-Clause
/*
 * One depth-first walk over the tree. A counter for each function and one for each (caller, callee)
 * say whether it is active above the node the walk is in, so that no node has to look at its
 * ancestors: linear in nodes and values, where trees of recursive programs are hundreds of
 * thousands deep. For the same reason nothing recurses here; the way back up is the nodes' own
 * parent.
 *
 * A forked child's time in the calls that were open in its parent is self time only, and has no caller: the
 * calls are the parent's. A function that the child calls there has no caller, as in a profile of the child
 * alone. So no function takes less time than those that it calls.
 *
 * A profile of caller pairs needs no walk: its nodes are the entries and pairs themselves.
 *
 * Number 0 of functions (entries) and of pairs stands for "none". Both exist and collect what
 * belongs to no function and to no caller, and are never written.
 */
#include "export/pstats.h"

#include "export/marshal.h"
#include "export/pstats_key.h"
#include "export/rank_choice.h"
#include "format/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct counts {
    uint64_t n_calls, n_primitive;
    uint64_t self_ns, total_ns;
};

/* A key of the dict; its number is that of the encoded key in `keys`. */
struct entry {
    struct counts counts;
    uint32_t n_active; /* nodes of it on the way from the root to where the walk is */
    uint32_t first_pair;
    bool is_written;
    bool is_estimated; /* some of its time */
};

struct pair {
    struct counts counts;
    uint32_t caller, callee;
    uint32_t n_active;
    uint32_t next;                /* pair of the same callee */
    uint32_t n_known, n_measured; /* locations that have its calls, and its other figures */
};

/* What one location spent in the node at hand, and in its children. All 0 between nodes. */
struct column {
    uint64_t node_ns, children_ns;
};

struct work {
    const struct ar_profile *p;
    bool of_pairs;
    struct ar_strtab keys; /* as they will stand in the file */
    struct entry *entries;
    struct pair *pairs;
    size_t n_pairs, cap_pairs;
    struct ar_idmap pair_ids;
    uint32_t *entry_of;                   /* by function */
    uint32_t *pair_of;                    /* by node */
    uint32_t *first_child, *next_sibling; /* by node; 0: none, as the root has no parent */
    struct ar_rows calls, times, marks;
    bool *is_inherited;     /* by node: it was open when a child was forked */
    bool *wanted;           /* by location */
    struct column *columns; /* by location */
};

/* --- names --- */

static void put_key(struct ar_bytes *out, const struct ar_pstats_key *key, bool is_read)
{
    void (*put)(struct ar_bytes *, const char *, struct ar_str, const char *) =
        is_read ? ar_marshal_name : ar_marshal_text;

    ar_marshal_tuple(out, 3);
    put(out, key->file_before, key->file, "");
    ar_marshal_int(out, key->line);
    put(out, key->name_before, key->name, key->name_after);
}

static enum ar_status find_entries(struct work *w)
{
    struct ar_bytes key = {0};
    enum ar_status status = AR_OK;

    for (size_t i = 0; i < w->p->n_functions && status == AR_OK; i++) {
        struct ar_pstats_key found;

        if (!ar_pstats_key_of(w->p, (uint32_t)i, w->of_pairs, &found))
            continue;
        key.n = 0;
        put_key(&key, &found, w->of_pairs);
        status = key.bad ? AR_NOMEM
                         : ar_strtab_put(&w->keys, (const char *)key.data, key.n, &w->entry_of[i]);
    }
    ar_bytes_free(&key);
    if (status == AR_OK) {
        w->entries = calloc(w->keys.n_strings + 1, sizeof *w->entries);
        status = w->entries ? AR_OK : AR_NOMEM;
    }
    return status;
}

/* --- what the walk needs to know of each node --- */

static uint32_t entry_of_node(const struct work *w, uint32_t node)
{
    return w->entry_of[w->p->nodes[node].function];
}

static enum ar_status add_pair(struct work *w, uint32_t caller, uint32_t callee, uint32_t *id)
{
    if (ar_grow((void **)&w->pairs, &w->cap_pairs, w->n_pairs + 1, sizeof *w->pairs) < 0)
        return AR_NOMEM;
    *id = (uint32_t)w->n_pairs;
    w->pairs[w->n_pairs++] = (struct pair){.caller = caller, .callee = callee};
    return AR_OK;
}

static enum ar_status find_pair(struct work *w, uint32_t caller, uint32_t callee, uint32_t *id)
{
    uint64_t key = (uint64_t)caller << 32 | callee; /* not 0, as entries count from 1 */

    *id = 0;
    if (!caller || !callee)
        return AR_OK;
    *id = ar_idmap_get(&w->pair_ids, key, AR_NO_ID);
    if (*id != AR_NO_ID)
        return AR_OK;
    if (add_pair(w, caller, callee, id) < 0)
        return AR_NOMEM;
    return ar_idmap_put(&w->pair_ids, key, *id);
}

static enum ar_status find_pairs(struct work *w)
{
    uint32_t none;

    if (add_pair(w, 0, 0, &none) < 0)
        return AR_NOMEM;
    for (uint32_t node = 1; node < w->p->n_nodes; node++) {
        uint32_t parent = w->p->nodes[node].parent;
        uint32_t caller = w->is_inherited[parent] ? 0 : entry_of_node(w, parent);

        if (find_pair(w, caller, entry_of_node(w, node), &w->pair_of[node]) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

static enum ar_status find_inherited(struct work *w)
{
    uint64_t *n_calls = calloc(w->p->n_nodes + 1, sizeof *n_calls);
    enum ar_status status = n_calls ? AR_OK : AR_NOMEM;

    for (uint32_t node = 0; node < w->p->n_nodes && status == AR_OK; node++) {
        struct ar_row row = ar_rows_get(&w->calls, node);

        for (size_t i = 0; i < row.n; i++)
            n_calls[node] += row.values[i].value;
    }
    if (status == AR_OK)
        status = ar_profile_find_inherited(w->p, n_calls, w->is_inherited);
    free(n_calls);
    return status;
}

/* From the last to the first, so that each list is in the order of the nodes. */
static void link_children(struct work *w)
{
    for (uint32_t node = (uint32_t)w->p->n_nodes; node-- > 1;) {
        uint32_t parent = w->p->nodes[node].parent;

        w->next_sibling[node] = w->first_child[parent];
        w->first_child[parent] = node;
    }
}

/* --- the walk --- */

static uint64_t wanted_sum(const struct work *w, struct ar_row row)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < row.n; i++)
        if (w->wanted[row.values[i].location])
            sum += row.values[i].value;
    return sum;
}

static bool is_unassigned(const struct work *w, uint32_t node)
{
    return w->p->functions[w->p->nodes[node].function].kind == AR_FUNCTION_UNASSIGNED;
}

/*
 * Sets `children_ns` of every location that a child of the node has time at, or puts it back to 0. What could not be
 * assigned to a child is the node's own.
 */
static void count_children(struct work *w, uint32_t node, bool put_back)
{
    for (uint32_t child = w->first_child[node]; child; child = w->next_sibling[child]) {
        if (is_unassigned(w, child))
            continue;

        struct ar_row times = ar_rows_get(&w->times, child);

        for (size_t i = 0; i < times.n; i++) {
            struct column *column = &w->columns[times.values[i].location];

            column->children_ns = put_back ? 0 : column->children_ns + times.values[i].value;
        }
    }
}

/*
 * Each location by itself, as one that seems to have spent more in the children (calls still open
 * were closed at slightly different times) must not be paid for by another. A location may have
 * several values in a node.
 */
static uint64_t self_ns(struct work *w, uint32_t node)
{
    uint64_t sum = 0;

    count_children(w, node, false);

    struct ar_row times = ar_rows_get(&w->times, node);

    for (size_t i = 0; i < times.n; i++)
        w->columns[times.values[i].location].node_ns += times.values[i].value;
    for (size_t i = 0; i < times.n; i++) {
        struct column *column = &w->columns[times.values[i].location];

        if (w->wanted[times.values[i].location] && column->node_ns > column->children_ns)
            sum += column->node_ns - column->children_ns;
        column->node_ns = 0;
    }
    count_children(w, node, true);
    return sum;
}

static void add(struct counts *sum, const struct counts *node, bool primitive)
{
    sum->n_calls += node->n_calls;
    sum->self_ns += node->self_ns;
    if (primitive) {
        sum->n_primitive += node->n_calls;
        sum->total_ns += node->total_ns;
    }
}

static bool is_estimated(const struct work *w, struct ar_row marks)
{
    for (size_t i = 0; i < marks.n; i++)
        if (w->wanted[marks.values[i].location] && marks.values[i].value & AR_MARK_ESTIMATED)
            return true;
    return false;
}

static void enter(struct work *w, uint32_t node)
{
    struct entry *entry = &w->entries[entry_of_node(w, node)];
    struct pair *pair = &w->pairs[w->pair_of[node]];
    struct counts counts = {
        .n_calls = wanted_sum(w, ar_rows_get(&w->calls, node)),
        .self_ns = self_ns(w, node),
        .total_ns = wanted_sum(w, ar_rows_get(&w->times, node)),
    };

    if (w->is_inherited[node])
        counts.total_ns = counts.self_ns;
    add(&entry->counts, &counts, entry->n_active == 0);
    add(&pair->counts, &counts, pair->n_active++ == 0);
    entry->n_active += !w->is_inherited[node];
    entry->is_estimated |= is_estimated(w, ar_rows_get(&w->marks, node));
}

static void leave(struct work *w, uint32_t node)
{
    w->entries[entry_of_node(w, node)].n_active -= !w->is_inherited[node];
    w->pairs[w->pair_of[node]].n_active--;
}

static void walk(struct work *w)
{
    uint32_t node = 0;

    for (;;) {
        enter(w, node);
        if (w->first_child[node]) {
            node = w->first_child[node];
            continue;
        }
        leave(w, node);
        while (!w->next_sibling[node]) {
            node = w->p->nodes[node].parent;
            if (node == AR_NO_ID)
                return;
            leave(w, node);
        }
        node = w->next_sibling[node];
    }
}

/* --- caller pairs --- */

static void take_figure(struct counts *to, enum ar_metric_id metric, uint64_t value)
{
    if (metric == AR_METRIC_CALLS)
        to->n_calls += value;
    else if (metric == AR_METRIC_PRIMITIVE)
        to->n_primitive += value;
    else if (metric == AR_METRIC_SELF)
        to->self_ns += value;
    else
        to->total_ns += value;
}

static void take_value(struct work *w, enum ar_metric_id metric, const struct ar_value *value)
{
    struct entry *entry = &w->entries[entry_of_node(w, value->node)];
    struct pair *pair = &w->pairs[w->pair_of[value->node]];
    bool is_pair = ar_node_is_pair(w->p, value->node);

    if (!w->wanted[value->location])
        return;
    take_figure(is_pair ? &pair->counts : &entry->counts, metric, value->value);
    entry->is_written |= !is_pair && metric == AR_METRIC_CALLS;
    pair->n_known += metric == AR_METRIC_CALLS;
    pair->n_measured += metric == AR_METRIC_PRIMITIVE;
}

static enum ar_status take_metric(struct work *w, enum ar_metric_id metric)
{
    struct ar_rows rows;

    if (ar_rows_open(&rows, w->p, metric) < 0)
        return AR_NOMEM;
    for (uint32_t node = 0; node < w->p->n_nodes; node++) {
        struct ar_row row = ar_rows_get(&rows, node);

        for (size_t i = 0; i < row.n; i++)
            take_value(w, metric, &row.values[i]);
    }
    ar_rows_close(&rows);
    return AR_OK;
}

static enum ar_status take_figures(struct work *w)
{
    static const enum ar_metric_id metrics[] = {AR_METRIC_CALLS, AR_METRIC_PRIMITIVE,
                                                AR_METRIC_SELF, AR_METRIC_TIME};

    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        if (take_metric(w, metrics[i]) < 0)
            return AR_NOMEM;
    return AR_OK;
}

/* --- writing --- */

/* Time alone counts: a function may have been running before the recording began. */
static bool any(const struct counts *c)
{
    return c->n_calls || c->self_ns || c->total_ns;
}

/* Who calls something that is written has to be written, too. */
static void link_pairs(struct work *w)
{
    for (size_t i = w->n_pairs; i-- > 1;) {
        struct pair *pair = &w->pairs[i];
        struct entry *callee = &w->entries[pair->callee];

        if (w->of_pairs ? !pair->n_known : !any(&pair->counts))
            continue;
        pair->next = callee->first_pair;
        callee->first_pair = (uint32_t)i;
        w->entries[pair->caller].is_written |= !w->of_pairs;
    }
}

static void put_known_key(const struct work *w, uint32_t entry, struct ar_bytes *out)
{
    struct ar_str key = ar_strtab_get(&w->keys, entry);

    ar_bytes_put(out, key.text, key.n_bytes);
}

static void put_callers(const struct work *w, const struct entry *entry, struct ar_bytes *out)
{
    ar_marshal_dict(out);
    for (uint32_t i = entry->first_pair; i; i = w->pairs[i].next) {
        const struct counts *c = &w->pairs[i].counts;

        put_known_key(w, w->pairs[i].caller, out);
        if (w->pairs[i].n_measured < w->pairs[i].n_known) { /* as `profile` has it */
            ar_marshal_int(out, c->n_calls);
            continue;
        }
        ar_marshal_tuple(out, 4);
        ar_marshal_int(out,
                       c->n_calls); /* the other way round than in an entry: pstats wants it so */
        ar_marshal_int(out, c->n_primitive);
        ar_marshal_seconds(out, c->self_ns);
        ar_marshal_seconds(out, c->total_ns);
    }
    ar_marshal_dict_end(out);
}

/* Returns how many entries there were. */
static size_t put_entries(const struct work *w, struct ar_bytes *out)
{
    size_t n_written = 0;

    ar_marshal_dict(out);
    for (uint32_t i = 1; i < w->keys.n_strings; i++) {
        const struct entry *entry = &w->entries[i];

        if (!entry->is_written && (w->of_pairs || !any(&entry->counts)))
            continue;
        put_known_key(w, i, out);
        ar_marshal_tuple(out, 5);
        ar_marshal_int(out, entry->counts.n_primitive);
        ar_marshal_int(out, entry->counts.n_calls);
        ar_marshal_seconds(out, entry->counts.self_ns);
        ar_marshal_seconds(out, entry->counts.total_ns);
        put_callers(w, entry, out);
        n_written++;
    }
    ar_marshal_dict_end(out);
    return n_written;
}

static size_t count_estimated(const struct work *w)
{
    size_t n = 0;

    for (uint32_t i = 1; i < w->keys.n_strings; i++)
        n += w->entries[i].is_estimated;
    return n;
}

/* --- all of it --- */

static enum ar_status fail_empty(const struct ar_export_choice *which, struct ar_error *err)
{
    if (which->one_rank)
        return ar_fail(err, AR_BAD,
                       "no function calls were recorded on rank %" PRIu32
                       ", and pstats cannot read an empty file",
                       which->world_rank);
    return ar_fail(err, AR_BAD,
                   "no function calls were recorded, and pstats cannot read an empty file");
}

static bool allocate(struct work *w)
{
    const struct ar_profile *p = w->p;

    w->entry_of = calloc(p->n_functions + 1, sizeof *w->entry_of);
    w->pair_of = calloc(p->n_nodes + 1, sizeof *w->pair_of);
    w->first_child = calloc(p->n_nodes + 1, sizeof *w->first_child);
    w->next_sibling = calloc(p->n_nodes + 1, sizeof *w->next_sibling);
    w->is_inherited = calloc(p->n_nodes + 1, sizeof *w->is_inherited);
    w->wanted = calloc(p->n_locations + 1, sizeof *w->wanted);
    w->columns = calloc(p->n_locations + 1, sizeof *w->columns);
    return w->entry_of && w->pair_of && w->first_child && w->next_sibling && w->is_inherited &&
           w->wanted && w->columns;
}

static void release(struct work *w)
{
    ar_strtab_free(&w->keys);
    ar_idmap_free(&w->pair_ids);
    free(w->entries);
    free(w->pairs);
    free(w->entry_of);
    free(w->pair_of);
    free(w->first_child);
    free(w->next_sibling);
    ar_rows_close(&w->calls);
    ar_rows_close(&w->times);
    ar_rows_close(&w->marks);
    free(w->is_inherited);
    free(w->wanted);
    free(w->columns);
}

static enum ar_status prepare(struct work *w, struct ar_profile *p)
{
    w->p = p;
    w->of_pairs = ar_profile_of_pairs(p);
    if (ar_profile_sort(p) < 0 || !allocate(w) || find_entries(w) < 0 ||
        ar_rows_open(&w->calls, p, AR_METRIC_CALLS) < 0 ||
        ar_rows_open(&w->times, p, AR_METRIC_TIME) < 0 ||
        ar_rows_open(&w->marks, p, AR_METRIC_MARKS) < 0 || find_inherited(w) < 0 ||
        find_pairs(w) < 0)
        return AR_NOMEM;
    link_children(w);
    return AR_OK;
}

enum ar_status ar_pstats_encode(struct ar_profile *p, const struct ar_export_choice *which,
                                struct ar_bytes *out, size_t *n_estimated, struct ar_error *err)
{
    struct work w = {0};
    enum ar_status status = prepare(&w, p);

    if (status < 0) {
        status = ar_fail(err, status, "out of memory");
        goto out;
    }
    status = ar_export_choose_locations(w.p, which, w.wanted, err);
    if (status < 0)
        goto out;
    if (!w.of_pairs) {
        walk(&w);
    } else if (take_figures(&w) < 0) {
        status = ar_fail(err, AR_NOMEM, "out of memory");
        goto out;
    }
    link_pairs(&w);
    if (n_estimated)
        *n_estimated = count_estimated(&w);
    if (put_entries(&w, out) == 0)
        status = fail_empty(which, err);
    else if (out->bad)
        status = ar_fail(err, AR_NOMEM, "out of memory");
out:
    release(&w);
    return status;
}
