// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/validate.h"

#include "analysis/validate_trace.h"

#include "base/arena.h"
#include "format/live_measure.h"
#include "format/live_values.h"
#include "format/streams.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What begins at a ref. */
enum item { ITEM_NONE, ITEM_NODE, ITEM_VALUES };

struct place {
    uint32_t owner; /* number of the thread */
    uint8_t item;
    bool on_path; /* the thread's current node, or above it */
    bool ours;    /* measures the profiler: before the thread's time began anew */
};

struct tree {
    const struct ar_live_thread *slot; /* NULL: the thread had none yet when slots were copied */
    uint32_t first_ref;                /* its first node, 0: none */
    bool at_rest;
    bool is_being_left;   /* the innermost part of its path is closed already */
    uint32_t entered_ref; /* open and not on the path: the child that is being entered */
    uint64_t sync_ticks;  /* end of its last record of waiting ... */
    uint64_t parts_ticks; /* ... and of the last one that says what came before */
    uint32_t last_number; /* of its nodes, in traces */
};

struct checking {
    const struct ar_live *live, *later;
    struct ar_error *err;
    struct place *places; /* by ref */
    size_t n_refs;
    struct tree *trees; /* by number of the thread, as many as there can be slots */
    size_t n_trees, n_slots;
    uint8_t *kinds; /* of functions, from 1 */
    size_t n_functions, cap_kinds;
    size_t n_comms;
    struct ar_measures measures;
    size_t n_values, n_followed; /* blocks that there are, and that chains have led to */
    uint64_t now_ticks;
    bool now_is_known; /* or else the newest stamp in the file, which an event may be ahead of */
    uint64_t *inside;  /* by ref: time of what a node called */
};

/* ---- records and header ---------------------------------------------------------------------- */

static enum ar_status check_header(const struct checking *c)
{
    const struct ar_live_header *h = c->live->header;

    if (h->state < AR_LIVE_RUNNING || h->state > AR_LIVE_REPLACED)
        return ar_fail(c->err, AR_BAD, "header: state %u", h->state);
    if (h->clock_kind != AR_CLOCK_MONOTONIC && h->clock_kind != AR_CLOCK_TSC)
        return ar_fail(c->err, AR_BAD, "header: clock %u", h->clock_kind);
    if (h->vote > AR_VOTE_ALL || h->rank_confirmed > 1)
        return ar_fail(c->err, AR_BAD, "header: vote %u of %u", h->vote, h->rank_confirmed);
    if (h->n_bytes_used > h->n_bytes_max || h->n_bytes_used % AR_LIVE_PAGE_BYTES)
        return ar_fail(c->err, AR_BAD, "header: %llu bytes used of %llu",
                       (unsigned long long)h->n_bytes_used, (unsigned long long)h->n_bytes_max);
    if (!h->pid || !h->start.ticks)
        return ar_fail(c->err, AR_BAD, "header: no process, or no start");
    return AR_OK;
}

static bool function_kind_is_known(uint8_t kind)
{
    return kind >= AR_FUNCTION_PYTHON && kind <= AR_FUNCTION_UNASSIGNED &&
           kind != AR_FUNCTION_IMPORT && kind != AR_FUNCTION_PROCESS;
}

/* Its length is what its parts come to: nothing is left over, nothing is missing. */
static bool record_is_whole(const struct ar_record *record, size_t n_left)
{
    uint64_t n_texts;

    if (n_left < sizeof *record)
        return false;
    n_texts = (uint64_t)record->n_name + record->n_file + record->n_linetable;
    return record->n_bytes <= n_left &&
           record->n_bytes == ((sizeof *record + n_texts + 7) & ~(uint64_t)7);
}

/* It is made of one that was known before. */
static bool comm_makes_sense(const struct checking *c, const struct ar_record *record)
{
    struct ar_live_comm comm;

    if ((uint64_t)record->n_file + record->n_linetable != sizeof comm)
        return false;
    memcpy(&comm, (const char *)(record + 1) + record->n_name, sizeof comm);
    return comm.parent <= c->n_comms && comm.origin < AR_N_COMM_ORIGINS && comm.is_hidden <= 1 &&
           comm.made_ref < c->n_refs;
}

