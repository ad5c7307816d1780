// SPDX-License-Identifier: BSD-3-Clause
/* Random trees of few functions, so that most recurse, beside sums that look at every ancestor. */
#include "analysis/by_function.h"

#include "dice.h"
#include "failing_alloc.h"
#include "sample_profile.h"
#include "tap.h"

#include <inttypes.h>

#define N_RANKS 4
#define N_THREADS 2
#define N_NODES 60
#define N_FUNCTIONS 6 /* the root's is one of them */

static struct ar_profile profile;
static struct ar_totals totals;
static struct ar_by_function by_function;
static struct ar_shares reading;

/* A parent's time is at least its children's, as in a recording. */
static void add_times(struct dice *d)
{
    static uint64_t times[N_NODES][N_RANKS * N_THREADS];

    memset(times, 0, sizeof times);
    for (uint32_t node = N_NODES; node-- > 0;)
        for (uint32_t location = 0; location < N_RANKS * N_THREADS; location++) {
            uint64_t *time = &times[node][location];

            if (dice_below(d, 3))
                *time += dice_below(d, 1000);
            if (node)
                times[profile.nodes[node].parent][location] += *time;
            if (*time)
                sample_value(&profile, AR_METRIC_TIME, node, location, *time);
            if (dice_below(d, 4) == 0)
                sample_value(&profile, AR_METRIC_CALLS, node, location, 1 + dice_below(d, 9));
            if (dice_below(d, 4) == 0)
                sample_value(&profile, AR_METRIC_BYTES_OUT, node, location, dice_below(d, 99));
        }
}

static void make(uint64_t seed)
{
    struct dice d = {seed};

    sample_start(&profile);
    for (uint32_t i = 0; i < N_RANKS; i++) {
        uint32_t process = sample_rank(&profile, i);

        for (uint32_t thread = 0; thread < N_THREADS; thread++)
            sample_thread(&profile, process, thread);
    }
    for (uint32_t line = 1; profile.n_nodes < N_NODES; line++) {
        char name[2] = {(char)('a' + dice_below(&d, N_FUNCTIONS - 1)), '\0'};
        uint32_t function = sample_function(&profile, AR_FUNCTION_PYTHON, name, 1);

        sample_node(&profile, dice_below(&d, (uint32_t)profile.n_nodes), function, line);
    }
    add_times(&d);
    sample_must(ar_totals_build(&totals, &profile));
}

static bool has_itself_above(uint32_t node)
{
    for (uint32_t a = profile.nodes[node].parent; a != AR_NO_ID; a = profile.nodes[a].parent)
        if (profile.nodes[a].function == profile.nodes[node].function)
            return true;
    return false;
}

static uint64_t slow_self(uint32_t node, uint32_t location)
{
    uint64_t inside = 0;

    for (uint32_t c = 1; c < profile.n_nodes; c++)
        if (profile.nodes[c].parent == node)
            inside += sample_find(&profile, AR_METRIC_TIME, c, location);
    return sample_find(&profile, AR_METRIC_TIME, node, location) - inside;
}

static struct ar_share slow_share(uint32_t function, uint32_t process)
{
    struct ar_share share = {0};

    for (uint32_t node = 0; node < profile.n_nodes; node++)
        for (uint32_t thread = 0; thread < N_THREADS; thread++) {
            uint32_t location = process * N_THREADS + thread;

            if (profile.nodes[node].function != function)
                continue;
            share.n_calls += sample_find(&profile, AR_METRIC_CALLS, node, location);
            share.self_ns += slow_self(node, location);
            if (!has_itself_above(node))
                share.time_ns += sample_find(&profile, AR_METRIC_TIME, node, location);
        }
    return share;
}

static void spread_over(struct ar_spread *s, uint64_t value, uint32_t process)
{
    if (process == 0)
        *s = (struct ar_spread){.min = value, .max = value};
    if (value < s->min)
        s->min = value, s->min_process = process;
    if (value > s->max)
        s->max = value, s->max_process = process;
    s->sum += (double)value;
    s->mean = s->sum / N_RANKS;
}

static bool same_spread(const struct ar_spread *a, const struct ar_spread *b)
{
    return a->sum == b->sum && a->mean == b->mean && a->min == b->min && a->max == b->max &&
           a->min_process == b->min_process && a->max_process == b->max_process;
}

/* Nothing is estimated here. */
static bool same_share(const struct ar_share *a, const struct ar_share *b)
{
    return a->n_calls == b->n_calls && a->time_ns == b->time_ns && a->self_ns == b->self_ns &&
           !b->time_doubt.marks && !b->self_doubt.marks;
}

static bool function_is_true(uint32_t function)
{
    const struct ar_function_sums *sums = &by_function.sums[function];
    struct ar_function_sums slow = {0};
    struct ar_share shares[N_RANKS];
    bool good = true;

    ar_shares_get(&reading, function, shares);
    for (uint32_t i = 0; i < N_RANKS; i++) {
        struct ar_share share = slow_share(function, i);

        good = good && same_share(&share, &shares[i]);
        spread_over(&slow.time, share.time_ns, i);
        spread_over(&slow.self, share.self_ns, i);
        slow.n_calls += share.n_calls;
        slow.n_processes += share.n_calls > 0;
    }
    for (uint32_t node = 0; node < profile.n_nodes; node++)
        if (profile.nodes[node].function == function) {
            slow.n_nodes++;
            slow.bytes_out += totals.bytes_out[node];
        }
    return good && same_spread(&sums->time, &slow.time) && same_spread(&sums->self, &slow.self) &&
           sums->n_calls == slow.n_calls && sums->n_processes == slow.n_processes &&
           sums->n_nodes == slow.n_nodes && sums->bytes_out == slow.bytes_out;
}

