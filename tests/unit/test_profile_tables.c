// SPDX-License-Identifier: BSD-3-Clause
/*
 * Communicators, messages and requests: from live files made by hand into one profile, through
 * merging, folding and a run file, always to the same sums.
 */
#include "analysis/fold.h"
#include "analysis/validate.h"
#include "format/live_profile.h"
#include "format/runfile.h"

#include "failing_alloc.h"
#include "live_image.h"
#include "sample_profile.h"
#include "tap.h"

static struct ar_error error;

/* ---- a live file ------------------------------------------------------------------------------ */

struct made {
    size_t threads, records, nodes, values;
    uint32_t root, main_ref, post, wait, operation, send;
};

static void add_comm(size_t records, struct ar_live_comm facts, const char *name)
{
    struct ar_record head = {.kind = AR_RECORD_COMM, .n_linetable = sizeof facts};

    image_record(records, head, name, "", &facts);
}

static uint64_t where(uint32_t ref, uint32_t comm, uint32_t size_class)
{
    return (uint64_t)ref << 32 | comm << 8 | size_class;
}

static uint64_t *add_traffic(const struct made *m, uint32_t ref, uint32_t comm, uint32_t peer)
{
    struct ar_values *values = image_values(m->values, ref, AR_VALUES_TRAFFIC);

    values->words[AR_TRAFFIC_WHERE] = where(ref, comm, 4);
    values->words[AR_TRAFFIC_PEER] = peer | (uint64_t)(peer + 10) << 32;
    values->words[AR_TRAFFIC_N_OUT] = 2;
    values->words[AR_TRAFFIC_BYTES_OUT] = 20;
    values->words[AR_TRAFFIC_N_IN] = 1;
    values->words[AR_TRAFFIC_BYTES_IN] = 9;
    values->words[AR_TRAFFIC_TICKS] = 50;
    return values->words;
}

static uint64_t *add_completed(const struct made *m, uint32_t ref, uint32_t posted)
{
    struct ar_values *values = image_values(m->values, ref, AR_VALUES_COMPLETED);

    values->words[AR_COMPLETED_WHERE] = (uint64_t)ref << 32;
    values->words[AR_COMPLETED_POSTED] = posted;
    values->words[AR_COMPLETED_N] = 3;
    values->words[AR_COMPLETED_FLIGHT_TICKS] = 300;
    values->words[AR_COMPLETED_WAITED_TICKS] = 30;
    values->words[AR_COMPLETED_EXPOSED_TICKS] = 50;
    return values->words;
}

static void add_functions(struct made *m)
{
    image_record(m->records, (struct ar_record){.kind = AR_RECORD_FACT}, "builtins", "counted",
                 NULL);
    image_function(m->records, AR_FUNCTION_PYTHON, "main");
    image_function(m->records, AR_FUNCTION_MPI, "MPI_Irecv");
    image_function(m->records, AR_FUNCTION_MPI, "MPI_Wait");
    image_function(m->records, AR_FUNCTION_OPERATION, "Comm.send");
    image_function(m->records, AR_FUNCTION_MPI, "MPI_Send_c");
    image_function(m->records, AR_FUNCTION_BUILTIN, "built-in method _pickle.dumps");
}

/* 1 the world, 2 itself, 3 a hidden duplicate of the world, 4 made without identity, at `post`. */
static void add_comms(const struct made *m, uint32_t rank)
{
    add_comm(m->records, (struct ar_live_comm){.identity = 77, .origin = AR_COMM_WORLD, .size = 8},
             "MPI_COMM_WORLD");
    add_comm(m->records,
             (struct ar_live_comm){.identity = 100 + rank, .origin = AR_COMM_SELF, .size = 1},
             "MPI_COMM_SELF");
    add_comm(m->records,
             (struct ar_live_comm){
                 .identity = 78, .parent = 1, .origin = AR_COMM_DUP, .size = 8, .is_hidden = 1},
             "");
    add_comm(
        m->records,
        (struct ar_live_comm){.parent = 1, .origin = AR_COMM_SPLIT, .size = 4, .made_ref = m->post},
        "later");
    image_record(m->records, (struct ar_record){.kind = AR_RECORD_COMM_NAME, .other = 4}, "row", "",
                 NULL);
}

static struct made make_rank(uint32_t rank)
{
    struct made m = {0};

