// SPDX-License-Identifier: BSD-3-Clause
/* Runs of four ranks, made by hand, in which who waits for whom is arithmetic. */
#include "findings/findings.h"

#include "failing_alloc.h"
#include "sample_profile.h"
#include "tap.h"

#define N_RANKS 4
#define MOST_NODES 32
#define MS 1000000ull

static struct ar_profile p;
static struct ar_findings found;
static uint32_t program;
static uint64_t now[N_RANKS], since[N_RANKS];
static uint64_t times[N_RANKS][MOST_NODES], own[N_RANKS][MOST_NODES], calls[N_RANKS][MOST_NODES];
static uint32_t sequence;

static uint32_t below(uint32_t parent, enum ar_function_kind kind, const char *name, uint32_t line)
{
    return sample_node(&p, parent, sample_function(&p, kind, name, line), line);
}

static void start(void)
{
    sample_start(&p);
    memset(now, 0, sizeof now);
    memset(since, 0, sizeof since);
    memset(times, 0, sizeof times);
    memset(own, 0, sizeof own);
    memset(calls, 0, sizeof calls);
    sequence = 0;
    for (uint32_t r = 0; r < N_RANKS; r++)
        sample_thread(&p, sample_rank(&p, r), 0);
    sample_comm(&p, 1, "world", AR_COMM_WORLD, N_RANKS, 0);
    program = below(0, AR_FUNCTION_PYTHON, "<module>", 1);
}

static void count(uint32_t rank, uint32_t node, uint64_t ns)
{
    calls[rank][node]++;
    for (; node != AR_NO_ID; node = p.nodes[node].parent)
        times[rank][node] += ns;
    now[rank] += ns;
}

static void spend(uint32_t rank, uint32_t node, uint64_t ms)
{
    own[rank][node] += ms * MS;
    count(rank, node, ms * MS);
}

/* What a rank has done since it met the others last. */
static uint32_t take_parts(uint32_t rank, struct ar_profile_part *parts)
{
    uint32_t n = 0;

    for (uint32_t node = 0; node < MOST_NODES; node++)
        if (own[rank][node]) {
            parts[n++] = (struct ar_profile_part){.node = node, .ns = own[rank][node]};
            own[rank][node] = 0;
        }
    return n;
}

/* Ranks from `first` on, up to `end`, on their communicator. */
static void meet_some(uint32_t barrier, uint32_t comm, uint32_t first, uint32_t end_rank)
{
    uint64_t last = 0;

    for (uint32_t r = first; r < end_rank; r++)
        last = now[r] > last ? now[r] : last;
    for (uint32_t r = first; r < end_rank; r++) {
        struct ar_profile_part parts[MOST_NODES];
        struct ar_profile_sync sync = {.location = r,
                                       .kind = AR_SYNC_BARRIER,
                                       .comm = comm,
                                       .rank = AR_OWN_RANK(r - first, 0),
                                       .sequence = sequence,
                                       .peer = AR_PEER_ALL,
                                       .node = barrier,
                                       .enter_ns = now[r],
                                       .exit_ns = last + 1000,
                                       .n_parts = take_parts(r, parts)};

        sample_must(ar_profile_sync(&p, sync, parts));
        count(r, barrier, last + 1000 - now[r]);
    }
    sequence++;
}

static void meet(uint32_t barrier)
{
    meet_some(barrier, 1, 0, N_RANKS);
}

static enum ar_status find(const char *path)
{
    struct ar_totals t = {0};
    struct ar_waits w = {0};
    struct ar_mpi m = {0};
    enum ar_status status = ar_totals_build(&t, &p);

    if (status == AR_OK)
        status = ar_waits_build_with(&w, &p, &t, NULL);
    if (status == AR_OK)
        status = ar_mpi_open(&m, &p, &t);
    if (status == AR_OK)
        status = ar_findings_find(&found, &p, &m, &w, NULL, path);
    ar_mpi_close(&m);
    ar_waits_free(&w);
    ar_totals_free(&t);
    return status;
}

