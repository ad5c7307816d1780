// SPDX-License-Identifier: BSD-3-Clause
/*
 * What a thread did between two waits: by hand, with made-up stamps, and as a random program beside
 * one that adds up every span as it goes.
 */
#include "runtime/mpi_syncs.h"

#include "dice.h"
#include "own_file.h"
#include "runtime/tree.h"
#include "tap.h"

#include <math.h>

#define MS 1000000u /* longer than what is summed up with what follows */
#define N_FUNCTIONS 12

static struct ar_thread *t;
static struct ar_syncs syncs;
static uint64_t now;
static uint32_t functions[N_FUNCTIONS];

static void spend(uint64_t ticks)
{
    now += ticks;
}

static struct ar_node *enter(int i)
{
    return ar_tree_enter(t, functions[i], now);
}

static void leave(struct ar_node *node)
{
    ar_tree_leave(t, node, now);
}

/* A call that waits for so long, at function 0. */
static void wait_for(uint64_t ticks)
{
    struct ar_sync sync = {.kind = AR_SYNC_ALL, .comm = 1, .enter_ticks = now};
    struct ar_node *node = enter(0);

    spend(ticks);
    leave(node);
    sync.node_ref = ar_live_ref(node);
    sync.exit_ticks = now;
    ar_sync_add(t, &syncs, &sync);
}

/* ---- reading what was written ---------------------------------------------------------------- */

struct read_sync {
    struct ar_sync sync;
    struct ar_sync_part parts[255];
};

static size_t read_at; /* in the stream, of its only extent */

static bool next_sync(struct read_sync *out)
{
    const unsigned char *stream = (const unsigned char *)syncs.stream;

    if (!stream || read_at >= syncs.stream->n_bytes_used)
        return false;
    memcpy(&out->sync, stream + read_at, sizeof out->sync);
    read_at += sizeof out->sync;
    memcpy(out->parts, stream + read_at, out->sync.n_parts * sizeof *out->parts);
    read_at += out->sync.n_parts * sizeof *out->parts;
    return true;
}

/* What a node took itself; and what is in it or below it in small pieces. */
static double part_of(const struct read_sync *s, const struct ar_node *node)
{
    for (int i = 0; i < s->sync.n_parts; i++)
        if (s->parts[i].node_ref == ar_live_ref(node) && s->parts[i].ticks > 0)
            return s->parts[i].ticks;
    return 0;
}

static double rest_of(const struct read_sync *s, const struct ar_node *node)
{
    for (int i = 0; i < s->sync.n_parts; i++)
        if (s->parts[i].node_ref == ar_live_ref(node) && s->parts[i].ticks < 0)
            return -s->parts[i].ticks;
    return 0;
}

/* ---- by hand --------------------------------------------------------------------------------- */

static void check_by_hand(void)
{
    struct read_sync s;
    struct ar_node *outer = enter(1);

    spend(3 * MS);
    struct ar_node *inner = enter(2);
    spend(5 * MS);
    leave(inner);
    spend(1 * MS);
    wait_for(7 * MS);
    tap_ok(next_sync(&s) && s.sync.n_parts == 2, "two functions did something");
    tap_ok(s.sync.exit_ticks - s.sync.enter_ticks == 7 * MS, "it waited");
    tap_ok(part_of(&s, inner) == 5 * MS && part_of(&s, outer) == 4 * MS, "each what it did itself");

    /* Open since the last interval, and left in this one; the next is open all the time. */
    spend(2 * MS);
    leave(outer);
    spend(4 * MS);
    wait_for(1);
    tap_ok(next_sync(&s) && part_of(&s, outer) == 2 * MS, "what was open and is left");
    tap_ok(part_of(&s, t->root) == 4 * MS && s.sync.n_parts == 2, "what is open all the time");

    outer = enter(1);
    spend(2 * MS);
    wait_for(1);
    tap_ok(next_sync(&s) && part_of(&s, outer) == 2 * MS && s.sync.n_parts == 1,
           "what is entered and stays open");
    spend(6 * MS);
    wait_for(1);
    tap_ok(next_sync(&s) && part_of(&s, outer) == 6 * MS && s.sync.n_parts == 1, "and goes on");
    leave(outer);
    spend(MS);
    wait_for(1);
    tap_ok(next_sync(&s) && part_of(&s, t->root) == MS, "left, it has nothing");
}

