// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/counters.h"

#include "base/arena.h"
#include "runtime/measures.h"
#include "runtime/recording_options.h"
#include "runtime/tracer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PER_BLOCK AR_COUNTERS_PER_MEASURE
#define MOST_BLOCKS ((AR_MAX_COUNTERS + PER_BLOCK - 1) / PER_BLOCK)

static struct {
    struct ar_counter list[AR_MAX_COUNTERS];
    size_t n;
    uint32_t measures[MOST_BLOCKS]; /* numbers */
    uint32_t n_forks;
    bool user_only, is_scaled;
    char left_out[2048], reasons[8192]; /* what was asked for and cannot be counted, and why */
} counters;

/* A node that is open, and what the counters said when it was entered. */
struct opened {
    const struct ar_node *node;
    uint64_t values[AR_MAX_COUNTERS];
};

struct ar_counting {
    struct ar_counter_set set;
    uint32_t n_forks; /* when they were opened */
    struct opened *opened;
    size_t n_opened, cap_opened;
};

/* ---- which ------------------------------------------------------------------------------------ */

/* The name as the user wrote it, before why it cannot be counted. */
static enum ar_status refuse(const char *name, enum ar_status status, struct ar_error *err)
{
    struct ar_error why = *err;

    return ar_fail(err, status, "%.130s: %.300s", name, why.text);
}

/* Whether the first `n` can be counted at the same time. */
static enum ar_status try_together(size_t n, struct ar_error *err)
{
    struct ar_counter_set set;
    size_t which;
    enum ar_status status = ar_counter_set_open(&set, counters.list, n, &which, err);

    if (status == AR_OK)
        ar_counter_set_close(&set);
    return status;
}

/* The same event, under whichever name. */
static bool is_same(const struct ar_counter *counter, const char *name)
{
    struct ar_error ignored;
    int code;

    if (strcmp(counter->name, name) == 0)
        return true;
    if (counter->event)
        return counter->event == ar_event_find(name);
    return ar_papi_code(&code, name, &ignored) == AR_OK && code == counter->papi_code;
}

const struct ar_counter *ar_counters_find(const char *name, size_t *which)
{
    for (size_t i = 0; i < counters.n; i++)
        if (is_same(&counters.list[i], name)) {
            *which = i;
            return &counters.list[i];
        }
    return NULL;
}

static enum ar_status add_counter(const char *from, size_t n_name, struct ar_error *err)
{
    char name[2 * AR_COUNTER_NAME_BYTES];
    enum ar_status status;
    size_t which;

    snprintf(name, sizeof name, "%.*s", (int)n_name, from);
    if (counters.n == AR_MAX_COUNTERS) {
        ar_fail(err, AR_BAD, "more than %d counters (ask for fewer)", AR_MAX_COUNTERS);
        return refuse(name, AR_BAD, err);
    }
    if (ar_counters_find(name, &which)) {
        ar_fail(err, AR_BAD, "it is %.60s, which is counted already (name it once)",
                counters.list[which].name);
        return refuse(name, AR_BAD, err);
    }
    status = ar_counter_find(&counters.list[counters.n], name, err);
    if (status == AR_OK)
        status = try_together(counters.n + 1, err);
    if (status < 0)
        return refuse(name, status, err);
    counters.n++;
    return AR_OK;
}

static void append(char *list, size_t n_list, const char *between, const char *text, size_t n_text)
{
    size_t n = strlen(list);

    snprintf(list + n, n_list - n, "%s%.*s", n ? between : "", (int)n_text, text);
}

static void note_left_out(const char *name, size_t n_name, const struct ar_error *why)
{
    append(counters.left_out, sizeof counters.left_out, ", ", name, n_name);
    append(counters.reasons, sizeof counters.reasons, "; ", why->text, strlen(why->text));
}

/* Without the blanks around it. */
static const char *next_name(const char **names, size_t *n)
{
    const char *name = *names + strspn(*names, " \t");
    size_t n_all = strcspn(name, ",");

    *names = name + n_all + (name[n_all] == ',');
    for (*n = n_all; *n && (name[*n - 1] == ' ' || name[*n - 1] == '\t');)
        --*n;
    return name;
}

/* `is_optional`: what cannot be counted is left out, and is no failure. */
static enum ar_status choose(const char *names, bool is_optional, struct ar_error *err)
{
    counters.n = 0;
    counters.left_out[0] = counters.reasons[0] = '\0';
    while (*names) {
        size_t n;
        const char *name = next_name(&names, &n);
        enum ar_status status = n ? add_counter(name, n, err) : AR_OK;

        if (status < 0 && !is_optional)
            return status;
        if (status < 0)
            note_left_out(name, n, err);
    }
    return AR_OK;
}

