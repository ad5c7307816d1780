// SPDX-License-Identifier: BSD-3-Clause
/* efficiency_text: efficiencies of a run or a function, the same on every screen and in JSON. */
#pragma once

#include "analysis/efficiency.h"
#include "export/json.h"

/*
 * "parallel efficiency 58 % = load balance 88 % x communication 66 %", and where that is known
 * "(serialisation 80 % x transfer 83 %)"; in a static buffer.
 */
const char *ar_show_efficiency(const struct ar_efficiency *e);
/* An object, or null where nothing is known; docs/json.md describes it. */
void ar_json_efficiency(struct ar_json *j, const char *key, const struct ar_efficiency *e);
