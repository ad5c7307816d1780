// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/tree.h"

#include "runtime/budget.h"
#include "runtime/c_cheap.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS_BYTES ((size_t)4000)

void (*ar_thread_starts)(struct ar_thread *t), (*ar_thread_ends)(struct ar_thread *t);

__thread struct ar_thread *ar_self __attribute__((tls_model("initial-exec")));
/* This thread found no room: it is not tried again at each event. */
static __thread bool refused __attribute__((tls_model("initial-exec")));

static struct {
    pthread_mutex_t lock;
    pthread_once_t once;
    pthread_key_t key; /* tells us when a thread ends */
    struct ar_extent *slots;
    struct ar_live_thread *main_slot;
    struct ar_thread *first; /* of those that run */
    uint32_t n_threads;
    uint32_t
        paused_function; /* its nodes hold the time in which nothing is recorded; 0: none yet */
    bool paused;
    uint32_t told;             /* bits that new threads begin with, see ar_threads_tell */
    bool has_left_first_stack; /* see is_on_first_stack */
    bool stopped;              /* no further thread is recorded */
    struct ar_thread *forked;  /* in the child of a fork: the thread that it was */
} threads = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .once = PTHREAD_ONCE_INIT,
};

/* ---- nothing is recorded --------------------------------------------------------------------- */

static void begin_pause(struct ar_thread *t, uint64_t now)
{
    if (!(t->n_unseen & AR_UNSEEN_PAUSED) && ar_tree_enter(t, threads.paused_function, now))
        ar_tree_unseen(t, AR_UNSEEN_PAUSED);
}

/*
 * Functions that were entered meanwhile go unseen until they are left; what they call does not.
 * Their returns come after those of all that they call from now on, and before that of the function
 * that is the current one.
 */
static void end_pause(struct ar_thread *t, uint64_t now)
{
    if (!(t->n_unseen & AR_UNSEEN_PAUSED))
        return;
    uint32_t n_begun = t->n_unseen & AR_UNSEEN_COUNT;

    t->n_unreturned += n_begun;
    t->n_unseen = (t->n_unseen & (AR_UNSEEN_SWITCHES | AR_UNSEEN_LINES)) |
                  (t->n_unreturned ? AR_UNSEEN_RETURNS : 0);
    ar_tree_end_region(t, threads.paused_function, now);
    if (n_begun)
        t->resumed_in = t->current;
}

static void follow(struct ar_thread *t, uint64_t now)
{
    ar_tree_seen_again(t, AR_UNSEEN_ASKED);
    if (threads.paused)
        begin_pause(t, now);
    else
        end_pause(t, now);
}

bool ar_tree_is_unseen(struct ar_thread *t, uint64_t now)
{
    if (t->n_unseen & AR_UNSEEN_OURS)
        return true;
    if (t->n_unseen & AR_UNSEEN_ASKED)
        follow(t, now);
    return t->n_unseen & AR_UNSEEN_CALLS;
}

bool ar_tree_is_unseen_return(struct ar_thread *t)
{
    if (t->n_unseen & AR_UNSEEN_COUNT) {
        t->n_unseen--;
        return true;
    }
    if (t->n_unseen & AR_UNSEEN_OURS)
        return true;
    if (!(t->n_unseen & AR_UNSEEN_RETURNS) || t->current != t->resumed_in)
        return false; /* the function was entered before what is going on began, or after it */
    if (--t->n_unreturned == 0)
        t->n_unseen &= ~AR_UNSEEN_RETURNS;
    return true;
}

void ar_threads_pause(bool pause, uint32_t paused_function)
{
    struct ar_thread *self = ar_self;

    pthread_mutex_lock(&threads.lock);
    threads.paused = pause;
    threads.paused_function = paused_function;
    for (struct ar_thread *t = threads.first; t; t = t->next)
        ar_tree_unseen(t, AR_UNSEEN_ASKED);
    pthread_mutex_unlock(&threads.lock);
    if (self && !(self->n_unseen & AR_UNSEEN_OURS))
        follow(self, ar_ticks());
}

