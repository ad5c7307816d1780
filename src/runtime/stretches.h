// SPDX-License-Identifier: BSD-3-Clause
/*
 * stretches: between which two lines a Python function spends its own time.
 *
 * Each event of a thread has its place: the line that calls, or comes back. The time between two events of a function is a
 * stretch of the lines between them, which is often one line. So hot lines are known without events for lines.
 *
 * All stretches together are sampled: each instant of a thread's time is a sample with the same small probability, and
 * a sampled stretch is charged what makes the expected charge its length (Horvitz and Thompson):
 *
 *     length / (1 - exp(-length / period))
 *
 * That is the length itself where a stretch is long, and about a period where it is short. The period is 50 us at first and doubles
 * after every 16,384 samples of the thread, so that a long run has no more rows than a short one needs. The variance is recorded, so that
 * readers can state the error. Rows of the table `stretches` in the live file have node, line of the event before (0: the
 * function was entered), line of the event after (0: it was left), time and variance.
 *
 * A stretch from the entry of a function to its end is left out: it says nothing that self time does not say. So is one at a call whose
 * line is not known, as in recursion (tree.h).
 *
 * Cost: a store per event in the tree (`previous`), and some 0.1 us per sample.
 * Threads: a thread's samples are its own. Forks: the child has its own rows.
 */
#pragma once

#include "runtime/sources.h"

extern const struct ar_source ar_source_stretches;

/* Once it is known how long a tick is; in the thread that has started the recording. */
void ar_stretches_calibrate(void);
