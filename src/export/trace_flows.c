// SPDX-License-Identifier: BSD-3-Clause
/*
 * Message events of a thread are ops in the same order, so a step that has told n of them goes on with op n of its thread. At the
 * beginning of a call its messages are still to be told: they are the ops whose call begins then.
 */
#include "export/trace_flows.h"

#include <stdlib.h>

static bool has_mpi(const struct ar_profile *p)
{
    for (size_t i = 0; i < p->n_functions; i++)
        if (p->functions[i].kind == AR_FUNCTION_MPI)
            return true;
    return false;
}

/* The first op of a thread whose call ends in the window. */
static uint32_t first_op(const struct ar_trace_matches *m, size_t thread, uint64_t from_ns)
{
    size_t low = m->first[thread], high = m->first[thread + 1];

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (m->ops[middle].end_ns < from_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint32_t)low;
}

enum ar_status ar_flows_build(struct ar_flows *out, const struct ar_traces *traces, int64_t from_ns,
                              struct ar_error *err)
{
    enum ar_status status;

    *out = (struct ar_flows){0};
    if (!has_mpi(traces->profile))
        return AR_OK;
    status = ar_trace_matches_build(&out->matches, traces, err);
    if (status < 0)
        return status;
    out->has_matches = true;
    out->first = calloc(traces->n + 1, sizeof *out->first);
    out->n_came = calloc(out->matches.n_groups + 1, sizeof *out->n_came);
    out->has_begun = calloc(out->matches.n_ops + 1, sizeof *out->has_begun);
    if (!out->first || !out->n_came || !out->has_begun) {
        ar_flows_free(out);
        return ar_fail(err, AR_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < traces->n; i++)
        out->first[i] = first_op(&out->matches, i, ar_traces_at(traces, i, from_ns));
    return AR_OK;
}

void ar_flows_free(struct ar_flows *flows)
{
    if (flows->has_matches)
        ar_trace_matches_free(&flows->matches);
    free(flows->first);
    free(flows->n_came);
    free(flows->has_begun);
    *flows = (struct ar_flows){0};
}

/* At its beginning those that the call will tell, at its end those that it tells. */
void ar_flows_seek(struct ar_flows *flows, const struct ar_step *step)
{
    const struct ar_trace_matches *m = &flows->matches;
    size_t at, end;

    flows->at = flows->end = 0;
    if (!flows->has_matches || (step->kind != AR_STEP_BEGIN && !step->n_messages))
        return;
    at = (size_t)(flows->first[step->thread] + step->n_before);
    end = at + step->n_messages;
    if (step->kind == AR_STEP_BEGIN)
        while (end < m->first[step->thread + 1] && m->ops[end].start_ns == step->at_ns &&
               m->ops[end].node == step->node)
            end++;
    end = end < m->first[step->thread + 1] ? end : m->first[step->thread + 1];
    if (at < end) {
        flows->at = (uint32_t)at;
        flows->end = (uint32_t)end;
    }
}

/* Groups have numbers beyond those of ops. */
static bool flow_of_member(struct ar_flows *flows, uint32_t group, struct ar_flow *out)
{
    uint32_t n = flows->matches.groups[group].n;

    if (n < 2)
        return false;
    *out = (struct ar_flow){.id = ((uint64_t)1 << 32) + group + 1,
                            .is_first = flows->n_came[group] == 0,
                            .is_last = flows->n_came[group] + 1 == n,
                            .is_collective = true};
    flows->n_came[group]++;
    return true;
}

static bool flow_at_begin(struct ar_flows *flows, uint32_t op, struct ar_flow *out)
{
    const struct ar_trace_op *it = &flows->matches.ops[op];

    if (it->partner == AR_NO_ID)
        return false;
    if (ar_trace_op_comes(it))
        return flow_of_member(flows, it->partner, out);
    if (!ar_trace_op_sends(it))
        return false;
    flows->has_begun[op] = true;
    *out = (struct ar_flow){.id = (uint64_t)op + 1, .is_first = true};
    return true;
}

static bool flow_at_end(const struct ar_flows *flows, uint32_t op, struct ar_flow *out)
{
    const struct ar_trace_op *it = &flows->matches.ops[op];

    if (!ar_trace_op_receives(it) || it->partner == AR_NO_ID || !flows->has_begun[it->partner])
        return false;
    *out = (struct ar_flow){.id = (uint64_t)it->partner + 1, .is_last = true};
    return true;
}

bool ar_flows_next(struct ar_flows *flows, const struct ar_step *step, struct ar_flow *out)
{
    while (flows->at < flows->end) {
        uint32_t op = flows->at++;

        if (step->kind == AR_STEP_BEGIN ? flow_at_begin(flows, op, out)
                                        : flow_at_end(flows, op, out))
            return true;
    }
    return false;
}
