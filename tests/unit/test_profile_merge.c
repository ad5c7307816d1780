// SPDX-License-Identifier: BSD-3-Clause
/*
 * Random profiles are merged in random order, and the result is compared with a reference that was
 * kept beside them while they were made: a list of texts, one for each thread and place and metric,
 * with its value. Two profiles never have a thread in common, so that a merged one holds just the
 * values of its parts.
 */
#include "format/profile.h"

#include "dice.h"
#include "failing_alloc.h"
#include "format/runfile.h"
#include "sample_profile.h"
#include "tap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define N_PARTS 7
#define MAX_TRUTHS 20000
#define MAX_NODES 60
#define KEY_BYTES 400

/* ---- the reference: a list, searched from its start ------------------------------------------ */

struct truth {
    char key[KEY_BYTES];
    uint64_t value;
};

static struct truth *truths;
static size_t n_truths;
static char (*paths)[KEY_BYTES]; /* each different one once: the nodes that there have to be */
static size_t n_paths;

static void truth_add(const char *key, enum ar_metric_id metric, uint64_t value)
{
    for (size_t i = 0; i < n_truths; i++)
        if (strcmp(truths[i].key, key) == 0) {
            truths[i].value = ar_combine((enum ar_combine)ar_metric_kinds[metric].combine,
                                         truths[i].value, value);
            return;
        }
    snprintf(truths[n_truths].key, KEY_BYTES, "%s", key);
    truths[n_truths++].value = value;
}

static void path_add(const char *path)
{
    for (size_t i = 0; i < n_paths; i++)
        if (strcmp(paths[i], path) == 0)
            return;
    snprintf(paths[n_paths++], KEY_BYTES, "%s", path);
}

static bool truth_has(const char *key, uint64_t value)
{
    for (size_t i = 0; i < n_truths; i++)
        if (strcmp(truths[i].key, key) == 0)
            return truths[i].value == value;
    return false;
}

/* ---- random parts ---------------------------------------------------------------------------- */

struct draft {
    struct ar_profile *p;
    struct dice *d;
    uint32_t world_rank;
    uint32_t ids[MAX_NODES];
    char paths[MAX_NODES][KEY_BYTES - 64];
    uint32_t n_threads;
};

/* Names, files and lines from so few that profiles share functions, and functions share names. */
static void add_random_node(struct draft *t, uint32_t i)
{
    static const char *const names[] = {"f", "g", "solve", "step", "MPI_Wait", ""};
    static const char *const files[] = {"a.py", "b.py", ""};
    uint32_t parent = dice_below(t->d, i), line = dice_below(t->d, 3);
    const char *name = names[dice_below(t->d, 6)], *file = files[dice_below(t->d, 3)];
    uint32_t kind = 1 + dice_below(t->d, 2), first_line = dice_below(t->d, 2);

    if (strlen(t->paths[parent]) > KEY_BYTES - 150)
        parent = 0;
    snprintf(t->paths[i], sizeof t->paths[i], "%.250s/%u,%s,%s,%u:%u", t->paths[parent], kind, name,
             file, first_line, line);
    t->ids[i] = sample_node(
        t->p, t->ids[parent],
        sample_function_in(t->p, (enum ar_function_kind)kind, name, file, first_line), line);
    path_add(t->paths[i]);
}

static void add_random_value(struct draft *t, uint32_t n_nodes)
{
    enum ar_metric_id metric = (enum ar_metric_id)dice_below(t->d, AR_N_METRICS);
    uint32_t node = dice_below(t->d, n_nodes), thread = dice_below(t->d, t->n_threads);
    uint64_t value = dice_number(t->d) >> 8; /* so that no sum overflows */
    char key[KEY_BYTES];

    snprintf(key, sizeof key, "%s|%u.%u|%s", t->paths[node], t->world_rank, thread,
             ar_metric_kinds[metric].name);
    sample_value(t->p, metric, t->ids[node], thread, value);
    truth_add(key, metric, value);
}

