// SPDX-License-Identifier: BSD-3-Clause
/*
 * made_up: what a source measures that no file of this program knows: a metric of each scope, a table and a stream.
 *
 *     made_up.cycles     inclusive, with its maximum in the same block; a mean, by calls
 *     made_up.samples    exclusive
 *     made_up.deepest    of the calls alone
 *     made_up.lines      node, thread, line -> hits, time
 *     made_up.events     node, function, kind; at a time
 */
#pragma once

#include "format/live_measure.h"

static const struct ar_metric_kind made_up_cycles = {.name = "made_up.cycles",
                                                     .unit = "1",
                                                     .combine = AR_COMBINE_SUM,
                                                     .scope = AR_SCOPE_INCLUSIVE,
                                                     .divide_by = "calls"};
static const struct ar_metric_kind made_up_samples = {
    .name = "made_up.samples", .unit = "1", .combine = AR_COMBINE_SUM, .scope = AR_SCOPE_EXCLUSIVE};
static const struct ar_metric_kind made_up_deepest = {
    .name = "made_up.deepest", .unit = "1", .combine = AR_COMBINE_MAX, .scope = AR_SCOPE_CALL};

/* The second and third share a word. */
static const struct ar_measure made_up_metrics = {
    .form = AR_MEASURE_METRICS,
    .n_words = AR_BLOCK_WORDS,
    .n_fields = 3,
    .fields = {{.word = 1, .n_bits = 64},
               {.word = 2, .n_bits = 32},
               {.word = 2, .first_bit = 32, .n_bits = 32}},
    .metrics = {&made_up_cycles, &made_up_samples, &made_up_deepest},
};

static const struct ar_column made_up_line_columns[] = {
    {.name = "node", .unit = "", .role = AR_ROLE_NODE, .flags = AR_COLUMN_KEY | AR_COLUMN_STEPS},
    {.name = "thread", .unit = "", .role = AR_ROLE_LOCATION, .flags = AR_COLUMN_KEY},
    {.name = "line", .unit = "", .flags = AR_COLUMN_KEY},
    {.name = "hits", .unit = "1", .combine = AR_COMBINE_SUM},
    {.name = "time", .unit = "ns", .combine = AR_COMBINE_SUM},
};
static const struct ar_table_kind made_up_line_kind = {
    .name = "made_up.lines", .columns = made_up_line_columns, .n_columns = 5, .n_keys = 3};

static const struct ar_measure made_up_lines = {
    .form = AR_MEASURE_TABLE,
    .n_words = 3,
    .n_fields = 5,
    .fields = {{.word = 0, .first_bit = 32, .n_bits = 32},
               {.n_bits = 0},
               {.word = 0, .n_bits = 32},
               {.word = 1, .n_bits = 64},
               {.word = 2, .n_bits = 64, .unit = AR_ROW_FIELD_TICKS}},
    .table = &made_up_line_kind,
};

static const struct ar_column made_up_event_columns[] = {
    {.name = "node", .unit = "", .role = AR_ROLE_NODE, .flags = AR_COLUMN_KEY},
    {.name = "function",
     .unit = "",
     .role = AR_ROLE_FUNCTION,
     .flags = AR_COLUMN_KEY | AR_COLUMN_OPTIONAL},
    {.name = "kind", .unit = "", .flags = AR_COLUMN_KEY},
    {.name = "at", .unit = "ns"},
};
static const struct ar_table_kind made_up_event_kind = {
    .name = "made_up.events", .columns = made_up_event_columns, .n_columns = 4, .n_keys = 3};

static const struct ar_measure made_up_events = {
    .form = AR_MEASURE_STREAM,
    .n_words = 3,
    .n_fields = 4,
    .fields = {{.word = 0, .n_bits = 32},
               {.word = 0, .first_bit = 32, .n_bits = 32},
               {.word = 1, .n_bits = 32},
               {.word = 2, .n_bits = 64, .unit = AR_ROW_FIELD_STAMP}},
    .table = &made_up_event_kind,
};
