// SPDX-License-Identifier: BSD-3-Clause
/* efficiency_text: efficiencies of a run or a function, the same on every screen and in JSON. */
#pragma once

#include "analysis/efficiency.h"
#include "export/json.h"

/*
 * "efficiency 58 % = load balance 88 % x communication 66 %", or in place of the last, where they are
 * known, "x serialisation 80 % x transfer 83 %": all are factors. In a static buffer.
 */
const char *ar_show_efficiency(const struct ar_efficiency *e);
/* An object, or null where nothing is known; docs/json.md describes it. */
void ar_json_efficiency(struct ar_json *j, const char *key, const struct ar_efficiency *e);
