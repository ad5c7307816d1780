// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/common.h"

#include "analysis/mpi_class.h"
#include "analysis/place.h"

#include <stdlib.h>
#include <string.h>

#define MOST_PAIRS ((size_t)1 << 20) /* beyond that, those of one name go together in their order */

/* ---- rows ----------------------------------------------------------------------------------- */

static enum ar_status start(struct ar_common *c, const struct ar_profile *const *runs,
                            size_t n_runs, bool of_nodes)
{
    *c = (struct ar_common){.n_runs = n_runs, .row_of = calloc(n_runs + 1, sizeof *c->row_of)};
    if (!c->row_of)
        return AR_NOMEM;
    for (size_t run = 0; run < n_runs; run++) {
        size_t n = of_nodes ? runs[run]->n_nodes : runs[run]->n_functions;

        c->row_of[run] = malloc((n + 1) * sizeof *c->row_of[run]);
        if (!c->row_of[run])
            return AR_NOMEM;
        memset(c->row_of[run], 0xff, (n + 1) * sizeof *c->row_of[run]);
    }
    return AR_OK;
}

void ar_common_free(struct ar_common *c)
{
    for (size_t run = 0; run < c->n_runs && c->row_of; run++)
        free(c->row_of[run]);
    free(c->row_of);
    free(c->ids);
    *c = (struct ar_common){0};
}

size_t ar_common_run(const struct ar_common *c, uint32_t row)
{
    size_t run = c->n_runs - 1;

    while (run > 0 && ar_common_id(c, run, row) == AR_NO_ID)
        run--;
    return run;
}

static void join(struct ar_common *c, size_t run, uint32_t id, uint32_t row)
{
    c->ids[(size_t)row * c->n_runs + run] = id;
    c->row_of[run][id] = row;
}

static enum ar_status add_row(struct ar_common *c, size_t run, uint32_t id)
{
    uint32_t row = (uint32_t)c->n_rows;

    if (ar_grow((void **)&c->ids, &c->cap_ids, (c->n_rows + 1) * c->n_runs, sizeof *c->ids) < 0)
        return AR_NOMEM;
    memset(c->ids + (size_t)row * c->n_runs, 0xff, c->n_runs * sizeof *c->ids);
    c->n_rows++;
    join(c, run, id, row);
    return AR_OK;
}

/* ---- which of several go together ----------------------------------------------------------- */

/* Rows, and what a run has, that share all but places. */
struct crowd {
    struct ar_common *c;
    const struct ar_profile *const *runs;
    size_t run;
    const uint32_t *rows, *ids;
    size_t n_rows, n_ids;
    /* How unlike two of them are: 0 is the same. */
    uint64_t (*unlike)(const struct crowd *crowd, uint32_t row, uint32_t id);
};

struct pair {
    uint64_t unlike;
    uint32_t row, id;
};

