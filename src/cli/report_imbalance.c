// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report.h"
#include "cli/screen.h"

/*
 * What the run would win if the slowest rank were an average one. MPI time is left out: waiting is
 * the effect.
 */
static double gain_ns(const struct ar_report *r, uint32_t node)
{
    const struct ar_spread *s = &r->t.self[node];

    return ar_is_kind(r->p, node, AR_FUNCTION_MPI) || node == 0 ? 0 : (double)s->max - s->mean;
}

/* Below an import nothing is said: loading differs from rank to rank as disks do. */
static bool is_below_import(const struct ar_profile *p, uint32_t node)
{
    while (node != AR_NO_ID && !ar_is_kind(p, node, AR_FUNCTION_IMPORT))
        node = p->nodes[node].parent;
    return node != AR_NO_ID;
}

/* The node with the largest gain that is smaller than `below`; AR_NO_ID: none that is worth a row. */
static uint32_t next_worst(const struct ar_report *r, double below)
{
    double least = r->min_share * r->t.mean_wall_ns;
    uint32_t worst = AR_NO_ID;

    for (uint32_t node = 1; node < r->p->n_nodes && r->p->n_roots > 1; node++) {
        double gain = gain_ns(r, node);

        if (gain < below && gain >= least && gain > 0 &&
            (worst == AR_NO_ID || gain > gain_ns(r, worst)) && !is_below_import(r->p, node))
            worst = node;
    }
    return worst;
}

size_t ar_report_count_imbalance(const struct ar_report *r, size_t most)
{
    double below = 1e300;
    size_t n = 0;

    for (uint32_t node; n < most && (node = next_worst(r, below)) != AR_NO_ID; n++)
        below = gain_ns(r, node);
    return n;
}

/* Whoever calls a function in C is to blame, not that. */
static uint32_t to_blame(const struct ar_report *r, uint32_t node)
{
    while (ar_is_kind(r->p, node, AR_FUNCTION_BUILTIN))
        node = r->p->nodes[node].parent;
    return node;
}

void ar_report_imbalance(const struct ar_report *r, size_t n_rows)
{
    struct ar_label_columns columns = ar_tree_columns(r);
    double below = 1e300;

    if (n_rows)
        ar_print_title(columns, "Imbalance", r->unit, " max-mean     self   min-max (rank)");
    for (size_t i = 0; i < n_rows; i++) {
        uint32_t node = next_worst(r, below);

        below = gain_ns(r, node);
        ar_print_label(r, columns, to_blame(r, node), 0, ' ');
        printf(" %8s", ar_show_time(below, r->unit_ns));
        ar_print_marked(r, r->t.marks[node], r->t.self[node].mean);
        ar_print_range(r->p, &r->t.self[node], r->unit_ns);
        printf("\n");
    }
}
