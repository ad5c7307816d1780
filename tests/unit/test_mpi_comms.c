// SPDX-License-Identifier: BSD-3-Clause
/*
 * Communicators of a library that exists only here. Several processes do what a program would do on
 * its ranks, to see that all come to the same identities.
 */
#include "runtime/mpi_comms.h"

#include "own_file.h"
#include "runtime/mpi_abi.h"
#include "tap.h"

#include <sys/wait.h>
#include <unistd.h>

enum { WORLD = 0x44000000, SELF = 0x44000001 };

/* What the library says of a handle. */
static struct ar_comm_facts facts_of[64];
static uint32_t this_rank;
static struct ar_mpi_abi abi;
static size_t n_questions;

/* MPI may have a lock of its own, whose holder comes to us: while it is asked, ours must be free. */
static void come_back(void)
{
    ar_comm_is_known(&abi, WORLD);
    n_questions++;
}

static bool describe(uint64_t comm, struct ar_comm_facts *out)
{
    come_back();
    if (comm >= 64 && comm != WORLD && comm != SELF)
        return false;
    *out = comm == WORLD  ? (struct ar_comm_facts){4, 0, this_rank, 0, "MPI_COMM_WORLD"}
           : comm == SELF ? (struct ar_comm_facts){1, 0, 0, this_rank, "MPI_COMM_SELF"}
                          : facts_of[comm];
    return true;
}

static uint32_t world_rank(uint64_t comm, int peer)
{
    come_back();
    return comm == WORLD ? (uint32_t)peer
           : comm < 64   ? 10 * (uint32_t)comm + (uint32_t)peer
                         : AR_RANK_NONE;
}

static uint64_t world(void)
{
    come_back();
    return WORLD;
}

static uint64_t self(void)
{
    come_back();
    return SELF;
}

static struct ar_mpi_abi abi = {.name = "made up", .ask = {describe, world_rank, world, self}};
static struct ar_comm_cache cache;

static struct ar_mpi_comm *of(uint64_t handle)
{
    return ar_comm_of(&cache, &abi, handle);
}

static struct ar_mpi_comm *make(enum ar_comm_origin origin, uint64_t parent, uint64_t made,
                                struct ar_comm_facts facts, uint64_t tag)
{
    struct ar_comm_making making = {.origin = origin, .parent = parent, .made = made, .tag = tag};

    if (made)
        facts_of[made % 64] = facts;
    ar_comm_made(&cache, &abi, &making);
    return made ? of(made) : NULL;
}

/* What this process would make in a program, with the handles that its library gives. */
struct identities {
    uint64_t world, self, dup, half, sub, group, window;
};

static void forget_all(void)
{
    ar_comm_unmade(&abi, WORLD);
    ar_comm_unmade(&abi, SELF);
    for (uint64_t h = 1; h < 64; h++) {
        ar_comm_unmade(&abi, h);
        ar_comm_unmade(&abi, h | AR_MPI_NOT_COMM);
    }
}

static struct identities program(uint32_t rank)
{
    struct identities made;
    uint32_t half = rank / 2;
    uint64_t h = 1 + 8 * rank; /* handles are each process's own */

    this_rank = rank;
    made.world = of(WORLD)->identity;
    made.self = of(SELF)->identity;
    made.dup = make(AR_COMM_DUP, WORLD, h, (struct ar_comm_facts){0}, 0)->identity;
    made.half =
        make(AR_COMM_SPLIT, WORLD, h + 1, (struct ar_comm_facts){2, 0, rank % 2, 2 * half, ""}, 0)
            ->identity;
    made.sub = make(AR_COMM_DUP, h + 1, h + 2, (struct ar_comm_facts){0}, 0)->identity;
    /* The first half makes a group, the second does not; all go on. */
    made.group =
        half ? 0
             : make(AR_COMM_GROUP, WORLD, h + 3, (struct ar_comm_facts){2, 0, rank % 2, 0, ""}, 7)
                   ->identity;
    /* Ranks that are not members have to count as well. */
    make(AR_COMM_CREATE, WORLD, rank ? 0 : h + 4, (struct ar_comm_facts){1, 0, 0, 0, ""}, 0);
    made.window =
        make(AR_COMM_WINDOW, WORLD, (h + 5) | AR_MPI_NOT_COMM, (struct ar_comm_facts){0}, 0)
            ->identity;
    forget_all();
    return made;
}

/* What `body` makes, in a process of its own. */
static struct identities in_process(struct identities (*body)(uint32_t), uint32_t rank)
{
    struct identities made = {0};
    int ends[2];