static void end(const char *path)
{
    for (uint32_t r = 0; r < N_RANKS; r++) {
        p.processes[r].wall_ns = now[r];
        for (uint32_t node = 0; node < p.n_nodes; node++)
            if (times[r][node]) {
                sample_value(&p, AR_METRIC_TIME, node, r, times[r][node]);
                sample_value(&p, AR_METRIC_CALLS, node, r, calls[r][node] + 1);
            }
    }
    sample_must(ar_profile_sort(&p));
    sample_must(find(path));
}

static void finish(void)
{
    ar_findings_free(&found);
    ar_profile_free(&p);
}

static bool says(size_t i, const char *rule, double ms, const char *text)
{
    bool is_said = i < found.n && strcmp(found.items[i].rule, rule) == 0 &&
                   found.items[i].won_ns > 0.99 * ms * (double)MS &&
                   found.items[i].won_ns < 1.01 * ms * (double)MS + 20000 &&
                   strstr(found.items[i].text, text);

    if (!is_said)
        for (size_t k = 0; k < found.n; k++)
            tap_note("%s, %g ms: %s", found.items[k].rule, found.items[k].won_ns / (double)MS,
                     found.items[k].text);
    return is_said;
}

static bool is_about(size_t i, uint32_t first, uint32_t n)
{
    const struct ar_finding *f = &found.items[i];

    return f->n_processes == n && f->processes[0] == first && f->processes[n - 1] == first + n - 1;
}

/* ---- waits ------------------------------------------------------------------------------------ */

static void test_threshold(uint64_t work_ms, uint64_t late_ms, bool is_worth)
{
    start();

    uint32_t barrier = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 5);
    uint32_t work = below(program, AR_FUNCTION_PYTHON, "work", 10);

    for (uint32_t r = 0; r < N_RANKS; r++)
        spend(r, work, r ? work_ms : work_ms + late_ms);
    meet(barrier);
    end("run");
    tap_ok(found.n == is_worth, "%d ms of %d", (int)late_ms, (int)work_ms);
    finish();
}

static void alone(enum ar_function_kind kind, const char *name)
{
    start();

    uint32_t barrier = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 5);
    uint32_t work = below(program, AR_FUNCTION_PYTHON, "work", 10);
    uint32_t output = below(program, AR_FUNCTION_PYTHON, "output", 20);
    uint32_t inner = *name ? below(output, kind, name, 0) : output;

    for (uint32_t r = 0; r < N_RANKS; r++)
        spend(r, work, 600);
    spend(0, inner, 400);
    meet(barrier);
    end("my run");
}

static void test_alone(void)
{
    alone(AR_FUNCTION_PYTHON, "");
    tap_ok(found.n == 1 && says(0, "serial_phase", 1200, "ranks 1-3 waited 1.20 s (30.0 %)"),
           "what one rank does alone");
    tap_ok(says(0, "serial_phase", 1200, "a.py:20 output") && found.items[0].place.line == 20 &&
               is_about(0, 0, 1),
           "where, and which rank");
    tap_ok(strcmp(found.items[0].command, "allranks waits 'my run' 1") == 0, "the command: %s",
           found.items[0].command);
    finish();
    alone(AR_FUNCTION_BUILTIN, "method 'write' of '_io.BufferedWriter' objects");
    tap_ok(found.n == 1 && says(0, "io_on_one_rank", 1200, "a.py:20 output"), "files");
    finish();
    alone(AR_FUNCTION_BUILTIN, "method 'write' of '_io.BytesIO' objects");
    tap_ok(found.n == 1 && says(0, "serial_phase", 1200, "a.py:20 output"), "no file");
    finish();
}

static void test_imbalance(void)
{
    start();

    uint32_t barrier = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 5);
    uint32_t work = below(program, AR_FUNCTION_PYTHON, "work", 10);

    for (int i = 0; i < 3; i++) {
        for (uint32_t r = 0; r < N_RANKS; r++)
            spend(r, work, 100 + 20 * r);
        meet(barrier);
    }
    end("run");
    tap_ok(found.n == 1 &&
               says(0, "imbalance", 360, "takes 480.0 ms on rank 3 and 390.0 ms on average"),
           "more work on some ranks");
    tap_ok(strcmp(found.items[0].command, "allranks ranks run a.py:10") == 0, "the command");
    finish();
}

