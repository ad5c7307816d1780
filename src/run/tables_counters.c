// SPDX-License-Identifier: BSD-3-Clause
/* What this machine can count: counters. */
#include "run/cells.h"
#include "run/subjects.h"

#define COUNTER_COLUMNS(X)                                                                         \
    TEXT(X, name, "for --counters", plain_text(counter->name))                                     \
    TEXT(X, source, "kernel, or PAPI", plain_text(counter->source))                                \
    OPTIONAL_TEXT(X, preset, "PAPI's name of the same", plain_text(counter->preset))               \
    TEXT(X, unit, "1: a number; ns", plain_text(counter->unit))                                    \
    BOOLEAN(X, available, "whether it can be counted here and now", !*counter->reason)             \
    OPTIONAL_TEXT(X, reason, "why it cannot", plain_text(counter->reason))                         \
    TEXT(X, help, "what is counted", plain_text(counter->help))

static const struct ar_shown_column counter_columns[] = {COUNTER_COLUMNS(DESCRIBE)};

static union ar_cell counter_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { COUNTER_COLUMNS(NUMBER) };
    const struct ar_counter_row *counter = &of->counters->rows[row];
    union ar_cell cell = {0};

    switch (column) {
        COUNTER_COLUMNS(READ)
    }
    return cell;
}

static size_t n_counters(const struct ar_subject *of)
{
    return of->counters->n_rows;
}

const struct ar_shown_table ar_shown_table_counters = {
    .name = "counters",
    .key = "name",
    .help = "what this machine can count of a thread",
    .about = AR_ABOUT_COUNTERS,
    .columns = counter_columns,
    .n_columns = N_COLUMNS(counter_columns),
    .n_rows = n_counters,
    .cell = counter_cell,
};
