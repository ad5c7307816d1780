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

static PyObject *evaluate_unseen(PyThreadState *ts, ar_frame *frame, int throwing)
{
    ar_livemap_lost(AR_LOST_NODES, 1);
    _PyInterpreterState_SetEvalFrameFunc(ts->interp, next_evaluator);

    PyObject *result = next_evaluator(ts, frame, throwing);

    if (started)
        _PyInterpreterState_SetEvalFrameFunc(ts->interp, evaluate);
    return result;
}

static PyObject *evaluate(PyThreadState *ts, ar_frame *frame, int throwing)
{
    struct ar_thread *t = ar_python_thread(frame);
    char here;

    if (__builtin_expect(!t || ar_frame_makes_generator(frame), 0))
        return next_evaluator(ts, frame, throwing);
    if (__builtin_expect(&here < t->stack_guard, 0))
        return evaluate_unseen(ts, frame, throwing);

    uint32_t function = ar_function_of_code(ar_frame_code(frame));
    /* The frame is not linked to its caller yet: that is still the innermost one. */
    uint64_t key = (uint64_t)ar_frame_site(*ar_frame_top_slot(ts)) << 32 | function;

    if (__builtin_expect(function == AR_FUNCTION_LOST, 0))
        return next_evaluator(ts, frame, throwing);

    struct ar_node *node = ar_tree_enter(t, key, ar_ticks());
    PyObject *result = next_evaluator(ts, frame, throwing);

    /* The recording may have ended, or the process forked, while we were inside. */
    if (__builtin_expect(node != NULL && ar_self == t, 1))
        ar_tree_leave(t, node, ar_ticks());
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
