// SPDX-License-Identifier: BSD-3-Clause
#include "dice.h"
#include "failing_alloc.h"
#include "made_trace.h"
#include "tap.h"

/*
 * Nodes: 0 the root, in it 1 `f`, in that 2 `g` (known by its ref) and 3 `MPI_Send`. Every event that there is, 4 ns a unit.
 */
static const unsigned char every_kind[] = {
    0x02 | 10 << 2,
    0x00,
    0x01,
    0x00, /* after 40 ns: down to f */
    0x03,
    0x00,
    0x00,
    0x00,
    0x02,
    0x00, /* after 0: down to MPI_Send, long */
    0x01 | 5 << 2,
    0x00, /* after 20: up */
    0x10,
    0x05,
    1,
    1,
    6,
    14,
    0,
    9, /* it sent 9 bytes */
    0,
    0,
    0,
    0, /* */
    0x04,
    0x06,
    3,
    0,
    0,
    0,
    0,
    0, /* after 12: to g by its ref */
    0,
    0,
    0xea,
    0x03,
    0,
    0, /* */
    0x08,
    0x04,
    2,
    0,
    0,
    0,
    0,
    0, /* after 8: off */
    0,
    0, /* */
    0x0c,
    0x06,
    9,
    0,
    0,
    0,
    0,
    0, /* after 36: on, in g */
    0,
    0,
    0xea,
    0x03,
    0,
    0, /* */
    0x14,
    0x0a,
    1,
    0,
    0,
    0,
    0,
    0, /* after 4: a parameter */
    0,
    0,
    1,
    7,
    0,
    0,
    0,
    0, /* */
    0,
    0,
    0,
    1,
    'x',
    0, /* */
    0x14,
    0x0a,
    1,
    0,
    0,
    0,
    0,
    0, /* after 4: what a counter has counted */
    0,
    0,
    3,
    9,
    0,
    0,
    0,
    0, /* */
    0,
    0,
    0,
    1,
    'y',
    0, /* */
    0x01 | 1 << 2,
    0x00, /* after 4: up to f */
};

static const uint32_t parents[] = {0, 0, 1, 1};
static uint32_t nodes[4];
static struct ar_profile profile;
static uint32_t location;

static void start(void)
{
    uint32_t f;

    sample_start(&profile);
    f = sample_function(&profile, AR_FUNCTION_PYTHON, "f", 1);
    nodes[0] = 0;
    nodes[1] = sample_node(&profile, 0, f, 1);
    nodes[2] =
        sample_node(&profile, nodes[1], sample_function(&profile, AR_FUNCTION_PYTHON, "g", 2), 2);
    nodes[3] = sample_node(&profile, nodes[1],
                           sample_function(&profile, AR_FUNCTION_MPI, "MPI_Send", 0), 3);
    sample_comm(&profile, 3, "world", AR_COMM_WORLD, 3, 0);
    location = sample_thread(&profile, sample_rank(&profile, 0), 0);
}

/* As letters: what, at which time, of which node; in parentheses where it is implied. */
static void tell(const struct ar_trace_event *e, char *to, size_t n)
{
    static const char letters[] = "+-mpcoOF";

    snprintf(to + strlen(to), n - strlen(to), e->is_implied ? "(%c%u@%u)" : "%c%u@%u ",
             letters[e->kind], e->node == AR_NO_ID ? 9 : (unsigned)e->node, (unsigned)e->at_ns);
}

struct reading {
    enum ar_status opened, status;
    bool is_sound; /* times and nesting */
    char told[2048];
};

static void check_event(const struct ar_trace_event *e, uint64_t *last_ns, uint32_t *n_open,
                        struct reading *r)
{
    r->is_sound = r->is_sound && e->at_ns >= *last_ns && e->at_ns <= AR_TRACE_MOST_NS;
    if (e->kind == AR_EVENT_ENTER)
        r->is_sound = r->is_sound && e->depth == (*n_open)++;
    if (e->kind == AR_EVENT_LEAVE)
        r->is_sound = r->is_sound && *n_open && e->depth == --*n_open;
    *last_ns = e->at_ns;
    if (strlen(r->told) < 1900)
        tell(e, r->told, sizeof r->told);
}

static struct reading read_part(uint64_t from_ns, uint64_t to_ns)
{
    struct reading r = {.is_sound = true};
    struct ar_trace trace;
    struct ar_trace_cursor c;
    struct ar_trace_event e;
    struct ar_error err;
    uint64_t last_ns = 0;
    uint32_t n_open = 0;

