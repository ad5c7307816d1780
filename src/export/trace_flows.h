// SPDX-License-Identifier: BSD-3-Clause
/*
 * trace_flows: arrows between the slices of a viewer, which it calls flows.
 *
 * A message leads from the beginning of the call that sends or posts it to the end of the call that has received it. A collective call
 * leads through all its members, in the order in which they came. Only what analysis/trace_matches.h has matched is an arrow, and none
 * of them goes back in time.
 *
 *     struct ar_flows flows;
 *     status = ar_flows_build(&flows, &traces, from_ns, &err);         // nothing is matched where there is no MPI
 *     for each step, in the order of time:
 *         struct ar_flow flow;
 *         ar_flows_seek(&flows, &step);
 *         while (ar_flows_next(&flows, &step, &flow)) …
 *     ar_flows_free(&flows);
 */
#pragma once

#include "analysis/trace_matches.h"
#include "export/trace_steps.h"

struct ar_flow {
    uint64_t id; /* never 0 */
    bool is_first, is_last;
    bool is_collective;
};

struct ar_flows {
    struct ar_trace_matches matches;
    bool has_matches;
    uint32_t *first;    /* by thread: its first op in the window */
    uint32_t *n_came;   /* by group: members that began */
    uint8_t *has_begun; /* by op: its message has left */
    uint32_t at, end;   /* ops that are looked at for the step at hand */
};

AR_MUST_CHECK enum ar_status ar_flows_build(struct ar_flows *out, const struct ar_traces *traces,
                                            int64_t from_ns, struct ar_error *err);
void ar_flows_free(struct ar_flows *flows);
void ar_flows_seek(struct ar_flows *flows, const struct ar_step *step);
bool ar_flows_next(struct ar_flows *flows, const struct ar_step *step, struct ar_flow *out);
