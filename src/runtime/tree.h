// SPDX-License-Identifier: BSD-3-Clause
/*
 * tree: one calling-context tree a thread, in the live file; the path that every event takes.
 *
 * Entering finds the child of the current node by its key and opens it, leaving closes it. Both are
 * inline: they are what an event costs beyond the interpreter's hook and the clock. Programs do
 * things in the order they did them last time, so each node remembers the sibling that followed it;
 * a guess that fails is looked up in a hash map of the thread's own.
 *
 * A key says from where a function was called. In recursion that would make a node of every
 * sequence of places, 2^n of them for a function that calls itself twice (tried: fib(23) took
 * 92,735 nodes and twice the time), so a function that is already open above has one node for all
 * places. So has everything below functions that are marked, which are those of the import system:
 * modules call from hundreds of lines, once. And so has every new node once the tree is large.
 *
 *     struct ar_thread *t = ar_thread_self();      // attached at first sight; NULL: not recorded
 *     struct ar_node *node = ar_tree_enter(t, key, ar_ticks());
 *     ...
 *     ar_tree_leave(t, node, ar_ticks());
 *
 * When the file is full ar_tree_enter returns NULL: the call is not recorded, its time is its
 * caller's, and it is counted. A node must be left by the thread that entered it; leaving one that
 * is not the innermost closes those inside it.
 *
 * Threads: a tree belongs to its thread alone. Signals: not from a handler.
 */
#pragma once

#include "base/hidden.h"
#include "base/idmap.h"
#include "format/livefile.h"
#include "runtime/forking.h"
#include "runtime/livemap.h"
#include "runtime/node_table.h"

#include <stdbool.h>

/* What this thread has spent lately; see budget.h. */
struct ar_budget {
    uint64_t span_ticks; /* since when */
    uint64_t n_calls;
    double leniency;
    uint32_t n_slow_calls;
    bool is_over;
};

/* What this thread knows of functions in C, in pages that are made when they are needed; see c_cheap.h. */
#define AR_C_PAGES 256

/* The method of mpi4py that is being called; see mpi4py_methods.h. */
struct ar_operation {
    const struct ar_method *method; /* NULL: none */
    struct ar_node *waits_at;       /* the node to open its own below, at the first MPI call */
    struct ar_node *node;
};

struct ar_thread {
    struct ar_node *current;
    struct ar_live_thread *slot;
    /*
     * The interpreter's state of this thread, NULL where there may be several. As long as a Python
     * function is open, which it was entered with, it is there and its frames can be read.
     */
    struct _ts *python;
    /*
     * The number of calls open inside `current` that are not recorded, as engine_monitoring.c
     * counts them, and AR_UNSEEN_… bits. Not 0: a function that is entered takes the slow path
     * (ar_tree_is_unseen).
     */
    uint32_t n_unseen;
    uint8_t asks; /* every so many calls of a node, less one, the engine asks; see budget.h */
    bool in_mpi;  /* inside a wrapper: what MPI calls by itself is not the user's call */
    struct ar_operation operation;
    struct ar_node *in_constructor; /* the node that has called one, where those are not recorded */
    struct ar_node *came_from;      /* the node that was left when C stacks were switched */
    struct ar_node *passed; /* outermost function in C that was closed and has not returned yet */
    uint64_t untimed_at;    /* `latest_ticks` when a function in C was last called and not timed */
    bool has_moved;         /* open functions may be in other nodes than they were entered in */
    uint64_t look_at;       /* when ar_tree_looked is called next; see ar_look_always */
    struct ar_node *previous; /* entered or left by the event before; NULL: by none of these */
    struct ar_stretches *stretches;  /* NULL: nothing yet */
    struct ar_lined *lined;          /* see lines.h; NULL: nothing yet */
    struct ar_lined_call *line_call; /* the innermost; NULL: none, or it is not known */
    struct ar_node *root;
    char *stack_guard; /* below this address ar_stack_is_low has to be asked */
    char *stack_top;   /* of a stack whose limit may change; NULL: it cannot */
    struct ar_node_table children;
    uint32_t n_nodes, n_sought;
    struct ar_extent *nodes, *values;
    struct ar_budget budget;
    void *task;     /* asyncio's, that is running; see tasks.h */
    bool starts;    /* the function being entered has not run before: it is not resumed */
    bool may_start; /* it is a function in C, so that is not known of what it calls */
    struct ar_thread *next;
    struct ar_suspended *suspended; /* regions of tasks that wait */
    size_t n_suspended, cap_suspended;
    struct ar_unseen_region *unseen_regions; /* begun and not recorded, the innermost last */
    size_t n_unseen_regions, cap_unseen_regions;
    struct ar_node *resumed_in; /* see AR_UNSEEN_RETURNS */
    uint32_t n_unreturned;
    struct ar_c_known *c_known[AR_C_PAGES];
    struct ar_mpi_thread *mpi; /* what it knows of MPI; NULL: nothing yet */
    /* The nodes that ran since it last waited for another rank; see mpi_syncs.h. 0: it is not needed. */
    uint32_t epoch, n_touched;
    uint32_t *touched;            /* refs, at most AR_MAX_TOUCHED */
    struct ar_syncs *syncs;       /* who asks */
    struct ar_counting *counting; /* its counters, see counters.h; NULL: none */
    struct ar_annotated
        *annotated;           /* open regions of libraries, see annotations.h; NULL: none yet */
    struct ar_tracer *tracer; /* see tracer.h; NULL: no trace yet */
    uint32_t n_numbers;       /* nodes that have been made, here and before a fork */
    struct ar_unrecorded *unrecorded; /* see function_switch.h; NULL: nothing yet */
};

