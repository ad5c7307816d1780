// SPDX-License-Identifier: BSD-3-Clause
/*
 * Two ranks; every figure is worked out by hand. Times in nanoseconds, of both ranks; lines in front:
 *
 *     main :1                 10000   8000
 *     +- 5 solve :20           6000   2000      lines counted
 *     |  +- 25 dot (C)         4000   1000
 *     |  +- 26 exchange :30    1000    500
 *     |     +- 31 MPI_Send      700    400
 *     +- 6 sort (C)            1000   3000
 *     +- 6 MPI_Barrier          500   2500
 *     +- 7 f :50                900      -
 *        +- 52 f                600      -
 *           +- 53 abs (C)       200      -
 */
#include "analysis/hot_lines.h"

#include "failing_alloc.h"
#include "sample_profile.h"
#include "tap.h"

static struct ar_profile profile;
static struct ar_totals totals;
static uint32_t main_node, solve;

static uint32_t node_of(uint32_t parent, uint32_t function, uint32_t line, uint64_t ns_0,
                        uint64_t ns_1)
{
    uint32_t node = sample_node(&profile, parent, function, line);

    sample_value(&profile, AR_METRIC_TIME, node, 0, ns_0);
    if (ns_1)
        sample_value(&profile, AR_METRIC_TIME, node, 1, ns_1);
    sample_value(&profile, AR_METRIC_CALLS, node, 0, 2);
    return node;
}

static uint32_t python(const char *name, uint32_t first_line)
{
    return sample_function(&profile, AR_FUNCTION_PYTHON, name, first_line);
}

static uint32_t in_c(const char *name)
{
    return sample_function(&profile, AR_FUNCTION_BUILTIN, name, 0);
}

static uint32_t mpi(const char *name)
{
    return sample_function(&profile, AR_FUNCTION_MPI, name, 0);
}

static void add_ranks(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct ar_process process = {.world_rank = i, .pid = 1000 + i, .wall_ns = 10000};
        uint32_t id;

        sample_must(ar_profile_process(&profile, &process, &id));
        sample_thread(&profile, id, 0);
    }
}

static void add_nodes(void)
{
    uint32_t f = python("f", 50), exchange, inner;

    sample_value(&profile, AR_METRIC_TIME, 0, 0, 10000);
    sample_value(&profile, AR_METRIC_TIME, 0, 1, 10000);
    main_node = node_of(0, python("main", 1), 0, 10000, 8000);
    solve = node_of(main_node, python("solve", 20), 5, 6000, 2000);
    node_of(solve, in_c("dot"), 25, 4000, 1000);
    exchange = node_of(solve, python("exchange", 30), 26, 1000, 500);
    node_of(exchange, mpi("MPI_Send"), 31, 700, 400);
    node_of(main_node, in_c("sort"), 6, 1000, 3000);
    node_of(main_node, mpi("MPI_Barrier"), 6, 500, 2500);
    inner = node_of(node_of(main_node, f, 7, 900, 0), f, 52, 600, 0);
    node_of(inner, in_c("abs"), 53, 200, 0);
}

static void add_stretch(uint32_t location, uint32_t from, uint32_t to, uint64_t ns)
{
    struct ar_line_stretch row = {main_node, location, from, to, ns, 9};

    sample_must(ar_profile_add_row(&profile, AR_TABLE_STRETCHES, &row));
}

static void add_counted(uint32_t location, uint32_t line, uint64_t ns)
{
    struct ar_counted_line row = {solve, location, line, 0, 10, ns};

    sample_must(ar_profile_add_row(&profile, AR_TABLE_LINES, &row));
}

static void add_tables(void)
{
    add_stretch(0, 5, 6, 800), add_stretch(0, 6, 5, 400), add_stretch(1, 5, 5, 300);
    add_stretch(0, 0, 5, 60), add_stretch(0, 7, 0, 40);
    add_counted(0, 25, 4500), add_counted(0, 26, 1100);
    add_counted(1, 25, 1200), add_counted(1, 26, 600);
}

static void build(void)
{
    sample_start(&profile);
    add_ranks();
    add_nodes();
    add_tables();
    sample_must(ar_profile_sort(&profile));
    sample_must(ar_totals_build(&totals, &profile));
}

static void finish(void)
{
    ar_totals_free(&totals);
    ar_profile_free(&profile);
}

/* ---- lines ------------------------------------------------------------------------------------ */

static const struct ar_line none;

static const struct ar_line *find(const struct ar_lines *lines, const char *function,
                                  uint32_t first, uint32_t last)
{
    for (size_t i = 0; i < lines->n; i++) {
        const struct ar_line *l = &lines->rows[i];
        const char *name = ar_strtab_text(&profile.strings, profile.functions[l->function].name);

        if (strcmp(name, function) == 0 && l->first == first && l->last == last)
            return l;
    }
    tap_ok(false, "%s %u-%u is there", function, first, last);
    return &none;
}

static void is_spread(const char *what, const struct ar_spread *s, uint64_t ns_0, uint64_t ns_1)
{
    uint64_t max = ns_0 > ns_1 ? ns_0 : ns_1;

    if (!tap_ok(s->sum == (double)(ns_0 + ns_1) && s->max == max && s->max_process == (ns_1 > ns_0),
                "%s", what))
        tap_note("sum %g max %g of %u", s->sum, (double)s->max, s->max_process);
}

