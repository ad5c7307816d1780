// SPDX-License-Identifier: BSD-3-Clause
/*
 * pstats_read: what cProfile, `profile` and `allranks export -f pstats` write, as a profile.
 *
 * A pstats file is a dict of functions, each with the dict of its callers (see export/pstats.h). It
 * knows who called whom, and nothing of the paths: the profile that is made of it is one of caller
 * pairs, for which format/profile.h has the rules.
 *
 * Seconds become whole nanoseconds, which is what cProfile's clock has; what is finer is rounded,
 * by half a nanosecond at most. A process comes out without a rank: the caller that has the other files
 * knows it.
 *
 * The bytes are not trusted. What cannot be told exactly (negative or endless times, lines beyond
 * 32 bits, samples instead of calls) is refused, with the reason.
 */
#pragma once

#include "format/profile.h"

/* Whether bytes begin like a dict of functions; 2 of them are enough. */
bool ar_pstats_is(const void *bytes, size_t n_bytes);

/*
 * Adds one process to a profile of caller pairs, or to an empty one; after a failure that is only
 * fit to be freed. `name` is for messages.
 */
AR_MUST_CHECK enum ar_status ar_pstats_add(struct ar_profile *p, const void *bytes, size_t n_bytes,
                                           const char *name, struct ar_error *err);
/* Into a profile that is not initialised yet; on failure there is nothing to free. */
AR_MUST_CHECK enum ar_status ar_pstats_decode(struct ar_profile *out, const void *bytes,
                                              size_t n_bytes, const char *name,
                                              struct ar_error *err);
