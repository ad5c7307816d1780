// SPDX-License-Identifier: BSD-3-Clause
/*
 * python_thread: this thread's tree, under the name that the program gave the thread.
 *
 * A thread of the threading module begins in Thread._bootstrap, so at its first event its first
 * argument is the Thread object. Its name is read as an attribute that is simply there: no code of
 * the program runs.
 *
 * Threads: under the GIL, by the thread itself.
 */
#pragma once

#include "runtime/pyframe.h"
#include "runtime/tree.h"

struct ar_thread *ar_python_thread_attach(ar_frame *frame);

/*
 * A Python function is being entered. The state that the thread has had so far may be gone only while
 * nothing is open; where it changes otherwise there are several, and none is kept.
 */
static inline void ar_python_state(struct ar_thread *t, PyThreadState *ts)
{
    if (__builtin_expect(t->python != ts, 0))
        t->python = t->current == t->root ? ts : NULL;
}

/* `frame` is the one being entered. NULL: this thread is not recorded. */
static inline struct ar_thread *ar_python_thread(ar_frame *frame)
{
    struct ar_thread *t = ar_self;

    return __builtin_expect(t != NULL, 1) ? t : ar_python_thread_attach(frame);
}