    image_start();
    image_header()->world_rank = rank;
    image_header()->pid = 1000 + rank;
    m.threads = image_extent(AR_EXTENT_THREADS, 0, 1);
    m.records = image_extent(AR_EXTENT_RECORDS, 0, 1);
    m.nodes = image_extent(AR_EXTENT_NODES, 0, 1);
    m.values = image_extent(AR_EXTENT_VALUES, 0, 1);
    m.root = image_node(m.nodes, 0, 0, -1000, 1);
    m.main_ref = image_node(m.nodes, 1, m.root, -1001, 1);
    m.post = image_node(m.nodes, 2, m.main_ref, 100, 3);
    m.wait = image_node(m.nodes, 3, m.main_ref, 200, 3);
    m.operation = image_node(m.nodes, 4, m.main_ref, 90, 1);
    m.send = image_node(m.nodes, 5, m.operation, 60, 1);
    image_node(m.nodes, 6, m.operation, 4, 1);
    image_thread(m.threads, 0, m.root, "MainThread")->current_ref = m.main_ref;
    add_functions(&m);
    add_comms(&m, rank);
    image_values(m.values, m.post, AR_VALUES_MPI)->words[AR_MPI_BYTES_IN] = 9;
    add_traffic(&m, m.post, 1, 0);
    add_traffic(&m, m.post, 4, 1);
    add_traffic(&m, m.send, 3, 0);
    add_completed(&m, m.wait, m.post);
    return m;
}

static enum ar_status add_image(struct ar_profile *p)
{
    struct ar_live live;
    enum ar_status status = ar_live_from_bytes(&live, image.bytes, image.n_bytes, "image", &error);

    if (status == AR_OK) {
        status = ar_profile_add_live(p, &live, 0, &error);
        ar_live_close(&live);
    }
    return status;
}

static void make_two_ranks(struct ar_profile *p)
{
    sample_start(p);
    for (uint32_t rank = 0; rank < 2; rank++) {
        make_rank(rank);
        sample_must(add_image(p));
    }
}

/* ---- what became of it ------------------------------------------------------------------------ */

static const char *name_of(const struct ar_profile *p, uint32_t comm)
{
    return ar_strtab_text(&p->strings, p->comms[comm].name);
}

static bool is_made_at(const struct ar_profile *p, uint32_t comm, const char *path)
{
    char found[1024] = "";

    if (p->comms[comm].made_at)
        sample_path(p, p->comms[comm].made_at - 1, found, sizeof found);
    return strcmp(found, path) == 0;
}

static void check_comms(const struct ar_profile *p, const char *what)
{
    tap_ok(p->n_comms == 4, "%s: %zu communicators of two ranks", what, p->n_comms);
    tap_ok(p->comms[0].identity == 77 && p->comms[0].size == 8 &&
               strcmp(name_of(p, 0), "MPI_COMM_WORLD") == 0,
           "%s: the world", what);
    tap_ok(p->comms[1].origin == AR_COMM_SELF, "%s: one MPI_COMM_SELF for all", what);
    tap_ok(p->comms[2].is_hidden && ar_comm_shown(p, 3) == 1,
           "%s: a duplicate is shown as the world", what);
    tap_ok(strcmp(name_of(p, 3), "row") == 0 && p->comms[3].parent == 1 &&
               is_made_at(p, 3, "/main:0/MPI_Irecv:0") && ar_comm_shown(p, 4) == 4,
           "%s: one by its name, parent and place", what);
}

static uint64_t sum_of_traffic(const struct ar_profile *p, const char *path, uint32_t comm,
                               uint64_t *ns)
{
    uint64_t bytes = 0;

    *ns = 0;
    for (size_t i = 0; i < p->n_traffic; i++)
        if (p->traffic[i].node == sample_node_at(p, path) && p->traffic[i].comm == comm) {
            bytes += p->traffic[i].bytes_out + p->traffic[i].bytes_in;
            *ns += p->traffic[i].ns;
        }
    return bytes;
}

static void check_messages(const struct ar_profile *p, const char *what)
{
    uint64_t ns;

    tap_ok(p->n_traffic == 6 && p->n_completed == 2, "%s: rows of messages and requests", what);
    tap_ok(sum_of_traffic(p, "/main:0/MPI_Irecv:0", 1, &ns) == 2 * 29 && ns == 2 * 100,
           "%s: messages in the world", what);
    tap_ok(sum_of_traffic(p, "/main:0/MPI_Irecv:0", 4, &ns) == 2 * 29, "%s: in the row", what);
    tap_ok(sum_of_traffic(p, "/main:0/Comm.send:0/MPI_Send_c:0", 3, &ns) == 2 * 29,
           "%s: below an operation", what);
    tap_ok(p->traffic[0].peer + 10 == p->traffic[0].world_peer && p->traffic[0].size_class == 4 &&
               p->traffic[0].n_out == 2 && p->traffic[0].n_in == 1,
           "%s: peer, size and counts", what);
    tap_ok(p->completed[0].node == sample_node_at(p, "/main:0/MPI_Wait:0") &&
               p->completed[0].posted == sample_node_at(p, "/main:0/MPI_Irecv:0") &&
               p->completed[0].n == 3 && p->completed[0].flight_ns == 600 &&
               p->completed[0].waited_ns == 60 && p->completed[0].exposed_ns == 100 &&
               p->completed[1].location == 1,
           "%s: requests, from post to end", what);
    tap_ok(sample_is_sound(p), "%s: all of it is sound", what);
}