static void test_against_slow(uint64_t seed)
{
    bool good = true;

    make(seed);
    sample_must(ar_by_function_build(&by_function, &profile, &totals));
    sample_must(ar_shares_open(&reading, &by_function));
    for (uint32_t f = 0; f < profile.n_functions; f++)
        good = good && function_is_true(f);
    tap_ok(good && profile.n_functions == N_FUNCTIONS,
           "%" PRIu64 ": calls, time and self time agree with a slow count", seed);
    ar_shares_close(&reading);
    ar_by_function_free(&by_function);
    ar_totals_free(&totals);
    ar_profile_free(&profile);
}

static void test_empty(void)
{
    struct ar_share none;

    sample_start(&profile);
    sample_must(ar_totals_build(&totals, &profile));
    sample_must(ar_by_function_build(&by_function, &profile, &totals));
    sample_must(ar_shares_open(&reading, &by_function));
    ar_shares_get(&reading, 0, &none);
    tap_ok(by_function.sums[0].n_nodes == 1 && by_function.sums[0].time.mean == 0,
           "a profile of nobody");
    ar_shares_close(&reading);
    ar_by_function_free(&by_function);
    ar_totals_free(&totals);
    ar_profile_free(&profile);
}

/* len is called by f and, in recursion, by f again; on rank 1 its times are estimated. */
static void test_doubts(void)
{
    struct ar_share shares[2];

    sample_start(&profile);

    uint32_t a = sample_thread(&profile, sample_rank(&profile, 0), 0);
    uint32_t b = sample_thread(&profile, sample_rank(&profile, 1), 0);
    uint32_t f = sample_function(&profile, AR_FUNCTION_PYTHON, "f", 1);
    uint32_t len = sample_function(&profile, AR_FUNCTION_BUILTIN, "len", 0);
    uint32_t outer = sample_node(&profile, 0, f, 1), inner = sample_node(&profile, outer, f, 2);
    uint32_t calls[] = {sample_node(&profile, outer, len, 3), sample_node(&profile, inner, len, 3)};

    for (int i = 0; i < 2; i++) {
        sample_value(&profile, AR_METRIC_TIME, calls[i], a, 10);
        sample_value(&profile, AR_METRIC_TIME, calls[i], b, 20);
        sample_value(&profile, AR_METRIC_MARKS, calls[i], b, AR_MARK_ESTIMATED);
        sample_value(&profile, AR_METRIC_VARIANCE, calls[i], b, i ? 7 : 2);
    }
    sample_must(ar_totals_build(&totals, &profile));
    sample_must(ar_by_function_build(&by_function, &profile, &totals));
    sample_must(ar_shares_open(&reading, &by_function));
    tap_ok(by_function.sums[len].time.doubt.variance == 9 &&
               by_function.sums[len].self.doubt.variance == 9 &&
               by_function.sums[len].calls.doubt.marks == 0,
           "over all paths; counts are exact");
    tap_ok(by_function.sums[f].time.doubt.marks == 0 && by_function.sums[f].self.doubt.marks &&
               by_function.sums[f].self.doubt.variance == 9,
           "of the caller the self time");
    ar_shares_get(&reading, len, shares);
    tap_ok(shares[0].time_doubt.marks == 0 && shares[0].self_doubt.marks == 0, "not on rank 0");
    tap_ok(shares[1].time_doubt.marks == AR_MARK_ESTIMATED && shares[1].time_doubt.variance == 9,
           "on rank 1");
    ar_shares_get(&reading, f, shares);
    tap_ok(shares[0].self_doubt.marks == 0 && shares[1].time_doubt.marks == 0 &&
               shares[1].self_doubt.marks == AR_MARK_ESTIMATED &&
               shares[1].self_doubt.variance == 9,
           "the caller there, too");
    ar_shares_close(&reading);
    ar_by_function_free(&by_function);
    ar_totals_free(&totals);
    ar_profile_free(&profile);
}

static void test_no_memory(void)
{
    enum ar_status status = AR_NOMEM;
    size_t n = 0;

    make(1);
    for (; status == AR_NOMEM && n < 100; n++) {
        alloc_fail_after(n);
        status = ar_by_function_build(&by_function, &profile, &totals);
        alloc_restore();
    }
    tap_ok(status == AR_OK && n > 8, "without memory there is nothing to free");
    ar_shares_close(&reading);
    ar_by_function_free(&by_function);
    ar_totals_free(&totals);
    ar_profile_free(&profile);
}

int main(void)
{
    for (uint64_t seed = 1; seed <= 10; seed++)
        test_against_slow(seed);
    test_empty();
    test_doubts();
    test_no_memory();
    return tap_done();
}
