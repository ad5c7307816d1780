// SPDX-License-Identifier: BSD-3-Clause
/*
 * A run of three ranks whose sums can be worked out by hand: rank r calls comm.bcast at a.py:5, which
 * pickles and broadcasts, and sends to its right at a.py:7 and a.py:8; MPI_Wait completes at a.py:9.
 */
#include "analysis/mpi_tables.h"

#include "analysis/place.h"
#include "analysis/select.h"
#include "failing_alloc.h"
#include "sample_profile.h"
#include "tap.h"

#define N_RANKS 3

static struct ar_profile p;
static struct ar_totals t;
static struct ar_mpi m;
static uint32_t operation, bcast, probe, dumps, send_7, send_8, wait, get;

static void open_tables(struct ar_profile *of)
{
    sample_must(ar_totals_build(&t, of));
    sample_must(ar_mpi_open(&m, of, &t));
}

static uint32_t call(uint32_t parent, enum ar_function_kind kind, const char *name, uint32_t line)
{
    return sample_node(&p, parent, sample_function(&p, kind, name, 1), line);
}

static void add(uint32_t node, uint32_t here, uint64_t n_calls, uint64_t ns)
{
    sample_value(&p, AR_METRIC_CALLS, node, here, n_calls);
    sample_value(&p, AR_METRIC_TIME, node, here, ns);
}

static void add_rank(uint32_t rank)
{
    uint32_t here = sample_thread(&p, sample_rank(&p, rank), 0), right = (rank + 1) % N_RANKS;

    p.processes[rank].wall_ns = 1000;
    add(0, here, 1, 1000);
    add(operation, here, 1, 100);
    add(bcast, here, 2, 60);
    add(probe, here, 1, 15);
    add(dumps, here, 1, 10);
    add(send_7, here, 4, 40 + rank);
    add(send_8, here, 1, 5);
    add(wait, here, 3, 200);
    sample_value(&p, AR_METRIC_BYTES_OUT, bcast, here, 64);
    sample_value(&p, AR_METRIC_BYTES_OUT, send_7, here, 400);
    sample_traffic(&p, (struct ar_traffic){.node = bcast,
                                           .location = here,
                                           .comm = 2,
                                           .world_peer = 0,
                                           .size_class = 7,
                                           .n_out = 1,
                                           .bytes_out = 64,
                                           .ns = 60});
    sample_traffic(&p, (struct ar_traffic){.node = send_7,
                                           .location = here,
                                           .comm = 1,
                                           .peer = right,
                                           .world_peer = right,
                                           .size_class = 7,
                                           .n_out = 4,
                                           .bytes_out = 400,
                                           .n_in = 2,
                                           .bytes_in = 20,
                                           .ns = 40});
    sample_completed(&p, (struct ar_completed){.node = wait,
                                               .location = here,
                                               .posted = send_7,
                                               .n = 3,
                                               .flight_ns = 300,
                                               .waited_ns = 30,
                                               .exposed_ns = 40});
}

static void start(void)
{
    uint32_t world, main_id;

    sample_start(&p);
    main_id = call(0, AR_FUNCTION_PYTHON, "main", 0);
    operation = call(main_id, AR_FUNCTION_OPERATION, "Comm.bcast", 5);
    bcast = call(operation, AR_FUNCTION_MPI, "MPI_Bcast", 0);
    probe = call(operation, AR_FUNCTION_MPI, "MPI_Mprobe", 0);
    dumps = call(operation, AR_FUNCTION_BUILTIN, "built-in method _pickle.dumps", 0);
    send_7 = call(main_id, AR_FUNCTION_MPI, "MPI_Send_c", 7);
    send_8 = call(main_id, AR_FUNCTION_MPI, "MPI_Send", 8);
    wait = call(main_id, AR_FUNCTION_MPI, "MPI_Wait", 9);
    get = call(main_id, AR_FUNCTION_MPI, "MPI_Unheard_of", 11);
    world = sample_comm(&p, 1, "MPI_COMM_WORLD", AR_COMM_WORLD, N_RANKS, 0);
    sample_comm(&p, 2, "", AR_COMM_DUP, N_RANKS, world + 1);
    p.comms[1].is_hidden = 1;
    for (uint32_t rank = 0; rank < N_RANKS; rank++)
        add_rank(rank);
    open_tables(&p);
}

static void finish(void)
{
    ar_mpi_close(&m);
    ar_totals_free(&t);
    ar_profile_free(&p);
}

static struct ar_mpi_row find(enum ar_mpi_by by, const char *name, size_t *n)
{
    struct ar_mpi_row *rows, found = {.node = AR_NO_ID, .n_calls = UINT64_MAX};

