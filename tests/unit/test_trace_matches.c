// SPDX-License-Identifier: BSD-3-Clause
/*
 * Messages of made-up traces find their partners; with gaps, and where order is not known, they find the right one or
 * none.
 */
#include "analysis/trace_matches.h"

#include "dice.h"
#include "made_up_messages.h"
#include "tap.h"

#define N_RANKS 4
#define N_TAGS 2
#define MOST 600

static bool is_pair(const struct ar_trace_matches *m, size_t sent, size_t received)
{
    return m->ops[made_up.op[sent]].partner == made_up.op[received] &&
           m->ops[made_up.op[received]].partner == made_up.op[sent];
}

static struct ar_trace_message sends(uint32_t to, int tag, uint32_t number, uint64_t bytes)
{
    return (struct ar_trace_message){.kind = AR_TRACE_SEND,
                                     .sync = AR_SYNC_SEND,
                                     .peer = to,
                                     .tag = tag,
                                     .sequence = number,
                                     .bytes_out = bytes};
}

static struct ar_trace_message receives(uint32_t from, int tag, uint32_t number, uint64_t bytes)
{
    return (struct ar_trace_message){.kind = AR_TRACE_RECEIVE,
                                     .sync = AR_SYNC_RECEIVE,
                                     .peer = from,
                                     .tag = tag,
                                     .sequence = number,
                                     .bytes_in = bytes};
}

static struct ar_trace_message of_request(struct ar_trace_message message, uint8_t kind,
                                          uint64_t request)
{
    message.kind = kind;
    message.request = request;
    message.sequence = kind == AR_TRACE_RECEIVE_POSTED ? 0 : message.sequence;
    return message;
}

/* ---- one thing at a time ---------------------------------------------------------------------- */

static void check_blocking(void)
{
    struct ar_trace_matches m;
    size_t sent, other, received, probe, alone;

    made_up_start(2);
    sent = made_up_add(0, sends(1, 5, 1, 8), 100, 110);
    other = made_up_add(0, sends(1, 6, 1, 8), 120, 130);
    alone = made_up_add(0, sends(1, 6, 2, 8), 140, 150);
    probe = made_up_add(1, (struct ar_trace_message){.kind = AR_TRACE_PROBED, .peer = 0, .tag = 6},
                        10, 135);
    received = made_up_add(1, receives(0, 6, 1, 8), 136, 137);
    made_up_add(1, receives(0, 5, 1, 8), 138, 139);
    made_up_match(&m);
    tap_ok(is_pair(&m, other, received), "tags tell messages apart");
    tap_ok(is_pair(&m, sent, 5), "whichever is received first");
    tap_ok(m.ops[made_up.op[probe]].partner == made_up.op[other], "a probe knows what it found");
    tap_ok(m.ops[made_up.op[alone]].why == AR_UNMATCHED_ALONE && m.n_messages == 2 &&
               m.n_unmatched[AR_UNMATCHED_ALONE] == 1,
           "one is not received");
    tap_ok(ar_trace_matches_thread_of(&m, made_up.op[sent]) == 0 &&
               ar_trace_matches_thread_of(&m, made_up.op[probe]) == 1,
           "ops have threads");
    ar_trace_matches_free(&m);
    made_up_free();
}

/* Two receives are posted, and the second ends first: MPI has matched them in the order of posts. */
static void check_posts(void)
{
    struct ar_trace_matches m;
    size_t first, second, post, done_second, done_first;

    made_up_start(2);
    first = made_up_add(0, of_request(sends(1, 0, 1, 8), AR_TRACE_SEND_POSTED, 1), 100, 110);
    second = made_up_add(0, sends(1, 0, 2, 8), 120, 130);
    made_up_add(0, of_request(sends(1, 0, 0, 8), AR_TRACE_SEND_DONE, 1), 140, 150);
    post = made_up_add(1, of_request(receives(0, 0, 0, 8), AR_TRACE_RECEIVE_POSTED, 7), 10, 11);
    made_up_add(1, of_request(receives(0, 0, 0, 8), AR_TRACE_RECEIVE_POSTED, 8), 12, 13);
    done_second =
        made_up_add(1, of_request(receives(0, 0, 1, 8), AR_TRACE_RECEIVE_DONE, 8), 200, 210);
    done_first =
        made_up_add(1, of_request(receives(0, 0, 2, 8), AR_TRACE_RECEIVE_DONE, 7), 220, 230);
    made_up_match(&m);
    tap_ok(is_pair(&m, first, done_first) && is_pair(&m, second, done_second),
           "receives are matched in the order of posts");
    tap_ok(m.ops[made_up.op[post]].other == made_up.op[done_first] &&
               m.ops[made_up.op[done_first]].other == made_up.op[post] &&
               m.ops[made_up.op[first]].other == made_up.op[2],
           "posts know their ends");
    ar_trace_matches_free(&m);
    made_up_free();
}

