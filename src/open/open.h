// SPDX-License-Identifier: BSD-3-Clause
/*
 * open: a run by the path that the user gives: analysis/load.h, then run/run.h.
 *
 *     struct ar_run *run;
 *     if (ar_run_open(&run, &(struct ar_run_choice){.path = path}, &err) < 0) ...
 *     ar_run_close(run);
 */
#pragma once

#include "run/run.h"

/* At `choice->path`; metrics of a run file stay packed. */
AR_MUST_CHECK enum ar_status ar_run_open(struct ar_run **out, const struct ar_run_choice *choice,
                                         struct ar_error *err);
