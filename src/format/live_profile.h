// SPDX-License-Identifier: BSD-3-Clause
/* live_profile: what a live file says, as a part of a profile. */
#pragma once

#include "format/livefile.h"
#include "format/profile.h"

/*
 * Adds one process from its live file. Calls still open are closed at `now_ticks`, or, if that is
 * 0, at the newest stamp in the file.
 */
AR_MUST_CHECK enum ar_status ar_profile_add_live(struct ar_profile *p, const struct ar_live *live,
                                                 uint64_t now_ticks, struct ar_error *err);