static void test_calls(const struct ar_lines *lines)
{
    const struct ar_line *l = find(lines, "main", 5, 5);

    is_spread("a line that calls Python has its time", &l->time, 6000, 2300);
    is_spread("... which is not time here", &l->here, 0, 300);
    is_spread("... and all MPI below", &l->mpi, 700, 400);
    l = find(lines, "main", 6, 6);
    is_spread("C and MPI are time here", &l->here, 1500, 5500);
    is_spread("... of which MPI is a part", &l->mpi, 500, 2500);
    tap_ok(l->n_calls == 4 && !l->is_counted, "calls of the line");
    is_spread("an MPI call deeper down", &find(lines, "exchange", 31, 31)->here, 700, 400);
}

static void test_stretches(const struct ar_lines *lines)
{
    const struct ar_line *l = find(lines, "main", 5, 6);

    is_spread("a loop leads back: the same range", &l->own, 1200, 0);
    tap_ok(l->own.doubt.variance == 18 && l->own.doubt.marks & AR_MARK_ESTIMATED,
           "its variance is a sum, and it is marked");
    is_spread("from the beginning", &find(lines, "main", 0, 5)->own, 60, 0);
    is_spread("to the end", &find(lines, "main", 7, 0)->own, 40, 0);
}

static void test_counted(const struct ar_lines *lines)
{
    const struct ar_line *l = find(lines, "solve", 25, 25);

    tap_ok(l->is_counted && l->hits == 20, "hits of both ranks");
    is_spread("time of a counted line", &l->time, 4500, 1200);
    is_spread("... its own", &l->own, 500, 200);
    is_spread("... in C", &l->c, 4000, 1000);
    l = find(lines, "solve", 26, 26);
    is_spread("without the Python function that it calls", &l->here, 100, 100);
    is_spread("... with its MPI", &l->mpi, 700, 400);
}

static void test_recursion(const struct ar_lines *lines)
{
    is_spread("in recursion the outer line has nothing", &find(lines, "f", 52, 52)->time, 0, 0);
    is_spread("... the inner one has it", &find(lines, "f", 53, 53)->time, 200, 0);
    is_spread("... and the caller all", &find(lines, "main", 7, 7)->time, 900, 0);
}

static void test_order(const struct ar_lines *lines)
{
    bool sorted = true, falling = true;

    for (size_t i = 1; i < lines->n; i++) {
        const struct ar_line *a = &lines->rows[i - 1], *b = &lines->rows[i];

        sorted = sorted && (a->function < b->function ||
                            (a->function == b->function && a->first <= b->first));
        falling = falling && lines->rows[lines->hottest[i - 1]].here.sum >=
                                 lines->rows[lines->hottest[i]].here.sum;
    }
    tap_ok(sorted && falling, "rows by place, and those with most time first");
    tap_ok(lines->has_counted && lines->has_stretches, "the run has both");
}

static void test_only(void)
{
    bool *only = calloc(profile.n_functions + 1, sizeof *only);
    struct ar_lines lines;
    enum ar_status status;

    only[profile.nodes[solve].function] = true;
    status = ar_lines_build(&lines, &profile, &totals, only);
    tap_ok(status == AR_OK && lines.n == 2, "two lines of one function: %zu", lines.n);
    is_spread("they are the same", &find(&lines, "solve", 25, 25)->time, 4500, 1200);
    ar_lines_free(&lines);
    free(only);
}

static void test_lines(void)
{
    struct ar_lines lines;

    build();
    tap_ok(ar_lines_build(&lines, &profile, &totals, NULL) == AR_OK, "lines of two ranks");
    test_calls(&lines);
    test_stretches(&lines);
    test_counted(&lines);
    test_recursion(&lines);
    test_order(&lines);
    ar_lines_free(&lines);
    test_only();
    finish();
}

/* ---- hot lines -------------------------------------------------------------------------------- */

static bool is_hot(const struct ar_hot_lines *hot, const char *function, uint32_t line)
{
    for (uint32_t i = 0; i < profile.n_functions; i++)
        if (strcmp(ar_strtab_text(&profile.strings, profile.functions[i].name), function) == 0)
            return hot->by_function[i].first == line && hot->by_function[i].last == line &&
                   ar_hot_line_is_known(hot, i) == (line > 0);
    return false;
}

static void test_hot_lines(void)
{
    struct ar_hot_lines hot;

    build();
    tap_ok(ar_hot_lines_build(&hot, &profile, &totals) == AR_OK && hot.has_any, "hot lines");
    tap_ok(is_hot(&hot, "main", 6), "what is called in C counts for its line");
    tap_ok(is_hot(&hot, "solve", 25), "of a function whose lines were counted");
    tap_ok(is_hot(&hot, "exchange", 31), "of one that is in MPI");
    tap_ok(is_hot(&hot, "f", 0), "no line has a third of the function: none is named");
    tap_ok(is_hot(&hot, "dot", 0), "C functions have no lines");
    ar_hot_lines_free(&hot);
    finish();
}

static void test_no_memory(void)
{
    struct ar_hot_lines hot;
    bool worked = false, refused = true;
    size_t n = 0;

    build();
    for (; !worked; n++) {
        alloc_fail_after(n);
        enum ar_status status = ar_hot_lines_build(&hot, &profile, &totals);
        alloc_restore();
        worked = status == AR_OK;
        refused = refused && (worked || status == AR_NOMEM);
    }
    tap_ok(refused && n > 5, "every one of %zu allocations may fail", n - 1);
    ar_hot_lines_free(&hot);
    finish();
}

int main(void)
{
    test_lines();
    test_hot_lines();
    test_no_memory();
    return tap_done();
}
