// SPDX-License-Identifier: BSD-3-Clause
/*
 * The open path of a thread: against a model that is a list of what is open, with operations at
 * random; and pauses, in one thread and in several.
 *
 * The model knows nothing of nodes. It keeps the path as a word, a letter for each function: 'a' to
 * 'd' are Python's, 'r' to 't' regions, 'x' and 'y' in C, 'k' a task; and for every path that was
 * ever open its calls and its time.
 */
#include "runtime/tree.h"

#include "dice.h"
#include "own_file.h"
#include "tap.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LETTERS "abcdrstxyk"
#define MAX_DEPTH 9
#define MAX_PATHS 4000
#define N_STEPS 700

static uint32_t number_of(char letter)
{
    return (uint32_t)(strchr(LETTERS, letter) - LETTERS) + 1;
}

static char letter_of(uint64_t key)
{
    return LETTERS[(uint32_t)key - 1];
}

static bool is_python(char letter)
{
    return letter <= 'd';
}

static bool is_region(char letter)
{
    return letter >= 'r' && letter <= 't';
}

static bool is_in_c(char letter)
{
    return letter == 'x' || letter == 'y';
}

static void make_functions(void)
{
    for (const char *letter = LETTERS; *letter; letter++) {
        uint32_t number = own_file_function((char[]){*letter, '\0'});

        if (number != number_of(*letter))
            abort();
        if (is_region(*letter))
            ar_tree_mark(number, AR_MARK_REGION);
        else if (is_in_c(*letter))
            ar_tree_mark(number, AR_MARK_BUILTIN);
        else if (*letter == 'k')
            ar_tree_mark(number, AR_MARK_UNDER_OTHER);
    }
}

static size_t n_tasks_left;

static void task_left(struct ar_thread *t, uint64_t now)
{
    (void)t, (void)now;
    n_tasks_left++;
}

/* ---- the model ------------------------------------------------------------------------------- */

struct known_path {
    char path[MAX_DEPTH + 1];
    uint64_t ticks, n_calls;
};

/* A function of Python that the interpreter is in. */
struct frame {
    struct ar_node *node;
    char path[MAX_DEPTH + 1]; /* where it was entered */
};

static struct {
    struct known_path known[MAX_PATHS];
    size_t n_known;
    char path[MAX_DEPTH + 1];
    struct frame frames[MAX_DEPTH];
    size_t n_frames;
    bool has_moved;
    uint64_t now;
    uint64_t n_frames_lost, n_regions_lost, n_tasks_left;
} model;

static struct known_path *known(const char *path, size_t n)
{
    for (size_t i = 0; i < model.n_known; i++)
        if (strncmp(model.known[i].path, path, n) == 0 && model.known[i].path[n] == '\0')
            return &model.known[i];
    if (model.n_known == MAX_PATHS)
        abort();

    struct known_path *new = &model.known[model.n_known++];

    *new = (struct known_path){0};
    memcpy(new->path, path, n);
    return new;
}

static void let_pass(uint64_t ticks)
{
    model.now += ticks;
    for (size_t n = 1; n <= strlen(model.path); n++)
        known(model.path, n)->ticks += ticks;
}

static void model_enter(char letter)
{
    size_t n = strlen(model.path);

    model.path[n] = letter;
    model.path[n + 1] = '\0';
    known(model.path, n + 1)->n_calls++;
}

static void take_away(size_t at)
{
    memmove(model.path + at, model.path + at + 1, strlen(model.path + at));
}

/* `at` is left: regions inside it stay, all else inside it goes, and functions were missed. */
static void model_leave(size_t at)
{
    for (size_t i = strlen(model.path); i-- > at;) {
        char letter = model.path[i];

        if (i > at && is_region(letter))
            continue;
        model.n_frames_lost += i > at && is_python(letter);
        model.n_tasks_left += i > at && letter == 'k';
        take_away(i);
    }
}

/* A frame is in the node that it entered, or, where parts of the path were taken out, elsewhere. */
static void model_leave_frame(const struct frame *frame)
{
    size_t n = strlen(frame->path);

    if (strncmp(model.path, frame->path, n) == 0) {
        model_leave(n - 1);
    } else if (model.has_moved) {
        char *innermost = strrchr(model.path, frame->path[n - 1]);

        if (innermost)
            model_leave((size_t)(innermost - model.path));
    }
}

