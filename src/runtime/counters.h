// SPDX-License-Identifier: BSD-3-Clause
/*
 * counters: what the machine counts while a region or a chosen function runs, on every thread.
 *
 *     --counters page-faults,instructions       of every region
 *     --counters-at 'solver.py:*'               of these functions, too
 *     --counters-everywhere                     of all call paths, where a read takes little time
 *
 * Each thread has a group of counters of its own (counters/perf.h). A node that is counted is entered and left on the slow path of the
 * tree (ar_tree_touch), where they are read; what they have gone on by is added to the node, as inclusive metrics
 * by the names that the user gave. All other nodes pay nothing.
 *
 * What a region has counted is in the live file when it ends: of one that was open when the process was killed, this call is missing.
 *
 * Threads: counters belong to their thread. A forked child opens new ones, and what was open at the fork is not counted there.
 */
#pragma once

#include "runtime/sources.h"

#include <stdbool.h>

extern const struct ar_source ar_source_counters;

/*
 * Is every name known, can all of them be counted here, and together? With `is_optional` those that can. And can they be read at
 * every call, with `everywhere`? The text says which not, and what to do.
 */
AR_MUST_CHECK enum ar_status ar_counters_check(const char *names, bool is_optional, bool everywhere,
                                               struct ar_error *err);