static bool measure_makes_sense(const struct checking *c, const struct ar_record *record)
{
    struct ar_measure measure;
    const char *bytes = (const char *)(record + 1) + record->n_name + record->n_file;
    bool is_sound = ar_measure_decode(&measure, bytes, record->n_linetable) == AR_OK;

    ar_measure_free(&measure);
    return is_sound && c->measures.n < AR_MAX_MEASURES;
}

static bool record_makes_sense(const struct checking *c, const struct ar_record *record)
{
    switch (record->kind) {
    case AR_RECORD_FUNCTION:
        return function_kind_is_known(record->function_kind) &&
               record->linetable_kind <= AR_LINETABLE_PEP657 && record->other <= c->n_functions;
    case AR_RECORD_PARTIAL:
    case AR_RECORD_MODULE:
        return record->other > 0 && record->other <= c->n_functions;
    case AR_RECORD_COMM:
        return comm_makes_sense(c, record);
    case AR_RECORD_COMM_NAME:
        return record->other > 0 && record->other <= c->n_comms;
    case AR_RECORD_MEASURE:
        return measure_makes_sense(c, record);
    default:
        return record->kind == AR_RECORD_FACT;
    }
}

static enum ar_status add_record(struct checking *c, const struct ar_record *record)
{
    c->n_comms += record->kind == AR_RECORD_COMM;
    if (record->kind == AR_RECORD_MEASURE)
        return ar_measures_add(&c->measures, record);
    if (record->kind != AR_RECORD_FUNCTION)
        return AR_OK;
    if (ar_grow((void **)&c->kinds, &c->cap_kinds, c->n_functions + 2, sizeof *c->kinds) < 0)
        return AR_NOMEM;
    c->kinds[++c->n_functions] = record->function_kind;
    return AR_OK;
}

static enum ar_status check_records(struct checking *c)
{
    for (const struct ar_extent *e = NULL; (e = ar_live_next(c->live, e, AR_EXTENT_RECORDS));) {
        const unsigned char *at = (const unsigned char *)(e + 1);

        for (size_t n_left = e->n_bytes_used - sizeof *e; n_left;) {
            const struct ar_record *record = (const struct ar_record *)at;

            if (!record_is_whole(record, n_left) || !record_makes_sense(c, record))
                return ar_fail(c->err, AR_BAD, "record at byte %zu", (size_t)(at - c->live->bytes));
            if (add_record(c, record) < 0)
                return AR_NOMEM;
            at += record->n_bytes;
            n_left -= record->n_bytes;
        }
    }
    return AR_OK;
}

/* ---- threads --------------------------------------------------------------------------------- */

/* NULL: there can be none of that number, since each has a slot. */
static struct tree *tree_of(const struct checking *c, uint32_t number)
{
    return number < c->n_trees ? &c->trees[number] : NULL;
}

/* Slots are given out in the order of their numbers. */
static enum ar_status add_slot(struct checking *c, const struct ar_live_thread *slot)
{
    struct tree *tree = tree_of(c, slot->number);

    if (!tree || slot->number != c->n_slots || slot->name[sizeof slot->name - 1])
        return ar_fail(c->err, AR_BAD, "thread %zu: its slot", c->n_slots);
    if (slot->end_ticks && slot->end_ticks < slot->start_ticks)
        return ar_fail(c->err, AR_BAD, "thread %u: ends before it starts", slot->number);
    tree->slot = slot;
    c->n_slots++;
    if (slot->latest_ticks > c->now_ticks && !c->now_is_known)
        c->now_ticks = slot->latest_ticks;
    return AR_OK;
}

static enum ar_status check_slots(struct checking *c)
{
    enum ar_status status = AR_OK;

    for (const struct ar_extent *e = NULL; (e = ar_live_next(c->live, e, AR_EXTENT_THREADS));)
        for (size_t i = 0; i < ar_extent_count(e, sizeof(struct ar_live_thread)); i++) {
            if (status == AR_OK)
                status = add_slot(c, ar_extent_item(e, i, sizeof(struct ar_live_thread)));
        }
    return status;
}

/* ---- extents --------------------------------------------------------------------------------- */

static uint32_t ref_of(const struct checking *c, const void *at)
{
    return (uint32_t)((size_t)((const unsigned char *)at - c->live->bytes) / AR_LIVE_REF_BYTES);
}

