// SPDX-License-Identifier: BSD-3-Clause
/*
 * Round trips, then damage: a small file with every byte changed and every length, as it is and
 * with checksums set right again, so that the damage reaches the readers of the sections. Whatever
 * is accepted has to be a profile.
 */
#include "format/runfile.h"

#include "dice.h"
#include "failing_alloc.h"
#include "sample_profile.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define N_ITEMS(array) (sizeof(array) / sizeof *(array))
#define HEAD_BYTES 16
#define ENTRY_BYTES 40

static struct ar_error error;

/* ---- profiles -------------------------------------------------------------------------------- */

static void add_messages(struct ar_profile *p, uint32_t step, uint32_t wait)
{
    uint32_t world = sample_comm(p, 0x1234567890abcdef, "MPI_COMM_WORLD", AR_COMM_WORLD, 4, 0);
    uint32_t row = sample_comm(p, 0, "row", AR_COMM_SPLIT, 2, world + 1);

    p->comms[row].is_hidden = 1;
    p->comms[row].made_at = step + 1;
    sample_traffic(p, (struct ar_traffic){.node = wait,
                                          .location = 1,
                                          .comm = row + 1,
                                          .peer = 1,
                                          .world_peer = 300,
                                          .size_class = 64,
                                          .n_out = 3,
                                          .bytes_out = (uint64_t)1 << 63,
                                          .n_in = 1,
                                          .bytes_in = 5,
                                          .ns = 777});
    sample_traffic(
        p, (struct ar_traffic){
               .node = step, .peer = AR_PEER_ALL, .world_peer = AR_PEER_OTHERS, .n_in = 200});
    sample_completed(p, (struct ar_completed){.node = wait,
                                              .location = 1,
                                              .posted = step,
                                              .n = 2,
                                              .flight_ns = 500,
                                              .waited_ns = 20,
                                              .exposed_ns = 21});
}

static void add_waits(struct ar_profile *p, uint32_t step, uint32_t wait)
{
    struct ar_profile_part parts[] = {{.node = step, .ns = 900},
                                      {.node = AR_NO_ID, .is_rest = 1, .ns = 80}};
    struct ar_profile_sync sync = {.location = 1,
                                   .kind = AR_SYNC_ALL,
                                   .comm = 1,
                                   .rank = AR_OWN_RANK(3, 1),
                                   .sequence = 5,
                                   .peer = AR_PEER_ALL,
                                   .node = wait,
                                   .enter_ns = 1000,
                                   .exit_ns = 1500,
                                   .n_parts = 2};

    sample_must(ar_profile_sync(p, sync, parts));
    sync = (struct ar_profile_sync){.location = 1,
                                    .kind = AR_SYNC_RECEIVE,
                                    .flags = AR_SYNC_NONBLOCKING,
                                    .sequence = (uint32_t)-7,
                                    .peer = 3,
                                    .node = wait,
                                    .posted = step + 1,
                                    .enter_ns = 1400,
                                    .exit_ns = 1500,
                                    .post_ns = 40};
    sample_must(ar_profile_sync(p, sync, NULL));
}

/* A thread waits on the row; of the world no member is needed then but for its row, which is hidden. */
static void add_open_calls(struct ar_profile *p)
{
    sample_open_call(p, (struct ar_open_call){.location = 1,
                                              .kind = AR_SYNC_RECEIVE,
                                              .flags = AR_CALL_ANY_REQUEST,
                                              .n_requests = 2,
                                              .comm = 2,
                                              .sequence = (uint32_t)-1,
                                              .peer = AR_PEER_UNKNOWN});
    sample_member(p, 0, 1, 1, 17);
    sample_member(p, 1, 1, 0, 0);
}

static void make_small(struct ar_profile *p)
{
    struct ar_process process = {.world_rank = 1,
                                 .world_size = 4,
                                 .pid = 77,
                                 .state = AR_PROCESS_RUNNING,
                                 .parent_pid = 76,
                                 .start_real_ns = 1700000000000000000u,
                                 .wall_ns = 12345,
                                 .overhead_ns = 321,
                                 .overheads_ns = {100, 0, 1, 2, 3, 4, 11}};
    struct ar_location location = {
        .thread = 2, .current = 3, .latest_real_ns = 1700000000000000777u};
    uint32_t id;

    sample_start(p);
    sample_must(ar_profile_fact(p, sample_str("command"), sample_str("heat.py")));
    process.host = sample_text(p, "node-7");
    location.name = sample_text(p, "worker");
    sample_rank(p, AR_RANK_NONE);
    sample_thread(p, 0, 0);
    sample_must(ar_profile_process(p, &process, &location.process));
    sample_must(ar_profile_location(p, &location, &id));
    for (int what = 0; what < 8; what++)
        sample_lose(p, 1, (enum ar_live_loss)what, (uint64_t)what + 1);

    uint32_t step = sample_node(p, 0, sample_function(p, AR_FUNCTION_PYTHON, "step", 3), 300);
    uint32_t wait = sample_node(p, step, sample_function(p, AR_FUNCTION_MPI, "MPI_Wait", 0), 8);

    for (int m = 0; m < AR_N_METRICS; m++) {
        sample_value(p, (enum ar_metric_id)m, wait, 1, 1000u << m);
        sample_value(p, (enum ar_metric_id)m, 0, (uint32_t)m % 2, 7);
    }
    sample_value(p, AR_METRIC_TIME, wait, 0, 9);
    add_messages(p, step, wait);
    add_waits(p, step, wait);
    add_open_calls(p);
}

