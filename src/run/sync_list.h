// SPDX-License-Identifier: BSD-3-Clause
/*
 * sync_list: all calls that may have waited, unpacked, for tables that show each of them.
 *
 *     struct ar_sync_list list;
 *     if (ar_sync_list_read(&list, &profile) < 0) ...
 *     list.syncs[i], list.parts[list.first_part[i]] …
 *     ar_sync_list_free(&list);
 */
#pragma once

#include "format/profile.h"

struct ar_sync_list {
    struct ar_profile_sync *syncs; /* of all streams, by location */
    uint64_t *first_part;          /* by sync: index into `parts` */
    struct ar_profile_part *parts;
    size_t n_syncs, n_parts;
};

/* On failure there is nothing to free. */
AR_MUST_CHECK enum ar_status ar_sync_list_read(struct ar_sync_list *out,
                                               const struct ar_profile *p);
void ar_sync_list_free(struct ar_sync_list *list);