/* Starting MPI differs from rank to rank, and nobody can do anything about it. */
static void test_start(void)
{
    start();

    uint32_t barrier = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 5);
    uint32_t init = below(program, AR_FUNCTION_MPI, "MPI_Init_thread", 0);

    for (uint32_t r = 0; r < N_RANKS; r++)
        spend(r, init, 100 + 200 * (r == 1));
    meet(barrier);
    end("run");
    tap_ok(found.n == 1 && says(0, "wait", 600, "for rank 1, which spent it in MPI_Init_thread"),
           "MPI is no work");
    finish();
}

static void test_turns(void)
{
    start();

    uint32_t barrier = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 5);
    uint32_t work = below(program, AR_FUNCTION_PYTHON, "work", 10);

    for (uint32_t late = 0; late < N_RANKS; late++) {
        for (uint32_t r = 0; r < N_RANKS; r++)
            spend(r, work, r == late ? 101 : 1);
        meet(barrier);
    }
    end("run");
    tap_ok(says(0, "wait", 1200, "ranks 0-3 waited") && found.n == 1 && is_about(0, 0, 4),
           "in turns it is no imbalance");
    tap_ok(says(0, "wait", 1200, "Barrier for each other; it was spent in a.py:10 work"),
           "nobody is told to wait for himself");
    finish();
}

/* They meet at one line in every step: one rank has more to do there, and another writes now and then. */
static void test_two_reasons(void)
{
    start();

    uint32_t barrier = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 5);
    uint32_t work = below(program, AR_FUNCTION_PYTHON, "work", 10);
    uint32_t output = below(program, AR_FUNCTION_PYTHON, "output", 20);

    for (int i = 0; i < 10; i++) {
        for (uint32_t r = 0; r < N_RANKS; r++)
            spend(r, work, r == 3 && i % 2 ? 130 : 100);
        if (i % 2 == 0)
            spend(0, output, 50);
        meet(barrier);
    }
    end("run");
    tap_ok(found.n == 2 && says(0, "serial_phase", 750, "ranks 1-3 waited 750.0 ms") &&
               says(0, "serial_phase", 750, "for rank 0, which spent it in a.py:20 output"),
           "one of two reasons at a line");
    tap_ok(says(1, "imbalance", 450, "other ranks waited 450.0 ms"), "and the other");
    finish();
}

/* Rank 1 is late for rank 0, and rank 2 for rank 1: who is to blame is named, however far away it is. */
static void test_indirect(void)
{
    start();

    uint32_t first = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 5);
    uint32_t work = below(program, AR_FUNCTION_PYTHON, "work", 10);
    uint32_t second = below(program, AR_FUNCTION_MPI, "MPI_Allreduce", 6);

    sample_comm(&p, 2, "two", AR_COMM_SPLIT, 2, 1);
    sample_comm(&p, 3, "three", AR_COMM_SPLIT, 3, 1);
    spend(0, work, 500);
    meet_some(first, 2, 0, 2);
    meet_some(second, 3, 1, 4);
    end("run");
    tap_ok(found.n == 2 && says(0, "serial_phase", 1000, "ranks 2,3 waited 1.00 s") &&
               says(0, "serial_phase", 1000, "because of rank 0, which spent it in a.py:10 work") &&
               is_about(0, 0, 1),
           "through others");
    finish();
}

/* What a library does is told with who called it. */
static void test_installed(const char *file, const char *rule, const char *text)
{
    start();

    uint32_t barrier = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 5);
    uint32_t work = below(program, AR_FUNCTION_PYTHON, "work", 10);
    uint32_t output = below(program, AR_FUNCTION_PYTHON, "output", 20);
    uint32_t save =
        sample_node(&p, output, sample_function_in(&p, AR_FUNCTION_PYTHON, "encode", file, 90), 21);

    for (uint32_t r = 0; r < N_RANKS; r++)
        spend(r, work, 600);
    spend(0, save, 400);
    meet(barrier);
    end("run");
    tap_ok(found.n == 1 && says(0, rule, 1200, text), "a library's function: %s", text);
    finish();
}

