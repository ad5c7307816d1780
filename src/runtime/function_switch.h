// SPDX-License-Identifier: BSD-3-Clause
/*
 * function_switch: whether functions of Python and C are recorded. Regions (as blocks: one that
 * decorates a function is seen as that function is), parameters and MPI calls are in any case; for a pause, in which nothing is, see ar_threads_pause.
 *
 *     allranks.functions_off()     a thread follows at its next event: AR_UNSEEN_SWITCHED
 *     allranks.functions_on()
 *
 * A function that is open when it is switched off is closed when it returns, on or off. Where the engine calls functions itself,
 * as frame evaluation does, that needs nothing, and its hook is taken out while it is off. Engines that get an event for each return have to know
 * whether the frame that returns is a recorded one. So a thread has
 *
 *     watched    while it is off: the innermost frame that is recorded. All other returns mean nothing
 *     frames     the frames that are open and not recorded, the innermost last. Once it is on again, their returns mean nothing.
 *                Greenlets return in any order, or never: then another frame may be at the address of a listed one
 *
 * While it is off, calls in a pause are not counted: their returns mean nothing either.
 *
 * Threads: under the GIL. A recording in which nothing is switched pays nothing.
 */
#pragma once

#include "runtime/pyframe.h"
#include "runtime/sources.h"
#include "runtime/tree.h"

extern const struct ar_source ar_source_function_switch; /* frees what threads have */

/* Engines: their own part of it, and whether each return is an event. */
void ar_functions_serve(void (*switched)(bool on), bool sees_returns);

void ar_functions_switch(bool on);
bool ar_functions_are_on(void);
/* Have they ever been off? Then functions are open that have not been seen. */
bool ar_functions_have_been_off(void);

/* With n_unseen & AR_UNSEEN_SWITCHES. A function is called from `caller`: is it left out? */
bool ar_functions_skip_call(struct ar_thread *t, ar_frame *caller);
/* With n_unseen & AR_UNSEEN_BEGUN. The function of that frame is entered: one that is listed at its address is gone. */
void ar_functions_enter(struct ar_thread *t, ar_frame *frame);
/* The function of that frame returns: is it one that was not recorded? */
bool ar_functions_skip_return(struct ar_thread *t, ar_frame *frame);
/* It was recorded, and has been closed. */
void ar_functions_returned(struct ar_thread *t, ar_frame *frame);
/* May a frame of that code, with that number, return that is recorded, or in the list? In any thread. */
bool ar_functions_await(PyCodeObject *code, uint32_t number);

/* Adds functions_on, functions_off and functions_are_on. Returns false with an exception set. */
bool ar_function_switch_register(PyObject *module);
