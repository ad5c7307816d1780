// SPDX-License-Identifier: BSD-3-Clause
/*
 * What was measured beyond calls and time: rows of words become values of metrics, rows of tables and streams, as their
 * description says (live_measure.h). Nothing here knows what any of it means.
 *
 * Blocks say whose they are, so chains are not followed: they grow in their middle while they are copied, and a request may have
 * been posted in any tree. Only blocks of MPI calls and tasks are found through their nodes.
 */
#include "format/live_reading.h"
#include "format/live_values.h"
#include "format/table_rows.h"

#include <stdlib.h>

/* ---- where rows go ---------------------------------------------------------------------------- */

/* Found at the first row: a profile has no table without rows. */
struct ar_target {
    const struct ar_measure *measure; /* NULL: there is no such kind */
    bool is_found;
    unsigned metrics[AR_MAX_TABLE_COLUMNS]; /* AR_MAX_METRICS: there is no room for it */
    struct ar_table *table;                 /* NULL: there is no room for it */
};

/* Kinds below this one are the program's own, and those up to AR_FIRST_MEASURE are none. */
#define END_OF_OWN_KINDS ((uint32_t)AR_VALUES_COMPLETED + 1)

enum ar_status ar_prepare_blocks(struct ar_reading *r)
{
    r->targets = calloc(END_OF_OWN_KINDS + r->measures.n, sizeof *r->targets);
    if (!r->targets)
        return AR_NOMEM;
    for (uint32_t kind = 0; kind < END_OF_OWN_KINDS; kind++)
        r->targets[kind].measure = ar_measure_of_kind(kind);
    for (uint32_t i = 0; i < r->measures.n; i++)
        r->targets[END_OF_OWN_KINDS + i].measure =
            ar_measures_find(&r->measures, AR_FIRST_MEASURE + i);
    return AR_OK;
}

static enum ar_status find_metrics(struct ar_reading *r, struct ar_target *target)
{
    for (size_t i = 0; i < target->measure->n_fields; i++) {
        enum ar_status status =
            ar_profile_find_metric(r->p, target->measure->metrics[i], &target->metrics[i]);

        if (status == AR_NOMEM)
            return status;
        if (status == AR_BAD)
            target->metrics[i] = AR_MAX_METRICS;
        r->n_lost[AR_LOST_METRICS] += status == AR_BAD;
    }
    return AR_OK;
}

static enum ar_status find_table(struct ar_reading *r, struct ar_target *target)
{
    enum ar_status status = ar_profile_find_table(r->p, target->measure->table, &target->table);

    if (status != AR_BAD)
        return status;
    target->table = NULL;
    r->n_lost[AR_LOST_TABLES]++;
    return AR_OK;
}

/* NULL: rows of that kind have no description. */
static struct ar_target *target_of(const struct ar_reading *r, uint32_t kind)
{
    uint32_t i = kind < AR_FIRST_MEASURE ? kind : kind - AR_FIRST_MEASURE + END_OF_OWN_KINDS;
    bool is_there =
        kind < AR_FIRST_MEASURE ? kind < END_OF_OWN_KINDS : kind - AR_FIRST_MEASURE < r->measures.n;

    return is_there && r->targets[i].measure ? &r->targets[i] : NULL;
}

static enum ar_status find_target(struct ar_reading *r, struct ar_target *target)
{
    if (target->is_found)
        return AR_OK;
    target->is_found = true;
    return target->measure->form == AR_MEASURE_METRICS ? find_metrics(r, target)
                                                       : find_table(r, target);
}

/* ---- values of nodes -------------------------------------------------------------------------- */

static uint64_t number_of(const struct ar_reading *r, const struct ar_row_field *field,
                          const uint64_t *words)
{
    uint64_t number = ar_row_field_get(field, words);

    if (field->unit == AR_ROW_FIELD_NUMBER)
        return number;
    return field->unit == AR_ROW_FIELD_TICKS ? ar_reading_ns(r, number)
                                             : ar_reading_since_start(r, number);
}

/* A counter that stood still has counted: it is 0, and not unknown. Of calls only what there was is kept. */
static bool is_kept(const struct ar_metric_kind *kind, uint64_t value)
{
    return value || (kind->scope == AR_SCOPE_INCLUSIVE && kind->combine == AR_COMBINE_SUM);
}

/* `with_exclusive`: also what a node has without those below it. */
static enum ar_status add_values(struct ar_reading *r, const struct ar_target *target,
                                 const uint64_t *words, uint32_t node, uint32_t location,
                                 bool with_exclusive)
{
    const struct ar_measure *m = target->measure;
    enum ar_status status = AR_OK;

    for (size_t i = 0; i < m->n_fields && status == AR_OK; i++) {
        uint64_t value = number_of(r, &m->fields[i], words);
        bool counts = with_exclusive || m->metrics[i]->scope != AR_SCOPE_EXCLUSIVE;

        if (is_kept(m->metrics[i], value) && counts && target->metrics[i] < AR_MAX_METRICS)
            status = ar_profile_value(
                r->p, target->metrics[i],
                (struct ar_value){.node = node, .location = location, .value = value});
    }
    return status;
}

