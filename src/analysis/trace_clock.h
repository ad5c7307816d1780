// SPDX-License-Identifier: BSD-3-Clause
/*
 * trace_clock: no message is received before it was sent.
 *
 * Clocks of hosts are compared when MPI begins and when it ends, and are taken to drift evenly in between. What they really do
 * shows where a receive ends before its send began, or a rank leaves a barrier that another one has not entered. Then
 * the clock of the receiving process was behind: the end of the receive is moved forward to where the send began, and what follows
 * in that process with it, less and less: a shift of 1 ms is gone after 100 ms. What a process does keeps its
 * order, all its threads move together, and what moved may move others.
 *
 * What must not be earlier than what: the end of a receive, and of a probe, than the begin of the send; the end of a
 * collective call of all than the begin of each; of one from a root than that of the root; the root's end of one to a
 * root than the begin of each; of a scan than those of lower ranks. Calls that MPI lets ranks leave earlier (windows, files, ranks
 * that may have no data: Alltoallv …) demand nothing.
 *
 * A process whose clock is not known (AR_CLOCK_UNKNOWN) is left alone.
 *
 * Memory: 36 bytes per end of a message while it is worked out; what remains is 16 bytes per movement.
 */
#pragma once

#include "analysis/trace_matches.h"

/* Works out `shifts` and `correction` of traces whose clocks are set. */
AR_MUST_CHECK enum ar_status ar_trace_clock_correct(struct ar_traces *traces,
                                                    const struct ar_trace_matches *m);
/* Whether it can have anything to do: several hosts, or clocks that differ. */
bool ar_trace_clock_is_needed(const struct ar_traces *traces);
/* Of a process: what is to be added then; 0 where nothing has moved. */
int64_t ar_trace_shift_at(const struct ar_trace_shifts *shifts, uint64_t at_ns);
void ar_trace_shifts_free(struct ar_trace_shifts *shifts);
