// SPDX-License-Identifier: BSD-3-Clause
/*
 * measures: how a source records more than calls and time.
 *
 * A source says what its words mean, once, when it starts (format/live_measure.h), and then fills them in. Readers need no code for
 * it: merging, folding, selections, files, JSON and allranks.load take it from the description.
 *
 *     static const struct ar_metric_kind faults = {.name = "page_faults", .unit = "1",
 *                                                  .combine = AR_COMBINE_SUM, .scope = AR_SCOPE_EXCLUSIVE};
 *     static const struct ar_measure measure = {
 *         .form = AR_MEASURE_METRICS, .n_words = AR_BLOCK_WORDS, .n_fields = 1,
 *         .fields = {{.word = 1, .n_bits = 64}}, .metrics = {&faults}};
 *     static uint32_t number;                                     // kept across forks: the child has the same records
 *
 *     number = ar_measure_begin(&measure);                        // when the source starts; 0: the file is full
 *     uint64_t *words = ar_measure_block(t, node, number);        // per node; word 0 is not the source's
 *     if (words) words[1] += n;
 *
 * A table: keys first, of 32 bits at most, then values of 64. Of a row of hits per line of a function, in three words:
 *
 *     static const struct ar_column columns[] = {
 *         {.name = "node", .unit = "", .role = AR_ROLE_NODE, .flags = AR_COLUMN_KEY | AR_COLUMN_STEPS},
 *         {.name = "thread", .unit = "", .role = AR_ROLE_LOCATION, .flags = AR_COLUMN_KEY},
 *         {.name = "line", .unit = "", .flags = AR_COLUMN_KEY},
 *         {.name = "hits", .unit = "1", .combine = AR_COMBINE_SUM}};
 *     static const struct ar_table_kind lines = {.name = "lines", .columns = columns, .n_columns = 4, .n_keys = 3};
 *     static const struct ar_measure measure = {
 *         .form = AR_MEASURE_TABLE, .n_words = 2, .n_fields = 4, .table = &lines,
 *         .fields = {{.word = 0, .first_bit = 32, .n_bits = 32},          // the node: always there
 *                    {.n_bits = 0},                                       // the thread that writes it
 *                    {.word = 0, .n_bits = 32}, {.word = 1, .n_bits = 64}}};
 *
 * Threads: ar_measure_begin anywhere; all else in the thread itself. A word is changed by one store of 8 bytes.
 */
#pragma once

#include "format/live_measure.h"
#include "runtime/tree.h"

/*
 * The number of a measure. 0: there is no room for it, or the description is not sound (ar_measure_is_sound in
 * format/live_measure.c has the rules); nothing of it is recorded.
 */
uint32_t ar_measure_begin(const struct ar_measure *measure);

/* The words of a node, from 0; made if need be. NULL: the file is full, which is counted as lost. */
static inline uint64_t *ar_measure_block(struct ar_thread *t, struct ar_node *node, uint32_t number)
{
    struct ar_values *first = ar_live_ptr(node->values_ref);
    struct ar_values *values =
        node->values_ref && first->kind == number ? first : ar_tree_values(t, node, number);

    if (__builtin_expect(values != NULL, 1))
        return values->words;
    ar_livemap_lost(AR_LOST_ROWS, 1);
    return NULL;
}

/*
 * One more row of a table, at a node. `words` has as many as the measure says; the high half of word 0 becomes the node's, and its
 * low half is free for a key. Readers combine rows of equal keys, so that a second row with the same keys only costs room.
 * NULL: as above.
 */
uint64_t *ar_measure_row(struct ar_thread *t, struct ar_node *node, uint32_t number,
                         const uint64_t *words, size_t n_words);

/* The words of a row of that node whose low half of word 0 is `key`; NULL: there is none yet. */
uint64_t *ar_measure_find_row(const struct ar_node *node, uint32_t number, uint32_t key);

/* One more row of a stream; `*extent` is the thread's own for it, NULL at first. Counts what finds no room. */
void ar_measure_event(struct ar_thread *t, struct ar_extent **extent, uint32_t number,
                      const uint64_t *words, size_t n_words);
