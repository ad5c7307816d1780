// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/figures.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table -------------------------------------------------------------------------------- */

/* Of several formulas of one name the first whose metrics were recorded is taken. */
static const struct {
    const char *name, *unit, *formula, *help;
} known[] = {
    {"IPC", "1", "instructions / cycles", "instructions per cycle"},
    {"branch-miss-rate", "share", "branch-misses / branches", "branches that were not foreseen"},
    {"cache-miss-rate", "share", "cache-misses / cache-references",
     "accesses that the last-level cache missed"},
    {"L1-miss-rate", "share", "L1-dcache-load-misses / L1-dcache-loads",
     "loads that the first cache missed"},
    {"L1-miss-rate", "share", "PAPI_L1_DCM / PAPI_L1_DCA", "accesses that the first cache missed"},
    {"L1-miss-rate", "share", "PAPI_L1_DCM / PAPI_LST_INS",
     "loads and stores that the first cache missed"},
    {"L2-miss-rate", "share", "PAPI_L2_TCM / PAPI_L2_TCA", "accesses that the second cache missed"},
    {"L2-miss-rate", "share", "PAPI_L2_DCM / PAPI_L2_DCA", "accesses that the second cache missed"},
    {"L3-miss-rate", "share", "PAPI_L3_TCM / PAPI_L3_TCA", "accesses that the third cache missed"},
    {"L3-miss-rate", "share", "LLC-load-misses / LLC-loads",
     "loads that the last-level cache missed"},
    {"GFLOP/s", "1", "PAPI_DP_OPS / time / 1e9", "double-precision operations, per rank"},
    {"GFLOP/s", "1", "PAPI_FP_OPS / time / 1e9", "floating-point operations, per rank"},
    {"GFLOP/s", "1", "PAPI_SP_OPS / time / 1e9", "single-precision operations, per rank"},
    {"GFLOP/s", "1", "petsc_flops / time / 1e9",
     "floating-point operations as PETSc counts them, per rank"},
    {"memory-GB/s", "1", "PAPI_L3_TCM * 64 / time / 1e9",
     "lines of 64 bytes that the last cache missed, per rank; without prefetching"},
    {"memory-GB/s", "1", "cache-misses * 64 / time / 1e9",
     "lines of 64 bytes that the last cache missed, per rank; without prefetching"},
    {"on-processor", "share", "task-clock / time", "of the time the thread had a processor"},
};

#define N_KNOWN (sizeof known / sizeof *known)

/* PAPI's presets, and the kernel's events that are the same; counters/events.c has them too. */
static const char *const same[][2] = {{"PAPI_TOT_INS", "instructions"},
                                      {"PAPI_TOT_CYC", "cycles"},
                                      {"PAPI_REF_CYC", "ref-cycles"},
                                      {"PAPI_BR_INS", "branches"},
                                      {"PAPI_BR_MSP", "branch-misses"}};

/* ---- names ------------------------------------------------------------------------------------ */

static int plain(char c)
{
    return c == '_' ? '-' : tolower((unsigned char)c);
}

/* Users write names of counters in any case, and with - or _. */
static bool is_name(const char *name, const char *text, size_t n_text)
{
    size_t i = 0;

    while (i < n_text && name[i] && plain(name[i]) == plain(text[i]))
        i++;
    return i == n_text && !name[i];
}

/* perf:: is what PAPI puts before the kernel's names. */
static const char *without_prefix(const char *name, size_t *n)
{
    if (*n <= 6 || !is_name("perf::", name, 6))
        return name;
    *n -= 6;
    return name + 6;
}

static bool is_metric(const struct ar_profile *p, unsigned metric, const char *text, size_t n)
{
    const char *name = ar_profile_metric(p, metric)->name;
    size_t n_name = strlen(name);

    if (is_name(name, text, n))
        return true;
    name = without_prefix(name, &n_name);
    text = without_prefix(text, &n);
    if (is_name(name, text, n))
        return true;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if ((is_name(same[i][0], name, n_name) && is_name(same[i][1], text, n)) ||
            (is_name(same[i][1], name, n_name) && is_name(same[i][0], text, n)))
            return true;
    return false;
}

