// SPDX-License-Identifier: BSD-3-Clause
/*
 * A process of its own records, and this one reads what it left, or what it is writing: as it is in
 * a run. Stamps are made up, counted from the start of the thread, so that times are arithmetic.
 * Nodes are known by their paths, "1@7/2@9" for function 2 called from place 9 within function 1
 * called from place 7.
 */
#include "runtime/tree.h"

#include "dice.h"
#include "format/live_profile.h"
#include "format/profile.h"
#include "runtime/identity.h"
#include "sample_profile.h"
#include "scratch.h"
#include "tap.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define MIB ((uint64_t)1 << 20)
#define MAX_PATH 2000
#define WATCHED_BYTES (2 * MIB)

/* ---- the process that records ---------------------------------------------------------------- */

struct recording {
    pid_t pid;
    int progress; /* it sends a byte from time to time */
    char path[AR_PATH_BYTES];
};

static int progress; /* the other end, in the child */

static void add_functions(uint32_t n)
{
    for (uint32_t i = 1; i <= n; i++) {
        char name[16];

        snprintf(name, sizeof name, "f%u", i);

        struct ar_record head = {.kind = AR_RECORD_FUNCTION,
                                 .function_kind = AR_FUNCTION_PYTHON,
                                 .n_name = (uint32_t)strlen(name)};

        if (ar_livemap_record(&head, name, "", NULL) != i)
            _exit(3);
    }
}

static struct ar_identity identity;

/* Ends the process. Its leaks are nobody's business: the runtime keeps things until the end. */
static void run_child(uint64_t n_bytes_max, void (*body)(struct ar_thread *))
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* some bodies never end */
    if (ar_identity_find(&identity, scratch_dir, NULL) < 0 ||
        ar_livemap_create(&identity, n_bytes_max, NULL) < 0)
        _exit(4);
    add_functions(60);

    struct ar_thread *t = ar_thread_self();

    if (!t || write(progress, ar_livemap_path(), AR_PATH_BYTES) != AR_PATH_BYTES)
        _exit(5);
    body(t);
    _exit(0);
}

static struct recording start(uint64_t n_bytes_max, void (*body)(struct ar_thread *))
{
    struct recording r = {0};
    int ends[2];

    if (pipe(ends) < 0 || (r.pid = fork()) < 0) {
        printf("Bail out! no process to record\n");
        exit(2);
    }
    if (r.pid == 0) {
        close(ends[0]);
        progress = ends[1];
        run_child(n_bytes_max, body);
    }
    close(ends[1]);
    r.progress = ends[0];
    for (size_t n = 0; n < sizeof r.path;) {
        ssize_t got = read(r.progress, r.path + n, sizeof r.path - n);

        if (got <= 0)
            break;
        n += (size_t)got;
    }
    return r;
}

static bool finish(struct recording *r)
{
    int status = 1;

    close(r->progress);
    return waitpid(r->pid, &status, 0) == r->pid && status == 0;
}

static void stop(struct recording *r)
{
    kill(r->pid, SIGKILL);
    close(r->progress);
    waitpid(r->pid, NULL, 0);
}

/* Records to the end; what was recorded is in `live`. */
static struct ar_live live;

static void record(uint64_t n_bytes_max, void (*body)(struct ar_thread *))
{
    struct recording r = start(n_bytes_max, body);
    struct ar_error error = {""};

    tap_ok(finish(&r), "recorded");
    tap_ok(ar_live_open(&live, r.path, &error) == AR_OK, "read back %s", error.text);
}

/* ---- in that process ------------------------------------------------------------------------- */

static uint64_t call(uint32_t function, uint32_t place)
{
    return (uint64_t)place << 32 | function;
}

static uint64_t at(const struct ar_thread *t, uint64_t ticks)
{
    return t->slot->start_ticks + ticks;
}

static struct ar_node *enter(struct ar_thread *t, uint32_t function, uint32_t place, uint64_t ticks)
{
    return ar_tree_enter(t, call(function, place), at(t, ticks));
}

static void leave(struct ar_thread *t, uint64_t ticks)
{
    ar_tree_leave(t, t->current, at(t, ticks));
}

/* One call that calls nothing. */
static void visit(struct ar_thread *t, uint32_t function, uint32_t place, uint64_t from,
                  uint64_t to)
{
    if (!enter(t, function, place, from))
        _exit(6);
    leave(t, to);
}

/* ---- in this one ----------------------------------------------------------------------------- */

static const struct ar_live_thread *thread_number(uint32_t number)
{
    const struct ar_extent *e = NULL;

    while ((e = ar_live_next(&live, e, AR_EXTENT_THREADS)))
        for (size_t i = 0; i < ar_extent_count(e, sizeof(struct ar_live_thread)); i++) {
            const struct ar_live_thread *t = ar_extent_item(e, i, sizeof *t);

            if (t->root_ref && t->number == number)
                return t;
        }
    return NULL;
}

static void write_path(const struct ar_node *node, char *path)
{
    if (!node || !node->parent_ref) {
        *path = '\0';
        return;
    }
    write_path(ar_live_at(&live, node->parent_ref), path);
    snprintf(path + strlen(path), MAX_PATH - strlen(path), "%s%u@%u", *path ? "/" : "",
             (uint32_t)node->key, (uint32_t)(node->key >> 32));
}

/* All nodes of a thread, in the order of the file: parents before their children. */
struct walk {
    const struct ar_extent *extent;
    size_t i;
};

