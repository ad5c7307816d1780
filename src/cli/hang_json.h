// SPDX-License-Identifier: BSD-3-Clause
/* hang_json: what ranks wait for, and which rank is missing, as JSON. docs/json.md describes it. */
#pragma once

#include "export/json.h"
#include "format/profile.h"

/* The field `hang` of an object, of a profile with call sites as they were recorded. Without memory the output is bad. */
void ar_json_hang(struct ar_json *j, const struct ar_profile *p);
