// SPDX-License-Identifier: BSD-3-Clause
/*
 * Frame evaluation (PEP 523), CPython 3.9 to 3.11: the interpreter calls us in place of its
 * evaluator, once a call, resume or throw. Enter and leave are one C function, so exceptions and
 * yields need no events of their own.
 *
 * On 3.11 a custom evaluator makes each Python call recurse on the C stack, which plain 3.11 does
 * not: a depth of 100,000 would crash. With less than the guard left, the interpreter's own
 * evaluator is put back until the frame that did so returns; calls inside it are not recorded, and
 * are counted as lost.
 */
#include "runtime/engine.h"

#include "runtime/functions.h"
#include "runtime/python_thread.h"

const char *const ar_engine_name = "frame evaluation (PEP 523)";

static _PyFrameEvalFunction next_evaluator;
static bool started;

static PyObject *evaluate(PyThreadState *ts, ar_frame *frame, int throwing);

/* With whatever stood in front of us: another tool may have put itself there. */
static PyObject *evaluate_unseen(PyThreadState *ts, ar_frame *frame, int throwing)
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

/* The node of the call, or NULL where it is not recorded. */
static __attribute__((noinline)) struct ar_node *enter(PyThreadState *ts, ar_frame *frame)
{
    struct ar_thread *t = ar_python_thread(frame);

    if (__builtin_expect(!t || ar_frame_makes_generator(frame) || ar_call_is_refused(ts), 0))
        return NULL;

    uint32_t function = ar_function_of_code(ar_frame_code(frame));

    if (__builtin_expect(function == AR_FUNCTION_LOST, 0))
        return NULL;

    /* The frame is not linked to its caller yet: that is still the innermost one. */
    uint64_t place = ar_call_place(*ar_frame_top_slot(ts), t->current);

    return ar_tree_enter(t, place | function, ar_ticks());
}

/* The recording may have ended, or the process forked, since the node was entered. */
static __attribute__((noinline)) void leave(struct ar_node *node)
{
    struct ar_thread *t = ar_self;

    if (__builtin_expect(t != NULL, 1))
        ar_tree_leave(t, node, ar_ticks());
}

/*
 * Every byte of stack that this function uses is taken from the program's recursion: it keeps
 * nothing but the node, and leaves the rest to functions that have returned when it matters.
 */
static PyObject *evaluate(PyThreadState *ts, ar_frame *frame, int throwing)
{
    if (__builtin_expect(ar_self && (char *)__builtin_frame_address(0) < ar_self->stack_guard, 0))
        return evaluate_unseen(ts, frame, throwing);

    struct ar_node *node = enter(ts, frame);
    PyObject *result = next_evaluator(ts, frame, throwing);

    if (__builtin_expect(node != NULL, 1))
        leave(node);
    return result;
}

bool ar_engine_start(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();

    next_evaluator = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    started = true;
    _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
    return true;
}

/* If another tool has put itself in front of us it still calls us: then we only pass on. */
void ar_engine_stop(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();

    started = false;
    if (_PyInterpreterState_GetEvalFrameFunc(interpreter) == evaluate)
        _PyInterpreterState_SetEvalFrameFunc(interpreter, next_evaluator);
}
