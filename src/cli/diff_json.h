// SPDX-License-Identifier: BSD-3-Clause
/* diff_json: version 1 of the JSON of `allranks diff`. docs/json.md describes it. */
#pragma once

#include "cli/fail_if.h"

/* There are `n` conditions and verdicts. Prints to standard output; returns an exit status. */
int ar_diff_json(const struct ar_diff *d, const struct ar_fail_if *conditions,
                 const struct ar_fail_verdict *verdicts, size_t n);
