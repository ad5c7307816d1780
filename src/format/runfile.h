// SPDX-License-Identifier: BSD-3-Clause
/*
 * runfile: a profile as bytes. The file that a run leaves, and what ranks send each other when they
 * merge.
 *
 *     "ALLRANKS" version n_sections  { kind codec offset n_stored n_plain crc } …  section …
 *
 * Sections are columns of varints, each column on its own, so that equal things lie together;
 * docs/file-format.md specifies every byte. Metrics and tables say what they are, so that readers keep those that
 * they do not know; kinds of section that they do not know they skip, and say so.
 *
 * Threads: none of this is shared. ar_run_decode trusts nothing in the bytes.
 *
 *     struct ar_bytes bytes = {0};
 *     if (ar_run_encode(&profile, &bytes) < 0) ...
 *     if (ar_run_write(&bytes, "heat.allranks", name, sizeof name, &err) < 0) ...
 */
#pragma once

#include "base/bytes.h"
#include "format/profile.h"

#define AR_RUN_MAGIC "ALLRANKS"
#define AR_RUN_VERSION 10        /* that is written, where nothing needs a newer one */
#define AR_RUN_NEWEST_VERSION 11 /* that can be read, and is written of a run with bulk */
#define AR_RUN_OLDEST_VERSION 2  /* that can be read: columns and sections it lacks are empty */

/* Into an empty buffer. */
AR_MUST_CHECK enum ar_status ar_run_encode(struct ar_profile *p, struct ar_bytes *out);
/*
 * Into a profile that is not initialised yet; on failure there is nothing to free. `name` is for
 * messages.
 */
AR_MUST_CHECK enum ar_status ar_run_decode(struct ar_profile *out, const void *bytes,
                                           size_t n_bytes, const char *name, struct ar_error *err);

/* The same, with metrics left as they are: the bytes have to be there as long as they are packed. */
AR_MUST_CHECK enum ar_status ar_run_decode_packed(struct ar_profile *out, const void *bytes,
                                                  size_t n_bytes, const char *name,
                                                  struct ar_error *err);

/* The same; takes over the bytes, which malloc allocated, whether it works or not. */
AR_MUST_CHECK enum ar_status ar_run_take_packed(struct ar_profile *out, unsigned char *bytes,
                                                size_t n_bytes, const char *name,
                                                struct ar_error *err);

/* How many bytes of a file have to be in memory, by its first ones: all but its bulk. */
uint64_t ar_run_bytes_to_read(const void *head, size_t n_head, uint64_t n_bytes);

/* The same from a file; a packed one keeps what was read. */
AR_MUST_CHECK enum ar_status ar_run_read(struct ar_profile *out, const char *path,
                                         struct ar_error *err);
AR_MUST_CHECK enum ar_status ar_run_read_packed(struct ar_profile *out, const char *path,
                                                struct ar_error *err);

/*
 * Writes a file that appears whole or not at all, and never in place of another: if `path` exists
 * already, "name.allranks" becomes "name-2.allranks" and so on. `written` receives the name that
 * was used. `bulks`: those of the profile, which follow the bytes; NULL: there are none.
 */
AR_MUST_CHECK enum ar_status ar_run_write(const struct ar_bytes *bytes,
                                          const struct ar_bulks *bulks, const char *path,
                                          char *written, size_t n_written, struct ar_error *err);
/* The n-th name that is tried: heat.allranks, heat-2.allranks … false: it is too long. */
bool ar_run_numbered(const char *path, int n, char *name, size_t n_name);
/* Puts it in place of the one that is there, as a whole. Only for what the caller has written itself. */
AR_MUST_CHECK enum ar_status ar_run_replace(const struct ar_bytes *bytes,
                                            const struct ar_bulks *bulks, const char *path,
                                            struct ar_error *err);