/* Of several events of one meaning the one that is written as it was recorded comes first. */
static int find_input(const struct ar_figures *f, const char *text, size_t n)
{
    for (size_t i = 0; i < f->n_inputs; i++)
        if (is_name(ar_profile_metric(f->p, f->inputs[i])->name, text, n))
            return (int)i;
    for (size_t i = 0; i < f->n_inputs; i++)
        if (is_metric(f->p, f->inputs[i], text, n))
            return (int)i;
    return -1;
}

static int find_figure(const struct ar_figures *f, const char *text, size_t n)
{
    for (size_t i = 0; i < f->n; i++)
        if (is_name(f->list[i].name, text, n))
            return (int)i;
    for (size_t i = 0; i < f->n_recorded; i++)
        if (is_metric(f->p, f->list[i].metric, text, n))
            return (int)i;
    return -1;
}

static int number_of(const char *name, size_t n_name, void *context)
{
    const struct ar_figures *f = context;
    int input = find_input(f, name, n_name);
    int figure = input < 0 ? find_figure(f, name, n_name) : -1;

    return input >= 0 || figure < 0 ? input : (int)f->n_inputs + figure;
}

/* ---- which there are -------------------------------------------------------------------------- */

static bool has_values(const struct ar_profile *p, unsigned metric)
{
    return p->metrics[metric].n_values || p->packed[metric].n_values;
}

/* Packed and shown metrics have their values elsewhere: those are there as long as they are described. */
static bool is_recorded(const struct ar_profile *p, unsigned metric)
{
    return metric >= AR_N_METRICS && (p->rows_of || has_values(p, metric));
}

static void add_inputs(struct ar_figures *f)
{
    f->inputs[f->n_inputs++] = AR_METRIC_TIME;
    f->inputs[f->n_inputs++] = AR_METRIC_CALLS;
    for (unsigned m = AR_N_METRICS; m < ar_profile_n_metrics(f->p); m++)
        if (is_recorded(f->p, m))
            f->inputs[f->n_inputs++] = m;
}

static void add_recorded(struct ar_figures *f)
{
    for (size_t i = 2; i < f->n_inputs; i++) {
        const struct ar_metric_kind *kind = ar_profile_metric(f->p, f->inputs[i]);

        f->list[f->n++] = (struct ar_figure){
            .name = kind->name, .unit = kind->unit, .help = "", .metric = f->inputs[i]};
    }
    f->n_recorded = f->n;
}

static void add_known(struct ar_figures *f)
{
    for (size_t i = 0; i < N_KNOWN; i++) {
        struct ar_figure *to = &f->list[f->n];

        if (find_figure(f, known[i].name, strlen(known[i].name)) >= 0)
            continue;
        *to = (struct ar_figure){.name = known[i].name,
                                 .unit = known[i].unit,
                                 .formula = known[i].formula,
                                 .help = known[i].help};
        f->n += ar_formula_parse(&to->compiled, to->formula, number_of, f, NULL) == AR_OK;
    }
}

/* What there is, where a name is not known: "page-faults, time, calls". */
static enum ar_status refuse(const struct ar_figures *f, enum ar_status status, const char *word,
                             const char *others, struct ar_error *err)
{
    struct ar_error why = *err;
    char there[300] = "";
    size_t n = 0;

    if (status == AR_BAD)
        return ar_fail(err, AR_BAD, "metric %.60s: %.90s (try: NAME=A/B)", word, why.text);
    for (size_t i = 0; i < f->n && n < sizeof there - 80; i++)
        n += (size_t)snprintf(there + n, sizeof there - n, "%s%.60s", i ? ", " : "",
                              f->list[i].name);
    return ar_fail(err, AR_BAD, "metric %.60s: %.90s (there is %s%s)", word, why.text, there,
                   others);
}