/* As in what MPI does at the end of the program: there is no line to name, and no function. */
static void test_no_place(void)
{
    start();

    uint32_t barrier = below(0, AR_FUNCTION_MPI, "MPI_Barrier", 0);

    for (uint32_t r = 0; r < N_RANKS; r++)
        spend(r, program, 600);
    spend(0, 0, 400);
    meet(barrier);
    end("run");
    tap_ok(found.n == 1 && strstr(found.items[0].text, "(30.0 %) in Barrier for rank 0") &&
               strstr(found.items[0].text, "spent it in code outside of Python functions") &&
               !strstr(found.items[0].text, "  "),
           "without a place: %s", found.n ? found.items[0].text : "nothing");
    finish();
}

/* Too short each time to know what came before. */
static void test_not_known(void)
{
    start();

    uint32_t barrier = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 5);
    uint32_t work = below(program, AR_FUNCTION_PYTHON, "work", 10);

    for (int i = 0; i < 20; i++) {
        for (uint32_t r = 0; r < N_RANKS; r++)
            spend(r, work, 10 + (r == (uint32_t)i % 4 ? 5 : 0));
        memset(own, 0, sizeof own);
        meet(barrier);
    }
    end("run");
    tap_ok(found.n == 1 && says(0, "wait", 300, "Barrier for each other, in 60 calls"),
           "how often, where the reason is not known");
    finish();
}

static void test_idle(void)
{
    start();

    uint32_t barrier = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 5);
    uint32_t work = below(program, AR_FUNCTION_PYTHON, "work", 10);

    for (uint32_t r = 0; r < 2; r++)
        spend(r, work, 500);
    meet(barrier);
    end("run");
    tap_ok(found.n == 1 && says(0, "idle_ranks", 1000, "only 2 of 4 ranks do") &&
               strstr(found.items[0].text, "work; ranks 2,3 did nothing") &&
               strstr(found.items[0].text, "others worked 500.0 ms on average") &&
               is_about(0, 2, 2),
           "ranks that never work, and nothing else about them");
    finish();
}

/* They also wait for one rank, which prepares something: that is a cause of its own, and counts once. */
static void test_idle_with_another_cause(void)
{
    double won_ns = 0;

    start();

    uint32_t bcast = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 4);
    uint32_t barrier = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 5);
    uint32_t prepare = below(program, AR_FUNCTION_PYTHON, "prepare", 20);
    uint32_t work = below(program, AR_FUNCTION_PYTHON, "work", 10);

    spend(0, prepare, 300);
    meet(bcast);
    for (uint32_t r = 0; r < 2; r++)
        spend(r, work, 500);
    meet(barrier);
    end("run");
    for (size_t i = 0; i < found.n; i++)
        won_ns += found.items[i].won_ns;
    tap_ok(found.n == 2 && says(0, "idle_ranks", 1000, "only 2 of 4 ranks do") &&
               says(1, "serial_phase", 900, "prepare"),
           "both are said: %s", found.n > 1 ? found.items[1].text : "nothing");
    tap_ok(won_ns < 1901e6, "and no second is counted twice");
    finish();
}

/* Ranks 0 and 1 are on one host; with `n_more` calls they have more to do. */
static void on_hosts(int n_more)
{
    start();

    uint32_t barrier = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 5);
    uint32_t work = below(program, AR_FUNCTION_PYTHON, "work", 10);

    for (uint32_t r = 0; r < N_RANKS; r++)
        p.processes[r].host = sample_text(&p, r < 2 ? "slow" : "fast");
    for (uint32_t r = 0; r < N_RANKS; r++)
        spend(r, work, r < 2 ? 300 : 200);
    for (uint32_t r = 0; r < 2; r++)
        calls[r][work] += (uint64_t)n_more;
    meet(barrier);
    end("run");
}