#define AR_MAX_TOUCHED 4096u

#define AR_UNSEEN_PAUSED 0x80000000u    /* nothing is recorded until it is resumed */
#define AR_UNSEEN_ASKED 0x40000000u     /* that is wanted, or wanted no more, by another thread */
#define AR_UNSEEN_RESUMING 0x10000000u  /* regions of this task are to be opened again */
#define AR_UNSEEN_RETURNS 0x08000000u   /* calls that began in a pause have not returned yet */
#define AR_UNSEEN_OURS 0x04000000u      /* see ar_ours_begin */
#define AR_UNSEEN_FUNCTIONS 0x20000000u /* functions are not recorded; see function_switch.h */
#define AR_UNSEEN_SWITCHED 0x02000000u  /* that is wanted, or wanted no more */
#define AR_UNSEEN_BEGUN 0x01000000u     /* functions that began meanwhile have not returned yet */
#define AR_UNSEEN_LINES 0x00800000u     /* see line_events.h: what is called is not traced */
#define AR_UNSEEN_COUNT 0x007fffffu
#define AR_UNSEEN_SWITCHES (AR_UNSEEN_FUNCTIONS | AR_UNSEEN_SWITCHED | AR_UNSEEN_BEGUN)
/* With one of these a call is not recorded. */
#define AR_UNSEEN_CALLS (AR_UNSEEN_PAUSED | AR_UNSEEN_OURS | AR_UNSEEN_COUNT)

/*
 * Initial-exec: one instruction instead of a call into the dynamic linker. It takes eight bytes of
 * static TLS.
 */
extern AR_HIDDEN __thread struct ar_thread *ar_self __attribute__((tls_model("initial-exec")));

struct ar_thread *ar_thread_attach(void);
/* What sources do when a thread is attached, and before it is freed; set by sources.c. NULL: nothing. */
extern void (*ar_thread_starts)(struct ar_thread *t), (*ar_thread_ends)(struct ar_thread *t);
/* The slot of the first one; NULL: there is none. */
const struct ar_live_thread *ar_threads_main(void);
/* Ends this thread's record; called by the system when a thread ends. */
void ar_thread_detach(struct ar_thread *t);
void ar_thread_name(struct ar_thread *t, const char *name);
/* What was recorded so far was about ourselves: its time begins now. */
void ar_thread_restart(struct ar_thread *t);
/* For engines that take C stack from the program; in the thread itself. */
void ar_thread_guard_stack(struct ar_thread *t);
/*
 * Of a call below the guard: is half of the stack used up, by the limit that holds now? If not, the
 * guard is lowered by a step for what this call calls. The caller puts it back when the call returns,
 * so that the guard is never far below what is open: the program may change the limit at any time.
 */
