// SPDX-License-Identifier: BSD-3-Clause
/* report_json: what version 1 of JSON about runs has in common. docs/json.md describes it. */
#pragma once

#include "analysis/totals.h"
#include "export/tables_json.h"
#include "format/profile.h"

/* What recording took. */
void ar_json_overhead(struct ar_json *j, const struct ar_totals *t);
/* The same by reason, of all processes or of one. */
void ar_json_overheads(struct ar_json *j, const uint64_t *overheads_ns);
/* A value over ranks: sum, mean, sd, min, max, and which ranks have those. */
void ar_json_spread(struct ar_json *j, const char *key, const struct ar_profile *p,
                    const struct ar_spread *s);
/* Whether a time of one process is estimated, and its standard error. */
void ar_json_doubt(struct ar_json *j, const char *estimated, const char *error,
                   struct ar_doubt doubt);
