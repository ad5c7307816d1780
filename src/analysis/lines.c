// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/lines.h"

#include "base/arena.h"
#include "base/idmap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum part { OF_TIME, OF_OWN, OF_PYTHON, OF_C, OF_MPI, N_PARTS };
/* Where a value comes from. */
enum source { FROM_NODE, FROM_STRETCH, FROM_LINE };

/* Adds to, or takes from, one part of a row, what a node or a row of a table has. */
struct piece {
    uint32_t row;
    uint8_t part, source;
    bool is_taken;
    uint32_t from; /* node, or row of the table */
};

struct building {
    const struct ar_profile *p;
    const struct ar_totals *t;
    const bool *only; /* by function */
    struct ar_lines *out;
    size_t cap_rows;
    struct ar_idmap row_of; /* hash of function and lines, stepped on by one, to row plus 1 */
    struct piece *pieces;
    size_t n_pieces, cap_pieces;
    uint32_t *holder;      /* by node: the Python node whose lines it runs; AR_NO_ID: none */
    uint32_t *row_by_call; /* by node: the row that its time is added to; AR_NO_ID: none */
    uint32_t *mpi_of_row;  /* by row: the MPI call that was added last */
    uint32_t *longest; /* by function: the row of the counted line with most time; AR_NO_ID: none */
    double *untimed;   /* by node: what C functions took in it that were not timed at each call */
    bool *is_counted;  /* by function: its lines were counted */
    int64_t *by_root[N_PARTS];
};

static const struct ar_function *function_of(const struct ar_profile *p, uint32_t node)
{
    return &p->functions[p->nodes[node].function];
}

static bool is_wanted(const struct building *b, uint32_t function)
{
    return !b->only || b->only[function];
}

/* ---- rows ------------------------------------------------------------------------------------- */

static uint64_t hash_of(uint32_t function, uint32_t first, uint32_t last)
{
    return ar_pair_key(function, (uint64_t)first << 32 | last) | 1;
}

static enum ar_status find_row(struct building *b, uint32_t function, uint32_t first, uint32_t last,
                               uint32_t *row)
{
    uint64_t key = hash_of(function, first, last);

    for (uint32_t known; (known = ar_idmap_get(&b->row_of, key, 0)); key += 2) {
        const struct ar_line *line = &b->out->rows[known - 1];

        *row = known - 1;
        if (line->function == function && line->first == first && line->last == last)
            return AR_OK;
    }
    if (ar_grow((void **)&b->out->rows, &b->cap_rows, b->out->n + 1, sizeof *b->out->rows) < 0 ||
        ar_idmap_put(&b->row_of, key, (uint32_t)b->out->n + 1) < 0)
        return AR_NOMEM;
    *row = (uint32_t)b->out->n;
    b->out->rows[b->out->n++] =
        (struct ar_line){.function = function, .first = first, .last = last};
    return AR_OK;
}

static enum ar_status add_piece(struct building *b, uint32_t row, enum part part,
                                enum source source, bool is_taken, uint32_t from)
{
    if (ar_grow((void **)&b->pieces, &b->cap_pieces, b->n_pieces + 1, sizeof *b->pieces) < 0)
        return AR_NOMEM;
    b->pieces[b->n_pieces++] = (struct piece){row, (uint8_t)part, (uint8_t)source, is_taken, from};
    return AR_OK;
}

/* ---- what was measured of lines --------------------------------------------------------------- */

/* Regions run lines of the function that they are in. */
static void find_holders(struct building *b)
{
    for (uint32_t node = 0; node < b->p->n_nodes; node++) {
        uint32_t kind = function_of(b->p, node)->kind, parent = b->p->nodes[node].parent;

        b->holder[node] = kind == AR_FUNCTION_PYTHON                         ? node
                          : kind == AR_FUNCTION_REGION && parent != AR_NO_ID ? b->holder[parent]
                                                                             : AR_NO_ID;
    }
}

static enum ar_status add_counted(struct building *b, uint32_t i)
{
    const struct ar_counted_line *counted = ar_counted_lines_at(b->p, i);
    uint32_t holder = b->holder[counted->node], row;