bool ar_stack_is_low(struct ar_thread *t);
/* No thread is attached from now on, and this one records no more. */
void ar_threads_stop(void);
/* In the child this thread records nothing, until ar_threads_adopt. */
void ar_threads_forking(enum ar_fork_step step);
/* In the child, before the live file is replaced: the node that the thread that forked is in. */
const struct ar_node *ar_threads_forked_in(void);
/* In the child, afterwards: goes on in the frames that it is in, which begin now. */
void ar_threads_adopt(void);

/* Of functions; those of AR_NODE_MARKS are in the flags of their nodes too. */
enum ar_tree_mark {
    AR_MARK_ANY_PLACE = 1,  /* below this function calls are not told apart by place */
    AR_MARK_KEEP_PLACE = 2, /* calls of it always are: it calls nothing, so it multiplies nothing */
    AR_MARK_BUILTIN = AR_NODE_IN_C,
    AR_MARK_REGION = 8,       /* stays open when the function that opened it is left */
    AR_MARK_UNDER_OTHER = 16, /* is closed by whatever is left around it */
    AR_MARK_RUNS_TASKS = 32,  /* what it calls may be a step of a task */
    AR_MARK_SUSPENDS = 128,   /* a coroutine: what it has open is not open while it waits */
    AR_MARK_WANTED = 64,      /* the program asked for it: it is never given up for the budget */
    AR_MARK_OPERATION = AR_NODE_OPERATION,
    AR_MARK_BLOCKS = 0x200,  /* waits for other threads and does nothing else; see blocking.h */
    AR_MARK_COUNTED = 0x400, /* counters are read when it is entered and left; see counters.h */
    AR_MARK_TRACED = 0x800,  /* a trace is on while it runs; see tracer.h */
    AR_MARK_HIDDEN = 0x1000, /* a region that a filter leaves out: it has no nodes */
    AR_MARK_LINED = 0x8000,  /* its lines are counted; see lines.h */
    AR_MARK_IN_CALL = AR_NODE_IN_CALL, /* a library's region; see annotations.h */
};
/* Of nodes that are not functions of their own on the interpreter's stack. */
#define AR_MARKS_BETWEEN                                                                           \
    (AR_MARK_BUILTIN | AR_MARK_REGION | AR_MARK_UNDER_OTHER | AR_MARK_OPERATION | AR_MARK_IN_CALL)

bool ar_tree_is_marked(uint32_t function, uint32_t mark);
void ar_tree_mark(uint32_t function, uint32_t marks);
/* The child of the current node with that key, made if need be; NULL when the file is full. */
struct ar_node *ar_tree_child(struct ar_thread *t, uint64_t key, uint64_t now);
/* The same for a call: if that is a step of a task, the task's node becomes the current one first. */
struct ar_node *ar_tree_child_to_enter(struct ar_thread *t, uint64_t key, uint64_t now);
/* The number of the task that is about to run a step, or 0. Set by tasks.c. */
extern uint32_t (*ar_tree_task)(struct ar_thread *t, uint64_t now, uint64_t *awaited_ticks);
/* A step of a task is over. */
extern void (*ar_tree_task_left)(struct ar_thread *t, uint64_t now);
/*
 * The values of that kind of a node, made if need be; NULL when the file is full. New ones come first, so that every MPI call and
 * every C function that is not always timed finds its own there; but those of a measure (measures.h) after the first.
 */
struct ar_values *ar_tree_values(struct ar_thread *t, struct ar_node *node, uint32_t kind);
/* Adds `values` to a node, after its first ones. Of one kind there may be many. */
struct ar_values *ar_tree_values_add(struct ar_thread *t, struct ar_node *node,
                                     const struct ar_values *values);
/* Leaves a node that is not the innermost one. */
void ar_tree_leave_outer(struct ar_thread *t, struct ar_node *node, uint64_t now);
/*
 * The current node is `gone`, a function in C that has returned: what it called has ended on a C stack of its
 * own, and where that was begun or ended from goes on.
 */
void ar_tree_go_back(struct ar_thread *t, struct ar_node *gone, uint64_t now);
/*
 * Closes the functions in C that the current node is in, though they have not returned yet: they begin or end a region for their
 * caller, as a context manager's `__enter__` does, and it is not to be inside them.
 */
