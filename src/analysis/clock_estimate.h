// SPDX-License-Identifier: BSD-3-Clause
/*
 * clock_estimate: the clocks of hosts that were never compared, as far as the program's messages say what they are.
 *
 * A message is received after it was sent. So each one from host A to host B says how far the clock of B must be ahead of that
 * of A at least, and each one back how far at most. A rank leaves a collective call after those came that it needs, which says the
 * same. All that is known together are differences that must not be less than something: over any number of hosts the
 * shortest paths from the first process are the largest and the least offset that a host can have. The middle of both is taken,
 * and half of what lies between them is the error. The middles of all hosts together contradict no message.
 *
 * Where clocks drift no constant offset may fit all messages. Then all bounds are widened by as little as makes them fit, and
 * the error contains that.
 *
 * A host that messages do not reach both ways, over whatever other hosts, is not known: it is placed by the time of day.
 *
 * Memory: 24 bytes per pair of hosts that exchange messages.
 */
#pragma once

#include "analysis/trace_matches.h"

/*
 * Says for each process where its clock comes from (`sources`, `hosts`), and moves the clocks of those that were never compared.
 * Traces whose clocks are set; times of the run begin with the first process afterwards, too.
 */
AR_MUST_CHECK enum ar_status ar_clock_estimate(struct ar_traces *traces,
                                               const struct ar_trace_matches *m);