enum ar_status ar_read_chained(struct ar_reading *r, const struct ar_node *node, uint32_t id,
                               uint32_t location)
{
    const struct ar_values *block = ar_live_values(r->live, node, AR_VALUES_MPI);

    if (!block) /* no task is an MPI call */
        block = ar_live_values(r->live, node, AR_VALUES_TASK);
    if (!block)
        return AR_OK;

    struct ar_target *target = target_of(r, block->kind);
    enum ar_status status = find_target(r, target);

    return status == AR_OK ? add_values(r, target, block->words, id, location, true) : status;
}

/* The node of the region that the program made of a function, around the node of the function; AR_NO_ID: there is none. */
static uint32_t region_around(const struct ar_reading *r, const struct ar_node *node, uint32_t id)
{
    uint32_t function = (uint32_t)node->key;
    uint32_t region = function && function <= r->n_functions ? r->functions[function].region : 0;

    return region && region <= r->n_functions ? r->p->nodes[id].parent : AR_NO_ID;
}

static enum ar_status add_metrics(struct ar_reading *r, const struct ar_target *target,
                                  const struct ar_values *block, uint32_t location)
{
    uint32_t ref = ar_block_owner(block), id = ar_reading_node(r, ref);
    const struct ar_node *node = ar_live_at(r->live, ref);

    if (id == AR_NO_ID || !node) {
        r->n_lost[AR_LOST_ROWS]++;
        return AR_OK;
    }

    uint32_t region = region_around(r, node, id);

    if (region != AR_NO_ID && add_values(r, target, block->words, region, location, false) < 0)
        return AR_NOMEM;
    return add_values(r, target, block->words, id, location, true);
}

/* ---- rows of tables --------------------------------------------------------------------------- */

/* Numbers of the profile, or NONE; ABSENT: there is none, and there should be. */
#define NONE AR_NO_ID
#define ABSENT (AR_NO_ID - 1)

static uint32_t node_of(const struct ar_reading *r, uint32_t ref, bool may_be_none)
{
    uint32_t id = ar_reading_node(r, ref);

    return id != AR_NO_ID ? id : may_be_none && !ref ? NONE : ABSENT;
}

static uint32_t comm_of(const struct ar_reading *r, uint32_t number, bool may_be_none)
{
    if (number && number <= r->n_comms)
        return r->comms[number].id;
    return may_be_none ? NONE : ABSENT;
}

static enum ar_status function_of(struct ar_reading *r, uint32_t number, bool may_be_none,
                                  uint32_t *id)
{
    *id = may_be_none ? NONE : ABSENT;
    return number && number <= r->n_functions ? ar_reading_function(r, number, id) : AR_OK;
}

/* A number that refers to something: what it is in the profile. */
static enum ar_status map_reference(struct ar_reading *r, const struct ar_column *column,
                                    uint32_t location, uint32_t *number, bool *is_sound)
{
    bool is_optional = column->flags & AR_COLUMN_OPTIONAL;
    enum ar_status status = AR_OK;
    uint32_t id = ABSENT;

    switch (column->role) {
    case AR_ROLE_NODE:
        id = node_of(r, *number, is_optional);
        break;
    case AR_ROLE_LOCATION:
        id = location;
        break;
    case AR_ROLE_COMM:
        id = comm_of(r, *number, is_optional);
        break;
    case AR_ROLE_FUNCTION:
        status = function_of(r, *number, is_optional, &id);
        break;
    case AR_ROLE_PROCESS:
        id = r->p->locations[location].process;
        break;
    default:
        break;
    }
    *is_sound = id != ABSENT;
    *number = id + is_optional; /* NONE becomes 0 */
    return status;
}

static bool fits(const struct ar_column *column, uint32_t number)
{
    return !column->limit || (uint32_t)(number + column->shift) < column->limit;
}

/* What a row stands for, where it cannot be kept. */
static void lose_row(struct ar_reading *r, const struct ar_values *block)
{
    const uint64_t *words = block->words;

    if (block->kind == AR_VALUES_TRAFFIC)
        r->n_lost[AR_LOST_TRAFFIC] += words[AR_TRAFFIC_N_OUT] + words[AR_TRAFFIC_N_IN];
    else if (block->kind == AR_VALUES_COMPLETED)
        r->n_lost[AR_LOST_REQUESTS] += words[AR_COMPLETED_N];
    else
        r->n_lost[AR_LOST_ROWS]++;
}

