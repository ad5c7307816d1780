// SPDX-License-Identifier: BSD-3-Clause
/*
 * Frame evaluation (PEP 523), CPython 3.9 to 3.11: the interpreter calls us in place of its
 * evaluator, once a call, resume or throw. Enter and leave are one C function, so exceptions and
 * yields need no events of their own.
 *
 * On 3.11 a custom evaluator makes each Python call recurse on the C stack, which plain 3.11 does
 * not: a depth of 100,000 would crash. Where half of the stack is used up, the interpreter's own
 * evaluator is put back until the frame that did so returns; calls inside it are not recorded. How many
 * there are is not known: only the outermost is counted as lost, and a fact of the run says so.
 */
#include "runtime/engine.h"

#include "runtime/budget.h"
#include "runtime/chosen_lines.h"
#include "runtime/function_switch.h"
#include "runtime/functions.h"
#include "runtime/line_events.h"
#include "runtime/python_thread.h"

static _PyFrameEvalFunction next_evaluator;
static bool started;
static bool is_out; /* we have taken our evaluator out, since functions are switched off */

static void say_too_deep(void)
{
    static bool is_said;

    if (!__atomic_exchange_n(&is_said, true, __ATOMIC_RELAXED))
        ar_livemap_fact("too deep",
                        "calls beyond half of the C stack were not recorded, and how many "
                        "is not known (a larger stack: ulimit -s)");
}

/* With whatever stood in front of us: another tool may have put itself there. */
static __attribute__((noinline)) PyObject *evaluate_unseen(PyThreadState *ts, ar_frame *frame,
                                                           int throwing)
{
    _PyFrameEvalFunction before = _PyInterpreterState_GetEvalFrameFunc(ts->interp);

    ar_livemap_lost(AR_LOST_NODES, 1);
    say_too_deep();
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
    return node;
}

/* Where functions are switched off, calls come here if another tool has put itself in front of us. */
static bool is_unseen(struct ar_thread *t, uint64_t now)
{
    return ar_tree_is_unseen(t, now) ||
           (t->n_unseen & AR_UNSEEN_SWITCHES && ar_functions_skip_call(t, NULL));
}

/* The node of the call, or NULL where it is not recorded. */
static __attribute__((noinline)) struct ar_node *enter(PyThreadState *ts, ar_frame *frame)
{
    struct ar_thread *t = ar_python_thread(frame);

    if (!t || ar_frame_makes_generator(frame) || ar_call_is_refused(ts))
        return NULL;

    uint32_t function = ar_function_of_frame(frame);

    if (ar_function_is_left_out(function))
        return NULL;

    /* The frame is not linked to its caller yet: that is still the innermost one. */
    uint64_t place = ar_call_place(*ar_frame_top_slot(ts), t->current);
    uint64_t now = ar_ticks();

    ar_python_state(t, ts);
    if (t->n_unseen && is_unseen(t, now))
        return NULL;
    t->starts = !ar_frame_has_run(frame);

    struct ar_node *node = ar_tree_enter(t, place | function, now);

    if (node)
        node = consider(t, frame, node, now);
    if (node && t->n_unseen & AR_UNSEEN_RESUMING)
        ar_tree_resume_regions(t, node, now);
    return node;
}

/* The recording may have ended, or the process forked, since the node was entered. */
static __attribute__((noinline)) PyObject *leave(PyObject *result, struct ar_node *node)
{
    struct ar_thread *t = ar_self;

    if (t)
        ar_tree_leave(t, node, ar_ticks());
    return result;
}

static PyObject *evaluate(PyThreadState *ts, ar_frame *frame, int throwing);

/* Below the guard of the stack. */
static __attribute__((noinline)) PyObject *evaluate_deeply(PyThreadState *ts, ar_frame *frame,
                                                           int throwing)
{
    char *guard = ar_self->stack_guard;

    if (ar_stack_is_low(ar_self))
        return evaluate_unseen(ts, frame, throwing);

    PyObject *result = evaluate(ts, frame, throwing);

    if (ar_self)
        ar_self->stack_guard = guard;
    return result;
}

static bool is_lined(const struct ar_node *node)
{
    return node->flags & AR_NODE_COUNTED && ar_tree_is_marked((uint32_t)node->key, AR_MARK_LINED);
}

static const struct ar_node *innermost_lined(const struct ar_thread *t)
{
    return t->line_call ? t->line_call->node : NULL;
}

/* Called by a function whose lines are counted: it is not traced itself. */
static __attribute__((noinline)) PyObject *evaluate_beside_lines(PyThreadState *ts, ar_frame *frame,
                                                                 int throwing)
{
    bool was_on = ar_line_events_off(ts);
    const struct ar_node *caller = innermost_lined(ar_self);
    PyObject *result;

    ar_tree_seen_again(ar_self, AR_UNSEEN_LINES);
    result = evaluate(ts, frame, throwing);
    /* With greenlets another frame may be the caller now. */
    if (was_on && ar_self && innermost_lined(ar_self) == caller && ar_line_events_on(ts))
        ar_tree_unseen(ar_self, AR_UNSEEN_LINES);
    return result;
}

