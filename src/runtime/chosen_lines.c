// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/chosen_lines.h"

#include "base/arena.h"
#include "base/idmap.h"
#include "runtime/functions.h"
#include "runtime/measures.h"
#include "runtime/recording_options.h"
#include "runtime/tree.h"

#include <stdlib.h>
#include <string.h>

/* Of a function with more lines those beyond are left out. */
#define MOST_LINES 65536u
/* Chosen functions, and call paths of them on a thread: a program may make a million with exec. */
#define MOST_FUNCTIONS 131072u
#define MOST_PATHS 131072u

static const struct ar_column columns[] = {
    {.name = "node", .unit = "", .role = AR_ROLE_NODE, .flags = AR_COLUMN_KEY | AR_COLUMN_STEPS},
    {.name = "location", .unit = "", .role = AR_ROLE_LOCATION, .flags = AR_COLUMN_KEY},
    {.name = "line", .unit = "", .flags = AR_COLUMN_KEY},
    {.name = "hits", .unit = "1", .combine = AR_COMBINE_SUM},
    {.name = "time", .unit = "ns", .combine = AR_COMBINE_SUM},
};
static const struct ar_table_kind kind = {
    .name = "lines", .columns = columns, .n_columns = 5, .n_keys = 3};
static const struct ar_measure measure = {
    .form = AR_MEASURE_TABLE,
    .n_words = AR_N_LINED_WORDS,
    .n_fields = 5,
    .table = &kind,
    .fields = {{.word = AR_LINED_OWNER, .first_bit = 32, .n_bits = 32},
               {.n_bits = 0},
               {.word = AR_LINED_OWNER, .n_bits = 32},
               {.word = AR_LINED_HITS, .n_bits = 64},
               {.word = AR_LINED_TICKS, .n_bits = 64, .unit = AR_ROW_FIELD_TICKS}},
};

/* A chosen function on one thread. */
struct lined_function {
    uint32_t innermost;          /* its innermost open call, plus 1; 0: none */
    const struct ar_node *owner; /* of `path`, which was used last; NULL: none yet */
    struct ar_lined_path *path;
};

struct ar_lined {
    uint32_t n_forks;                 /* rows are of the file since then */
    uint32_t latest, latest_number;   /* function that was asked for last, and its number */
    struct lined_function *functions; /* by number */
    size_t n_functions, cap_functions;
    struct ar_idmap path_of; /* by ref of the node: its number plus 1 */
    struct ar_lined_path **paths;
    size_t n_paths, cap_paths;
    struct ar_lined_call *calls;
    size_t n_calls, cap_calls;
};

/* What is known of a chosen function, by number. */
struct chosen {
    uint32_t first_line;
};

static struct {
    uint32_t measure; /* 0: nothing is recorded */
    uint32_t n_forks;
    bool is_wanted; /* by an option */
    void (*listen)(PyCodeObject *code);
    struct ar_idmap number_of; /* by function: which of `chosen`, plus 1 */
    struct chosen *chosen;
    size_t n_chosen, cap_chosen;
} lines;

/* ---- rows ------------------------------------------------------------------------------------- */

static uint64_t *row_at(struct ar_thread *t, const struct ar_lined_call *call, uint32_t line)
{
    struct ar_lined_path *path = call->path;
    uint32_t i = line - path->first_line;

    if (i >= MOST_LINES) /* also lines in front of the first one, of code that was made by hand */
        return NULL;
    if (i >= path->n_rows) {
        uint32_t n = i + 16;
        uint64_t **rows = realloc(path->rows, n * sizeof(uint64_t *));

        if (!rows)
            return NULL;
        memset(rows + path->n_rows, 0, (n - path->n_rows) * sizeof *rows);
        path->rows = rows;
        path->n_rows = n;
    }
    if (!path->rows[i]) {
        uint64_t words[AR_N_LINED_WORDS] = {[AR_LINED_OWNER] = line};

        path->rows[i] = ar_measure_row(t, call->owner, lines.measure, words, AR_N_LINED_WORDS);
    }
    return path->rows[i];
}

/* NULL: it was not chosen, or there is no memory. */
static struct lined_function *find_function(struct ar_lined *l, uint32_t function, uint32_t *number)
{
    if (function != l->latest) {
        uint32_t found = ar_idmap_get(&lines.number_of, function, 0);

        if (!found ||
            ar_grow((void **)&l->functions, &l->cap_functions, found, sizeof *l->functions) < 0)
            return NULL;
        while (l->n_functions < found)
            l->functions[l->n_functions++] = (struct lined_function){0};
        l->latest = function;
        l->latest_number = found - 1;
    }
    *number = l->latest_number;
    return &l->functions[*number];
}