bool ar_threads_are_paused(void)
{
    return threads.paused;
}

void ar_threads_tell(uint32_t bit, bool stays)
{
    pthread_mutex_lock(&threads.lock);
    threads.told = stays ? threads.told | bit : threads.told & ~bit;
    for (struct ar_thread *t = threads.first; t; t = t->next)
        ar_tree_unseen(t, bit);
    pthread_mutex_unlock(&threads.lock);
}

bool ar_threads_any(bool (*is_one)(const struct ar_thread *t, const void *what), const void *what)
{
    bool found = false;

    pthread_mutex_lock(&threads.lock);
    for (const struct ar_thread *t = threads.first; t && !found; t = t->next)
        found = is_one(t, what);
    pthread_mutex_unlock(&threads.lock);
    return found;
}

/* ---- life of a thread ------------------------------------------------------------------------ */

static void free_thread(struct ar_thread *t)
{
    if (ar_thread_ends)
        ar_thread_ends(t);
    ar_node_table_free(&t->children);
    ar_c_forget(t);
    free(t->suspended);
    free(t->unseen_regions);
    free(t);
}

static void enlist(struct ar_thread *t)
{
    pthread_mutex_lock(&threads.lock);
    t->next = threads.first;
    threads.first = t;
    ar_tree_unseen(t, threads.told | (threads.paused ? AR_UNSEEN_ASKED : 0));
    pthread_mutex_unlock(&threads.lock);
}

static void strike_off(struct ar_thread *t)
{
    pthread_mutex_lock(&threads.lock);
    for (struct ar_thread **at = &threads.first; *at; at = &(*at)->next)
        if (*at == t) {
            *at = t->next;
            break;
        }
    pthread_mutex_unlock(&threads.lock);
}

static void thread_ended(void *thread)
{
    ar_thread_detach(thread);
}

static void make_key(void)
{
    pthread_key_create(&threads.key, thread_ended);
}

/* All but the refs is there before a reader may look: it copies a slot in any order. */
static void fill_slot(struct ar_live_thread *slot, uint32_t number, uint64_t now)
{
    *slot = (struct ar_live_thread){
        .number = number, .os_tid = (uint32_t)syscall(SYS_gettid), .start_ticks = now};
    snprintf(slot->name, sizeof slot->name, number ? "thread %u" : "MainThread", number);
}

static struct ar_live_thread *new_slot(uint64_t now)
{
    struct ar_live_thread *slot;

    pthread_mutex_lock(&threads.lock);
    slot = ar_extent_reserve(threads.slots, sizeof *slot);
    if (!slot) {
        struct ar_extent *extent = ar_livemap_extent(AR_EXTENT_THREADS, 0, THREADS_BYTES);

        if (extent)
            threads.slots = extent;
        slot = ar_extent_reserve(extent, sizeof *slot);
    }
    if (slot) {
        fill_slot(slot, threads.n_threads++, now);
        if (!slot->number)
            __atomic_store_n(&threads.main_slot, slot, __ATOMIC_RELEASE);
        ar_extent_publish(threads.slots, sizeof *slot);
    }
    pthread_mutex_unlock(&threads.lock);
    return slot;
}

const struct ar_live_thread *ar_threads_main(void)
{
    return __atomic_load_n(&threads.main_slot, __ATOMIC_ACQUIRE);
}

/* ---- how much of the C stack is left ----------------------------------------------------------- */

/*
 * The guard of the first thread lies at most this far below the call that set it. Half of the least
 * that the kernel maps for a stack: a program that has lowered the limit may have no more than that.
 */
#define GUARD_STEP_BYTES ((size_t)64 << 10)

/* Further below the guard than any function's variables: not on this stack, but on a coroutine's. */
#define ANOTHER_STACK_BYTES ((size_t)64 << 20)

/*
 * The stack of the first thread grows until it reaches the limit that holds at that moment. The C
 * library would read /proc/self/maps for where it begins, a file to open on every rank; but when
 * recording starts, next to nothing of it is used.
 */
