// SPDX-License-Identifier: BSD-3-Clause
/*
 * live_measure: what a source measures beyond calls and time, as the live file describes it.
 *
 * A source writes rows of 64-bit words. A record says once, when the source starts, what the words mean: which metrics, or which
 * columns of a table or a stream. So a new measurement needs no code in readers, and a reader that has never heard of it
 * passes it on.
 *
 *     metrics   one block (struct ar_values) per node; its words are values of that node on that thread
 *     table     any number of blocks per node, one row each
 *     stream    rows in extents of their own, in the order of time
 *
 * Measures have numbers in the order of their records, from AR_FIRST_MEASURE on: the kind of their blocks, or of their extents. Word 0
 * of a block has the ref of its node in the high half, so that readers need not follow chains.
 *
 * Life cycle: ar_measure_decode, ar_measure_free; those of the program itself are constants. Threads: nothing here is shared.
 */
#pragma once

#include "format/livefile.h"
#include "format/metric.h"
#include "format/table.h"

#define AR_MAX_MEASURES 192
#define AR_MAX_ROW_WORDS 32 /* of a stream; a block has 7 */
#define AR_BLOCK_WORDS (sizeof((struct ar_values *)0)->words / sizeof(uint64_t))

enum ar_measure_form {
    AR_MEASURE_METRICS = 0,
    AR_MEASURE_TABLE = 1,
    AR_MEASURE_STREAM = 2,
    AR_N_MEASURE_FORMS
};

/* What a number of the live file is in a profile. */
enum ar_row_field_unit {
    AR_ROW_FIELD_NUMBER = 0, /* the same; of a column with a role, what it refers to */
    AR_ROW_FIELD_TICKS = 1,  /* a time span, in nanoseconds */
    AR_ROW_FIELD_STAMP = 2,  /* an instant, in nanoseconds since the process started */
    AR_ROW_FIELD_SITE =
        3, /* of a key: a place in the Python function of the row's node, as nodes have it: its line */
    AR_N_ROW_FIELD_UNITS
};

/* Where a number lies in a row. No bits: it is the thread, or the process, that the row belongs to. */
struct ar_row_field {
    uint8_t word, first_bit, n_bits, unit;
};

struct ar_measure {
    uint8_t form;    /* enum ar_measure_form */
    uint8_t n_words; /* of a row */
    uint8_t n_fields;
    struct ar_row_field fields[AR_MAX_TABLE_COLUMNS]; /* one per metric, or per column */
    const struct ar_metric_kind *metrics[AR_MAX_TABLE_COLUMNS];
    const struct ar_table_kind *table; /* name and columns of a table or stream */
};

static inline uint64_t ar_row_field_get(const struct ar_row_field *field, const uint64_t *words)
{
    uint64_t word = words[field->word];

    return field->n_bits < 64 ? word >> field->first_bit & ((UINT64_C(1) << field->n_bits) - 1)
                              : word;
}

/* The node that a block belongs to. */
static inline uint32_t ar_block_owner(const struct ar_values *block)
{
    return (uint32_t)(block->words[0] >> 32);
}

/* Can readers make something of it? Sources are held to the same rules as files. */
bool ar_measure_is_sound(const struct ar_measure *measure);
void ar_measure_encode(const struct ar_measure *measure, struct ar_bytes *out);
/* AR_BAD: it cannot be one. */
AR_MUST_CHECK enum ar_status ar_measure_decode(struct ar_measure *out, const void *bytes,
                                               size_t n_bytes);
void ar_measure_free(struct ar_measure *measure); /* of one that was decoded */

/* Blocks of kinds below AR_FIRST_MEASURE, which no record describes; NULL: it has no description. */
const struct ar_measure *ar_measure_of_kind(uint32_t kind);

/* Those of a live file, by number. A zeroed one is empty. */
struct ar_measures {
    struct ar_measure *items;
    size_t n, cap;
};

/*
 * The next one. A record that cannot be one takes a number, too, since later ones go by their order: its `n_fields` is 0.
 * Beyond AR_MAX_MEASURES nothing is added.
 */
AR_MUST_CHECK enum ar_status ar_measures_add(struct ar_measures *measures,
                                             const struct ar_record *record);
/* NULL: there is none of that number. */
const struct ar_measure *ar_measures_find(const struct ar_measures *measures, uint32_t kind);
void ar_measures_free(struct ar_measures *measures);
