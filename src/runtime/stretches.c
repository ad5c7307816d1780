// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/stretches.h"

#include "runtime/budget.h"
#include "runtime/measures.h"
#include "runtime/tree.h"

#include <stdlib.h>
#include <string.h>

#define PERIOD_NS 50000
/* After so many samples a thread's period doubles: what is measured of a run of any length stays small, and so does its error as a share. */
#define N_SAMPLES 16384

/* Rows that were written last, by what they are of: a chain of values may be long. */
#define N_CACHED 256

struct cached {
    uint32_t node_ref, from, to;
    uint64_t *words;
};

struct ar_stretches {
    uint64_t dice;
    double period_ticks;
    uint64_t next_ticks; /* the instant of the next sample */
    uint32_t n_samples;  /* since the period doubled last */
    uint32_t n_forks;    /* rows of the cache are of the file since then */
    struct cached cache[N_CACHED];
};

static const struct ar_column columns[] = {
    {.name = "node", .unit = "", .role = AR_ROLE_NODE, .flags = AR_COLUMN_KEY | AR_COLUMN_STEPS},
    {.name = "location", .unit = "", .role = AR_ROLE_LOCATION, .flags = AR_COLUMN_KEY},
    {.name = "from_line", .unit = "", .flags = AR_COLUMN_KEY},
    {.name = "to_line", .unit = "", .flags = AR_COLUMN_KEY},
    {.name = "time", .unit = "ns", .combine = AR_COMBINE_SUM},
    {.name = "variance", .unit = "us2", .combine = AR_COMBINE_SUM},
};
static const struct ar_table_kind kind = {
    .name = "stretches", .columns = columns, .n_columns = 6, .n_keys = 4};
enum word { OWNER_AND_FROM, TO, TICKS, VARIANCE, N_WORDS };
static const struct ar_measure measure = {
    .form = AR_MEASURE_TABLE,
    .n_words = N_WORDS,
    .n_fields = 6,
    .table = &kind,
    .fields = {{.word = OWNER_AND_FROM, .first_bit = 32, .n_bits = 32},
               {.n_bits = 0},
               {.word = OWNER_AND_FROM, .n_bits = 32, .unit = AR_ROW_FIELD_SITE},
               {.word = TO, .n_bits = 32, .unit = AR_ROW_FIELD_SITE},
               {.word = TICKS, .n_bits = 64, .unit = AR_ROW_FIELD_TICKS},
               {.word = VARIANCE, .n_bits = 64}},
};

static struct {
    uint32_t measure; /* 0: nothing is recorded */
    uint32_t n_forks;
    double period_ticks, us_per_tick;
} stretches;

/* ---- when ------------------------------------------------------------------------------------- */

static uint32_t roll(struct ar_stretches *s)
{
    s->dice ^= s->dice << 13;
    s->dice ^= s->dice >> 7;
    s->dice ^= s->dice << 17;
    return (uint32_t)(s->dice >> 32);
}

/*
 * Exponential, with mean 1 (von Neumann): the length of the falling run that a number begins is odd with probability
 * exp(-number); each number that fails is one more unit. It needs neither a logarithm nor a table.
 */
static double roll_exponential(struct ar_stretches *s)
{
    for (uint32_t n_failed = 0;; n_failed++) {
        uint32_t first = roll(s), last = first, next;
        bool is_odd = true;

        while ((next = roll(s)) < last) {
            last = next;
            is_odd = !is_odd;
        }
        if (is_odd)
            return n_failed + first / 0x1p32;
    }
}

/* ---- how much --------------------------------------------------------------------------------- */

/* exp(-x) for 0 <= x, within 1e-9. */
static double exp_minus(double x)
{
    double y = x / 64, e;

    if (x > 40)
        return 0;
    e = 1 - y * (1 - y / 2 * (1 - y / 3 * (1 - y / 4 * (1 - y / 5))));
    for (int i = 0; i < 6; i++)
        e *= e;
    return e;
}

/* That the stretch is sampled; `x` is its length in periods. For small ones the difference would lose digits. */
static double probability_of(double x)
{
    return x < 1e-3 ? x * (1 - x / 2) : 1 - exp_minus(x);
}

/* ---- where ------------------------------------------------------------------------------------ */

static uint64_t *find_row(struct ar_thread *t, struct ar_node *node, uint32_t from, uint32_t to)
{
    uint64_t words[N_WORDS] = {[OWNER_AND_FROM] = from, [TO] = to};

    for (uint32_t ref = node->values_ref; ref;) {
        struct ar_values *values = ar_live_ptr(ref);

        if (values->kind == stretches.measure && (uint32_t)values->words[OWNER_AND_FROM] == from &&
            values->words[TO] == to)
            return values->words;
        ref = values->next_ref;
    }
    return ar_measure_row(t, node, stretches.measure, words, N_WORDS);
}

