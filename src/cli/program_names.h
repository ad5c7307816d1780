// SPDX-License-Identifier: BSD-3-Clause
/* program_names: whether runs that are compared are of the same program. */
#pragma once

#include "analysis/summary.h"

/*
 * Prints a line that names two of the programs, if they differ. Scripts are compared by file name, since
 * versions of one are kept in several directories. Returns how many lines were printed.
 */
size_t ar_print_programs(const struct ar_summary *runs, size_t n_runs);
