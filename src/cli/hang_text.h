// SPDX-License-Identifier: BSD-3-Clause
/* hang_text: the collective call that a job hangs in, and where the missing ranks are, for people. */
#pragma once

#include "format/profile.h"

/* Of a profile with call sites as they were recorded. Returns how many lines it took; 0: nothing hangs. */
size_t ar_print_hang(const struct ar_profile *p);
