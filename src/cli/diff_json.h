// SPDX-License-Identifier: BSD-3-Clause
/* diff_json: a comparison of runs, for programs: JSON, which docs/json.md describes, and CSV. */
#pragma once

#include "cli/fail_if.h"

/* There are `n` conditions and verdicts. Both print to standard output; return an exit status. */
int ar_diff_json(const struct ar_diff *d, const struct ar_fail_if *conditions,
                 const struct ar_fail_verdict *verdicts, size_t n);
/* Of call paths where they were compared, else of functions. */
int ar_diff_sheet(const struct ar_diff *d);

/* "main > step > relax", from the outermost function on; in `out`, which is a text then. */
void ar_diff_path(const struct ar_profile *p, uint32_t node, struct ar_bytes *out);
