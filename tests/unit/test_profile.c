// SPDX-License-Identifier: BSD-3-Clause
#include "format/profile.h"

#include "dice.h"
#include "failing_alloc.h"
#include "sample_profile.h"
#include "tap.h"

#include <string.h>

#define N_ITEMS(array) (sizeof(array) / sizeof *(array))

static void test_empty(void)
{
    struct ar_profile p;

    tap_ok(ar_profile_init(&p) == AR_OK, "a new profile");
    tap_ok(p.n_nodes == 1 && p.nodes[0].parent == AR_NO_ID && sample_is_sound(&p), "has a root");
    tap_ok(p.functions[p.nodes[0].function].kind == AR_FUNCTION_THREAD, "which is a thread");
    tap_ok(p.n_processes == 0 && p.n_locations == 0 && p.n_facts == 0, "and nothing else");
    tap_ok(ar_profile_sort(&p) == AR_OK, "no values can be sorted");
    ar_profile_free(&p);
    tap_ok(p.n_nodes == 0 && !p.nodes, "freed, it is zeroed");
    ar_profile_free(&p);
}

/* ---- equal things have one number ------------------------------------------------------------ */

static void test_functions(void)
{
    struct ar_profile p;
    struct ar_function f = {.kind = AR_FUNCTION_PYTHON, .first_line = 7};
    uint32_t id, again, ids[4];

    sample_start(&p);
    f.name = sample_text(&p, "solve");
    f.file = sample_text(&p, "a.py");
    sample_must(ar_profile_function(&p, f, &id));
    sample_must(ar_profile_function(&p, f, &again));
    tap_ok(id == 1 && again == id && p.n_functions == 2, "one function, one number");

    struct ar_function others[4] = {f, f, f, f};

    others[0].kind = AR_FUNCTION_BUILTIN;
    others[1].name = f.file;
    others[2].file = f.name;
    others[3].first_line = 8;
    for (size_t i = 0; i < 4; i++) {
        sample_must(ar_profile_function(&p, others[i], &ids[i]));
        tap_ok(ids[i] == i + 2, "another one where field %zu differs", i);
    }
    tap_ok(p.functions[1].first_line == 7 && p.functions[5].first_line == 8, "kept in order");
    ar_profile_free(&p);
}

static void test_nodes(void)
{
    struct ar_profile p;

    sample_start(&p);

    uint32_t f = sample_function(&p, AR_FUNCTION_PYTHON, "f", 1);
    uint32_t g = sample_function(&p, AR_FUNCTION_PYTHON, "g", 1);
    uint32_t first = sample_node(&p, 0, f, 10);

    tap_ok(first == 1 && sample_node(&p, 0, f, 10) == first, "one node, one number");
    tap_ok(sample_node(&p, first, f, 10) == 2, "another one below another parent");
    tap_ok(sample_node(&p, 0, g, 10) == 3, "another one for another function");
    tap_ok(sample_node(&p, 0, f, 11) == 4, "another one for another line");
    tap_ok(sample_node(&p, first, f, 10) == 2 && p.n_nodes == 5, "found again");
    tap_ok(sample_node(&p, AR_NO_ID, 0, 0) == 0, "the root too");
    sample_must(ar_profile_sort(&p));
    tap_ok(sample_node(&p, first, f, 10) == 2 && sample_node(&p, 0, g, 12) == 5,
           "after sorting, too");
    tap_ok(sample_is_sound(&p), "a sound tree");
    ar_profile_free(&p);
}

/* Under which key was that number put in? */
static uint64_t key_of(const struct ar_idmap *map, uint32_t value)
{
    for (size_t i = 0; i < map->n_slots; i++)
        if (map->slots[i].key && map->slots[i].value == value)
            return map->slots[i].key;
    return 0;
}

/* As if `f` had the hash of a function that differs from it in one field. */
static void test_equal_hashes_of_functions(size_t field)
{
    struct ar_function f = {.kind = 1, .name = 1, .file = 2, .first_line = 3}, other = f;
    uint32_t *const fields[] = {&other.kind, &other.name, &other.file, &other.first_line};
    struct ar_profile p, q;
    uint32_t id, other_id, again;

    *fields[field] += 10;
    sample_start(&p);
    sample_start(&q);
    sample_must(ar_profile_function(&p, f, &id));
    sample_must(ar_profile_function(&q, other, &other_id));
    sample_must(ar_idmap_put(&q.function_ids, key_of(&p.function_ids, id), other_id));
    sample_must(ar_profile_function(&q, f, &id));
    sample_must(ar_profile_function(&q, f, &again));
    tap_ok(id != other_id && again == id, "equal hashes, but field %zu: two functions", field);
    ar_profile_free(&p);
    ar_profile_free(&q);
}