void ar_tree_pass_builtins(struct ar_thread *t, uint64_t now);
/* The innermost open node of that function, or NULL. */
struct ar_node *ar_tree_find_open(const struct ar_thread *t, uint32_t function);
/* Ends the innermost region of that number, whatever is open in it. false: it is not open. */
bool ar_tree_end_region(struct ar_thread *t, uint32_t region, uint64_t now);
/*
 * A region begins where nothing is recorded, and its end is none of one that is open in the tree. ar_tree_end_unseen_region: was the one
 * of that number which began last such a region? Then it ends.
 */
void ar_tree_begin_unseen_region(struct ar_thread *t, uint32_t region);
bool ar_tree_end_unseen_region(struct ar_thread *t, uint32_t region);
/* Is its function open above it, too? */
bool ar_tree_recurses(const struct ar_node *node);
/* Has that task left regions open? Then they are to be opened again, each in its coroutine. */
bool ar_tree_has_suspended(const struct ar_thread *t, const void *task);
void ar_tree_resume_regions(struct ar_thread *t, const struct ar_node *node, uint64_t now);
void ar_tree_unwind_all(struct ar_thread *t, uint64_t now);
struct ar_node *ar_tree_root(struct ar_thread *t); /* a new one */
void ar_tree_forking(enum ar_fork_step step);

/*
 * In all threads, from their next event on. The time goes to nodes of `paused_function`, which is
 * marked as a region. Under the GIL.
 */
void ar_threads_pause(bool pause, uint32_t paused_function);
bool ar_threads_are_paused(void);
/* Sets that bit of n_unseen in all threads, and in new ones if it `stays`. Under the GIL. */
void ar_threads_tell(uint32_t bit, bool stays);
/* Is it true of one of them? Under the GIL. */
bool ar_threads_any(bool (*is_one)(const struct ar_thread *t, const void *what), const void *what);
/* Where n_unseen is not 0: true if a function that is entered is not to be recorded. */
bool ar_tree_is_unseen(struct ar_thread *t, uint64_t now);
/* The same for one that is left, in engines that count such calls. */
bool ar_tree_is_unseen_return(struct ar_thread *t);

/* Calls went unrecorded: a function's caller need not be the current node. */
extern AR_HIDDEN bool ar_tree_has_holes;

/* Atomic, since another thread may ask for a pause while this one is in MPI, without the GIL. */
static inline void ar_tree_unseen(struct ar_thread *t, uint32_t bit)
{
    __atomic_fetch_or(&t->n_unseen, bit, __ATOMIC_RELAXED);
}

static inline void ar_tree_seen_again(struct ar_thread *t, uint32_t bit)
{
    __atomic_fetch_and(&t->n_unseen, ~bit, __ATOMIC_RELAXED);
}

/*
 * Between the two we call the interpreter. What Python code may run meanwhile, such as finalizers of
 * a collection or the program's audit hooks, is called by us, not by the program: it is not
 * recorded, and the tree stays as it is. `t` may be NULL: a thread that is not recorded.
 *
 *     struct ar_ours ours = ar_ours_begin(ar_self);
 *     ...                                              // no pointer into a table that may grow is kept
 *     ar_ours_end(ours);
 */
struct ar_ours {
    struct ar_thread *t; /* NULL: there is nothing to end */
};

static inline struct ar_ours ar_ours_begin(struct ar_thread *t)
{
    if (!t || t->n_unseen & AR_UNSEEN_OURS)
        return (struct ar_ours){0};

    ar_tree_unseen(t, AR_UNSEEN_OURS);
    return (struct ar_ours){t};
}

/* A forked child, or the end of the recording, may have taken the thread away. */
static inline void ar_ours_end(struct ar_ours ours)
{
    if (ours.t && ours.t == ar_self)
        ar_tree_seen_again(ours.t, AR_UNSEEN_OURS);
}

/* A call that is not recorded. Under the GIL. */
static inline void ar_tree_count_unseen(struct ar_thread *t)
{
    t->n_unseen++;
}

static inline struct ar_thread *ar_thread_self(void)
{
    struct ar_thread *t = ar_self;

    return __builtin_expect(t != NULL, 1) ? t : ar_thread_attach();
}

