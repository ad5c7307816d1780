// SPDX-License-Identifier: BSD-3-Clause
/* rank_choice: for formats that can be of a single rank, which threads are of it. */
#pragma once

#include "export/exporters.h"

/* Sets `wanted` for each location. AR_BAD: the run does not have the rank; the text says which ranks it has. */
AR_MUST_CHECK enum ar_status ar_export_choose_locations(const struct ar_profile *p,
                                                        const struct ar_export_choice *which,
                                                        bool *wanted, struct ar_error *err);
