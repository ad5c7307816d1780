// SPDX-License-Identifier: BSD-3-Clause
/*
 * dimensions: which fields of functions, processes, threads … a run file has, in which order.
 *
 * What is measured refers to these. They do not grow by columns that a reader has to pass on: what is new about a process or a thread
 * becomes a table with that as its key. A reader of an earlier version leaves out columns that it does not know.
 */
#pragma once

#include "format/column.h"

struct ar_field {
    struct ar_column column;
    size_t offset;
    unsigned n_bytes;
};

struct ar_dimension {
    const struct ar_field *fields;
    size_t n_fields, item_bytes;
};

extern const struct ar_dimension ar_facts_dimension, ar_functions_dimension, ar_nodes_dimension,
    ar_processes_dimension, ar_locations_dimension, ar_comms_dimension;

void ar_dimension_put(const struct ar_dimension *dimension, const void *items, size_t n,
                      struct ar_bytes *out);
/* The first `n_columns` of what may be more, or less, than there are fields. */
void ar_dimension_get(const struct ar_dimension *dimension, void *items, size_t n, size_t n_columns,
                      struct ar_cursor *in, const struct ar_role_limits *limits);
/* What an item takes at least in as many columns. */
size_t ar_dimension_least(const struct ar_dimension *dimension, size_t n_columns);
