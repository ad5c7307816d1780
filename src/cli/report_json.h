// SPDX-License-Identifier: BSD-3-Clause
/* report_json: everything that a report is made of, for programs. docs/json.md describes it. */
#pragma once

#include "format/profile.h"

/* Prints to standard output; returns an exit status. */
int ar_report_json(struct ar_profile *p);