static void model_end_region(char letter)
{
    char *innermost = strrchr(model.path, letter);

    if (!innermost) {
        model.n_regions_lost++;
        return;
    }
    model.has_moved = model.has_moved || innermost[1];
    take_away((size_t)(innermost - model.path));
}

/* ---- operations ------------------------------------------------------------------------------ */

static uint64_t now_of(const struct ar_thread *t)
{
    return t->slot->start_ticks + model.now;
}

static void enter(struct ar_thread *t, char letter)
{
    if (strlen(model.path) == MAX_DEPTH || (is_python(letter) && model.n_frames == MAX_DEPTH))
        return;
    model_enter(letter);

    struct ar_node *node = ar_tree_enter(t, number_of(letter), now_of(t));

    if (!is_python(letter))
        return;

    struct frame *frame = &model.frames[model.n_frames++];

    frame->node = node;
    memcpy(frame->path, model.path, sizeof frame->path);
}

/* The innermost frame returns, or, if returns are missed, one further out. */
static void leave(struct ar_thread *t, uint32_t n_missed)
{
    if (model.n_frames <= n_missed)
        return;
    model.n_frames -= n_missed + 1;

    const struct frame *frame = &model.frames[model.n_frames];

    model_leave_frame(frame);
    ar_tree_leave(t, frame->node, now_of(t));
}

static void leave_builtin(struct ar_thread *t)
{
    size_t n = strlen(model.path);

    if (n == 0 || !is_in_c(model.path[n - 1]))
        return;
    take_away(n - 1);
    ar_tree_leave(t, t->current, now_of(t));
}

static void step(struct ar_thread *t, struct dice *d)
{
    uint32_t which = dice_below(d, 100);

    let_pass(1 + dice_below(d, 50));
    if (which < 45)
        enter(t, LETTERS[dice_below(d, sizeof LETTERS - 1)]);
    else if (which < 70)
        leave(t, 0);
    else if (which < 75)
        leave(t, 1 + dice_below(d, 2));
    else if (which < 85)
        leave_builtin(t);
    else {
        char letter = (char)('r' + dice_below(d, 3));
        bool is_open = strchr(model.path, letter);

        model_end_region(letter);
        if (ar_tree_end_region(t, number_of(letter), now_of(t)) != is_open)
            model.n_regions_lost += 1000; /* it did not say what it did */
    }
}

/* ---- do they agree? -------------------------------------------------------------------------- */

static void path_of(const struct ar_thread *t, const struct ar_node *node, char *path)
{
    char reversed[64];
    size_t n = 0;

    for (; node != t->root && n < sizeof reversed; node = ar_live_ptr(node->parent_ref))
        reversed[n++] = letter_of(node->key);
    for (size_t i = 0; i < n; i++)
        path[i] = reversed[n - 1 - i];
    path[n] = '\0';
}

static bool is_at_the_same_place(const struct ar_thread *t)
{
    char path[64];

    path_of(t, t->current, path);
    if (strcmp(path, model.path) != 0)
        tap_note("the model is in %s, the tree in %s", model.path, path);
    return strcmp(path, model.path) == 0;
}

static uint64_t closed(const struct ar_node *node, uint64_t now)
{
    return (uint64_t)(node->ticks < 0 ? node->ticks + (int64_t)now : node->ticks);
}

/* All nodes of the thread are where `nodes` of it is, and in the extents before. */
static size_t compare_nodes(const struct ar_thread *t, bool *same)
{
    struct ar_live live;
    size_t n = 0;

    if (ar_live_open(&live, ar_livemap_path(), NULL) < 0)
        return 0;
    for (const struct ar_extent *e = NULL; (e = ar_live_next(&live, e, AR_EXTENT_NODES));)
        for (size_t i = 0; e->owner == t->slot->number && i < ar_extent_count(e, 64); i++) {
            const struct ar_node *copy = ar_extent_item(e, i, 64);
            size_t offset = (size_t)((const unsigned char *)copy - live.bytes);
            const struct ar_node *node = ar_live_ptr((uint32_t)(offset / 64));
            char path[64];

            path_of(t, node, path);
            if (!*path)
                continue;

            const struct known_path *expected = known(path, strlen(path));

            n++;
            *same = *same && expected->n_calls == copy->n_calls &&
                    expected->ticks == closed(copy, now_of(t));
        }
    ar_live_close(&live);
    return n;
}