static void test_hosts(void)
{
    on_hosts(0);
    tap_ok(found.n == 1 && says(0, "slow_node", 200, "300.0 ms on slow (ranks 0,1)") &&
               is_about(0, 0, 2),
           "a host that is slow");
    finish();
    on_hosts(10);
    tap_ok(found.n == 1 && says(0, "imbalance", 200, "a.py:10 work"), "one that has more to do");
    finish();
}

/* Just below and just above what each rule is said from: how long ranks work, one in `more` and the others in `others`. */
static void test_limit(uint64_t more, uint64_t others, const char *rule)
{
    start();

    uint32_t barrier = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 5);
    uint32_t work = below(program, AR_FUNCTION_PYTHON, "work", 10);

    for (uint32_t r = 0; r < N_RANKS; r++)
        spend(r, work, r == 1 ? more : others);
    meet(barrier);
    end("run");
    tap_ok(says(0, rule, 3 * (double)(more - others), "work"), "%d and %d ms: %s", (int)more,
           (int)others, rule);
    finish();
}

static void test_idle_limit(uint64_t ms, const char *rule)
{
    start();

    uint32_t barrier = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 5);
    uint32_t work = below(program, AR_FUNCTION_PYTHON, "work", 10);

    for (uint32_t r = 0; r < N_RANKS; r++)
        spend(r, work, r < 2 ? 500 : ms);
    meet(barrier);
    end("run");
    tap_ok(found.n == 1 && strcmp(found.items[0].rule, rule) == 0, "%d ms of 500: %s", (int)ms,
           rule);
    finish();
}

static void test_slow_limit(uint64_t ms, const char *rule)
{
    start();

    uint32_t barrier = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 5);
    uint32_t work = below(program, AR_FUNCTION_PYTHON, "work", 10);

    for (uint32_t r = 0; r < N_RANKS; r++) {
        p.processes[r].host = sample_text(&p, r < 2 ? "slow" : "fast");
        spend(r, work, r < 2 ? ms : 1000);
    }
    meet(barrier);
    end("run");
    tap_ok(found.n == 1 && strcmp(found.items[0].rule, rule) == 0, "%d ms on a host: %s", (int)ms,
           rule);
    finish();
}

static void test_file_limit(uint64_t ms, const char *rule)
{
    start();

    uint32_t barrier = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 5);
    uint32_t output = below(program, AR_FUNCTION_PYTHON, "output", 10);
    uint32_t write =
        below(output, AR_FUNCTION_BUILTIN, "method 'write' of '_io.BufferedWriter' objects", 0);

    spend(0, output, 1000 - ms);
    spend(0, write, ms);
    meet(barrier);
    end("run");
    tap_ok(says(0, rule, 3000, "output"), "%d ms of files: %s", (int)ms, rule);
    finish();
}

static void test_limits(void)
{
    test_limit(1130, 1000, "wait");
    test_limit(1150, 1000, "imbalance");
    test_limit(900, 30, "serial_phase");
    test_limit(900, 40, "imbalance");
    test_idle_limit(49, "idle_ranks");
    test_idle_limit(51, "imbalance");
    test_slow_limit(1190, "wait");
    test_slow_limit(1210, "slow_node");
    test_file_limit(490, "serial_phase");
    test_file_limit(510, "io_on_one_rank");
}

/* ---- all the rest ----------------------------------------------------------------------------- */

static void with_processors(const char *const *lists)
{
    start();

    uint32_t barrier = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 5);
    uint32_t work = below(program, AR_FUNCTION_PYTHON, "work", 10);

    for (; *lists; lists++)
        sample_must(ar_profile_fact(&p, sample_str("processors"), sample_str(*lists)));
    for (uint32_t r = 0; r < N_RANKS; r++)
        spend(r, work, 500);
    meet(barrier);
    end("run");
}

