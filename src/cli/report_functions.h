// SPDX-License-Identifier: BSD-3-Clause
/* report_functions: the report of a run that has no call paths, because its files are pstats. */
#pragma once

#include "format/profile.h"

/* `n_rows` 0: all. `min_share` of the run's time. Returns an exit status. */
int ar_report_functions(struct ar_profile *p, const char *path, size_t n_rows, double min_share);
