// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/function_switch.h"

#include "base/arena.h"
#include "runtime/functions.h"

#include <stdlib.h>
#include <string.h>

/* Both are compared only: the frame of a greenlet that was thrown away is listed longer than it exists. */
struct listed {
    ar_frame *frame;
    PyCodeObject *code;
};

struct ar_unrecorded {
    ar_frame *watched;
    struct listed *frames;
    size_t n, cap;
    ar_frame *lowest, *highest; /* no frame beyond these addresses is listed */
};

static struct {
    void (*engine_switched)(bool on);
    bool sees_returns;
    bool is_off, has_been_off;
} state;

void ar_functions_serve(void (*switched)(bool on), bool sees_returns)
{
    state.engine_switched = switched;
    state.sees_returns = sees_returns;
}

bool ar_functions_are_on(void)
{
    return !state.is_off;
}

bool ar_functions_have_been_off(void)
{
    return state.has_been_off;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static struct ar_unrecorded *list_of(struct ar_thread *t)
{
    if (!t->unrecorded)
        t->unrecorded = calloc(1, sizeof *t->unrecorded);
    return t->unrecorded;
}

/* What is never recorded fires no event either. */
static bool has_events(ar_frame *frame)
{
    return !ar_function_is_left_out(ar_function_of_frame(frame));
}

/* The innermost function that the tree is in, at that node. */
static const struct ar_node *open_function(const struct ar_node *node)
{
    while (node->flags & AR_MARKS_BETWEEN && node->parent_ref)
        node = ar_live_ptr(node->parent_ref);
    return node->parent_ref ? node : NULL;
}

/*
 * Is `frame` one of the first `n`? They are searched from `*at` inwards to the first one, then from the last one on. Frames
 * return from the last one on, unless greenlets take turns.
 */
static bool is_listed(const struct ar_unrecorded *list, size_t n, ar_frame *frame, size_t *at)
{
    size_t k = *at;

    if (!n || frame < list->lowest || frame > list->highest)
        return false;
    for (size_t i = 0; i < n; i++) {
        k = k ? k - 1 : n - 1;
        if (list->frames[k].frame == frame && list->frames[k].code == ar_frame_code(frame)) {
            *at = k;
            return true;
        }
    }
    return false;
}

/* false: out of memory. */
static bool append(struct ar_unrecorded *list, ar_frame *frame)
{
    if (ar_grow((void **)&list->frames, &list->cap, list->n + 1, sizeof *list->frames) < 0)
        return false;
    if (!list->n || frame < list->lowest)
        list->lowest = frame;
    if (!list->n || frame > list->highest)
        list->highest = frame;
    list->frames[list->n++] = (struct listed){frame, ar_frame_code(frame)};
    return true;
}

static void reverse_from(struct ar_unrecorded *list, size_t first)
{
    for (size_t i = first, k = list->n; i + 1 < k; i++) {
        struct listed swapped = list->frames[i];

        list->frames[i] = list->frames[--k];
        list->frames[k] = swapped;
    }
}

/*
 * Up to `n_wanted` frames from `frame` outwards, up to the one that is watched. Those that are listed already stay so, and
 * do not count.
 */
static void list_frames(struct ar_unrecorded *list, ar_frame *frame, size_t n_wanted)
{
    size_t n_before = list->n, at = n_before;

    for (; frame && frame != list->watched && list->n - n_before < n_wanted;
         frame = ar_frame_caller(frame))
        if (has_events(frame) && !is_listed(list, n_before, frame, &at) && !append(list, frame))
            break;
    reverse_from(list, n_before); /* the innermost last */
}

/*
 * Calls that a pause left out, or a full file, are counted and not listed, and while functions are off nothing is counted.
 * So the frames of these calls, from `frame` outwards, are listed now.
 */
static void list_counted(struct ar_thread *t, ar_frame *frame)
{
    bool has_unreturned =
        t->n_unreturned && open_function(t->current) == open_function(t->resumed_in);
    uint32_t n_wanted = (t->n_unseen & AR_UNSEEN_COUNT) + (has_unreturned ? t->n_unreturned : 0);

    if (!n_wanted)
        return;
    t->unrecorded->watched = NULL;
    list_frames(t->unrecorded, frame, n_wanted);
    ar_tree_seen_again(t, AR_UNSEEN_COUNT);
    if (has_unreturned) {
        t->n_unreturned = 0;
        ar_tree_seen_again(t, AR_UNSEEN_RETURNS);
    }
    if (t->unrecorded->n)
        ar_tree_unseen(t, AR_UNSEEN_BEGUN);
}

/* From now on the frame that the tree is in is watched, which is `frame` or outside it. */
static void watch(struct ar_thread *t, ar_frame *frame)
{
    const struct ar_node *node = open_function(t->current);
    struct ar_unrecorded *list = t->unrecorded;

    list_counted(t, frame);

    size_t at = list->n;

    while (node && frame &&
           (is_listed(list, list->n, frame, &at) ||
            ar_function_known(ar_frame_code(frame)) != (uint32_t)node->key))
        frame = ar_frame_caller(frame);
    list->watched = node ? frame : NULL;
}

static void drop_at(struct ar_thread *t, size_t at)
{
    struct ar_unrecorded *list = t->unrecorded;

    list->n--;
    memmove(&list->frames[at], &list->frames[at + 1], (list->n - at) * sizeof *list->frames);
    if (list->n == 0)
        ar_tree_seen_again(t, AR_UNSEEN_BEGUN);
}

static bool drop(struct ar_thread *t, ar_frame *frame)
{
    struct ar_unrecorded *list = t->unrecorded;
    size_t at = list ? list->n : 0;

    if (!list || !is_listed(list, list->n, frame, &at))
        return false;
    drop_at(t, at);
    return true;
}

/* ---- switching ------------------------------------------------------------------------------- */

static void go_off(struct ar_thread *t, ar_frame *frame)
{
    struct ar_unrecorded *list = state.sees_returns ? list_of(t) : NULL;

    ar_tree_unseen(t, AR_UNSEEN_FUNCTIONS);
    if (list)
        watch(t, frame);
}

static void go_on(struct ar_thread *t, ar_frame *frame)
{
    struct ar_unrecorded *list = state.sees_returns ? list_of(t) : NULL;

    ar_tree_seen_again(t, AR_UNSEEN_FUNCTIONS);
    if (!list)
        return;
    list_frames(list, frame, SIZE_MAX);
    if (list->n)
        ar_tree_unseen(t, AR_UNSEEN_BEGUN);
    list->watched = NULL;
}

/* `frame` is the innermost that is open, in the tree or not. */
static void follow(struct ar_thread *t, ar_frame *frame)
{
    bool was_off = t->n_unseen & AR_UNSEEN_FUNCTIONS;

    ar_tree_seen_again(t, AR_UNSEEN_SWITCHED);
    if (state.is_off && !was_off)
        go_off(t, frame);
    else if (!state.is_off && was_off)
        go_on(t, frame);
}

void ar_functions_switch(bool on)
{
    struct ar_thread *self = ar_self;

    if (state.is_off == !on)
        return;
    state.is_off = !on;
    ar_tree_has_holes = state.has_been_off = true;
    ar_threads_tell(AR_UNSEEN_SWITCHED, !on);
    if (state.engine_switched)
        state.engine_switched(on);
    if (self)
        follow(self, ar_frame_innermost(PyThreadState_GET()));
}

bool ar_functions_skip_call(struct ar_thread *t, ar_frame *caller)
{
    if (t->n_unseen & AR_UNSEEN_SWITCHED)
        follow(t, caller);
    return t->n_unseen & AR_UNSEEN_FUNCTIONS;
}

void ar_functions_enter(struct ar_thread *t, ar_frame *frame)
{
    const struct ar_unrecorded *list = t->unrecorded;

    if (!list || frame < list->lowest || frame > list->highest)
        return;
    for (size_t i = list->n; i--;)
        if (list->frames[i].frame == frame) /* of whatever code */
            drop_at(t, i);
}

bool ar_functions_skip_return(struct ar_thread *t, ar_frame *frame)
{
    if (t->n_unseen & AR_UNSEEN_SWITCHED)
        follow(t, frame);
    if (drop(t, frame))
        return true;
    if (!(t->n_unseen & AR_UNSEEN_FUNCTIONS))
        return false;
    return !t->unrecorded || t->unrecorded->watched != frame;
}

void ar_functions_returned(struct ar_thread *t, ar_frame *frame)
{
    if (t->n_unseen & AR_UNSEEN_FUNCTIONS && t->unrecorded)
        watch(t, ar_frame_caller(frame));
}

/* ---- which returns are awaited --------------------------------------------------------------- */

struct awaited {
    PyCodeObject *code;
    uint32_t number;
};

static bool is_awaited_by(const struct ar_thread *t, const void *what)
{
    const struct awaited *awaited = what;
    const struct ar_unrecorded *list = t->unrecorded;

    if (awaited->number && ar_tree_find_open(t, awaited->number))
        return true;
    for (size_t i = 0; list && i < list->n; i++)
        if (list->frames[i].code == awaited->code)
            return true;
    return false;
}

bool ar_functions_await(PyCodeObject *code, uint32_t number)
{
    const struct awaited awaited = {.code = code, .number = number};

    return ar_threads_any(is_awaited_by, &awaited);
}

/* ---- the program's functions ----------------------------------------------------------------- */

PyDoc_STRVAR(functions_on_doc, "functions_on()\n--\n\n"
                               "Record functions of Python and C again, in all threads.");

static PyObject *functions_on(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (ar_live_base)
        ar_functions_switch(true);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(functions_off_doc,
             "functions_off()\n--\n\n"
             "Record no functions of Python and C until functions_on(), in all threads. Regions,\n"
             "parameters and MPI calls are recorded all the same.");

static PyObject *functions_off(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    if (ar_live_base)
        ar_functions_switch(false);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(functions_are_on_doc,
             "functions_are_on()\n--\n\nAre functions of Python and C recorded?");

static PyObject *functions_are_on(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return PyBool_FromLong(ar_live_base && !state.is_off);
}

static PyMethodDef functions[] = {
    {"functions_on", functions_on, METH_NOARGS, functions_on_doc},
    {"functions_off", functions_off, METH_NOARGS, functions_off_doc},
    {"functions_are_on", functions_are_on, METH_NOARGS, functions_are_on_doc},
    {NULL, NULL, 0, NULL},
};

bool ar_function_switch_register(PyObject *module)
{
    return PyModule_AddFunctions(module, functions) == 0;
}

/* ---- the source ------------------------------------------------------------------------------ */

static void thread_ends(struct ar_thread *t)
{
    if (!t->unrecorded)
        return;
    free(t->unrecorded->frames);
    free(t->unrecorded);
    t->unrecorded = NULL;
}

const struct ar_source ar_source_function_switch = {
    .name = "function switch",
    .thread_ends = thread_ends,
};
