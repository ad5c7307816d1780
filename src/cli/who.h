// SPDX-License-Identifier: BSD-3-Clause
/*
 * who: processes in few words.
 *
 * A rank is known by its number, its children by that and their pid, any other process by its pid:
 * "0-5,7", "3 child 4711", "pid 4712".
 */
#pragma once

#include "format/profile.h"

/* A child whose parent has left no trace is not one here: AR_NO_ID. */
uint32_t ar_who_root(const struct ar_profile *p, uint32_t process);
/* "rank 3", "rank 3 child 4711", "pid 4712"; in a static buffer, as those of screen.h. */
const char *ar_who_name(const struct ar_profile *p, uint32_t process);
/* "8 ranks", "8 ranks and 3 children", "2 processes", in the same way. */
const char *ar_who_count(const struct ar_profile *p);
/* Several, in order of rank; equal neighbours count once. Ends in NUL; bad: no memory. */
void ar_who_list(const struct ar_profile *p, const uint32_t *processes, size_t n,
                 struct ar_bytes *text);
