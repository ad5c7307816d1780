// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/tree.h"

#include "runtime/c_cheap.h"
#include "runtime/spending.h"

#include <pthread.h>
#include <stdlib.h>

/*
 * From here on new nodes are for calls from all places together; 3 MiB of them are more than
 * anybody reads.
 */
#define MANY_NODES 50000

bool ar_tree_has_holes;
uint64_t ar_gap_ticks = UINT64_MAX;
uint64_t ar_look_always;
uint64_t (*ar_tree_samples)(struct ar_thread *t, struct ar_node *next, uint64_t ticks,
                            uint64_t now);
void (*ar_tree_traced)(struct ar_thread *t, struct ar_node *next, uint64_t now);
void (*ar_tree_gap)(struct ar_thread *t, uint64_t now);
void (*ar_tree_touched_many)(struct ar_thread *t);
void (*ar_tree_counts)(struct ar_thread *t, struct ar_node *node);
void (*ar_tree_switches)(struct ar_node *node);
void (*ar_tree_lines)(struct ar_thread *t, struct ar_node *node);
void (*ar_tree_polled)(void);
uint32_t ar_tree_counted_marks;
bool ar_tree_counts_all;
uint32_t (*ar_tree_task)(struct ar_thread *t, uint64_t now, uint64_t *awaited_ticks);
void (*ar_tree_task_left)(struct ar_thread *t, uint64_t now);

/*
 * Marks by function number, in pages that are made when they are needed. Each new call path asks for the marks of
 * its function, so reading takes no lock; a page that is there stays.
 */
#define MARKS_PER_PAGE 4096u
#define MARK_PAGES                                                                                 \
    4096u /* of further functions nothing is known: the tree becomes larger than it need be */

static struct {
    pthread_mutex_t lock; /* for writing */
    uint16_t *pages[MARK_PAGES];
} marks = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t ticks_since(const struct ar_thread *t, uint64_t now)
{
    uint64_t then = t->slot->latest_ticks;

    return now > then ? now - then : 0;
}

/* Time that goes to functions in C, which were not timed, is none of the current node. */
static void look_after_gap(struct ar_thread *t, uint64_t now, bool *is_untimed)
{
    *is_untimed = t->untimed_at == t->slot->latest_ticks;
    if (ar_tree_gap)
        ar_tree_gap(t, now);
    if (ar_tree_polled)
        ar_tree_polled();
}

static __attribute__((noinline)) void look_rarely(struct ar_thread *t, struct ar_node *next,
                                                  uint64_t now)
{
    uint64_t ticks = ticks_since(t, now);
    bool is_untimed = false;

    if (ticks >= ar_gap_ticks)
        look_after_gap(t, now, &is_untimed);
    if (now >= t->look_at)
        t->look_at = ar_tree_samples ? ar_tree_samples(t, next, is_untimed ? 0 : ticks, now)
                                     : now + ar_tree_longest_look();
    if (ar_tree_traced)
        ar_tree_traced(t, next, now);
}

