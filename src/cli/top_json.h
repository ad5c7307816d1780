// SPDX-License-Identifier: BSD-3-Clause
/* top_json: one look at a running job, for programs. docs/json.md describes it. */
#pragma once

#include "cli/top_screen.h"

/* Prints to standard output; returns an exit status. */
int ar_top_json(const struct ar_top_view *view);