static uint64_t lost(enum ar_live_loss loss)
{
    return ar_live_header()->n_lost[loss];
}

struct outcome {
    uint64_t seed;
    bool same_place, same_values, same_losses, same_nodes;
};

static void *run_model(void *argument)
{
    struct outcome *o = argument;
    struct ar_thread *t = ar_thread_self();
    struct dice d = {o->seed};
    uint64_t frames = lost(AR_LOST_FRAMES), regions = lost(AR_LOST_REGIONS);

    memset(&model, 0, sizeof model);
    n_tasks_left = 0;
    o->same_place = o->same_values = true;
    for (int i = 0; i < N_STEPS && o->same_place; i++) {
        step(t, &d);
        o->same_place = is_at_the_same_place(t);
    }
    let_pass(7);
    o->same_nodes = compare_nodes(t, &o->same_values) == model.n_known;
    o->same_losses = lost(AR_LOST_FRAMES) - frames == model.n_frames_lost &&
                     lost(AR_LOST_REGIONS) - regions == model.n_regions_lost &&
                     n_tasks_left == model.n_tasks_left;
    return NULL;
}

/* A thread each, so that each has a tree of its own. */
static void test_against_model(void)
{
    struct outcome all = {
        .same_place = true, .same_values = true, .same_losses = true, .same_nodes = true};

    ar_tree_task_left = task_left;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct outcome o = {.seed = seed};
        pthread_t thread;

        if (pthread_create(&thread, NULL, run_model, &o) != 0 || pthread_join(thread, NULL) != 0)
            abort();
        if (!o.same_place || !o.same_values || !o.same_losses || !o.same_nodes)
            tap_note("seed %" PRIu64, seed);
        all.same_place &= o.same_place;
        all.same_values &= o.same_values;
        all.same_losses &= o.same_losses;
        all.same_nodes &= o.same_nodes;
    }
    ar_tree_task_left = NULL;
    tap_ok(all.same_place, "after every operation the same path is open");
    tap_ok(all.same_nodes, "all paths that were open have a node, and no others");
    tap_ok(all.same_values, "calls and times are those of the model");
    tap_ok(all.same_losses, "missed returns, ends of regions, ends of tasks");
}

/* ---- by hand --------------------------------------------------------------------------------- */

static void expect(const struct ar_thread *t, const char *path, const char *what)
{
    char found[64];

    path_of(t, t->current, found);
    if (!tap_ok(strcmp(found, path) == 0, "%s", what))
        tap_note("in %s, not in %s", found, path);
}

/* A region that outlives the function which began it goes on in that one's caller. */
static void test_region_outlives(void)
{
    struct ar_thread *t = ar_thread_self();
    struct ar_node *a = ar_tree_enter(t, number_of('a'), ar_ticks());
    struct ar_node *b = ar_tree_enter(t, number_of('b'), ar_ticks());

    ar_tree_enter(t, number_of('r'), ar_ticks());
    expect(t, "abr", "begun in b");
    ar_tree_leave(t, b, ar_ticks());
    expect(t, "ar", "goes on in a");
    ar_tree_leave(t, a, ar_ticks());
    expect(t, "r", "and at the root");
    tap_ok(ar_tree_end_region(t, number_of('r'), ar_ticks()), "until it ends");
    expect(t, "", "nothing is open");
}

