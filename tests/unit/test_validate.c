// SPDX-License-Identifier: BSD-3-Clause
/*
 * What a writer leaves is accepted, whenever it is looked at or killed; what no writer leaves is not.
 *
 * The writer is the runtime's own tree, in a process of its own: threads that call, return from several
 * calls at once, begin and end regions out of order, make functions and values, send messages and wait
 * for others, come and go. The other half is an image made by hand, with one thing at a time gone wrong.
 */
#include "analysis/validate.h"

#include "dice.h"
#include "live_image.h"
#include "made_up.h"
#include "runtime/identity.h"
#include "runtime/measures.h"
#include "runtime/mpi_traffic.h"
#include "runtime/tree.h"
#include "scratch.h"
#include "tap.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

/* Random instants: more of them find more, and these take some seconds. */
#define N_KILLS 60
#define N_LOOKS 40
#define N_FUNCTIONS 5
#define N_STEPS 30000

static struct ar_error error;

/* ---- an image -------------------------------------------------------------------------------- */

enum { MAIN = 1, WORK, OURS };

/*
 *     root        open since 1000        thread 1: root    900, ended
 *     +- main     open since 1100                  +- work 800
 *     |  +- work  200, closed
 *     |  +- work  open since 2500  <- current
 *     +- ours     150, before the thread's time began anew
 */
static struct {
    size_t threads, records, nodes, values, other_nodes, stream;
    uint32_t root, main_ref, first, current, other_root, other;
    struct ar_live_thread *thread, *other_thread;
    struct ar_values *traffic, *completed;
    struct ar_sync *wait, *second_wait;
    size_t events;
    struct ar_record *described;
    struct ar_values *metrics, *line;
    uint64_t *event;
} at;

/* `first` has sent three messages, and completed two requests that the other thread had posted. */
static void build_messages(void)
{
    struct ar_live_comm world = {.identity = 7, .origin = AR_COMM_WORLD, .size = 4};
    struct ar_record head = {.kind = AR_RECORD_COMM, .n_linetable = sizeof world};

    image_record(at.records, head, "world", "", &world);
    at.traffic = image_values_after(at.values, at.first, AR_VALUES_TRAFFIC);
    at.traffic->words[AR_TRAFFIC_WHERE] = (uint64_t)at.first << 32 | 1 << 8 | 10;
    at.traffic->words[AR_TRAFFIC_N_OUT] = 3;
    at.completed = image_values_after(at.values, at.first, AR_VALUES_COMPLETED);
    at.completed->words[AR_COMPLETED_WHERE] = (uint64_t)at.first << 32;
    at.completed->words[AR_COMPLETED_POSTED] = at.other;
    at.completed->words[AR_COMPLETED_N] = 2;
}

/* It has waited for a rank, and for what the other thread had posted, after 300 ticks of `main`. */
static void build_waits(void)
{
    static const struct ar_sync blocked = {
        .kind = AR_SYNC_RECEIVE, .comm = 1, .enter_ticks = 1500, .exit_ticks = 1600};
    static const struct ar_sync posted = {.kind = AR_SYNC_ALL,
                                          .flags = AR_SYNC_NONBLOCKING,
                                          .comm = 1,
                                          .enter_ticks = 1900,
                                          .exit_ticks = 2000,
                                          .post_ticks = 1700};

    at.wait = image_sync(at.stream, blocked, (struct ar_sync_part[]){{at.main_ref, 250}}, 1);
    at.wait->node_ref = at.first;
    at.second_wait = image_sync(at.stream, posted,
                                (struct ar_sync_part[]){{at.main_ref, 300}, {at.root, 20}}, 2);
    at.second_wait->node_ref = at.first;
    at.second_wait->posted_ref = at.other;
}

/* A source of which only its records say what it measures. */
static void build_measures(void)
{
    at.described = image_measure(at.records, &made_up_metrics);
    image_measure(at.records, &made_up_lines);
    image_measure(at.records, &made_up_events);
    at.metrics = image_values_after(at.values, at.first, AR_FIRST_MEASURE);
    at.metrics->words[0] = (uint64_t)at.first << 32;
    at.line = image_values_after(at.values, at.first, AR_FIRST_MEASURE + 1);
    at.line->words[0] = (uint64_t)at.first << 32 | 12;
    at.events = image_extent((enum ar_extent_kind)(AR_FIRST_MEASURE + 2), 0, 1);
    at.event = image_row(at.events, (uint64_t[]){(uint64_t)MAIN << 32 | at.first, 0, 0}, 3);
}