static void make_huge(struct ar_profile *p)
{
    struct ar_process process = {.world_rank = UINT32_MAX - 1,
                                 .world_size = UINT32_MAX,
                                 .pid = UINT32_MAX,
                                 .start_real_ns = UINT64_MAX,
                                 .wall_ns = UINT64_MAX,
                                 .overhead_ns = UINT64_MAX};
    struct ar_location location = {
        .thread = UINT32_MAX, .current = 1, .latest_real_ns = UINT64_MAX};
    uint32_t id;

    sample_start(p);
    sample_must(ar_profile_process(p, &process, &id));
    sample_lose(p, id, AR_LOST_NODES, UINT64_MAX);
    sample_must(ar_profile_location(p, &location, &id));

    uint32_t f = sample_function(p, (enum ar_function_kind)UINT32_MAX, "f", UINT32_MAX);

    for (int m = 0; m < AR_N_METRICS; m++)
        sample_value(p, (enum ar_metric_id)m, sample_node(p, 0, f, UINT32_MAX), 0, UINT64_MAX);
    sample_comm(p, UINT64_MAX, "all", (enum ar_comm_origin)UINT32_MAX, UINT32_MAX, 0);
    sample_traffic(p, (struct ar_traffic){.node = 1,
                                          .comm = 1,
                                          .peer = UINT32_MAX,
                                          .world_peer = UINT32_MAX,
                                          .n_out = UINT64_MAX,
                                          .bytes_out = UINT64_MAX,
                                          .n_in = UINT64_MAX,
                                          .bytes_in = UINT64_MAX,
                                          .ns = UINT64_MAX});
    sample_completed(p, (struct ar_completed){.node = 1,
                                              .posted = 1,
                                              .n = UINT64_MAX,
                                              .flight_ns = UINT64_MAX,
                                              .waited_ns = UINT64_MAX});
}

/* In the order of their ends, thread by thread or not. */
static void add_random_waits(struct ar_profile *p, struct dice *d)
{
    uint64_t now = 0;

    for (uint32_t i = dice_below(d, 2000); i > 0; i--) {
        uint32_t n_nodes = (uint32_t)p->n_nodes;
        struct ar_profile_part parts[] = {
            {.node = dice_below(d, n_nodes), .ns = dice_number(d) >> 2},
            {.node = dice_below(d, n_nodes),
             .is_rest = dice_below(d, 2),
             .ns = dice_number(d) >> 2},
        };
        struct ar_profile_sync sync = {
            .location = dice_below(d, (uint32_t)p->n_locations),
            .kind = 1 + dice_below(d, AR_N_SYNC_KINDS - 1),
            .comm = dice_below(d, (uint32_t)p->n_comms + 1),
            .rank = AR_NO_ID, /* it is the same in all calls of a communicator */
            .sequence = dice_below(d, 1000000),
            .peer = dice_below(d, 9) - 4,
            .node = dice_below(d, n_nodes),
            .posted = dice_below(d, 2) ? dice_below(d, n_nodes) + 1 : 0,
            .n_parts = dice_below(d, 3),
        };

        now += dice_below(d, 1000);
        sync.exit_ns = now;
        sync.enter_ns = now - (now ? dice_below(d, (uint32_t)now) : 0);
        sync.post_ns = sync.posted ? sync.enter_ns / 2 : 0;
        sample_must(ar_profile_sync(p, sync, parts));
    }
    for (size_t i = 0; i < p->n_processes; i++) {
        p->processes[i].start_mono_ns = dice_number(d);
        p->processes[i].clock_links[1] =
            (struct ar_clock_link){dice_number(d), (int64_t)dice_roll(d), dice_number(d)};
    }
}

/* Deep and wide, values here and there, strings of any bytes. */
static void make_random(struct ar_profile *p, uint64_t seed)
{
    struct dice d = {seed};
    uint32_t n_nodes = 1 + dice_below(&d, 2000), n_ranks = 1 + dice_below(&d, 50);

    sample_start(p);
    for (uint32_t i = 0; i < n_ranks; i++)
        for (uint32_t rank = sample_rank(p, i), k = 1 + dice_below(&d, 3); k > 0; k--)
            sample_thread(p, rank, k - 1);
    for (uint32_t i = 1; i < n_nodes; i++) {
        uint64_t bytes = dice_roll(&d);
        struct ar_function f = {.kind = dice_below(&d, 7), .first_line = dice_below(&d, 10000)};
        struct ar_str name = {(const char *)&bytes, dice_below(&d, 9)};
        uint32_t id;

        sample_must(ar_profile_string(p, name, &f.name));
        sample_must(ar_profile_function(p, f, &id));
        sample_node(p, dice_below(&d, (uint32_t)p->n_nodes), id, dice_below(&d, 500));
    }
    for (uint32_t i = dice_below(&d, 20000); i > 0; i--)
        sample_value(p, (enum ar_metric_id)dice_below(&d, AR_N_METRICS),
                     dice_below(&d, (uint32_t)p->n_nodes), dice_below(&d, (uint32_t)p->n_locations),
                     dice_number(&d));
    for (uint32_t i = 0, n = dice_below(&d, 20); i < n; i++)
        sample_comm(p, dice_below(&d, 2) ? dice_roll(&d) : 0, "comm", AR_COMM_DUP, i,
                    dice_below(&d, (uint32_t)p->n_comms + 1));
    for (uint32_t i = dice_below(&d, 2000); i > 0; i--)
        sample_traffic(p, (struct ar_traffic){.node = dice_below(&d, (uint32_t)p->n_nodes),
                                              .location = dice_below(&d, (uint32_t)p->n_locations),
                                              .comm = dice_below(&d, (uint32_t)p->n_comms + 1),
                                              .peer = dice_below(&d, 9) - 4,
                                              .world_peer = dice_below(&d, 9) - 4,
                                              .size_class = dice_below(&d, 65),
                                              .n_out = dice_number(&d),
                                              .ns = dice_number(&d)});
    for (uint32_t i = dice_below(&d, 2000); i > 0; i--)
        sample_completed(p,
                         (struct ar_completed){.node = dice_below(&d, (uint32_t)p->n_nodes),
                                               .location = dice_below(&d, (uint32_t)p->n_locations),
                                               .posted = dice_below(&d, (uint32_t)p->n_nodes),
                                               .n = dice_number(&d),
                                               .waited_ns = dice_number(&d),
                                               .exposed_ns = dice_number(&d)});
    add_random_waits(p, &d);
}

