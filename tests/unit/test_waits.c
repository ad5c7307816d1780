// SPDX-License-Identifier: BSD-3-Clause
/*
 * Jobs that are made up, whose waits are arithmetic: each rank enters an operation at a time that was rolled, and
 * waits as the definition says. Who was late, and what for, is put into the records and must come out again.
 */
#include "analysis/waits.h"

#include "dice.h"
#include "failing_alloc.h"
#include "sample_profile.h"
#include "tap.h"

#include <math.h>

#define MAX_RANKS 8
#define MS 1000000u

static struct ar_profile p;
static struct ar_waits waits;

static struct job {
    uint32_t n_ranks;
    uint64_t now[MAX_RANKS]; /* when each can go on */
    uint32_t work[MAX_RANKS], mpi[AR_N_SYNC_KINDS], comm, n_calls;
    uint64_t mpi_ns[MAX_RANKS][AR_N_SYNC_KINDS];
    double expected[AR_N_WAIT_CLASSES][MAX_RANKS], late[MAX_RANKS];
    struct ar_stream_writer writers[MAX_RANKS];
} job;

static void start(uint32_t n_ranks)
{
    memset(&job, 0, sizeof job);
    job.n_ranks = n_ranks;
    sample_start(&p);

    uint32_t main_id = sample_node(&p, 0, sample_function(&p, AR_FUNCTION_PYTHON, "main", 1), 0);

    for (uint32_t r = 0; r < n_ranks; r++) {
        char name[16];
        uint32_t process = sample_rank(&p, r);

        p.processes[process].world_size = n_ranks;
        sample_thread(&p, process, 0);
        snprintf(name, sizeof name, "work_%u", r);
        job.work[r] =
            sample_node(&p, main_id, sample_function(&p, AR_FUNCTION_PYTHON, name, 10 + r), 2);
        ar_stream_begin(&job.writers[r], r);
    }
    for (uint32_t kind = 1; kind < AR_N_SYNC_KINDS; kind++) {
        char name[16];

        snprintf(name, sizeof name, "MPI_%u", kind);
        job.mpi[kind] =
            sample_node(&p, main_id, sample_function(&p, AR_FUNCTION_MPI, name, 0), 20 + kind);
    }
    job.comm = sample_comm(&p, 7, "MPI_COMM_WORLD", AR_COMM_WORLD, n_ranks, 0) + 1;
}

static void put(uint32_t rank, enum ar_sync_kind kind, uint32_t sequence, uint32_t peer,
                uint64_t enter, uint64_t exit, bool with_parts)
{
    struct ar_profile_part part = {.node = job.work[rank], .ns = enter - job.now[rank]};
    struct ar_profile_sync sync = {.location = rank,
                                   .kind = kind,
                                   .comm = job.comm,
                                   .rank = AR_OWN_RANK(rank, 0),
                                   .sequence = sequence,
                                   .peer = peer,
                                   .node = job.mpi[kind],
                                   .enter_ns = enter,
                                   .exit_ns = exit,
                                   .n_parts = with_parts && part.ns > 0};

    sample_must(ar_stream_put(&job.writers[rank], &sync, &part));
    job.mpi_ns[rank][kind] += exit - enter;
    job.n_calls++;
}

static void expect(enum ar_wait_class class, uint32_t waiting, uint32_t late, uint64_t from,
                   uint64_t until)
{
    if (until <= from)
        return;
    job.expected[class][waiting] += (double)(until - from);
    job.late[late] += (double)(until - from);
}

static void finish(void)
{
    for (uint32_t r = 0; r < job.n_ranks; r++) {
        struct ar_stream stream;

        p.processes[r].wall_ns = job.now[r];
        sample_value(&p, AR_METRIC_TIME, 0, r, job.now[r]);
        for (uint32_t kind = 1; kind < AR_N_SYNC_KINDS; kind++)
            sample_value(&p, AR_METRIC_TIME, job.mpi[kind], r, job.mpi_ns[r][kind]);
        sample_must(ar_stream_end(&job.writers[r], &stream));
        sample_must(ar_grow((void **)&p.streams, &p.cap_streams, p.n_streams + 1, sizeof stream));
        p.streams[p.n_streams++] = stream;
    }
}

/* ---- operations ------------------------------------------------------------------------------- */

static uint32_t last_of(const uint64_t *enter, uint32_t n, uint32_t but)
{
    uint32_t last = but == 0 ? 1 : 0;

    for (uint32_t r = 0; r < n; r++)
        if (r != but && enter[r] > enter[last])
            last = r;
    return last;
}