static void build(void)
{
    image_start();
    at.threads = image_extent(AR_EXTENT_THREADS, 0, 1);
    at.records = image_extent(AR_EXTENT_RECORDS, 0, 1);
    at.nodes = image_extent(AR_EXTENT_NODES, 0, 1);
    at.values = image_extent(AR_EXTENT_VALUES, 0, 1);
    at.other_nodes = image_extent(AR_EXTENT_NODES, 1, 1);
    at.stream = image_extent(AR_EXTENT_STREAM, 0, 1);
    image_function(at.records, AR_FUNCTION_PYTHON, "main");
    image_function(at.records, AR_FUNCTION_MPI, "work");
    image_function(at.records, AR_FUNCTION_OURS, "ours");
    at.root = image_node(at.nodes, 0, 0, -1000, 1);
    at.main_ref = image_node(at.nodes, MAIN, at.root, -1100, 1);
    at.first = image_node(at.nodes, WORK | (uint64_t)3 << 32, at.main_ref, 200, 2);
    at.current = image_node(at.nodes, WORK | (uint64_t)9 << 32, at.main_ref, -2500, 1);
    image_node(at.nodes, OURS, at.root, 150, 9);
    image_values(at.values, at.first, AR_VALUES_MPI);
    image_values(at.values, at.first, AR_VALUES_ESTIMATE);
    at.other_root = image_node(at.other_nodes, 0, 0, 900, 1);
    at.other = image_node(at.other_nodes, WORK, at.other_root, 800, 1);
    at.thread = image_thread(at.threads, 0, at.root, "MainThread");
    at.other_thread = image_thread(at.threads, 1, at.other_root, "thread 1");
    at.thread->current_ref = at.current;
    at.thread->latest_ticks = 2900;
    at.other_thread->latest_ticks = at.other_thread->end_ticks = 1900;
    image_node_at(at.main_ref)->left_ref = image_node_at(at.main_ref)->guess_ref = at.first;
    image_node_at(at.first)->successor_ref = at.current;
    build_messages();
    build_waits();
    build_measures();
}

static enum ar_status validate_at(uint64_t now_ticks, struct ar_validated *found)
{
    struct ar_live live;
    enum ar_status status = ar_live_from_bytes(&live, image.bytes, image.n_bytes, "image", &error);

    if (status == AR_OK)
        status = ar_validate(&live, NULL, now_ticks, found, &error);
    ar_live_close(&live);
    return status;
}

static bool is_sound(void)
{
    struct ar_validated found;

    return validate_at(0, &found) == AR_OK && validate_at(3000, &found) == AR_OK;
}

static void test_image(void)
{
    struct ar_validated found = {0};

    build();
    tap_ok(validate_at(0, &found) == AR_OK, "an image is sound: %s", error.text);
    tap_ok(found.n_nodes == 7 && found.n_threads == 2 && found.n_at_rest == 2, "and is counted");
    image_start();
    tap_ok(is_sound(), "a header alone");
}

/* States that a kill may leave, each before one store of an event. */
static void test_between_stores(void)
{
    build();
    image_node_at(at.first)->ticks -= 2950;
    at.thread->current_ref = at.main_ref;
    image_node_at(at.current)->ticks = 400;
    tap_ok(is_sound(), "a call is open, and not the current one yet");
    build();
    image_node_at(at.current)->ticks += 2950;
    tap_ok(is_sound(), "a call is closed, and the current one still");
    image_node_at(at.main_ref)->ticks += 2950;
    tap_ok(is_sound(), "and so is its caller");
    build();
    image_at(at.nodes)->n_bytes_used += sizeof(struct ar_node);
    image_at(at.nodes)->n_bytes_used -= sizeof(struct ar_node);
    image_node_at(at.current)->n_calls++;
    tap_ok(is_sound(), "a call is counted, and not open yet");
    build();
    image_thread(at.threads, 2, 0, "");
    tap_ok(is_sound(), "a thread has a slot, and no tree yet");
    image_node(image_extent(AR_EXTENT_NODES, 2, 1), 0, 0, 0, 0);
    tap_ok(is_sound(), "it has a tree, and no root yet");
    build();
    image_room(at.values, sizeof(struct ar_values));
    tap_ok(is_sound(), "a message has a cell, and no chain leads to it yet");
    image_extent(AR_EXTENT_STREAM, 3, 1);
    tap_ok(is_sound(), "room for waits, and none yet");
}