    if (pipe(ends) < 0)
        return made;
    if (fork() == 0) {
        made = body(rank);
        _exit(write(ends[1], &made, sizeof made) != sizeof made);
    }
    close(ends[1]);
    if (read(ends[0], &made, sizeof made) != sizeof made)
        tap_ok(false, "a process says what it made");
    close(ends[0]);
    wait(NULL);
    return made;
}

static void check_identities(void)
{
    struct identities at[4];
    bool same = true;

    for (uint32_t rank = 0; rank < 4; rank++)
        at[rank] = in_process(program, rank);
    for (int i = 1; i < 4; i++)
        same = same && at[i].world == at[0].world && at[i].dup == at[0].dup &&
               at[i].window == at[0].window;
    tap_ok(same, "what all made is the same on all, and whatever its handle");
    tap_ok(at[0].half == at[1].half && at[2].half == at[3].half && at[0].half != at[2].half,
           "each half of a split has its own");
    tap_ok(at[0].sub == at[1].sub && at[0].sub != at[2].sub, "and so has what is made of it");
    tap_ok(at[0].group == at[1].group && at[0].group, "members of a group agree");
    tap_ok(at[0].self != at[1].self, "everybody has a self");

    uint64_t all[] = {at[0].world, at[0].dup,   at[0].half,   at[2].half, at[0].sub,
                      at[2].sub,   at[0].group, at[0].window, at[0].self};
    bool distinct = true;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t k = 0; k < i; k++)
            distinct = distinct && all[i] != all[k] && all[i];
    tap_ok(distinct, "no two have the same, and none is 0");
}

/* Rank 0 of the remote group of handle h is 10 h in the world, and each side has the other's. */
static struct identities one_side(uint32_t side)
{
    struct ar_comm_facts facts = {2 + side, 3 - side, 0, side ? 20 : 50, ""};
    struct identities made = {0};

    made.dup = make(AR_COMM_INTER, WORLD, side ? 5 : 2, facts, 9)->identity;
    made.sub = make(AR_COMM_INTER, WORLD, side ? 5 : 2, facts, 9)->identity;
    made.group = make(AR_COMM_INTER, WORLD, side ? 5 : 2, facts, 8)->identity;
    return made;
}

static void check_two_sides(void)
{
    struct identities here = in_process(one_side, 0), there = in_process(one_side, 1);

    tap_ok(here.dup == there.dup && here.dup, "both sides come to the same");
    tap_ok(here.sub == there.sub && here.sub != here.dup, "made again, it is another one");
    tap_ok(here.group == there.group && here.group != here.sub, "so it is with another tag");
    tap_ok(make(AR_COMM_SPAWN, WORLD, 3, (struct ar_comm_facts){1, 1, 0, AR_RANK_NONE, ""}, 0)
                   ->identity == 0,
           "with another run nothing is the same");
    forget_all();
}

static void check_handles_come_again(void)
{
    uint32_t first = make(AR_COMM_DUP, WORLD, 1, (struct ar_comm_facts){0}, 0)->number;

    tap_ok(of(1)->number == first && of(WORLD)->number, "known by their handles");
    ar_comm_next(of(1));

    struct ar_mpi_comm was = ar_comm_unmade(&abi, 1);

    tap_ok(was.number == first && was.sequence == 1, "what was freed, for the call that frees it");
    tap_ok(ar_comm_unmade(&abi, 1).size == 0, "once");
    uint32_t second = make(AR_COMM_DUP, WORLD, 1, (struct ar_comm_facts){0}, 0)->number;

    tap_ok(second == first + 1 && of(1)->number == second, "the handle means another one");
    /* A free that was not seen. */
    uint32_t third =
        make(AR_COMM_SPLIT, WORLD, 1, (struct ar_comm_facts){2, 0, 1, 2, ""}, 0)->number;

    tap_ok(third == second + 1 && of(1)->size == 2 && of(1)->rank == 1, "also then");
    facts_of[9] = (struct ar_comm_facts){3, 0, 2, 0, "theirs"};
    tap_ok(of(9)->number == third + 1 && of(9)->size == 3 && of(9)->identity == 0,
           "one whose making was not seen is known when it is used");
    tap_ok(of(0)->number == 0, "no handle, no communicator");
    forget_all();
}