static void expect_collective(enum ar_sync_kind kind, uint32_t root, const uint64_t *enter)
{
    uint32_t n = job.n_ranks, last = last_of(enter, n, AR_NO_ID), lower = 0;

    for (uint32_t r = 0; r < n; r++)
        if (kind == AR_SYNC_BARRIER)
            expect(AR_WAIT_BARRIER, r, last, enter[r], enter[last]);
        else if (kind == AR_SYNC_ALL)
            expect(AR_WAIT_ALL, r, last, enter[r], enter[last]);
        else if (kind == AR_SYNC_FROM_ROOT)
            expect(AR_WAIT_LATE_BROADCAST, r, root, enter[r], enter[root]);
        else if (kind == AR_SYNC_SCAN) {
            expect(AR_WAIT_EARLY_SCAN, r, lower, enter[r], r ? enter[lower] : 0);
            lower = enter[r] > enter[lower] ? r : lower;
        }
    if (kind == AR_SYNC_TO_ROOT && n > 1) {
        last = last_of(enter, n, root);
        expect(AR_WAIT_EARLY_REDUCE, root, last, enter[root], enter[last]);
    }
}

/* No rank leaves before those have come that it needs. */
static uint64_t leaves(enum ar_sync_kind kind, uint32_t root, const uint64_t *enter, uint32_t rank)
{
    uint64_t end = enter[rank];

    for (uint32_t r = 0; r < job.n_ranks; r++) {
        bool is_needed = kind == AR_SYNC_FROM_ROOT ? r == root
                         : kind == AR_SYNC_TO_ROOT ? rank == root
                         : kind == AR_SYNC_SCAN    ? r < rank
                                                   : true;

        end = is_needed && enter[r] > end ? enter[r] : end;
    }
    return end + 1000;
}

static void collective(enum ar_sync_kind kind, uint32_t sequence, uint32_t root,
                       const uint64_t *work)
{
    uint64_t enter[MAX_RANKS];

    for (uint32_t r = 0; r < job.n_ranks; r++)
        enter[r] = job.now[r] + work[r];
    expect_collective(kind, root, enter);
    for (uint32_t r = 0; r < job.n_ranks; r++) {
        uint64_t end = leaves(kind, root, enter, r) + r;

        put(r, kind, sequence,
            kind == AR_SYNC_FROM_ROOT || kind == AR_SYNC_TO_ROOT ? root : AR_PEER_ALL, enter[r],
            end, true);
        job.now[r] = end;
    }
}

static void message(uint32_t from, uint32_t to, uint32_t tag, const uint64_t *work, bool is_eager)
{
    uint64_t sent = job.now[from] + work[from], received = job.now[to] + work[to];
    uint64_t met = sent > received ? sent : received;

    expect(AR_WAIT_LATE_SENDER, to, from, received, sent);
    if (!is_eager)
        expect(AR_WAIT_LATE_RECEIVER, from, to, sent, received);
    put(from, AR_SYNC_SEND, tag, to, sent, is_eager ? sent + 500 : met + 500, true);
    put(to, AR_SYNC_RECEIVE, tag, from, received, met + 700, true);
    job.now[from] = is_eager ? sent + 500 : met + 500;
    job.now[to] = met + 700;
}

/* ---- tests ------------------------------------------------------------------------------------ */

static double found(enum ar_wait_class class, uint32_t rank)
{
    double ns = 0;

    for (size_t i = 0; i < waits.n_sites; i++)
        for (size_t k = 0; waits.sites[i].class == class && k < waits.sites[i].n_waiting; k++)
            if (waits.sites[i].waiting[k].process == rank)
                ns += waits.sites[i].waiting[k].ns;
    return ns;
}

static double found_late(uint32_t rank)
{
    double ns = 0;

    for (size_t i = 0; i < waits.n_sites; i++)
        for (size_t k = 0; k < waits.sites[i].n_late; k++)
            if (waits.sites[i].late[k].process == rank)
                ns += waits.sites[i].late[k].ns;
    return ns;
}

static bool causes_add_up(void)
{
    for (size_t i = 0; i < waits.n_sites; i++) {
        const struct ar_wait_site *site = &waits.sites[i];
        double sum = 0;

        for (size_t k = 0; k < site->n_causes; k++)
            sum += site->causes[k].ns;
        if (fabs(sum - site->waited_ns) > 1 + 1e-9 * sum)
            return false;
    }
    return true;
}

static bool is_near(double a, double b)
{
    return a - b < 3 * job.n_calls + 1 && b - a < 3 * job.n_calls + 1; /* clocks are rounded */
}

