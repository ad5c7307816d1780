// SPDX-License-Identifier: BSD-3-Clause
/* waits_of_trace: allranks waits --trace and --critical-path. */
#pragma once

#include "run/run.h"

struct ar_trace_waits_shown {
    const char *path;
    bool critical_path; /* that, and not waits */
    bool csv, json;
    size_t n_rows; /* SIZE_MAX: one screen; 0: all */
    size_t n_columns;
};

/* Returns an exit status. The run was opened with its traces. */
int ar_show_trace_waits(struct ar_run *run, const struct ar_trace_waits_shown *how);