    r.opened = ar_trace_open(&trace, &profile, &profile.other_streams.items[0], &err);
    if (r.opened < 0)
        return r;
    ar_trace_seek(&c, &trace, from_ns, to_ns);
    while (ar_trace_next(&c, &e))
        check_event(&e, &last_ns, &n_open, &r);
    r.status = c.status;
    r.is_sound = r.is_sound && (c.status < 0 || !n_open);
    ar_trace_end(&c);
    ar_trace_close(&trace);
    return r;
}

static void make(struct made_trace *m, const void *bytes, size_t n_bytes)
{
    start();
    *m = (struct made_trace){.nodes = nodes, .parents = parents, .n_items = 4};
    made_chunk(m, bytes, n_bytes, 100, 0, false);
}

static void unmake(struct made_trace *m)
{
    ar_profile_free(&profile);
    made_trace_free(m);
}

static struct reading read_bytes(const void *bytes, size_t n_bytes, uint64_t from_ns,
                                 uint64_t to_ns)
{
    struct made_trace m;
    struct reading r;

    make(&m, bytes, n_bytes);
    made_trace_add(&m, &profile, location);
    r = read_part(from_ns, to_ns);
    unmake(&m);
    return r;
}

static void test_every_kind(void)
{
    struct reading r = read_bytes(every_kind, sizeof every_kind, 0, UINT64_MAX);

    tap_ok(r.opened == AR_OK && r.status == AR_OK && r.is_sound, "a trace is read");
    tap_note("%d %d %s", r.opened, r.status, r.told);
    tap_ok(strstr(r.told, "(+0@100)+1@140 ") == r.told, "what is open begins it");
    tap_ok(strstr(r.told, "+2@") && strstr(r.told, "o2@") && strstr(r.told, "O2@") &&
               strstr(r.told, "p2@") && strstr(r.told, "c2@"),
           "off, on, a parameter and a counter in g, which is named by its ref");
    tap_ok(strstr(r.told, "-2@") && strstr(r.told, "(-1@1000000)(-0@1000000)"),
           "what is open ends with the thread");
    r = read_bytes(every_kind, sizeof every_kind, 141, 150);
    tap_ok(r.is_sound && strstr(r.told, "(+0@141)(+1@141)") == r.told,
           "a window begins with what is open");
}

static void test_damaged(void)
{
    size_t n_bad = 0, n_unsound = 0;

    for (size_t i = 0; i < 8 * sizeof every_kind; i++) {
        unsigned char bytes[sizeof every_kind];
        struct reading r;

        memcpy(bytes, every_kind, sizeof bytes);
        bytes[i / 8] ^= (unsigned char)(1 << i % 8);
        r = read_bytes(bytes, sizeof bytes, 0, UINT64_MAX);
        n_bad += r.status < 0;
        n_unsound += !r.is_sound || (r.status < 0 && r.status != AR_BAD);
    }
    tap_ok(n_bad && !n_unsound, "every bit flipped: it is sound, or it says that it is damaged");
    n_unsound = 0;
    for (size_t n = 0; n <= sizeof every_kind; n++) {
        struct reading r = read_bytes(every_kind, n, 0, UINT64_MAX);

        n_unsound += !r.is_sound || (r.status < 0 && r.status != AR_BAD);
    }
    tap_ok(!n_unsound, "cut anywhere, and of no bytes at all");
}

static void test_late(void)
{
    static const unsigned char late[] = {0x08, 0x04, 0, 0, 0, 0, 0, 0, 0, 0xf0};
    struct reading r = read_bytes(late, sizeof late, 0, UINT64_MAX);

    tap_ok(r.status == AR_OK && r.is_sound, "a time that no clock can show is the latest one");
}

static void test_damaged_index(void)
{
    struct ar_bytes index = {0};
    struct made_trace m;
    size_t n_refused = 0, n_unsound = 0;

    make(&m, every_kind, sizeof every_kind);
    made_index(&m, &index);
    unmake(&m);
    for (size_t i = 0; i < 8 * index.n + index.n; i++) {
        size_t n_left = i < 8 * index.n ? 0 : i - 8 * index.n;
        struct ar_bytes changed = {0};
        struct reading r;

        make(&m, every_kind, sizeof every_kind);
        made_index(&m, &changed);
        made_bulk(&m, &profile);
        if (i < 8 * index.n)
            changed.data[i / 8] ^= (unsigned char)(1 << i % 8);
        else
            changed.n = n_left;
        made_stream(&m, &profile, location, &changed);
        r = read_part(0, UINT64_MAX);
        n_refused += r.opened < 0;
        n_unsound += r.opened == AR_NOMEM || r.status == AR_NOMEM || !r.is_sound;
        ar_bytes_free(&changed);
        unmake(&m);
    }
    tap_ok(n_refused && !n_unsound, "of the index every bit flipped, and cut anywhere");
    ar_bytes_free(&index);
}

