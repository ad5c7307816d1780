// SPDX-License-Identifier: BSD-3-Clause
/*
 * places: where each node of a tree stands, all nodes at once.
 *
 * analysis/place.h answers the same for one node. Tables show it for every node: parents come first in a
 * profile, so that each node finds the answer of its parent.
 *
 *     struct ar_places places;
 *     if (ar_places_find(&places, &profile) < 0) ...
 *     profile.nodes[places.site[node]].line …
 *     ar_places_free(&places);
 */
#pragma once

#include "format/profile.h"

/* All by node. */
struct ar_places {
    uint32_t *depth;  /* the root has 0 */
    uint32_t *caller; /* the nearest Python function above, AR_NO_ID: none */
    uint32_t *site;   /* the node whose line is where the caller calls it */
};

/* On failure there is nothing to free. */
AR_MUST_CHECK enum ar_status ar_places_find(struct ar_places *out, const struct ar_profile *p);
void ar_places_free(struct ar_places *places);