/* What was done before anybody asked is in the first record, with what is done since: once. */
static void check_what_was_before(void)
{
    struct read_sync s;
    struct ar_node *outer = enter(1);

    spend(3 * MS);
    struct ar_node *inner = enter(2);
    spend(5 * MS);
    leave(inner);
    /* Recursion from two lines is one node, found by three keys. */
    struct ar_node *again = NULL;
    for (uint64_t line = 1; line < 3; line++) {
        again = ar_tree_enter(t, line << 32 | functions[1], now);
        spend(6 * MS);
        leave(again);
    }
    spend(MS);
    ar_syncs_begin(t, &syncs, now);
    spend(2 * MS); /* open all the time */
    inner = enter(2);
    spend(4 * MS);
    leave(inner);
    wait_for(7 * MS);
    tap_ok(next_sync(&s) && part_of(&s, inner) == 9 * MS && part_of(&s, outer) == 6 * MS,
           "what was before is added");
    tap_ok(s.sync.n_parts == 4 && part_of(&s, again) == 12 * MS, "each node once");
    tap_ok(rest_of(&s, outer) == 1000, "and what was before all of them");
    leave(outer);
    spend(MS);
    wait_for(7 * MS);
    tap_ok(next_sync(&s) && part_of(&s, inner) == 0 && part_of(&s, t->root) == MS, "once");
}

static void check_short_ones(void)
{
    struct read_sync s;
    struct ar_node *node = enter(3);

    for (int i = 0; i < 10; i++) {
        spend(10);
        wait_for(5);
        tap_ok(next_sync(&s) && s.sync.n_parts == 0, "short interval %d is not summed up", i);
    }
    spend(2 * MS);
    wait_for(5);
    tap_ok(next_sync(&s) && part_of(&s, node) == 2 * MS + 10 * 10, "but with what follows");
    leave(node);
    spend(MS);
    wait_for(1);
    tap_ok(next_sync(&s), "one more");
}

static struct ar_node *call(int function, uint64_t line, uint64_t ticks)
{
    struct ar_node *node = ar_tree_enter(t, line << 32 | functions[function], now);

    spend(ticks);
    leave(node);
    return node;
}

/* Functions with a 32nd of the time are parts; what is smaller is in the deepest function that contains it. */
static void check_small_ones(void)
{
    struct read_sync s;
    struct ar_node *outer = enter(1);
    struct ar_node *large = call(2, 1, 90 * MS);

    call(3, 1, 2 * MS);
    wait_for(1);
    tap_ok(next_sync(&s) && s.sync.n_parts == 2 && part_of(&s, large) == 90 * MS, "a large one");
    tap_ok(rest_of(&s, outer) == 2 * MS, "and the rest of its caller");

    /* Twelve lines that call one function: each has little. */
    struct ar_node *first = NULL;
    for (uint64_t line = 1; line <= 12; line++) {
        struct ar_node *node = call(3, line, MS);

        first = first ? first : node;
    }
    call(2, 1, 84 * MS);
    wait_for(1);
    tap_ok(next_sync(&s) && s.sync.n_parts == 2 && part_of(&s, first) == 12 * MS,
           "a function from many lines is one part");

    /* Many functions below another: together they have much. */
    struct ar_node *assemble = enter(4);
    for (int i = 0; i < 20; i++)
        call(5 + i % (N_FUNCTIONS - 5), (uint64_t)(100 + i), MS / 4);
    leave(assemble);
    call(2, 1, 60 * MS);
    wait_for(1);
    tap_ok(next_sync(&s) && part_of(&s, large) == 60 * MS, "beside a large one");
    tap_ok(rest_of(&s, assemble) == 5 * MS, "the function that contains them: %.0f",
           rest_of(&s, assemble));
    leave(outer);
    spend(MS);
    wait_for(1);
    tap_ok(next_sync(&s), "one more");
}

/* A call that completes several requests leaves as many records: its time is once between what was done. */
static void check_several_records(void)
{
    struct read_sync s;

    for (int round = 0; round < 3; round++) {
        struct ar_sync sync = {.kind = AR_SYNC_RECEIVE, .comm = 1, .enter_ticks = now};
        struct ar_node *node = enter(0);

        spend(50 * MS);
        leave(node);
        sync.node_ref = ar_live_ref(node);
        sync.exit_ticks = now;
        for (int i = 0; i < 5; i++) {
            ar_sync_add(t, &syncs, &sync);
            tap_ok(next_sync(&s), "record %d", i);
        }
        node = call(2, 1, 10 * MS);
        wait_for(1);
        tap_ok(next_sync(&s) && part_of(&s, node) == 10 * MS, "what was done after it");
    }
}

