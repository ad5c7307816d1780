// SPDX-License-Identifier: BSD-3-Clause
/*
 * sys.monitoring (PEP 669), CPython 3.12 and later.
 *
 * Events are per interpreter, so all threads are seen.
 *
 * Enter and leave are separate events here. A leave names the code that is left: where that is not
 * the innermost open function, returns were missed, and the tree is set right; where it is not open
 * at all, the recording began inside it. Calls that are not recorded (the file is full, recording is
 * paused) are counted, so that their returns close nothing.
 *
 * An event whose function is not recorded is switched off where it happened (DISABLE), and costs
 * nothing from then on. So is an event that a library in C has fired for an object of its own.
 */
#include "runtime/engine.h"

#include "runtime/budget.h"
#include "runtime/functions.h"
#include "runtime/monitoring.h"
#include "runtime/python_thread.h"

static struct ar_monitoring monitoring;
static PyObject *disable; /* sys.monitoring.DISABLE */

/* ---- events ---------------------------------------------------------------------------------- */

/* Cheap and frequent, and the budget is used up: this call is the last, and it is not counted. */
static __attribute__((noinline)) bool is_stopped(struct ar_thread *t, PyCodeObject *code,
                                                 struct ar_node *node, uint64_t now)
{
    uint32_t n_calls = ar_budget_due(t, node);

    if (!n_calls || !ar_budget_is_over(t, node, n_calls, now) || ar_tree_recurses(node))
        return false; /* of one that recurses, returns would be missed */
    ar_tree_leave(t, node, now);
    ar_function_stop(code, (uint32_t)node->key);
    return true;
}

static __attribute__((noinline)) bool is_unseen(struct ar_thread *t, uint64_t now)
{
    bool unseen = ar_tree_is_unseen(t, now);

    if (unseen)
        t->n_unseen++;
    return unseen;
}

/* false: the function is not recorded, neither now nor later. */
static bool enter(PyCodeObject *code)
{
    PyThreadState *ts = PyThreadState_GET();
    ar_frame *frame = ar_frame_innermost(ts);
    struct ar_thread *t = ar_python_thread(frame);

    if (__builtin_expect(!t || !frame, 0))
        return ar_live_base != NULL; /* a forked child, which is not to pay for us */
    ar_python_state(t, ts);

    uint32_t function = ar_function_known(code);

    if (__builtin_expect(function == 0, 0))
        function = ar_function_first_seen(code, ar_frame_globals(frame));
    if (__builtin_expect(ar_function_is_left_out(function), 0))
        return false;

    uint64_t place = ar_call_place(ar_frame_caller(frame), t->current);
    uint64_t now = ar_ticks();

    if (__builtin_expect(t->n_unseen, 0) && is_unseen(t, now))
        return true;

    struct ar_node *node = ar_tree_enter(t, place | function, now);

    if (__builtin_expect(!node, 0)) {
        ar_tree_count_unseen(t);
        return true;
    }
    if (__builtin_expect(is_stopped(t, code, node, now), 0))
        return false;
    if (__builtin_expect(t->n_unseen & AR_UNSEEN_RESUMING, 0))
        ar_tree_resume_regions(t, node, now);
    return true;
}

/* The same for the other end. */
static bool leave(PyCodeObject *code)
{
    uint64_t now = ar_ticks();
    struct ar_thread *t = ar_self;

    if (__builtin_expect(!t, 0))
        return ar_live_base != NULL;

    uint32_t function = ar_function_known(code);

    if (__builtin_expect(ar_function_is_left_out(function), 0))
        return false;
    if (__builtin_expect(t->n_unseen, 0) && ar_tree_is_unseen_return(t))
        return true;
    if (__builtin_expect(function != 0, 1))
        ar_tree_leave_function(t, function, now);
    return true;
}

static __attribute__((noinline)) PyObject *enter_slowly(PyCodeObject *code, bool starts)
{
    if (ar_self)
        ar_self->starts = starts;
    return enter(code) ? Py_NewRef(Py_None) : Py_NewRef(disable);
}

static __attribute__((noinline)) PyObject *leave_slowly(PyCodeObject *code)
{
    return leave(code) ? Py_NewRef(Py_None) : Py_NewRef(disable);
}

