// SPDX-License-Identifier: BSD-3-Clause
/*
 * wait_charge: what a wait is charged to, of what the trails of both have that the other has not.
 *
 * What the late one has more of makes the wait longer, what the other has more of makes it shorter; together they are the wait. The latter is
 * set off against the former, the most alike first, until only causes are left:
 *
 *     1 the same path on the same thread, then on others
 *     2 the same function, wherever it was called
 *     3 rests against what may be in them; if it is not known which that was, none of it is named
 *     4 within the deepest function that contains both, then the next one up, then anything
 *
 * Of what is alike the oldest goes first: since then the two have met, and were not late. Of what is not all shrinks in
 * proportion. Nothing is charged that the late one has not more of, and the sum is the wait.
 *
 * Threads: one owner of the result; reads the rest.
 */
#pragma once

#include "analysis/wait_trails.h"

/* What is left to be charged, in `out->pieces`; and in its credits what the one who waited did instead. */
void ar_charge(const struct ar_call_paths *paths, const struct ar_stretch *late,
               const struct ar_stretch *waiting, uint32_t late_location, double wait_ns,
               struct ar_stretch *out);