/* Keys, then values, as tables have them. */
union row {
    uint32_t keys[AR_MAX_TABLE_COLUMNS];
    uint64_t words[AR_MAX_TABLE_COLUMNS];
};

static enum ar_status make_row(struct ar_reading *r, const struct ar_measure *m,
                               const uint64_t *words, uint32_t location, union row *row,
                               bool *is_sound)
{
    const struct ar_table_kind *kind = m->table;
    uint64_t *values = row->words + ar_table_key_bytes(kind) / sizeof *row->words;
    enum ar_status status = AR_OK;

    *is_sound = true;
    if (kind->n_keys % 2)
        row->keys[kind->n_keys] = 0;
    for (size_t i = 0; i < kind->n_keys && status == AR_OK && *is_sound; i++) {
        const struct ar_column *column = &kind->columns[i];

        row->keys[i] = (uint32_t)ar_row_field_get(&m->fields[i], words);
        if (m->fields[i].unit == AR_ROW_FIELD_SITE)
            status = ar_reading_line(r, (uint32_t)(words[0] >> 32), row->keys[i], &row->keys[i]);
        else if (column->role == AR_ROLE_NUMBER)
            *is_sound = fits(column, row->keys[i]);
        else
            status = map_reference(r, column, location, &row->keys[i], is_sound);
    }
    for (size_t i = kind->n_keys; i < kind->n_columns; i++)
        *values++ = number_of(r, &m->fields[i], words);
    return status;
}

static enum ar_status add_row(struct ar_reading *r, const struct ar_target *target,
                              const struct ar_values *block, uint32_t location)
{
    union row row;
    bool is_sound;

    if (!target->table || ar_reading_is_ours(r, ar_block_owner(block)))
        return AR_OK;
    if (make_row(r, target->measure, block->words, location, &row, &is_sound) < 0)
        return AR_NOMEM;
    if (!is_sound) {
        lose_row(r, block);
        return AR_OK;
    }
    return ar_table_add(target->table, &row, ar_table_row_bytes(target->measure->table));
}

static enum ar_status read_block(struct ar_reading *r, const struct ar_values *block,
                                 uint32_t location)
{
    struct ar_target *target = target_of(r, block->kind);
    bool is_own = block->kind < AR_FIRST_MEASURE;

    if (!target) {
        r->n_lost[AR_LOST_ROWS] += !is_own;
        return AR_OK;
    }
    if (is_own && target->measure->form == AR_MEASURE_METRICS)
        return AR_OK; /* read with its node */
    if (target->measure->form == AR_MEASURE_STREAM) {
        r->n_lost[AR_LOST_ROWS]++;
        return AR_OK;
    }

    enum ar_status status = find_target(r, target);

    if (status < 0)
        return status;
    return target->measure->form == AR_MEASURE_METRICS ? add_metrics(r, target, block, location)
                                                       : add_row(r, target, block, location);
}

enum ar_status ar_read_blocks(struct ar_reading *r)
{
    enum ar_status status = AR_OK;

    for (const struct ar_extent *e = NULL; (e = ar_live_next(r->live, e, AR_EXTENT_VALUES));) {
        uint32_t location = ar_reading_location(r, e);
        size_t n = location == AR_NO_ID ? 0 : ar_extent_count(e, sizeof(struct ar_values));

        for (size_t i = 0; i < n && status == AR_OK; i++)
            status = read_block(r, ar_extent_item(e, i, sizeof(struct ar_values)), location);
    }
    return status;
}

/* ---- streams ---------------------------------------------------------------------------------- */

/* A stream that is being made: what its rows refer to has numbers of its own, in the order in which it appears. */
struct making {
    struct ar_other_stream stream;
    struct ar_idmap numbers[AR_MAX_STREAM_TABLES]; /* by number in the profile plus 1 */
    size_t caps[AR_MAX_STREAM_TABLES];
    struct ar_bytes bytes;
    uint64_t before[AR_MAX_TABLE_COLUMNS]; /* instants of the last row */
};

static void begin_stream(struct making *making, const struct ar_table_kind *kind, uint32_t location)
{
    *making = (struct making){.stream = {.name = kind->name, .location = location}};
    for (size_t i = 0; i < kind->n_keys; i++)
        if (kind->columns[i].role != AR_ROLE_NUMBER)
            making->stream.roles[making->stream.n_tables++] =
                (struct ar_column){.role = kind->columns[i].role,
                                   .flags = kind->columns[i].flags & AR_COLUMN_OPTIONAL};
}

static enum ar_status put_reference(struct making *making, size_t table, uint32_t number)
{
    struct ar_stream_table *to = &making->stream.tables[table];
    uint64_t key = (uint64_t)number + 1;
    uint32_t own = ar_idmap_get(&making->numbers[table], key, AR_NO_ID);

