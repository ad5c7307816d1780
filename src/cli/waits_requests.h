// SPDX-License-Identifier: BSD-3-Clause
/*
 * waits_requests: of what was posted and waited for later, how much was hidden behind other work.
 *
 * A request is in flight from the call that posts it to the end of the one that completes it. What it is in that
 * one for is exposed.
 */
#pragma once

#include "analysis/waits.h"

/* Of all of them, if there are any; `of` is by root, NULL: everybody's. */
void ar_print_hidden(const struct ar_profile *p, const bool *of, const char *path);
/* Those that are completed at a site, by the line that posted them. */
void ar_print_requests(const struct ar_profile *p, const bool *of, const struct ar_wait_site *site,
                       size_t n_columns);
