// SPDX-License-Identifier: BSD-3-Clause
/* Which ranks belong to a communicator, from whatever a run says of it. */
#include "analysis/comm_members.h"

#include "sample_profile.h"
#include "tap.h"

static struct ar_profile p;
static struct ar_comm_members members;
static uint32_t main_id, threads[4];

/* "3 1 -": the ranks of the world in the order of the communicator's, `-` for those that are not known. */
static bool has(uint32_t comm, uint32_t side, const char *expected)
{
    size_t n;
    const struct ar_comm_member *all = ar_comm_members_of(&members, comm, &n);
    char text[64] = "";
    uint32_t next = 0;

    for (size_t i = 0; i < n; i++) {
        if ((all[i].rank & 1) != side)
            continue;
        for (; next < all[i].rank >> 1; next++)
            strcat(text, "- ");
        snprintf(text + strlen(text), sizeof text - strlen(text), "%u ", all[i].world_rank);
        next++;
    }
    if (*text)
        text[strlen(text) - 1] = '\0';
    if (strcmp(text, expected) != 0)
        tap_note("%s", text);
    return strcmp(text, expected) == 0;
}

static void message(uint32_t thread, uint32_t comm, uint32_t peer, uint32_t world_peer)
{
    sample_traffic(&p, (struct ar_traffic){.node = main_id,
                                           .location = threads[thread],
                                           .comm = comm + 1,
                                           .peer = peer,
                                           .world_peer = world_peer,
                                           .n_out = 1});
}

/* All that synchronised on it say their ranks. */
static void calls(uint32_t thread, uint32_t comm, uint32_t rank)
{
    struct ar_profile_sync sync = {.location = threads[thread],
                                   .kind = AR_SYNC_BARRIER,
                                   .comm = comm + 1,
                                   .rank = rank,
                                   .peer = AR_PEER_ALL,
                                   .node = main_id,
                                   .enter_ns = 1,
                                   .exit_ns = 2};

    sample_must(ar_profile_sync(&p, sync, NULL));
}

static void start(void)
{
    sample_start(&p);
    main_id = sample_node(&p, 0, sample_function(&p, AR_FUNCTION_PYTHON, "main", 1), 1);
    for (uint32_t i = 0; i < 4; i++)
        threads[i] = sample_thread(&p, sample_rank(&p, i), 0);
}

static void find(void)
{
    sample_must(ar_profile_sort(&p));
    sample_must(ar_comm_members_begin(&members, &p));
}

static void end(void)
{
    ar_comm_members_free(&members);
    ar_profile_free(&p);
}

static void test_world(void)
{
    start();
    uint32_t world = sample_comm(&p, 1, "MPI_COMM_WORLD", AR_COMM_WORLD, 4, 0);
    struct ar_process child = {
        .world_rank = 2, .pid = 77, .parent_pid = 1002, .root_pid = 1002, .root_start = 1};
    uint32_t id;

    sample_must(ar_profile_process(&p, &child, &id));
    find();
    ar_comm_members_end(&members);
    tap_ok(has(world, 0, "0 1 2 3"), "every rank is in the world, and no child of one");
    end();
}

static void test_calls_and_messages(void)
{
    start();
    uint32_t world = sample_comm(&p, 1, "MPI_COMM_WORLD", AR_COMM_WORLD, 4, 0);
    uint32_t odd = sample_comm(&p, 2, "odd", AR_COMM_SPLIT, 2, world + 1);
    uint32_t even = sample_comm(&p, 3, "even", AR_COMM_SPLIT, 3, world + 1);

    calls(1, odd, AR_OWN_RANK(1, 0));
    calls(3, odd, AR_OWN_RANK(0, 0));
    message(0, even, 2, 2);
    message(0, even, AR_PEER_ALL, AR_PEER_ALL);
    message(0, even, 1, AR_PEER_UNKNOWN);
    find();
    ar_comm_members_end(&members);
    tap_ok(has(odd, 0, "3 1"), "calls say the ranks of their own processes");
    tap_ok(has(even, 0, "- - 2"), "messages those of peers, and roots that are none say nothing");
    end();
}

static void test_those_that_are_alike(void)
{
    start();
    uint32_t part = sample_comm(&p, 1, "part", AR_COMM_SPLIT, 2, 0);
    uint32_t copy = sample_comm(&p, 2, "", AR_COMM_DUP, 2, part + 1);
    uint32_t window = sample_comm(&p, 3, "", AR_COMM_WINDOW, 2, copy + 1);
    uint32_t other = sample_comm(&p, 4, "", AR_COMM_SPLIT, 2, part + 1);

    calls(2, part, AR_OWN_RANK(0, 0));
    calls(0, copy, AR_OWN_RANK(1, 0));
    calls(0, copy, AR_OWN_RANK(1, 0));
    find();
    ar_comm_members_end(&members);
    tap_ok(members.alike[window] == part && members.alike[other] == other && has(part, 0, "2 0") &&
               has(copy, 0, "2 0") && has(window, 0, "2 0"),
           "duplicates and windows have the members of what they were made of, and the other way "
           "round");
    tap_ok(has(other, 0, ""), "parts have not");
    end();
}

static void test_two_groups(void)
{
    start();
    uint32_t both = sample_comm(&p, 1, "", AR_COMM_INTER, 2, 0);

    p.comms[both].remote_size = 2;
    calls(0, both, AR_OWN_RANK(0, 0));
    calls(1, both, AR_OWN_RANK(0, 1));
    calls(3, both, AR_OWN_RANK(1, 1));
    message(0, both, 1, 3); /* in which group is not said */
    find();
    ar_comm_members_end(&members);
    tap_ok(has(both, 0, "0") && has(both, 1, "1 3"), "two groups are told apart");
    end();
}

static void test_single(void)
{
    start();
    uint32_t self = sample_comm(&p, 1, "MPI_COMM_SELF", AR_COMM_SELF, 1, 0);
    uint32_t own = sample_comm(&p, 2, "", AR_COMM_SPLIT, 1, 0);

    message(3, own, AR_PEER_ALL, AR_PEER_ALL);
    message(3, self, 0, AR_PEER_UNKNOWN);
    find();
    ar_comm_members_end(&members);
    tap_ok(has(own, 0, "3"), "of a communicator of one process it is the one that uses it");
    tap_ok(has(self, 0, ""), "that of each process has no members of its own");
    end();
}

static void test_added(void)
{
    start();
    uint32_t part = sample_comm(&p, 1, "part", AR_COMM_SPLIT, 3, 0);

    calls(1, part, AR_OWN_RANK(2, 0));
    find();
    sample_must(ar_comm_members_add(&members, part, AR_OWN_RANK(0, 0), 3));
    sample_must(ar_comm_members_add(&members, part, AR_OWN_RANK(2, 0), 1)); /* known */
    sample_must(ar_comm_members_add(&members, part, AR_OWN_RANK(2, 0), 2)); /* contradicts */
    sample_must(ar_comm_members_add(&members, part, AR_NO_ID, 2));
    sample_must(ar_comm_members_add(&members, part, AR_OWN_RANK(1, 0), AR_RANK_NONE));
    sample_must(ar_comm_members_add(&members, part + 1, AR_OWN_RANK(1, 0), 2));
    ar_comm_members_end(&members);
    tap_ok(has(part, 0, "3 - 1"), "others may be added; what makes no sense is passed over");
    end();
}

int main(void)
{
    test_world();
    test_calls_and_messages();
    test_those_that_are_alike();
    test_two_groups();
    test_single();
    test_added();
    return tap_done();
}