static void check_doubt(void)
{
    struct ar_trace_matches m;

    made_up_start(2);
    made_up_add(0, sends(1, 0, 0, 8), 100, 110);
    made_up_add(0, sends(1, 1, 1, 8), 120, 130);
    made_up_add(1, receives(0, 1, 1, 9), 140, 150);
    made_up_add(1, receives(AR_PEER_UNKNOWN, 1, 1, 9), 160, 170);
    made_up_add(0, sends(1, 2, 1, 8), 180, 190);
    made_up_add(0, sends(1, 2, 1, 8), 200, 210);
    made_up_add(1, receives(0, 2, 1, 8), 220, 230);
    made_up_match(&m);
    tap_ok(m.n_messages == 0, "nothing is matched");
    tap_ok(m.n_unmatched[AR_UNMATCHED_NUMBER] == 1, "without a number");
    tap_ok(m.n_unmatched[AR_UNMATCHED_SIZE] == 2, "with another size");
    tap_ok(m.n_unmatched[AR_UNMATCHED_COMM] == 1, "from an unknown rank");
    tap_ok(m.n_unmatched[AR_UNMATCHED_AMBIGUOUS] == 3, "with a number that was there already");
    ar_trace_matches_free(&m);
    made_up_free();
}

static void check_groups(void)
{
    struct ar_trace_matches m;
    struct ar_trace_message barrier = {.kind = AR_TRACE_COLLECTIVE, .sync = AR_SYNC_BARRIER};
    struct ar_trace_message bcast = {.kind = AR_TRACE_COLLECTIVE,
                                     .sync = AR_SYNC_FROM_ROOT,
                                     .peer = 1,
                                     .sequence = 1,
                                     .bytes_out = 8};
    struct ar_trace_message cut = {.kind = AR_TRACE_COLLECTIVE, .sync = AR_SYNC_ALL, .sequence = 2};
    uint32_t gatherv;
    bool is_ordered = true;

    made_up_start(3);
    gatherv = made_up_function("MPI_Allgatherv");
    barrier.peer = cut.peer = AR_PEER_ALL;
    for (uint32_t rank = 3; rank-- > 0;) {
        made_up_add(rank, barrier, 10, 20);
        made_up_add(rank, bcast, 30, 40);
        if (rank)
            made_up_add(rank, cut, 50, 60);
        cut.sequence = 3;
        made_up_add_on(rank, gatherv, cut, 70, 80);
        cut.sequence = 2;
    }
    made_up_match(&m);
    tap_ok(m.n_groups == 3 && m.n_incomplete == 2, "a collective call without a member is none");
    for (uint32_t i = 0; i < m.n_groups; i++)
        for (uint32_t k = 0; k < m.groups[i].n; k++)
            is_ordered = is_ordered && m.ops[m.members[m.groups[i].first + k]].rank >> 1 == k;
    tap_ok(is_ordered, "members are in the order of ranks");
    tap_ok(m.ops[m.members[m.groups[1].first + 1]].flags & AR_OP_ROOT &&
               !(m.ops[m.members[m.groups[1].first]].flags & AR_OP_ROOT),
           "the root is known");
    tap_ok(!m.groups[0].may_pass && !m.groups[1].may_pass && m.groups[2].may_pass,
           "some may leave before others have come");
    ar_trace_matches_free(&m);
    made_up_free();
}

