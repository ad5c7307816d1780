// SPDX-License-Identifier: BSD-3-Clause
/* wait_words: a wait as a sentence, the same in `allranks waits` and among findings. */
#pragma once

#include "analysis/waits.h"

/* Whoever calls a function in C is to blame, not that. */
uint32_t ar_to_blame(const struct ar_profile *p, uint32_t node);
/*
 * The function that most of a wait was spent in, whoever did, and from wherever it was called: `process` is
 * AR_NO_ID where several did. `ns` is 0 where nothing is known.
 */
struct ar_wait_cause ar_main_cause(const struct ar_profile *p, const struct ar_wait_site *site);
/* How many of these, the largest first, have nearly all of it: of many ranks a few were late once or twice. */
size_t ar_n_main_shares(const struct ar_wait_share *shares, size_t n, double all_ns, double part);
#define AR_MOST_LATE 0.9
#define AR_MOST_WAITING 0.99

/* Nothing ends it, neither a full stop nor a NUL. */
void ar_put_words(struct ar_bytes *out, const char *text);
/* "solver.py:61 solve" */
void ar_put_cause(struct ar_bytes *out, const struct ar_profile *p, uint32_t node);
/* "ranks 1-7 waited 41.3 s (38 %) at solver.py:88 allreduce for rank 0, which spent it in …" */
void ar_put_wait(struct ar_bytes *out, const struct ar_profile *p, const struct ar_wait_site *site,
                 double all_ns);