/* ---- are they the same? ---------------------------------------------------------------------- */

static bool same_strings(const struct ar_strtab *a, const struct ar_strtab *b)
{
    bool same = a->n_strings == b->n_strings;

    for (uint32_t i = 0; same && i < a->n_strings; i++) {
        struct ar_str x = ar_strtab_get(a, i), y = ar_strtab_get(b, i);

        same = x.n_bytes == y.n_bytes && memcmp(x.text, y.text, x.n_bytes) == 0;
    }
    return same;
}

/* Structs without padding: the compiler has checked that in the widths. */
static bool same_items(const void *a, size_t n_a, const void *b, size_t n_b, size_t item_bytes)
{
    return n_a == n_b && (n_a == 0 || memcmp(a, b, n_a * item_bytes) == 0);
}

#define SAME_ITEMS(a, b, items, n_items)                                                           \
    same_items((a)->items, (a)->n_items, (b)->items, (b)->n_items, sizeof *(a)->items)

static bool same_processes(const struct ar_profile *a, const struct ar_profile *b)
{
    bool same = a->n_processes == b->n_processes;

    for (size_t i = 0; same && i < a->n_processes; i++) {
        const struct ar_process *x = &a->processes[i], *y = &b->processes[i];

        same = x->host == y->host && x->pid == y->pid && x->world_rank == y->world_rank &&
               x->world_size == y->world_size && x->state == y->state &&
               x->parent_pid == y->parent_pid && x->start_real_ns == y->start_real_ns &&
               x->wall_ns == y->wall_ns &&
               ar_profile_lost(a, (uint32_t)i, AR_LOST_NODES) ==
                   ar_profile_lost(b, (uint32_t)i, AR_LOST_NODES) &&
               ar_profile_lost_in_all(a, (uint32_t)i) == ar_profile_lost_in_all(b, (uint32_t)i) &&
               x->start_mono_ns == y->start_mono_ns &&
               memcmp(x->clock_links, y->clock_links, sizeof x->clock_links) == 0 &&
               x->overhead_ns == y->overhead_ns &&
               memcmp(x->overheads_ns, y->overheads_ns, sizeof x->overheads_ns) == 0;
    }
    return same;
}

static bool same_comms(const struct ar_profile *a, const struct ar_profile *b)
{
    bool same = a->n_comms == b->n_comms;

    for (size_t i = 0; same && i < a->n_comms; i++) {
        const struct ar_comm *x = &a->comms[i], *y = &b->comms[i];

        same = x->identity == y->identity && x->name == y->name && x->origin == y->origin &&
               x->size == y->size && x->remote_size == y->remote_size && x->parent == y->parent &&
               x->made_at == y->made_at && x->is_hidden == y->is_hidden;
    }
    return same;
}

static bool same_parts(const struct ar_stream_cursor *a, const struct ar_stream_cursor *b)
{
    struct ar_profile_part x[AR_MOST_PARTS], y[AR_MOST_PARTS];

    ar_stream_parts(a, x);
    ar_stream_parts(b, y);
    return memcmp(x, y, a->sync.n_parts * sizeof *x) == 0;
}

static bool same_call(const struct ar_stream_cursor *a, const struct ar_stream_cursor *b)
{
    const struct ar_profile_sync *x = &a->sync, *y = &b->sync;

    return x->rank == y->rank && x->location == y->location && x->kind == y->kind &&
           x->flags == y->flags && x->comm == y->comm && x->sequence == y->sequence &&
           x->peer == y->peer && x->node == y->node && x->posted == y->posted &&
           x->enter_ns == y->enter_ns && x->exit_ns == y->exit_ns && x->post_ns == y->post_ns &&
           x->n_parts == y->n_parts && same_parts(a, b);
}

static bool same_stream(const struct ar_stream *a, const struct ar_stream *b)
{
    struct ar_stream_cursor x, y;
    uint64_t n = 0;
    bool same = true;

    sample_must(ar_stream_open(&x, a));
    sample_must(ar_stream_open(&y, b));
    while (same && ar_stream_next(&x)) {
        same = ar_stream_next(&y) && same_call(&x, &y);
        n++;
    }
    same = same && !ar_stream_next(&y) && n == a->n_syncs && n == b->n_syncs;
    ar_stream_close(&x);
    ar_stream_close(&y);
    return same;
}

static bool same_streams(const struct ar_profile *a, const struct ar_profile *b)
{
    bool same = a->n_streams == b->n_streams;

    for (size_t i = 0; same && i < a->n_streams; i++)
        same = same_stream(&a->streams[i], &b->streams[i]);
    return same;
}

static bool same_profile(const struct ar_profile *a, const struct ar_profile *b)
{
    bool same = same_strings(&a->strings, &b->strings) && SAME_ITEMS(a, b, facts, n_facts) &&
                SAME_ITEMS(a, b, functions, n_functions) && SAME_ITEMS(a, b, nodes, n_nodes) &&
                SAME_ITEMS(a, b, locations, n_locations) && same_processes(a, b) &&
                same_comms(a, b) && SAME_ITEMS(a, b, members, n_members) &&
                SAME_ITEMS(a, b, traffic, n_traffic) && SAME_ITEMS(a, b, completed, n_completed) &&
                same_streams(a, b);

    for (int m = 0; same && m < AR_N_METRICS; m++)
        same = SAME_ITEMS(&a->metrics[m], &b->metrics[m], values, n_values);
    return same;
}