static void compare(const char *what, uint64_t seed)
{
    bool same = true, late = true;

    for (int class = 0; class < AR_N_WAIT_CLASSES; class ++)
        for (uint32_t r = 0; r < job.n_ranks; r++)
            same = same && is_near(found((enum ar_wait_class) class, r), job.expected[class][r]);
    for (uint32_t r = 0; r < job.n_ranks; r++)
        late = late && is_near(found_late(r), job.late[r]);
    tap_ok(same, "%s %u: who waited, how long, and why", what, (unsigned)seed);
    tap_ok(late, "%s %u: and for whom", what, (unsigned)seed);
    tap_ok(causes_add_up(), "%s %u: causes add up to the waits", what, (unsigned)seed);
    tap_ok(waits.n_calls == job.n_calls && waits.n_unresolved == 0, "%s %u: all are resolved", what,
           (unsigned)seed);
}

static void make_random(uint64_t seed)
{
    struct dice d = {seed};
    uint32_t sequence = 0, n_operations = 50 + dice_below(&d, 300);

    start(2 + dice_below(&d, MAX_RANKS - 1));
    for (uint32_t i = 0; i < n_operations; i++) {
        uint64_t work[MAX_RANKS];

        for (uint32_t r = 0; r < job.n_ranks; r++)
            work[r] = 1 + dice_below(&d, 5 * MS);
        if (dice_below(&d, 3)) {
            collective((enum ar_sync_kind)(AR_SYNC_BARRIER + dice_below(&d, 5)), sequence++,
                       dice_below(&d, job.n_ranks), work);
        } else {
            uint32_t from = dice_below(&d, job.n_ranks);
            uint32_t to = (from + 1 + dice_below(&d, job.n_ranks - 1)) % job.n_ranks;

            message(from, to, dice_below(&d, 3), work, dice_below(&d, 2));
        }
    }
    finish();
}

static void build_by_node(void)
{
    struct ar_totals t;

    sample_must(ar_totals_build(&t, &p));
    sample_must(ar_waits_build_by_node(&waits, &p, &t));
    ar_totals_free(&t);
}

/* What ranks waited in their calls is what they waited. */
static bool nodes_add_up(void)
{
    for (uint32_t r = 0; r < job.n_ranks; r++) {
        double sum = 0;

        for (size_t node = 0; node < p.n_nodes; node++)
            sum += waits.node_ns[node] ? waits.node_ns[node][r] : 0;
        if (sum != waits.times[r].waiting_ns)
            return false;
    }
    return waits.node_ns[job.work[0]] == NULL;
}

static void test_random(uint64_t seed)
{
    make_random(seed);
    build_by_node();
    compare("job", seed);
    tap_ok(nodes_add_up(), "job %llu: by node", (unsigned long long)seed);
    ar_waits_free(&waits);
    ar_profile_free(&p);
}

/* Rank 1 is through before the last one comes: it has not waited. Both are no collective calls of the world. */
static void test_start_and_end(void)
{
    const uint64_t work[3] = {MS, 2 * MS, 4 * MS}, came[3] = {MS, 5 * MS, 40 * MS};
    const uint64_t left[3] = {41 * MS, 6 * MS, 41 * MS};
    uint64_t last;

    start(3);
    for (uint32_t r = 0; r < 3; r++) {
        put(r, AR_SYNC_START, 0, AR_PEER_ALL, came[r], left[r], true);
        job.now[r] = left[r];
    }
    expect(AR_WAIT_BARRIER, 0, 2, came[0], came[2]);
    collective(AR_SYNC_ALL, 0, 0, work);
    last = job.now[2] + 30 * MS;
    for (uint32_t r = 0; r < 3; r++) {
        uint64_t enter = r == 2 ? last : job.now[r] + MS;

        expect(AR_WAIT_BARRIER, r, 2, enter, last);
        put(r, AR_SYNC_END, 0, AR_PEER_ALL, enter, last + MS, true);
        job.now[r] = last + MS;
    }
    finish();
    sample_must(ar_waits_build(&waits, &p, NULL));
    compare("start and end", 0);
    ar_waits_free(&waits);
    ar_profile_free(&p);
}

/* Its name is in the cause, and the work that all have done is not. */
static void test_cause(void)
{
    uint64_t equal[4] = {10 * MS, 10 * MS, 10 * MS, 10 * MS};
    uint64_t late[4] = {10 * MS, 10 * MS, 50 * MS, 10 * MS};

    start(4);
    collective(AR_SYNC_BARRIER, 0, 0, equal);
    collective(AR_SYNC_BARRIER, 1, 0, late);
    finish();
    sample_must(ar_waits_build(&waits, &p, NULL));

    const struct ar_wait_site *site = &waits.sites[0];

    tap_ok(site->n_late > 0 && site->late[0].process == 2, "rank 2 was late");
    tap_ok(site->causes[0].process == 2 && site->causes[0].node == job.work[2] &&
               site->causes[0].indirect_ns == 0 && site->causes[0].ns > 119 * MS,
           "because of its work: %.0f", site->causes[0].ns);
    tap_ok(waits.times[2].waiting_ns < MS && waits.times[2].caused_ns > 119 * MS &&
               waits.times[0].waiting_ns > 39 * MS,
           "and its times say so");
    ar_waits_free(&waits);
    ar_profile_free(&p);
}

