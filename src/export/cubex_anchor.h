// SPDX-License-Identifier: BSD-3-Clause
/*
 * cubex_anchor: the part of a CUBE file that is text: what the numbers in the others mean.
 *
 * CUBE's own reader knows the elements in one order only, and each on its own line is what other programs write. A
 * call path has the line that it was called from, and its file. Regions have the names that Score-P's Python bindings give
 * them (analysis/scorep_names.h); the name in full is their description.
 */
#pragma once

#include "export/cubex_values.h"

struct ar_cubex {
    const struct ar_profile *p;
    struct ar_cubex_metrics metrics;
    struct ar_cubex_tree tree;
    struct ar_cubex_system system;
};

void ar_cubex_put_anchor(const struct ar_cubex *c, struct ar_bytes *out);
