// SPDX-License-Identifier: BSD-3-Clause
/*
 * column: what the numbers of a column mean, how they are stored, and what becomes of them when runs are merged.
 *
 * Functions, processes, messages … are arrays of structs in memory and columns in a run file. A column is described once, by
 * what its numbers refer to (its role), how two values become one, and how they are stored; reading, writing and
 * renumbering are loops over descriptions.
 *
 * Threads: nothing here is shared.
 */
#pragma once

#include "base/bytes.h"

#include <stdbool.h>

/* What a number refers to: it is below the number of these, and another in another profile. */
enum ar_role {
    AR_ROLE_NUMBER, /* to nothing */
    AR_ROLE_STRING,
    AR_ROLE_FUNCTION,
    AR_ROLE_NODE,
    AR_ROLE_PROCESS,
    AR_ROLE_LOCATION,
    AR_ROLE_COMM,
    AR_N_ROLES
};

/* How two values become one, over call sites, threads or ranks. */
enum ar_combine { AR_COMBINE_SUM, AR_COMBINE_MIN, AR_COMBINE_MAX, AR_COMBINE_OR, AR_N_COMBINES };

enum ar_column_flag {
    AR_COLUMN_KEY = 1,      /* of a table: rows that are equal in all of these are one */
    AR_COLUMN_OPTIONAL = 2, /* the number plus one; 0: none */
    AR_COLUMN_STEPS = 4,    /* stored as distances from the row before */
    AR_COLUMN_PLAIN = 8,    /* stored as 8 bytes: as good as random, or signed */
};
#define AR_COLUMN_FLAGS 15u /* all that are known */

struct ar_column {
    const char *name,
        *unit; /* of stored figures: "1" a number, "ns", "B" bytes, "bits", "us2"; keys have "" */
    uint8_t role, combine, flags;
    uint8_t
        shift; /* is added for storing, so that what is no number, such as UINT32_MAX, becomes the smallest */
    uint32_t limit; /* of what is stored: it is smaller than this; 0: any */
};

/* What is no rank, AR_PEER_…, and no rank of a process. */
#define AR_PEER_SHIFT 4u
#define AR_RANK_SHIFT 1u

/* Where one column of an array of structs lies. */
struct ar_column_place {
    void *at; /* of the first */
    size_t step, n;
    unsigned n_bytes; /* 4 or 8 */
};

/* How many there are of each role. */
struct ar_role_limits {
    size_t n[AR_N_ROLES];
};
/* What their numbers become. NULL: they stay; AR_NO_ID: there is none, and what refers to it goes, too. */
struct ar_role_maps {
    const uint32_t *to[AR_N_ROLES];
};

uint64_t ar_combine(enum ar_combine how, uint64_t a, uint64_t b);
void ar_column_put(const struct ar_column *column, struct ar_column_place place,
                   struct ar_bytes *out);
/* `in->bad`: it has a number that cannot be. */
void ar_column_get(const struct ar_column *column, struct ar_column_place place,
                   struct ar_cursor *in, const struct ar_role_limits *limits);
/* Of 32 bits. Whether some are AR_NO_ID now. */
bool ar_column_map(const struct ar_column *column, struct ar_column_place place,
                   const struct ar_role_maps *maps);
/* How many bytes a number takes at least. */
size_t ar_column_least(const struct ar_column *column);
