// SPDX-License-Identifier: BSD-3-Clause
/* waits_text: waits in words, the same on the screen, in findings and in JSON. Static buffers, as in screen.h. */
#pragma once

#include "analysis/waits.h"

/* "Allreduce", "allreduce": as the program calls it. */
const char *ar_show_operation(const struct ar_profile *p, uint32_t node);
/* "rank 0", "ranks 1-7", "ranks 0,2,4 and 61 more", in order of rank; the order of `shares` stays. */
const char *ar_show_ranks(const struct ar_profile *p, const uint32_t *processes, size_t n);
/* "waited at a barrier for", as the middle of a sentence. */
const char *ar_show_wait_class(enum ar_wait_class class);
