// SPDX-License-Identifier: BSD-3-Clause
/*
 * otf2_requests: the requests of a thread that have been posted and have not ended, and what kind of operation each is.
 *
 * An archive says what a nonblocking collective call was where it ends; the trace says it where it was posted. And a request that was
 * posted before the events begin must not end in them.
 *
 *     struct ar_otf2_requests open = {0};
 *     if (ar_otf2_requests_post(&open, request, operation) < 0) ...
 *     uint32_t operation = ar_otf2_requests_end(&open, request);    // AR_NO_ID: it was not posted here
 *     ar_otf2_requests_free(&open);
 *
 * Memory is proportional to how many are open at a time. Threads: one owner.
 */
#pragma once

#include "base/idmap.h"

struct ar_otf2_requests {
    struct ar_idmap operations; /* those that have ended stay as AR_NO_ID until it is made anew */
    size_t n_open;
};

AR_MUST_CHECK enum ar_status ar_otf2_requests_post(struct ar_otf2_requests *all, uint64_t request,
                                                   uint32_t operation);
uint32_t ar_otf2_requests_end(struct ar_otf2_requests *all, uint64_t request);
void ar_otf2_requests_free(struct ar_otf2_requests *all);