    if (holder == AR_NO_ID)
        return AR_OK;
    b->out->has_counted = true;
    b->is_counted[b->p->nodes[holder].function] = true;
    if (!is_wanted(b, b->p->nodes[holder].function))
        return AR_OK;
    if (find_row(b, b->p->nodes[holder].function, counted->line, counted->line, &row) < 0)
        return AR_NOMEM;
    b->out->rows[row].hits += counted->hits;
    return add_piece(b, row, OF_TIME, FROM_LINE, false, i);
}

/* A loop leads back to a line further up: the lines between are the same. */
static enum ar_status add_stretch(struct building *b, uint32_t i)
{
    const struct ar_line_stretch *s = ar_stretches_at(b->p, i);
    uint32_t holder = b->holder[s->node], function, first = s->from_line, last = s->to_line, row;

    if (holder == AR_NO_ID)
        return AR_OK;
    function = b->p->nodes[holder].function;
    b->out->has_stretches = true;
    if (!is_wanted(b, function) || b->is_counted[function])
        return AR_OK;
    if (b->p->functions[b->p->nodes[s->node].function].kind == AR_FUNCTION_REGION &&
        !(first && last))
        return AR_OK; /* where a region begins or ends is no line of a call */
    if (last && first > last) {
        first = s->to_line;
        last = s->from_line;
    }
    if (find_row(b, function, first, last, &row) < 0)
        return AR_NOMEM;
    return add_piece(b, row, OF_OWN, FROM_STRETCH, false, i);
}

static double ns_of(const struct building *b, const struct piece *piece)
{
    double ns = piece->source == FROM_NODE ? b->t->time[piece->from].sum
                                           : (double)ar_counted_lines_at(b->p, piece->from)->ns;

    return piece->part == OF_TIME ? ns : piece->part == OF_MPI ? 0 : piece->is_taken ? ns : -ns;
}

/* By function, of its counted lines: the one with most time that is in none of its calls. */
static enum ar_status find_longest(struct building *b)
{
    double *ns = calloc(b->out->n + 1, sizeof *ns);

    for (size_t i = 0; ns && i < b->n_pieces; i++)
        ns[b->pieces[i].row] += ns_of(b, &b->pieces[i]);
    for (uint32_t row = 0; ns && row < b->out->n; row++) {
        uint32_t *longest = &b->longest[b->out->rows[row].function];

        if (b->is_counted[b->out->rows[row].function] && ns[row] > 0 &&
            (*longest == AR_NO_ID || ns[row] > ns[*longest]))
            *longest = row;
    }
    free(ns);
    return ns ? AR_OK : AR_NOMEM;
}

static enum ar_status add_all_counted(struct building *b)
{
    enum ar_status status = AR_OK;

    for (uint32_t i = 0; i < b->p->n_counted_lines && status == AR_OK; i++)
        status = add_counted(b, i);
    return status;
}

/* They are in the time between two events, and have a time of their own. */
static enum ar_status find_untimed(struct building *b)
{
    b->untimed = calloc(b->p->n_nodes + 1, sizeof *b->untimed);
    for (uint32_t node = 0; b->untimed && node < b->p->n_nodes; node++)
        if (function_of(b->p, node)->kind == AR_FUNCTION_BUILTIN &&
            b->p->nodes[node].parent != AR_NO_ID &&
            b->t->time[node].doubt.marks & AR_MARK_ESTIMATED)
            b->untimed[b->p->nodes[node].parent] += b->t->time[node].sum;
    return b->untimed ? AR_OK : AR_NOMEM;
}

static enum ar_status add_stretches(struct building *b)
{
    enum ar_status status = find_untimed(b);

    for (uint32_t i = 0; i < b->p->n_stretches && status == AR_OK; i++)
        status = add_stretch(b, i);
    return status;
}

/* ---- calls ------------------------------------------------------------------------------------ */

