// SPDX-License-Identifier: BSD-3-Clause
/* where_json: all stacks, for programs. docs/json.md describes it. */
#pragma once

#include "analysis/stacks.h"

/* Prints to standard output; returns an exit status. */
int ar_where_json(const struct ar_profile *p, const struct ar_stacks *s);