static void test_equal_hashes_of_nodes(size_t field)
{
    struct ar_profile_node n = {.parent = 0, .function = 1, .line = 2}, other = n;
    uint32_t *const fields[] = {&other.parent, &other.function, &other.line};
    struct ar_profile p, q;
    uint32_t id, other_id, again;

    *fields[field] += 10;
    sample_start(&p);
    sample_start(&q);
    sample_must(ar_profile_node(&p, n, &id));
    sample_must(ar_profile_node(&q, other, &other_id));
    for (size_t i = 0; i < p.n_node_slots; i++)
        if (p.node_slots[i] == id + 1)
            q.node_slots[i] = other_id + 1;
    sample_must(ar_profile_node(&q, n, &id));
    sample_must(ar_profile_node(&q, n, &again));
    tap_ok(id != other_id && again == id, "equal hashes, but field %zu: two nodes", field);
    ar_profile_free(&p);
    ar_profile_free(&q);
}

static void test_equal_hashes(void)
{
    for (size_t field = 0; field < 4; field++)
        test_equal_hashes_of_functions(field);
    for (size_t field = 0; field < 3; field++)
        test_equal_hashes_of_nodes(field);
}

static void test_facts(void)
{
    struct ar_profile p;

    sample_start(&p);
    sample_must(ar_profile_fact(&p, sample_str("python"), sample_str("3.12")));
    sample_must(ar_profile_fact(&p, sample_str("mpi"), sample_str("Open MPI")));
    sample_must(ar_profile_fact(&p, sample_str("python"), sample_str("3.12")));
    tap_ok(p.n_facts == 2, "a fact is kept once");
    sample_must(ar_profile_fact(&p, sample_str("python"), sample_str("3.13")));
    tap_ok(p.n_facts == 3, "another value is another fact");
    for (int i = 0; i < 200000; i++) { /* in no time, or this test takes minutes */
        char text[16];

        snprintf(text, sizeof text, "%d", i % 100000);
        sample_must(ar_profile_fact(&p, sample_str("many"), sample_str(text)));
    }
    tap_ok(p.n_facts == 100003, "and so are very many");
    tap_ok(strcmp(ar_profile_fact_text(&p, "python"), "3.12") == 0, "the first one is shown");
    tap_ok(strcmp(ar_profile_fact_text(&p, "mpi"), "Open MPI") == 0, "by its key");
    tap_ok(strcmp(ar_profile_fact_text(&p, "3.12"), "") == 0, "what is not known is empty");
    ar_profile_free(&p);
}

