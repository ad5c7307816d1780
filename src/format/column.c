// SPDX-License-Identifier: BSD-3-Clause
#include "format/column.h"

#include "base/idmap.h"

#include <string.h>

#define ANY ((uint64_t)1 << 32)

uint64_t ar_combine(enum ar_combine how, uint64_t a, uint64_t b)
{
    switch (how) {
    case AR_COMBINE_MIN:
        return a < b ? a : b;
    case AR_COMBINE_MAX:
        return a > b ? a : b;
    case AR_COMBINE_OR:
        return a | b;
    case AR_COMBINE_SUM:
    case AR_N_COMBINES:
        break;
    }
    return a + b;
}

size_t ar_column_least(const struct ar_column *column)
{
    return column->flags & AR_COLUMN_PLAIN ? sizeof(uint64_t) : 1;
}

/* ---- writing ---------------------------------------------------------------------------------- */

static void put_steps(struct ar_column_place place, struct ar_bytes *out)
{
    const char *at = place.at;

    for (uint32_t last = 0; place.n; place.n--, at += place.step) {
        uint32_t number = *(const uint32_t *)at;

        ar_bytes_varint(out, (uint32_t)(number - last));
        last = number;
    }
}

static void put_numbers(struct ar_column_place place, uint32_t shift, struct ar_bytes *out)
{
    const char *at = place.at;

    for (; place.n; place.n--, at += place.step)
        ar_bytes_varint(out, (uint32_t)(*(const uint32_t *)at + shift));
}

static void put_values(struct ar_column_place place, bool is_plain, struct ar_bytes *out)
{
    const char *at = place.at;

    for (; place.n; place.n--, at += place.step)
        if (is_plain)
            ar_bytes_u64(out, *(const uint64_t *)at);
        else
            ar_bytes_varint(out, *(const uint64_t *)at);
}

void ar_column_put(const struct ar_column *column, struct ar_column_place place,
                   struct ar_bytes *out)
{
    if (place.n_bytes == sizeof(uint64_t))
        put_values(place, column->flags & AR_COLUMN_PLAIN, out);
    else if (column->flags & AR_COLUMN_STEPS)
        put_steps(place, out);
    else
        put_numbers(place, column->shift, out);
}

/* ---- reading ---------------------------------------------------------------------------------- */

static uint64_t limit_of(const struct ar_column *column, const struct ar_role_limits *limits)
{
    if (column->role == AR_ROLE_NUMBER)
        return column->limit ? column->limit : ANY;
    return (uint64_t)limits->n[column->role] + (column->flags & AR_COLUMN_OPTIONAL ? 1u : 0u);
}

static void get_steps(struct ar_column_place place, struct ar_cursor *in, uint64_t limit)
{
    char *at = place.at;

    for (uint64_t number = 0; place.n && !in->bad; place.n--, at += place.step) {
        number += ar_cursor_varint32(in);
        if (number >= limit)
            in->bad = true;
        *(uint32_t *)at = (uint32_t)number;
    }
}

static void get_numbers(struct ar_column_place place, uint32_t shift, struct ar_cursor *in,
                        uint64_t limit)
{
    char *at = place.at;

    for (; place.n && !in->bad; place.n--, at += place.step) {
        uint32_t number = ar_cursor_varint32(in);

        if (number >= limit)
            in->bad = true;
        *(uint32_t *)at = number - shift;
    }
}

static void get_values(struct ar_column_place place, bool is_plain, struct ar_cursor *in)
{
    char *at = place.at;

    for (; place.n && !in->bad; place.n--, at += place.step)
        *(uint64_t *)at = is_plain ? ar_cursor_u64(in) : ar_cursor_varint(in);
}

void ar_column_get(const struct ar_column *column, struct ar_column_place place,
                   struct ar_cursor *in, const struct ar_role_limits *limits)
{
    if (place.n_bytes == sizeof(uint64_t))
        get_values(place, column->flags & AR_COLUMN_PLAIN, in);
    else if (column->flags & AR_COLUMN_STEPS)
        get_steps(place, in, limit_of(column, limits));
    else
        get_numbers(place, column->shift, in, limit_of(column, limits));
}

/* ---- renumbering ------------------------------------------------------------------------------ */

bool ar_column_map(const struct ar_column *column, struct ar_column_place place,
                   const struct ar_role_maps *maps)
{
    const uint32_t *to = maps->to[column->role];
    uint32_t is_optional = column->flags & AR_COLUMN_OPTIONAL ? 1 : 0;
    bool leaves_out = false;
    char *at = place.at;

    for (; to && place.n; place.n--, at += place.step) {
        uint32_t *number = (uint32_t *)at;

        if (is_optional && !*number)
            continue;
        *number = to[*number - is_optional];
        leaves_out |= *number == AR_NO_ID;
        *number += *number == AR_NO_ID ? 0 : is_optional;
    }
    return leaves_out;
}