/* What happens nearly always, without a call: everything else is a slow function in its place. */
static inline PyObject *enter_quickly(PyCodeObject *code, bool starts)
{
    struct ar_thread *t = ar_self;

    if (__builtin_expect(!t || !ar_clock_is_tsc(), 0))
        return enter_slowly(code, starts);

    PyThreadState *ts = PyThreadState_GET();
    ar_frame *frame = ar_frame_innermost(ts);
    uint32_t function = ar_function_known(code);
    uint64_t place = frame ? ar_call_place_to_guess(ar_frame_caller(frame), t->current) : 0;
    struct ar_node *node = ar_tree_guess(t, place | function);

    if (__builtin_expect(!node || !function || ar_budget_asks(t, node->n_calls + 1) ||
                             t->n_unseen || t->python != ts,
                         0))
        return enter_slowly(code, starts);
    ar_tree_open(t, node, ar_tsc());
    Py_RETURN_NONE;
}

static PyObject *on_start(PyObject *self, PyObject *const *args, size_t n_args, PyObject *names)
{
    (void)self, (void)n_args, (void)names;
    PyCodeObject *code = ar_monitoring_code(args);

    return code ? enter_quickly(code, true) : Py_NewRef(disable);
}

static PyObject *on_resume(PyObject *self, PyObject *const *args, size_t n_args, PyObject *names)
{
    (void)self, (void)n_args, (void)names;
    PyCodeObject *code = ar_monitoring_code(args);

    return code ? enter_quickly(code, false) : Py_NewRef(disable);
}

static PyObject *on_leave(PyObject *self, PyObject *const *args, size_t n_args, PyObject *names)
{
    (void)self, (void)n_args, (void)names;
    PyCodeObject *code = ar_monitoring_code(args);
    struct ar_thread *t = ar_self;

    if (__builtin_expect(!code, 0))
        return Py_NewRef(disable);
    if (__builtin_expect(!t || t->n_unseen || !ar_clock_is_tsc(), 0))
        return leave_slowly(code);

    struct ar_node *node = t->current;

    if (__builtin_expect((uint32_t)node->key != ar_function_known(code) || node == t->root, 0))
        return leave_slowly(code);
    ar_tree_close(t, node, ar_tsc());
    Py_RETURN_NONE;
}

/* Exceptions are not tied to a place, and so cannot be switched off. */
static PyObject *on_throw(PyObject *self, PyObject *const *args, size_t n_args, PyObject *names)
{
    (void)self, (void)n_args, (void)names;
    ar_frame *frame = ar_frame_innermost(PyThreadState_GET());
    PyCodeObject *code = ar_monitoring_code(args);

    if (!code)
        Py_RETURN_NONE;
    if (ar_self && frame)
        ar_self->starts = !ar_frame_has_run(frame);
    enter(code);
    Py_RETURN_NONE;
}

static PyObject *on_unwind(PyObject *self, PyObject *const *args, size_t n_args, PyObject *names)
{
    (void)self, (void)n_args, (void)names;
    PyCodeObject *code = ar_monitoring_code(args);

    if (code)
        leave(code);
    Py_RETURN_NONE;
}

/* ---- life cycle ------------------------------------------------------------------------------ */

static const struct ar_monitoring_event of_python[] = {
    {"PY_START", on_start, NULL}, {"PY_RESUME", on_resume, NULL}, {"PY_RETURN", on_leave, NULL},
    {"PY_YIELD", on_leave, NULL}, {"PY_THROW", on_throw, NULL},   {"PY_UNWIND", on_unwind, NULL},
};
#define N(array) (sizeof(array) / sizeof *(array))

/*
 * Ids 0, 1, 2 and 5 are meant for debuggers, coverage, profilers such as cProfile, and optimisers.
 */
static bool take_id(void)
{
    if (ar_monitoring_take(&monitoring, (const int[]){4, 3}, 2, "allranks"))
        return true;
    if (PyErr_ExceptionMatches(PyExc_ValueError)) {
        PyErr_Clear();
        PyErr_SetString(PyExc_RuntimeError, "other tools hold the ids 3 and 4 of sys.monitoring");
    }
    return false;
}

static bool start(void)
{
    PyObject *module = PySys_GetObject("monitoring"); /* borrowed */

    disable = module ? PyObject_GetAttrString(module, "DISABLE") : NULL;
    return disable && take_id() &&
           ar_monitoring_listen(&monitoring, of_python, N(of_python), NULL) &&
           ar_monitoring_watch(&monitoring);
}

static void stop(void)
{
    ar_monitoring_free(&monitoring);
}

const struct ar_engine ar_engine_native = {
    .name = "sys.monitoring (PEP 669)",
    .start = start,
    .stop = stop,
};