/* What a call is to the line that makes it; N_PARTS: nothing. */
static enum part part_of(uint32_t kind)
{
    switch (kind) {
    case AR_FUNCTION_PYTHON:
    case AR_FUNCTION_IMPORT:
        return OF_PYTHON;
    case AR_FUNCTION_BUILTIN:
    case AR_FUNCTION_OPERATION:
    case AR_FUNCTION_MPI:
        return OF_C;
    default:
        return N_PARTS;
    }
}

/*
 * The row of a call; AR_NO_ID: none. In recursion lines of calls are not recorded. Where they are counted, the call is taken for one on
 * the line with most time that is not explained: it contains the call.
 */
static enum ar_status row_of_call(struct building *b, uint32_t function, uint32_t node,
                                  uint32_t *row)
{
    uint32_t line = b->p->nodes[node].line;

    if (line)
        return find_row(b, function, line, line, row);
    *row = b->longest[function];
    if (*row != AR_NO_ID)
        b->out->rows[*row].is_guessed = true;
    return AR_OK;
}

/* A call whose line is guessed, once those that are known explain what they do. */
static bool is_late(const struct building *b, uint32_t node)
{
    return !b->p->nodes[node].line && function_of(b->p, node)->kind == AR_FUNCTION_PYTHON;
}

static enum ar_status add_call(struct building *b, uint32_t node)
{
    const struct ar_profile_node *n = &b->p->nodes[node];
    uint32_t holder = n->parent == AR_NO_ID ? AR_NO_ID : b->holder[n->parent], row;
    enum part part = part_of(function_of(b->p, node)->kind);

    if (holder == AR_NO_ID || part == N_PARTS || !is_wanted(b, b->p->nodes[holder].function))
        return AR_OK;
    if (row_of_call(b, b->p->nodes[holder].function, node, &row) < 0)
        return AR_NOMEM;
    if (row == AR_NO_ID)
        return AR_OK;
    if (add_piece(b, row, part, FROM_NODE, false, node) < 0)
        return AR_NOMEM;
    b->row_by_call[node] = row;
    b->out->rows[row].n_calls += b->t->n_calls[node];
    return AR_OK;
}

/* What a function in C calls back is Python again. */
static enum ar_status take_callback(struct building *b, uint32_t node)
{
    const struct ar_profile_node *nodes = b->p->nodes;

    for (uint32_t at = nodes[node].parent; at != AR_NO_ID; at = nodes[at].parent) {
        uint32_t row = b->row_by_call[at];

        if (function_of(b->p, at)->kind == AR_FUNCTION_PYTHON)
            return AR_OK;
        if (row == AR_NO_ID)
            continue;
        if (add_piece(b, row, OF_C, FROM_NODE, true, node) < 0)
            return AR_NOMEM;
        return add_piece(b, row, OF_PYTHON, FROM_NODE, false, node);
    }
    return AR_OK;
}