static inline void ar_tree_move(struct ar_thread *t, struct ar_node *node, uint64_t now)
{
    struct ar_live_thread *slot = t->slot;

    t->current = node;
    if (!ar_ticks_are_unique())
        t->untimed_at = 0; /* else a call before this event would seem to come after it */
    /* Release: a reader that sees the node's ref sees the node. On x86 it costs nothing. */
    __atomic_store_n(&slot->current_ref, ar_live_ref(node), __ATOMIC_RELEASE);
    __atomic_store_n(&slot->latest_ticks, now, __ATOMIC_RELAXED);
    t->previous = NULL;
}

/* The thread is about to be in `next`. Set while a trace is on, see tracer.h. */
extern void (*ar_tree_traced)(struct ar_thread *t, struct ar_node *next, uint64_t now);

/* The same for steps that are rare and may lead anywhere: a trace has to know of them. */
static inline void ar_tree_go(struct ar_thread *t, struct ar_node *node, uint64_t now)
{
    if (__builtin_expect(ar_tree_traced != NULL, 0))
        ar_tree_traced(t, node, now);
    ar_tree_move(t, node, now);
}

/* Where this thread's stack is at, without a frame pointer being kept for it. */
static inline char *ar_stack_pointer(void)
{
    char *at;

#if defined(__x86_64__)
    __asm__("mov %%rsp, %0" : "=r"(at));
#elif defined(__aarch64__)
    __asm__("mov %0, sp" : "=r"(at));
#else
    at = __builtin_frame_address(0);
#endif
    return at;
}

/* The child that is likely to come next, if it is the one; NULL: it has to be looked for. */
static inline struct ar_node *ar_tree_guess(const struct ar_thread *t, uint64_t key)
{
    struct ar_node *child = ar_live_ptr(t->current->guess_ref);

    if (__builtin_expect(child->key == key, 1) ||
        (child->key == (uint32_t)key && child->flags & AR_NODE_ALL_PLACES))
        return child;
    return NULL;
}

/* So long without a look at the clock is long: 0.5 ms. */
extern AR_HIDDEN uint64_t ar_gap_ticks;
/* There was such a gap until `now`: were functions in C called in it that were not timed? See c_cheap.h. */
extern void (*ar_tree_gap)(struct ar_thread *t, uint64_t now);
/* All bits, while a trace is on: ar_tree_looked is called at every event. Otherwise 0, and it is called from `look_at` on. */
extern AR_HIDDEN uint64_t ar_look_always;
/* `look_at` is never further away, so that no gap is missed. */
static inline uint64_t ar_tree_longest_look(void)
{
    return ar_gap_ticks / 2;
}
/*
 * `look_at` is over, and a stretch of so many ticks ends with this event (0: it is not to be sampled). Returns the next `look_at`.
 * Set by stretches.c.
 */
extern uint64_t (*ar_tree_samples)(struct ar_thread *t, struct ar_node *next, uint64_t ticks,
                                   uint64_t now);
void ar_tree_looked(struct ar_thread *t, struct ar_node *next, uint64_t now);

/* Before each step of the current node. */
static inline void ar_tree_look(struct ar_thread *t, struct ar_node *next, uint64_t now)
{
    if (__builtin_expect((now | ar_look_always) >= t->look_at, 0))
        ar_tree_looked(t, next, now);
}

/* There is no room for one more that was touched: makes some. Set by mpi_syncs.c. */
extern void (*ar_tree_touched_many)(struct ar_thread *t);

/*
 * A node whose counters are read is entered and left on the slow path of ar_tree_touch, because its epoch is never the thread's:
 * it is stored as its complement. So all other nodes pay nothing for it.
 */
static inline uint32_t ar_node_epoch(const struct ar_node *node)
{
    return node->flags & AR_NODE_COUNTED ? ~node->epoch : node->epoch;
}

static inline void ar_node_set_epoch(struct ar_node *node, uint32_t epoch)
{
    node->epoch = node->flags & AR_NODE_COUNTED ? ~epoch : epoch;
}