    sample_must(ar_mpi_table(&m, by, &rows, n));
    for (size_t i = 0; i < *n; i++)
        if (!name || (rows[i].name && strcmp(rows[i].name, name) == 0))
            found = rows[i];
    free(rows);
    return found;
}

/* `talks` is the operation of a reduction; "pack" is set by MPI.pickle.__init__, and calls dumps in turn. */
static void test_own_picklers(void)
{
    struct ar_mpi_row row;
    size_t n;

    sample_start(&p);

    uint32_t here = sample_thread(&p, sample_rank(&p, 0), 0);
    uint32_t sends = call(0, AR_FUNCTION_OPERATION, "Comm.send", 5);
    uint32_t reduces = call(0, AR_FUNCTION_OPERATION, "Comm.allreduce", 6);
    uint32_t casts = call(0, AR_FUNCTION_OPERATION, "Comm.bcast", 7);
    uint32_t pack = call(sends, AR_FUNCTION_PYTHON, "to_bytes", 0);

    add(sends, here, 1, 100);
    add(pack, here, 1, 80);
    add(call(pack, AR_FUNCTION_BUILTIN, "built-in method _pickle.dumps", 0), here, 1, 70);
    add(reduces, here, 1, 200);
    add(call(reduces, AR_FUNCTION_PYTHON, "to_bytes", 0), here, 1, 30);
    add(call(reduces, AR_FUNCTION_PYTHON, "my_loads", 0), here, 1, 20);
    add(call(reduces, AR_FUNCTION_PYTHON, "talks", 0), here, 1, 90);
    add(casts, here, 1, 50);
    add(call(casts, AR_FUNCTION_PYTHON, "my_loads", 0), here, 1, 15);
    add(call(casts, AR_FUNCTION_BUILTIN, "msgpack.packb", 0), here, 1, 5);
    open_tables(&p);
    row = find(AR_MPI_BY_PATH, "Comm.send", &n);
    tap_ok(row.parts.pickling_ns == 80 && row.parts.unpickling_ns == 0 && row.time.sum == 100,
           "what a method that sends calls is pickling, whatever its name");
    row = find(AR_MPI_BY_PATH, "Comm.allreduce", &n);
    tap_ok(row.parts.pickling_ns == 30 && row.parts.unpickling_ns == 20,
           "in a reduction only what pickles elsewhere, or is named so");
    row = find(AR_MPI_BY_PATH, "Comm.bcast", &n);
    tap_ok(row.parts.pickling_ns == 5 && row.parts.unpickling_ns == 15, "both ways");
    finish();
}

/* MPI below a function in C is called where that is, and what pickling calls is pickling already. */
static void test_below_functions_in_c(void)
{
    struct ar_place place;

    sample_start(&p);

    uint32_t main_id = call(0, AR_FUNCTION_PYTHON, "main", 0);
    uint32_t solve = call(main_id, AR_FUNCTION_BUILTIN, "method 'solve' of 'KSP' objects", 12);
    uint32_t reduce = call(solve, AR_FUNCTION_MPI, "MPI_Allreduce", 0);
    uint32_t method = call(main_id, AR_FUNCTION_OPERATION, "Comm.send", 14);
    uint32_t outer = call(method, AR_FUNCTION_BUILTIN, "built-in method _pickle.dumps", 0);
    uint32_t inner = call(outer, AR_FUNCTION_BUILTIN, "method 'dumps' of 'x' objects", 0);
    uint32_t here = sample_thread(&p, sample_rank(&p, 0), 0);

    inner = call(inner, AR_FUNCTION_BUILTIN, "built-in method _pickle.dumps", 0);
    add(0, here, 1, 1000);
    add(main_id, here, 1, 900);
    add(solve, here, 1, 300);
    add(reduce, here, 5, 100);
    add(method, here, 1, 200);
    add(outer, here, 1, 90);
    add(inner, here, 1, 80);
    open_tables(&p);
    place = ar_place_of_call(&p, reduce);
    tap_ok(place.line == 12 && place.function == p.nodes[main_id].function,
           "the line of the program that has called the function in C");

    size_t n;
    struct ar_mpi_row row = find(AR_MPI_BY_PATH, "MPI_Allreduce", &n);

    tap_ok(n == 2 && row.node == reduce && row.time.sum == 100, "a row of its own");
    tap_ok(find(AR_MPI_BY_PATH, "Comm.send", &n).parts.pickling_ns == 90, "counted once");
    finish();
}

