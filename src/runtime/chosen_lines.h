// SPDX-License-Identifier: BSD-3-Clause
/*
 * chosen_lines: how often each line of chosen functions ran, and for how long.
 *
 *     --lines 'solver.py:*'           these functions; patterns as --include has them
 *     @allranks.lines                 this one
 *
 * The tree tells when a chosen function is entered and left, the interpreter when it comes to another line: by local events of its code
 * from 3.12 on, by tracing inside its frames alone before (line_events.h). All other functions pay nothing.
 *
 * The time of a line lasts until the next line of the same call. It includes what the line calls, but in recursion the outer line
 * stands still while the function is open once more: so the lines of a function add up to its time. Rows of the table `lines`
 * have node, line, hits and time; in recursion the node is that of the outermost call.
 *
 * A generator that is resumed goes on in the line in which it was left: that is no hit. While a recording is paused, or functions are off,
 * no lines are counted.
 *
 * Threads: a thread's lines are its own. Forks: the child has its own rows; what is open goes on there.
 * Kills: a line is counted when it begins, its time when it ends.
 */
#pragma once

#include "runtime/pyframe.h"
#include "runtime/sources.h"
#include "runtime/tree.h"

#include <stdbool.h>

/* A call path of a chosen function, on one thread. */
struct ar_lined_path {
    uint64_t **rows; /* words in the live file, by line; NULL: not yet */
    uint32_t first_line, n_rows;
    const PyCodeObject *code; /* whose events the last call had; NULL: none yet */
};

/* A call that is open. */
struct ar_lined_call {
    const PyCodeObject *code; /* what its events come from; NULL: not known yet */
    struct ar_lined_path *path;
    uint64_t *row; /* of the line that it is in; NULL: of none yet */
    uint64_t since_ticks;
    struct ar_node *node;
    struct ar_node
        *owner;      /* of its rows: in recursion the outermost, else each depth had its own */
    uint32_t number; /* of its function, among those that were chosen */
    uint32_t outer;  /* the call of the same function around it, plus 1; 0: none */
};

/* Words of a row; the first has the node and the line. */
enum ar_lined_word { AR_LINED_OWNER, AR_LINED_HITS, AR_LINED_TICKS, AR_N_LINED_WORDS };

extern const struct ar_source ar_source_lines;

/* Are lines of that function wanted? Says so to the tree and to the interpreter. With the GIL; an exception may be set. */
void ar_lines_choose(PyCodeObject *code, uint32_t function);
/* The innermost call is of a generator that goes on in that line. */
void ar_lines_go_on(struct ar_thread *t, PyCodeObject *code, uint32_t line);
/* What does not happen nearly always. */
void ar_lines_come_slowly(struct ar_thread *t, PyCodeObject *code, uint32_t line);

/* NOLINTNEXTLINE(readability-non-const-parameter) */
static inline void ar_lined_add(uint64_t *word, uint64_t n)
{
    __atomic_store_n(word, *word + n, __ATOMIC_RELAXED);
}

static inline void ar_lined_pass_time(struct ar_lined_call *call, uint64_t now)
{
    if (__builtin_expect(call->row && now > call->since_ticks, 1))
        ar_lined_add(&call->row[AR_LINED_TICKS], now - call->since_ticks);
    call->since_ticks = now;
}

/* The thread `t` comes to a line of that code. */
static inline void ar_lines_come_to(struct ar_thread *t, PyCodeObject *code, uint32_t line)
{
    struct ar_lined_call *call = t->line_call;
    uint32_t i = call ? line - call->path->first_line : 0;

    if (__builtin_expect(!call || call->code != code || i >= call->path->n_rows ||
                             !call->path->rows[i] ||
                             t->n_unseen & (AR_UNSEEN_CALLS | AR_UNSEEN_FUNCTIONS),
                         0)) {
        ar_lines_come_slowly(t, code, line);
        return;
    }
    ar_lined_pass_time(call, ar_ticks());
    call->row = call->path->rows[i];
    ar_lined_add(&call->row[AR_LINED_HITS], 1);
}

/* By engines that can: how the interpreter is told. */
void ar_lines_serve(void (*listen)(PyCodeObject *code));
