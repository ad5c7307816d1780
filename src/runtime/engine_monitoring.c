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
 * nothing from then on. So is an event that a library in C has fired for an object of its own. While the
 * program has switched functions off, so is each of theirs, until all are switched on again (rest).
 */
#include "runtime/engine.h"

#include "runtime/budget.h"
#include "runtime/chosen_lines.h"
#include "runtime/function_switch.h"
#include "runtime/functions.h"
#include "runtime/monitoring.h"
#include "runtime/python_thread.h"

static struct ar_monitoring monitoring;
static PyObject *disable; /* sys.monitoring.DISABLE */

/* ---- functions are switched off --------------------------------------------------------------- */

/*
 * Switching events on again costs about a microsecond for each code object that runs next. A program that
 * switches functions off for a moment only, and often, is served better by events that do nothing.
 */
#define EVENTS_BEFORE_REST 1000

static uint32_t n_idle_events;
static bool has_rested;

/* Nothing is wanted of this event: may it be switched off? Not where that would go to other tools as well. */
static bool rest(void)
{
    if (++n_idle_events < EVENTS_BEFORE_REST)
        return false;
    if (n_idle_events == EVENTS_BEFORE_REST)
        has_rested = !ar_threads_are_paused() && ar_monitoring_is_alone(&monitoring);
    return has_rested && !ar_threads_are_paused();
}

static void switched(bool on)
{
    n_idle_events = 0;
    if (on && has_rested) {
        has_rested = false;
        ar_monitoring_switch_on_again();
    }
}

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

/* `listens`: is the event wanted the next time? */
static __attribute__((noinline)) bool is_unseen(struct ar_thread *t, ar_frame *frame, uint64_t now,
                                                bool *listens)
{
    *listens = true;
    if (t->n_unseen & AR_UNSEEN_BEGUN)
        ar_functions_enter(t, frame);

    bool is_paused = ar_tree_is_unseen(t, now);

    if (t->n_unseen & AR_UNSEEN_SWITCHES && ar_functions_skip_call(t, ar_frame_caller(frame))) {
        *listens = is_paused || !rest();
        return true;
    }
    if (is_paused)
        ar_tree_count_unseen(t);
    return is_paused;
}

static __attribute__((noinline)) bool is_unseen_return(struct ar_thread *t, PyCodeObject *code,
                                                       uint32_t function, uint64_t now,
                                                       bool *listens)
{
    *listens = true;
    if (!(t->n_unseen & AR_UNSEEN_SWITCHES))
        return ar_tree_is_unseen_return(t);

    ar_frame *frame = ar_frame_innermost(PyThreadState_GET());

    if (ar_functions_skip_return(t, frame)) {
        *listens = t->n_unseen & AR_UNSEEN_CALLS || !rest() || ar_functions_await(code, function);
        return true;
    }
    if (ar_tree_is_unseen_return(t))
        return true;
    if (function)
        ar_tree_leave_function(t, function, now);
    ar_functions_returned(t, frame);
    return true;
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
    bool listens;

    if (__builtin_expect(t->n_unseen, 0) && is_unseen(t, frame, now, &listens))
        return listens;

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
    bool listens;

    if (__builtin_expect(ar_function_is_left_out(function), 0))
        return false;
    if (__builtin_expect(t->n_unseen, 0) && is_unseen_return(t, code, function, now, &listens))
        return listens;
    if (__builtin_expect(function != 0, 1))
        ar_tree_leave_function(t, function, now);
    return true;
}

/* Functions are switched off, and nothing else is out of the ordinary. */
static bool is_idle(const struct ar_thread *t)
{
    const uint32_t other = AR_UNSEEN_CALLS | AR_UNSEEN_ASKED | AR_UNSEEN_SWITCHED;

    return t && (t->n_unseen & (AR_UNSEEN_FUNCTIONS | other)) == AR_UNSEEN_FUNCTIONS;
}

static PyObject *leave_idly(PyCodeObject *code)
{
    bool rests = rest() && !ar_functions_await(code, ar_function_known(code));

    return rests ? Py_NewRef(disable) : Py_NewRef(Py_None);
}

static __attribute__((noinline)) PyObject *enter_slowly(PyCodeObject *code, bool starts)
{
    if (is_idle(ar_self))
        return rest() ? Py_NewRef(disable) : Py_NewRef(Py_None);
    if (ar_self)
        ar_self->starts = starts;
    return enter(code) ? Py_NewRef(Py_None) : Py_NewRef(disable);
}

static __attribute__((noinline)) PyObject *leave_slowly(PyCodeObject *code)
{
    if (is_idle(ar_self) &&
        ar_functions_skip_return(ar_self, ar_frame_innermost(PyThreadState_GET())))
        return leave_idly(code);
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
    PyObject *answer = code ? enter_quickly(code, false) : Py_NewRef(disable);
    struct ar_thread *t = ar_self;

    if (code && t && t->line_call && t->line_call->node == t->current)
        ar_lines_go_on(t, code, (uint32_t)PyCode_Addr2Line(code, (int)PyLong_AsLong(args[1])));
    return answer;
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

/* ---- lines of chosen functions ---------------------------------------------------------------- */

static PyObject *on_line(PyObject *self, PyObject *const *args, size_t n_args, PyObject *names)
{
    (void)self, (void)n_args, (void)names;
    PyCodeObject *code = ar_monitoring_code(args);
    struct ar_thread *t = ar_self;

    if (code && t)
        ar_lines_come_to(t, code, (uint32_t)PyLong_AsLong(args[1]));
    Py_RETURN_NONE;
}

static void listen_to_lines(PyCodeObject *code)
{
    if (!ar_monitoring_watch_code(&monitoring, code))
        PyErr_Clear();
}

/* ---- life cycle ------------------------------------------------------------------------------ */

static const struct ar_monitoring_event of_python[] = {
    {"PY_START", on_start, NULL}, {"PY_RESUME", on_resume, NULL}, {"PY_RETURN", on_leave, NULL},
    {"PY_YIELD", on_leave, NULL}, {"PY_THROW", on_throw, NULL},   {"PY_UNWIND", on_unwind, NULL},
};
static const struct ar_monitoring_event of_lines = {"LINE", on_line, NULL};
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

    ar_functions_serve(switched, true);
    disable = module ? PyObject_GetAttrString(module, "DISABLE") : NULL;
    if (!disable || !take_id() ||
        !ar_monitoring_listen(&monitoring, of_python, N(of_python), NULL) ||
        !ar_monitoring_listen_locally(&monitoring, &of_lines))
        return false;
    ar_lines_serve(listen_to_lines);
    return ar_monitoring_watch(&monitoring);
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