/* More nodes than are noted: none of their time is lost. */
static void check_very_many(void)
{
    struct read_sync s;
    double sum = 0;

    spend(MS);
    wait_for(1);
    tap_ok(next_sync(&s), "what was before");
    struct ar_node *outer = enter(1), *large = call(2, 1, 500 * MS);
    for (uint64_t line = 1; line <= 3 * AR_MAX_TOUCHED; line++)
        call(3, line, MS / 100);
    call(2, 1, 100 * MS);
    wait_for(1);
    tap_ok(next_sync(&s) && part_of(&s, large) == 600 * MS, "before and after it was full: %.0f",
           part_of(&s, large));
    for (int i = 0; i < s.sync.n_parts; i++)
        sum += fabs(s.parts[i].ticks);
    tap_ok(fabs(sum - (600 * MS + 3 * AR_MAX_TOUCHED * (double)(MS / 100))) < 10,
           "and all of it is there: %.0f", sum);
    leave(outer);
}

/* ---- a random program ------------------------------------------------------------------------ */

#define MAX_NODES 4000
static struct {
    const struct ar_node *node;
    uint64_t ticks;
} truth[MAX_NODES];
static size_t n_truth;

static void owe(const struct ar_node *node, uint64_t ticks)
{
    size_t i = 0;

    while (i < n_truth && truth[i].node != node)
        i++;
    if (i == n_truth) {
        truth[n_truth].node = node;
        truth[n_truth++].ticks = 0;
    }
    truth[i].ticks += ticks;
}

/* Each that has a 32nd is there with what it took at least: smaller ones of its function may be with it. */
static int wrong_parts(const struct read_sync *s, double total)
{
    double sum = 0;
    int n_wrong = 0;

    for (size_t k = 0; k < n_truth; k++) {
        double expected = (double)truth[k].ticks, found = part_of(s, truth[k].node);

        n_wrong += expected > total / AR_LEAST_PART + 1 && found < expected * (1 - 1e-6);
    }
    for (int i = 0; i < s->sync.n_parts; i++)
        sum += fabs(s->parts[i].ticks);
    return n_wrong + (fabs(sum - total) > total * 1e-6) + (s->sync.n_parts == 0);
}

static void check_random(void)
{
    struct dice dice = {7};
    struct ar_node *stack[30];
    int depth = 0, n_wrong = 0, n_syncs = 0;
    uint64_t since = now;

    for (int step = 0; step < 60000; step++) {
        uint64_t ticks = dice_below(&dice, MS / 10);
        uint32_t what = dice_below(&dice, 100);

        owe(t->current, ticks);
        spend(ticks);
        if (what < 48 && depth < 30) {
            stack[depth++] = enter(1 + (int)dice_below(&dice, N_FUNCTIONS - 1));
        } else if (what < 96 && depth) {
            leave(stack[--depth]);
        } else if (what >= 96 && now - since > MS / 10) {
            struct read_sync s;
            double total = (double)(now - since);

            wait_for(ticks);
            n_wrong += !next_sync(&s) || wrong_parts(&s, total);
            n_syncs++;
            n_truth = 0;
            since = now;
            read_at = sizeof *syncs.stream; /* what was read is not needed: one extent is enough */
            syncs.stream->n_bytes_used = sizeof *syncs.stream;
        }
    }
    tap_ok(n_syncs > 1000 && n_wrong == 0, "%d intervals as they were spent: %d wrong", n_syncs,
           n_wrong);
    while (depth)
        leave(stack[--depth]);
}

static void check_limit(void)
{
    uint64_t n_before = ar_live_header()->n_lost[AR_LOST_SYNCS];
    int n = 0;

    for (; n < 1000000 && ar_live_header()->n_lost[AR_LOST_SYNCS] == n_before; n++)
        wait_for(1);
    tap_ok(n > 100000 && n < 1000000, "%d records and no more", n);
    tap_ok(ar_live_header()->n_bytes_used < ar_live_header()->n_bytes_max / 2,
           "the file has room for other things");
}

int main(void)
{
    own_file_make();
    for (int i = 0; i < N_FUNCTIONS; i++) {
        char name[16];

        snprintf(name, sizeof name, "f%d", i);
        functions[i] = own_file_function(name);
    }
    t = ar_thread_self();
    if (!t) {
        printf("Bail out! no thread\n");
        return 2;
    }
    now = t->slot->start_ticks + 1000;
    read_at = sizeof *syncs.stream;
    check_what_was_before();
    check_by_hand();
    check_short_ones();
    check_small_ones();
    check_several_records();
    check_random();
    check_very_many();
    check_limit();
    ar_syncs_end(t, &syncs);
    ar_threads_stop();
    scratch_remove();
    return tap_done();
}