/*
 * A call of a function in Python takes some 50 ns. Where a read is a system call, counting all of them would make the
 * program several times slower, and the counters would count that.
 */
#define MOST_READ_NS 150
#define READS 16
#define ROUNDS 40

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Of all counters together, once; the least of several tries. 0: they cannot be read. */
static uint64_t read_ns(struct ar_counter_set *set)
{
    uint64_t values[AR_MAX_COUNTERS], best = UINT64_MAX;

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = now_ns(), taken;

        for (int i = 0; i < READS; i++)
            if (!ar_counter_set_read(set, values))
                return 0;
        taken = now_ns() - start;
        best = taken < best ? taken : best;
    }
    return best / READS;
}

static enum ar_status check_cost(struct ar_error *err)
{
    struct ar_counter_set set;
    size_t which;
    enum ar_status status = ar_counter_set_open(&set, counters.list, counters.n, &which, err);
    uint64_t ns;

    if (status < 0)
        return status;
    ns = read_ns(&set);
    ar_counter_set_close(&set);
    if (ns > MOST_READ_NS)
        return ar_fail(err, AR_UNSUPPORTED,
                       "a read takes %llu ns here, too much for every call "
                       "(try: --counters-at 'solver.py:*')",
                       (unsigned long long)ns);
    return AR_OK;
}

enum ar_status ar_counters_check(const char *names, bool is_optional, bool everywhere,
                                 struct ar_error *err)
{
    enum ar_status status = choose(names, is_optional, err);

    if (status == AR_OK && counters.n == 0 && !is_optional)
        status = ar_fail(err, AR_BAD, "no counter is named (try: allranks counters)");
    if (status == AR_OK && counters.n && everywhere)
        status = check_cost(err);
    counters.n = 0;
    return status;
}

/* ---- threads ---------------------------------------------------------------------------------- */

static void open_counters(struct ar_counting *c)
{
    struct ar_error err;
    size_t which;

    c->n_forks = counters.n_forks;
    c->n_opened = 0;
    if (ar_counter_set_open(&c->set, counters.list, counters.n, &which, &err) < 0)
        ar_livemap_lost(AR_LOST_ROWS, 1);
    counters.user_only |= c->set.perf.user_only;
}

/* Those that a forked child has from its parent count the parent: it opens its own. */
static bool is_open_here(struct ar_counting *c)
{
    if (c->n_forks != counters.n_forks) {
        ar_counter_set_close(&c->set);
        open_counters(c);
    }
    return c->set.n > 0;
}

static void thread_starts(struct ar_thread *t)
{
    if (!counters.n || t->counting)
        return;
    t->counting = calloc(1, sizeof *t->counting);
    if (t->counting)
        open_counters(t->counting);
}

static void thread_ends(struct ar_thread *t)
{
    if (!t->counting)
        return;
    ar_counter_set_close(&t->counting->set);
    if (t->counting->n_forks == counters.n_forks)
        ar_counter_set_leave_thread();
    free(t->counting->opened);
    free(t->counting);
    t->counting = NULL;
}

/* ---- nodes ------------------------------------------------------------------------------------ */

static void enter(struct ar_counting *c, const struct ar_node *node, const uint64_t *values)
{
    if (ar_grow((void **)&c->opened, &c->cap_opened, c->n_opened + 1, sizeof *c->opened) < 0) {
        ar_livemap_lost(AR_LOST_ROWS, 1);
        return;
    }

    struct opened *to = &c->opened[c->n_opened++];

    to->node = node;
    memcpy(to->values, values, counters.n * sizeof *values);
}

static void add(struct ar_thread *t, struct ar_node *node, const uint64_t *since,
                const uint64_t *values)
{
    for (size_t i = 0; i < counters.n; i++) {
        uint64_t *words = ar_measure_block(t, node, counters.measures[i / PER_BLOCK]);
        uint64_t *word = words ? &words[1 + i % PER_BLOCK] : NULL;

        if (word && values[i] > since[i])
            __atomic_store_n(word, *word + values[i] - since[i], __ATOMIC_RELAXED);
    }
}

/* Nodes may be left in another order than they were entered: what is inside is taken out of the path first. */
static void leave(struct ar_thread *t, struct ar_node *node, const uint64_t *values)
{
    struct ar_counting *c = t->counting;

    for (size_t i = c->n_opened; i-- > 0;)
        if (c->opened[i].node == node) {
            add(t, node, c->opened[i].values, values);
            memmove(&c->opened[i], &c->opened[i + 1], (--c->n_opened - i) * sizeof *c->opened);
            return;
        }
}

