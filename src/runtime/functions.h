// SPDX-License-Identifier: BSD-3-Clause
/*
 * functions: the number of a code object, and of anything else that has a name.
 *
 * A number is given at first sight, when name, file and line table are copied into the live file,
 * and kept in the code object's co_extra, which dies with it: an address that comes again is never
 * taken for the old function. Equal functions get equal numbers, so that a program which makes the
 * same function a million times is recorded once.
 *
 * Threads: ar_function_of_code under the GIL; ar_function_named anywhere.
 */
#pragma once

#include "base/hidden.h"
#include "runtime/forking.h"
#include "runtime/pyframe.h"
#include "runtime/tree.h"

#include <stdbool.h>
#include <stdint.h>

/* Numbers of functions that are not recorded: their time is their caller's. */
#define AR_FUNCTION_LOST UINT32_MAX
#define AR_FUNCTION_IMPORTS                                                                        \
    (UINT32_MAX - 1) /* inside the import system: see ar_filters_hide_imports */
#define AR_FUNCTION_STOPPED (UINT32_MAX - 2) /* given up for the budget */

/* The file name of what we run ourselves, to measure what we cost. */
#define AR_OWN_FILE "<allranks>"

/*
 * Functions in files below `own_directory` are ours and are not recorded. Returns false with a
 * Python exception set.
 */
bool ar_functions_init(const char *own_directory);
void ar_functions_forking(enum ar_fork_step step);
/* `globals` may be NULL: then filters by module do not see it. */
uint32_t ar_function_first_seen(PyCodeObject *code, PyObject *globals);
/* A name alone; 0 when there was no room. */
uint32_t ar_function_named(uint32_t kind, const char *name);
/* From now on calls of that code are calls of a region, too. */
void ar_function_is_region(PyCodeObject *code, PyObject *globals, uint32_t region);
/* From now on its lines are counted; it is another function to the tree, with call paths of its own. */
void ar_function_has_lines(PyCodeObject *code, PyObject *globals);
/* From now on calls of that code are its caller's. */
void ar_function_stop(PyCodeObject *code, uint32_t number);
/* Not all calls of that function are recorded. */
void ar_function_is_partial(uint32_t number);

extern AR_HIDDEN Py_ssize_t ar_code_extra_index;

/* The interpreter's own layout of co_extra, checked against its API in ar_functions_init. */
struct ar_code_extra {
    Py_ssize_t n;
    void *items[];
};

/* 0: not seen yet. Without the GIL too, for code that this thread is in. */
static inline uint32_t ar_function_known(PyCodeObject *code)
{
    const struct ar_code_extra *extra = code->co_extra;

    if (__builtin_expect(extra == NULL || extra->n <= ar_code_extra_index, 0))
        return 0;
    return (uint32_t)(uintptr_t)extra->items[ar_code_extra_index];
}

static inline bool ar_function_is_left_out(uint32_t number)
{
    return number >= AR_FUNCTION_STOPPED;
}

/* Code that ran before the recording is ours, and not known. */
static inline bool ar_function_is_recorded(PyCodeObject *code)
{
    uint32_t number = ar_function_known(code);

    return number != 0 && !ar_function_is_left_out(number);
}

static inline uint32_t ar_function_of_frame(ar_frame *frame)
{
    PyCodeObject *code = ar_frame_code(frame);
    uint32_t number = ar_function_known(code);

    return __builtin_expect(number != 0, 1) ? number
                                            : ar_function_first_seen(code, ar_frame_globals(frame));
}

/*
 * Where calls went unrecorded the caller may not be the function that `current` is in. Then the place is
 * that of the call to the first function that is not recorded; 0: that is not to be found.
 */
uint64_t ar_call_place_in_holes(ar_frame *caller, const struct ar_node *current);

/*
 * Where in `caller` a call comes from, for the key of a node below `current`. The key to guess with takes less time:
 * inside an import, which is no hole, it is that of no node, or of the one that is meant.
 */
static inline uint64_t ar_call_place_to_guess(ar_frame *caller, const struct ar_node *current)
{
    if (__builtin_expect(ar_tree_has_holes, 0))
        return ar_call_place_in_holes(caller, current);
    return (uint64_t)ar_frame_site(caller) << 32;
}

static inline uint64_t ar_call_place(ar_frame *caller, const struct ar_node *current)
{
    if (caller && ar_function_is_left_out(ar_function_known(ar_frame_code(caller))))
        return ar_call_place_in_holes(caller, current);
    return ar_call_place_to_guess(caller, current);
}
