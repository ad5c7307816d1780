// SPDX-License-Identifier: BSD-3-Clause
/*
 * Ranks that wait, made by hand. "0,1: 2,3" is a turn that ranks 0 and 1 are in, and 2 and 3 missing; "!" is a mismatch.
 */
#include "analysis/hang.h"

#include "failing_alloc.h"
#include "sample_profile.h"
#include "tap.h"

static struct ar_profile profile;
static struct ar_hang hang;
static uint32_t world, evens, main_node;

enum { N_RANKS = 4 };

static uint32_t call(const char *name, uint32_t line)
{
    return sample_node(&profile, main_node, sample_function(&profile, AR_FUNCTION_MPI, name, 0),
                       line);
}

static uint32_t code(const char *name)
{
    return sample_node(&profile, main_node, sample_function(&profile, AR_FUNCTION_PYTHON, name, 9),
                       5);
}

/* All ranks are in code of their own, run, and have made `n_calls` on the world. */
static void start(uint32_t n_calls)
{
    sample_start(&profile);
    main_node =
        sample_node(&profile, 0, sample_function(&profile, AR_FUNCTION_PYTHON, "main", 1), 0);
    world = sample_comm(&profile, 1, "MPI_COMM_WORLD", AR_COMM_WORLD, N_RANKS, 0);
    evens = sample_comm(&profile, 2, "", AR_COMM_SPLIT, N_RANKS / 2, world + 1);
    for (uint32_t rank = 0; rank < N_RANKS; rank++) {
        uint32_t process = sample_rank(&profile, rank);
        uint32_t location = sample_thread(&profile, process, 0);

        profile.processes[process].state = AR_PROCESS_RUNNING;
        profile.processes[process].wall_ns = 10000000000u;
        profile.locations[location].current = code("compute") + 1;
        profile.locations[location].latest_real_ns = 5000000000u;
        sample_member(&profile, world, process, rank, n_calls);
        if (rank % 2 == 0)
            sample_member(&profile, evens, process, rank / 2, 0);
    }
}

static void put_in(uint32_t rank, uint32_t node, struct ar_open_call open)
{
    profile.locations[rank].current = node + 1;
    open.location = rank;
    sample_open_call(&profile, open);
}

static struct ar_open_call collective(uint32_t kind, uint32_t comm, uint32_t number, uint32_t root)
{
    return (struct ar_open_call){
        .kind = kind, .comm = comm + 1, .sequence = number - 1, .peer = root};
}

static struct ar_open_call message(uint32_t kind, uint32_t peer, uint32_t tag)
{
    return (struct ar_open_call){.kind = kind, .comm = world + 1, .sequence = tag, .peer = peer};
}

static void find(void)
{
    sample_must(ar_profile_sort(&profile));
    tap_ok(ar_hang_find(&hang, &profile) == AR_OK, "looked");
}

static void finish(void)
{
    ar_hang_free(&hang);
    ar_profile_free(&profile);
}

static void add_ranks(char *text, size_t n_text, const uint32_t *threads, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t at = strlen(text);

        snprintf(text + at, n_text - at, "%s%u", i ? "," : "",
                 profile.processes[hang.threads[threads[i]].process].world_rank);
    }
}

static void check_turn(size_t i, const char *expected)
{
    char text[128] = "none";

    if (i < hang.n_turns) {
        const struct ar_hang_turn *turn = &hang.turns[i];

        snprintf(text, sizeof text, "%s", turn->is_mismatch ? "!" : "");
        add_ranks(text, sizeof text, turn->in, turn->n_in);
        strcat(text, ": ");
        add_ranks(text, sizeof text, turn->missing, turn->n_missing);
    }
    if (!tap_ok(strcmp(text, expected) == 0, "turn %s", expected))
        tap_note("it is %s", text);
}

static void test_slow(void)
{
    start(3);
    for (uint32_t rank = 0; rank < 3; rank++)
        put_in(rank, call("MPI_Barrier", 7), collective(AR_SYNC_BARRIER, world, 4, AR_PEER_ALL));
    find();
    check_turn(0, "0,1,2: 3");
    tap_ok(hang.n_turns == 1 && hang.turns[0].number == 4, "the fourth call on it");
    tap_ok(hang.is_running && !hang.is_certain, "one rank computes: they wait");
    finish();
}

