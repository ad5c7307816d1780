// SPDX-License-Identifier: BSD-3-Clause
/* Tables of where threads are, or were last: stacks, and the threads and frames of each. */
#include "run/cells.h"

#include <stdlib.h>

/* A thread or a frame of each stack, one after the other. */
static enum ar_status index_rows(struct ar_stack_row **rows, size_t *n_rows,
                                 const struct ar_stacks *s,
                                 size_t (*count)(const struct ar_stacks *, uint32_t stack))
{
    size_t n = 0;

    if (*rows)
        return AR_OK;
    for (uint32_t i = 0; i < s->n_groups; i++)
        n += count(s, i);
    *rows = malloc((n + 1) * sizeof **rows);
    for (uint32_t i = 0; *rows && i < s->n_groups; i++)
        for (uint32_t k = 0, of_stack = (uint32_t)count(s, i); k < of_stack; k++)
            (*rows)[(*n_rows)++] = (struct ar_stack_row){i, k};
    return *rows ? AR_OK : AR_NOMEM;
}

static size_t count_threads(const struct ar_stacks *s, uint32_t stack)
{
    return s->groups[stack].n_threads;
}

static size_t count_frames(const struct ar_stacks *s, uint32_t stack)
{
    return ar_stacks_frames(s, s->groups[stack].node, NULL);
}

/* The frame `depth` of a stack, from the outermost on. */
static struct ar_frame frame_at(const struct ar_stacks *s, struct ar_stack_row at)
{
    uint32_t node = s->groups[at.stack].node;

    for (size_t left = count_frames(s, at.stack) - at.item; left > 1; left--)
        node = s->nodes[node].parent;
    return s->nodes[node].frame;
}

/* ---- stacks ----------------------------------------------------------------------------------- */

#define STACK_COLUMNS(X)                                                                           \
    INTEGER(X, stack, "", "its number; main threads come first, then the larger groups", row + 1)  \
    TEXT(X, state, "of their processes, as in processes",                                          \
         plain_text(ar_process_state_name(group->state)))                                          \
    BOOLEAN(X, main, "whether they are main threads", group->is_main)                              \
    INTEGER(X, threads, "", "that are in it", group->n_threads)                                    \
    INTEGER(X, frames, "", "how deep it is", count_frames(&run->stacks, (uint32_t)row))            \
    INTEGER(X, still, "ns", "that none of them has begun or ended a call", group->still_ns)

static const struct ar_shown_column stack_columns[] = {STACK_COLUMNS(DESCRIBE)};

static union ar_cell stack_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { STACK_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_stack_group *group = &run->stacks.groups[row];
    union ar_cell cell = {0};

    switch (column) {
        STACK_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status prepare_stacks(const struct ar_subject *of)
{
    struct ar_run *run = of->run;

    return ar_run_stacks(run) ? AR_OK : AR_NOMEM;
}

static size_t n_stacks(const struct ar_subject *of)
{
    return of->run->stacks.n_groups;
}

const struct ar_shown_table ar_shown_table_stacks = {
    .name = "stacks",
    .key = "stack",
    .help = "where threads are that have not ended: those with the same stack together",
    .columns = stack_columns,
    .n_columns = N_COLUMNS(stack_columns),
    .prepare = prepare_stacks,
    .n_rows = n_stacks,
    .cell = stack_cell,
};

/* ---- threads ---------------------------------------------------------------------------------- */

#define THREAD_COLUMNS(X)                                                                          \
    INTEGER(X, stack, "", "number of the stack", at.stack + 1)                                     \
    INTEGER(X, process, "", "row of processes", location->process)                                 \
    OPTIONAL(X, rank, "", "in MPI_COMM_WORLD", rank_of(p, location->process))                      \
    INTEGER(X, thread, "", "number within the process; 0: the main thread", location->thread)      \
    OPTIONAL_TEXT(X, name, "name of the thread", text_of(p, location->name))                       \
    INTEGER(X, still, "ns",                                                                        \
            "that it has begun or ended no call: until now, or until its process "                 \
            "was last heard of",                                                                   \
            ar_stacks_still_ns(p, id))                                                             \
    INTEGER(X, latest_real, "ns", "its newest sign of life, since 1970", location->latest_real_ns)

static const struct ar_shown_column thread_columns[] = {THREAD_COLUMNS(DESCRIBE)};

static union ar_cell thread_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { THREAD_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_profile *p = run->forms[AR_FORM_RECORDED].p;
    struct ar_stack_row at = run->stack_threads[row];
    uint32_t id = run->stacks.threads[run->stacks.groups[at.stack].first + at.item];
    const struct ar_location *location = &p->locations[id];
    union ar_cell cell = {0};

    switch (column) {
        THREAD_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status prepare_threads(const struct ar_subject *of)
{
    struct ar_run *run = of->run;
    const struct ar_stacks *s = ar_run_stacks(run);

    return s ? index_rows(&run->stack_threads, &run->n_stack_threads, s, count_threads) : AR_NOMEM;
}

static size_t n_threads(const struct ar_subject *of)
{
    return of->run->n_stack_threads;
}

const struct ar_shown_table ar_shown_table_stack_threads = {
    .name = "stack_threads",
    .key = "stack, process, thread",
    .help = "threads of each stack",
    .columns = thread_columns,
    .n_columns = N_COLUMNS(thread_columns),
    .prepare = prepare_threads,
    .n_rows = n_threads,
    .cell = thread_cell,
};

/* ---- frames ----------------------------------------------------------------------------------- */

#define FRAME_COLUMNS(X)                                                                           \
    INTEGER(X, stack, "", "number of the stack", at.stack + 1)                                     \
    INTEGER(X, depth, "", "1: the outermost frame", at.item + 1)                                   \
    TEXT(X, function, "its name", text_of(p, f->name))                                             \
    TEXT(X, kind, "as in functions", plain_text(ar_function_kind_name(f->kind)))                   \
    OPTIONAL_TEXT(X, file, "where the function is defined", text_of(p, f->file))                   \
    INTEGER(X, line, "", "in that file: where it made the call that is open in it; 0: not known",  \
            frame.line)                                                                            \
    INTEGER(X, function_line, "", "where the function is defined; 0: not known", f->first_line)

static const struct ar_shown_column frame_columns[] = {FRAME_COLUMNS(DESCRIBE)};

static union ar_cell frame_cell(const struct ar_subject *of, size_t column, size_t row)
{
    enum { FRAME_COLUMNS(NUMBER) };
    const struct ar_run *run = of->run;
    const struct ar_profile *p = run->forms[AR_FORM_RECORDED].p;
    struct ar_stack_row at = run->stack_frames[row];
    struct ar_frame frame = frame_at(&run->stacks, at);
    const struct ar_function *f = &p->functions[frame.function];
    union ar_cell cell = {0};

    switch (column) {
        FRAME_COLUMNS(READ)
    }
    return cell;
}

static enum ar_status prepare_frames(const struct ar_subject *of)
{
    struct ar_run *run = of->run;
    const struct ar_stacks *s = ar_run_stacks(run);

    return s ? index_rows(&run->stack_frames, &run->n_stack_frames, s, count_frames) : AR_NOMEM;
}

static size_t n_frames(const struct ar_subject *of)
{
    return of->run->n_stack_frames;
}

const struct ar_shown_table ar_shown_table_stack_frames = {
    .name = "stack_frames",
    .key = "stack, depth",
    .help = "frames of each stack, from the outermost on",
    .columns = frame_columns,
    .n_columns = N_COLUMNS(frame_columns),
    .prepare = prepare_frames,
    .n_rows = n_frames,
    .cell = frame_cell,
};