/* ---- round trips ----------------------------------------------------------------------------- */

static void check_round_trip(struct ar_profile *p, const char *what)
{
    struct ar_bytes bytes = {0}, again = {0};
    struct ar_profile q;

    tap_ok(ar_run_encode(p, &bytes) == AR_OK, "%s is encoded", what);

    bool decoded = ar_run_decode(&q, bytes.data, bytes.n, what, &error) == AR_OK;

    if (tap_ok(decoded, "%s is decoded", what)) {
        tap_ok(same_profile(p, &q) && sample_is_sound(&q), "%s is the same", what);
        tap_ok(ar_run_encode(&q, &again) == AR_OK && again.n == bytes.n &&
                   memcmp(again.data, bytes.data, bytes.n) == 0,
               "%s gives the same bytes again", what);
        ar_profile_free(&q);
    } else {
        tap_note("%s", error.text);
    }
    ar_bytes_free(&bytes);
    ar_bytes_free(&again);
    ar_profile_free(p);
}

static void test_round_trips(void)
{
    struct ar_profile p;

    sample_start(&p);
    check_round_trip(&p, "an empty profile");
    sample_start(&p);
    sample_thread(&p, sample_rank(&p, 0), 0);
    check_round_trip(&p, "a profile without metrics");
    make_small(&p);
    check_round_trip(&p, "a small profile");
    make_huge(&p);
    check_round_trip(&p, "a profile of the largest numbers");
    for (uint64_t seed = 1; seed <= 10; seed++) {
        make_random(&p, seed);
        check_round_trip(&p, "a random profile");
    }
}

/* What was decoded can be added to: equal things are found again. */
/* Of ranks that no thread waits for nothing is written: the file of a run that ended is as it was. */
static void test_members_without_waits(void)
{
    struct ar_bytes bytes = {0};
    struct ar_profile p, q;

    make_small(&p);
    p.n_open_calls = 0;
    tap_ok(ar_run_encode(&p, &bytes) == AR_OK &&
               ar_run_decode(&q, bytes.data, bytes.n, "ended", &error) == AR_OK && q.n_members == 0,
           "members are of no use where no thread waits");
    ar_profile_free(&p);
    ar_profile_free(&q);
    ar_bytes_free(&bytes);
}

static void test_merge_after_decoding(void)
{
    struct ar_bytes bytes = {0};
    struct ar_profile p, q;

    make_small(&p);
    sample_must(ar_run_encode(&p, &bytes));
    sample_must(ar_run_decode(&q, bytes.data, bytes.n, "small", NULL));
    tap_ok(ar_profile_merge(&q, &p) == AR_OK && sample_is_sound(&q), "merged with itself");
    tap_ok(q.n_nodes == p.n_nodes && q.n_functions == p.n_functions && q.n_facts == p.n_facts,
           "nothing is there twice");
    tap_ok(q.n_processes == p.n_processes && q.n_locations == p.n_locations,
           "nor are the processes");
    tap_ok(q.n_comms == p.n_comms && q.n_traffic == p.n_traffic && q.n_completed == p.n_completed,
           "nor communicators, messages and requests");
    tap_ok(ar_profile_n_syncs(&q) == 2 && same_streams(&p, &q), "nor waits");
    ar_bytes_free(&bytes);
    ar_profile_free(&p);
    ar_profile_free(&q);
}

/* ---- a file ---------------------------------------------------------------------------------- */

static struct ar_bytes small_file(void)
{
    struct ar_bytes bytes = {0};
    struct ar_profile p;

    make_small(&p);
    sample_must(ar_run_encode(&p, &bytes));
    ar_profile_free(&p);
    return bytes;
}

static uint64_t get_number(const unsigned char *at, size_t n_bytes)
{
    uint64_t number = 0;

    for (size_t i = n_bytes; i-- > 0;)
        number = number << 8 | at[i];
    return number;
}

static void put_number(unsigned char *at, size_t n_bytes, uint64_t number)
{
    for (size_t i = 0; i < n_bytes; i++)
        at[i] = (unsigned char)(number >> (8 * i));
}

