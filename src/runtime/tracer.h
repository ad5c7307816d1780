// SPDX-License-Identifier: BSD-3-Clause
/*
 * tracer: every step of a thread through its tree, with its time, in the order in which it happened.
 *
 *     --trace                    from the start
 *     --trace-later              only when it is switched on
 *     --trace-limit 1G           of a process: what comes later is not recorded, and that is said
 *     --trace-last 60s           the last seconds only: older chunks are used again
 *     --trace-min 10us           calls that are shorter are left out, with all that they call
 *     --trace-depth 20           calls deeper than this are left out
 *     --trace-at 'solve*'        only while such a function or region runs
 *
 * The tree calls ar_tree_looked in front of each step while a trace is on, and that calls trace.c. So a recording without one pays nothing: the
 * test is the one for long gaps, whose limit becomes 0. Events lie in extents of the live file, format/trace_bytes.h says how;
 * each is published by itself, so that a kill loses none.
 *
 * It is switched on and off by the program, or from outside by a word in the live file's header. A thread notices at its next event.
 * The word is looked at in MPI calls, whenever the engine asks for the budget, and after 0.5 ms without an event. A child that is forked goes on
 * as its parent; one that is started by exec does what the root of its family was asked for last. Once no trace is on, and each thread
 * that took part has had an event, events pay nothing again.
 *
 * Threads: each writes its own chunks. Forks: the child has its own trace, which begins at the fork.
 */
#pragma once

#include "format/trace_bytes.h"
#include "runtime/sources.h"

#include <stdbool.h>

struct ar_thread;
struct ar_node;

extern const struct ar_source ar_source_trace;

/* The options have asked for a trace, now or later: what the messages in it need is counted from the start. */
extern bool ar_trace_is_expected;

/* The program is about to run: what came before is the profiler's own. */
void ar_trace_begin(void);
/* All threads, from their next event on. Under the GIL, or in a thread's own event. */
void ar_trace_switch(bool on);
bool ar_trace_is_on(void);
/* Does what the live file's header asks for, if that is new. Cheap. */
void ar_trace_poll(void);
/* A child that starts does what its family was asked for last; 0: it never was. Before ar_trace_begin. */
void ar_trace_follow(uint32_t wish);
/* In a forked child, once it has a live file and goes on in the frames of its parent. */
void ar_trace_forked(void);

/* The MPI call that the thread is in is kept, however short: messages refer to it. */
void ar_trace_keep(struct ar_thread *t);
/* What the call did that was left last. */
void ar_trace_message(struct ar_thread *t, const struct ar_trace_message *message);
void ar_trace_parameter(struct ar_thread *t, const struct ar_trace_parameter *parameter);
/* What a counter read at the step that the thread has just taken. */
void ar_trace_counter(struct ar_thread *t, const char *name, uint64_t value);

/*
 * The program takes back what it has recorded since a place in the trace of this thread. The number names the place; 0: there is no
 * trace, and taking back does nothing.
 */
uint64_t ar_trace_place(struct ar_thread *t);
void ar_trace_take_back(struct ar_thread *t, uint64_t place);