static const struct ar_node *next_node(const struct ar_live *in, uint32_t thread, struct walk *w)
{
    while (!w->extent || w->extent->owner != thread ||
           w->i >= ar_extent_count(w->extent, sizeof(struct ar_node))) {
        w->extent = ar_live_next(in, w->extent, AR_EXTENT_NODES);
        w->i = 0;
        if (!w->extent)
            return NULL;
    }
    return ar_extent_item(w->extent, w->i++, sizeof(struct ar_node));
}

static uint32_t ref_of(const struct ar_node *node)
{
    return (uint32_t)(((const unsigned char *)node - live.bytes) / AR_LIVE_REF_BYTES);
}

static const struct ar_node *node_at(uint32_t thread, const char *wanted)
{
    struct walk w = {0};

    for (const struct ar_node *node; (node = next_node(&live, thread, &w));) {
        char path[MAX_PATH];

        write_path(node, path);
        if (strcmp(path, wanted) == 0)
            return node;
    }
    return NULL;
}

static size_t n_nodes(uint32_t thread)
{
    struct walk w = {0};
    size_t n = 0;

    while (next_node(&live, thread, &w))
        n++;
    return n;
}

static void check(const char *path, uint64_t n_calls, int64_t ticks)
{
    const struct ar_node *node = node_at(0, path);

    if (!tap_ok(node && node->n_calls == n_calls && node->ticks == ticks, "%s", path) && node)
        tap_note("%" PRIu64 " calls, %" PRId64 " ticks", node->n_calls, node->ticks);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void some_calls(struct ar_thread *t)
{
    enter(t, 1, 5, 100);
    for (uint64_t i = 0; i < 10; i++)
        visit(t, 2, 7, 200 + 10 * i, 203 + 10 * i);
    visit(t, 2, 9, 400, 450);
    visit(t, 3, 9, 500, 501);
    leave(t, 1000);
    visit(t, 1, 5, 2000, 2500);
}

static void test_counts_and_times(void)
{
    record(MIB, some_calls);
    check("1@5", 2, 1400);
    check("1@5/2@7", 10, 30);
    check("1@5/2@9", 1, 50);
    check("1@5/3@9", 1, 1);
    tap_ok(n_nodes(0) == 5, "and the root");

    const struct ar_live_thread *t = thread_number(0);

    tap_ok(t && t->current_ref == t->root_ref && t->latest_ticks == t->start_ticks + 2500,
           "at the end the thread is at its root");
    tap_ok(t && strcmp(t->name, "MainThread") == 0 && t->end_ticks == 0, "its name");

    const struct ar_node *root = t ? ar_live_at(&live, t->root_ref) : NULL;

    tap_ok(root && root->n_calls == 1 && root->ticks == -(int64_t)t->start_ticks, "it is open");
    ar_live_close(&live);
}

/* Stopped in the middle: what is open says since when. */
static void open_calls(struct ar_thread *t)
{
    visit(t, 1, 5, 100, 150);
    enter(t, 1, 5, 200);
    enter(t, 2, 6, 300);
}

static void test_open_calls(void)
{
    record(MIB, open_calls);

    const struct ar_live_thread *t = thread_number(0);
    int64_t begin = (int64_t)t->start_ticks;

    check("1@5", 2, 50 - (begin + 200));
    check("1@5/2@6", 1, -(begin + 300));
    tap_ok(ar_live_at(&live, t->current_ref) == node_at(0, "1@5/2@6"), "the innermost one");
    ar_live_close(&live);
}

/* With made-up stamps of the file a tick is a nanosecond, from thread to profile. */
static void one_to_one(struct ar_thread *t)
{
    struct ar_live_header *h = ar_live_header();
    uint64_t begin = t->slot->start_ticks;

    some_calls(t);
    enter(t, 4, 1, 3000);
    h->start = (struct ar_stamp){begin, begin, 0};
    h->latest = (struct ar_stamp){begin + 10000, begin + 10000, 0};
}

static void test_profile(void)
{
    struct ar_profile p;

    record(MIB, one_to_one);
    sample_start(&p);
    tap_ok(ar_profile_add_live(&p, &live, 0, NULL) == AR_OK && sample_is_sound(&p), "a profile");
    tap_ok(sample_find(&p, AR_METRIC_TIME, 0, 0) == 10000, "the whole");
    tap_ok(sample_find(&p, AR_METRIC_TIME, sample_node_at(&p, "/f1:0"), 0) == 1400, "a part");
    tap_ok(sample_find(&p, AR_METRIC_TIME, sample_node_at(&p, "/f4:0"), 0) == 7000, "still open");
    tap_ok(sample_find(&p, AR_METRIC_CALLS, sample_node_at(&p, "/f1:0/f2:0"), 0) == 11, "calls");
    ar_profile_free(&p);
    ar_live_close(&live);
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Function 1 calls itself from two places, and function 2 does so in between. */
static void recursion(struct ar_thread *t)
{
    for (uint64_t i = 0; i < 3; i++) {
        enter(t, 1, 10, 1000 * i);
        visit(t, 1, 7, 1000 * i + 100, 1000 * i + 110);
        visit(t, 1, 8, 1000 * i + 200, 1000 * i + 220);
        enter(t, 2, 5, 1000 * i + 300);
        visit(t, 1, 9, 1000 * i + 400, 1000 * i + 440);
        visit(t, 2, 4, 1000 * i + 500, 1000 * i + 501);
        leave(t, 1000 * i + 600);
        visit(t, 2, 6, 1000 * i + 650, 1000 * i + 660);
        leave(t, 1000 * i + 700);
    }
}

static void test_recursion(void)
{
    record(MIB, recursion);
    check("1@10", 3, 2100);
    check("1@10/1@0", 6, 90);
    check("1@10/2@5", 3, 900);
    check("1@10/2@5/1@0", 3, 120);
    check("1@10/2@5/2@0", 3, 3);
    check("1@10/2@6", 3, 30);
    tap_ok(n_nodes(0) == 7, "and the root");
    ar_live_close(&live);
}

static uint64_t fib_clock;

static void fib(struct ar_thread *t, int n, uint32_t place)
{
    enter(t, 1, place, ++fib_clock);
    if (n > 1) {
        fib(t, n - 1, 11);
        fib(t, n - 2, 12);
    }
    leave(t, ++fib_clock);
}

static void fib_15(struct ar_thread *t)
{
    fib(t, 15, 1);
}

static void test_twofold_recursion(void)
{
    struct walk w = {0};
    uint64_t n_calls = 0;

    record(MIB, fib_15);
    for (const struct ar_node *node; (node = next_node(&live, 0, &w));)
        n_calls += node->parent_ref ? node->n_calls : 0;
    tap_ok(n_nodes(0) == 16, "fib(15) has one node a level: %zu", n_nodes(0) - 1);
    tap_ok(n_calls == 1973, "and all calls: %" PRIu64, n_calls);
    ar_live_close(&live);
}

static void deep(struct ar_thread *t)
{
    for (uint32_t i = 0; i < 3000; i++)
        enter(t, 1 + i % 3, 1 + i % 5, i);
    for (uint32_t i = 0; i < 3000; i++)
        leave(t, 3000 + i);
}

static void test_deep_recursion(void)
{
    struct walk w = {0};
    uint64_t n_calls = 0;
    int64_t ticks = 0;

    record(MIB, deep);
    for (const struct ar_node *node; (node = next_node(&live, 0, &w));)
        if (node->parent_ref) {
            n_calls += node->n_calls;
            ticks += node->ticks;
        }
    tap_ok(n_nodes(0) == 3001 && n_calls == 3000, "3000 levels");
    tap_ok(ticks == 3000 * 3000, "every one of them closed");
    ar_live_close(&live);
}

static void below_marked(struct ar_thread *t)
{
    ar_tree_mark(3, AR_MARK_ANY_PLACE);
    enter(t, 1, 5, 0);
    for (uint32_t place = 6; place < 8; place++) {
        enter(t, 3, place, place);
        visit(t, 4, 10 + place, 20, 25);
        visit(t, 4, 20 + place, 30, 35);
        leave(t, 100);
        visit(t, 4, place, 120, 125);
    }
    leave(t, 200);
}

static void test_marked_functions(void)
{
    record(MIB, below_marked);
    check("1@5/3@6", 1, 94);
    check("1@5/3@7", 1, 93);
    check("1@5/3@6/4@0", 2, 10);
    check("1@5/3@7/4@0", 2, 10);
    check("1@5/4@6", 1, 5);
    check("1@5/4@7", 1, 5);
    tap_ok(n_nodes(0) == 8, "and the root");
    ar_live_close(&live);
}

/* A place that is not known is one of several, whatever was called before. */
static void unknown_place(struct ar_thread *t)
{
    enter(t, 1, 1, 0);
    for (uint32_t i = 0; i < 4; i++) {
        visit(t, 2, 2, 1, 2);
        visit(t, 3, i % 2 ? 5 : 0, 10, 11);
    }
    leave(t, 100);
}

static void test_unknown_place(void)
{
    record(MIB, unknown_place);
    check("1@1/3@0", 2, 2);
    check("1@1/3@5", 2, 2);
    ar_live_close(&live);
}

/*
 * Parent and key are mixed into one number as parent * odd + key, so that below any other parent
 * there is a key with an equal hash.
 */
static void equal_hashes(struct ar_thread *t)
{
    struct ar_node *first = enter(t, 1, 1, 0), *child = enter(t, 2, 2, 0);

    leave(t, 1);
    leave(t, 1);

    struct ar_node *second = enter(t, 3, 3, 2);
    uint64_t distance = (uint64_t)ar_live_ref(first) - ar_live_ref(second);
    uint64_t key = call(2, 2) + distance * 0x9e3779b97f4a7c15u;

    for (uint64_t i = 0; i < 3; i++) {
        struct ar_node *other = ar_tree_enter(t, key, at(t, 3));

        if (!other || other == child || other->key != key || other->n_calls != i + 1 ||
            other->parent_ref != ar_live_ref(second))
            _exit(19);
        leave(t, 4);
        visit(t, 4, 4, 5, 6); /* so that it is not guessed */
    }
}

static void test_equal_hashes(void)
{
    record(MIB, equal_hashes);
    check("1@1/2@2", 1, 1);
    tap_ok(n_nodes(0) == 6, "two nodes with an equal hash are two");
    ar_live_close(&live);
}

/* ---- random calls against a slow model ------------------------------------------------------- */

#define N_FUNCTIONS 6
#define N_PLACES 3
#define MARKED 5
#define MAX_DEPTH 6
#define MAX_MODEL 40000

struct model_node {
    uint64_t key;
    uint32_t parent, first_child, next_sibling;
    uint64_t n_calls, ticks, entered;
};

static struct model_node *model;
static uint32_t n_model, model_current;

static bool model_has_no_place(uint32_t node, uint32_t function)
{
    for (; node; node = model[node].parent)
        if ((uint32_t)model[node].key == function || (uint32_t)model[node].key == MARKED)
            return true;
    return false;
}

static uint32_t model_child(uint32_t parent, uint64_t key)
{
    uint32_t child = model[parent].first_child;

    while (child && model[child].key != key)
        child = model[child].next_sibling;
    if (!child) {
        child = n_model++;
        model[child] = (struct model_node){
            .key = key, .parent = parent, .next_sibling = model[parent].first_child};
        model[parent].first_child = child;
    }
    return child;
}

static void model_enter(uint64_t key, uint64_t now)
{
    if (model_has_no_place(model_current, (uint32_t)key))
        key = (uint32_t)key;
    model_current = model_child(model_current, key);
    model[model_current].n_calls++;
    model[model_current].entered = now;
}

static void model_leave(uint64_t now)
{
    model[model_current].ticks += now - model[model_current].entered;
    model_current = model[model_current].parent;
}

/* The same events for the tree and for the model. */
struct play {
    struct dice d;
    struct ar_thread *t; /* NULL: the model */
    uint64_t habits[MAX_DEPTH][4];
    uint64_t now;
    int n_left;
};

static uint64_t random_call(struct dice *d)
{
    uint32_t function = 1 + dice_below(d, N_FUNCTIONS);

    return call(function, 1 + dice_below(d, N_PLACES));
}

static void play_enter(struct play *p, uint64_t key)
{
    p->now += 1 + dice_below(&p->d, 9);
    if (!p->t)
        model_enter(key, p->now);
    else if (!ar_tree_enter(p->t, key, at(p->t, p->now)))
        _exit(7);
}

static void play_leave(struct play *p)
{
    p->now += 1 + dice_below(&p->d, 9);
    if (p->t)
        leave(p->t, p->now);
    else
        model_leave(p->now);
}

/* Loops within loops that do mostly the same: guesses come true often, and often not. */
static void play_loop(struct play *p, uint32_t depth)
{
    uint32_t n_body = 1 + dice_below(&p->d, 4), n_rounds = 1 + dice_below(&p->d, 6);

    for (uint32_t i = 0; i < n_body * n_rounds && p->n_left > 0; i++, p->n_left--) {
        uint64_t key = p->habits[depth][i % n_body];

        play_enter(p, dice_below(&p->d, 10) ? key : random_call(&p->d));
        if (depth + 1 < MAX_DEPTH && dice_below(&p->d, 3) == 0)
            play_loop(p, depth + 1);
        play_leave(p);
    }
}

static void play(uint64_t seed, struct ar_thread *t)
{
    struct play p = {.d = {seed}, .t = t, .n_left = 50000};

    while (p.n_left > 0) {
        if (dice_below(&p.d, 20) == 0 || !p.habits[0][0])
            for (int i = 0; i < MAX_DEPTH * 4; i++)
                p.habits[i / 4][i % 4] = random_call(&p.d);
        play_loop(&p, 0);
    }
}

static uint64_t play_seed;

static void play_in_tree(struct ar_thread *t)
{
    ar_tree_mark(MARKED, AR_MARK_ANY_PLACE);
    play(play_seed, t);
}

/* Parents come first in the file, so one pass gives each node its counterpart. */
static bool agrees_with_model(void)
{
    uint32_t *counterpart = calloc(live.n_bytes / AR_LIVE_REF_BYTES, sizeof *counterpart);
    uint32_t n_expected = n_model, n_seen = 1;
    struct walk w = {0};
    bool same = next_node(&live, 0, &w) != NULL; /* the root is nobody's child */

    for (const struct ar_node *node; same && (node = next_node(&live, 0, &w)); n_seen++) {
        uint32_t twin = model_child(counterpart[node->parent_ref], node->key);

        same = n_model == n_expected && model[twin].n_calls == node->n_calls &&
               (int64_t)model[twin].ticks == node->ticks;
        counterpart[ref_of(node)] = twin;
    }
    free(counterpart);
    return same && n_seen == n_model;
}

static void test_random_calls(uint64_t seed)
{
    play_seed = seed;
    record(8 * MIB, play_in_tree);
    n_model = 1;
    model_current = 0;
    model[0] = (struct model_node){0};
    play(seed, NULL);
    tap_ok(agrees_with_model(), "%" PRIu64 ": %u nodes agree with the model", seed, n_model);
    tap_ok(live.header->n_lost[AR_LOST_NODES] == 0 && live.header->n_lost[AR_LOST_FRAMES] == 0,
           "%" PRIu64 ": nothing is lost", seed);
    ar_live_close(&live);
}

/* ---- returns that were missed, values -------------------------------------------------------- */

static void missed_returns(struct ar_thread *t)
{
    struct ar_node *outer = enter(t, 1, 1, 100);

    enter(t, 2, 2, 200);
    enter(t, 3, 3, 300);
    ar_tree_leave(t, outer, at(t, 500));
    if (t->current != t->root)
        _exit(18);
    visit(t, 4, 4, 600, 601);
}

static void test_missed_returns(void)
{
    record(MIB, missed_returns);
    check("1@1", 1, 400);
    check("1@1/2@2", 1, 300);
    check("1@1/2@2/3@3", 1, 200);
    check("4@4", 1, 1);
    tap_ok(live.header->n_lost[AR_LOST_FRAMES] == 2, "two returns were inferred");
    ar_live_close(&live);
}

/* Greenlets have a C stack each: calls of one end while those of another are open. */
static void switched_stacks(struct ar_thread *t)
{
    struct ar_node *first = enter(t, 1, 1, 100), *second = enter(t, 2, 2, 200);

    ar_tree_leave(t, first, at(t, 300)); /* which closes the second */
    ar_tree_leave(t, second, at(t, 400));
    first = enter(t, 3, 3, 500);
    leave(t, 510);
    first = enter(t, 4, 4, 600);
    ar_tree_leave(t, first, at(t, 700));
    ar_tree_leave(t, first, at(t, 800)); /* nobody does, but nothing comes of it */
}

static void test_switched_stacks(void)
{
    record(MIB, switched_stacks);
    check("1@1", 1, 200);
    check("1@1/2@2", 1, 100);
    check("3@3", 1, 10);
    check("4@4", 1, 100);
    ar_live_close(&live);
}

static void add_values(struct ar_thread *t)
{
    struct ar_node *node = enter(t, 1, 1, 100);
    struct ar_values *mpi = ar_tree_values(t, node, AR_VALUES_MPI);

    mpi->words[AR_MPI_BYTES_OUT] = 77;
    ar_tree_values(t, node, AR_FIRST_MEASURE)->words[6] = 88;
    if (ar_tree_values(t, node, AR_VALUES_MPI) != mpi)
        _exit(8);
    for (uint32_t place = 1; place < 200; place++) { /* more than a page of them */
        node = enter(t, 2, place, 100);
        ar_tree_values(t, node, AR_VALUES_MPI)->words[AR_MPI_BYTES_IN] = place;
        leave(t, 101);
    }
}

static const struct ar_values *values_of(const struct ar_node *node, enum ar_values_kind kind)
{
    const struct ar_values *values = node ? ar_live_at(&live, node->values_ref) : NULL;

    while (values && values->kind != (uint32_t)kind)
        values = ar_live_at(&live, values->next_ref);
    return values;
}

static void test_values(void)
{
    bool good = true;

    record(MIB, add_values);

    const struct ar_values *mpi = values_of(node_at(0, "1@1"), AR_VALUES_MPI);
    const struct ar_values *memory = values_of(node_at(0, "1@1"), AR_FIRST_MEASURE);

    tap_ok(mpi && mpi->words[AR_MPI_BYTES_OUT] == 77 && memory && memory->words[6] == 88,
           "values of two kinds");
    for (uint32_t place = 1; place < 200; place++) {
        char path[32];

        snprintf(path, sizeof path, "1@1/2@%u", place);
        mpi = values_of(node_at(0, path), AR_VALUES_MPI);
        good = good && mpi && mpi->words[AR_MPI_BYTES_IN] == place;
    }
    tap_ok(good, "each node has its own");
    ar_live_close(&live);
}

/* ---- a full file ----------------------------------------------------------------------------- */

static uint64_t n_refused;

static void *attach(void *context)
{
    (void)context;
    return ar_thread_self();
}

static bool other_thread_is_recorded(void)
{
    pthread_t other;
    void *attached;

    if (pthread_create(&other, NULL, attach, NULL) != 0 || pthread_join(other, &attached) != 0)
        _exit(12);
    return attached != NULL;
}

/* What is there goes on; what would be new is refused, and the thread stays where it is. */
static void call_in_full_file(struct ar_thread *t)
{
    for (uint32_t i = 0; i < 10; i++)
        visit(t, 1, 1, 100, 101);
    if (!enter(t, 1, 1, 200))
        _exit(9);
    for (uint32_t i = 0; i < 5; i++) {
        n_refused += !enter(t, 3, 4, 300);
        if (t->current->key != call(1, 1))
            _exit(10);
    }
    leave(t, 400);
}

/* There is the rest of a page for them. */
static void exhaust_values(struct ar_thread *t)
{
    struct ar_values *values = NULL;
    uint32_t place = 2;

    do {
        struct ar_node *node = enter(t, 2, place, 500);

        values = ar_tree_values(t, node, AR_VALUES_MPI);
        leave(t, 500);
    } while (values && place++ < 100);
    if (values)
        _exit(11);
}

/* Says in the file, as values of the root that were made in time, how often it was refused. */
static void fill(struct ar_thread *t)
{
    struct ar_values *said = ar_tree_values(t, t->root, AR_FIRST_MEASURE);

    visit(t, 1, 1, 0, 1);
    for (uint32_t place = 2; place < 30000; place++)
        if (!enter(t, 2, place, place))
            n_refused++;
        else
            leave(t, place + 1);
    call_in_full_file(t);
    exhaust_values(t);
    said->words[0] = n_refused;
    said->words[1] = other_thread_is_recorded();
}

static void test_full_file(void)
{
    struct ar_profile p;

    record(MIB, fill);

    const struct ar_live_thread *t = thread_number(0);
    const struct ar_values *said = values_of(ar_live_at(&live, t->root_ref), AR_FIRST_MEASURE);

    tap_ok(live.n_bytes == MIB, "the file is full to the last page");
    tap_ok(said && said->words[0] > 10000 && live.header->n_lost[AR_LOST_NODES] == said->words[0],
           "%" PRIu64 " calls found no room, and are counted", live.header->n_lost[AR_LOST_NODES]);
    check("1@1", 12, 11 + 200);
    tap_ok(n_nodes(0) > 10000, "%zu nodes did", n_nodes(0));
    tap_ok(said && said->words[1] == 0 && live.header->n_lost[AR_LOST_THREADS] == 1,
           "a new thread is not recorded, and counted");
    sample_start(&p);
    tap_ok(ar_profile_add_live(&p, &live, 0, NULL) == AR_OK && sample_is_sound(&p) &&
               ar_profile_lost(&p, 0, AR_LOST_NODES) == said->words[0],
           "the file is good");
    ar_profile_free(&p);
    ar_live_close(&live);
}

/* ---- threads --------------------------------------------------------------------------------- */

#define N_THREADS 40 /* more than a page of slots */

static void *thread_body(void *context)
{
    struct ar_thread *t = ar_thread_self();
    uint32_t number = (uint32_t)(uintptr_t)context;
    char name[64];

    if (!t || ar_thread_self() != t)
        _exit(13);
    for (uint32_t i = 0; i < number; i++)
        visit(t, 1, 1 + i % 2, 10 * i, 10 * i + 5);
    snprintf(name, sizeof name, "worker %u, whose name is too long for its field", number % 100);
    ar_thread_name(t, name);
    if (number == 7)
        enter(t, 2, 3, 1000); /* and ends inside it */
    return NULL;
}

static void many_threads(struct ar_thread *t)
{
    pthread_t other[N_THREADS];

    enter(t, 9, 9, 0);
    for (uintptr_t i = 0; i < N_THREADS; i++)
        if (pthread_create(&other[i], NULL, thread_body, (void *)(i + 1)) != 0)
            _exit(14);
    for (size_t i = 0; i < N_THREADS; i++)
        pthread_join(other[i], NULL);
    leave(t, 1);
}

/* Slots are taken in any order; the name says which thread it was. */
static bool thread_is_good(const struct ar_live_thread *t)
{
    const struct ar_node *root = ar_live_at(&live, t->root_ref);
    const struct ar_node *one = node_at(t->number, "1@1"), *two = node_at(t->number, "1@2");
    unsigned number = 0;

    return sscanf(t->name, "worker %u", &number) == 1 && number >= 1 && number <= N_THREADS &&
           memchr(t->name, '\0', sizeof t->name) && t->end_ticks >= t->start_ticks && root &&
           root->ticks >= 0 && one && one->n_calls + (two ? two->n_calls : 0) == number &&
           one->ticks == 5 * (int64_t)one->n_calls &&
           n_nodes(t->number) == (number == 7) + 2u + !!two;
}

static void test_threads(void)
{
    bool good = true;

    record(4 * MIB, many_threads);
    for (uint32_t i = 1; i <= N_THREADS; i++) {
        const struct ar_live_thread *t = thread_number(i);

        good = good && t && thread_is_good(t);
    }
    tap_ok(good, "%d threads, each with a tree of its own that is closed", N_THREADS);
    tap_ok(!thread_number(N_THREADS + 1), "and no other");
    check("9@9", 1, 1);
    tap_ok(n_nodes(0) == 2, "the main thread's is as it was");
    tap_ok(live.header->n_lost[AR_LOST_FRAMES] == 1, "one ended within a call");
    ar_live_close(&live);
}

static void stop_and_fork(struct ar_thread *t)
{
    int status = 1;

    visit(t, 1, 1, 0, 5);

    ar_threads_forking(AR_FORK_BEFORE);

    pid_t child = fork();

    if (child == 0) {
        ar_livemap_forget();
        ar_threads_forking(AR_FORK_CHILD);
        _exit(ar_self == NULL && ar_thread_self() == NULL ? 0 : 1);
    }
    if (waitpid(child, &status, 0) != child || status != 0)
        _exit(15);
    ar_threads_forking(AR_FORK_PARENT);
    visit(t, 1, 1, 10, 15);
    ar_threads_stop();
    if (ar_self || ar_thread_self())
        _exit(16);
}

static void test_stop_and_fork(void)
{
    record(MIB, stop_and_fork);
    check("1@1", 2, 10);
    tap_ok(n_nodes(0) == 2 && live.header->n_lost[AR_LOST_THREADS] == 0, "nothing else");
    ar_live_close(&live);
}

/* ---- going on in the child of a fork --------------------------------------------------------- */

#define N_OTHERS 3000 /* nodes that lie between those that are open */

static void forking(enum ar_fork_step step)
{
    ar_threads_forking(step);
    ar_tree_forking(step);
    ar_livemap_forking(step);
}

static char *name_of_childs_file(char *path)
{
    snprintf(path, AR_PATH_BYTES, "%s/child", scratch_dir);
    return path;
}

/* Where the test finds it. */
static bool tell_path(void)
{
    char path[AR_PATH_BYTES];
    FILE *file = fopen(name_of_childs_file(path), "w");

    return file && fputs(ar_livemap_path(), file) >= 0 && fclose(file) == 0;
}

/* `outer` and `inner` were entered by the parent, and are left here. */
static void go_on_in_child(struct ar_node *outer, struct ar_node *inner)
{
    forking(AR_FORK_CHILD);
    if (ar_thread_self())
        _exit(20);
    if (ar_identity_fork(&identity, NULL) < 0 ||
        ar_livemap_adopt(&identity, ar_threads_forked_in(), NULL) < 0)
        _exit(21);
    ar_threads_adopt();

    struct ar_thread *t = ar_self;
    struct ar_record head = {
        .kind = AR_RECORD_FUNCTION, .function_kind = AR_FUNCTION_PYTHON, .n_name = 5};

    if (!t || t->current != inner || t->slot->number != 0)
        _exit(22);
    if (ar_livemap_record(&head, "child", "", NULL) != 61)
        _exit(23);
    visit(t, 61, 8, 10, 17);
    ar_tree_leave(t, inner, at(t, 100));
    visit(t, 5, 1, 200, 205);
    ar_tree_leave(t, outer, at(t, 1000));
    _exit(tell_path() ? 0 : 24);
}

static void fork_and_go_on(struct ar_thread *t)
{
    int status = 1;
    struct ar_node *outer = enter(t, 1, 1, 0);

    for (uint32_t i = 0; i < N_OTHERS; i++)
        visit(t, 5, 1 + i, 1, 2);

    struct ar_node *inner = enter(t, 2, 2, 10);

    forking(AR_FORK_BEFORE);

    pid_t child = fork();

    if (child == 0)
        go_on_in_child(outer, inner);
    forking(AR_FORK_PARENT);
    visit(t, 7, 7, 20, 21); /* which the child does not have, whoever is first */
    if (waitpid(child, &status, 0) != child || status != 0)
        _exit(25);
    leave(t, 30);
    leave(t, 40);
}

static void test_child_goes_on(void)
{
    char path[AR_PATH_BYTES], *end;
    struct ar_profile profile;
    struct ar_error error = {""};
    struct stat st = {0};

    record(16 * MIB, fork_and_go_on);
    check("1@1", 1, 40);
    check("1@1/2@2", 1, 20);
    check("1@1/2@2/7@7", 1, 1);
    tap_ok(n_nodes(0) == 4 + N_OTHERS, "the parent's is its own");
    ar_live_close(&live);

    FILE *file = fopen(name_of_childs_file(path), "r");

    end = file ? fgets(path, sizeof path, file) : NULL;
    tap_ok(end && ar_live_open(&live, path, &error) == AR_OK, "the child has one, %s", error.text);
    if (file)
        fclose(file);
    check("1@1", 0, 1000);
    check("1@1/2@2", 0, 100);
    check("1@1/2@2/61@8", 1, 7);
    check("1@1/5@1", 1, 5);
    tap_ok(!node_at(0, "1@1/2@2/7@7"), "not what its parent did later");
    tap_ok(stat(path, &st) == 0 && st.st_blocks * 512 < 600 << 10,
           "what it does not need takes no room: %lld KiB", (long long)st.st_blocks / 2);
    tap_ok(live.header->is_child && live.header->parent_pid == live.header->root_pid &&
               live.header->pid != live.header->parent_pid,
           "it says whose it is");
    tap_ok(ar_profile_init(&profile) == AR_OK &&
               ar_profile_add_live(&profile, &live, 0, &error) == AR_OK,
           "a profile of it %s", error.text);
    tap_ok(ar_profile_lost(&profile, 0, AR_LOST_NODES) == 0 && profile.n_nodes == 6,
           "has these nodes, the process and the root: %zu", profile.n_nodes);
    ar_profile_free(&profile);
    ar_live_close(&live);
}

/* ---- reading while it is written ------------------------------------------------------------- */

/* Until it is killed. Real stamps: the reader compares them with its own. */
static void write_for_ever(struct ar_thread *t)
{
    struct dice d = {(uint64_t)getpid()};
    uint32_t depth = 0;

    for (uint64_t n = 0;; n++) {
        if (depth < 8 && dice_below(&d, 2)) {
            struct ar_node *node =
                ar_tree_enter(t, call(1 + dice_below(&d, 60), 1 + dice_below(&d, 3)), ar_ticks());

            depth += node != NULL;
            if (node && dice_below(&d, 8) == 0)
                ar_tree_values(t, node, AR_VALUES_MPI);
        } else if (depth > 0) {
            ar_tree_leave(t, t->current, ar_ticks());
            depth--;
        }
        if (n % 1000 == 0 && write(progress, "", 1) < 0)
            _exit(17);
    }
}

/* Which refs are nodes that can be seen? */
static bool *visible_nodes(void)
{
    bool *visible = calloc(live.n_bytes / AR_LIVE_REF_BYTES + 1, sizeof *visible);
    struct walk w = {0};

    for (const struct ar_node *node; (node = next_node(&live, 0, &w));)
        visible[ref_of(node)] = true;
    return visible;
}

static bool node_is_good(const struct ar_node *node, const bool *visible,
                         const struct ar_live_thread *t, uint64_t now)
{
    uint32_t ref = ref_of(node);
    int64_t ticks = node->ticks < 0 ? (int64_t)((uint64_t)node->ticks + now) : node->ticks;
    bool placed = ref == t->root_ref
                      ? node->parent_ref == 0
                      : node->parent_ref && node->parent_ref < ref && visible[node->parent_ref] &&
                            (uint32_t)node->key >= 1 && (uint32_t)node->key <= 60;

    return placed && ticks >= 0 && (uint64_t)ticks <= now - t->start_ticks;
}

/* `now` is later than every stamp in the copy, so the root is at least as long as any node. */
static bool copy_is_good(uint64_t now)
{
    const struct ar_live_thread *t = thread_number(0);
    bool *visible = visible_nodes(), good = t && visible[t->root_ref];
    struct walk w = {0};

    for (const struct ar_node *node; good && (node = next_node(&live, 0, &w));) {
        good = node_is_good(node, visible, t, now);
        if (!good)
            tap_note("node %u: parent %u, key %" PRIx64 ", ticks %" PRId64, ref_of(node),
                     node->parent_ref, node->key, node->ticks);
    }
    free(visible);
    return good;
}

/* A node stays what it is, and its count only grows. */
static bool went_on(const struct ar_live *before)
{
    bool good = before->n_bytes <= live.n_bytes;
    struct walk w = {0};

    for (const struct ar_node *old; good && before->bytes && (old = next_node(before, 0, &w));) {
        size_t offset = (size_t)((const unsigned char *)old - before->bytes);
        const struct ar_node *new = (const struct ar_node *)(live.bytes + offset);

        good = new->key == old->key &&new->parent_ref ==
               old->parent_ref &&new->n_calls >= old->n_calls;
    }
    return good;
}

static bool profile_is_good(uint64_t now)
{
    struct ar_profile p;
    bool good;

    sample_start(&p);
    good = ar_profile_add_live(&p, &live, now, NULL) == AR_OK && sample_is_sound(&p);
    ar_profile_free(&p);
    return good;
}

/*
 * Copies as fast as it can, and one more when the process has been killed in the middle of
 * something.
 */
static bool watch(int n_copies)
{
    struct recording r = start(WATCHED_BYTES, write_for_ever);
    struct ar_live before = {0};
    bool good = true;

    for (int i = 0; good && i <= n_copies; i++) {
        if (i == n_copies)
            stop(&r);
        good = ar_live_open(&live, r.path, NULL) == AR_OK;

        uint64_t now = ar_ticks();

        good = good && copy_is_good(now) && went_on(&before) && profile_is_good(now);
        ar_live_close(&before);
        before = live;
    }
    ar_live_close(&before);
    unlink(r.path);
    return good;
}

static void test_reading_while_written(void)
{
    bool good = true;

    for (int i = 0; i < 5; i++)
        good = good && watch(20);
    tap_ok(good, "copies of a file that is being written are good, and after kill -9");
}

/* Each call is of a function that was not known before. */
static void call_new_functions(struct ar_thread *t)
{
    struct ar_record head = {
        .kind = AR_RECORD_FUNCTION, .function_kind = AR_FUNCTION_PYTHON, .n_name = 1};

    for (uint32_t number; (number = ar_livemap_record(&head, "f", "", NULL));)
        if (ar_tree_enter(t, call(number, 1), ar_ticks()))
            ar_tree_leave(t, t->current, ar_ticks());
    for (;;)
        pause();
}

static void *one_call(void *context)
{
    struct ar_thread *t = ar_thread_self();

    if (t)
        visit(t, 1, 1, 0, 1);
    return context;
}

static void start_new_threads(struct ar_thread *t)
{
    pthread_t other;

    (void)t;
    for (;;)
        if (pthread_create(&other, NULL, one_call, NULL) == 0)
            pthread_join(other, NULL);
}

/* A profile of a process that is running, of which nothing is missing but what is to come. */
static bool copy_is_whole(const char *path)
{
    struct ar_error error = {""};
    struct ar_profile p;
    bool whole;

    sample_start(&p);
    whole = ar_live_open(&live, path, &error) == AR_OK &&
            ar_profile_add_live(&p, &live, 0, &error) == AR_OK && sample_is_sound(&p) &&
            ar_profile_lost(&p, 0, AR_LOST_NODES) == live.header->n_lost[AR_LOST_NODES];
    if (!whole)
        tap_note("%s; %" PRIu64 " nodes left out", error.text,
                 p.n_processes ? ar_profile_lost(&p, 0, AR_LOST_NODES) : 0);
    ar_profile_free(&p);
    ar_live_close(&live);
    return whole;
}

static bool copies_are_whole(void (*body)(struct ar_thread *))
{
    bool whole = true;

    for (int i = 0; whole && i < 10; i++) {
        struct recording r = start(8 * MIB, body);

        for (int n = 0; whole && n < 40; n++)
            whole = copy_is_whole(r.path);
        stop(&r);
        unlink(r.path);
    }
    return whole;
}

static void test_reading_while_it_grows(void)
{
    tap_ok(copies_are_whole(call_new_functions), "functions are recorded before their nodes");
    tap_ok(copies_are_whole(start_new_threads), "threads may start meanwhile");
}

static void test_kill(void)
{
    struct dice d = {77};
    bool good = true;

    for (int i = 0; good && i < 20; i++) {
        struct recording r = start(2 * MIB, write_for_ever);
        char byte;

        for (uint32_t n = dice_below(&d, 40); n > 0 && read(r.progress, &byte, 1) == 1; n--)
            ;
        stop(&r);

        uint64_t now = ar_ticks();

        good = ar_live_open(&live, r.path, NULL) == AR_OK && copy_is_good(now) &&
               profile_is_good(0) && live.header->state == AR_LIVE_RUNNING;
        ar_live_close(&live);
    }
    tap_ok(good, "killed at any time, a process leaves a good file");
}

int main(void)
{
    model = calloc(MAX_MODEL, sizeof *model);
    scratch_make();
    test_counts_and_times();
    test_open_calls();
    test_profile();
    test_recursion();
    test_twofold_recursion();
    test_deep_recursion();
    test_marked_functions();
    test_unknown_place();
    test_equal_hashes();
    for (uint64_t seed = 1; seed <= 12; seed++)
        test_random_calls(seed);
    test_missed_returns();
    test_switched_stacks();
    test_values();
    test_full_file();
    test_threads();
    test_stop_and_fork();
    test_child_goes_on();
    test_reading_while_written();
    test_reading_while_it_grows();
    test_kill();
    scratch_remove();
    free(model);
    return tap_done();
}
