// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report.h"
#include "cli/screen.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 8

/*
 * A function with what it calls in C, which has no line of its own: this says where. The time of both together was
 * measured, even where it is not known how much of it is whose.
 */
struct uneven {
    struct ar_spread self;
    uint32_t node;
};

/* What the run would win if the slowest rank were an average one. */
static double gain_ns(const struct ar_spread *s)
{
    return (double)s->max - s->mean;
}

/* Below an import nothing is said: loading differs from rank to rank as disks do. */
static bool is_below_import(const struct ar_profile *p, uint32_t node)
{
    while (node != AR_NO_ID && !ar_is_kind(p, node, AR_FUNCTION_IMPORT))
        node = p->nodes[node].parent;
    return node != AR_NO_ID;
}

static bool is_in_c(const struct ar_profile *p, uint32_t node)
{
    return ar_is_kind(p, node, AR_FUNCTION_BUILTIN) || ar_is_kind(p, node, AR_FUNCTION_UNASSIGNED);
}

/* MPI time is left out: waiting is the effect. */
static bool is_candidate(const struct ar_report *r, uint32_t node)
{
    return !ar_is_kind(r->p, node, AR_FUNCTION_MPI) && !is_in_c(r->p, node) &&
           !is_below_import(r->p, node);
}

static uint32_t next_in_c(const struct ar_report *r, uint32_t node)
{
    while (node != AR_NO_ID && !is_in_c(r->p, node))
        node = r->t.next_sibling[node];
    return node;
}

/* Together they win no more than each for itself. */
static double most_gain_ns(const struct ar_report *r, uint32_t node)
{
    double ns = gain_ns(&r->t.self[node]);

    for (uint32_t child = next_in_c(r, r->t.first_child[node]); child != AR_NO_ID;
         child = next_in_c(r, r->t.next_sibling[child]))
        ns += most_gain_ns(r, child);
    return ns;
}

static void add_up(const struct ar_report *r, struct ar_selves *selves, uint32_t node,
                   uint64_t *by_root)
{
    struct ar_row row = ar_selves_get(selves, node);

    for (size_t i = 0; i < row.n; i++)
        by_root[ar_profile_root(r->p, row.values[i].location)] += row.values[i].value;
    for (uint32_t child = next_in_c(r, r->t.first_child[node]); child != AR_NO_ID;
         child = next_in_c(r, r->t.next_sibling[child]))
        add_up(r, selves, child, by_root);
}

static struct uneven look_at(const struct ar_report *r, struct ar_selves *selves, uint32_t node,
                             uint64_t *by_root)
{
    struct uneven u = {.node = node};
    struct ar_spreading spreading = {0};

    memset(by_root, 0, r->p->n_roots * sizeof *by_root);
    add_up(r, selves, node, by_root);
    for (uint32_t i = 0; i < r->p->n_roots; i++)
        ar_spread_add(&spreading, by_root[i], i);
    u.self = ar_spread_end(&spreading);
    u.self.doubt = r->t.time[node].doubt; /* what is taken off for C is added again */
    return u;
}

/* Among those that win most; the last of them makes room. */
static size_t insert(struct uneven *rows, size_t n, size_t most, struct uneven row)
{
    size_t at = n;

    while (at && gain_ns(&rows[at - 1].self) < gain_ns(&row.self))
        at--;
    if (at == most)
        return n;
    n += n < most;
    memmove(rows + at + 1, rows + at, (n - at - 1) * sizeof *rows);
    rows[at] = row;
    return n;
}

struct search {
    const struct ar_report *r;
    struct uneven *rows;
    size_t n, most;
    double least_ns;
    struct ar_selves selves;
    uint64_t *by_root;
};

static void consider(struct search *s, const struct uneven *row)
{
    if (gain_ns(&row->self) >= s->least_ns && gain_ns(&row->self) > 0)
        s->n = insert(s->rows, s->n, s->most, *row);
}

/* What cannot be among the first is not read: it takes a row of values a function. */
static void consider_node(struct search *s, uint32_t node)
{
    double most_ns = most_gain_ns(s->r, node);
    struct uneven row = {.node = node, .self = s->r->t.self[node]};

    if (most_ns < s->least_ns || !is_candidate(s->r, node) ||
        (s->n == s->most && most_ns <= gain_ns(&s->rows[s->n - 1].self)))
        return;
    if (next_in_c(s->r, s->r->t.first_child[node]) != AR_NO_ID)
        row = look_at(s->r, &s->selves, node, s->by_root);
    consider(s, &row);
}

/* Those that are worth a row; where there is no memory for it there are none. */
static size_t find(const struct ar_report *r, struct uneven *rows, size_t most)
{
    struct search s = {
        .r = r, .rows = rows, .most = most, .least_ns = r->min_share * r->t.mean_wall_ns};

    if (most == 0 || r->p->n_roots < 2)
        return 0;
    s.by_root = calloc(r->p->n_roots + 1, sizeof *s.by_root);
    if (s.by_root && ar_selves_open(&s.selves, &r->t, r->p) == AR_OK) {
        for (uint32_t node = 1; node < r->p->n_nodes; node++)
            consider_node(&s, node);
        ar_selves_close(&s.selves);
    }
    free(s.by_root);
    return s.n;
}

size_t ar_report_count_imbalance(const struct ar_report *r, size_t most)
{
    struct uneven rows[MOST_ROWS];

    return find(r, rows, most < MOST_ROWS ? most : MOST_ROWS);
}

void ar_report_imbalance(const struct ar_report *r, size_t n_rows)
{
    struct ar_label_columns columns = ar_tree_columns(r);
    struct uneven rows[MOST_ROWS];
    size_t n = n_rows ? find(r, rows, n_rows < MOST_ROWS ? n_rows : MOST_ROWS) : 0;

    if (n)
        ar_print_title(columns, "Imbalance", r->unit, " max-mean     self   min-max (rank)");
    for (size_t i = 0; i < n; i++) {
        ar_print_label(r, columns, rows[i].node, 0, ' ');
        ar_print(" %8s", ar_show_time(gain_ns(&rows[i].self), r->unit_ns));
        ar_print_mean(r, &rows[i].self);
        ar_print_range(r->p, &rows[i].self, r->unit_ns);
        ar_print("\n");
    }
}
