// SPDX-License-Identifier: BSD-3-Clause
/* Cells by hand; then so many that there is no room, where sums must still be right. */
#include "runtime/mpi_traffic.h"

#include "own_file.h"
#include "runtime/mpi_abi.h"
#include "runtime/tree.h"
#include "tap.h"

static uint32_t world_rank(uint64_t comm, int peer)
{
    return (uint32_t)(comm * 100) + (uint32_t)peer;
}

static struct ar_mpi_abi abi = {.ask = {.world_rank = world_rank}};
static struct ar_mpi_comm comms[] = {{.number = 1, .size = 8, .abi = &abi, .members = 1},
                                     {.number = 2, .size = 8, .abi = &abi, .members = 2}};
static struct ar_thread *t;

static struct ar_node *node_of(uint32_t function)
{
    return ar_tree_child(t, function, ar_ticks());
}

static struct ar_values *cell(struct ar_node *node, int comm, uint32_t peer, uint64_t n_bytes)
{
    struct ar_message message = {&comms[comm], peer, n_bytes};

    return ar_traffic_cell(t, node, &message);
}

static void check_apart(struct ar_node *a, struct ar_node *b)
{
    struct ar_values *one = cell(a, 0, 3, 1000);

    tap_ok(one && one->kind == AR_VALUES_TRAFFIC, "a cell");
    tap_ok(one->words[AR_TRAFFIC_WHERE] ==
               ((uint64_t)ar_live_ref(a) << 32 | 1 << 8 | 10 /* 512 <= 1000 < 1024 */),
           "which says of what it is");
    tap_ok(one->words[AR_TRAFFIC_PEER] == ((uint64_t)103 << 32 | 3), "and of whom");
    tap_ok(cell(a, 0, 3, 1023) == one && cell(a, 0, 3, 512) == one, "for sizes of its class");
    tap_ok(cell(a, 0, 3, 1024) != one && cell(a, 0, 3, 511) != one, "not for others");
    tap_ok(cell(a, 0, 4, 1000) != one, "nor for another peer");
    tap_ok(cell(a, 1, 3, 1000) != one, "nor another communicator");
    tap_ok(cell(b, 0, 3, 1000) != one, "nor another call");
    tap_ok(cell(a, 0, 3, 1000) == one, "and is found again");

    struct ar_values *nothing = cell(a, 0, AR_PEER_ALL, 0);

    tap_ok((nothing->words[AR_TRAFFIC_WHERE] & 0xff) == 0 &&
               nothing->words[AR_TRAFFIC_PEER] == UINT64_MAX,
           "no bytes, to nobody in particular");
    tap_ok((cell(a, 0, 3, UINT64_MAX)->words[0] & 0xff) == 64, "any number of bytes");
}

static void check_completed(struct ar_node *a, struct ar_node *b)
{
    struct ar_values *ab = ar_completed_cell(t, a, ar_live_ref(b));

    tap_ok(ab->words[AR_COMPLETED_POSTED] == ar_live_ref(b), "what was posted at b ended at a");
    tap_ok(ar_completed_cell(t, a, ar_live_ref(b)) == ab, "again");
    tap_ok(ar_completed_cell(t, b, ar_live_ref(b)) != ab &&
               ar_completed_cell(t, a, ar_live_ref(a)) != ab,
           "other pairs are others");
}

/* All blocks of a node are in its chain, once, the first kind first. */
static int n_in_chain(const struct ar_node *node, enum ar_values_kind kind)
{
    int n = 0;

    for (uint32_t ref = node->values_ref; ref;) {
        const struct ar_values *values = ar_live_ptr(ref);

        n += values->kind == (uint32_t)kind;
        ref = values->next_ref;
    }
    return n;
}

static void check_chain(struct ar_node *a)
{
    const struct ar_values *first = ar_live_ptr(a->values_ref);

    tap_ok(first->kind == AR_VALUES_MPI, "what every call looks at comes first");
    tap_ok(n_in_chain(a, AR_VALUES_MPI) == 1 && n_in_chain(a, AR_VALUES_TRAFFIC) == 7 &&
               n_in_chain(a, AR_VALUES_COMPLETED) == 2,
           "then the rest: %d and %d", n_in_chain(a, AR_VALUES_TRAFFIC),
           n_in_chain(a, AR_VALUES_COMPLETED));
}

static void check_full(struct ar_node *node)
{
    uint64_t n_messages = 100000, sum = 0;

    for (uint32_t peer = 0; peer < n_messages; peer++)
        cell(node, 0, peer, 8)->words[AR_TRAFFIC_BYTES_OUT] += 8;

    uint64_t n_lost = ar_live_header()->n_lost[AR_LOST_TRAFFIC];

    for (uint32_t ref = node->values_ref; ref;) {
        const struct ar_values *values = ar_live_ptr(ref);

        if (values->kind == AR_VALUES_TRAFFIC)
            sum += values->words[AR_TRAFFIC_BYTES_OUT];
        ref = values->next_ref;
    }
    tap_ok(sum == 8 * n_messages, "no byte is lost");
    tap_ok(n_lost > 0 && n_lost < n_messages, "%d messages are not told apart, and counted",
           (int)n_lost);
    tap_ok(cell(node, 0, 99999, 8)->words[AR_TRAFFIC_PEER] ==
               ((uint64_t)AR_RANK_NONE << 32 | AR_PEER_OTHERS),
           "they are of others");
}

int main(void)
{
    own_file_make();
    uint32_t f = own_file_function("MPI_Send"), g = own_file_function("MPI_Wait");

    t = ar_thread_self();
    if (!t || !ar_mpi_thread_make(t)) {
        printf("Bail out! no thread\n");
        return 2;
    }

    struct ar_node *a = node_of(f), *b = node_of(g);

    check_apart(a, b);
    check_completed(a, b);
    check_chain(a);
    check_full(b);
    ar_threads_stop();
    scratch_remove();
    return tap_done();
}
