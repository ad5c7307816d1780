// SPDX-License-Identifier: BSD-3-Clause
/* report_json: everything that a report is made of, for programs. docs/json.md describes it. */
#pragma once

#include "analysis/totals.h"
#include "export/json.h"
#include "format/profile.h"

/* The member "facts", which every object about a run has. */
void ar_json_facts(struct ar_json *j, const struct ar_profile *p);
/* What recording took, and what it left out on purpose. */
void ar_json_overhead(struct ar_json *j, const struct ar_totals *t);
/* A value over ranks: sum, mean, sd, min, max, and which ranks have those. */
void ar_json_spread(struct ar_json *j, const char *key, const struct ar_profile *p,
                    const struct ar_spread *s);
/* Prints to standard output; returns an exit status. */
int ar_report_json(struct ar_profile *p, const char *path);
