// SPDX-License-Identifier: BSD-3-Clause
/* waits_json: all that `allranks waits` knows, for programs. docs/json.md describes it. */
#pragma once

#include "analysis/waits.h"

/* Prints to standard output; returns an exit status. */
int ar_waits_json(const struct ar_profile *p, const struct ar_waits *w);