static void test_two_ranks(void)
{
    struct ar_profile p;

    make_two_ranks(&p);
    sample_must(ar_profile_sort(&p));
    check_comms(&p, "live files");
    check_messages(&p, "live files");
    tap_ok(sample_node_at(&p, "/main:0/Comm.send:0/built-in method _pickle.dumps:0") != AR_NO_ID,
           "pickling is shown, however short");
    ar_profile_free(&p);
}

/* The same process again, recorded for longer, takes the place of the first. */
static void test_twins(void)
{
    struct ar_profile p;

    make_two_ranks(&p);
    make_rank(1);
    image_header()->latest.ticks += 1000;
    sample_must(add_image(&p));
    sample_must(ar_profile_sort(&p));
    check_comms(&p, "a twin");
    tap_ok(p.n_traffic == 6 && p.n_completed == 2 && sample_is_sound(&p),
           "the older one's messages are gone");
    ar_profile_free(&p);
}

static void test_run_file_and_merge(void)
{
    struct ar_profile p, q, all;
    struct ar_bytes bytes = {0};

    sample_start(&p);
    make_rank(0);
    sample_must(add_image(&p));
    sample_start(&q);
    make_rank(1);
    sample_must(add_image(&q));
    sample_must(ar_run_encode(&q, &bytes));
    ar_profile_free(&q);
    sample_must(ar_run_decode(&q, bytes.data, bytes.n, "q", &error));
    sample_start(&all);
    sample_comm(&all, 1, "other", AR_COMM_DUP, 1, 0); /* so that no number stays what it was */
    sample_must(ar_profile_merge(&all, &p));
    sample_must(ar_profile_merge(&all, &q));
    sample_must(ar_profile_sort(&all));
    tap_ok(all.n_comms == 5 && all.comms[4].parent == 2 && all.n_traffic == 6 &&
               all.n_completed == 2 && sample_is_sound(&all),
           "merged from a live file and a run file");
    ar_profile_free(&all);
    ar_profile_free(&p);
    ar_profile_free(&q);
    ar_bytes_free(&bytes);
}

static void test_fold(void)
{
    struct ar_profile p, folded;

    make_two_ranks(&p);
    sample_must(ar_fold(&folded, &p));
    check_comms(&folded, "folded");
    check_messages(&folded, "folded");
    ar_profile_free(&folded);
    ar_profile_free(&p);
}

/* ---- numbers that are wrong ------------------------------------------------------------------- */

static void test_nonsense(void)
{
    struct ar_profile p;
    struct made m = make_rank(0);

    add_traffic(&m, m.send, 99, 0);                                            /* communicator */
    add_traffic(&m, m.send, 1, 0)[AR_TRAFFIC_WHERE] |= 0xff;                   /* size */
    add_traffic(&m, m.send, 1, 0)[AR_TRAFFIC_WHERE] = where(UINT32_MAX, 1, 1); /* node */
    add_completed(&m, m.wait, UINT32_MAX);
    add_completed(&m, m.wait, 0)[AR_COMPLETED_POSTED] = UINT64_MAX;
    add_comm(m.records, (struct ar_live_comm){.parent = 9, .origin = 99, .made_ref = 1u << 31},
             "nonsense");
    image_record(m.records, (struct ar_record){.kind = AR_RECORD_COMM, .n_linetable = 5}, "short",
                 "", "12345");
    image_record(m.records, (struct ar_record){.kind = AR_RECORD_COMM_NAME, .other = 99}, "none",
                 "", NULL);
    sample_start(&p);
    sample_must(add_image(&p));
    sample_must(ar_profile_sort(&p));
    tap_ok(sample_is_sound(&p), "what cannot be is not there");
    tap_ok(p.n_comms == 6 && p.comms[4].parent == 0 && p.comms[4].origin == AR_COMM_UNKNOWN &&
               p.comms[4].made_at == 0,
           "a communicator without a parent, an origin and a place");
    tap_ok(p.n_traffic == 4 && ar_profile_lost(&p, 0, AR_LOST_TRAFFIC) == 2 * 3,
           "messages of no node or size are counted as lost");
    tap_ok(p.n_completed == 1 && ar_profile_lost(&p, 0, AR_LOST_REQUESTS) == 2 * 3,
           "and so are requests that nobody posted");
    ar_profile_free(&p);
}