static uint64_t *row_of(struct ar_thread *t, struct ar_node *node, uint32_t from, uint32_t to)
{
    uint32_t ref = ar_live_ref(node), hash = (ref * 31 + from) * 31 + to;
    struct cached *cached = &t->stretches->cache[(hash * 0x9e3779b1u) >> 24];

    if (!cached->words || cached->node_ref != ref || cached->from != from || cached->to != to)
        *cached = (struct cached){ref, from, to, find_row(t, node, from, to)};
    return cached->words;
}

/* NOLINTNEXTLINE(readability-non-const-parameter) */
static void add(uint64_t *word, double n)
{
    __atomic_store_n(word, *word + (uint64_t)(n + 0.5), __ATOMIC_RELAXED);
}

/* The place of a call by `node`; 0: it is none of its calls. false: the place is not known, as in recursion, and after a pause. */
static bool find_site(const struct ar_node *node, const struct ar_node *call, uint32_t *site)
{
    bool is_call = call && call != node && call->parent_ref == ar_live_ref(node);

    *site = is_call ? (uint32_t)(call->key >> 32) : 0;
    return call && (!is_call || *site);
}

/* The current node has come to its end, or calls `next`, after so many ticks since its event before. */
static void record(struct ar_thread *t, struct ar_node *next, uint64_t ticks)
{
    struct ar_node *node = t->current;
    uint32_t from, to;
    double x = (double)ticks / t->stretches->period_ticks, p = probability_of(x);
    double charge = (double)ticks / p, charge_us = charge * stretches.us_per_tick;
    uint64_t *words;

    if (!find_site(node, t->previous, &from) || !find_site(node, next, &to) || !(from || to) ||
        node == t->root || node->flags & (AR_NODE_IN_C | AR_NODE_OPERATION | AR_NODE_SYNCS))
        return;
    words = row_of(t, node, from, to);
    if (!words)
        return;
    add(&words[TICKS], charge);
    add(&words[VARIANCE], charge_us * charge_us * (1 - p));
}

/* From one sample to the next; they are a Poisson process, so that nothing depends on what was. */
static uint64_t roll_next(struct ar_stretches *s)
{
    if (++s->n_samples > N_SAMPLES) {
        s->n_samples = 0;
        s->period_ticks *= 2;
    }
    return (uint64_t)(roll_exponential(s) * s->period_ticks) + 1;
}

static struct ar_stretches *begin(struct ar_thread *t)
{
    t->stretches = calloc(1, sizeof *t->stretches);
    if (t->stretches)
        *t->stretches = (struct ar_stretches){.dice = ar_ticks() * 0x9e3779b97f4a7c15u | 1,
                                              .period_ticks = stretches.period_ticks,
                                              .n_forks = stretches.n_forks};
    return t->stretches;
}

/* A child of a fork has a file of its own, without the rows. */
static void forget_after_fork(struct ar_stretches *s)
{
    if (s->n_forks == stretches.n_forks)
        return;
    memset(s->cache, 0, sizeof s->cache);
    s->n_forks = stretches.n_forks;
}

/* A sample before the stretch fell into time that is not the program's. */
static uint64_t sample(struct ar_thread *t, struct ar_node *next, uint64_t ticks, uint64_t now)
{
    uint64_t begin_ticks = t->slot->latest_ticks, latest = now + ar_tree_longest_look();
    struct ar_stretches *s = t->stretches ? t->stretches : begin(t);

    if (!s)
        return latest;
    forget_after_fork(s);
    if (s->next_ticks <= begin_ticks)
        s->next_ticks = begin_ticks + roll_next(s);
    if (s->next_ticks <= now) {
        if (ticks)
            record(t, next, ticks);
        s->next_ticks = now + roll_next(s);
    }
    return s->next_ticks < latest ? s->next_ticks : latest;
}

/* ---- the source ------------------------------------------------------------------------------- */

void ar_stretches_calibrate(void)
{
    stretches.period_ticks = (double)ar_ticks_of_ns(PERIOD_NS);
    stretches.us_per_tick = PERIOD_NS / 1000.0 / stretches.period_ticks;
    if (ar_self && ar_self->stretches)
        ar_self->stretches->period_ticks = stretches.period_ticks;
}

static enum ar_status start(const struct ar_options *options, struct ar_error *err)
{
    (void)options, (void)err;
    stretches.measure = ar_measure_begin(&measure);
    if (!stretches.measure)
        return AR_OK;
    ar_stretches_calibrate();
    ar_tree_samples = sample;
    return AR_OK;
}

static void stop(enum ar_source_end why)
{
    if (why == AR_SOURCE_CANCELLED)
        ar_tree_samples = NULL;
}

static void thread_ends(struct ar_thread *t)
{
    free(t->stretches);
    t->stretches = NULL;
}

static void fork_stretches(enum ar_fork_step step)
{
    stretches.n_forks += step == AR_FORK_CHILD;
}

const struct ar_source ar_source_stretches = {
    .name = "stretches",
    .start = start,
    .stop = stop,
    .thread_ends = thread_ends,
    .fork = fork_stretches,
};