    if (own == AR_NO_ID) {
        own = (uint32_t)to->n;
        if (ar_grow((void **)&to->numbers, &making->caps[table], to->n + 1, sizeof *to->numbers) <
                0 ||
            ar_idmap_put(&making->numbers[table], key, own) < 0)
            return AR_NOMEM;
        to->numbers[to->n++] = number;
    }
    ar_bytes_varint(&making->bytes, own);
    return AR_OK;
}

/* Instants as the distance from the row before; those of a thread do not go back. */
static void put_value(struct making *making, const struct ar_row_field *field, size_t column,
                      uint64_t value)
{
    if (field->unit == AR_ROW_FIELD_STAMP) {
        uint64_t before = making->before[column];

        making->before[column] = value > before ? value : before;
        value = value > before ? value - before : 0;
    }
    ar_bytes_varint(&making->bytes, value);
}

static enum ar_status put_row(struct making *making, const struct ar_measure *m,
                              const union row *row)
{
    const struct ar_table_kind *kind = m->table;
    const uint64_t *values = row->words + ar_table_key_bytes(kind) / sizeof *row->words;
    enum ar_status status = AR_OK;

    for (size_t i = 0, table = 0; i < kind->n_keys && status == AR_OK; i++)
        if (kind->columns[i].role == AR_ROLE_NUMBER)
            ar_bytes_varint(&making->bytes, row->keys[i]);
        else
            status = put_reference(making, table++, row->keys[i]);
    for (size_t i = kind->n_keys; i < kind->n_columns; i++)
        put_value(making, &m->fields[i], i, *values++);
    return status;
}

static enum ar_status read_rows(struct ar_reading *r, const struct ar_measure *m,
                                const struct ar_extent *e, struct making *making)
{
    size_t row_bytes = m->n_words * sizeof(uint64_t);
    enum ar_status status = AR_OK;

    for (size_t i = 0; i < ar_extent_count(e, row_bytes) && status == AR_OK; i++) {
        union row row;
        bool is_sound;

        status = make_row(r, m, ar_extent_item(e, i, row_bytes), making->stream.location, &row,
                          &is_sound);
        if (status == AR_OK && is_sound)
            status = put_row(making, m, &row);
        r->n_lost[AR_LOST_ROWS] += !is_sound;
    }
    return status;
}

static enum ar_status end_stream(struct ar_reading *r, struct making *making)
{
    static const struct ar_role_maps same;
    enum ar_status status = making->bytes.bad ? AR_NOMEM : AR_OK;

    making->stream.bytes = making->bytes.data;
    making->stream.n_bytes = making->bytes.n;
    if (status == AR_OK && making->bytes.n)
        status = ar_other_streams_add(&r->p->other_streams, &making->stream, &same, true);
    for (size_t i = 0; i < making->stream.n_tables; i++) {
        free(making->stream.tables[i].numbers);
        ar_idmap_free(&making->numbers[i]);
    }
    ar_bytes_free(&making->bytes);
    return status;
}

/* All that one thread has of it. */
static enum ar_status read_stream(struct ar_reading *r, const struct ar_measure *m, uint32_t kind,
                                  uint32_t thread)
{
    struct making making;
    enum ar_status status = AR_OK;

    begin_stream(&making, m->table, r->locations[thread]);
    for (const struct ar_extent *e = NULL;
         status == AR_OK && (e = ar_live_next(r->live, e, (enum ar_extent_kind)kind));)
        if (e->owner == thread)
            status = read_rows(r, m, e, &making);

    enum ar_status ended = end_stream(r, &making);

    return status == AR_OK ? ended : status;
}

static enum ar_status read_streams_of(struct ar_reading *r, const struct ar_measure *m,
                                      uint32_t kind)
{
    bool *has = calloc(r->n_threads + 1, sizeof *has);
    enum ar_status status = has ? AR_OK : AR_NOMEM;

    for (const struct ar_extent *e = NULL;
         status == AR_OK && (e = ar_live_next(r->live, e, (enum ar_extent_kind)kind));)
        if (ar_reading_location(r, e) != AR_NO_ID)
            has[e->owner] = true;
    for (uint32_t thread = 0; thread < r->n_threads && status == AR_OK; thread++)
        if (has[thread])
            status = read_stream(r, m, kind, thread);
    free(has);
    return status;
}

enum ar_status ar_read_described_streams(struct ar_reading *r)
{
    enum ar_status status = AR_OK;

    for (uint32_t i = 0; i < r->measures.n && status == AR_OK; i++) {
        const struct ar_measure *m = ar_measures_find(&r->measures, AR_FIRST_MEASURE + i);

        if (m && m->form == AR_MEASURE_STREAM)
            status = read_streams_of(r, m, AR_FIRST_MEASURE + i);
    }
    return status;
}