/* NULL: it is one too many, or there is no memory. */
static struct ar_lined_path *find_path(struct ar_lined *l, const struct ar_node *node,
                                       uint32_t number)
{
    uint32_t ref = ar_live_ref(node), known = ar_idmap_get(&l->path_of, ref, 0);
    struct ar_lined_path *path;

    if (known)
        return l->paths[known - 1];
    if (l->n_paths >= MOST_PATHS ||
        ar_grow((void **)&l->paths, &l->cap_paths, l->n_paths + 1, sizeof(void *)) < 0)
        return NULL;
    path = calloc(1, sizeof *path);
    if (!path || ar_idmap_put(&l->path_of, ref, (uint32_t)l->n_paths + 1) < 0) {
        free(path);
        return NULL;
    }
    path->first_line = lines.chosen[number].first_line;
    l->paths[l->n_paths++] = path;
    return path;
}

/* ---- calls ------------------------------------------------------------------------------------ */

static void set_innermost(struct ar_thread *t)
{
    struct ar_lined *l = t->lined;

    t->line_call = l->n_calls ? &l->calls[l->n_calls - 1] : NULL;
}

static struct ar_lined_path *path_of_owner(struct ar_lined *l, struct lined_function *f,
                                           const struct ar_node *owner, uint32_t number)
{
    if (f->owner != owner) {
        f->path = find_path(l, owner, number);
        f->owner = f->path ? owner : NULL;
    }
    return f->path;
}

static bool open_call(struct ar_lined *l, struct ar_node *node, uint64_t now)
{
    uint32_t number;
    struct lined_function *f = find_function(l, (uint32_t)node->key, &number);
    uint32_t outer = f ? f->innermost : 0;
    struct ar_node *owner = outer ? l->calls[outer - 1].owner : node;
    struct ar_lined_path *path = f ? path_of_owner(l, f, owner, number) : NULL;

    if (!path || ar_grow((void **)&l->calls, &l->cap_calls, l->n_calls + 1, sizeof *l->calls) < 0)
        return false;
    if (outer)
        ar_lined_pass_time(&l->calls[outer - 1], now);
    l->calls[l->n_calls++] = (struct ar_lined_call){
        .code = path->code,
        .path = path,
        .since_ticks = now,
        .node = node,
        .owner = owner,
        .number = number,
        .outer = outer,
    };
    f->innermost = (uint32_t)l->n_calls;
    return true;
}

static void enter(struct ar_thread *t, struct ar_node *node, uint64_t now)
{
    if (!open_call(t->lined, node, now))
        ar_livemap_lost(AR_LOST_ROWS, 1);
    set_innermost(t);
}

static void end_innermost(struct ar_lined *l, uint64_t now)
{
    struct ar_lined_call *call = &l->calls[--l->n_calls];

    ar_lined_pass_time(call, now);
    call->path->code = call->code;
    if (call->outer)
        l->calls[call->outer - 1].since_ticks = now;
    l->functions[call->number].innermost = call->outer;
}

/* What is open inside was missed: it ends now, too. One that is not open was not entered here. */
static void leave(struct ar_thread *t, const struct ar_node *node, uint64_t now)
{
    struct ar_lined *l = t->lined;
    size_t n = l->n_calls;

    while (n && l->calls[n - 1].node != node)
        n--;
    while (n && l->n_calls >= n)
        end_innermost(l, now);
    set_innermost(t);
}

/* ---- forks ------------------------------------------------------------------------------------ */

/* The child's file has no rows yet. Nodes that are open are where they were. */
static void forget_rows(struct ar_lined *l)
{
    for (size_t i = 0; i < l->n_paths; i++)
        if (l->paths[i]->n_rows)
            memset(l->paths[i]->rows, 0, l->paths[i]->n_rows * sizeof *l->paths[i]->rows);
    for (size_t i = 0; i < l->n_calls; i++)
        l->calls[i].row = NULL;
    l->n_forks = lines.n_forks;
}