static void test_processors(void)
{
    with_processors((const char *const[]){"0-1", NULL});
    tap_ok(found.n == 1 && says(0, "oversubscription", 1000, "4 ranks share 2 processors"),
           "shared");
    finish();
    with_processors((const char *const[]){"0", "1", "7", "9-10", NULL});
    tap_ok(found.n == 0, "each has its own");
    finish();
    with_processors((const char *const[]){"", "0-", "-3", "x", "5-99999999999", NULL});
    tap_ok(found.n == 0, "lists of something else");
    finish();
    with_processors((const char *const[]){NULL});
    tap_ok(found.n == 0, "not known, and nothing to say");
    finish();
}

/* Threads that sleep, and locks: neither is computing, and what another thread does is not the main one's. */
static void test_blocked(const char *name, uint32_t thread, bool is_said)
{
    start();

    uint32_t barrier = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 5);
    uint32_t work = below(program, AR_FUNCTION_PYTHON, "work", 10);
    uint32_t blocked = below(work, AR_FUNCTION_BUILTIN, name, 0);
    uint32_t first = sample_thread(&p, 0, 1);

    sample_must(ar_profile_fact(&p, sample_str("processors"), sample_str("0-1")));
    for (uint32_t r = 0; r < N_RANKS; r++)
        spend(r, r < 2 && !thread ? blocked : work, 500);
    if (thread)
        sample_value(&p, AR_METRIC_TIME, blocked, first, 1000 * MS);
    meet(barrier);
    end("run");
    tap_ok(found.n == is_said, "%s of thread %u", name, thread);
    finish();
}

/* ---- messages --------------------------------------------------------------------------------- */

/* Each rank spends `ms` in a call that moves so much, and a second in computing. `are_known`: there are records of waits. */
static void move(const char *call, uint64_t n, uint64_t n_bytes, uint64_t ms, bool are_known,
                 const char *processors)
{
    start();
    sample_must(ar_profile_fact(&p, sample_str("processors"), sample_str(processors)));

    uint32_t barrier = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 5);
    uint32_t work = below(program, AR_FUNCTION_PYTHON, "work", 10);
    uint32_t moving = below(work, AR_FUNCTION_MPI, call, 12);

    for (uint32_t r = 0; r < N_RANKS; r++) {
        spend(r, work, 1000);
        count(r, moving, ms * MS);
        sample_value(&p, AR_METRIC_BYTES_OUT, moving, r, n * n_bytes);
        sample_value(&p, AR_METRIC_BYTES_IN, moving, r, n * n_bytes);
        sample_traffic(&p, (struct ar_traffic){.node = moving,
                                               .location = r,
                                               .comm = 1,
                                               .peer = (r + 1) % N_RANKS,
                                               .world_peer = (r + 1) % N_RANKS,
                                               .n_out = n,
                                               .bytes_out = n * n_bytes,
                                               .n_in = n,
                                               .bytes_in = n * n_bytes,
                                               .ns = ms * MS});
    }
    if (are_known)
        meet(barrier);
    end("run");
}

static void test_moving(const char *call, uint64_t n, uint64_t n_bytes, uint64_t ms,
                        const char *rule)
{
    move(call, n, n_bytes, ms, true, "0-3");
    tap_ok(*rule ? says(0, rule, 4 * (double)ms, "a.py:12") && found.n == 1
                 : found.n == 0 || says(0, "nothing", 0, ""),
           "%d times %d bytes by %s in %d ms: %s", (int)n, (int)n_bytes, call, (int)ms,
           *rule ? rule : "nothing");
    finish();
    move(call, n, n_bytes, ms, false, "0-3");
    tap_ok(found.n == 0, "how much of that is waiting is not known");
    finish();
    move(call, n, n_bytes, ms, true, "0-2");
    tap_ok(found.n < 2 && (found.n == 0 || says(0, "oversubscription", 1000 - 3 * (double)ms, "")),
           "nor if ranks wait for a turn");
    finish();
}