/* A forked child has those nodes of its parent that were open; between them there are none. */
static bool is_parents(const struct checking *c, const struct ar_node *node)
{
    static const struct ar_node none;

    return c->live->header->is_child && memcmp(node, &none, sizeof none) == 0;
}

static enum ar_status place_items(struct checking *c, const struct ar_extent *e, enum item item)
{
    size_t n = ar_extent_count(e, AR_LIVE_REF_BYTES);
    uint32_t first = ref_of(c, e + 1);
    struct tree *tree = tree_of(c, e->owner);

    if (!tree || (!c->later && !tree->slot))
        return ar_fail(c->err, AR_BAD, "extent at ref %u: of thread %u, which is none", first - 1,
                       e->owner);
    for (uint32_t i = 0; i < n; i++) {
        if (item == ITEM_NODE && is_parents(c, ar_extent_item(e, i, AR_LIVE_REF_BYTES)))
            continue;
        if (item == ITEM_NODE && !tree->first_ref)
            tree->first_ref = first + i;
        c->places[first + i] = (struct place){.owner = e->owner, .item = (uint8_t)item};
        c->n_values += item == ITEM_VALUES;
    }
    return AR_OK;
}

static enum ar_status check_extents(struct checking *c)
{
    static const struct {
        enum ar_extent_kind kind;
        enum item item;
    } kinds[] = {{AR_EXTENT_NODES, ITEM_NODE}, {AR_EXTENT_VALUES, ITEM_VALUES}};
    enum ar_status status = AR_OK;

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (const struct ar_extent *e = NULL; (e = ar_live_next(c->live, e, kinds[k].kind));)
            if (status == AR_OK)
                status = place_items(c, e, kinds[k].item);
    return status;
}

/* ---- which threads were at rest -------------------------------------------------------------- */

/* What is in a file stays where it is. NULL: the other copy has not got it. */
static const void *same_place(const struct checking *c, const void *at, size_t n_bytes)
{
    size_t offset = (size_t)((const unsigned char *)at - c->live->bytes);

    return offset + n_bytes <= c->later->n_bytes ? c->later->bytes + offset : NULL;
}

/* Any event has changed some word for good: sums of time only grow. */
static void find_restless(struct checking *c)
{
    for (const struct ar_extent *e = NULL; (e = ar_live_next(c->later, e, AR_EXTENT_NODES));) {
        size_t at = (size_t)((const unsigned char *)e - c->later->bytes);
        bool same = at + e->n_bytes <= c->live->n_bytes &&
                    memcmp(c->live->bytes + at, e, e->n_bytes_used) == 0;

        if (!same && e->owner < c->n_trees)
            c->trees[e->owner].at_rest = false;
    }
}