/* Waits are those of analysis/waits.h, and no longer than the calls. */
static void test_waits(void)
{
    size_t n;
    uint32_t method = find(AR_MPI_BY_PATH, "Comm.bcast", &n).node;
    struct ar_wait_site site = {.node = method, .waited_ns = 100};
    struct ar_waits w = {.sites = &site, .n_sites = 1, .n_calls = 1};

    ar_mpi_use_waits(&m, &w);

    struct ar_mpi_row row = find(AR_MPI_BY_PATH, "Comm.bcast", &n);

    tap_ok(row.parts.waiting_ns == 100 && ar_mpi_transferring_ns(&row.parts) == 125,
           "what is not waiting is transferring");
    site.waited_ns = 1000;
    row = find(AR_MPI_BY_PATH, "Comm.bcast", &n);
    tap_ok(row.parts.waiting_ns == 225 && ar_mpi_transferring_ns(&row.parts) == 0,
           "no more than there is");
    w.n_calls = 0;
    ar_mpi_use_waits(&m, &w);
    tap_ok(!m.w, "not known where no call was recorded");
}

static void test_paths(void)
{
    size_t n;
    struct ar_mpi_row row = find(AR_MPI_BY_PATH, "Comm.bcast", &n);

    tap_ok(n == 4, "four lines: calls within a method are its own");
    tap_ok(row.is_operation && row.n_calls == 3 && row.time.sum == 300 && row.time.mean == 100,
           "a method has all of its time");
    tap_ok(row.parts.pickling_ns == 30 && row.parts.mpi_ns == 225 && row.parts.waiting_ns == 0 &&
               row.parts.unpickling_ns == 0,
           "and it is told what that is made of");
    tap_ok(row.bytes_out == 3 * 64 && row.n_out == 3, "and what the calls within it moved");
    row = find(AR_MPI_BY_PATH, "MPI_Wait", &n);
    tap_ok(!row.is_operation && row.n_calls == 9 && row.time.max == 200 && row.time.sd == 0,
           "a call of MPI");
}

static void test_functions(void)
{
    size_t n;
    struct ar_mpi_row row = find(AR_MPI_BY_FUNCTION, "MPI_Send", &n);

    tap_ok(n == 4 && row.n_calls == 15 && row.time.sum == 3 * 45 + 3 && row.time.min == 45 &&
               row.time.max == 47 && row.time.max_process == 2,
           "with its large-count form");
    tap_ok(row.time.sd > 0.816 && row.time.sd < 0.817, "standard deviation of 45, 46, 47");
    row = find(AR_MPI_BY_CLASS, "p2p", &n);
    tap_ok(row.n_calls == 15 && row.n_out == 12, "a class");
    row = find(AR_MPI_BY_CLASS, "other", &n);
    tap_ok(row.node == AR_NO_ID, "what was never called has no row");
    tap_ok(m.mpi_ns == 60 + 15 + 45 + 1 + 200, "time in MPI is that of MPI calls: %g", m.mpi_ns);
    tap_ok(m.parts.pickling_ns == 30 && m.wall_ns == 1000 && m.n_ranks == 3, "pickling is apart");
}

static void test_messages(void)
{
    size_t n;
    struct ar_mpi_row row = find(AR_MPI_BY_COMM, NULL, &n);

    tap_ok(n == 1 && row.comm == 1 && row.n_out == 15 && row.bytes_out == 3 * 464 &&
               row.bytes_in == 60 && row.time.sum == 300,
           "a hidden duplicate is its parent");
    find(AR_MPI_BY_PEER, NULL, &n);
    tap_ok(n == 3, "three peers");
    row = find(AR_MPI_BY_SIZE, NULL, &n);
    tap_ok(n == 1 && row.size_class == 7, "one class of sizes");
}

static void test_requests(void)
{
    struct ar_mpi_request_row *rows;
    size_t n;

    sample_must(ar_mpi_requests(&m, &rows, &n));
    tap_ok(n == 1 && rows[0].posted == send_7 && rows[0].completed == wait && rows[0].n == 9 &&
               rows[0].flight_ns == 900 && rows[0].waited_ns == 90 && rows[0].exposed_ns == 120,
           "requests of all ranks by line");
    free(rows);
}

static void test_pairs(void)
{
    struct ar_mpi_pair *pairs;
    size_t n;

    sample_must(ar_mpi_pairs(&m, &pairs, &n));
    tap_ok(n == 3 && pairs[0].from == 0 && pairs[0].to == 1 && pairs[0].n == 4 &&
               pairs[0].n_bytes == 400 && pairs[0].ns == 40,
           "each sends to its right, as the sender says");
    free(pairs);
}