static void test_no_memory(void)
{
    struct made_trace m;
    struct reading r = {.opened = AR_NOMEM};
    size_t n = 0;
    bool is_told = true;

    make(&m, every_kind, sizeof every_kind);
    made_trace_add(&m, &profile, location);
    for (; n < 200 && (r.opened < 0 || r.status < 0); n++) {
        alloc_fail_after(n);
        r = read_part(0, UINT64_MAX);
        alloc_restore();
        is_told = is_told && r.is_sound;
    }
    tap_ok(n > 3 && r.status == AR_OK && is_told, "without memory it fails, at each allocation");
    unmake(&m);
}

static bool is_same(const struct ar_trace_message *a, const struct ar_trace_message *b)
{
    return a->kind == b->kind && a->sync == b->sync && a->may_pass == b->may_pass &&
           a->comm == b->comm && a->peer == b->peer && a->rank == b->rank && a->tag == b->tag &&
           a->sequence == b->sequence && a->bytes_out == b->bytes_out &&
           a->bytes_in == b->bytes_in && a->request == b->request;
}

/* Small, the usual, or anything: each of them is stored in another way. */
static uint64_t any_number(struct dice *d, uint64_t usual)
{
    uint32_t what = dice_below(d, 4);

    return what == 0   ? usual
           : what == 1 ? dice_below(d, 300)
           : what == 2 ? UINT64_MAX
                       : (uint64_t)dice_below(d, UINT32_MAX) << dice_below(d, 30);
}

static void test_messages(void)
{
    struct dice d = {11};
    bool all_same = true, none_of_part = true;

    for (int i = 0; i < 20000; i++) {
        unsigned char bytes[AR_TRACE_MOST_PAYLOAD + 1] = {0};
        struct ar_trace_message got = {0};
        const struct ar_trace_message message = {
            .kind = (uint8_t)(1 + dice_below(&d, AR_N_TRACE_MESSAGE_KINDS - 1)),
            .sync = (uint8_t)dice_below(&d, AR_N_SYNC_KINDS),
            .may_pass = dice_below(&d, 2),
            .comm = (uint32_t)any_number(&d, 1),
            .peer = (uint32_t)any_number(&d, UINT32_MAX),
            .rank = (uint32_t)any_number(&d, 0),
            .tag = (int32_t)any_number(&d, 0),
            .sequence = (uint32_t)any_number(&d, 0),
            .bytes_out = any_number(&d, 0),
            .bytes_in = any_number(&d, 0),
            .request = any_number(&d, 0)};
        struct ar_trace_item item = {
            .tag = AR_TRACE_MORE, .code = AR_TRACE_MESSAGE, .payload = bytes};

        item.n_payload = ar_trace_message_put(&message, bytes);
        for (size_t n = item.n_payload; n-- > 0;) {
            struct ar_trace_item part = item;

            part.n_payload = n;
            none_of_part = none_of_part && !ar_trace_message_get(&got, &part);
        }
        all_same = all_same && ar_trace_message_get(&got, &item) && is_same(&message, &got);
        item.n_payload += item.n_payload % 2; /* in a chunk */
        all_same = all_same && ar_trace_message_get(&got, &item) && is_same(&message, &got);
    }
    tap_ok(all_same, "messages are read as they were written");
    tap_ok(none_of_part, "a part of one is none");
}

static void test_size_of_messages(void)
{
    const struct ar_trace_message sent = {
        .kind = AR_TRACE_SEND, .comm = 1, .peer = 1, .sequence = 1000, .bytes_out = 1024};
    static const unsigned char before[] = {1, 1, 5, 14, 0xe8, 7, 0x80, 8, 0, 0, 0, 0};
    const struct ar_trace_item item = {.tag = AR_TRACE_MORE,
                                       .code = AR_TRACE_MESSAGE,
                                       .payload = before,
                                       .n_payload = sizeof before};
    struct ar_trace_message expected = sent, got = {0};
    unsigned char bytes[AR_TRACE_MOST_PAYLOAD];

    expected.tag = 7;
    tap_ok(ar_trace_message_put(&sent, bytes) == 7, "a usual message takes seven bytes");
    tap_ok(ar_trace_message_get(&got, &item) && is_same(&expected, &got),
           "one of the version before is read");
}

int main(void)
{
    test_messages();
    test_size_of_messages();
    test_every_kind();
    test_damaged();
    test_late();
    test_damaged_index();
    test_no_memory();
    return tap_done();
}