/* A region that a library began does not: after an error nothing else ends it. */
static void test_library_region(void)
{
    struct ar_thread *t = ar_thread_self();
    uint64_t frames = lost(AR_LOST_FRAMES), regions = lost(AR_LOST_REGIONS);
    uint32_t number = own_file_function("a library's");
    struct ar_node *a = ar_tree_enter(t, number_of('a'), ar_ticks());

    ar_tree_mark(number, AR_MARK_IN_CALL);

    struct ar_node *x = ar_tree_enter(t, number_of('x'), ar_ticks());
    struct ar_node *region = ar_tree_enter(t, number, ar_ticks());

    ar_tree_leave(t, x, ar_ticks());
    expect(t, "a", "a library's region ends with the call that it was begun in");
    tap_ok(region->ticks >= 0 && region->n_calls == 1, "it is closed");
    region = ar_tree_enter(t, number, ar_ticks());
    ar_tree_leave(t, region, ar_ticks());
    expect(t, "a", "or before");
    ar_tree_leave(t, a, ar_ticks());
    tap_ok(lost(AR_LOST_FRAMES) == frames && lost(AR_LOST_REGIONS) == regions, "nothing is lost");
}

/* `with event:` is two functions in C that begin a region for their caller, and two that end it. */
static void test_passed_builtins(void)
{
    struct ar_thread *t = ar_thread_self();
    uint64_t frames = lost(AR_LOST_FRAMES);
    struct ar_node *a = ar_tree_enter(t, number_of('a'), ar_ticks());
    struct ar_node *x = ar_tree_enter(t, number_of('x'), ar_ticks());
    struct ar_node *y = ar_tree_enter(t, number_of('y'), ar_ticks());

    ar_tree_pass_builtins(t, ar_ticks());
    expect(t, "a", "functions in C are passed");
    ar_tree_enter(t, number_of('r'), ar_ticks());
    ar_tree_leave(t, y, ar_ticks());
    ar_tree_leave(t, x, ar_ticks());
    expect(t, "ar", "their returns change nothing");
    tap_ok(!t->passed, "both have returned");
    x = ar_tree_enter(t, number_of('x'), ar_ticks());
    y = ar_tree_enter(t, number_of('y'), ar_ticks());
    ar_tree_pass_builtins(t, ar_ticks());
    expect(t, "ar", "passed in the region");
    tap_ok(ar_tree_end_region(t, number_of('r'), ar_ticks()), "it ends");
    ar_tree_leave(t, y, ar_ticks());
    ar_tree_leave(t, x, ar_ticks());
    expect(t, "a", "in its caller");
    x = ar_tree_enter(t, number_of('x'), ar_ticks());
    ar_tree_leave(t, x, ar_ticks());
    expect(t, "a", "the next one is as ever");
    ar_tree_pass_builtins(t, ar_ticks());
    expect(t, "a", "where there is none nothing is passed");
    ar_tree_leave(t, a, ar_ticks());
    expect(t, "", "all are left");
    tap_ok(lost(AR_LOST_FRAMES) == frames, "no return was missed");
}

/* ---- pauses ---------------------------------------------------------------------------------- */

/* What an engine does when a function is entered. */
static struct ar_node *engine_enter(struct ar_thread *t, char letter)
{
    if (t->n_unseen && ar_tree_is_unseen(t, ar_ticks()))
        return NULL;
    return ar_tree_enter(t, number_of(letter), ar_ticks());
}

static void pause_all(bool pause)
{
    ar_threads_pause(pause, number_of('t'));
}

static void test_pause(void)
{
    struct ar_thread *t = ar_thread_self();
    struct ar_node *a = engine_enter(t, 'a');
    struct ar_node *b = engine_enter(t, 'b');

    pause_all(true);
    expect(t, "abt", "paused at once");
    tap_ok(!engine_enter(t, 'c'), "nothing is recorded");
    ar_tree_leave(t, b, ar_ticks());
    expect(t, "at", "what was entered before is left");
    pause_all(true);
    expect(t, "at", "once is enough");
    ar_tree_unseen(t, 1); /* as for a function that is entered now, and not left */
    pause_all(false);
    expect(t, "a", "resumed");

    struct ar_node *c = engine_enter(t, 'c');

    tap_ok(c && c->n_calls == 1, "recorded again");
    pause_all(true);
    pause_all(false);
    expect(t, "ac", "a pause in which nothing happens");
    ar_tree_leave(t, c, ar_ticks());
    ar_tree_leave(t, a, ar_ticks());
    expect(t, "", "all is left");
}

