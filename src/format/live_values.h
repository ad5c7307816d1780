// SPDX-License-Identifier: BSD-3-Clause
/*
 * live_values: what a node of a live file says of its time, and its blocks of further values.
 */
#pragma once

#include "format/livefile.h"

/* The values of that kind of a node, or NULL. */
const struct ar_values *ar_live_values(const struct ar_live *live, const struct ar_node *node,
                                       enum ar_values_kind kind);
/* Time in finished calls, and in an open one until `now_ticks`; see invariant 3 in livefile.h. */
uint64_t ar_live_ticks(const struct ar_node *node, uint64_t now_ticks);
