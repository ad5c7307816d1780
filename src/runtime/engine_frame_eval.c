// SPDX-License-Identifier: BSD-3-Clause
/*
 * Frame evaluation (PEP 523), CPython 3.9 to 3.11: the interpreter calls us in place of its
 * evaluator, once a call, resume or throw. Enter and leave are one C function, so exceptions and
 * yields need no events of their own. Functions in C are seen by the C profile hook, which is set
 * for as long as they are looked at.
 *
 * On 3.11 a custom evaluator makes each Python call recurse on the C stack, which plain 3.11 does
 * not: a depth of 100,000 would crash. With less than the guard left, the interpreter's own
 * evaluator is put back until the frame that did so returns; calls inside it are not recorded, and
 * are counted as lost.
 */
#include "runtime/engine.h"

#include "runtime/budget.h"
#include "runtime/c_calls.h"
#include "runtime/c_numbers.h"
#include "runtime/functions.h"
#include "runtime/python_thread.h"
#include "runtime/quiet.h"

static _PyFrameEvalFunction next_evaluator;
static bool started;
static enum ar_builtins builtins;

/* ---- functions in C -------------------------------------------------------------------------- */

/*
 * Where they are looked at: in functions that are called seldom always, as long as that is cheap
 * (watch.h), since what such a function calls need not come again; in others in one call of so many,
 * which then stands for all of them.
 */
#define SELDOM_CALLS 64
#define SAMPLE_CALLS AR_BUDGET_CALLS
#define HOOK_AGAIN_NS 100000

static int on_profile(PyObject *self, PyFrameObject *frame, int what, PyObject *arg);

static void set_profile_hook(PyThreadState *ts, Py_tracefunc hook)
{
    ts->c_profilefunc = hook;
    ar_tracing_update(ts);
}

/* The hook is the thread's one and only: what the program has set there itself stays. */
static __attribute__((noinline)) void look(struct ar_thread *t, bool wanted)
{
    PyThreadState *ts = PyThreadState_GET();

    t->is_looking = wanted;
    t->watch.n_switches++;
    if (wanted && !ts->c_profilefunc)
        set_profile_hook(ts, on_profile);
    else if (!wanted && ts->c_profilefunc == on_profile)
        set_profile_hook(ts, NULL);
}

static bool is_looked_at(const struct ar_thread *t, const struct ar_node *node)
{
    if (ar_c_looking_is_off || t->recurses)
        return false;
    while (node->flags & AR_MARKS_BETWEEN)
        node = ar_live_ptr(node->parent_ref);
    return node->n_calls <= SELDOM_CALLS ? t->watch.open : node->n_calls % SAMPLE_CALLS == 0;
}

static __attribute__((noinline)) void look_if_wanted(struct ar_thread *t)
{
    bool wanted = is_looked_at(t, t->current);

    if (builtins == AR_BUILTINS_COSTLY && wanted != t->is_looking)
        look(t, wanted);
    t->looks_everywhere = builtins == AR_BUILTINS_COSTLY && (t->watch.open || t->is_looking);
}

/*
 * Most functions are neither seldom nor at their turn, now or with the next call, and nothing is
 * being looked at.
 */
static inline bool may_be_looked_at(const struct ar_thread *t, const struct ar_node *node)
{
    return t->looks_everywhere || ((uint8_t)(node->n_calls + 1) & t->asks) <= 1;
}

/* It is time to look, or to stop looking; or the first event of a thread. */
static void turn(struct ar_thread *t, uint64_t now)
{
    if (builtins == AR_BUILTINS_NONE) {
        t->watch.turn_ticks = AR_WATCH_NEVER;
    } else if (builtins == AR_BUILTINS_ALL) {
        look(t, true); /* from time to time: the program may have taken the hook meanwhile */
        t->watch.turn_ticks = now + ar_ticks_of_ns(HOOK_AGAIN_NS);
    } else if (!t->watch.since_ticks) {
        ar_watch_start(&t->watch, now);
    } else {
        ar_watch_turn(&t->watch, now);
    }
    t->recurses = false;
    if (builtins == AR_BUILTINS_COSTLY && !t->watch.open) {
        ar_tree_end_builtins(t, now);
        ar_quiet_begin(t, now);
    }
    look_if_wanted(t);
}

/* A function is entered, and something is not as usual. */
static __attribute__((noinline)) bool is_unseen(struct ar_thread *t, uint64_t now)
{
    if (t->n_unseen && ar_tree_is_unseen(t, now))
        return true;
    if (now >= t->watch.turn_ticks)
        turn(t, now);
    t->turn_ticks = t->n_unseen ? 0 : t->watch.turn_ticks;
    return false;
}

/*
 * Until the next turn: what is recursed through goes unseen. Not for longer: imports recurse through
 * exec, and a long call that comes after them is to be seen.
 */
