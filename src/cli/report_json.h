// SPDX-License-Identifier: BSD-3-Clause
/* report_json: everything that a report is made of, for programs. docs/json.md describes it. */
#pragma once

#include "export/json.h"
#include "format/profile.h"

/* The member "facts", which every object about a run has. */
void ar_json_facts(struct ar_json *j, const struct ar_profile *p);
/* Prints to standard output; returns an exit status. */
int ar_report_json(struct ar_profile *p);
