// SPDX-License-Identifier: BSD-3-Clause
/* Three ranks, a recursive function and a region, with counters whose sums are known. */
#include "analysis/figure_values.h"
#include "counters/events.h"

#include "failing_alloc.h"
#include "sample_profile.h"
#include "tap.h"

#include <math.h>

#define N_RANKS 3

static struct ar_profile profile;
static struct ar_totals totals;
static struct ar_by_function by_function;
static uint32_t outer, inner, region; /* nodes */
static unsigned cycles, instructions, least, faults;

static unsigned metric(const char *name, const char *unit, enum ar_combine combine,
                       enum ar_scope scope)
{
    struct ar_metric_kind kind = {
        .name = name, .unit = unit, .combine = (uint8_t)combine, .scope = (uint8_t)scope};
    unsigned number;

    sample_must(ar_profile_find_metric(&profile, &kind, &number));
    return number;
}

static void count(uint32_t node, uint32_t location, uint64_t n)
{
    sample_value(&profile, AR_METRIC_CALLS, node, location, 2);
    sample_value(&profile, AR_METRIC_TIME, node, location, n * 1000000000);
    sample_value(&profile, instructions, node, location, n * 100);
    sample_value(&profile, cycles, node, location, n * 50 * (location + 1));
    sample_value(&profile, faults, node, location, n);
}

/* f -> f -> region, on three ranks; rank 2 never was in the region. */
static void make(void)
{
    uint32_t f, r;

    sample_start(&profile);
    cycles = metric("PAPI_TOT_CYC", "1", AR_COMBINE_SUM, AR_SCOPE_INCLUSIVE);
    instructions = metric("instructions", "1", AR_COMBINE_SUM, AR_SCOPE_INCLUSIVE);
    least = metric("least", "ns", AR_COMBINE_MIN, AR_SCOPE_CALL);
    faults = metric("perf::PAGE-FAULTS", "1", AR_COMBINE_SUM, AR_SCOPE_EXCLUSIVE);
    f = sample_function(&profile, AR_FUNCTION_PYTHON, "f", 1);
    r = sample_function(&profile, AR_FUNCTION_REGION, "r", 0);
    outer = sample_node(&profile, 0, f, 1);
    inner = sample_node(&profile, outer, f, 2);
    region = sample_node(&profile, inner, r, 3);
    for (uint32_t rank = 0; rank < N_RANKS; rank++) {
        uint32_t location = sample_thread(&profile, sample_rank(&profile, rank), 0);

        count(outer, location, 10);
        count(inner, location, 4);
        if (rank < 2)
            count(region, location, 1 + rank);
    }
    sample_value(&profile, least, inner, 0, 3000000000);
    sample_value(&profile, least, outer, 1, 2000000000);
    sample_must(ar_profile_sort(&profile));
    sample_must(ar_totals_build(&totals, &profile));
    sample_must(ar_by_function_build(&by_function, &profile, &totals));
}

static int find(const struct ar_figures *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->list[i].name, name) == 0)
            return (int)i;
    return -1;
}

static const struct ar_figure_value *value_of(const struct ar_figures *f,
                                              const struct ar_figure_items *items, uint32_t id,
                                              const char *name)
{
    static const struct ar_figure_value none = {.value = NAN};
    size_t n, first = ar_figure_items_of(items, id, &n);

    for (size_t i = first; i < first + n; i++)
        if ((int)items->list[i].figure == find(f, name))
            return &items->list[i].v;
    return &none;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) < 1e-9 * (fabs(b) + 1);
}

static const struct ar_words asked = {.items = {"per-call=page-faults / calls", "twice=per-call*2",
                                                "IPC=instructions/calls", "rate=PAPI_TOT_INS/time",
                                                "seconds=least", "Perf::page_faults"},
                                      .n = 6};

static void test_which(const struct ar_figures *f)
{
    tap_ok(find(f, "instructions") >= 0 && find(f, "PAPI_TOT_CYC") >= 0 && find(f, "least") >= 0,
           "what was recorded");
    tap_ok(find(f, "cache-miss-rate") < 0 && find(f, "GFLOP/s") < 0,
           "no formula of what was not recorded");
    tap_ok(strcmp(f->list[find(f, "IPC")].formula, "instructions/calls") == 0,
           "a formula of the user's replaces one of the table");
    tap_ok(f->list[find(f, "perf::PAGE-FAULTS")].is_asked && !f->list[find(f, "least")].is_asked,
           "what was asked for, in any spelling");
}