static void test_messages(void)
{
    test_moving("MPI_Send", 500, 1024, 100, "small_messages");
    test_moving("MPI_Send", 499, 1024, 100, "");
    test_moving("MPI_Send", 500, 1025, 100, "");
    test_moving("MPI_Send", 500, 1024, 20, "");
    test_moving("MPI_Send", 500, 1024, 21, "small_messages");
    test_moving("MPI_Send", 10, 1 << 16, 100, "no_overlap");
    test_moving("MPI_Send", 10, (1 << 16) - 1, 100, "");
    test_moving("MPI_Send", 10, 1 << 16, 20, "");
    test_moving("MPI_Alltoall", 10, 1 << 16, 100, "no_overlap");
    test_moving("MPI_Gather", 10, 1 << 16, 100, "");
}

/* A method that takes 100 ms, so much of it for objects; of a request the bytes are where it was posted. */
static void test_pickling(const char *method, uint64_t ms, uint64_t n_bytes, const char *text)
{
    start();

    uint32_t barrier = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 5);
    uint32_t work = below(program, AR_FUNCTION_PYTHON, "work", 10);
    uint32_t moving = below(work, AR_FUNCTION_OPERATION, method, 12);
    uint32_t pickling = below(moving, AR_FUNCTION_BUILTIN, "loads", 0);
    uint32_t receiving = below(moving, AR_FUNCTION_MPI, "MPI_Recv", 12);

    for (uint32_t r = 0; r < N_RANKS; r++) {
        spend(r, work, 900);
        count(r, pickling, ms * MS);
        count(r, receiving, (100 - ms) * MS);
        sample_value(&p, AR_METRIC_BYTES_IN, receiving, r, n_bytes);
    }
    meet(barrier);
    end("run");
    tap_ok(*text ? found.n == 1 && says(0, "pickling", 4 * (double)ms, text) : found.n == 0,
           "%d ms of 100 in %s: %s", (int)ms, method, *text ? text : "nothing");
    finish();
}

/* ---- recording -------------------------------------------------------------------------------- */

static void test_overhead(uint64_t overhead_ms, enum ar_overhead reason, const char *text)
{
    start();

    uint32_t work = below(program, AR_FUNCTION_PYTHON, "work", 10);
    uint32_t often = below(work, AR_FUNCTION_BUILTIN, "often", 0);

    for (uint32_t r = 0; r < N_RANKS; r++) {
        spend(r, work, 1000);
        calls[r][often] += 1000;
        times[r][often] = 1;
        p.processes[r].overhead_ns = overhead_ms * MS;
        if (reason < AR_N_OVERHEADS)
            p.processes[r].overheads_ns[reason] = overhead_ms * MS;
    }
    end("run");
    tap_ok(*text ? found.n == 1 && says(0, "overhead", 4 * (double)overhead_ms, text)
                 : found.n == 0,
           "%d ms of a second: %s", (int)overhead_ms, *text ? text : "nothing");
    finish();
}

static void test_overheads(void)
{
    static const char calls_text[] =
        "work is called 8 times; run with --budget 5%, or --exclude 'work'";

    test_overhead(99, AR_N_OVERHEADS, "");
    test_overhead(101, AR_N_OVERHEADS, calls_text);
    test_overhead(101, AR_OVERHEAD_PYTHON, calls_text);
    test_overhead(101, AR_OVERHEAD_C,
                  "C functions are called 4,004 times; run with --builtins none");
    test_overhead(900, AR_OVERHEAD_START, "");
    test_overhead(101, AR_OVERHEAD_IMPORTS, "modules written in C took 404.0 ms");
    test_overhead(101, AR_OVERHEAD_PATHS, "new call paths took 404.0 ms");
    test_overhead(101, AR_OVERHEAD_MPI, "MPI calls took 404.0 ms more");
    test_overhead(900, AR_OVERHEAD_END, "");
}

