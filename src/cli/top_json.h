// SPDX-License-Identifier: BSD-3-Clause
/* top_json: version 1 of the JSON of `allranks top`. docs/json.md describes it. */
#pragma once

#include "cli/top_screen.h"

/* Prints to standard output; returns an exit status. */
int ar_top_json(const struct ar_top_view *view);