static void stop_looking_inside(struct ar_thread *t)
{
    t->recurses = true;
    ar_tree_end_builtins(t, ar_ticks());
    look_if_wanted(t);
}

static struct ar_weight weight_below(const struct ar_thread *t)
{
    const struct ar_node *node = t->current;

    if (builtins == AR_BUILTINS_ALL)
        return (struct ar_weight){.n = 1};
    while (node->flags & AR_MARKS_BETWEEN)
        node = ar_live_ptr(node->parent_ref);
    if (node->n_calls > SELDOM_CALLS)
        return (struct ar_weight){.n = SAMPLE_CALLS};
    return (struct ar_weight){.n = t->watch.weight, .gap_ticks = t->watch.gap_ticks};
}

/* The hook is asked at calls, but while it is set every instruction takes longer. */
#define SLOWED_NS 1000

static void charge_for_code_since(struct ar_thread *t, uint64_t then)
{
    uint64_t ticks = t->slot->latest_ticks - then, most = ar_ticks_of_ns(SLOWED_NS);

    t->watch.slowed_ticks += ticks < most ? ticks : most;
}

static void c_entered(struct ar_thread *t, PyObject *function)
{
    uint64_t then = t->slot->latest_ticks;
    ar_frame *caller = *ar_frame_top_slot(PyThreadState_GET());
    uint32_t number =
        ar_function_is_recorded(ar_frame_code(caller)) ? ar_c_number(function, false) : 0;

    t->watch.n_seen++; /* also one that is recorded otherwise: the look was paid for */
    if (!number)
        return;
    if (builtins == AR_BUILTINS_COSTLY && ar_c_call_recurses(t, number)) {
        stop_looking_inside(t);
        return;
    }
    ar_c_call_enter(t, number, caller, weight_below(t));
    charge_for_code_since(t, then);
}

static void c_left(struct ar_thread *t, PyObject *function)
{
    uint64_t now = ar_ticks();
    uint32_t number = ar_c_number(function, false);

    if (number)
        ar_c_call_leave(t, number, now);
    if (now >= t->watch.turn_ticks && builtins == AR_BUILTINS_COSTLY)
        turn(t, now);
}

static int on_profile(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
    struct ar_thread *t = ar_self;

    (void)self, (void)frame;
    if (!t) { /* the recording is over, or this is a forked child: it is not to pay for us */
        set_profile_hook(PyThreadState_GET(), NULL);
        return 0;
    }
    if (t->n_unseen && ar_tree_is_unseen(t, ar_ticks()))
        return 0;
    if (what == PyTrace_C_CALL)
        c_entered(t, arg);
    else if (what == PyTrace_C_RETURN || what == PyTrace_C_EXCEPTION)
        c_left(t, arg);
    else if (what == PyTrace_CALL)
        t->watch.n_seen++; /* a Python function, which costs as much while the hook is set */
    return 0;
}

/* ---- functions in Python --------------------------------------------------------------------- */

/* With whatever stood in front of us: another tool may have put itself there. */
static __attribute__((noinline)) PyObject *evaluate_unseen(PyThreadState *ts, ar_frame *frame,
                                                           int throwing)
{
    _PyFrameEvalFunction before = _PyInterpreterState_GetEvalFrameFunc(ts->interp);

    ar_livemap_lost(AR_LOST_NODES, 1);
    ar_tree_has_holes = true;
    _PyInterpreterState_SetEvalFrameFunc(ts->interp, next_evaluator);

    PyObject *result = next_evaluator(ts, frame, throwing);

    if (started)
        _PyInterpreterState_SetEvalFrameFunc(ts->interp, before);
    return result;
}

/* Cheap and frequent, and the budget is used up: then it is the last call, and not counted. */
static struct ar_node *consider(struct ar_thread *t, ar_frame *frame, struct ar_node *node,
                                uint64_t now)
{
    uint32_t n_calls = ar_budget_due(t, node);

    if (n_calls && ar_budget_is_over(t, node, n_calls, now)) {
        ar_tree_leave(t, node, now);
        ar_function_stop(ar_frame_code(frame), (uint32_t)node->key);
        node = NULL;
    }
    look_if_wanted(t);
    return node;
}

/* The node of the call, or NULL where it is not recorded. */
static __attribute__((noinline)) struct ar_node *enter(PyThreadState *ts, ar_frame *frame)
{
    struct ar_thread *t = ar_python_thread(frame);

    if (!t || ar_frame_makes_generator(frame) || ar_call_is_refused(ts))
        return NULL;

    uint32_t function = ar_function_of_frame(frame);

    if (function == AR_FUNCTION_LOST)
        return NULL;

    /* The frame is not linked to its caller yet: that is still the innermost one. */
    uint64_t place = ar_call_place(*ar_frame_top_slot(ts), t->current);
    uint64_t now = ar_ticks();

    if (now >= t->turn_ticks && is_unseen(t, now))
        return NULL;
    t->starts = !ar_frame_has_run(frame);

    struct ar_node *node = ar_tree_enter(t, place | function, now);

    if (node)
        node = consider(t, frame, node, now);
    if (node && t->n_unseen & AR_UNSEEN_RESUMING)
        ar_tree_resume_regions(t, node, now);
    return node;
}