/* ---- random programs -------------------------------------------------------------------------- */

/* What has happened, and what of it is in the trace. */
struct truth {
    size_t sent, received; /* events; SIZE_MAX: not traced */
};

static bool is_off(uint64_t now, const uint64_t gap[2])
{
    return now >= gap[0] && now < gap[1];
}

/*
 * Each channel has its messages in order, received by posts in order that end in any order; each rank has a gap in which
 * nothing is traced.
 */
static void make(struct dice *d, struct truth *truth, size_t *n, bool has_gaps, bool is_shuffled)
{
    uint64_t gaps[N_RANKS][2] = {{0}}, now = 1000, request = 1;
    uint32_t numbers[N_RANKS][N_RANKS][N_TAGS] = {{{0}}};

    for (uint32_t i = 0; i < N_RANKS && has_gaps; i++) {
        gaps[i][0] = 1000 + dice_below(d, 20000);
        gaps[i][1] = gaps[i][0] + dice_below(d, 8000);
    }
    for (*n = 0; *n < MOST; now += 200) {
        uint32_t from = dice_below(d, N_RANKS), to = dice_below(d, N_RANKS);
        int tag = (int)dice_below(d, N_TAGS);
        uint32_t *number = &numbers[from][to][tag];
        uint32_t n_together = is_shuffled ? 1 + dice_below(d, 3) : 1;

        for (uint32_t i = 0; i < n_together; i++) { /* posts, then sends */
            uint64_t at = now + i;

            if (!is_off(at, gaps[to]))
                made_up_add(
                    to, of_request(receives(from, tag, 0, 8), AR_TRACE_RECEIVE_POSTED, request + i),
                    at, at);
            truth[*n + i].sent = truth[*n + i].received = SIZE_MAX;
            at += 50;
            if (!is_off(at, gaps[from]))
                truth[*n + i].sent = made_up_add(from, sends(to, tag, *number + i + 1, 8), at, at);
        }
        for (uint32_t i = 0; i < n_together; i++) { /* ends: the last first */
            uint32_t which = n_together - 1 - i;
            uint64_t at = now + 100 + i;

            if (!is_off(at, gaps[to]))
                truth[*n + which].received =
                    made_up_add(to,
                                of_request(receives(from, tag, *number + i + 1, 8),
                                           AR_TRACE_RECEIVE_DONE, request + which),
                                at, at);
        }
        *n += n_together;
        *number += n_together;
        request += n_together;
    }
}

static void check_random(uint64_t seed, bool has_gaps, bool is_shuffled)
{
    static struct truth truth[MOST + 4];
    struct dice d = {seed};
    struct ar_trace_matches m;
    size_t n, n_right = 0, n_wrong = 0, n_both = 0;

    made_up_start(N_RANKS);
    make(&d, truth, &n, has_gaps, is_shuffled);
    made_up_match(&m);
    for (size_t i = 0; i < n; i++) {
        bool has_sent = truth[i].sent != SIZE_MAX, has_received = truth[i].received != SIZE_MAX;
        bool is_right = has_sent && has_received && is_pair(&m, truth[i].sent, truth[i].received);

        n_both += has_sent && has_received;
        n_right += is_right;
        n_wrong += has_sent && !is_right && m.ops[made_up.op[truth[i].sent]].partner != AR_NO_ID;
    }
    tap_ok(n_wrong == 0, "seed %d: none is matched wrongly", (int)seed);
    if (!has_gaps || !is_shuffled)
        tap_ok(n_right == n_both && n_both > MOST / 4, "seed %d: all that are there are matched",
               (int)seed);
    tap_ok(m.n_messages == n_right, "seed %d: they are counted", (int)seed);
    ar_trace_matches_free(&m);
    made_up_free();
}

int main(void)
{
    check_blocking();
    check_posts();
    check_doubt();
    check_groups();
    for (uint64_t seed = 1; seed <= 20; seed++) {
        check_random(seed, false, true);
        check_random(seed, true, false);
        check_random(seed, true, true);
    }
    return tap_done();
}