/* What a writer leaves when its tables are full. */
static void test_no_room(void)
{
    build();
    at.traffic->words[AR_TRAFFIC_WHERE] = (uint64_t)at.first << 32;
    at.traffic->words[AR_TRAFFIC_PEER] = (uint64_t)AR_RANK_NONE << 32 | AR_PEER_OTHERS;
    at.completed->words[AR_COMPLETED_POSTED] = 0;
    at.wait->comm = 0;
    tap_ok(is_sound(), "messages, requests and waits that are not told apart: %s", error.text);
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

static struct ar_record *first_record(void)
{
    return (struct ar_record *)(image.bytes + at.records + sizeof(struct ar_extent));
}

#define WRONG(name, statement)                                                                     \
    static void name(void)                                                                         \
    {                                                                                              \
        statement;                                                                                 \
    }

WRONG(state, image_header()->state = 7)
WRONG(used, image_header()->n_bytes_max = 4096)
WRONG(record_length, first_record()->n_bytes += 8)
WRONG(record_kind, first_record()->kind = 9)
WRONG(function_kind, first_record()->function_kind = 0)
WRONG(region_to_come, first_record()->other = 3)
WRONG(slot_number, at.other_thread->number = 5)
WRONG(slot_name, memset(at.thread->name, 'x', sizeof at.thread->name))
WRONG(ends_early, at.other_thread->end_ticks = 1)
WRONG(owner, image_at(at.other_nodes)->owner = 2)
WRONG(owner_wild, image_at(at.other_nodes)->owner = UINT32_MAX)
WRONG(parent_later, image_node_at(at.first)->parent_ref = at.current)
WRONG(parent_self, image_node_at(at.first)->parent_ref = at.first)
WRONG(parent_elsewhere, image_node_at(at.other)->parent_ref = at.main_ref)
WRONG(parent_wild, image_node_at(at.first)->parent_ref = 1)
WRONG(two_roots, image_node_at(at.first)->parent_ref = 0)
WRONG(function_none, image_node_at(at.first)->key = 0)
WRONG(function_beyond, image_node_at(at.first)->key = 4)
WRONG(number_again,
      image_node_at(at.first)->flags = image_node_at(at.main_ref)->flags = 1u
                                                                           << AR_NODE_NUMBER_SHIFT)
WRONG(values_wild, image_node_at(at.first)->values_ref = at.current)
WRONG(values_twice, ((struct ar_values *)image_node_at(image_node_at(at.first)->values_ref))->kind =
                        AR_VALUES_MPI)
WRONG(values_kind,
      ((struct ar_values *)image_node_at(image_node_at(at.first)->values_ref))->kind = 77)
WRONG(guess, image_node_at(at.main_ref)->guess_ref = at.other)
WRONG(left, image_node_at(at.main_ref)->left_ref = UINT32_MAX)
WRONG(successor, image_node_at(at.first)->successor_ref = at.root)
WRONG(root_ref, at.thread->root_ref = at.main_ref)
WRONG(current_elsewhere, at.thread->current_ref = at.other)
WRONG(current_wild, at.thread->current_ref = 3)
WRONG(ended_open, at.thread->end_ticks = 2950)
WRONG(open_after_end, image_node_at(at.other)->ticks = -1500)
WRONG(open_elsewhere, at.thread->current_ref = at.root)
WRONG(open_in_closed, image_node_at(at.main_ref)->ticks = 1700)
WRONG(two_entered, at.thread->current_ref = at.main_ref; image_node_at(at.first)->ticks -= 2950)
WRONG(longer_than_caller, image_node_at(at.other)->ticks = 901)
WRONG(longer_than_open_caller, image_node_at(at.first)->ticks = 1500)
WRONG(open_before_start, image_node_at(at.current)->ticks = -20)
WRONG(root_too_long, image_node_at(at.root)->ticks = -900; image_node_at(at.root)->n_calls = 0)

WRONG(traffic_elsewhere, at.traffic->words[AR_TRAFFIC_WHERE] += (uint64_t)1 << 32)
WRONG(traffic_comm, at.traffic->words[AR_TRAFFIC_WHERE] += 1 << 8)
WRONG(traffic_size, at.traffic->words[AR_TRAFFIC_WHERE] += 55)
WRONG(completed_elsewhere, at.completed->words[AR_COMPLETED_WHERE] += (uint64_t)1 << 32)
WRONG(completed_wild, at.completed->words[AR_COMPLETED_POSTED] = at.completed->next_ref)
WRONG(chain_wild, at.traffic->next_ref = at.root)
WRONG(chain_round, at.traffic->next_ref = image_node_at(at.first)->values_ref)
WRONG(chain_of_two, image_node_at(at.current)->values_ref = image_node_at(at.first)->values_ref)

WRONG(measure_form, ((unsigned char *)(at.described + 1))[0] = 9)
WRONG(measure_cut, at.described->n_linetable -= 1)
WRONG(metrics_elsewhere, at.metrics->words[0] += (uint64_t)1 << 32)
WRONG(metrics_twice, at.line->kind = AR_FIRST_MEASURE)
WRONG(line_elsewhere, at.line->words[0] += (uint64_t)1 << 32)
WRONG(line_kind, at.line->kind = AR_FIRST_MEASURE + 2)
WRONG(event_node, at.event[0] = (uint64_t)MAIN << 32 | at.metrics->next_ref)
WRONG(event_function, at.event[0] = (uint64_t)99 << 32 | at.first)
WRONG(event_cut, image_at(at.events)->n_bytes_used -= 8)

static float *part_ticks(const struct ar_sync *sync, size_t i)
{
    return &((struct ar_sync_part *)(sync + 1))[i].ticks;
}

WRONG(wait_owner, image_at(at.stream)->owner = 2)
WRONG(wait_owner_wild, image_at(at.stream)->owner = UINT32_MAX)
WRONG(wait_other, image_at(at.stream)->owner = 1)
WRONG(wait_kind_none, at.wait->kind = AR_SYNC_NONE)
WRONG(wait_kind, at.wait->kind = AR_N_SYNC_KINDS)
WRONG(wait_flags, at.wait->flags = 8)
WRONG(wait_comm, at.wait->comm = 2)
WRONG(wait_node, at.wait->node_ref = at.wait->node_ref + 100)
WRONG(wait_python, at.wait->node_ref = at.main_ref)
WRONG(wait_elsewhere, at.wait->node_ref = at.other)
WRONG(wait_wild, at.wait->node_ref = UINT32_MAX)
WRONG(wait_backwards, at.wait->enter_ticks = 1601)
WRONG(wait_early, at.wait->enter_ticks = 999)
WRONG(wait_late, at.second_wait->exit_ticks = 2901)
WRONG(wait_out_of_order, at.wait->exit_ticks = 2001)
WRONG(post_none, at.second_wait->posted_ref = 0)
WRONG(post_python, at.second_wait->posted_ref = at.main_ref)
WRONG(post_wild, at.second_wait->posted_ref = UINT32_MAX)
WRONG(post_early, at.second_wait->post_ticks = 999)
WRONG(post_late, at.second_wait->post_ticks = 2001)
WRONG(post_of_blocking, at.second_wait->flags = 0)
WRONG(part_too_long, *part_ticks(at.second_wait, 0) = 401)
WRONG(part_too_long_first, *part_ticks(at.wait, 0) = 601)
WRONG(part_none, *part_ticks(at.second_wait, 1) = 0)
WRONG(part_rest_too_long, *part_ticks(at.second_wait, 1) = -401)
WRONG(part_no_number, *part_ticks(at.second_wait, 1) = __builtin_nanf(""))
WRONG(parts_too_many, at.second_wait->n_parts = 41)
WRONG(part_elsewhere, ((struct ar_sync_part *)(at.wait + 1))->node_ref = at.other)
WRONG(parts_cut_off, at.second_wait->n_parts = 3)
WRONG(parts_too_few, at.wait->n_parts = 0)
WRONG(wait_cut_off, image_at(at.stream)->n_bytes_used -= 8)

static void test_wrong(void)
{
    static const struct {
        const char *name;
        void (*plant)(void);
    } cases[] = {
#define CASE(name) {#name, name}
        CASE(state),
        CASE(used),
        CASE(record_length),
        CASE(record_kind),
        CASE(function_kind),
        CASE(region_to_come),
        CASE(slot_number),
        CASE(slot_name),
        CASE(ends_early),
        CASE(owner),
        CASE(owner_wild),
        CASE(parent_later),
        CASE(parent_self),
        CASE(parent_elsewhere),
        CASE(parent_wild),
        CASE(two_roots),
        CASE(function_none),
        CASE(function_beyond),
        CASE(number_again),
        CASE(values_wild),
        CASE(values_twice),
        CASE(values_kind),
        CASE(guess),
        CASE(left),
        CASE(successor),
        CASE(root_ref),
        CASE(current_elsewhere),
        CASE(current_wild),
        CASE(ended_open),
        CASE(open_after_end),
        CASE(open_elsewhere),
        CASE(open_in_closed),
        CASE(two_entered),
        CASE(longer_than_caller),
        CASE(longer_than_open_caller),
        CASE(open_before_start),
        CASE(root_too_long),
        CASE(measure_form),
        CASE(measure_cut),
        CASE(metrics_elsewhere),
        CASE(metrics_twice),
        CASE(line_elsewhere),
        CASE(line_kind),
        CASE(event_node),
        CASE(event_function),
        CASE(event_cut),
        CASE(traffic_elsewhere),
        CASE(traffic_comm),
        CASE(traffic_size),
        CASE(completed_elsewhere),
        CASE(completed_wild),
        CASE(chain_wild),
        CASE(chain_round),
        CASE(chain_of_two),
        CASE(wait_owner),
        CASE(wait_owner_wild),
        CASE(wait_other),
        CASE(wait_kind_none),
        CASE(wait_kind),
        CASE(wait_flags),
        CASE(wait_comm),
        CASE(wait_node),
        CASE(wait_python),
        CASE(wait_elsewhere),
        CASE(wait_wild),
        CASE(wait_backwards),
        CASE(wait_early),
        CASE(wait_late),
        CASE(wait_out_of_order),
        CASE(post_none),
        CASE(post_python),
        CASE(post_wild),
        CASE(post_early),
        CASE(post_late),
        CASE(post_of_blocking),
        CASE(part_too_long),
        CASE(part_too_long_first),
        CASE(part_none),
        CASE(part_rest_too_long),
        CASE(part_no_number),
        CASE(parts_too_many),
        CASE(part_elsewhere),
        CASE(parts_cut_off),
        CASE(parts_too_few),
        CASE(wait_cut_off),
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ar_validated found;

        build();
        cases[i].plant();
        error.text[0] = '\0';
        tap_ok(validate_at(0, &found) == AR_BAD && error.text[0], "refused, %s: %s", cases[i].name,
               error.text);
    }
}

/* Only what the time is known for. */
static void test_too_much_time(void)
{
    struct ar_validated found;

    build();
    image_node_at(at.first)->n_calls = 1000000;
    tap_ok(validate_at(3000, &found) == AR_BAD, "refused: %s", error.text);
    build();
    image_node_at(at.current)->ticks = -2000000;
    tap_ok(validate_at(3000, &found) == AR_BAD, "refused: %s", error.text);
}

/* Any word of the tables turned round is found, or does no harm; none is followed. */
static void test_random_damage(void)
{
    struct dice d = {11};
    int n_found = 0;

    for (int i = 0; i < 20000; i++) {
        struct ar_validated found;

        build();
        image.bytes[dice_below(&d, (uint32_t)image.n_bytes)] ^=
            (unsigned char)(1 + dice_below(&d, 255));
        n_found += validate_at(i % 2 ? 0 : 3000, &found) < 0;
    }
    tap_ok(n_found > 100, "damage at random places, found %d times", n_found);
}

/* ---- a writer -------------------------------------------------------------------------------- */

static uint32_t functions[N_FUNCTIONS], mpi_function;

static uint32_t new_mpi_function(void)
{
    struct ar_record head = {
        .kind = AR_RECORD_FUNCTION, .function_kind = AR_FUNCTION_MPI, .n_name = 8};

    return ar_livemap_record(&head, "MPI_Send", "", NULL);
}

/* A message to any of 50 ranks, which was posted by the call itself, and a wait. */
static void call_mpi(struct ar_thread *t, struct dice *d)
{
    static struct ar_mpi_comm nameless;
    struct ar_message message = {&nameless, dice_below(d, 50), dice_below(d, 1000)};
    struct ar_sync sync = {.kind = AR_SYNC_SEND, .enter_ticks = ar_ticks()};
    struct ar_node *node = ar_tree_enter(t, mpi_function, sync.enter_ticks);

    if (!node || (!t->mpi && !ar_mpi_thread_make(t)))
        return;
    if (!t->epoch)
        ar_syncs_begin(t, &t->mpi->syncs, sync.enter_ticks);
    sync.exit_ticks = ar_ticks();
    sync.node_ref = ar_live_ref(node);
    ar_tree_leave(t, node, sync.exit_ticks);
    ar_traffic_cell(t, node, &message);
    ar_completed_cell(t, node, sync.node_ref);
    ar_sync_add(t, &t->mpi->syncs, &sync);
}

static uint32_t new_function(uint32_t i)
{
    static const uint32_t marks[] = {0, 0, AR_MARK_REGION, AR_MARK_BUILTIN, AR_MARK_UNDER_OTHER};
    struct ar_record head = {
        .kind = AR_RECORD_FUNCTION, .function_kind = AR_FUNCTION_PYTHON, .n_name = 1 + i % 5};
    uint32_t number = ar_livemap_record(&head, "abcde", "", NULL);

    ar_tree_mark(number, marks[i % 5]);
    return number;
}

static void leave_some(struct ar_thread *t, struct dice *d)
{
    struct ar_node *node = t->current;

    for (uint32_t n = dice_below(d, 4); n && node->parent_ref; n--)
        node = ar_live_ptr(node->parent_ref);
    if (node != t->root)
        ar_tree_leave(t, node, ar_ticks());
}

/* Trees are to be small, or the file would be full soon and nothing happen any more. */
static bool is_deep(const struct ar_node *node)
{
    int depth = 0;

    for (; node->parent_ref; node = ar_live_ptr(node->parent_ref))
        depth++;
    return depth >= 3;
}

static uint32_t metrics, lines, events;

/* A value, a new row and an event that refers to the node it is in. */
static void measure(struct ar_thread *t, struct dice *d)
{
    static __thread struct ar_extent *extent;
    uint64_t *words = ar_measure_block(t, t->current, metrics);
    uint64_t event[] = {ar_live_ref(t->current), dice_below(d, 9), t->slot->latest_ticks};

    if (words)
        words[1] += 5;
    ar_measure_row(t, t->current, lines, (uint64_t[]){dice_below(d, 99), 1, 2}, 3);
    ar_measure_event(t, &extent, events, event, 3);
}

static void step(struct ar_thread *t, struct dice *d)
{
    uint32_t i = dice_below(d, N_FUNCTIONS);
    uint64_t place = (uint64_t)dice_below(d, 2) << 32;

    switch (dice_below(d, 12)) {
    case 0:
        leave_some(t, d);
        break;
    case 1:
        ar_tree_end_region(t, functions[i], ar_ticks());
        break;
    case 3:
        ar_tree_values(
            t, t->current,
            (uint32_t[]){AR_VALUES_MPI, AR_VALUES_ESTIMATE, AR_VALUES_TASK}[dice_below(d, 3)]);
        call_mpi(t, d);
        break;
    case 2:
        measure(t, d);
        break;
    case 4:
    case 5:
    case 6:
    case 7:
        if (t->current != t->root)
            ar_tree_leave(t, t->current, ar_ticks());
        break;
    default:
        if (!is_deep(t->current))
            ar_tree_enter(t, place | functions[i], ar_ticks());
    }
}

static void *work(void *seed)
{
    struct dice d = {(uint64_t)(uintptr_t)seed};
    struct ar_thread *t = ar_thread_self();

    for (int i = 0; t && i < N_STEPS; i++)
        step(t, &d);
    return NULL;
}

/* Threads come and go, and the first one works on. */
static void work_for_ever(uint64_t seed)
{
    struct dice d = {seed};
    struct ar_thread *t = ar_thread_self();
    pthread_t thread;

    for (uint32_t i = 0; i < N_FUNCTIONS; i++)
        functions[i] = new_function(i);
    mpi_function = new_mpi_function();
    metrics = ar_measure_begin(&made_up_metrics);
    lines = ar_measure_begin(&made_up_lines);
    events = ar_measure_begin(&made_up_events);
    for (;;) {
        if (pthread_create(&thread, NULL, work, (void *)(uintptr_t)++seed) != 0)
            continue;
        for (int i = 0; i < N_STEPS; i++)
            step(t, &d);
        new_function((uint32_t)seed);
        pthread_join(thread, NULL);
    }
}

/* Starts one; says where its file is. */
static pid_t start_writer(uint64_t seed, char *path, size_t n_path)
{
    int ends[2];
    pid_t pid = pipe(ends) == 0 ? fork() : -1;

    if (pid == 0) {
        struct ar_identity identity;

        ar_clock_choose();
        if (ar_identity_find(&identity, scratch_dir, NULL) < 0 ||
            ar_livemap_create(&identity, 64 << 20, NULL) < 0)
            _exit(2);
        dprintf(ends[1], "%s", ar_livemap_path());
        close(ends[1]);
        work_for_ever(seed);
    }
    close(ends[1]);

    ssize_t n = read(ends[0], path, n_path - 1);

    close(ends[0]);
    path[n > 0 ? n : 0] = '\0';
    return pid;
}

static void kill_writer(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void test_kills(void)
{
    struct dice d = {5};
    size_t n_sound = 0, n_restless = 0;

    for (int i = 0; i < N_KILLS; i++) {
        struct ar_validated found = {0};
        struct ar_live live;
        char path[512];
        pid_t pid = start_writer((uint64_t)i << 32, path, sizeof path);

        usleep(dice_below(&d, 20000));
        kill_writer(pid);
        if (ar_validate_file(path, &found, &error) == AR_OK &&
            ar_live_open(&live, path, &error) == AR_OK) {
            if (ar_validate(&live, NULL, 0, &found, &error) == AR_OK)
                n_sound++;
            else
                tap_note("%s: %s", path, error.text);
            ar_live_close(&live);
        } else {
            tap_note("%s", error.text);
        }
        n_restless += found.n_threads - found.n_at_rest;
        unlink(path);
    }
    tap_ok(n_sound == N_KILLS, "%zu of %d writers that were killed left a sound file", n_sound,
           N_KILLS);
    tap_ok(n_restless == 0, "whose threads are all at rest");
}

static void test_looks(void)
{
    struct ar_validated found = {0};
    size_t n_sound = 0, n_restless = 0;
    char path[512];
    pid_t pid = start_writer(77, path, sizeof path);

    for (int i = 0; i < N_LOOKS; i++) {
        if (ar_validate_file(path, &found, &error) == AR_OK)
            n_sound++;
        else
            tap_note("%s", error.text);
        n_restless += found.n_threads - found.n_at_rest;
        usleep(10000);
    }
    tap_ok(n_sound == N_LOOKS, "a writer that runs is sound whenever it is looked at");
    tap_ok(n_restless > 0, "and was caught at work %zu times", n_restless);
    kill(pid, SIGSTOP);
    usleep(50000);
    tap_ok(ar_validate_file(path, &found, &error) == AR_OK && found.n_at_rest == found.n_threads &&
               found.n_nodes > 100,
           "stopped, it is at rest: %zu nodes of %zu threads", found.n_nodes, found.n_threads);
    kill_writer(pid);
}

int main(void)
{
    scratch_make();
    test_image();
    test_between_stores();
    test_no_room();
    test_wrong();
    test_too_much_time();
    test_random_damage();
    test_kills();
    test_looks();
    scratch_remove();
    return tap_done();
}