static struct ar_lined *lined_of(struct ar_thread *t)
{
    if (!t->lined) {
        t->lined = calloc(1, sizeof *t->lined);
        if (t->lined)
            t->lined->n_forks = lines.n_forks;
    } else if (t->lined->n_forks != lines.n_forks) {
        forget_rows(t->lined);
    }
    return t->lined;
}

/* ---- events ----------------------------------------------------------------------------------- */

/* Of a node that is about to be opened (`ticks` is not negative), or closed. */
static void opens_or_closes(struct ar_thread *t, struct ar_node *node)
{
    struct ar_lined *l = lined_of(t);

    if (l && node->ticks >= 0)
        enter(t, node, ar_ticks());
    else if (l)
        leave(t, node, ar_ticks());
}

/* After a fork it is asked for anew. NULL: this call of the code is not recorded. */
static struct ar_lined_call *innermost_of(struct ar_thread *t, PyCodeObject *code)
{
    struct ar_lined_call *call;

    if (!t->lined || !lined_of(t))
        return NULL;
    set_innermost(t);
    call = t->line_call;
    if (!call || (uint32_t)call->node->key != ar_function_known(code))
        return NULL;
    call->code = code;
    return call;
}

void ar_lines_come_slowly(struct ar_thread *t, PyCodeObject *code, uint32_t line)
{
    uint64_t now = ar_ticks();
    struct ar_lined_call *call = innermost_of(t, code);

    if (!call)
        return;
    ar_lined_pass_time(call, now);
    call->row =
        t->n_unseen & (AR_UNSEEN_CALLS | AR_UNSEEN_FUNCTIONS) ? NULL : row_at(t, call, line);
    if (call->row)
        ar_lined_add(&call->row[AR_LINED_HITS], 1);
}

void ar_lines_go_on(struct ar_thread *t, PyCodeObject *code, uint32_t line)
{
    struct ar_lined_call *call = innermost_of(t, code);

    if (call)
        call->row = row_at(t, call, line);
}

/* ---- which functions -------------------------------------------------------------------------- */

void ar_lines_serve(void (*listen)(PyCodeObject *code))
{
    lines.listen = listen;
}

static bool begin(void)
{
    if (!lines.measure)
        lines.measure = ar_measure_begin(&measure);
    if (lines.measure)
        ar_tree_lines = opens_or_closes;
    return lines.measure;
}

/* Both tables grow before the function has a node. false: it is one too many, or there is no memory. */
static bool note(PyCodeObject *code, uint32_t function)
{
    if (ar_idmap_get(&lines.number_of, function, 0))
        return true;
    if (lines.n_chosen >= MOST_FUNCTIONS ||
        ar_grow((void **)&lines.chosen, &lines.cap_chosen, lines.n_chosen + 1,
                sizeof *lines.chosen) < 0 ||
        ar_idmap_put(&lines.number_of, function, (uint32_t)lines.n_chosen + 1) < 0)
        return false;
    lines.chosen[lines.n_chosen++] = (struct chosen){.first_line = (uint32_t)code->co_firstlineno};
    return true;
}

void ar_lines_choose(PyCodeObject *code, uint32_t function)
{
    if (!lines.listen || !begin())
        return;
    if (!note(code, function)) {
        ar_livemap_lost(AR_LOST_ROWS, 1);
        return;
    }
    ar_tree_mark(function, AR_MARK_LINED);
    lines.listen(code);
}

/* ---- the source ------------------------------------------------------------------------------- */

static void thread_ends(struct ar_thread *t)
{
    struct ar_lined *l = t->lined;

    if (!l)
        return;
    for (size_t i = 0; i < l->n_paths; i++) {
        free(l->paths[i]->rows);
        free(l->paths[i]);
    }
    free(l->paths);
    free(l->calls);
    ar_idmap_free(&l->path_of);
    free(l->functions);
    free(l);
    t->lined = NULL;
    t->line_call = NULL;
}

static enum ar_status start(const struct ar_options *options, struct ar_error *err)
{
    (void)err;
    lines.is_wanted = options->lines.n;
    return AR_OK;
}

static void describe(ar_fact_fn *fact)
{
    if (lines.is_wanted && !lines.listen)
        fact("lines", "not counted: another tool holds the interpreter's hook");
}

static void fork_lines(enum ar_fork_step step)
{
    lines.n_forks += step == AR_FORK_CHILD;
}

const struct ar_source ar_source_lines = {
    .name = "lines",
    .start = start,
    .describe = describe,
    .thread_ends = thread_ends,
    .fork = fork_lines,
};