static void test_processes(void)
{
    struct ar_profile p;

    sample_start(&p);

    uint32_t a = sample_rank(&p, 3), b = sample_rank(&p, 3);
    uint32_t x = sample_thread(&p, a, 0), y = sample_thread(&p, a, 0);

    tap_ok(a == 0 && b == 1, "equal processes are two");
    tap_ok(x == 0 && y == 1, "so are equal threads");
    ar_profile_free(&p);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void test_combine(void)
{
    tap_ok(ar_combine(AR_COMBINE_SUM, 3, 5) == 8, "sum");
    tap_ok(ar_combine(AR_COMBINE_MIN, 3, 5) == 3 && ar_combine(AR_COMBINE_MIN, 5, 3) == 3, "min");
    tap_ok(ar_combine(AR_COMBINE_MAX, 3, 5) == 5 && ar_combine(AR_COMBINE_MAX, 5, 3) == 5, "max");
    tap_ok(strcmp(ar_metric_kinds[AR_METRIC_TIME].name, "time") == 0 &&
               strcmp(ar_metric_kinds[AR_METRIC_TIME].unit, "ns") == 0 &&
               ar_metric_kinds[AR_METRIC_MIN_TIME].combine == AR_COMBINE_MIN,
           "metrics are what the list says");
}

static bool row_is(const struct ar_metric *m, size_t i, uint32_t node, uint32_t location,
                   uint64_t value)
{
    return i < m->n_values && m->values[i].node == node && m->values[i].location == location &&
           m->values[i].value == value;
}

static void test_sort_by_hand(void)
{
    static const enum ar_metric_id metrics[] = {AR_METRIC_TIME, AR_METRIC_MIN_TIME,
                                                AR_METRIC_MAX_TIME};
    static const uint64_t combined[] = {60, 10, 30}; /* of 20, 30 and 10 */
    struct ar_profile p;

    sample_start(&p);

    uint32_t node = sample_node(&p, 0, sample_function(&p, AR_FUNCTION_MPI, "MPI_Wait", 0), 1);
    uint32_t later = sample_node(&p, node, 0, 1);

    sample_thread(&p, sample_rank(&p, 0), 0);
    sample_thread(&p, sample_rank(&p, 1), 0);
    for (size_t i = 0; i < N_ITEMS(metrics); i++) {
        sample_value(&p, metrics[i], node, 1, 20);
        sample_value(&p, metrics[i], node, 0, 7);
        sample_value(&p, metrics[i], node, 1, 30);
        sample_value(&p, metrics[i], 0, 1, 99);
        sample_value(&p, metrics[i], node, 1, 10);
    }
    tap_ok(ar_profile_sort(&p) == AR_OK, "three metrics are sorted");
    for (size_t i = 0; i < N_ITEMS(metrics); i++) {
        const struct ar_metric *m = &p.metrics[metrics[i]];

        tap_ok(m->sorted && m->n_values == 3 && row_is(m, 0, 0, 1, 99) && row_is(m, 1, node, 0, 7),
               "%s: by node, then location", ar_metric_kinds[metrics[i]].name);
        tap_ok(row_is(m, 2, node, 1, combined[i]), "%s: equal ones are combined",
               ar_metric_kinds[metrics[i]].name);
    }
    sample_value(&p, AR_METRIC_TIME, later, 0, 1);
    tap_ok(p.metrics[AR_METRIC_TIME].sorted, "what comes after the last leaves them in order");
    sample_value(&p, AR_METRIC_TIME, later, 0, 1);
    tap_ok(!p.metrics[AR_METRIC_TIME].sorted, "its equal does not");
    sample_value(&p, AR_METRIC_TIME, node, 0, 1);
    tap_ok(!p.metrics[AR_METRIC_TIME].sorted, "a new value is not in order");
    tap_ok(ar_profile_sort(&p) == AR_OK && row_is(&p.metrics[AR_METRIC_TIME], 1, node, 0, 8),
           "until the next time");
    ar_profile_free(&p);
}

#define N_NODES 40
#define N_LOCATIONS 13

/* A full table, where a value that is not there is marked as such. */
static void test_sort_against_table(uint64_t seed, uint32_t n_values)
{
    static uint64_t table[AR_N_METRICS][N_NODES][N_LOCATIONS];
    static bool there[AR_N_METRICS][N_NODES][N_LOCATIONS];
    struct dice d = {seed};
    struct ar_profile p;
    size_t n_there = 0, n_found = 0;
    bool good = true;

    memset(there, 0, sizeof there);
    sample_start(&p);
    for (uint32_t i = 1; i < N_NODES; i++)
        sample_node(&p, dice_below(&d, i), 0, i);
    for (uint32_t i = 0; i < N_LOCATIONS; i++)
        sample_thread(&p, sample_rank(&p, i), 0);
    for (uint32_t i = 0; i < n_values; i++) {
        enum ar_metric_id m = (enum ar_metric_id)dice_below(&d, AR_N_METRICS);
        uint32_t node = dice_below(&d, N_NODES), location = dice_below(&d, N_LOCATIONS);
        uint64_t value = dice_number(&d) >> 20, *cell = &table[m][node][location];

        sample_value(&p, m, node, location, value);
        *cell = there[m][node][location]
                    ? ar_combine((enum ar_combine)ar_metric_kinds[m].combine, *cell, value)
                    : value;
        n_there += !there[m][node][location];
        there[m][node][location] = true;
    }
    good = ar_profile_sort(&p) == AR_OK && sample_is_sound(&p);
    for (int m = 0; m < AR_N_METRICS; m++)
        for (size_t i = 0; i < p.metrics[m].n_values; i++, n_found++) {
            const struct ar_value *v = &p.metrics[m].values[i];

            good = good && p.metrics[m].sorted && there[m][v->node][v->location] &&
                   table[m][v->node][v->location] == v->value;
        }
    tap_ok(good && n_found == n_there, "%u random values agree with a table", n_values);
    ar_profile_free(&p);
}

/* ---- without memory -------------------------------------------------------------------------- */

static enum ar_status build(struct ar_profile *p)
{
    struct ar_process process = {.world_rank = 0};
    struct ar_location location = {0};
    uint32_t id;
    enum ar_status status = ar_profile_init(p);

    if (status == AR_OK)
        status = ar_profile_fact(p, sample_str("python"), sample_str("3.12"));
    if (status == AR_OK)
        status = ar_profile_process(p, &process, &id);
    if (status == AR_OK)
        status = ar_profile_location(p, &location, &id);
    if (status == AR_OK)
        status = ar_profile_value(p, AR_METRIC_TIME, (struct ar_value){0, 0, 5});
    return status == AR_OK ? ar_profile_sort(p) : status;
}

static void test_no_memory(void)
{
    bool refused = true, worked = false;
    size_t n = 0;

    for (; !worked; n++) {
        struct ar_profile p;

        alloc_fail_after(n);
        enum ar_status status = build(&p);
        alloc_restore();
        worked = status == AR_OK;
        refused = refused && (worked || status == AR_NOMEM);
        ar_profile_free(&p);
    }
    tap_ok(refused && n > 8, "every one of %zu allocations may fail", n - 1);
}

int main(void)
{
    test_empty();
    test_functions();
    test_nodes();
    test_equal_hashes();
    test_facts();
    test_processes();
    test_combine();
    test_sort_by_hand();
    for (uint32_t n_values = 1; n_values < 20000; n_values *= 5)
        test_sort_against_table(n_values, n_values);
    test_no_memory();
    return tap_done();
}