/* 0 is slow; 1 waits for it, and 2 for 1, which is not to blame. */
static void test_indirect(void)
{
    uint64_t start_all[3] = {MS, MS, MS}, slow[3] = {80 * MS, MS, MS}, next[3] = {MS, MS, MS};

    start(3);
    collective(AR_SYNC_BARRIER, 0, 0, start_all);

    uint64_t began = job.now[2];

    message(0, 1, 5, slow, true);
    message(1, 2, 5, next, true);
    finish();
    sample_must(ar_waits_build(&waits, &p, NULL));

    double indirect = 0, direct = 0;

    for (size_t i = 0; i < waits.n_sites; i++)
        for (size_t k = 0; k < waits.sites[i].n_causes; k++)
            if (waits.sites[i].class == AR_WAIT_LATE_SENDER &&
                waits.sites[i].causes[k].node == job.work[0]) {
                indirect += waits.sites[i].causes[k].indirect_ns;
                direct += waits.sites[i].causes[k].ns - waits.sites[i].causes[k].indirect_ns;
            }
    tap_ok(direct > 78 * MS && direct < 81 * MS, "rank 1 waited for rank 0: %.0f", direct);
    tap_ok(indirect > 76 * MS && indirect < 82 * MS, "and rank 2, in the end, too: %.0f", indirect);
    tap_ok(job.now[2] - began > 80 * MS, "it did wait");
    ar_waits_free(&waits);
    ar_profile_free(&p);
}

/* Records of one rank are missing: what it took part in is not known, and is counted. */
static void test_unresolved(void)
{
    uint64_t work[2] = {MS, 2 * MS};

    start(2);
    collective(AR_SYNC_BARRIER, 0, 0, work);
    message(0, 1, 3, work, true);
    finish();
    ar_stream_free(&p.streams[--p.n_streams]);
    sample_must(ar_waits_build(&waits, &p, NULL));
    tap_ok(waits.n_calls == 2 && waits.n_unresolved == 2 && waits.waited_ns == 0,
           "without the others nothing is known");
    ar_waits_free(&waits);
    ar_profile_free(&p);
}

/* Clocks of a damaged file may say anything: what comes of it is nonsense, and nothing worse. */
static void test_wild_clocks(void)
{
    make_random(5);
    p.processes[0].clock_links[AR_CLOCK_AT_INIT] =
        (struct ar_clock_link){.at_ns = 1, .offset_ns = INT64_MIN};
    p.processes[0].clock_links[AR_CLOCK_AT_FINALIZE] =
        (struct ar_clock_link){.at_ns = 2, .offset_ns = INT64_MAX};
    p.processes[1].clock_links[AR_CLOCK_AT_INIT] =
        (struct ar_clock_link){.at_ns = 1, .offset_ns = INT64_MAX};
    p.processes[1].start_mono_ns = UINT64_MAX;
    sample_must(ar_waits_build(&waits, &p, NULL));
    tap_ok(waits.n_calls == job.n_calls, "wild clocks do no harm");
    ar_waits_free(&waits);
    ar_profile_free(&p);
}

static void test_nobody(void)
{
    sample_start(&p);
    sample_must(ar_waits_build(&waits, &p, NULL));
    tap_ok(waits.n_calls == 0 && waits.n_sites == 0, "nobody waits for nobody");
    ar_waits_free(&waits);
    ar_profile_free(&p);
}

static void test_no_memory(void)
{
    bool worked = false, refused = true;
    struct ar_totals t;
    size_t n = 0;

    make_random(3);
    sample_must(ar_totals_build(&t, &p));
    for (; !worked; n++) {
        alloc_fail_after(n);
        enum ar_status status = ar_waits_build_by_node(&waits, &p, &t);
        alloc_restore();
        worked = status == AR_OK;
        refused = refused && (worked || status == AR_NOMEM);
        if (worked)
            ar_waits_free(&waits);
    }
    tap_ok(refused && n > 20, "every one of %zu allocations may fail", n - 1);
    ar_totals_free(&t);
    ar_profile_free(&p);
}

int main(void)
{
    for (uint64_t seed = 1; seed <= 40; seed++)
        test_random(seed);
    test_start_and_end();
    test_cause();
    test_indirect();
    test_unresolved();
    test_wild_clocks();
    test_nobody();
    test_no_memory();
    return tap_done();
}