/* A pause begins in one region and ends after it: regions in the wrong order. */
static void test_pause_across_region(void)
{
    struct ar_thread *t = ar_thread_self();

    ar_tree_enter(t, number_of('r'), ar_ticks());
    pause_all(true);
    ar_tree_end_region(t, number_of('r'), ar_ticks());
    expect(t, "t", "the region is taken out around the pause");
    tap_ok(!engine_enter(t, 'c'), "which goes on");
    pause_all(false);
    expect(t, "", "until it ends");
}

static pthread_barrier_t barrier;

static void turn(void)
{
    pthread_barrier_wait(&barrier);
}

/* `paused` is what the main thread has done when this one has its turn. */
static struct {
    struct ar_node *before, *asked, *after, *later;
    char in_pause[64], in_the_end[64];
    bool born_paused_is_seen;
} other;

static void *other_thread(void *unused)
{
    struct ar_thread *t = ar_thread_self();

    other.before = engine_enter(t, 'a');
    turn(); /* now it is paused */
    turn();
    other.asked = engine_enter(t, 'b');
    path_of(t, t->current, other.in_pause);
    turn(); /* now it is resumed */
    turn();
    other.after = engine_enter(t, 'c');
    path_of(t, t->current, other.in_the_end);
    turn(); /* now it has been paused and resumed again */
    turn();
    other.later = engine_enter(t, 'd');
    return unused;
}

static void *thread_born_in_pause(void *unused)
{
    struct ar_thread *t = ar_thread_self();

    other.born_paused_is_seen = engine_enter(t, 'd') != NULL;
    path_of(t, t->current, other.in_pause);
    return unused;
}

static void test_pause_of_other_threads(void)
{
    pthread_t thread;

    pthread_barrier_init(&barrier, NULL, 2);
    if (pthread_create(&thread, NULL, other_thread, NULL) != 0)
        abort();
    turn();
    pause_all(true);
    turn();
    turn();
    tap_ok(other.before && !other.asked, "another thread is paused at its next event");
    tap_ok(strcmp(other.in_pause, "at") == 0, "its time goes to the pause");
    pause_all(false);
    turn();
    turn();
    pause_all(true);
    pause_all(false);
    turn();
    pthread_join(thread, NULL);
    tap_ok(other.later, "a pause that it never saw leaves nothing behind");
    tap_ok(other.after && strcmp(other.in_the_end, "ac") == 0, "and resumed at its next");
    pthread_barrier_destroy(&barrier);
    pause_all(true);
    if (pthread_create(&thread, NULL, thread_born_in_pause, NULL) != 0)
        abort();
    pthread_join(thread, NULL);
    pause_all(false);
    tap_ok(!other.born_paused_is_seen && strcmp(other.in_pause, "t") == 0,
           "a thread that starts in a pause is paused");
}

/* ---- Python code that we call ------------------------------------------------------------------ */

static void test_ours(void)
{
    struct ar_thread *t = ar_thread_self();
    struct ar_node *a = engine_enter(t, 'a');

    struct ar_ours ours = ar_ours_begin(t), inner = ar_ours_begin(t);

    tap_ok(t->n_unseen, "every function is asked about");
    tap_ok(!engine_enter(t, 'b'), "and none is recorded");
    ar_tree_count_unseen(t); /* as engines do that are told of returns */
    tap_ok(ar_tree_is_unseen_return(t), "nor is its return");
    tap_ok(ar_tree_is_unseen_return(t), "nor one more");
    ar_ours_end(inner);
    tap_ok(!engine_enter(t, 'b'), "the outer one ends it");
    pause_all(true);
    expect(t, "a", "a pause comes later");
    ar_ours_end(ours);
    tap_ok(!engine_enter(t, 'b'), "namely now");
    expect(t, "at", "in the node of pauses");
    pause_all(false);
    ours = ar_ours_begin(t);
    ar_ours_end(ours);
    tap_ok(!t->n_unseen, "nothing is left of it");
    ar_ours_end(ar_ours_begin(NULL));
    ar_tree_leave(t, a, ar_ticks());
    expect(t, "", "all is left");
}

int main(void)
{
    own_file_make();
    make_functions();
    test_against_model();
    test_region_outlives();
    test_library_region();
    test_passed_builtins();
    test_ours(); /* before pauses, which leave calls that have not returned */
    test_pause();
    test_pause_across_region();
    test_pause_of_other_threads();
    scratch_remove();
    return tap_done();
}