static void test_functions(const struct ar_figures *f)
{
    struct ar_figure_items items;
    uint32_t id = profile.nodes[outer].function, r = profile.nodes[region].function;
    const struct ar_figure_value *v;

    sample_must(ar_figures_of_functions(&items, f, &by_function));
    v = value_of(f, &items, id, "instructions");
    tap_ok(v->value == 3000 && v->mean == 1000 && v->min == 1000 && v->max == 1000 && v->sd == 0,
           "recursion counts once");
    v = value_of(f, &items, id, "PAPI_TOT_CYC");
    tap_ok(v->value == 3000 && v->min == 500 && v->min_process == 0 && v->max == 1500 &&
               v->max_process == 2 && is_near(v->sd, sqrt(500000.0 / 3)),
           "over ranks");
    tap_ok(value_of(f, &items, id, "perf::PAGE-FAULTS")->value == 42,
           "what is exclusive counts everywhere");
    tap_ok(is_near(value_of(f, &items, id, "per-call")->value, 42.0 / 12) &&
               is_near(value_of(f, &items, id, "twice")->value, 7),
           "formulas, of calls, and of another formula");
    tap_ok(value_of(f, &items, id, "least")->value == 2e9 &&
               is_near(value_of(f, &items, id, "seconds")->value, 2),
           "the least of all; in a formula in seconds");
    v = value_of(f, &items, id, "least");
    tap_ok(v->min == 2e9 && v->max == 3e9 && v->max_process == 0, "ranks that have one");
    v = value_of(f, &items, r, "instructions");
    tap_ok(v->value == 300 && v->mean == 100 && v->min == 0 && v->min_process == 2,
           "a rank that never was there has 0");
    v = value_of(f, &items, r, "rate");
    tap_ok(is_near(v->value, 100) && is_near(v->min, 100) && is_near(v->max, 100),
           "and does not count for a formula, whose time is in seconds");
    ar_figure_items_free(&items);
}

static void test_nodes(const struct ar_figures *f)
{
    struct ar_figure_items items;
    struct ar_figure_reader reader;

    sample_must(ar_figures_of_nodes(&items, f));
    tap_ok(value_of(f, &items, inner, "instructions")->value == 1200 &&
               value_of(f, &items, outer, "instructions")->value == 3000 &&
               isnan(value_of(f, &items, 0, "instructions")->value),
           "by call path");
    ar_figure_items_free(&items);
    sample_must(ar_figure_reader_open(&reader, f));
    tap_ok(ar_figure_read(&reader, &region, 1, NULL) &&
               ar_figure_of_root(&reader, (size_t)find(f, "instructions"), 1) == 200 &&
               ar_figure_of_root(&reader, (size_t)find(f, "instructions"), 2) == 0 &&
               isnan(ar_figure_of_root(&reader, (size_t)find(f, "rate"), 2)),
           "on one rank");
    tap_ok(!ar_figure_read(&reader, &(uint32_t){0}, 1, NULL), "of a node that was not counted");
    ar_figure_reader_close(&reader);
}

static void test_known(void)
{
    struct ar_figures f;

    sample_must(ar_figures_find(&f, &profile, NULL, NULL));
    tap_ok(strcmp(f.list[find(&f, "IPC")].formula, "instructions / cycles") == 0 &&
               f.n == f.n_recorded + 1,
           "by PAPI's name of one event and the kernel's of the other");
    ar_figures_free(&f);
}

static void refuse(const char *word, const char *why)
{
    const struct ar_words words = {.items = {word}, .n = 1};
    struct ar_figures f;
    struct ar_error err = {""};

    tap_ok(ar_figures_find(&f, &profile, &words, &err) == AR_BAD && strstr(err.text, why), "%s: %s",
           word, err.text);
}

/* Formulas know both names of an event that has two in the list of what can be counted. */
static void test_presets(void)
{
    for (const struct ar_event *event = ar_events; event->name; event++) {
        struct ar_metric_kind kind = {.name = event->preset, .unit = "1"};
        char word[64];
        const struct ar_words words = {.items = {word}, .n = 1};
        struct ar_profile p;
        struct ar_figures f;
        unsigned number;

        if (!event->preset)
            continue;
        sample_start(&p);
        sample_must(ar_profile_find_metric(&p, &kind, &number));
        sample_value(&p, number, 0, sample_thread(&p, sample_rank(&p, 0), 0), 1);
        snprintf(word, sizeof word, "x=%s", event->name);
        tap_ok(ar_figures_find(&f, &p, &words, NULL) == AR_OK, "%s is %s", event->name,
               event->preset);
        ar_figures_free(&f);
        ar_profile_free(&p);
    }
}

static enum ar_status all_of(void)
{
    struct ar_figures f;
    struct ar_figure_items items;
    enum ar_status status = ar_figures_find(&f, &profile, &asked, NULL);

    if (status < 0)
        return status;
    status = ar_figures_of_functions(&items, &f, &by_function);
    if (status == AR_OK) {
        ar_figure_items_free(&items);
        status = ar_figures_of_nodes(&items, &f);
    }
    if (status == AR_OK)
        ar_figure_items_free(&items);
    ar_figures_free(&f);
    return status;
}

static void test_no_memory(void)
{
    size_t n = 0;

    for (;; n++) {
        alloc_fail_after(n);

        enum ar_status status = all_of();

        alloc_restore();
        if (status == AR_OK)
            break;
        if (status != AR_NOMEM)
            tap_ok(false, "another failure without memory");
    }
    tap_ok(n > 10, "no memory at any of %zu places", n);
}

int main(void)
{
    struct ar_figures f;
    struct ar_error err;

    make();
    sample_must(ar_figures_find(&f, &profile, &asked, &err));
    test_which(&f);
    test_functions(&f);
    test_nodes(&f);
    ar_figures_free(&f);
    test_known();
    test_presets();
    refuse("x", "no metric x in it (there is ");
    refuse("x=x", "no metric x in it");
    refuse("IPC=IPC*2", "computed from itself");
    refuse("instructions=1", "was recorded");
    refuse("=1", "a name is missing");
    refuse("x=", "missing at its end");
    test_no_memory();
    ar_by_function_free(&by_function);
    ar_totals_free(&totals);
    ar_profile_free(&profile);
    return tap_done();
}