/* NAME=FORMULA; one of that name in the table is replaced. `name` stays. */
static enum ar_status define(struct ar_figures *f, const char *word, const char *name,
                             const char *formula, struct ar_error *err)
{
    size_t n_name = strlen(name);
    int at = find_figure(f, name, n_name);
    struct ar_figure made = {
        .name = name, .unit = "1", .formula = formula, .help = "", .is_asked = true};

    if (!n_name)
        return ar_fail(err, AR_BAD, "metric %.60s: a name is missing (try: NAME=A/B)", word);
    if (find_input(f, name, n_name) >= 0)
        return ar_fail(err, AR_BAD, "metric %.60s: %.60s was recorded (choose another name)", word,
                       name);
    enum ar_status status = ar_formula_parse(&made.compiled, formula, number_of, f, err);

    if (status < 0)
        return refuse(f, status, word, ", time, calls", err);
    for (size_t i = 0; at >= 0 && i < made.compiled.n; i++)
        if (made.compiled.steps[i].what == 'x' &&
            made.compiled.steps[i].number >= f->n_inputs + (size_t)at)
            return ar_fail(err, AR_BAD, "metric %.60s: computed from itself (choose another name)",
                           word);
    f->list[at >= 0 ? (size_t)at : f->n++] = made;
    return AR_OK;
}

static enum ar_status ask(struct ar_figures *f, const char *word, char *copy, struct ar_error *err)
{
    char *equals = strchr(copy, '=');
    int at;

    if (equals) {
        *equals = '\0';
        for (char *end = equals; end > copy && isspace((unsigned char)end[-1]);)
            *--end = '\0';
        return define(f, word, copy, equals + 1, err);
    }
    at = find_figure(f, copy, strlen(copy));
    if (at < 0) {
        ar_fail(err, AR_UNSUPPORTED, "no metric %.60s in it", copy);
        return refuse(f, AR_UNSUPPORTED, word, "", err);
    }
    f->list[at].is_asked = true;
    return AR_OK;
}

static enum ar_status ask_all(struct ar_figures *f, const struct ar_words *asked,
                              struct ar_error *err)
{
    size_t n_bytes = 1, at = 0;
    enum ar_status status = AR_OK;

    for (size_t i = 0; i < asked->n; i++)
        n_bytes += strlen(asked->items[i]) + 1;
    if (!f->n_recorded)
        return ar_fail(err, AR_BAD,
                       "metric %.60s: nothing was counted in it (record with: allranks run "
                       "--counters NAMES)",
                       asked->items[0]);
    f->names = malloc(n_bytes);
    if (!f->names)
        return ar_fail(err, AR_NOMEM, "out of memory");
    for (size_t i = 0; i < asked->n && status == AR_OK; i++) {
        size_t n = strlen(asked->items[i]) + 1;

        memcpy(f->names + at, asked->items[i], n);
        status = ask(f, asked->items[i], f->names + at, err);
        at += n;
    }
    return status;
}

enum ar_status ar_figures_find(struct ar_figures *out, const struct ar_profile *p,
                               const struct ar_words *asked, struct ar_error *err)
{
    size_t n_metrics = ar_profile_n_metrics(p);
    enum ar_status status = AR_OK;

    *out = (struct ar_figures){
        .p = p,
        .list = calloc(n_metrics + N_KNOWN + (asked ? asked->n : 0) + 1, sizeof *out->list),
        .inputs = calloc(n_metrics + 2, sizeof *out->inputs)};
    if (!out->list || !out->inputs) {
        status = ar_fail(err, AR_NOMEM, "out of memory");
    } else {
        add_inputs(out);
        add_recorded(out);
        add_known(out);
        if (asked && asked->n)
            status = ask_all(out, asked, err);
    }
    if (status < 0)
        ar_figures_free(out);
    return status;
}

void ar_figures_free(struct ar_figures *f)
{
    free(f->list);
    free(f->inputs);
    free(f->names);
    *f = (struct ar_figures){0};
}