static __attribute__((noinline)) PyObject *looked(PyObject *result, struct ar_thread *t)
{
    look_if_wanted(t);
    return result;
}

/* The recording may have ended, or the process forked, since the node was entered. */
static __attribute__((noinline)) PyObject *leave(PyObject *result, struct ar_node *node)
{
    struct ar_thread *t = ar_self;

    if (!t)
        return result;

    uint64_t now = ar_ticks();

    if (t->n_unseen & AR_UNSEEN_QUIET)
        ar_quiet_end(t, now);
    ar_tree_leave(t, node, now);
    return may_be_looked_at(t, t->current) ? looked(result, t) : result;
}

static __attribute__((noinline)) PyObject *evaluate_slowly(PyThreadState *ts, ar_frame *frame,
                                                           int throwing)
{
    if (ar_self && ar_stack_pointer() < ar_self->stack_guard)
        return evaluate_unseen(ts, frame, throwing);

    struct ar_node *node = enter(ts, frame);
    PyObject *result = next_evaluator(ts, frame, throwing);

    return node ? leave(result, node) : result;
}

/* Calls went unrecorded, and `caller` may be one of them. */
static inline bool is_after_hole(const struct ar_thread *t, ar_frame *caller)
{
    return ar_tree_has_holes &&
           (!caller || ar_function_known(ar_frame_code(caller)) != (uint32_t)t->current->key);
}

/*
 * What happens nearly always, without a call: everything else is a slow function in its place. So
 * little but the node has to be kept on the stack, which is taken from the program's recursion.
 */
static __attribute__((noinline)) PyObject *evaluate_known(PyThreadState *ts, ar_frame *frame,
                                                          int throwing, struct ar_thread *t,
                                                          uint32_t function)
{
    ar_frame *caller = *ar_frame_top_slot(ts);

    if (__builtin_expect(!ar_clock_is_tsc() || ar_call_is_refused(ts) ||
                             ar_frame_makes_generator(frame) || is_after_hole(t, caller),
                         0))
        return evaluate_slowly(ts, frame, throwing);

    struct ar_node *node = ar_tree_guess(t, (uint64_t)ar_frame_site(caller) << 32 | function);

    if (__builtin_expect(!node || !function || may_be_looked_at(t, node), 0))
        return evaluate_slowly(ts, frame, throwing);

    uint64_t now = ar_tsc();

    if (__builtin_expect(now >= t->turn_ticks, 0))
        return evaluate_slowly(ts, frame, throwing);
    ar_tree_open(t, node, now);

    PyObject *result = next_evaluator(ts, frame, throwing);

    t = ar_self;
    if (__builtin_expect(!t || t->current != node || t->n_unseen, 0))
        return leave(result, node);
    ar_tree_close(t, node, ar_tsc());
    if (__builtin_expect(may_be_looked_at(t, t->current), 0))
        return looked(result, t);
    return result;
}

/* What has been given up for the budget is not to cost more than the interpreter's way of asking us. */
static PyObject *evaluate(PyThreadState *ts, ar_frame *frame, int throwing)
{
    struct ar_thread *t = ar_self;

    if (__builtin_expect(!t || ar_stack_pointer() < t->stack_guard, 0))
        return evaluate_slowly(ts, frame, throwing);

    uint32_t function = ar_function_known(ar_frame_code(frame));

    if (__builtin_expect(function == AR_FUNCTION_LOST, 0))
        return next_evaluator(ts, frame, throwing);
    return evaluate_known(ts, frame, throwing, t, function);
}

/* ---- life cycle ------------------------------------------------------------------------------ */

static bool start(enum ar_builtins wanted)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();

    next_evaluator = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    if (next_evaluator != _PyEval_EvalFrameDefault) {
        PyErr_SetString(PyExc_RuntimeError, "another tool holds frame evaluation (PEP 523)");
        return false;
    }
    builtins = wanted;
    ar_threads_guard_stacks();
    ar_threads_watch_from(0);
    started = true;
    _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
    return true;
}

/* If another tool has put itself in front of us it still calls us: then we only pass on. */
static void stop(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    PyThreadState *ts = PyThreadState_GET();

    started = false;
    if (_PyInterpreterState_GetEvalFrameFunc(interpreter) == evaluate)
        _PyInterpreterState_SetEvalFrameFunc(interpreter, next_evaluator);
    if (ts->c_profilefunc == on_profile)
        set_profile_hook(ts, NULL);
}

const struct ar_engine ar_engine_native = {"frame evaluation (PEP 523)", start, stop};