/* Before a call the handle may be anything: MPI is not asked, since it would call the program's error handler. */
static void check_before_a_call(void)
{
    size_t n_before = n_questions;

    tap_ok(!ar_comm_find(&cache, &abi, 12) && !ar_comm_find(&cache, &abi, 0) &&
               n_questions == n_before,
           "MPI is not asked about a handle that is not known");
    facts_of[12] = (struct ar_comm_facts){3, 0, 2, 0, ""};

    struct ar_mpi_comm *used = of(12);

    tap_ok(ar_comm_find(&cache, &abi, 12) == used, "after its first call it is known");
    ar_comm_unmade(&abi, 12);
    tap_ok(!ar_comm_find(&cache, &abi, 12), "until it is freed");
    forget_all();
}

static void check_world_ranks(void)
{
    of(WORLD);
    struct ar_mpi_comm *window =
        make(AR_COMM_WINDOW, WORLD, 4 | AR_MPI_NOT_COMM, (struct ar_comm_facts){0}, 0);

    tap_ok(ar_comm_world_rank(of(WORLD), 3) == 3, "of the world");
    tap_ok(ar_comm_world_rank(window, 2) == 2, "the ranks of a window are its communicator's");
    make(AR_COMM_SPLIT, WORLD, 6, (struct ar_comm_facts){2, 0, 0, 60, ""}, 0);
    tap_ok(ar_comm_world_rank(of(6), 1) == 61, "of a part");
    tap_ok(ar_comm_world_rank(of(6), -1) == AR_RANK_NONE, "nobody");
    ar_comm_unmade(&abi, WORLD);
    tap_ok(ar_comm_world_rank(window, 2) == AR_RANK_NONE,
           "nobody is asked about a communicator that is freed, though its window is there");
    tap_ok(!ar_comm_is_known(&abi, WORLD) && ar_comm_is_known(&abi, 6), "which is known, or not");
    forget_all();
}

static void check_bounds(void)
{
    uint32_t last = 0, first = of(WORLD)->number;
    bool ok = true;

    for (uint64_t i = 0; i < 20000; i++) {
        make(AR_COMM_DUP, WORLD, 1, (struct ar_comm_facts){0}, 0);
        ok = ok && of(1)->size == 4;
        last = of(1)->number ? of(1)->number : last;
        ar_comm_unmade(&abi, 1);
    }
    tap_ok(ok && of(WORLD)->number, "made and freed 20,000 times");
    tap_ok(last > 1000 && last < 20000, "of which %u are recorded", last);
    make(AR_COMM_DUP, WORLD, 1, (struct ar_comm_facts){0}, 0);
    tap_ok(of(1)->number == 0 && of(1)->size == 4, "one that is not recorded works as well");
    tap_ok(ar_live_header()->n_lost[AR_LOST_COMMS] == 20001 - (last - first), "others are counted");
    forget_all();
}

/* Libraries give handles that were not there before: freed ones must not add up. */
static void check_ever_new_handles(void)
{
    bool ok = true;

    of(WORLD);
    make(AR_COMM_DUP, WORLD, 7, (struct ar_comm_facts){0}, 0);
    for (uint64_t handle = 1000; handle < 101000; handle++) {
        make(AR_COMM_DUP, WORLD, handle, (struct ar_comm_facts){0}, 0);
        ar_comm_unmade(&abi, handle);
        ok = ok && !ar_comm_is_known(&abi, handle) && ar_comm_is_known(&abi, 7);
    }
    tap_ok(ok, "100,000 handles, and the one that was not freed is known");
    forget_all();
}

/* More than can be kept at a time. */
static void check_many_at_a_time(void)
{
    of(WORLD);

    uint64_t n_lost = ar_live_header()->n_lost[AR_LOST_COMMS];

    for (uint64_t handle = 1000; handle < 3000; handle++)
        make(AR_COMM_DUP, WORLD, handle, (struct ar_comm_facts){0}, 0);
    tap_ok(ar_live_header()->n_lost[AR_LOST_COMMS] == n_lost + 2000, "each is counted once");
    for (uint64_t handle = 1000; handle < 3000; handle++)
        ar_comm_unmade(&abi, handle);
    tap_ok(make(AR_COMM_DUP, WORLD, 8, (struct ar_comm_facts){0}, 0)->size == 4,
           "and there is room again");
    forget_all();
}

int main(void)
{
    alarm(60); /* what waits for its own lock waits for ever */
    own_file_make();
    check_identities();
    check_two_sides();
    check_handles_come_again();
    check_before_a_call();
    check_world_ranks();
    check_bounds();
    check_ever_new_handles();
    check_many_at_a_time();
    tap_ok(n_questions > 0, "MPI was asked %zu times, and could come back to us each time",
           n_questions);
    scratch_remove();
    return tap_done();
}
