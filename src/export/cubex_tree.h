// SPDX-License-Identifier: BSD-3-Clause
/*
 * cubex_tree: the call paths that a CUBE file has, in both orders that it needs.
 *
 *            0                 deep, the order of anchor.xml, and of exclusive metrics:   0 1 2 3 4
 *          /   \               wide, that of inclusive metrics:                          0 1 4 2 3
 *         1     4              a node's children follow each other, and then come the children of the first,
 *       /   \                  with all that is below it
 *      2     3
 *
 * Life cycle: ar_cubex_tree_build, ar_cubex_tree_free. Threads: read-only once built.
 */
#pragma once

#include "format/profile.h"

struct ar_cubex_tree {
    uint32_t n;     /* call paths */
    uint32_t *deep; /* their nodes, in either order */
    uint32_t *wide;
    uint32_t *
        region_of; /* by function; AR_NO_ID: none of its nodes is in the file. The root's own region is 0 */
    uint32_t n_regions;
};

/* `has_values` is by node: those nodes are in it, and all above them; so is the root. */
AR_MUST_CHECK enum ar_status
ar_cubex_tree_build(struct ar_cubex_tree *out, const struct ar_profile *p, const bool *has_values);
void ar_cubex_tree_free(struct ar_cubex_tree *tree);