/* Barriers of two communicators are not one, and other ranks are no members. */
static void test_parts(void)
{
    start(0);
    put_in(0, call("MPI_Barrier", 7), collective(AR_SYNC_BARRIER, evens, 1, AR_PEER_ALL));
    put_in(1, call("MPI_Barrier", 8), collective(AR_SYNC_BARRIER, world, 1, AR_PEER_ALL));
    find();
    tap_ok(hang.n_turns == 2, "two turns");
    check_turn(0, "0: 2");
    check_turn(1, "1: 0,2,3");
    finish();
}

/* The root of a broadcast does not wait for the others: a rank that has completed the call is not missing. */
static void test_passed(void)
{
    start(3);
    profile.members[0].n_calls = 4; /* rank 0 on the world */
    for (uint32_t rank = 1; rank < 4; rank++)
        put_in(rank, call("MPI_Bcast", 7), collective(AR_SYNC_FROM_ROOT, world, 4, 0));
    find();
    tap_ok(hang.n_turns == 0, "no member is missing");
    finish();
}

static void test_mismatch(void)
{
    start(3);
    put_in(0, call("MPI_Reduce", 6), collective(AR_SYNC_TO_ROOT, world, 4, 0));
    for (uint32_t rank = 1; rank < 4; rank++)
        put_in(rank, call("MPI_Bcast", 7), collective(AR_SYNC_FROM_ROOT, world, 4, 0));
    find();
    check_turn(0, "!0,1,2,3: ");
    tap_ok(hang.is_certain, "no rank can go on");
    finish();
    start(3);
    for (uint32_t rank = 0; rank < 4; rank++)
        put_in(rank, call("MPI_Bcast", 7), collective(AR_SYNC_FROM_ROOT, world, 4, rank / 2));
    find();
    check_turn(0, "!0,1,2,3: ");
    finish();
}

static void test_left(void)
{
    start(3);
    put_in(0, call("MPI_Barrier", 7), collective(AR_SYNC_BARRIER, world, 4, AR_PEER_ALL));
    put_in(
        1,
        sample_node(&profile, 0, sample_function(&profile, AR_FUNCTION_MPI, "MPI_Finalize", 0), 0),
        (struct ar_open_call){0});
    profile.processes[2].state = AR_PROCESS_FINISHED;
    find();
    check_turn(0, "0: 1,2,3");
    tap_ok(hang.is_certain, "some do not come any more, though one computes");
    finish();
}

/* Ranks 0 and 1 receive from each other, 2 from 0; 3 computes. */
static void test_circle(void)
{
    start(3);
    put_in(0, call("MPI_Recv", 7), message(AR_SYNC_RECEIVE, 1, 5));
    put_in(1, call("MPI_Recv", 8), message(AR_SYNC_RECEIVE, 0, 6));
    put_in(2, call("MPI_Recv", 9), message(AR_SYNC_RECEIVE, 0, 6));
    find();
    tap_ok(hang.n_messages == 3 && hang.n_circles == 1, "one circle");
    tap_ok(hang.threads[0].circle == 1 && hang.threads[1].circle == 1 &&
               hang.threads[2].circle == 0,
           "of two, and one waits for it");
    tap_ok(hang.is_certain && !hang.threads[2].can_go_on && hang.threads[3].can_go_on,
           "only the one that computes can go on");
    finish();
}

/* A send and the receive of it are a message on its way; with another tag it is none. */
static void test_tags(void)
{
    for (uint32_t tag = 5; tag <= 6; tag++) {
        start(3);
        put_in(0, call("MPI_Recv", 7), message(AR_SYNC_RECEIVE, 1, 5));
        put_in(1, call("MPI_Ssend", 8), message(AR_SYNC_SEND, 0, tag));
        find();
        tap_ok(hang.n_circles == (tag == 6) && hang.n_messages == (tag == 6 ? 2 : 0) &&
                   hang.is_certain == (tag == 6),
               tag == 6 ? "the tags differ" : "it is under way");
        finish();
    }
}