/* A generator that is resumed. */
static void go_on(struct ar_thread *t, ar_frame *frame)
{
    PyCodeObject *code = ar_frame_code(frame);

    ar_lines_go_on(t, code, (uint32_t)PyCode_Addr2Line(code, (int)ar_frame_units(frame) * 2));
}

static __attribute__((noinline)) PyObject *evaluate_lines(PyThreadState *ts, ar_frame *frame,
                                                          int throwing)
{
    bool is_on = ar_line_events_on(ts);

    if (is_on)
        ar_tree_unseen(ar_self, AR_UNSEEN_LINES);
    if (ar_frame_has_run(frame) && ar_self->line_call &&
        ar_self->line_call->node == ar_self->current)
        go_on(ar_self, frame);

    PyObject *result = next_evaluator(ts, frame, throwing);

    ar_line_events_off(ts);
    if (is_on && ar_self)
        ar_tree_seen_again(ar_self, AR_UNSEEN_LINES);
    return result;
}

static __attribute__((noinline)) PyObject *evaluate_slowly(PyThreadState *ts, ar_frame *frame,
                                                           int throwing)
{
    if (ar_self && ar_self->n_unseen & AR_UNSEEN_LINES)
        return evaluate_beside_lines(ts, frame, throwing);
    if (ar_self && ar_stack_pointer() < ar_self->stack_guard)
        return evaluate_deeply(ts, frame, throwing);

    struct ar_node *node = enter(ts, frame);
    PyObject *result = node && is_lined(node) ? evaluate_lines(ts, frame, throwing)
                                              : next_evaluator(ts, frame, throwing);

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

    if (__builtin_expect(!node || !function || ar_budget_asks(t, node->n_calls + 1) || t->n_unseen,
                         0))
        return evaluate_slowly(ts, frame, throwing);
    ar_tree_open(t, node, ar_tsc());

    PyObject *result = next_evaluator(ts, frame, throwing);

    t = ar_self;
    if (__builtin_expect(!t || t->current != node || t->n_unseen, 0))
        return leave(result, node);
    ar_tree_close(t, node, ar_tsc());
    return result;
}

/* What has been given up for the budget is not to cost more than the interpreter's way of asking us. */
static PyObject *evaluate(PyThreadState *ts, ar_frame *frame, int throwing)
{
    struct ar_thread *t = ar_self;

    if (__builtin_expect(!t || ar_stack_pointer() < t->stack_guard || t->python != ts, 0))
        return evaluate_slowly(ts, frame, throwing);

    uint32_t function = ar_function_known(ar_frame_code(frame));

    if (__builtin_expect(ar_function_is_left_out(function), 0))
        return t->n_unseen & AR_UNSEEN_LINES ? evaluate_slowly(ts, frame, throwing)
                                             : next_evaluator(ts, frame, throwing);
    return evaluate_known(ts, frame, throwing, t, function);
}

/* ---- life cycle ------------------------------------------------------------------------------ */

/*
 * Frames that we evaluate return to us all the same; others cost nothing meanwhile. Another tool that has put itself there
 * meanwhile does not know of us, and it stays: what it evaluates is lost, until functions are switched on without it.
 */
static void switched(bool on)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    _PyFrameEvalFunction from = on ? next_evaluator : evaluate;

    if (started && _PyInterpreterState_GetEvalFrameFunc(interpreter) == from) {
        _PyInterpreterState_SetEvalFrameFunc(interpreter, on ? evaluate : next_evaluator);
        is_out = !on;
    } else if (started && on && is_out) {
        ar_livemap_lost(AR_LOST_NODES, 1);
    }
}

static bool start(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();

    next_evaluator = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    if (next_evaluator != _PyEval_EvalFrameDefault) {
        PyErr_SetString(PyExc_RuntimeError, "another tool holds frame evaluation (PEP 523)");
        return false;
    }
    started = true;
    ar_functions_serve(switched, false);
    ar_lines_serve(ar_line_events_listen);
    _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
    return true;
}

/* If another tool has put itself in front of us it still calls us: then we only pass on. */
static void stop(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();

    started = false;
    if (_PyInterpreterState_GetEvalFrameFunc(interpreter) == evaluate)
        _PyInterpreterState_SetEvalFrameFunc(interpreter, next_evaluator);
}

const struct ar_engine ar_engine_native = {
    .name = "frame evaluation (PEP 523)",
    .start = start,
    .stop = stop,
    .thread_starts = ar_thread_guard_stack,
};