static char *half_of_first_stack(const char *top)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur / 2 >= (uintptr_t)top)
        return NULL; /* no limit */
    return (char *)((uintptr_t)top - limit.rlim_cur / 2);
}

/* What the kernel has mapped once it leaves mapped, whatever becomes of the limit. */
static __attribute__((noinline)) void map_next_steps(void)
{
    char steps[2 * GUARD_STEP_BYTES];

    *(volatile char *)steps = 0;
}

bool ar_stack_is_low(struct ar_thread *t)
{
    uintptr_t here = (uintptr_t)ar_stack_pointer();
    uintptr_t half = (uintptr_t)(t->stack_top ? half_of_first_stack(t->stack_top) : t->stack_guard);

    if (here < half || (uintptr_t)t->stack_guard - here > ANOTHER_STACK_BYTES)
        return true;
    if (here - half <= GUARD_STEP_BYTES) {
        t->stack_guard = (char *)half;
        return false;
    }
    t->stack_guard = (char *)(here - GUARD_STEP_BYTES);
    if (here - half > 2 * GUARD_STEP_BYTES)
        map_next_steps();
    return false;
}

/* In the child of a thread's fork the first thread is on the stack of that thread. */
static bool is_on_first_stack(void)
{
    return syscall(SYS_gettid) == getpid() && !threads.has_left_first_stack;
}

/* Other stacks do not grow. */
static char *half_of_own_stack(void)
{
    pthread_attr_t attr;
    void *lowest = NULL;
    size_t n_bytes = 0;

    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return NULL;
    if (pthread_attr_getstack(&attr, &lowest, &n_bytes) != 0)
        lowest = NULL;
    pthread_attr_destroy(&attr);
    return lowest ? (char *)lowest + n_bytes / 2 : NULL;
}

/*
 * Half of the stack. The other half is left to calls that we do not see: on it the program gets as
 * deep as it would without us.
 */
void ar_thread_guard_stack(struct ar_thread *t)
{
    if (!is_on_first_stack()) {
        t->stack_guard = half_of_own_stack();
        return;
    }
    t->stack_top = t->stack_guard = __builtin_frame_address(0); /* above where it is compared */
    ar_stack_is_low(t);
}

/* ---- beginning and end ------------------------------------------------------------------------- */

static void begin_budget(struct ar_thread *t, uint64_t now)
{
    t->budget = (struct ar_budget){.span_ticks = now};
    t->asks = AR_BUDGET_CALLS - 1;
}

static bool open_tree(struct ar_thread *t, uint64_t now)
{
    t->root = ar_tree_root(t);
    if (!t->root)
        return false;
    t->root->n_calls = 1;
    t->root->ticks = (int64_t)(0 - now);
    begin_budget(t, now);
    ar_tree_move(t, t->root, now);
    __atomic_store_n(&t->slot->root_ref, ar_live_ref(t->root), __ATOMIC_RELEASE);
    return true;
}

struct ar_thread *ar_thread_attach(void)
{
    if (!ar_live_base || threads.stopped || refused)
        return NULL;
    pthread_once(&threads.once, make_key);

    uint64_t now = ar_ticks();
    struct ar_thread *t = calloc(1, sizeof *t);

    if (t)
        t->slot = new_slot(now);
    if (!t || !t->slot || !open_tree(t, now)) {
        free(t);
        refused = true;
        ar_livemap_lost(AR_LOST_THREADS, 1);
        return NULL;
    }
    if (ar_thread_starts)
        ar_thread_starts(t);
    enlist(t);
    pthread_setspecific(threads.key, t);
    ar_self = t;
    return t;
}

void ar_thread_detach(struct ar_thread *t)
{
    if (ar_live_base) {
        uint64_t now = ar_ticks();

        t->task = NULL; /* the system calls us without the GIL, which guards the table of tasks */
        ar_tree_unwind_all(t, now);
        /* Release: a reader that sees the end sees no open call. */
        __atomic_store_n(&t->slot->end_ticks, now, __ATOMIC_RELEASE);
    }
    ar_self = NULL;
    strike_off(t);
    free_thread(t);
}

