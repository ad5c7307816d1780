// SPDX-License-Identifier: BSD-3-Clause
/*
 * call_paths: call paths as those who look for causes see them: from which line a function was called does not matter,
 * unless it is MPI's or an import, and functions in C are part of their callers (own_time.h).
 *
 * Life cycle: over a profile, which must outlive it; paths are found when they are first asked for.
 * Threads: one owner.
 *
 *     struct ar_call_paths paths;
 *     if (ar_call_paths_open(&paths, &profile) < 0) ...
 *     uint32_t id = ar_call_path_of(&paths, node);
 *     paths.items[id].function …
 *     ar_call_paths_close(&paths);
 */
#pragma once

#include "format/profile.h"

#define AR_PATH_UNKNOWN 0u

struct ar_call_path {
    uint32_t parent; /* AR_PATH_UNKNOWN: none */
    uint32_t function;
    uint32_t depth;
    uint32_t node; /* one of its nodes */
    uint64_t
        mask; /* a bit by hash for each function on it: most that are not there are known at a glance */
};

struct ar_call_paths {
    const struct ar_profile *p;
    struct ar_call_path *items; /* the first is AR_PATH_UNKNOWN */
    size_t n, cap;
    uint32_t *of_node; /* plus 1; 0: not asked for yet */
    struct ar_idmap ids;
    bool failed; /* there was no memory: some paths are not known */
};

AR_MUST_CHECK enum ar_status ar_call_paths_open(struct ar_call_paths *out,
                                                const struct ar_profile *p);
void ar_call_paths_close(struct ar_call_paths *c);
uint32_t ar_call_path_of(struct ar_call_paths *c, uint32_t node);

static inline uint64_t ar_function_bit(uint32_t function)
{
    return (uint64_t)1 << (function * 0x9e3779b1u >> 26);
}

/* Is that function on it? */
bool ar_call_path_has(const struct ar_call_paths *c, uint32_t path, uint32_t function);