static void set_checksums_right(unsigned char *file)
{
    for (uint64_t i = 0, n = get_number(file + 12, 4); i < n; i++) {
        unsigned char *entry = file + HEAD_BYTES + i * ENTRY_BYTES;

        put_number(entry + 32, 4,
                   ar_crc32(file + get_number(entry + 8, 8), get_number(entry + 16, 8)));
    }
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Refused, or a profile; never anything else. A refusal has a text that names the file. */
enum verdict { REFUSED, ACCEPTED, WRONG };

static enum verdict judge(const unsigned char *bytes, size_t n_bytes)
{
    struct ar_profile p;
    enum verdict verdict = REFUSED;

    memset(error.text, 0, sizeof error.text);
    if (ar_run_decode(&p, bytes, n_bytes, "x.allranks", &error) < 0)
        return strncmp(error.text, "x.allranks: ", 12) == 0 ? REFUSED : WRONG;
    verdict = sample_is_sound(&p) ? ACCEPTED : WRONG;
    ar_profile_free(&p);
    return verdict;
}

static void test_truncations(void)
{
    struct ar_bytes file = small_file();
    bool refused = true;

    for (size_t n = 0; n < file.n; n++) {
        unsigned char *copy = malloc(n ? n : 1);

        memcpy(copy, file.data, n);
        refused = refused && judge(copy, n) == REFUSED;
        free(copy);
    }
    tap_ok(refused, "each of %zu truncations is refused", file.n);
    tap_ok(judge(NULL, 0) == REFUSED, "so is no file at all");
    ar_bytes_free(&file);
}

static void test_flips(void)
{
    static const unsigned char flips[] = {1, 2, 4, 8, 16, 32, 64, 128, 255};
    struct ar_bytes file = small_file();
    size_t body = HEAD_BYTES + (size_t)ENTRY_BYTES * file.data[12], n_wrong = 0, n_accepted = 0;

    for (size_t i = 0; i < file.n; i++)
        for (size_t k = 0; k < sizeof flips; k++) {
            file.data[i] ^= flips[k];
            enum verdict verdict = judge(file.data, file.n);
            file.data[i] ^= flips[k];
            n_wrong += verdict == WRONG;
            n_accepted += verdict == ACCEPTED && i >= body;
        }
    tap_ok(n_wrong == 0, "every bit of %zu bytes changed: refused, or a profile", file.n);
    tap_ok(n_accepted == 0, "checksums notice every change in a section");
    ar_bytes_free(&file);
}

static void test_flips_with_good_checksums(void)
{
    struct ar_bytes file = small_file();
    size_t body = HEAD_BYTES + (size_t)ENTRY_BYTES * file.data[12], n_wrong = 0, n_refused = 0;

    for (size_t i = body; i < file.n; i++)
        for (unsigned flip = 1; flip < 256; flip++) {
            file.data[i] ^= (unsigned char)flip;
            set_checksums_right(file.data);
            enum verdict verdict = judge(file.data, file.n);
            file.data[i] ^= (unsigned char)flip;
            n_wrong += verdict == WRONG;
            n_refused += verdict == REFUSED;
        }
    tap_ok(n_wrong == 0, "every byte changed to every other, with good checksums");
    tap_ok(n_refused > 0, "of which %zu are refused", n_refused);
    ar_bytes_free(&file);
}

/* Several bytes at once, which makes numbers of several bytes. */
static void test_random_damage(void)
{
    struct ar_bytes file = small_file();
    size_t body = HEAD_BYTES + (size_t)ENTRY_BYTES * file.data[12], n_wrong = 0;
    unsigned char *copy = malloc(file.n);
    struct dice d = {5};

    for (int round = 0; round < 40000; round++) {
        size_t at = body + dice_below(&d, (uint32_t)(file.n - body));

        memcpy(copy, file.data, file.n);
        for (uint32_t n = 1 + dice_below(&d, 10); n > 0 && at < file.n; n--)
            copy[at++] = dice_below(&d, 3) ? 0xff : (unsigned char)dice_roll(&d);
        set_checksums_right(copy);
        n_wrong += judge(copy, file.n) == WRONG;
    }
    tap_ok(n_wrong == 0, "runs of damaged bytes: refused, or a profile");
    free(copy);
    ar_bytes_free(&file);
}

/* ---- sections by hand ------------------------------------------------------------------------ */

/* The file with one more section at its end. */
static struct ar_bytes with_section(const struct ar_bytes *file, uint32_t kind,
                                    const struct ar_bytes *section)
{
    uint32_t n = file->data[12];
    size_t table = HEAD_BYTES + (size_t)n * ENTRY_BYTES;
    struct ar_bytes out = {0};

    ar_bytes_put(&out, file->data, 12);
    ar_bytes_u32(&out, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const unsigned char *entry = file->data + HEAD_BYTES + (size_t)i * ENTRY_BYTES;

        ar_bytes_put(&out, entry, 8);
        ar_bytes_u64(&out, get_number(entry + 8, 8) + ENTRY_BYTES);
        ar_bytes_put(&out, entry + 16, ENTRY_BYTES - 16);
    }
    ar_bytes_u32(&out, kind);
    ar_bytes_u32(&out, 0);
    ar_bytes_u64(&out, file->n + ENTRY_BYTES);
    ar_bytes_u64(&out, section->n);
    ar_bytes_u64(&out, section->n);
    ar_bytes_u32(&out, ar_crc32(section->data, section->n));
    ar_bytes_u32(&out, 0);
    ar_bytes_put(&out, file->data + table, file->n - table);
    ar_bytes_put(&out, section->data, section->n);
    return out;
}

static enum verdict judge_with_section(uint32_t kind, const char *section, size_t n_bytes)
{
    struct ar_bytes file = small_file(), bytes = {0};

    ar_bytes_put(&bytes, section, n_bytes);

    struct ar_bytes longer = with_section(&file, kind, &bytes);
    enum verdict verdict = judge(longer.data, longer.n);

    ar_bytes_free(&file);
    ar_bytes_free(&bytes);
    ar_bytes_free(&longer);
    return verdict;
}

/* Up to version 4 a metric has its values row by row, each with its own locations. */
static void test_metric_of_version_4(void)
{
    static const char rows[] = "\x05"
                               "calls\x01"
                               "1\x00\x03"
                               "\x00\x01\x01"
                               "\x01\x02\x00\x01"
                               "\x07\x08\xac\x02";
    struct ar_bytes file = {0}, section = {0};
    struct ar_profile p;

    sample_start(&p);
    sample_node(&p, 0, sample_function(&p, AR_FUNCTION_PYTHON, "main", 1), 1);
    sample_thread(&p, sample_rank(&p, 0), 0);
    sample_thread(&p, sample_rank(&p, 1), 0);
    sample_must(ar_run_encode(&p, &file));
    ar_profile_free(&p);
    ar_bytes_put(&section, rows, sizeof rows - 1);

    struct ar_bytes old = with_section(&file, 7, &section);

    tap_ok(ar_run_decode(&p, old.data, old.n, "old", &error) == AR_OK && sample_is_sound(&p),
           "a metric of version 4 is read");
    tap_ok(sample_find(&p, AR_METRIC_CALLS, 0, 1) == 7 &&
               sample_find(&p, AR_METRIC_CALLS, 1, 0) == 8 &&
               sample_find(&p, AR_METRIC_CALLS, 1, 1) == 300,
           "with its values");
    ar_profile_free(&p);
    ar_bytes_free(&file);
    ar_bytes_free(&section);
    ar_bytes_free(&old);
}

#define JUDGE(kind, literal) judge_with_section(kind, literal, sizeof(literal) - 1)

static void test_sections_of_later_versions(void)
{
    tap_ok(JUDGE(99, "whatever") == ACCEPTED, "a kind of section that is not known is skipped");
    tap_ok(JUDGE(7, "\x06misses\x01n\x00\x01\x00\x01\x00\x05") == ACCEPTED, "a metric is kept");
}

static void test_sections_that_cannot_be(void)
{
    tap_ok(JUDGE(3, "\x00\x00") == REFUSED, "functions twice");
    tap_ok(JUDGE(4, "\x01\x00\x00") == REFUSED, "nodes twice");
    tap_ok(JUDGE(5, "\x00\x00") == REFUSED, "processes twice");
    tap_ok(JUDGE(6, "\x00\x00") == REFUSED, "locations twice");
    tap_ok(JUDGE(7, "\x05"
                    "calls\x01"
                    "1\x00\x00") == REFUSED,
           "a metric twice");
    tap_ok(JUDGE(12, "\x00") == REFUSED, "sets twice");
    tap_ok(JUDGE(13, "\x05"
                     "calls\x01"
                     "1\x00\x02\x00\x00") == REFUSED,
           "a packed metric twice");
    tap_ok(JUDGE(1, "\x01\x03new") == REFUSED, "a string out of turn");
    tap_ok(JUDGE(2, "\xff\xff\xff\xff\x0f") == REFUSED, "a count without items");
    tap_ok(JUDGE(8, "\x00\x00") == REFUSED, "communicators twice");
    tap_ok(JUDGE(9, "\x00") == REFUSED, "messages twice");
    tap_ok(JUDGE(10, "\x00") == REFUSED, "requests twice");
    tap_ok(JUDGE(14, "\x00") == REFUSED, "waits twice");
    tap_ok(JUDGE(18, "\x10synchronisations\x02\x03\x00\x06\x02\x00") == REFUSED, "waits twice");
}

/* What a section of an older version stands for; nothing else of that may be there. */
static uint32_t kind_today(uint32_t kind)
{
    return kind == 14 || kind == 15 ? 18 : kind == 9 || kind == 10 ? 17 : kind;
}

/* Another section of that kind instead of the file's own, which an older version has in another form; it comes last. */
static void replace_section(struct ar_bytes *file, uint32_t kind, const void *section, size_t n)
{
    bool is_replaced = false;

    for (uint32_t i = 0; i < file->data[12]; i++) {
        unsigned char *entry = file->data + HEAD_BYTES + (size_t)i * ENTRY_BYTES;

        if (get_number(entry, 4) != kind_today(kind))
            continue;
        put_number(entry, 4, is_replaced ? 11 : kind); /* 11 is passed over */
        put_number(entry + 8, 8, file->n);
        put_number(entry + 16, 8, n);
        put_number(entry + 24, 8, n);
        if (is_replaced)
            put_number(entry + 16, 8, 0);
        is_replaced = true;
    }
    ar_bytes_put(file, section, n);
    set_checksums_right(file->data);
}

static enum verdict judge_replaced(uint32_t kind, const void *section, size_t n)
{
    struct ar_bytes file = small_file();

    replace_section(&file, kind, section, n);

    enum verdict verdict = judge(file.data, file.n);

    ar_bytes_free(&file);
    return verdict;
}

/* Two of everything, column by column. There are 3 nodes, 2 locations and 2 communicators. */
static const struct {
    uint32_t kind;
    unsigned char bytes[40], n;
} by_hand[] = {
    {8,
     {2, 8, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0,
      0, 0, 0, 0, 1, 3, 4, 2, 0, 0, 0, 1, 0, 3, 0, 1},
     32},
    {9, {2, 1, 1, 0, 1, 0, 2, 4, 5, 4, 5, 0, 64, 1, 1, 9, 9, 0, 0, 0, 0, 7, 7}, 23},
    {10, {2, 1, 1, 0, 1, 2, 0, 1, 1, 5, 5, 3, 3, 2, 2}, 15},
    {14, /* a stream: its nodes, communicators, shapes; then its calls, the first with a part */
     {1, 1, 2, 1, 2, 2, 0,  2, 0,  2, 2, 1, 0, 0, 4, 0,  0,
      7, 1, 1, 5, 0, 2, 10, 2, 90, 9, 1, 1, 7, 4, 0, 80, 90},
     34},
    {15, /* the same with ranks, and patterns after the shapes */
     {1, 1, 2, 1, 2, 2, 0, 2, 0, 0, 2, 5,  2, 1, 0,   0, 4, 0,  0,
      7, 1, 1, 5, 0, 2, 1, 1, 4, 9, 2, 90, 9, 0, 255, 4, 0, 80, 90},
     38},
};

/* One byte that makes no sense; or more than one, so that two rows are the same. */
static const struct {
    uint32_t kind;
    const char *what;
    struct {
        unsigned char at, byte;
    } changes[3];
} nonsense[] = {
    {8, "a name that is no string", {{18, 120}}},
    {8, "a parent that comes later", {{27, 2}}},
    {8, "made at no node", {{29, 4}}},
    {8, "hidden, or what", {{31, 2}}},
    {8, "one communicator twice", {{10, 1}}},
    {9, "messages of no node", {{2, 2}}},
    {9, "messages of no thread", {{4, 2}}},
    {9, "messages on no communicator", {{6, 3}}},
    {9, "messages of no size", {{12, 65}}},
    {9, "messages out of order", {{2, 0}, {3, 1}, {4, 0}}},
    {10, "requests of no node", {{2, 2}}},
    {10, "requests of no thread", {{4, 2}}},
    {10, "requests that no node posted", {{5, 3}}},
    {10, "requests out of order", {{2, 0}, {4, 0}}},
    {14, "waits of no thread", {{1, 2}}},
    {14, "more waits than bytes", {{2, 9}}},
    {14, "more parts than bytes", {{3, 9}}},
    {14, "a wait at no node", {{5, 3}}},
    {14, "a wait on no communicator", {{8, 3}}},
    {14, "a wait of no kind", {{11, 0}}},
    {14, "a wait of a kind that there is not", {{17, AR_N_SYNC_KINDS}}},
    {14, "a wait on none of its communicators", {{13, 2}}},
    {14, "a wait at none of its nodes", {{15, 2}}},
    {14, "a wait that none of its nodes posted", {{22, 3}}},
    {14, "a stream that goes on", {{23, 11}}},
    {15, "waits of no thread", {{1, 2}}},
    {15, "more waits than bytes", {{2, 9}}},
    {15, "more parts than bytes", {{3, 10}}},
    {15, "a wait at no node", {{5, 3}}},
    {15, "a wait on no communicator", {{10, 3}}},
    {15, "a wait of no kind", {{13, 0}}},
    {15, "a wait of a kind that there is not", {{19, AR_N_SYNC_KINDS}}},
    {15, "a wait on none of its communicators", {{15, 2}}},
    {15, "a wait at none of its nodes", {{17, 2}}},
    {15, "a wait that none of its nodes posted", {{24, 3}}},
    {15, "a part that is none of its nodes", {{27, 6}}},
    {15, "a part that is a rest of nothing", {{27, 1}}},
    {15, "more parts than there can be", {{26, 41}}},
    {15, "a stream that goes on", {{28, 10}}},
};

static size_t by_hand_of(uint32_t kind)
{
    size_t i = 0;

    while (by_hand[i].kind != kind)
        i++;
    return i;
}

static void test_messages_by_hand(void)
{
    for (size_t i = 0; i < N_ITEMS(by_hand); i++)
        tap_ok(judge_replaced(by_hand[i].kind, by_hand[i].bytes, by_hand[i].n) == ACCEPTED,
               "section %u by hand: %s", by_hand[i].kind, error.text);
    for (size_t i = 0; i < N_ITEMS(nonsense); i++) {
        size_t which = by_hand_of(nonsense[i].kind);
        unsigned char bytes[sizeof by_hand[0].bytes];

        memcpy(bytes, by_hand[which].bytes, sizeof bytes);
        for (size_t k = 0; k < N_ITEMS(nonsense[i].changes); k++)
            if (nonsense[i].changes[k].at)
                bytes[nonsense[i].changes[k].at] = nonsense[i].changes[k].byte;
        tap_ok(judge_replaced(nonsense[i].kind, bytes, by_hand[which].n) == REFUSED,
               "section %u, refused, %s", nonsense[i].kind, nonsense[i].what);
    }
}

static uint64_t count_waits(uint32_t kind, const unsigned char *section, size_t n)
{
    struct ar_bytes file = small_file();
    struct ar_stream_cursor c;
    struct ar_profile p;
    uint64_t n_waits = 0;

    replace_section(&file, kind, section, n);
    sample_must(ar_run_decode(&p, file.data, file.n, "x.allranks", &error));
    sample_must(ar_stream_open(&c, &p.streams[0]));
    while (ar_stream_next(&c))
        n_waits++;
    ar_stream_close(&c);
    ar_profile_free(&p);
    ar_bytes_free(&file);
    return n_waits;
}

/* What makes no sense there is the end of it: the section's checksum says that it was written so. */
static void test_damaged_streams(void)
{
    static const struct {
        unsigned char kind, at, byte, n_waits;
        const char *what;
    } cases[] = {
        {14, 24, 2, 2, "nothing is wrong"},
        {14, 24, 14, 0, "a call of no shape"},
        {14, 26, 91, 0, "a call that began before all"},
        {14, 27, 255, 0, "more parts than there can be"},
        {14, 28, 2, 0, "a part of none of its nodes"},
        {14, 30, 8, 1, "the second of no shape"},
        {14, 32, 91, 1, "the second began before all"},
        {14, 33, 91, 1, "the second was posted before all"},
        {14, 31, 128, 1, "the second is cut off"},
        {15, 29, 2, 2, "nothing is wrong"},
        {15, 29, 14, 0, "a call of no shape"},
        {15, 31, 91, 0, "a call that began before all"},
        {15, 32, 1, 0, "a pattern that there is not"},
        {15, 33, 0, 2, "a part without a share"},
        {15, 34, 8, 1, "the second of no shape"},
        {15, 36, 91, 1, "the second began before all"},
        {15, 37, 91, 1, "the second was posted before all"},
        {15, 35, 128, 1, "the second is cut off"},
    };

    for (size_t i = 0; i < N_ITEMS(cases); i++) {
        size_t which = by_hand_of(cases[i].kind);
        unsigned char bytes[sizeof by_hand[0].bytes];

        memcpy(bytes, by_hand[which].bytes, sizeof bytes);
        bytes[cases[i].at] = cases[i].byte;

        uint64_t n = count_waits(cases[i].kind, bytes, by_hand[which].n);

        tap_ok(n == cases[i].n_waits, "section %u, %s: %zu waits", cases[i].kind, cases[i].what,
               (size_t)n);
    }
}

/* Of 81 ns before the first call 7 are known. */
static void test_old_parts(void)
{
    struct ar_profile_part parts[AR_MOST_PARTS] = {{0}};
    struct ar_bytes file = small_file();
    struct ar_stream_cursor c;
    struct ar_profile p;
    size_t which = by_hand_of(14);

    replace_section(&file, 14, by_hand[which].bytes, by_hand[which].n);
    sample_must(ar_run_decode(&p, file.data, file.n, "x.allranks", &error));
    sample_must(ar_stream_open(&c, &p.streams[0]));
    tap_ok(ar_stream_next(&c) && c.sync.n_parts == 2 && c.sync.rank == AR_NO_ID, "parts of old");
    ar_stream_parts(&c, parts);
    tap_ok(parts[0].node == AR_NO_ID && parts[0].is_rest && parts[0].ns == 74 &&
               parts[1].node == 0 && !parts[1].is_rest && parts[1].ns == 7,
           "what was not kept is not known: %u %u", (unsigned)parts[0].ns, (unsigned)parts[1].ns);
    ar_stream_close(&c);
    ar_profile_free(&p);
    ar_bytes_free(&file);
}

/* No processes, but four thousand million kinds of losses of theirs. */
static void test_losses_of_nobody(void)
{
    static const char section[] = "\x00\xff\xff\xff\xff\x0f";
    struct ar_bytes file = {0};
    struct ar_profile p;

    sample_start(&p);
    sample_must(ar_run_encode(&p, &file));
    replace_section(&file, 5, section, sizeof section - 1);
    tap_ok(judge(file.data, file.n) == REFUSED, "losses of nobody");
    ar_bytes_free(&file);
    ar_profile_free(&p);
}

/* A thousand entries for the same bytes would be a thousand times the work. */
static void test_sections_that_overlap(void)
{
    struct ar_bytes file = small_file();
    unsigned char *first = file.data + HEAD_BYTES, *last;
    struct ar_profile p;

    last = first + (size_t)(file.data[12] - 1) * ENTRY_BYTES;
    put_number(last, 4, 99); /* of a kind that is skipped */
    put_number(last + 8, 8, 0);
    put_number(last + 16, 8, file.n);
    set_checksums_right(file.data);
    tap_ok(ar_run_decode(&p, file.data, file.n, "x.allranks", &error) == AR_BAD &&
               strstr(error.text, "section 99"),
           "refused: %s", error.text);
    ar_bytes_free(&file);
}

static void test_heads(void)
{
    static const struct {
        size_t at;
        unsigned char byte;
        enum ar_status status;
        const char *text;
    } cases[] = {
        {0, 'x', AR_BAD, "not a run file of allranks"},
        {8, 1, AR_UNSUPPORTED, "version 1"},
        {8, AR_RUN_NEWEST_VERSION + 1, AR_UNSUPPORTED, "this allranks reads 2 to"},
        {HEAD_BYTES + 4, 1, AR_UNSUPPORTED, "newer allranks"}, /* codec */
        {HEAD_BYTES + 15, 1, AR_BAD, "truncated"},             /* offset */
        {HEAD_BYTES + 23, 1, AR_BAD, "truncated"},             /* length */
        {HEAD_BYTES + 32, 0, AR_BAD, "damaged"},               /* checksum */
        {12, 0, AR_BAD, "damaged"},                            /* no sections */
        {15, 1, AR_BAD, "run file"},                           /* 16 million of them */
    };

    for (size_t i = 0; i < N_ITEMS(cases); i++) {
        struct ar_bytes file = small_file();
        struct ar_profile p;

        file.data[cases[i].at] = cases[i].byte;

        enum ar_status status = ar_run_decode(&p, file.data, file.n, "x.allranks", &error);

        tap_ok(status == cases[i].status && strstr(error.text, cases[i].text), "byte %zu: %s",
               cases[i].at, error.text);
        ar_bytes_free(&file);
    }
}

static void test_no_memory(void)
{
    bool refused = true, worked = false;
    struct ar_bytes file = small_file();
    size_t n = 0;

    for (; !worked; n++) {
        struct ar_profile p;

        alloc_fail_after(n);
        enum ar_status status = ar_run_decode(&p, file.data, file.n, "x", NULL);
        alloc_restore();
        worked = status == AR_OK;
        refused = refused && status <= 0;
        if (worked)
            ar_profile_free(&p);
    }
    tap_ok(refused && n > 8, "decoding: every one of %zu allocations may fail", n - 1);
    worked = false;
    for (n = 0; !worked; n++) {
        struct ar_bytes out = {0};
        struct ar_profile p;

        make_small(&p);
        alloc_fail_after(n);
        enum ar_status status = ar_run_encode(&p, &out);
        alloc_restore();
        worked = status == AR_OK && out.n == file.n;
        refused = refused && (worked || status == AR_NOMEM);
        ar_bytes_free(&out);
        ar_profile_free(&p);
    }
    tap_ok(refused && n > 3, "encoding: every one of %zu allocations may fail", n - 1);
    ar_bytes_free(&file);
}

int main(void)
{
    test_round_trips();
    test_members_without_waits();
    test_merge_after_decoding();
    test_truncations();
    test_flips();
    test_flips_with_good_checksums();
    test_random_damage();
    test_metric_of_version_4();
    test_sections_of_later_versions();
    test_sections_that_cannot_be();
    test_messages_by_hand();
    test_damaged_streams();
    test_old_parts();
    test_losses_of_nobody();
    test_sections_that_overlap();
    test_heads();
    test_no_memory();
    return tap_done();
}