static int liker_first(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    if (x->unlike != y->unlike)
        return x->unlike < y->unlike ? -1 : 1;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static bool is_free(const struct crowd *crowd, uint32_t row, uint32_t id)
{
    return ar_common_id(crowd->c, crowd->run, row) == AR_NO_ID &&
           crowd->c->row_of[crowd->run][id] == AR_NO_ID;
}

static enum ar_status join_likest(const struct crowd *crowd)
{
    struct pair *pairs = malloc((crowd->n_rows * crowd->n_ids + 1) * sizeof *pairs);
    size_t n = 0;

    if (!pairs)
        return AR_NOMEM;
    for (size_t i = 0; i < crowd->n_rows; i++)
        for (size_t k = 0; k < crowd->n_ids; k++)
            pairs[n++] = (struct pair){crowd->unlike(crowd, crowd->rows[i], crowd->ids[k]),
                                       crowd->rows[i], crowd->ids[k]};
    qsort(pairs, n, sizeof *pairs, liker_first);
    for (size_t i = 0; i < n; i++)
        if (is_free(crowd, pairs[i].row, pairs[i].id))
            join(crowd->c, crowd->run, pairs[i].id, pairs[i].row);
    free(pairs);
    return AR_OK;
}

static void join_in_order(const struct crowd *crowd)
{
    for (size_t i = 0; i < crowd->n_rows && i < crowd->n_ids; i++)
        join(crowd->c, crowd->run, crowd->ids[i], crowd->rows[i]);
}

/* A function that finds no partner is a row of its own. */
static enum ar_status settle(const struct crowd *crowd)
{
    enum ar_status status = AR_OK;

    if (crowd->n_rows * crowd->n_ids > MOST_PAIRS || (crowd->n_rows == 1 && crowd->n_ids == 1))
        join_in_order(crowd);
    else if (crowd->n_rows && crowd->n_ids)
        status = join_likest(crowd);
    for (size_t i = 0; i < crowd->n_ids && status == AR_OK; i++)
        if (crowd->c->row_of[crowd->run][crowd->ids[i]] == AR_NO_ID)
            status = add_row(crowd->c, crowd->run, crowd->ids[i]);
    return status;
}

static uint64_t distance(int64_t a, int64_t b)
{
    return (uint64_t)(a < b ? b - a : a - b);
}

/* ---- functions ------------------------------------------------------------------------------ */

static const char *text_of(const struct ar_profile *p, uint32_t string)
{
    return ar_strtab_text(&p->strings, string);
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static uint64_t hash_text(const char *text)
{
    return ar_hash_bytes(text, strlen(text));
}

static uint64_t function_key(const struct ar_profile *p, uint32_t function)
{
    const struct ar_function *f = &p->functions[function];
    const char *name = text_of(p, f->name);

    if (f->kind == AR_FUNCTION_MPI)
        name = ar_mpi_class_of(name).function;
    return ar_pair_key(ar_pair_key(f->kind, hash_text(name)),
                       hash_text(file_name(text_of(p, f->file))));
}

/* How many names of a path agree, from the file upwards; all of them where both are the same. */
static uint32_t count_agreeing(const char *a, const char *b)
{
    const char *at_a = a + strlen(a), *at_b = b + strlen(b);
    uint32_t n = 0;

    if (strcmp(a, b) == 0)
        return UINT32_MAX;
    while (at_a > a && at_b > b && at_a[-1] == at_b[-1]) {
        at_a--;
        at_b--;
        n += *at_a == '/';
    }
    return n;
}

static uint64_t unlike_functions(const struct crowd *crowd, uint32_t row, uint32_t id)
{
    size_t run = ar_common_run(crowd->c, row);
    const struct ar_profile *p = crowd->runs[run], *q = crowd->runs[crowd->run];
    const struct ar_function *f = &p->functions[ar_common_id(crowd->c, run, row)];
    const struct ar_function *g = &q->functions[id];
    uint32_t n_agree = count_agreeing(text_of(p, f->file), text_of(q, g->file));

    return (uint64_t)(UINT32_MAX - n_agree) << 32 | distance(f->first_line, g->first_line);
}

struct keyed {
    uint64_t key;
    uint32_t id;
};

static int by_key(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Rows, and the run's functions, in order of keys: two lists that are walked side by side. */
struct lists {
    struct keyed *rows, *ids;
    uint32_t *row_numbers, *id_numbers;
    size_t n_rows, n_ids;
};

static void free_lists(struct lists *l)
{
    free(l->rows);
    free(l->ids);
    free(l->row_numbers);
    free(l->id_numbers);
}

static enum ar_status make_lists(struct lists *l, const struct ar_common *c,
                                 const struct ar_profile *const *runs, size_t run)
{
    size_t n_rows = c->n_rows, n_ids = runs[run]->n_functions;

    *l = (struct lists){malloc((n_rows + 1) * sizeof *l->rows),
                        malloc((n_ids + 1) * sizeof *l->ids),
                        malloc((n_rows + 1) * sizeof *l->row_numbers),
                        malloc((n_ids + 1) * sizeof *l->id_numbers),
                        n_rows,
                        n_ids};
    if (!l->rows || !l->ids || !l->row_numbers || !l->id_numbers)
        return AR_NOMEM;
    for (uint32_t row = 0; row < n_rows; row++) {
        size_t with = ar_common_run(c, row);

        l->rows[row] = (struct keyed){function_key(runs[with], ar_common_id(c, with, row)), row};
    }
    for (uint32_t id = 0; id < n_ids; id++)
        l->ids[id] = (struct keyed){function_key(runs[run], id), id};
    qsort(l->rows, n_rows, sizeof *l->rows, by_key);
    qsort(l->ids, n_ids, sizeof *l->ids, by_key);
    for (size_t i = 0; i < n_rows; i++)
        l->row_numbers[i] = l->rows[i].id;
    for (size_t i = 0; i < n_ids; i++)
        l->id_numbers[i] = l->ids[i].id;
    return AR_OK;
}

static size_t count_same(const struct keyed *items, size_t n, uint64_t key)
{
    size_t same = 0;

    while (same < n && items[same].key == key)
        same++;
    return same;
}

static enum ar_status add_functions(struct ar_common *c, const struct ar_profile *const *runs,
                                    size_t run)
{
    struct lists l;
    enum ar_status status = make_lists(&l, c, runs, run);
    size_t row = 0, id = 0;

    while (status == AR_OK && id < l.n_ids) {
        uint64_t key = l.ids[id].key;

        while (row < l.n_rows && l.rows[row].key < key)
            row++;

        struct crowd crowd = {.c = c,
                              .runs = runs,
                              .run = run,
                              .rows = l.row_numbers + row,
                              .ids = l.id_numbers + id,
                              .n_rows = count_same(l.rows + row, l.n_rows - row, key),
                              .n_ids = count_same(l.ids + id, l.n_ids - id, key),
                              .unlike = unlike_functions};

        status = settle(&crowd);
        row += crowd.n_rows;
        id += crowd.n_ids;
    }
    free_lists(&l);
    return status;
}

enum ar_status ar_common_functions(struct ar_common *out, const struct ar_profile *const *runs,
                                   size_t n_runs)
{
    enum ar_status status = start(out, runs, n_runs, false);

    for (size_t run = 0; run < n_runs && status == AR_OK; run++)
        status = add_functions(out, runs, run);
    if (status < 0)
        ar_common_free(out);
    return status;
}

/* ---- call paths ----------------------------------------------------------------------------- */

struct paths {
    struct ar_common *c;
    const struct ar_common *functions;
    const struct ar_profile *const *runs;
    struct ar_idmap first; /* the first row of a (parent row, function row), … */
    uint32_t *next;        /* … and by row the next one; AR_NO_ID ends them */
    size_t cap_next, n_next;
    uint32_t *children;    /* of the run at hand: nodes in order of their parent and function row */
    uint32_t *first_child; /* by node, with one more */
    uint32_t *rows;        /* a crowd's */
    size_t cap_rows;
};

/* How far from the beginning of the function that makes the call; nothing for what has no line. */
static int64_t offset_of(const struct ar_profile *p, uint32_t node)
{
    struct ar_place place;

    if (!p->nodes[node].line)
        return 0;
    place = ar_place_of_call(p, node);
    return place.function == AR_NO_ID
               ? place.line
               : (int64_t)place.line - p->functions[place.function].first_line;
}

static uint64_t unlike_paths(const struct crowd *crowd, uint32_t row, uint32_t id)
{
    size_t run = ar_common_run(crowd->c, row);

    return distance(offset_of(crowd->runs[run], ar_common_id(crowd->c, run, row)),
                    offset_of(crowd->runs[crowd->run], id));
}

static const struct paths *sorting;
static size_t sorting_run;

static uint32_t function_row(const struct paths *m, size_t run, uint32_t node)
{
    return m->functions->row_of[run][m->runs[run]->nodes[node].function];
}

static int by_function(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint32_t fx = function_row(sorting, sorting_run, x), fy = function_row(sorting, sorting_run, y);

    if (fx != fy)
        return fx < fy ? -1 : 1;
    return (x > y) - (x < y);
}

/* Children of each node next to each other, by counting; then each one's in order of functions. */
static enum ar_status list_children(struct paths *m, size_t run)
{
    const struct ar_profile *p = m->runs[run];
    uint32_t *first = calloc(p->n_nodes + 2, sizeof *first);

    free(m->first_child);
    free(m->children);
    m->first_child = first;
    m->children = malloc((p->n_nodes + 1) * sizeof *m->children);
    if (!first || !m->children)
        return AR_NOMEM;
    for (size_t i = 1; i < p->n_nodes; i++)
        first[p->nodes[i].parent + 1]++;
    for (size_t i = 0; i < p->n_nodes; i++)
        first[i + 1] += first[i];
    for (uint32_t i = 1; i < p->n_nodes; i++)
        m->children[first[p->nodes[i].parent]++] = i;
    memmove(first + 1, first, p->n_nodes * sizeof *first);
    first[0] = 0;
    sorting = m;
    sorting_run = run;
    for (size_t i = 0; i < p->n_nodes; i++)
        qsort(m->children + first[i], first[i + 1] - first[i], sizeof *m->children, by_function);
    return AR_OK;
}

/* Rows that were added since are found by their parents and functions from now on. */
static enum ar_status index_rows(struct paths *m, uint64_t key)
{
    for (; m->n_next < m->c->n_rows; m->n_next++) {
        if (ar_grow((void **)&m->next, &m->cap_next, m->n_next + 1, sizeof *m->next) < 0)
            return AR_NOMEM;
        m->next[m->n_next] = ar_idmap_get(&m->first, key, AR_NO_ID);
        if (ar_idmap_put(&m->first, key, (uint32_t)m->n_next) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

/* Nodes of one parent and one function. */
static enum ar_status add_crowd(struct paths *m, size_t run, uint64_t key, const uint32_t *nodes,
                                size_t n_nodes)
{
    struct crowd crowd = {.c = m->c,
                          .runs = m->runs,
                          .run = run,
                          .ids = nodes,
                          .n_ids = n_nodes,
                          .unlike = unlike_paths};
    enum ar_status status;

    for (uint32_t row = ar_idmap_get(&m->first, key, AR_NO_ID); row != AR_NO_ID;
         row = m->next[row]) {
        if (ar_grow((void **)&m->rows, &m->cap_rows, crowd.n_rows + 1, sizeof *m->rows) < 0)
            return AR_NOMEM;
        m->rows[crowd.n_rows++] = row;
    }
    crowd.rows = m->rows;
    status = settle(&crowd);
    return status == AR_OK ? index_rows(m, key) : status;
}

static enum ar_status add_children(struct paths *m, size_t run, uint32_t parent)
{
    uint32_t end = m->first_child[parent + 1];
    enum ar_status status = AR_OK;

    for (uint32_t i = m->first_child[parent], next; i < end && status == AR_OK; i = next) {
        uint32_t function = function_row(m, run, m->children[i]);
        uint64_t key = ar_pair_key(m->c->row_of[run][parent] + 1, function);

        for (next = i + 1; next < end && function_row(m, run, m->children[next]) == function;)
            next++;
        status = add_crowd(m, run, key, m->children + i, next - i);
    }
    return status;
}

/* Parents come before their children, whose parents' rows are known then. */
static enum ar_status add_paths(struct paths *m, size_t run)
{
    const uint32_t root = 0;
    enum ar_status status = list_children(m, run);

    if (status == AR_OK)
        status = add_crowd(m, run, ar_pair_key(0, 0), &root, 1);
    for (uint32_t node = 0; node < m->runs[run]->n_nodes && status == AR_OK; node++)
        status = add_children(m, run, node);
    return status;
}

enum ar_status ar_common_paths(struct ar_common *out, const struct ar_common *functions,
                               const struct ar_profile *const *runs, size_t n_runs)
{
    struct paths m = {.c = out, .functions = functions, .runs = runs};
    enum ar_status status = start(out, runs, n_runs, true);

    for (size_t run = 0; run < n_runs && status == AR_OK; run++)
        status = add_paths(&m, run);
    ar_idmap_free(&m.first);
    free(m.next);
    free(m.children);
    free(m.first_child);
    free(m.rows);
    if (status < 0)
        ar_common_free(out);
    return status;
}
