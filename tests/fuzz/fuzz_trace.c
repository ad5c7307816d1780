// SPDX-License-Identifier: BSD-3-Clause
/*
 * The events of a trace, in chunks. Their checksums are made for the input, so that what lies behind them is reached.
 *
 *     input    u8 number of items, u8 number of chunks, of each chunk u8 length / 8 and u8 its first item; then the events
 */
#include "exercise_traces.h"
#include "made_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

/* The first node is the root; each further one lies in one before it. Every fifth one is a call of MPI. */
static void make_nodes(struct ar_profile *p, uint32_t *nodes, uint32_t *parents, uint32_t n)
{
    nodes[0] = parents[0] = 0;
    for (uint32_t i = 1; i < n; i++) {
        enum ar_function_kind kind = i % 5 ? AR_FUNCTION_PYTHON : AR_FUNCTION_MPI;

        parents[i] = (i - 1) / 2;
        nodes[i] = sample_node(p, nodes[parents[i]], sample_function(p, kind, "f", i), i);
    }
}

static void make_chunks(struct made_trace *m, const uint8_t *bytes, size_t n_bytes, size_t n_chunks)
{
    const uint8_t *events = bytes + 2 + 2 * n_chunks;
    size_t n_left = n_bytes - 2 - 2 * n_chunks;

    for (size_t i = 0; i < n_chunks; i++) {
        size_t n = 8 * (size_t)bytes[2 + 2 * i];
        uint8_t first = bytes[3 + 2 * i];

        n = i + 1 == n_chunks || n > n_left ? n_left : n;
        made_chunk(m, events, n, 1000 * i, first % m->n_items, first >> 7);
        events += n;
        n_left -= n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    uint32_t nodes[64], parents[64];
    struct ar_profile p;
    struct made_trace m = {.nodes = nodes, .parents = parents};
    size_t n_chunks = n_bytes > 2 ? 1 + bytes[1] % MADE_CHUNKS : 0;

    if (!n_chunks || n_bytes < 2 + 2 * n_chunks + 1)
        return 0;
    m.n_items = 1 + bytes[0] % 64;
    sample_start(&p);
    make_nodes(&p, nodes, parents, m.n_items);
    sample_comm(&p, 3, "world", AR_COMM_WORLD, 3, 0);
    make_chunks(&m, bytes, n_bytes, n_chunks);
    made_trace_add(&m, &p, sample_thread(&p, sample_rank(&p, 0), 0));
    exercise_traces(&p);
    ar_profile_free(&p);
    made_trace_free(&m);
    return 0;
}
