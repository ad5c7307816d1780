// SPDX-License-Identifier: BSD-3-Clause
/*
 * validate_trace: do the traces of a file hold together? For `allranks info --check`.
 *
 * Of a live file the chunks of each thread are decoded to their ends, and each step leads to a child or the parent of the node before. Of
 * a run every event is read.
 */
#pragma once

#include "format/livefile.h"
#include "format/profile.h"

AR_MUST_CHECK enum ar_status ar_validate_live_traces(const struct ar_live *live,
                                                     struct ar_error *err);
AR_MUST_CHECK enum ar_status ar_validate_run_traces(const struct ar_profile *p,
                                                    struct ar_error *err);
