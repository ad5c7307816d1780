// SPDX-License-Identifier: BSD-3-Clause
/* Random calls of several threads, few and so many that a thread reads ahead, beside all of them sorted. */
#include "analysis/call_order.h"

#include "dice.h"
#include "sample_profile.h"
#include "tap.h"

#define N_RANKS 5
#define FEW 40
#define MANY 8000

struct expected {
    uint64_t exit_ns;
    uint32_t rank, sequence;
};

static struct ar_profile p;
static struct expected *expected;
static size_t n_expected;

static void add(uint32_t rank, uint32_t node, uint64_t enter_ns, uint64_t exit_ns)
{
    struct ar_profile_sync sync = {
        .location = rank,
        .kind = AR_SYNC_RECEIVE,
        .sequence = (uint32_t)n_expected, /* a tag: which one it is */
        .node = node,
        .rank = AR_NO_ID,
        .enter_ns = enter_ns,
        .exit_ns = exit_ns,
    };

    sample_must(ar_profile_sync(&p, sync, NULL));
    expected[n_expected] = (struct expected){exit_ns, rank, sync.sequence};
    n_expected++;
}

/* Calls of one to three records. */
static void make(uint64_t seed, size_t n_calls)
{
    struct dice d = {seed};
    uint32_t node;

    sample_start(&p);
    node = sample_node(&p, 0, sample_function(&p, AR_FUNCTION_MPI, "MPI_Waitall", 0), 7);
    expected = malloc(N_RANKS * n_calls * 3 * sizeof *expected);
    n_expected = 0;
    for (uint32_t rank = 0; rank < N_RANKS; rank++) {
        uint32_t process = sample_rank(&p, rank);
        uint64_t now = 0;

        p.processes[process].wall_ns = (uint64_t)1 << 40;
        sample_thread(&p, process, 0);
        for (size_t i = 0; i < n_calls; i++) {
            uint64_t enter = now + 1 + dice_below(&d, 1000);

            now = enter + 1 + dice_below(&d, 1000);
            for (uint32_t n = 1 + dice_below(&d, 3); n > 0; n--)
                add(rank, node, enter, now);
        }
    }
    sample_must(ar_profile_sort(&p));
}

static int earlier_first(const void *a, const void *b)
{
    const struct expected *x = a, *y = b;

    if (x->exit_ns != y->exit_ns)
        return x->exit_ns < y->exit_ns ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static bool is_same_call(size_t i)
{
    return i > 0 && expected[i].rank == expected[i - 1].rank &&
           expected[i].exit_ns == expected[i - 1].exit_ns;
}

static void check_order(size_t n_calls, bool has_thread)
{
    struct ar_call_order o;
    const struct ar_ordered_call *record;
    size_t n = 0, n_wrong = 0;

    make(n_calls, n_calls);
    qsort(expected, n_expected, sizeof *expected, earlier_first);
    sample_must(ar_call_order_open(&o, &p));
    tap_ok((o.ahead != NULL) == has_thread, "%zu calls: %s thread", n_calls,
           has_thread ? "a" : "no");
    for (; (record = ar_call_order_next(&o)); n++)
        n_wrong += n >= n_expected || record->thread != expected[n].rank ||
                   record->sequence != expected[n].sequence ||
                   (uint64_t)record->exit_ns != expected[n].exit_ns ||
                   record->is_same_call != is_same_call(n);
    tap_ok(n == n_expected && n_wrong == 0, "%zu calls: in order, %zu wrong", n_calls, n_wrong);
    tap_ok(!ar_call_order_next(&o), "%zu calls: the end stays the end", n_calls);
    ar_call_order_close(&o);
    free(expected);
    ar_profile_free(&p);
}

/* The thread that reads ahead may be in the middle of it. */
static void check_leaving(void)
{
    struct ar_call_order o;

    make(1, MANY);
    for (int i = 0; i < 20; i++) {
        sample_must(ar_call_order_open(&o, &p));
        for (int k = 0; k < i * 100; k++)
            ar_call_order_next(&o);
        ar_call_order_close(&o);
    }
    tap_ok(true, "left before the end");
    free(expected);
    ar_profile_free(&p);
}

int main(void)
{
    check_order(FEW, false);
    check_order(MANY, true);
    check_leaving();
    return tap_done();
}