static void test_imports(uint64_t ms, bool is_worth)
{
    start();

    uint32_t work = below(program, AR_FUNCTION_PYTHON, "work", 10);
    uint32_t import = below(program, AR_FUNCTION_IMPORT, "(import)", 3);
    uint32_t exec = below(import, AR_FUNCTION_BUILTIN, "built-in method builtins.exec", 0);
    uint32_t finder = sample_node(
        &p, import, sample_function_in(&p, AR_FUNCTION_PYTHON, "find_spec", "x/hack.py", 1), 0);
    uint32_t module = sample_node(
        &p, exec, sample_function_in(&p, AR_FUNCTION_PYTHON, "<module>", "x/pkg/__init__.py", 1),
        0);
    uint32_t init =
        below(below(program, AR_FUNCTION_IMPORT, "(import)", 4), AR_FUNCTION_MPI, "MPI_Init", 7);

    for (uint32_t r = 0; r < N_RANKS; r++) {
        spend(r, work, 1000);
        spend(r, finder, 1);
        spend(r, module, ms - 1);
        spend(r, init, 1150); /* more than any import takes */
    }
    end("run");
    tap_ok(is_worth ? says(0, "imports", 4 * (double)ms, "most of it pkg at a.py:3") : found.n == 0,
           "imports of %d ms, and MPI_Init is none", (int)ms);
    finish();
}

/* More lines than there are sentences. */
static void many(void)
{
    start();
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t barrier = below(program, AR_FUNCTION_MPI, "MPI_Barrier", 100 + i);
        char name[2] = {(char)('a' + i), '\0'};
        uint32_t work = below(program, AR_FUNCTION_PYTHON, name, 10 + i);

        spend(i % N_RANKS, work, 100 + 10 * i);
        meet(barrier);
    }
    end("it's");
}

static void test_order(void)
{
    bool is_ordered = true;

    many();
    for (size_t i = 1; i < found.n; i++)
        is_ordered &= found.items[i - 1].won_ns >= found.items[i].won_ns;
    tap_ok(found.n == AR_MOST_FINDINGS && is_ordered, "seven, the largest first");
    tap_ok(says(0, "serial_phase", 570, "a.py:19 j"), "which is that");
    tap_ok(strcmp(found.items[0].command, "allranks waits 'it'\\''s' 1") == 0,
           "a quote is quoted: %s", found.items[0].command);
    finish();
}

static void test_memory(void)
{
    size_t n = 0;
    bool worked = false;

    many();
    ar_findings_free(&found);
    for (; !worked; n++) {
        alloc_fail_after(n);
        worked = find("run") == AR_OK;
        alloc_restore();
    }
    tap_ok(n > 20 && found.n == AR_MOST_FINDINGS, "memory may run out at each of %zu places", n);
    finish();
}

int main(void)
{
    test_threshold(1000, 26, false);
    test_threshold(1000, 28, true);
    test_threshold(100, 26, false);
    test_threshold(100, 28, true);
    test_threshold(10000, 270, false);
    test_threshold(10000, 280, true);
    test_alone();
    test_imbalance();
    test_start();
    test_turns();
    test_two_reasons();
    test_indirect();
    test_installed("/usr/lib/python3.11/json/encoder.py", "serial_phase",
                   "in encoder.py:90 encode (from a.py:20 output), which no other rank does");
    test_installed("/x/site-packages/h5py/_hl/dataset.py", "io_on_one_rank",
                   "in dataset.py:90 encode (from a.py:20 output), reading or writing files");
    test_no_place();
    test_not_known();
    test_idle();
    test_idle_with_another_cause();
    test_hosts();
    test_limits();
    test_processors();
    test_blocked("method 'acquire' of '_thread.lock' objects", 0, false);
    test_blocked("built-in method time.sleep", 0, false);
    test_blocked("built-in method time.sleep", 1, true);
    test_messages();
    test_pickling("Comm.recv", 32, 1000, "");
    test_pickling("Comm.recv", 34, 1000, "unpickling objects of 4.0 kB; Recv, with buffers");
    test_pickling("Request.wait", 50, 0, "unpickling objects; Irecv, with buffers");
    test_overheads();
    test_imports(900, false);
    test_imports(1100, true);
    test_order();
    test_memory();
    return tap_done();
}
