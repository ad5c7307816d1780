// SPDX-License-Identifier: BSD-3-Clause
/*
 * metric: what is measured of a node on a thread, by name.
 *
 * The name is what makes two metrics of different files the same. How values combine says what two call sites, threads or ranks have
 * together; a mean is stored as two sums, since two means alone have none. Scope says what becomes of a value where its node is left
 * out.
 */
#pragma once

#include "format/column.h"
#include "format/packed.h"

enum ar_scope {
    AR_SCOPE_INCLUSIVE, /* has what the node called, too: whose value is dropped, its parent has it */
    AR_SCOPE_EXCLUSIVE, /* has not: it is added to the parent's */
    AR_SCOPE_CALL,      /* of the calls of this node alone: it is dropped with them */
    AR_N_SCOPES
};

struct ar_metric_kind {
    const char *name, *unit;
    uint8_t combine, scope;
    const char
        *divide_by; /* another sum: what is shown is the quotient; NULL: it is shown as it is */
};

/* Of caller pairs, none is a part of another: their own time belongs to their calls. */
#define AR_METRIC_LIST(X)                                                                          \
    X(AR_METRIC_CALLS, "calls", "1", SUM, CALL)                                                    \
    X(AR_METRIC_TIME, "time", "ns", SUM, INCLUSIVE)                                                \
    X(AR_METRIC_BYTES_OUT, "bytes_out", "B", SUM, CALL)                                            \
    X(AR_METRIC_BYTES_IN, "bytes_in", "B", SUM, CALL)                                              \
    X(AR_METRIC_MIN_TIME, "min_time", "ns", MIN, CALL)                                             \
    X(AR_METRIC_MAX_TIME, "max_time", "ns", MAX, CALL)                                             \
    X(AR_METRIC_MARKS, "marks", "bits", OR, CALL)                                                  \
    X(AR_METRIC_AWAITED, "awaited", "ns", SUM, CALL)                                               \
    X(AR_METRIC_PRIMITIVE, "primitive_calls", "1", SUM, CALL)                                      \
    X(AR_METRIC_SELF, "self", "ns", SUM, CALL)                                                     \
    X(AR_METRIC_VARIANCE, "variance", "us2", SUM, INCLUSIVE)

enum ar_metric_id {
#define X(id, name, unit, combine, scope) id,
    AR_METRIC_LIST(X)
#undef X
        AR_N_METRICS
};
extern const struct ar_metric_kind ar_metric_kinds[AR_N_METRICS];

/* Ours and those that came with files. */
#define AR_MAX_METRICS 64

struct ar_metric {
    struct ar_metric_kind *own; /* of one that is not ours */
    struct ar_value *values;
    size_t n_values, cap;
    bool sorted;         /* by node, then location */
    bool is_by_location; /* one location after the other, as far as that is known */
};

/* One allocation, strings and all; NULL: no memory. */
struct ar_metric_kind *ar_metric_kind_copy(const struct ar_metric_kind *kind);

/* As bytes, in run files and in live ones. NULL: they are no description, or there is no memory; then `in` is bad. */
void ar_metric_kind_encode(const struct ar_metric_kind *kind, struct ar_bytes *out);
struct ar_metric_kind *ar_metric_kind_decode(struct ar_cursor *in);
/* Before version 10 they said less: scope is of the call, as far as the name does not say better. */
struct ar_metric_kind *ar_metric_kind_decode_old(struct ar_cursor *in);