/* Said once: all values are estimates then. */
static void note_scaled(void)
{
    if (!__atomic_exchange_n(&counters.is_scaled, true, __ATOMIC_RELAXED))
        ar_livemap_fact("estimated", "values of counters, which took turns on the processor");
}

static void count(struct ar_thread *t, struct ar_node *node)
{
    struct ar_counting *c = t->counting;
    uint64_t values[AR_MAX_COUNTERS];

    if (!c || !is_open_here(c))
        return;
    if (!ar_counter_set_read(&c->set, values)) {
        ar_counter_set_close(&c->set);
        ar_livemap_lost(AR_LOST_ROWS, 1);
        return;
    }
    if (ar_counter_set_is_scaled(&c->set))
        note_scaled();
    if (node->ticks >= 0) {
        enter(c, node, values);
    } else {
        leave(t, node, values);
    }
    if (ar_trace_is_on())
        for (size_t i = 0; i < counters.n; i++)
            ar_trace_counter(t, counters.list[i].name, values[i]);
}

/* ---- for others that count ---------------------------------------------------------------------- */

bool ar_counters_has_metric(const char *name)
{
    for (size_t i = 0; i < counters.n; i++)
        if (strcmp(counters.list[i].name, name) == 0)
            return true;
    return false;
}

bool ar_counters_use_papi(void)
{
    for (size_t i = 0; i < counters.n; i++)
        if (!counters.list[i].event)
            return true;
    return false;
}

bool ar_counters_read(struct ar_thread *t, uint64_t *values)
{
    return t && t->counting && is_open_here(t->counting) &&
           ar_counter_set_read(&t->counting->set, values);
}

/* ---- the source ------------------------------------------------------------------------------- */

uint32_t ar_counters_measure(const struct ar_counter *list, size_t n)
{
    struct ar_metric_kind kinds[AR_COUNTERS_PER_MEASURE];
    struct ar_measure measure = {.form = AR_MEASURE_METRICS, .n_words = AR_BLOCK_WORDS};

    for (size_t i = 0; i < n && i < AR_COUNTERS_PER_MEASURE; i++) {
        kinds[i] = (struct ar_metric_kind){.name = list[i].name,
                                           .unit = list[i].unit,
                                           .combine = AR_COMBINE_SUM,
                                           .scope = AR_SCOPE_INCLUSIVE};
        measure.metrics[i] = &kinds[i];
        measure.fields[i] = (struct ar_row_field){.word = (uint8_t)(1 + i), .n_bits = 64};
        measure.n_fields++;
    }
    return ar_measure_begin(&measure);
}

static enum ar_status start(const struct ar_options *options, struct ar_error *err)
{
    enum ar_status status = choose(options->counters, options->counters_optional, err);

    if (status < 0 || !counters.n)
        return status;
    for (size_t i = 0; i < counters.n; i += PER_BLOCK) {
        counters.measures[i / PER_BLOCK] = ar_counters_measure(&counters.list[i], counters.n - i);
        if (!counters.measures[i / PER_BLOCK]) {
            counters.n = 0;
            return ar_fail(err, AR_UNSUPPORTED, "the live file is full");
        }
    }
    ar_tree_counts = count;
    ar_tree_counted_marks = AR_MARK_REGION | AR_MARK_COUNTED;
    ar_tree_counts_all = options->counters_everywhere;
    return AR_OK;
}

static void stop(enum ar_source_end why)
{
    if (why != AR_SOURCE_CANCELLED)
        return;
    ar_tree_counted_marks = 0;
    ar_tree_counts_all = false;
}

static void fork_counters(enum ar_fork_step step)
{
    if (step != AR_FORK_CHILD)
        return;
    counters.n_forks++;
    ar_counter_set_forked();
}

static void describe(ar_fact_fn *fact)
{
    char text[AR_MAX_COUNTERS * (AR_COUNTER_NAME_BYTES + 2) + 64] = "";
    size_t n = 0;

    for (size_t i = 0; i < counters.n; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? ", " : "",
                              counters.list[i].name);
    if (counters.n && counters.user_only)
        snprintf(text + n, sizeof text - n, " (without the kernel)");
    if (counters.n)
        fact("counters", text);
    if (*counters.left_out) {
        fact("uncounted", counters.left_out);
        fact("why not", counters.reasons);
    }
}

const struct ar_source ar_source_counters = {
    .name = "counters",
    .start = start,
    .stop = stop,
    .thread_starts = thread_starts,
    .thread_ends = thread_ends,
    .fork = fork_counters,
    .describe = describe,
};