/* Ends in a jump: a trace comes here at every event. */
void ar_tree_looked(struct ar_thread *t, struct ar_node *next, uint64_t now)
{
    if (__builtin_expect(now >= t->look_at || !ar_tree_traced, 0))
        look_rarely(t, next, now);
    else
        ar_tree_traced(t, next, now);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static uint16_t *page_of_marks(uint32_t function)
{
    uint32_t page = function / MARKS_PER_PAGE;

    return page < MARK_PAGES ? __atomic_load_n(&marks.pages[page], __ATOMIC_ACQUIRE) : NULL;
}

static uint32_t marks_of(uint32_t function)
{
    const uint16_t *page = page_of_marks(function);

    return page ? __atomic_load_n(&page[function % MARKS_PER_PAGE], __ATOMIC_RELAXED) : 0;
}

static uint16_t *make_page_of_marks(uint32_t function)
{
    uint32_t page = function / MARKS_PER_PAGE;
    uint16_t *made = page < MARK_PAGES ? calloc(MARKS_PER_PAGE, sizeof *made) : NULL;

    if (made)
        __atomic_store_n(&marks.pages[page], made, __ATOMIC_RELEASE);
    return made;
}

void ar_tree_mark(uint32_t function, uint32_t new_marks)
{
    pthread_mutex_lock(&marks.lock);

    uint16_t *page = page_of_marks(function);

    if (!page)
        page = make_page_of_marks(function);
    if (page)
        __atomic_fetch_or(&page[function % MARKS_PER_PAGE], (uint16_t)new_marks, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&marks.lock);
}

bool ar_tree_is_marked(uint32_t function, uint32_t mark)
{
    return marks_of(function) & mark;
}

static bool is_counted(uint32_t function_marks)
{
    return function_marks & (ar_tree_counted_marks | AR_MARK_TRACED | AR_MARK_LINED) ||
           (ar_tree_counts_all && !(function_marks & AR_MARK_BUILTIN));
}

/* Of a new node. Kept out of the search for one that is there. */
__attribute__((noinline)) static uint32_t flags_of(uint32_t function_marks)
{
    const uint32_t have_no_filter = AR_MARK_BUILTIN | AR_MARK_KEEP_PLACE | AR_MARK_OPERATION;

    return (function_marks & AR_MARK_ANY_PLACE ? AR_NODE_ANY_PLACE : 0) |
           (is_counted(function_marks) ? AR_NODE_COUNTED : 0) |
           (function_marks & have_no_filter ? 0 : AR_NODE_FILTERS) |
           (function_marks & AR_NODE_MARKS);
}

void ar_tree_forking(enum ar_fork_step step)
{
    ar_fork_lock(&marks.lock, step);
}

/* A later one is named by its ref. */
static uint32_t number_for_traces(struct ar_thread *t)
{
    uint32_t number = ++t->n_numbers;

    return number < AR_TRACE_NUMBERS ? number << AR_NODE_NUMBER_SHIFT : 0;
}

static struct ar_node *new_node(struct ar_thread *t, uint64_t key, const struct ar_node *parent,
                                uint32_t flags)
{
    struct ar_node *node =
        ar_extent_take(&t->nodes, AR_EXTENT_NODES, t->slot->number, sizeof *node);

    if (!node)
        return NULL;
    *node = (struct ar_node){
        .key = key,
        .parent_ref = parent ? ar_live_ref(parent) : 0,
        .flags = flags | number_for_traces(t),
    };
    ar_node_set_epoch(node, 0);
    ar_extent_publish(t->nodes, sizeof *node);
    t->n_nodes++;
    return node;
}

struct ar_node *ar_tree_root(struct ar_thread *t)
{
    return new_node(t, 0, NULL, 0);
}

/* The walk is bounded: what is open further up than this is taken to be recursion of some kind. */
static bool is_open_above(const struct ar_node *node, uint32_t function)
{
    for (int n = 0; node->parent_ref; n++) {
        if ((uint32_t)node->key == function || n == 256)
            return true;
        node = ar_live_ptr(node->parent_ref);
    }
    return false;
}

/* Also found by the key it was asked for with, where its own has no place. */
static struct ar_node *make_child(struct ar_thread *t, struct ar_node *parent, uint64_t key,
                                  uint32_t function_marks)
{
    uint64_t own_key = key;
    bool keeps_place = function_marks & AR_MARK_KEEP_PLACE;
    bool all_places =
        !keeps_place && (parent->flags & AR_NODE_ANY_PLACE || is_open_above(parent, (uint32_t)key));
    bool are_many = t->n_nodes > MANY_NODES;
    struct ar_node *node = NULL;

    if (all_places || (are_many && !keeps_place))
        own_key = (uint32_t)key;
    if (own_key != key)
        node = ar_node_table_find(&t->children, parent, own_key);
    if (!node) {
        /* Room in the table first: a node that cannot be found again would be made at every call. */
        if (ar_node_table_has_room(&t->children))
            node = new_node(t, own_key, parent,
                            (parent->flags & AR_NODE_ANY_PLACE) | flags_of(function_marks) |
                                (are_many ? AR_NODE_ANY_PLACE : 0));
        if (!node || !ar_node_table_add(&t->children, node, own_key))
            return NULL;
        if (all_places)
            node->flags |= AR_NODE_ALL_PLACES;
    }
    if (own_key != key && !ar_node_table_add(&t->children, node, key))
        return NULL;
    return node;
}

static struct ar_node *find_or_make(struct ar_thread *t, struct ar_node *parent, uint64_t key)
{
    uint32_t function_marks = marks_of((uint32_t)key);

    if (parent->flags & AR_NODE_ANY_PLACE && !(function_marks & AR_MARK_KEEP_PLACE))
        key = (uint32_t)key;

    struct ar_node *node = ar_node_table_find(&t->children, parent, key);

    return node ? node : make_child(t, parent, key, function_marks);
}

static void note_awaited(struct ar_thread *t, struct ar_node *node, uint64_t ticks)
{
    struct ar_values *values = ar_tree_values(t, node, AR_VALUES_TASK);

    if (values)
        values->words[AR_TASK_AWAITED_TICKS] += ticks;
}

/* Never guessed: the engine has more to do for its calls. */
static bool is_lined(const struct ar_node *node)
{
    return node->flags & AR_NODE_COUNTED && ar_tree_is_marked((uint32_t)node->key, AR_MARK_LINED);
}

static struct ar_node *child_of_current(struct ar_thread *t, uint64_t key, uint64_t now)
{
    struct ar_node *parent = t->current;

    if (parent->flags & AR_NODE_SAMPLED)
        ar_c_calls_something(t, parent, now);

    struct ar_node *node = find_or_make(t, parent, key);

    if (!node) {
        ar_livemap_lost(AR_LOST_NODES, 1);
        ar_tree_has_holes = true;
        return NULL;
    }
    if (parent->left_ref && !is_lined(node))
        ((struct ar_node *)ar_live_ptr(parent->left_ref))->successor_ref = ar_live_ref(node);
    return node;
}

/*
 * One search in so many is timed, and stands for all of them. One that took longer than this was interrupted, or
 * made the file larger, which is timed where it is done.
 */
#define SEARCHES_PER_TIMED 16
#define LONGEST_SEARCH_TICKS 16384

struct ar_node *ar_tree_child(struct ar_thread *t, uint64_t key, uint64_t now)
{
    if (++t->n_sought % SEARCHES_PER_TIMED)
        return child_of_current(t, key, now);

    uint64_t begin = ar_ticks();
    struct ar_node *node = child_of_current(t, key, now);

    uint64_t ticks = ar_ticks() - begin;

    ar_spent(AR_OVERHEAD_PATHS,
             SEARCHES_PER_TIMED * (ticks < LONGEST_SEARCH_TICKS ? ticks : LONGEST_SEARCH_TICKS));
    __atomic_fetch_add(&ar_live_header()->n_sought, SEARCHES_PER_TIMED, __ATOMIC_RELAXED);
    return node;
}

/* A function in C may have come in between. */
static bool runs_tasks(const struct ar_node *node)
{
    while (node->flags & AR_MARK_BUILTIN)
        node = ar_live_ptr(node->parent_ref);
    return node->flags & AR_MARK_RUNS_TASKS;
}

/* The task's own node comes in between; it is closed when the current one is. */
static void enter_task(struct ar_thread *t, uint64_t now)
{
    uint64_t awaited_ticks = 0;
    uint32_t task = ar_tree_task ? ar_tree_task(t, now, &awaited_ticks) : 0;
    struct ar_node *node = task ? ar_tree_child(t, task, now) : NULL;

    if (!node)
        return;
    ar_tree_open(t, node, now);
    if (awaited_ticks)
        note_awaited(t, node, awaited_ticks);
}

struct ar_node *ar_tree_child_to_enter(struct ar_thread *t, uint64_t key, uint64_t now)
{
    if (__builtin_expect(runs_tasks(t->current), 0))
        enter_task(t, now);
    return ar_tree_child(t, key, now);
}

static bool has_counters(uint32_t function_marks)
{
    return ar_tree_counts && (function_marks & ar_tree_counted_marks ||
                              (ar_tree_counts_all && !(function_marks & AR_MARK_BUILTIN)));
}

void ar_tree_touch_counted(struct ar_thread *t, struct ar_node *node)
{
    uint32_t function_marks = marks_of((uint32_t)node->key);

    if (has_counters(function_marks))
        ar_tree_counts(t, node);
    if (ar_tree_switches && function_marks & AR_MARK_TRACED)
        ar_tree_switches(node);
    if (ar_tree_lines && function_marks & AR_MARK_LINED)
        ar_tree_lines(t, node);
    if (ar_node_epoch(node) == t->epoch)
        return;
    if (t->n_touched == AR_MAX_TOUCHED)
        ar_tree_touched_many(t);
    ar_node_set_epoch(node, t->epoch);
    node->interval_ticks = (uint64_t)node->ticks;
    t->touched[t->n_touched++] = ar_live_ref(node);
}

/* In front of what `*link` leads to; a reader sees all of it or nothing. */
static struct ar_values *link_values(struct ar_thread *t,
                                     uint32_t *link, /* NOLINT(readability-non-const-parameter) */
                                     const struct ar_values *from)
{
    struct ar_values *values =
        ar_extent_take(&t->values, AR_EXTENT_VALUES, t->slot->number, sizeof *values);

    if (!values)
        return NULL;
    *values = *from;
    values->next_ref = *link;
    ar_extent_publish(t->values, sizeof *values);
    __atomic_store_n(link, ar_live_ref(values), __ATOMIC_RELEASE);
    return values;
}

struct ar_values *ar_tree_values(struct ar_thread *t, struct ar_node *node, uint32_t kind)
{
    for (uint32_t ref = node->values_ref; ref;) {
        struct ar_values *values = ar_live_ptr(ref);

        if (values->kind == kind)
            return values;
        ref = values->next_ref;
    }

    struct ar_values made = {.kind = kind};

    if (kind < AR_FIRST_MEASURE)
        return link_values(t, &node->values_ref, &made);
    made.words[0] = (uint64_t)ar_live_ref(node) << 32;
    return ar_tree_values_add(t, node, &made);
}

struct ar_values *ar_tree_values_add(struct ar_thread *t, struct ar_node *node,
                                     const struct ar_values *values)
{
    struct ar_values *first = node->values_ref ? ar_live_ptr(node->values_ref) : NULL;

    return link_values(t, first ? &first->next_ref : &node->values_ref, values);
}
