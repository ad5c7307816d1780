// SPDX-License-Identifier: BSD-3-Clause
/*
 * livemap: this process's live file, mapped and growing.
 *
 * The whole range that the file may ever have is mapped in one step, so that addresses never change;
 * the file itself grows in chunks that are allocated for real before they are touched (a hole in a
 * full file system would be a SIGBUS in the user's program). No descriptor stays open: programs
 * count, close and pass on descriptors. To grow, the file is opened again by name, and only used if
 * it is still the same one.
 *
 * Life cycle: ar_livemap_create, then use, then ar_livemap_remove or nothing: the file stays.
 * Threads:    functions take the process lock; an extent's bytes belong to the caller that asked for it.
 * Fork:       the child writes nothing until it has a file of its own, in the same place and with the
 *             same numbers (ar_livemap_adopt): what is known about the program stays known.
 * Failure:    every function says so and leaves things as they were; errno is preserved.
 */
#pragma once

#include "base/hidden.h"
#include "format/livefile.h"
#include "runtime/forking.h"

#include <stdbool.h>

struct ar_identity; /* identity.h */

/* The mapping; NULL while nothing is recorded. Read on every event, hence not behind a function. */
extern AR_HIDDEN unsigned char *ar_live_base;

static inline struct ar_live_header *ar_live_header(void)
{
    return (struct ar_live_header *)ar_live_base;
}

static inline void *ar_live_ptr(uint32_t ref)
{
    return ar_live_base + (size_t)ref * AR_LIVE_REF_BYTES;
}

static inline uint32_t ar_live_ref(const void *ptr)
{
    return (uint32_t)((size_t)((const unsigned char *)ptr - ar_live_base) / AR_LIVE_REF_BYTES);
}

AR_MUST_CHECK enum ar_status ar_livemap_create(const struct ar_identity *identity,
                                               uint64_t n_bytes_max, struct ar_error *err);
const char *ar_livemap_path(void);
uint64_t ar_livemap_allocated(void); /* bytes of the mapping that may be read */
void ar_livemap_remove(void);
void ar_livemap_forking(enum ar_fork_step step);
/*
 * In the child of a fork: replaces the parent's mapping by a new file that has the records, and of
 * the nodes `innermost` (may be NULL) and those above it, with nothing counted yet.
 */
AR_MUST_CHECK enum ar_status ar_livemap_adopt(const struct ar_identity *identity,
                                              const struct ar_node *innermost,
                                              struct ar_error *err);
/* Nothing is recorded in this process any more. */
void ar_livemap_forget(void);

/* A new extent of at least `n_bytes` payload, zeroed; NULL when the file is full. */
struct ar_extent *ar_livemap_extent(enum ar_extent_kind kind, uint32_t owner, size_t n_bytes);
/*
 * Takes `n_bytes` (a multiple of 8) of an extent; NULL when they do not fit. Publish once they are
 * filled in.
 */
void *ar_extent_reserve(struct ar_extent *extent, size_t n_bytes);
void ar_extent_publish(struct ar_extent *extent, size_t n_bytes);
/* Room in `*extent`, or in a new one of that kind, twice as large, which takes its place. */
void *ar_extent_take(struct ar_extent **extent, enum ar_extent_kind kind, uint32_t owner,
                     size_t n_bytes);

/*
 * Adds a record; functions get the next number, from 1, and measures from AR_FIRST_MEASURE, which is returned; for others 1
 * is. 0: there was no room.
 */
uint32_t ar_livemap_record(const struct ar_record *head, const char *name, const char *file,
                           const void *linetable);
void ar_livemap_fact(const char *key, const char *value);

/* Writes this rank's vote where other nodes see it too. */
void ar_livemap_vote(enum ar_live_vote vote);
/* Counts what could not be recorded. */
void ar_livemap_lost(enum ar_live_loss what, uint64_t n);
/* Notes the time on all clocks, for the length of a tick. Several clock reads: rarely. */
void ar_livemap_stamp(void);