/* A rank that distributes work waits for any all the time, unless no rank is left. */
static void test_any(void)
{
    start(3);
    put_in(0, call("MPI_Recv", 7), message(AR_SYNC_RECEIVE, AR_PEER_UNKNOWN, 5));
    find();
    tap_ok(hang.n_messages == 0 && !hang.is_certain, "a rank that computes may send");
    finish();
    start(3);
    for (uint32_t rank = 0; rank < 4; rank++)
        put_in(rank, call("MPI_Recv", 7), message(AR_SYNC_RECEIVE, AR_PEER_UNKNOWN, 5));
    find();
    tap_ok(hang.n_messages == 4 && hang.is_certain, "none is left to send");
    finish();
}

/* What a thread beside a main one that works waits for holds up no rank; beside one that is blocked it does. */
static void test_threads(void)
{
    for (int blocked = 0; blocked < 2; blocked++) {
        start(3);
        uint32_t lock = sample_function(&profile, AR_FUNCTION_BUILTIN, "method 'acquire'", 0);

        if (blocked)
            put_in(0, sample_node(&profile, main_node, lock, 4), (struct ar_open_call){0});

        uint32_t thread = sample_thread(&profile, 0, 1);

        profile.locations[thread].latest_real_ns = 5000000000u;
        put_in(thread, call("MPI_Recv", 7), message(AR_SYNC_RECEIVE, 1, 5));
        put_in(1, call("MPI_Recv", 8), message(AR_SYNC_RECEIVE, 0, 6));
        find();
        tap_ok(hang.n_circles == (size_t)blocked && hang.is_certain == (bool)blocked &&
                   hang.n_messages == 1 + (size_t)blocked,
               blocked ? "a circle through a thread" : "a thread listens");
        finish();
    }
}

/* Nothing was long, but the job is over. */
static void test_killed(void)
{
    start(3);
    for (uint32_t rank = 0; rank < N_RANKS; rank++) {
        profile.processes[rank].state = AR_PROCESS_SILENT;
        profile.locations[rank].latest_real_ns = 10000000000u;
    }
    put_in(0, call("MPI_Barrier", 7), collective(AR_SYNC_BARRIER, world, 4, AR_PEER_ALL));
    find();
    check_turn(0, "0: 1,2,3");
    tap_ok(!hang.is_running, "it was killed");
    finish();
}

/* One rank has died; the others run, on its host. */
static void test_dead(void)
{
    start(3);
    for (uint32_t rank = 0; rank < N_RANKS; rank++)
        put_in(rank, call("MPI_Barrier", 7), collective(AR_SYNC_BARRIER, world, 4, AR_PEER_ALL));
    profile.processes[2].state = AR_PROCESS_SILENT;
    find();
    check_turn(0, "0,1,3: 2");
    tap_ok(hang.is_certain && hang.threads[2].is_dead, "it does not come any more");
    finish();
}

/* Of which nothing is known but names, as in files of before. */
static void test_names_alone(void)
{
    start(3);
    put_in(0, call("MPI_Barrier", 7), (struct ar_open_call){0});
    put_in(1, call("MPI_Barrier", 7), (struct ar_open_call){0});
    find();
    check_turn(0, "0,1: 2,3");
    tap_ok(!hang.turns[0].comm && !hang.turns[0].has_number, "on a communicator that is not known");
    finish();
}

static void test_no_memory(void)
{
    bool refused = true, worked = false;
    size_t n = 0;

    start(3);
    put_in(0, call("MPI_Barrier", 7), collective(AR_SYNC_BARRIER, world, 4, AR_PEER_ALL));
    put_in(1, call("MPI_Recv", 8), message(AR_SYNC_RECEIVE, 0, 6));
    sample_must(ar_profile_sort(&profile));
    for (; !worked; n++) {
        alloc_fail_after(n);
        enum ar_status status = ar_hang_find(&hang, &profile);
        alloc_restore();
        worked = status == AR_OK;
        refused = refused && (worked || status == AR_NOMEM);
    }
    tap_ok(refused && n > 5, "every one of %zu allocations may fail", n - 1);
    finish();
}

int main(void)
{
    test_slow();
    test_parts();
    test_passed();
    test_mismatch();
    test_left();
    test_circle();
    test_tags();
    test_any();
    test_threads();
    test_killed();
    test_dead();
    test_names_alone();
    test_no_memory();
    return tap_done();
}