static void add_random_process(struct draft *t)
{
    char host[32];

    snprintf(host, sizeof host, "node%u", dice_below(t->d, 3));

    struct ar_process process = {.world_rank = t->world_rank,
                                 .host = sample_text(t->p, host),
                                 .wall_ns = 1000 + t->world_rank};
    uint32_t id, thread;

    sample_must(ar_profile_process(t->p, &process, &id));
    sample_lose(t->p, id, AR_LOST_NODES, t->world_rank);
    sample_lose(t->p, id, AR_LOST_FUNCTIONS, 7);
    t->n_threads = 1 + dice_below(t->d, 3);
    for (uint32_t i = 0; i < t->n_threads; i++) {
        struct ar_location location = {.process = id, .thread = i, .name = sample_text(t->p, "t")};

        sample_must(ar_profile_location(t->p, &location, &thread));
    }
    sample_must(ar_profile_fact(t->p, sample_str("host"), sample_str(host)));
    sample_must(ar_profile_fact(t->p, sample_str("python"), sample_str("3.12")));
}

static void make_part(struct ar_profile *p, struct dice *d, uint32_t world_rank)
{
    static struct draft t;
    uint32_t n_nodes = 1 + dice_below(d, MAX_NODES);

    sample_start(p);
    t = (struct draft){.p = p, .d = d, .world_rank = world_rank};
    if (dice_below(d, 2)) /* so that equal strings have different numbers */
        sample_text(p, "unused");
    add_random_process(&t);
    for (uint32_t i = 1; i < n_nodes; i++)
        add_random_node(&t, i);
    for (uint32_t i = dice_below(d, 200); i > 0; i--)
        add_random_value(&t, n_nodes);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void write_path(const struct ar_profile *p, uint32_t node, char *path)
{
    if (node == 0) {
        *path = '\0';
        return;
    }

    const struct ar_profile_node *n = &p->nodes[node];
    const struct ar_function *f = &p->functions[n->function];

    write_path(p, n->parent, path);
    snprintf(path + strlen(path), KEY_BYTES - strlen(path), "/%u,%s,%s,%u:%u", f->kind,
             ar_strtab_text(&p->strings, f->name), ar_strtab_text(&p->strings, f->file),
             f->first_line, n->line);
}

static bool value_is_true(const struct ar_profile *p, int metric, const struct ar_value *v)
{
    const struct ar_location *location = &p->locations[v->location];
    char path[KEY_BYTES], key[2 * KEY_BYTES];

    write_path(p, v->node, path);
    snprintf(key, sizeof key, "%s|%u.%u|%s", path, p->processes[location->process].world_rank,
             location->thread, ar_metric_kinds[metric].name);
    return truth_has(key, v->value);
}

static bool values_are_true(struct ar_profile *p)
{
    size_t n_values = 0;
    bool same = ar_profile_sort(p) == AR_OK;

    for (int m = 0; m < AR_N_METRICS; m++)
        for (size_t i = 0; same && i < p->metrics[m].n_values; i++, n_values++)
            same = value_is_true(p, m, &p->metrics[m].values[i]);
    if (same && n_values != n_truths)
        tap_note("%zu values instead of %zu", n_values, n_truths);
    return same && n_values == n_truths;
}

static bool processes_are_true(const struct ar_profile *p)
{
    uint32_t seen = 0;
    bool same = p->n_processes == N_PARTS;

    for (size_t i = 0; same && i < p->n_processes; i++) {
        const struct ar_process *process = &p->processes[i];

        seen |= 1u << process->world_rank;
        same = process->wall_ns == 1000 + process->world_rank &&
               ar_profile_lost(p, (uint32_t)i, AR_LOST_NODES) == process->world_rank &&
               ar_profile_lost(p, (uint32_t)i, AR_LOST_FUNCTIONS) == 7 &&
               strncmp(ar_strtab_text(&p->strings, process->host), "node", 4) == 0;
    }
    return same && seen == (1u << N_PARTS) - 1;
}

static bool facts_are_true(const struct ar_profile *p)
{
    size_t n_hosts = 0;

    for (size_t i = 0; i < p->n_facts; i++)
        n_hosts += strcmp(ar_strtab_text(&p->strings, p->facts[i].key), "host") == 0;
    return p->n_facts == n_hosts + 1 && n_hosts >= 1 && n_hosts <= 3 &&
           strcmp(ar_profile_fact_text(p, "python"), "3.12") == 0;
}

/* ---- merging --------------------------------------------------------------------------------- */

/* As ranks do: the other one comes as bytes. */
static void through_bytes(struct ar_profile *p)
{
    struct ar_bytes bytes = {0};
    struct ar_profile read;

    sample_must(ar_run_encode(p, &bytes));
    sample_must(ar_run_decode(&read, bytes.data, bytes.n, "test", NULL));
    ar_bytes_free(&bytes);
    ar_profile_free(p);
    *p = read;
}

/* Any two that are left become one, until there is one: every order, and every shape of tree. */
static void merge_all(struct ar_profile *parts, size_t n_parts, struct dice *d)
{
    while (n_parts > 1) {
        uint32_t into = dice_below(d, (uint32_t)n_parts);
        uint32_t from = (into + 1 + dice_below(d, (uint32_t)n_parts - 1)) % (uint32_t)n_parts;

        if (dice_below(d, 3) == 0)
            through_bytes(&parts[from]);
        if (dice_below(d, 5) == 0)
            through_bytes(&parts[into]);
        sample_must(ar_profile_merge(&parts[into], &parts[from]));
        ar_profile_free(&parts[from]);
        parts[from] = parts[--n_parts];
    }
}

static void test_random_merges(uint64_t seed)
{
    struct ar_profile parts[N_PARTS];
    struct dice d = {seed}, order = {~seed};

    n_truths = n_paths = 0;
    for (uint32_t i = 0; i < N_PARTS; i++)
        make_part(&parts[i], &d, i);
    merge_all(parts, N_PARTS, &order);
    tap_ok(sample_is_sound(&parts[0]), "%" PRIu64 ": sound", seed);
    tap_ok(values_are_true(&parts[0]), "%" PRIu64 ": all %zu values, and no other", seed, n_truths);
    tap_ok(parts[0].n_nodes == n_paths + 1, "%" PRIu64 ": %zu nodes, no two of them equal", seed,
           parts[0].n_nodes);
    tap_ok(processes_are_true(&parts[0]), "%" PRIu64 ": all processes", seed);
    tap_ok(facts_are_true(&parts[0]), "%" PRIu64 ": each fact once", seed);
    ar_profile_free(&parts[0]);
}

/* The same parts in all orders of a chain: the multiset of values is always the same. */
static void test_same_parts_in_many_orders(void)
{
    for (uint64_t order = 0; order < 20; order++) {
        struct ar_profile parts[N_PARTS];
        struct dice d = {4711}, o = {order};

        n_truths = n_paths = 0;
        for (uint32_t i = 0; i < N_PARTS; i++)
            make_part(&parts[i], &d, i);
        merge_all(parts, N_PARTS, &o);
        tap_ok(values_are_true(&parts[0]) && parts[0].n_nodes == n_paths + 1,
               "the same parts in order %" PRIu64, order);
        ar_profile_free(&parts[0]);
    }
}

/* ---- by hand --------------------------------------------------------------------------------- */

static void test_numbers(void)
{
    struct ar_profile p, q;

    sample_start(&p);
    sample_start(&q);

    uint32_t here = sample_node(&p, 0, sample_function(&p, AR_FUNCTION_PYTHON, "f", 1), 5);
    uint32_t before = sample_node(&q, 0, sample_function(&q, AR_FUNCTION_PYTHON, "g", 1), 5);
    uint32_t there = sample_node(&q, 0, sample_function(&q, AR_FUNCTION_PYTHON, "f", 1), 5);

    sample_value(&p, AR_METRIC_TIME, here, sample_thread(&p, sample_rank(&p, 0), 0), 10);
    sample_value(&q, AR_METRIC_TIME, before, sample_thread(&q, sample_rank(&q, 1), 0), 20);
    sample_value(&q, AR_METRIC_TIME, there, 0, 30);
    sample_value(&q, AR_METRIC_TIME, 0, 0, 40);
    q.locations[0].current = there + 1;
    q.locations[0].latest_real_ns = 77;
    sample_comm(&p, 1, "", AR_COMM_WORLD, 2, 0);
    sample_comm(&q, 2, "", AR_COMM_DUP, 2, 0);
    sample_member(&q, sample_comm(&q, 1, "", AR_COMM_WORLD, 2, 0), 0, 1, 7);
    sample_open_call(&q, (struct ar_open_call){.kind = AR_SYNC_ALL, .comm = 2, .sequence = 7});
    tap_ok(ar_profile_merge(&p, &q) == AR_OK, "two profiles of two ranks");
    tap_ok(p.n_nodes == 3 && p.n_processes == 2 && p.n_locations == 2, "three nodes, two ranks");
    tap_ok(p.locations[1].process == 1 && p.processes[1].world_rank == 1, "the other comes after");
    tap_ok(sample_find(&p, AR_METRIC_TIME, here, 0) == 10 &&
               sample_find(&p, AR_METRIC_TIME, here, 1) == 30 &&
               sample_find(&p, AR_METRIC_TIME, 2, 1) == 20 &&
               sample_find(&p, AR_METRIC_TIME, 0, 1) == 40,
           "equal nodes are one");
    tap_ok(p.locations[1].current == here + 1 && p.locations[1].latest_real_ns == 77 &&
               p.locations[0].current == 0,
           "a thread is where it was");
    tap_ok(sample_open_call_of(&p, 1).comm == 1 && sample_open_call_of(&p, 1).sequence == 7 &&
               sample_open_call_of(&p, 0).kind == AR_SYNC_NONE,
           "and waits for what it waited for");
    tap_ok(p.n_members == 1 && p.members[0].comm == 0 && p.members[0].process == 1 &&
               p.members[0].n_calls == 7,
           "a member belongs to the same communicator");
    tap_ok(q.n_nodes == 3 && sample_find(&q, AR_METRIC_TIME, there, 0) == 30,
           "the other is as it was");
    ar_profile_free(&p);
    ar_profile_free(&q);
}

/* ---- processes that are met twice, and families ---------------------------------------------- */

/* Rank 0 with a value, and rank 1, which was recorded for `wall_ns`, with another. */
static void start_twins(struct ar_profile *p, uint64_t wall_ns, uint64_t value)
{
    sample_start(p);
    sample_value(p, AR_METRIC_TIME, 0, sample_thread(p, sample_rank(p, 0), 0), 10);
    sample_value(p, AR_METRIC_TIME, 0, sample_thread(p, sample_rank(p, 1), 0), value);
    p->processes[1].wall_ns = wall_ns;
}

static void test_twins(void)
{
    struct ar_profile p, q;

    start_twins(&p, 100, 1);
    start_twins(&q, 200, 2);
    tap_ok(ar_profile_merge(&p, &q) == AR_OK && p.n_processes == 2 && p.n_locations == 2,
           "one that was recorded for longer replaces the other");
    tap_ok(p.processes[1].wall_ns == 200 && sample_find(&p, AR_METRIC_TIME, 0, 1) == 2 &&
               sample_find(&p, AR_METRIC_TIME, 0, 0) == 10,
           "with its values");
    ar_profile_free(&q);
    start_twins(&q, 100, 1);
    tap_ok(ar_profile_merge(&p, &q) == AR_OK && p.n_processes == 2 &&
               sample_find(&p, AR_METRIC_TIME, 0, 1) == 2,
           "and is not replaced by one that was not");
    ar_profile_free(&p);
    ar_profile_free(&q);
}

static void make_child(struct ar_profile *p, uint32_t process, uint32_t of_rank)
{
    p->processes[process].parent_pid = p->processes[process].root_pid = 1000 + of_rank;
    p->processes[process].pid_start = 77;
}

/* A child of rank 1, rank 0, a child of a process that is not here, rank 1. */
static void test_families(void)
{
    struct ar_profile p;
    bool good;

    sample_start(&p);
    for (uint32_t i = 0; i < 4; i++)
        sample_value(&p, AR_METRIC_TIME, 0, sample_thread(&p, sample_rank(&p, i), 0), 100 + i);
    p.processes[0].pid = 5;
    p.processes[1].pid = 1000;
    p.processes[3].pid = 1001;
    make_child(&p, 0, 1);
    make_child(&p, 2, 9);
    tap_ok(ar_profile_sort(&p) == AR_OK && p.n_roots == 3 && p.n_processes == 4, "three families");
    good = p.processes[0].pid == 1000 && p.processes[1].pid == 1002 && p.processes[2].pid == 1001 &&
           p.processes[3].pid == 5;
    tap_ok(good, "roots come first, and a child without its root is one");
    tap_ok(p.processes[3].root == 2 && p.processes[1].root == 1, "a child has its root");
    good = p.locations[0].process == 0 && p.locations[1].process == 1 &&
           ar_profile_root(&p, 2) == 2 && ar_profile_root(&p, 3) == 2;
    tap_ok(good, "threads of a family stand together");
    tap_ok(sample_find(&p, AR_METRIC_TIME, 0, 0) == 101 &&
               sample_find(&p, AR_METRIC_TIME, 0, 1) == 102 &&
               sample_find(&p, AR_METRIC_TIME, 0, 2) == 100 &&
               sample_find(&p, AR_METRIC_TIME, 0, 3) == 103,
           "with their values");
    ar_profile_free(&p);
}

static void test_empty(void)
{
    struct ar_profile p, q;

    sample_start(&p);
    sample_start(&q);
    sample_value(&q, AR_METRIC_CALLS, 0, sample_thread(&q, sample_rank(&q, 4), 0), 1);
    tap_ok(ar_profile_merge(&p, &q) == AR_OK && ar_profile_merge(&q, &p) == AR_OK, "into nothing");
    tap_ok(p.n_processes == 1 && q.n_processes == 1 && p.n_nodes == 1, "and from what has it all");
    ar_profile_free(&q);
    sample_start(&q);
    tap_ok(ar_profile_merge(&p, &q) == AR_OK && p.n_processes == 1 && p.n_locations == 1,
           "nothing adds nothing");
    ar_profile_free(&p);
    ar_profile_free(&q);
}

static void test_no_memory(void)
{
    bool refused = true, worked = false;
    struct dice d = {99};
    struct ar_profile part;
    size_t n = 0;

    n_truths = n_paths = 0;
    make_part(&part, &d, 0);
    for (; !worked; n++) {
        struct ar_profile p;

        sample_start(&p);
        alloc_fail_after(n);
        enum ar_status status = ar_profile_merge(&p, &part);
        alloc_restore();
        worked = status == AR_OK;
        refused = refused && (worked || status == AR_NOMEM);
        ar_profile_free(&p);
    }
    tap_ok(refused && n > 8, "every one of %zu allocations may fail", n - 1);
    ar_profile_free(&part);
}

int main(void)
{
    truths = malloc(MAX_TRUTHS * sizeof *truths);
    paths = malloc(N_PARTS * MAX_NODES * sizeof *paths);
    test_numbers();
    test_empty();
    test_twins();
    test_families();
    for (uint64_t seed = 1; seed <= 30; seed++)
        test_random_merges(seed);
    test_same_parts_in_many_orders();
    test_no_memory();
    free(truths);
    free(paths);
    return tap_done();
}