static void find_those_at_rest(struct checking *c)
{
    for (size_t i = 0; i < c->n_slots; i++) {
        struct tree *tree = &c->trees[i];
        const void *later = c->later ? same_place(c, tree->slot, sizeof *tree->slot) : tree->slot;

        tree->at_rest =
            tree->slot->root_ref && later && memcmp(tree->slot, later, sizeof *tree->slot) == 0;
    }
    if (c->later)
        find_restless(c);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool is_item(const struct checking *c, uint32_t ref, uint32_t owner, enum item item)
{
    return ref < c->n_refs && c->places[ref].item == (uint8_t)item && c->places[ref].owner == owner;
}

static const struct ar_node *node_at(const struct checking *c, uint32_t ref)
{
    return ar_live_at(c->live, ref);
}

static enum ar_status wrong_node(const struct checking *c, uint32_t ref, const char *what)
{
    return ar_fail(c->err, AR_BAD, "node %u of thread %u: %s", ref, c->places[ref].owner, what);
}

/* A request may have been posted in another thread. 0 of a node: there was no room to tell. */
static bool key_makes_sense(const struct checking *c, const struct ar_column *column,
                            uint64_t number)
{
    switch (column->role) {
    case AR_ROLE_NODE:
        return number < c->n_refs && (!number || c->places[number].item == ITEM_NODE);
    case AR_ROLE_COMM:
        return number <= c->n_comms;
    case AR_ROLE_FUNCTION:
        return number <= c->n_functions;
    default:
        return !column->limit || (uint32_t)(number + column->shift) < column->limit;
    }
}

static bool row_makes_sense(const struct checking *c, const struct ar_measure *m,
                            const uint64_t *words)
{
    for (size_t i = 0; m->table && i < m->table->n_keys; i++)
        if (!key_makes_sense(c, &m->table->columns[i], ar_row_field_get(&m->fields[i], words)))
            return false;
    return true;
}

/* Which kinds of blocks a node has had. */
struct seen {
    uint64_t bits[(AR_FIRST_MEASURE + AR_MAX_MEASURES) / 64];
};

static bool is_first(struct seen *seen, uint32_t kind)
{
    uint64_t bit = UINT64_C(1) << kind % 64, *bits = &seen->bits[kind / 64];
    bool is_new = !(*bits & bit);

    *bits |= bit;
    return is_new;
}

/* One block of each kind, except rows of tables, of which there are any number. */
static bool block_makes_sense(const struct checking *c, const struct ar_values *block,
                              uint32_t node_ref, struct seen *seen)
{
    bool is_own = block->kind < AR_FIRST_MEASURE;
    const struct ar_measure *m =
        is_own ? ar_measure_of_kind(block->kind) : ar_measures_find(&c->measures, block->kind);

    if (!m)
        return block->kind == AR_VALUES_ESTIMATE && is_first(seen, block->kind);
    if (m->form == AR_MEASURE_TABLE)
        return ar_block_owner(block) == node_ref && row_makes_sense(c, m, block->words);
    return m->form == AR_MEASURE_METRICS && (is_own || ar_block_owner(block) == node_ref) &&
           is_first(seen, block->kind);
}

/*
 * No block is in two chains, or in one twice. Rows of tables are put in after the first block:
 * that may have been copied after the place where the new one was not yet.
 */
static bool values_make_sense(struct checking *c, const struct ar_node *node, uint32_t node_ref)
{
    uint32_t owner = c->places[node_ref].owner;
    struct seen seen = {.bits = {0}};

    for (uint32_t ref = node->values_ref, from = 0; ref;) {
        const struct ar_values *values = ar_live_at(c->live, ref);

        if (!is_item(c, ref, owner, ITEM_VALUES))
            return from && ref > from && !c->trees[owner].at_rest;
        if (++c->n_followed > c->n_values || !block_makes_sense(c, values, node_ref, &seen))
            return false;
        from = ref;
        ref = values->next_ref;
    }
    return true;
}

static enum ar_status check_root(const struct checking *c, const struct ar_node *node, uint32_t ref)
{
    const struct tree *tree = &c->trees[c->places[ref].owner];

    if (node->key || ref != tree->first_ref)
        return wrong_node(c, ref, "has no parent");
    return AR_OK;
}

/*
 * An open node has the stamp of its entry less what it took before, which is later than the start of
 * all and not later than now; a finished call takes a tick at least.
 */
static bool is_in_time(const struct checking *c, const struct ar_node *node)
{
    uint64_t start = c->live->header->start.ticks, ticks = (uint64_t)node->ticks;

    if (node->ticks < 0 && 0 - ticks < start)
        return false;
    if (!c->now_is_known || c->now_ticks < start)
        return true;
    if (node->ticks < 0 ? 0 - ticks > c->now_ticks : ticks > c->now_ticks - start)
        return false;
    return node->n_calls <= c->now_ticks - start + 1;
}

/* Nodes are numbered as they are made. 0: there were too many. */
static bool is_next_number(struct tree *tree, uint32_t number)
{
    bool is_next = !number || number > tree->last_number;

    if (number)
        tree->last_number = number;
    return is_next;
}

static enum ar_status check_node(struct checking *c, const struct ar_node *node, uint32_t ref)
{
    uint32_t function = (uint32_t)node->key, owner = c->places[ref].owner;
    struct place *place = &c->places[ref];

    if (!is_next_number(&c->trees[owner], node->flags >> AR_NODE_NUMBER_SHIFT))
        return wrong_node(c, ref, "its number in traces is not after that of the node before it");
    if (!values_make_sense(c, node, ref))
        return wrong_node(c, ref, "values that are not there");
    if (!node->parent_ref)
        return check_root(c, node, ref);
    if (node->parent_ref >= ref || !is_item(c, node->parent_ref, owner, ITEM_NODE))
        return wrong_node(c, ref, "its parent is none");
    if (!function || function > c->n_functions)
        return wrong_node(c, ref, "its function is not recorded");
    place->ours = c->kinds[function] == AR_FUNCTION_OURS || c->places[node->parent_ref].ours;
    if (!is_in_time(c, node))
        return wrong_node(c, ref, "more calls or time than there has been time for");
    return AR_OK;
}

/* What the writer remembers of what comes next, and follows without a check. */
static bool is_child(const struct checking *c, uint32_t ref, uint32_t parent_ref, uint32_t owner)
{
    return !ref || (is_item(c, ref, owner, ITEM_NODE) && node_at(c, ref)->parent_ref == parent_ref);
}

static enum ar_status check_memory(const struct checking *c, const struct ar_node *node,
                                   uint32_t ref)
{
    uint32_t owner = c->places[ref].owner;

    if (!c->trees[owner].at_rest)
        return AR_OK;
    if (!is_child(c, node->guess_ref, ref, owner) || !is_child(c, node->left_ref, ref, owner) ||
        (node->successor_ref && !is_child(c, node->successor_ref, node->parent_ref, owner)))
        return wrong_node(c, ref, "what it expects to come next is no node of its own");
    return AR_OK;
}

typedef enum ar_status visit_fn(struct checking *c, const struct ar_node *node, uint32_t ref);

static enum ar_status each_node(struct checking *c, visit_fn *visit)
{
    enum ar_status status = AR_OK;

    for (const struct ar_extent *e = NULL; (e = ar_live_next(c->live, e, AR_EXTENT_NODES));)
        for (size_t i = 0; i < ar_extent_count(e, sizeof(struct ar_node)); i++) {
            const struct ar_node *node = ar_extent_item(e, i, sizeof *node);

            if (status == AR_OK && c->places[ref_of(c, node)].item == ITEM_NODE)
                status = visit(c, node, ref_of(c, node));
        }
    return status;
}

static enum ar_status check_each(struct checking *c, const struct ar_node *node, uint32_t ref)
{
    enum ar_status status = check_node(c, node, ref);

    return status == AR_OK ? check_memory(c, node, ref) : status;
}

/* ---- what was waited for --------------------------------------------------------------------- */

static bool is_mpi_call(const struct checking *c, uint32_t ref)
{
    if (ref >= c->n_refs || c->places[ref].item != ITEM_NODE)
        return false;

    uint32_t function = (uint32_t)node_at(c, ref)->key;

    return function && c->kinds[function] == AR_FUNCTION_MPI;
}

/* Calls of a thread end one after the other, and its slot was copied after its records. */
static bool sync_is_in_time(const struct ar_sync *sync, const struct tree *tree)
{
    return sync->enter_ticks >= tree->slot->start_ticks && sync->enter_ticks <= sync->exit_ticks &&
           sync->exit_ticks >= tree->sync_ticks && sync->exit_ticks <= tree->slot->latest_ticks;
}

/* Any thread may have posted what this one waited for. What blocked was not posted. */
static bool post_makes_sense(const struct checking *c, const struct ar_sync *sync)
{
    if (!sync->posted_ref)
        return sync->post_ticks == 0;
    return sync->flags & AR_SYNC_NONBLOCKING && is_mpi_call(c, sync->posted_ref) &&
           sync->post_ticks >= c->live->header->start.ticks && sync->post_ticks <= sync->exit_ticks;
}

static bool sync_makes_sense(const struct checking *c, const struct ar_sync *sync,
                             const struct tree *tree)
{
    if (sync->kind == AR_SYNC_NONE || sync->kind >= AR_N_SYNC_KINDS ||
        sync->flags & ~(AR_SYNC_NONBLOCKING | AR_SYNC_HOLDS_UP | AR_SYNC_MAY_PASS) ||
        sync->comm > c->n_comms)
        return false;
    if (!is_mpi_call(c, sync->node_ref) || c->places[sync->node_ref].owner != tree->slot->number)
        return false;
    return sync_is_in_time(sync, tree) && post_makes_sense(c, sync);
}

/* None is longer than the time since the last that were noted. */
static bool parts_make_sense(const struct checking *c, const struct ar_sync *sync,
                             const struct tree *tree)
{
    float most = (float)(sync->exit_ticks - tree->parts_ticks);

    if (sync->n_parts > AR_MOST_PARTS)
        return false;
    for (uint32_t i = 0; i < sync->n_parts; i++) {
        struct ar_sync_part part;

        memcpy(&part, (const char *)(sync + 1) + i * sizeof part, sizeof part);

        float ticks = part.ticks < 0 ? -part.ticks : part.ticks;

        if (!(ticks > 0 && ticks <= most) ||
            !is_item(c, part.node_ref, tree->slot->number, ITEM_NODE))
            return false;
    }
    return true;
}

static enum ar_status check_sync(struct checking *c, const struct ar_sync *sync, struct tree *tree)
{
    size_t at = (size_t)((const unsigned char *)sync - c->live->bytes);

    if (!sync_makes_sense(c, sync, tree))
        return ar_fail(c->err, AR_BAD, "wait at byte %zu of thread %u", at, tree->slot->number);
    if (!parts_make_sense(c, sync, tree))
        return ar_fail(c->err, AR_BAD, "wait at byte %zu of thread %u: what came before it", at,
                       tree->slot->number);
    tree->sync_ticks = sync->exit_ticks;
    if (sync->n_parts)
        tree->parts_ticks = sync->exit_ticks;
    return AR_OK;
}

static enum ar_status check_stream(struct checking *c, const struct ar_extent *e, struct tree *tree)
{
    enum ar_status status = AR_OK;
    const char *at = (const char *)(e + 1);

    for (size_t n_left = e->n_bytes_used - sizeof *e; n_left && status == AR_OK;) {
        const struct ar_sync *sync = (const struct ar_sync *)at;
        size_t n_bytes = sizeof *sync;

        if (n_left >= sizeof *sync)
            n_bytes += sync->n_parts * sizeof(struct ar_sync_part);
        if (n_bytes > n_left)
            return ar_fail(c->err, AR_BAD, "wait at byte %zu: cut off",
                           (size_t)((const unsigned char *)at - c->live->bytes));
        status = check_sync(c, sync, tree);
        at += n_bytes;
        n_left -= n_bytes;
    }
    return status;
}

/* Streams are copied before slots: a thread that has one has a slot, and a tree. */
static enum ar_status check_streams(struct checking *c)
{
    enum ar_status status = AR_OK;

    for (const struct ar_extent *e = NULL; (e = ar_live_next(c->live, e, AR_EXTENT_STREAM));) {
        struct tree *tree = tree_of(c, e->owner);
        bool is_empty = e->n_bytes_used == sizeof *e;

        if (status != AR_OK || is_empty) /* it may have come later than the slots */
            continue;
        if (!tree || !tree->slot || !tree->slot->root_ref)
            return ar_fail(c->err, AR_BAD, "waits of thread %u, which is none", e->owner);
        if (!tree->parts_ticks)
            tree->parts_ticks = tree->slot->start_ticks;
        status = check_stream(c, e, tree);
    }
    return status;
}

/* ---- other streams ---------------------------------------------------------------------------- */

static enum ar_status check_rows(const struct checking *c, const struct ar_measure *m,
                                 const struct ar_extent *e)
{
    size_t row_bytes = m->n_words * sizeof(uint64_t);
    size_t n = ar_extent_count(e, row_bytes);

    if (sizeof *e + n * row_bytes != e->n_bytes_used)
        return ar_fail(c->err, AR_BAD, "stream %s: cut off", m->table->name);
    for (size_t i = 0; i < n; i++)
        if (!row_makes_sense(c, m, ar_extent_item(e, i, row_bytes)))
            return ar_fail(c->err, AR_BAD, "stream %s of thread %u: row %zu", m->table->name,
                           e->owner, i);
    return AR_OK;
}

static enum ar_status check_described_streams(struct checking *c)
{
    enum ar_status status = AR_OK;

    for (uint32_t i = 0; i < c->measures.n; i++) {
        const struct ar_measure *m = ar_measures_find(&c->measures, AR_FIRST_MEASURE + i);
        enum ar_extent_kind kind = (enum ar_extent_kind)(AR_FIRST_MEASURE + i);

        for (const struct ar_extent *e = NULL; m && m->form == AR_MEASURE_STREAM &&
                                               status == AR_OK &&
                                               (e = ar_live_next(c->live, e, kind));)
            status = check_rows(c, m, e);
    }
    return status;
}

/* ---- what is open ---------------------------------------------------------------------------- */

static enum ar_status wrong_thread(const struct checking *c, const struct ar_live_thread *slot,
                                   const char *what)
{
    return ar_fail(c->err, AR_BAD, "thread %u: %s", slot->number, what);
}

/* The current node has been checked, and so have all above it. */
static void mark_path(struct checking *c, struct tree *tree)
{
    for (uint32_t ref = tree->slot->current_ref; ref; ref = node_at(c, ref)->parent_ref) {
        c->places[ref].on_path = true;
        if (node_at(c, ref)->ticks >= 0)
            tree->is_being_left = true;
    }
}

static enum ar_status check_threads(struct checking *c)
{
    for (size_t i = 0; i < c->n_slots; i++) {
        struct tree *tree = &c->trees[i];
        const struct ar_live_thread *slot = tree->slot;

        if (!slot->root_ref)
            continue;
        if (slot->root_ref != tree->first_ref)
            return wrong_thread(c, slot, "its root is none");
        if (!is_item(c, slot->current_ref, slot->number, ITEM_NODE))
            return wrong_thread(c, slot, "its current node is none of its own");
        if (tree->at_rest)
            mark_path(c, tree);
        if (tree->at_rest && slot->end_ticks && slot->current_ref != slot->root_ref)
            return wrong_thread(c, slot, "has ended, and is in a call still");
    }
    return AR_OK;
}

/* What a function in C has begun on a C stack of its own, as a greenlet, may outlast it. */
static bool has_returned(const struct ar_node *node)
{
    return node->ticks >= 0 && !(node->flags & AR_NODE_IN_C);
}

static enum ar_status check_open(struct checking *c, const struct ar_node *node, uint32_t ref)
{
    struct place *place = &c->places[ref];
    struct tree *tree = &c->trees[place->owner];

    if (!tree->at_rest || node->ticks >= 0)
        return AR_OK;
    if (tree->slot->end_ticks)
        return wrong_node(c, ref, "is open, and its thread has ended");
    if (node->parent_ref && has_returned(node_at(c, node->parent_ref)))
        return wrong_node(c, ref, "is open, and its caller is not");
    if (place->on_path)
        return AR_OK;
    if (node->parent_ref != tree->slot->current_ref || tree->entered_ref)
        return wrong_node(c, ref, "is open, and not where its thread is");
    tree->entered_ref = ref;
    return AR_OK;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/*
 * A call that is being left has its end's stamp already, which may be newer than all others: what is
 * open around it cannot be compared with it, unless it is known what time it is.
 */
static bool is_comparable(const struct checking *c, const struct ar_node *node, uint32_t ref)
{
    const struct tree *tree = &c->trees[c->places[ref].owner];

    return tree->at_rest && (c->now_is_known || !tree->is_being_left || node->ticks >= 0);
}

/* Children come after their parents. */
static enum ar_status add_up(struct checking *c, const struct ar_node *node, uint32_t ref)
{
    bool is_outside = c->places[ref].ours && !c->places[node->parent_ref].ours;

    if (c->trees[c->places[ref].owner].at_rest && node->parent_ref && !is_outside)
        c->inside[node->parent_ref] += ar_live_ticks(node, c->now_ticks);
    return AR_OK;
}

static enum ar_status compare(struct checking *c, const struct ar_node *node, uint32_t ref)
{
    const struct ar_live_thread *slot = c->trees[c->places[ref].owner].slot;
    uint64_t ticks = ar_live_ticks(node, c->now_ticks);

    if (!slot || !is_comparable(c, node, ref))
        return AR_OK;
    if (c->inside[ref] > ticks)
        return wrong_node(c, ref, "what it called took longer than itself");
    if (!node->parent_ref && node->ticks < 0 && c->now_ticks > slot->start_ticks &&
        ticks > c->now_ticks - slot->start_ticks)
        return wrong_node(c, ref, "its thread has not been there for so long");
    return AR_OK;
}

/* ---- all together ---------------------------------------------------------------------------- */

static enum ar_status make_room(struct checking *c)
{
    c->n_refs = c->live->n_bytes / AR_LIVE_REF_BYTES;
    c->places = calloc(c->n_refs + 1, sizeof *c->places);
    c->inside = calloc(c->n_refs + 1, sizeof *c->inside);
    c->n_trees = c->live->n_bytes / sizeof(struct ar_live_thread);
    c->trees = calloc(c->n_trees + 1, sizeof *c->trees);
    return c->places && c->inside && c->trees ? AR_OK : AR_NOMEM;
}

static enum ar_status check_all(struct checking *c)
{
    enum ar_status status = make_room(c);

    if (status == AR_OK)
        status = check_header(c);
    if (status == AR_OK)
        status = check_records(c);
    if (status == AR_OK)
        status = check_slots(c);
    if (status == AR_OK)
        status = check_extents(c);
    if (status == AR_OK)
        find_those_at_rest(c);
    if (status == AR_OK)
        status = each_node(c, check_each);
    if (status == AR_OK)
        status = check_streams(c);
    if (status == AR_OK)
        status = check_described_streams(c);
    if (status == AR_OK)
        status = ar_validate_live_traces(c->live, c->err);
    if (status == AR_OK)
        status = check_threads(c);
    if (status == AR_OK)
        status = each_node(c, check_open);
    if (status == AR_OK)
        status = each_node(c, add_up);
    return status == AR_OK ? each_node(c, compare) : status;
}

static void count(const struct checking *c, struct ar_validated *found)
{
    *found = (struct ar_validated){0};
    for (size_t i = 0; i < c->n_slots; i++) {
        found->n_threads += c->trees[i].slot->root_ref != 0;
        found->n_at_rest += c->trees[i].at_rest;
    }
    for (size_t ref = 0; c->places && ref < c->n_refs; ref++)
        found->n_nodes += c->places[ref].item == ITEM_NODE;
}

enum ar_status ar_validate(const struct ar_live *live, const struct ar_live *later,
                           uint64_t now_ticks, struct ar_validated *found, struct ar_error *err)
{
    struct checking c = {
        .live = live,
        .later = later,
        .err = err,
        .now_ticks = now_ticks ? now_ticks : live->header->latest.ticks,
        .now_is_known = now_ticks != 0,
    };
    enum ar_status status = check_all(&c);

    if (status == AR_NOMEM)
        ar_fail(err, status, "%s", ar_status_text(status));
    count(&c, found);
    free(c.places);
    free(c.inside);
    free(c.trees);
    free(c.kinds);
    ar_measures_free(&c.measures);
    return status;
}

/* The clock of the file, if it is this machine's and goes on from there; else 0. */
static uint64_t now_for(const struct ar_live *live)
{
    const struct ar_live_header *h = live->header;
    char host[sizeof h->host] = "";

    ar_clock_choose();
    if (gethostname(host, sizeof host - 1) < 0 || strcmp(host, h->host) != 0 ||
        h->clock_kind != (uint32_t)ar_clock_kind)
        return 0;

    uint64_t now = ar_ticks();

    for (const struct ar_extent *e = NULL; (e = ar_live_next(live, e, AR_EXTENT_THREADS));)
        for (size_t i = 0; i < ar_extent_count(e, sizeof(struct ar_live_thread)); i++) {
            const struct ar_live_thread *slot = ar_extent_item(e, i, sizeof(struct ar_live_thread));

            if (slot->latest_ticks > now) /* the machine was started anew */
                return 0;
        }
    return now;
}

enum ar_status ar_validate_file(const char *path, struct ar_validated *found, struct ar_error *err)
{
    struct ar_live live, later = {0};
    struct ar_error what;
    enum ar_status status = ar_live_open(&live, path, err);

    if (status == AR_OK)
        status = ar_live_open(&later, path, err);
    if (status == AR_OK) {
        status = ar_validate(&live, &later, now_for(&later), found, &what);
        if (status < 0)
            ar_fail(err, status,
                    "%s: does not hold together: %s (if nothing has touched it, please report it)",
                    path, what.text);
    }
    ar_live_close(&live);
    ar_live_close(&later);
    return status;
}
