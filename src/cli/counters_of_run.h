// SPDX-License-Identifier: BSD-3-Clause
/* counters_of_run: what was counted in a run, of every function that was counted: `allranks counters RUN`. */
#pragma once

#include "cli/selecting.h"

struct ar_counters_choice {
    const char *path;
    struct ar_selection selection;
    struct ar_words metrics;
    size_t n_rows; /* 0: all; SIZE_MAX: one screen */
    bool json, csv;
};

/* Returns an exit status; complains itself. */
int ar_counters_of_run(const struct ar_counters_choice *choice);