/* A node with AR_NODE_COUNTED is about to be opened (`ticks` is not negative), or closed. Set by counters.c. */
extern void (*ar_tree_counts)(struct ar_thread *t, struct ar_node *node);
/* The same of functions with AR_MARK_TRACED, whose nodes are counted for that. Set by tracer.c. */
extern void (*ar_tree_switches)(struct ar_node *node);
/* The same of functions with AR_MARK_LINED. Set by lines.c. */
extern void (*ar_tree_lines)(struct ar_thread *t, struct ar_node *node);
/* Called now and then by each thread that runs Python functions, and after a gap. Set by tracer.c: other processes may have a wish. */
extern void (*ar_tree_polled)(void);
/* Marks of functions whose nodes are counted; 0: there are no counters. */
extern uint32_t ar_tree_counted_marks;
/* All nodes are, but those of C functions, whose calls are not all timed either. */
extern bool ar_tree_counts_all;

/* ar_tree_touch of one that is counted. */
__attribute__((cold)) void ar_tree_touch_counted(struct ar_thread *t, struct ar_node *node);

/* Before its `ticks` change: what it has had so far is of earlier intervals. */
static inline void ar_tree_touch(struct ar_thread *t, struct ar_node *node)
{
    if (__builtin_expect(node->epoch != t->epoch, 0)) {
        if (__builtin_expect(node->flags & AR_NODE_COUNTED, 0)) {
            ar_tree_touch_counted(t, node);
            return;
        }
        if (__builtin_expect(t->n_touched == AR_MAX_TOUCHED, 0))
            ar_tree_touched_many(t);
        node->epoch = t->epoch;
        node->interval_ticks = (uint64_t)node->ticks;
        t->touched[t->n_touched++] = ar_live_ref(node);
    }
}

/* A call of a child of the current node begins. */
static inline void ar_tree_open(struct ar_thread *t, struct ar_node *child, uint64_t now)
{
    ar_tree_look(t, child, now);
    ar_tree_touch(t, child);
    __atomic_store_n(&child->n_calls, child->n_calls + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&child->ticks, (int64_t)((uint64_t)child->ticks - now), __ATOMIC_RELAXED);
    ar_tree_move(t, child, now);
    t->previous = child;
}

/* Of a function in C on the open path: what it called has a C stack of its own, and goes on. */
static inline bool ar_tree_has_returned(const struct ar_node *node)
{
    return node->ticks >= 0 || node->flags & AR_NODE_RETURNED;
}

/* A call of the current node ends. */
static inline void ar_tree_close(struct ar_thread *t, struct ar_node *node, uint64_t now)
{
    struct ar_node *parent = ar_live_ptr(node->parent_ref);

    ar_tree_look(t, parent, now);
    ar_tree_touch(t, node);
    __atomic_store_n(&node->ticks, (int64_t)((uint64_t)node->ticks + now), __ATOMIC_RELAXED);
    parent->guess_ref = node->successor_ref;
    parent->left_ref = ar_live_ref(node);
    ar_tree_move(t, parent, now);
    t->previous = node;
    if (__builtin_expect(parent->flags & AR_MARK_BUILTIN, 0) && ar_tree_has_returned(parent))
        ar_tree_go_back(t, parent, now);
}

static inline struct ar_node *ar_tree_enter(struct ar_thread *t, uint64_t key, uint64_t now)
{
    struct ar_node *child = ar_tree_guess(t, key);

    if (__builtin_expect(!child, 0)) {
        child = ar_tree_child_to_enter(t, key, now);
        if (!child)
            return NULL;
    }
    ar_tree_open(t, child, now);
    return child;
}

static inline void ar_tree_leave(struct ar_thread *t, struct ar_node *node, uint64_t now)
{
    if (__builtin_expect(t->current == node, 1))
        ar_tree_close(t, node, now);
    else
        ar_tree_leave_outer(t, node, now);
}

/*
 * For engines that are told which function is left, not which call of it. One that is not open was
 * entered before the recording began.
 */
static inline void ar_tree_leave_function(struct ar_thread *t, uint32_t function, uint64_t now)
{
    struct ar_node *node = t->current;

    if (__builtin_expect((uint32_t)node->key != function, 0))
        node = ar_tree_find_open(t, function);
    if (__builtin_expect(node != NULL, 1))
        ar_tree_leave(t, node, now);
}