/* As a run of its own: see select.h. */
static void test_choice_of_ranks(void)
{
    struct ar_selection two = {.ranks = "0,2-9"}, last = {.ranks = "2"};
    struct ar_profile part;
    struct ar_mpi all = m;
    struct ar_totals totals = t;
    struct ar_mpi_pair *pairs;
    struct ar_error err;
    size_t n;

    sample_must(ar_select(&part, &p, &two, &err));
    open_tables(&part);

    struct ar_mpi_row row = find(AR_MPI_BY_PATH, "MPI_Wait", &n);

    tap_ok(m.n_ranks == 2 && row.n_calls == 6 && row.time.sum == 400 && row.time.mean == 200,
           "two of three ranks");
    ar_mpi_close(&m);
    ar_totals_free(&t);
    ar_profile_free(&part);
    sample_must(ar_select(&part, &p, &last, &err));
    open_tables(&part);
    sample_must(ar_mpi_pairs(&m, &pairs, &n));
    tap_ok(n == 2 && pairs[0].from == 0 && pairs[0].to == 2 && pairs[0].n == 2 &&
               pairs[1].from == 2 && pairs[1].to == 0 && pairs[1].n == 4,
           "of one rank what it got and sent");
    free(pairs);
    ar_mpi_close(&m);
    ar_totals_free(&t);
    ar_profile_free(&part);
    m = all;
    t = totals;
    m.t = &t;
}

static size_t choose(const char *text)
{
    struct ar_wanted wanted = ar_wanted_parse(text);

    sample_must(ar_mpi_choose(&m, &wanted));
    return m.n_chosen;
}

static void test_choice_of_calls(void)
{
    size_t n;

    tap_ok(choose("a.py:7") == 1 && find(AR_MPI_BY_FUNCTION, "MPI_Send", &n).n_calls == 12 &&
               n == 1,
           "by line");
    tap_ok(choose("a.py:5") == 4, "a line of a method has all within it");
    tap_ok(choose("Send") == 2 && choose("MPI_Send") == 2 && choose("MPI_Send_c") == 1,
           "by a function of MPI");
    tap_ok(choose("bcast") == 4 && choose("*pickle*") == 1, "by a method, and by a pattern");
    tap_ok(choose("main") == 8 && choose("a.py:1") == 8, "by a function of the program");
    tap_ok(choose("b.py:7") == 0 && choose("a.py:6") == 0 && choose("nothing") == 0, "by nothing");
    tap_ok(choose(NULL) == 8, "everything");
}

static void test_no_memory(void)
{
    bool refused = true, worked = false;
    size_t n = 0;

    for (; !worked; n++) {
        struct ar_mpi again;
        struct ar_mpi_row *rows;
        struct ar_mpi_request_row *requests = NULL;
        struct ar_mpi_pair *pairs = NULL;
        size_t n_rows;

        alloc_fail_after(n);

        enum ar_status status = ar_mpi_open(&again, &p, &t);

        if (status == AR_OK) {
            for (int by = 0; by < AR_N_MPI_BY && status == AR_OK; by++) {
                status = ar_mpi_table(&again, (enum ar_mpi_by)by, &rows, &n_rows);
                free(rows);
            }
            if (status == AR_OK)
                status = ar_mpi_requests(&again, &requests, &n_rows);
            if (status == AR_OK)
                status = ar_mpi_pairs(&again, &pairs, &n_rows);
            ar_mpi_close(&again);
        }
        alloc_restore();
        free(requests);
        free(pairs);
        worked = status == AR_OK;
        refused = refused && (worked || status == AR_NOMEM);
    }
    tap_ok(refused && n > 20, "every one of %zu allocations may fail", n - 1);
}

static void test_classes(void)
{
    tap_ok(strcmp(ar_mpi_class_of("MPI_Send_c").function, "MPI_Send") == 0 &&
               strcmp(ar_mpi_class_of("MPI_Send_c").name, "p2p") == 0,
           "a large-count form is the function");
    tap_ok(strcmp(ar_mpi_class_of("MPI_Unheard_of_c").function, "MPI_Unheard_of_c") == 0 &&
               strcmp(ar_mpi_class_of("x").name, "other") == 0,
           "what is not in the table is what it says");
    tap_ok(ar_mpi_class_waits("wait") && ar_mpi_class_waits("probe") && !ar_mpi_class_waits("p2p"),
           "what waits");
}

int main(void)
{
    start();
    test_paths();
    test_waits();
    test_functions();
    test_messages();
    test_requests();
    test_choice_of_ranks();
    test_choice_of_calls();
    test_no_memory();
    test_pairs();
    test_classes();
    finish();
    test_below_functions_in_c();
    test_own_picklers();
    return tap_done();
}