/* For each line above that has led to it; for each once. */
static enum ar_status add_mpi(struct building *b, uint32_t node, bool late)
{
    for (uint32_t at = node; at != AR_NO_ID; at = b->p->nodes[at].parent) {
        uint32_t row = b->row_by_call[at];

        if (row == AR_NO_ID || b->mpi_of_row[row] == node)
            continue;
        b->mpi_of_row[row] = node;
        if (is_late(b, at) == late && add_piece(b, row, OF_MPI, FROM_NODE, false, node) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

/* The way from the root to a node. */
struct path {
    uint32_t *open;   /* by function: its innermost node on the way; AR_NO_ID: none */
    uint32_t *around; /* by node on the way: what `open` had before */
    uint32_t *call;   /* by Python node on the way: what it calls there */
    bool late;        /* only calls whose lines are guessed; otherwise only the others */
};

/*
 * A function that is open above, too: its time is not that of the line there that has led to it. Whatever was called on that line, it is
 * time in Python by now, see take_callback.
 */
static enum ar_status take_recursion(struct building *b, const struct path *path, uint32_t node)
{
    uint32_t outer = path->open[b->p->nodes[node].function];
    uint32_t call = outer == AR_NO_ID ? AR_NO_ID : path->call[outer];
    uint32_t row = call == AR_NO_ID ? AR_NO_ID : b->row_by_call[call];

    return row == AR_NO_ID || is_late(b, call) != path->late
               ? AR_OK
               : add_piece(b, row, OF_PYTHON, FROM_NODE, true, node);
}

static enum ar_status step_in(struct building *b, struct path *path, uint32_t node)
{
    const struct ar_profile_node *n = &b->p->nodes[node];
    uint32_t kind = function_of(b->p, node)->kind;
    uint32_t holder = n->parent == AR_NO_ID ? AR_NO_ID : b->holder[n->parent];
    enum ar_status status = AR_OK;

    if (holder != AR_NO_ID && kind != AR_FUNCTION_REGION)
        path->call[holder] = node;
    if (kind == AR_FUNCTION_MPI)
        return add_mpi(b, node, path->late);
    if (kind != AR_FUNCTION_PYTHON)
        return AR_OK;
    status = path->late ? AR_OK : take_callback(b, node);
    if (status == AR_OK && is_wanted(b, n->function))
        status = take_recursion(b, path, node);
    path->around[node] = path->open[n->function];
    path->open[n->function] = node;
    return status;
}

static void step_out(const struct building *b, struct path *path, uint32_t node)
{
    if (function_of(b->p, node)->kind == AR_FUNCTION_PYTHON)
        path->open[b->p->nodes[node].function] = path->around[node];
}

/* Depth first, without recursion: trees are as deep as programs recurse. */
static enum ar_status walk(struct building *b, struct path *path)
{
    enum ar_status status = b->p->n_nodes ? step_in(b, path, 0) : AR_OK;
    uint32_t node = 0;

    while (b->p->n_nodes && status == AR_OK) {
        uint32_t next = b->t->first_child[node];

        while (next == AR_NO_ID && node != 0) {
            step_out(b, path, node);
            next = b->t->next_sibling[node];
            node = next == AR_NO_ID ? b->p->nodes[node].parent : node;
        }
        if (next == AR_NO_ID)
            break;
        node = next;
        status = step_in(b, path, node);
    }
    return status;
}

static enum ar_status walk_paths(struct building *b, bool late)
{
    struct path path = {
        .open = malloc((b->p->n_functions + 1) * sizeof *path.open),
        .around = malloc((b->p->n_nodes + 1) * sizeof *path.around),
        .call = malloc((b->p->n_nodes + 1) * sizeof *path.call),
        .late = late,
    };
    enum ar_status status = path.open && path.around && path.call ? AR_OK : AR_NOMEM;

    for (uint32_t i = 0; status == AR_OK && i < b->p->n_functions; i++)
        path.open[i] = AR_NO_ID;
    if (status == AR_OK)
        status = walk(b, &path);
    free(path.open);
    free(path.around);
    free(path.call);
    return status;
}

static enum ar_status add_calls_that(struct building *b, bool late)
{
    enum ar_status status = AR_OK;

    for (uint32_t node = 0; node < b->p->n_nodes && status == AR_OK; node++)
        if (is_late(b, node) == late)
            status = add_call(b, node);
    if (status < 0)
        return status;
    free(b->mpi_of_row);
    b->mpi_of_row = malloc((b->out->n + 1) * sizeof *b->mpi_of_row);
    for (size_t i = 0; b->mpi_of_row && i < b->out->n; i++)
        b->mpi_of_row[i] = AR_NO_ID;
    return b->mpi_of_row ? walk_paths(b, late) : AR_NOMEM;
}

static enum ar_status add_calls(struct building *b)
{
    enum ar_status status;

    b->longest = malloc((b->p->n_functions + 1) * sizeof *b->longest);
    for (size_t i = 0; b->longest && i < b->p->n_functions; i++)
        b->longest[i] = AR_NO_ID;
    for (uint32_t node = 0; node < b->p->n_nodes; node++)
        b->row_by_call[node] = AR_NO_ID;
    status = b->longest ? add_calls_that(b, false) : AR_NOMEM;
    if (status == AR_OK)
        status = find_longest(b);
    return status == AR_OK && b->out->has_counted ? add_calls_that(b, true) : status;
}

/* ---- over ranks ------------------------------------------------------------------------------- */

static int by_row(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;

    return (x->row > y->row) - (x->row < y->row);
}

static void add_at(struct building *b, const struct piece *piece, uint32_t location, uint64_t value)
{
    int64_t *to = &b->by_root[piece->part][ar_profile_root(b->p, location)];

    *to += piece->is_taken ? -(int64_t)value : (int64_t)value;
}

/* Of the time between two events. */
static double python_share(const struct building *b, uint32_t node)
{
    double own = b->t->self[node].sum, untimed = b->untimed[node];

    return untimed > 0 ? own / (own + untimed) : 1;
}

static void add_values(struct building *b, struct ar_rows *times, const struct piece *piece,
                       struct ar_doubt *doubt)
{
    if (piece->source == FROM_NODE) {
        struct ar_row row = ar_rows_get(times, piece->from);

        for (size_t i = 0; i < row.n; i++)
            add_at(b, piece, row.values[i].location, row.values[i].value);
        ar_doubt_add(doubt, ar_doubt_estimated(b->t->time[piece->from].doubt));
    } else if (piece->source == FROM_STRETCH) {
        const struct ar_line_stretch *s = ar_stretches_at(b->p, piece->from);

        add_at(b, piece, s->location, (uint64_t)((double)s->ns * python_share(b, s->node)));
        ar_doubt_add(doubt, (struct ar_doubt){AR_MARK_ESTIMATED, (double)s->variance});
    } else {
        const struct ar_counted_line *counted = ar_counted_lines_at(b->p, piece->from);

        add_at(b, piece, counted->location, counted->ns);
    }
}

static uint64_t positive(int64_t value)
{
    return value > 0 ? (uint64_t)value : 0;
}

static void spread(const struct building *b, struct ar_line *line, const struct ar_doubt *doubts)
{
    struct ar_spreading time = {.n = 0}, here = {.n = 0}, own = {.n = 0}, c = {.n = 0},
                        mpi = {.n = 0};
    bool is_range = ar_line_is_range(line);

    for (uint32_t root = 0; root < b->p->n_roots; root++) {
        int64_t python = b->by_root[OF_PYTHON][root], in_c = b->by_root[OF_C][root];
        int64_t its_own =
            line->is_counted ? b->by_root[OF_TIME][root] - python - in_c : b->by_root[OF_OWN][root];

        ar_spread_add(&own, positive(its_own), root);
        ar_spread_add(&c, positive(in_c), root);
        ar_spread_add(&here, positive(its_own) + positive(in_c), root);
        ar_spread_add(&time,
                      line->is_counted && !is_range
                          ? positive(b->by_root[OF_TIME][root])
                          : positive(its_own) + positive(in_c) + positive(python),
                      root);
        ar_spread_add(&mpi, positive(b->by_root[OF_MPI][root]), root);
    }
    line->time = ar_spread_end(&time);
    line->here = ar_spread_end(&here);
    line->own = ar_spread_end(&own);
    line->c = ar_spread_end(&c);
    line->mpi = ar_spread_end(&mpi);
    line->own.doubt = doubts[OF_OWN];
    line->c.doubt = doubts[OF_C];
    line->here.doubt = doubts[OF_OWN];
    ar_doubt_add(&line->here.doubt, doubts[OF_C]);
    if (!line->is_counted) {
        line->time.doubt = line->here.doubt;
        ar_doubt_add(&line->time.doubt, doubts[OF_PYTHON]);
    }
}

/* Which of its lines a recursive call was on. */
static void mark_guess(struct ar_line *line)
{
    line->here.doubt.marks |= AR_MARK_ESTIMATED;
    line->own.doubt.marks |= AR_MARK_ESTIMATED;
}

static void finish_row(struct building *b, struct ar_rows *times, uint32_t row, size_t *piece)
{
    struct ar_doubt doubts[N_PARTS] = {{0}};
    struct ar_line *line = &b->out->rows[row];

    for (int part = 0; part < N_PARTS; part++)
        memset(b->by_root[part], 0, b->p->n_roots * sizeof *b->by_root[part]);
    line->is_counted = b->is_counted[line->function];
    for (; *piece < b->n_pieces && b->pieces[*piece].row == row; ++*piece)
        add_values(b, times, &b->pieces[*piece], &doubts[b->pieces[*piece].part]);
    spread(b, line, doubts);
    if (line->is_guessed)
        mark_guess(line);
}

static enum ar_status finish_rows(struct building *b)
{
    struct ar_rows times;
    enum ar_status status = ar_rows_open(&times, b->p, AR_METRIC_TIME);
    size_t piece = 0;

    if (status < 0)
        return status;
    if (b->n_pieces)
        qsort(b->pieces, b->n_pieces, sizeof *b->pieces, by_row);
    for (uint32_t row = 0; row < b->out->n; row++)
        finish_row(b, &times, row, &piece);
    ar_rows_close(&times);
    return AR_OK;
}

static int by_place(const void *a, const void *b)
{
    const struct ar_line *x = a, *y = b;

    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->last - 1 > y->last - 1) - (x->last - 1 < y->last - 1); /* 0, the end, comes last */
}

/* ---- order ------------------------------------------------------------------------------------- */

struct ordered {
    double key;
    uint32_t row;
};

static int largest_first(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;

    if (x->key != y->key)
        return x->key > y->key ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static uint32_t *find_hottest(const struct ar_lines *lines)
{
    struct ordered *ordered = calloc(lines->n + 1, sizeof *ordered);
    uint32_t *rows = calloc(lines->n + 1, sizeof *rows);

    if (ordered && rows) {
        for (uint32_t i = 0; i < lines->n; i++)
            ordered[i] = (struct ordered){lines->rows[i].here.sum, i};
        if (lines->n)
            qsort(ordered, lines->n, sizeof *ordered, largest_first);
        for (uint32_t i = 0; i < lines->n; i++)
            rows[i] = ordered[i].row;
    } else {
        free(rows);
        rows = NULL;
    }
    free(ordered);
    return rows;
}

/* ---- all together ----------------------------------------------------------------------------- */

static bool make_room(struct building *b)
{
    const struct ar_profile *p = b->p;

    b->holder = calloc(p->n_nodes + 1, sizeof *b->holder);
    b->row_by_call = calloc(p->n_nodes + 1, sizeof *b->row_by_call);
    b->is_counted = calloc(p->n_functions + 1, sizeof *b->is_counted);
    for (int part = 0; part < N_PARTS; part++) {
        b->by_root[part] = calloc(p->n_roots + 1, sizeof *b->by_root[part]);
        if (!b->by_root[part])
            return false;
    }
    return b->holder && b->row_by_call && b->is_counted;
}

static void free_room(struct building *b)
{
    free(b->holder);
    free(b->row_by_call);
    free(b->is_counted);
    free(b->mpi_of_row);
    free(b->longest);
    free(b->untimed);
    for (int part = 0; part < N_PARTS; part++)
        free(b->by_root[part]);
    free(b->pieces);
    ar_idmap_free(&b->row_of);
}

enum ar_status ar_lines_build(struct ar_lines *out, const struct ar_profile *p,
                              const struct ar_totals *t, const bool *only)
{
    struct building b = {.p = p, .t = t, .only = only, .out = out};
    enum ar_status status;

    *out = (struct ar_lines){0};
    status = make_room(&b) ? AR_OK : AR_NOMEM;
    if (status == AR_OK) {
        find_holders(&b);
        status = add_all_counted(&b);
    }
    if (status == AR_OK)
        status = add_calls(&b);
    if (status == AR_OK)
        status = add_stretches(&b);
    if (status == AR_OK)
        status = finish_rows(&b);
    free_room(&b);
    if (status == AR_OK && out->n)
        qsort(out->rows, out->n, sizeof *out->rows, by_place);
    if (status == AR_OK && !(out->hottest = find_hottest(out)))
        status = AR_NOMEM;
    if (status < 0)
        ar_lines_free(out);
    return status;
}

void ar_lines_free(struct ar_lines *lines)
{
    free(lines->rows);
    free(lines->hottest);
    *lines = (struct ar_lines){0};
}