void ar_thread_restart(struct ar_thread *t)
{
    uint64_t now = ar_ticks();

    if (!t)
        return;
    __atomic_store_n(&t->root->ticks, (int64_t)(0 - now), __ATOMIC_RELAXED);
    t->slot->start_ticks = now;
    begin_budget(t, now);
    ar_tree_move(t, t->root, now);
}

void ar_thread_name(struct ar_thread *t, const char *name)
{
    snprintf(t->slot->name, sizeof t->slot->name, "%s", name);
}

/* The rest of the thread's own stays: frames that are still open have it in their hands. */
void ar_threads_stop(void)
{
    threads.stopped = true;
    pthread_setspecific(threads.key, NULL);
    if (ar_self)
        ar_node_table_free(&ar_self->children);
    ar_self = NULL;
}

/* ---- fork ------------------------------------------------------------------------------------ */

/* Other threads are not there any more. */
static void free_others(const struct ar_thread *self)
{
    for (struct ar_thread *t = threads.first, *next; t; t = next) {
        next = t->next;
        if (t != self)
            free_thread(t);
    }
    threads.first = NULL;
}

void ar_threads_forking(enum ar_fork_step step)
{
    static bool stays; /* on the first stack: asked before the fork, while pids say so */

    pthread_once(&threads.once, make_key);
    ar_fork_lock(&threads.lock, step);
    if (step == AR_FORK_BEFORE)
        stays = is_on_first_stack();
    if (step != AR_FORK_CHILD)
        return;
    threads.has_left_first_stack = !stays;
    pthread_setspecific(threads.key, NULL);
    threads.forked = ar_self;
    ar_self = NULL;
    refused = false;
    free_others(threads.forked);
    threads.slots = NULL;
    threads.main_slot = NULL;
    threads.n_threads = 0;
}

const struct ar_node *ar_threads_forked_in(void)
{
    return threads.forked ? threads.forked->current : NULL;
}

/* Those on the way from the root are all that there is, and open. None has been called here. */
static bool open_path(struct ar_thread *t, uint64_t now)
{
    t->n_nodes = 0;
    for (struct ar_node *node = t->current;; node = ar_live_ptr(node->parent_ref)) {
        node->ticks = (int64_t)(0 - now);
        node->flags &= ~AR_NODE_SAMPLED; /* it is open, timed or not */
        ar_node_set_epoch(node, 0);
        t->n_nodes++;
        if (node == t->root)
            return true;
        if (!ar_node_table_add(&t->children, node, node->key))
            return false;
    }
}

/* What it had open in other tasks is not open here; the rest is as it was. */
static void begin_again(struct ar_thread *t, uint64_t now)
{
    ar_node_table_free(&t->children);
    t->nodes = t->values = NULL;
    t->n_suspended = 0;
    t->in_constructor = t->came_from = NULL;
    ar_tree_seen_again(t, AR_UNSEEN_RESUMING | AR_UNSEEN_OURS);
    begin_budget(t, now);
}

static bool adopt(struct ar_thread *t)
{
    uint64_t now = ar_ticks();
    struct ar_live_thread *slot = new_slot(now);

    if (!slot)
        return false;
    begin_again(t, now);
    if (!open_path(t, now))
        return false;
    t->root->n_calls = 1;
    t->slot = slot;
    ar_tree_move(t, t->current, now);
    t->line_call = NULL; /* its row is in the parent's file */
    __atomic_store_n(&slot->root_ref, ar_live_ref(t->root), __ATOMIC_RELEASE);
    return true;
}

void ar_threads_adopt(void)
{
    struct ar_thread *t = threads.forked;

    threads.forked = NULL;
    if (!t)
        return; /* it was not recorded: at its next event it will be */
    if (!adopt(t)) {
        free_thread(t);
        refused = true;
        ar_livemap_lost(AR_LOST_THREADS, 1);
        return;
    }
    t->next = NULL;
    enlist(t);
    pthread_setspecific(threads.key, t);
    ar_self = t;
}