static void test_identities(void)
{
    struct ar_profile p;

    sample_start(&p);
    tap_ok(sample_comm(&p, 5, "a", AR_COMM_DUP, 2, 0) == 0 &&
               sample_comm(&p, 5, "b", AR_COMM_SPLIT, 3, 1) == 0,
           "one identity is one communicator");
    tap_ok(sample_comm(&p, 6, "", AR_COMM_DUP, 2, 0) == 1 &&
               sample_comm(&p, 6, "named", AR_COMM_DUP, 2, 0) == 1 &&
               strcmp(name_of(&p, 1), "named") == 0,
           "a name that another process knows");
    tap_ok(sample_comm(&p, 0, "a", AR_COMM_DUP, 2, 0) == 2 &&
               sample_comm(&p, 0, "a", AR_COMM_DUP, 2, 0) == 2 &&
               sample_comm(&p, 0, "a", AR_COMM_DUP, 2, 1) == 3 &&
               sample_comm(&p, 0, "a", AR_COMM_DUP, 3, 0) == 4 &&
               sample_comm(&p, 0, "a", AR_COMM_SPLIT, 2, 0) == 5 &&
               sample_comm(&p, 0, "c", AR_COMM_DUP, 2, 0) == 6,
           "without identity, those that are alike");
    ar_profile_free(&p);
}

/* ---- validation ------------------------------------------------------------------------------- */

static enum ar_status validate(void)
{
    struct ar_validated found;
    struct ar_live live;

    sample_must(ar_live_from_bytes(&live, image.bytes, image.n_bytes, "image", &error));

    enum ar_status status = ar_validate(&live, NULL, 0, &found, &error);

    ar_live_close(&live);
    return status;
}

static void test_validation(void)
{
    struct made m = make_rank(0);
    uint64_t *words;

    image_header()->clock_kind = AR_CLOCK_MONOTONIC;
    tap_ok(validate() == AR_OK, "a file with messages holds together");
    words = add_traffic(&m, m.send, 4, 0);
    tap_ok(validate() == AR_OK, "with two blocks of messages at a node, too");
    words[AR_TRAFFIC_WHERE] = where(m.send, 5, 4);
    tap_ok(validate() == AR_BAD, "not with a communicator that is not there");
    words[AR_TRAFFIC_WHERE] = where(m.send, 4, 65);
    tap_ok(validate() == AR_BAD, "nor with a size that cannot be");
    words[AR_TRAFFIC_WHERE] = where(m.post, 4, 4);
    tap_ok(validate() == AR_BAD, "nor with those of another node");
    words[AR_TRAFFIC_WHERE] = where(m.send, 4, 4);
    words = add_completed(&m, m.wait, m.send);
    tap_ok(validate() == AR_OK, "with requests from two places");
    words[AR_COMPLETED_POSTED] = 1;
    tap_ok(validate() == AR_BAD, "not with requests from nowhere");
    words[AR_COMPLETED_POSTED] = m.send;

    struct ar_values *values =
        (struct ar_values *)((char *)words - offsetof(struct ar_values, words));

    values->next_ref = image_node_at(m.wait)->values_ref;
    tap_ok(validate() == AR_BAD, "nor with a chain that has no end");
    values->next_ref = 0;
    add_comm(m.records, (struct ar_live_comm){.parent = 5}, "own parent");
    tap_ok(validate() == AR_BAD, "nor with a communicator that is made of itself");
}

/* ---- without memory --------------------------------------------------------------------------- */

static void test_no_memory(void)
{
    bool worked = false;
    size_t n = 0;

    make_rank(0);
    for (; !worked && n < 5000; n++) {
        struct ar_profile p = {0}, folded;
        enum ar_status status;

        alloc_fail_after(n);
        status = ar_profile_init(&p);
        if (status == AR_OK)
            status = add_image(&p);
        if (status == AR_OK) {
            status = ar_fold(&folded, &p);
            if (status == AR_OK)
                ar_profile_free(&folded);
        }
        alloc_restore();
        worked = status == AR_OK;
        if (!worked && status != AR_NOMEM)
            break;
        ar_profile_free(&p);
    }
    tap_ok(worked, "every allocation that fails is survived, %zu of them", n);
}

int main(void)
{
    test_two_ranks();
    test_twins();
    test_run_file_and_merge();
    test_fold();
    test_nonsense();
    test_identities();
    test_validation();
    test_no_memory();
    return tap_done();
}
