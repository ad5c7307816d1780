// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/imbalance.h"
#include "analysis/own_time.h"
#include "cli/report.h"
#include "cli/screen.h"

#include <string.h>

#define MOST_ROWS 8

/* A function, over all of its call paths: see analysis/own_time.h. */
struct uneven {
    struct ar_spread own;
    uint32_t function;
};

/* What the run would win if the slowest rank were an average one. */
static double gain_ns(const struct ar_spread *s)
{
    return (double)s->max - s->mean;
}

struct search {
    const struct ar_report *r;
    struct uneven *rows;
    size_t n, most;
    double least_ns;
    struct ar_own_time own;
};

/* Below an import nothing is said: loading differs from rank to rank as disks do. */
static bool is_below_import(const struct ar_profile *p, uint32_t node)
{
    while (node != AR_NO_ID && !ar_is_kind(p, node, AR_FUNCTION_IMPORT))
        node = p->nodes[node].parent;
    return node != AR_NO_ID;
}

/* MPI time is left out: waiting is the effect. */
static bool is_candidate(const struct ar_profile *p, uint32_t node)
{
    return node != 0 && !ar_is_kind(p, node, AR_FUNCTION_MPI) && !is_below_import(p, node);
}

/* Call paths together win no more than each for itself. */
static double most_gain_ns(const struct search *s, uint32_t function)
{
    double ns = 0;

    for (uint32_t node = s->own.first[function]; node != AR_NO_ID; node = s->own.next[node])
        ns += gain_ns(&s->r->t->self[node]);
    return ns;
}

static bool has_candidate(const struct search *s, uint32_t function)
{
    for (uint32_t node = s->own.first[function]; node != AR_NO_ID; node = s->own.next[node])
        if (is_candidate(s->r->p, s->own.owner[node]))
            return true;
    return false;
}

/* Among those that win most; the last of them makes room. */
static void insert(struct search *s, struct uneven row)
{
    size_t at = s->n;

    while (at && gain_ns(&s->rows[at - 1].own) < gain_ns(&row.own))
        at--;
    if (at == s->most)
        return;
    s->n += s->n < s->most;
    memmove(s->rows + at + 1, s->rows + at, (s->n - at - 1) * sizeof *s->rows);
    s->rows[at] = row;
}

/* A function that cannot be among the first is not read: it takes a row of values a node. */
static void consider(struct search *s, uint32_t function)
{
    double most_ns = most_gain_ns(s, function);

    if (most_ns < s->least_ns || !has_candidate(s, function) ||
        (s->n == s->most && most_ns <= gain_ns(&s->rows[s->n - 1].own)))
        return;

    struct uneven row = {ar_own_time_get(&s->own, function), function};

    if (gain_ns(&row.own) >= s->least_ns && ar_is_uneven(&row.own))
        insert(s, row);
}

/* Closed by the caller; where there is no memory for it there are no rows. */
static struct search find(const struct ar_report *r, struct uneven *rows, size_t most)
{
    struct search s = {.r = r,
                       .rows = rows,
                       .most = most < MOST_ROWS ? most : MOST_ROWS,
                       .least_ns = r->min_share * r->t->mean_wall_ns};

    if (most == 0 || r->p->n_roots < 2 || ar_own_time_open(&s.own, r->p, r->t) < 0)
        return s;
    for (uint32_t f = 0; f < r->p->n_functions; f++)
        consider(&s, f);
    return s;
}

size_t ar_report_count_imbalance(const struct ar_report *r, size_t most)
{
    struct uneven rows[MOST_ROWS];
    struct search s = find(r, rows, most);

    ar_own_time_close(&s.own);
    return s.n;
}

/* Of several call paths one, and its place where it is that of all of them. */
static void print_label(const struct search *s, struct ar_label_columns columns, uint32_t function)
{
    const struct ar_profile *p = s->r->p;
    uint32_t one = AR_NO_ID;
    bool is_one_place = true;

    for (uint32_t node = s->own.first[function]; node != AR_NO_ID; node = s->own.next[node])
        if (s->own.owner[node] == node) {
            is_one_place = is_one_place && (one == AR_NO_ID || ar_have_one_place(p, one, node));
            one = node;
        }
    ar_print_label_at(s->r, columns, one, 0, ' ',
                      is_one_place ? ar_show_place(p, one) : AR_SEVERAL_PLACES);
}

void ar_report_imbalance(const struct ar_report *r, size_t n_rows)
{
    struct ar_label_columns columns = ar_tree_columns(r);
    struct uneven rows[MOST_ROWS];
    struct search s = find(r, rows, n_rows);

    if (s.n)
        ar_print_title(columns, "Imbalance", r->unit, " max-mean     self   min-max (rank)");
    for (size_t i = 0; i < s.n; i++) {
        print_label(&s, columns, rows[i].function);
        ar_print(" %8s", ar_show_time(gain_ns(&rows[i].own), r->unit_ns));
        ar_print_mean(r, &rows[i].own);
        ar_print_range(r->p, &rows[i].own, r->unit_ns);
        ar_print("\n");
    }
    ar_own_time_close(&s.own);
}
