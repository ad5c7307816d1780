// SPDX-License-Identifier: BSD-3-Clause
#include "cli/waits_requests.h"

#include "cli/findings_text.h"
#include "cli/mpi_text.h"
#include "cli/screen.h"

#include <stdio.h>
#include <stdlib.h>

struct requests {
    uint32_t posted; /* one of the nodes that posted them */
    uint64_t n;
    double flight_ns, exposed_ns;
};

static void add(struct requests *sum, const struct ar_completed *c)
{
    sum->n += c->n;
    sum->flight_ns += (double)c->flight_ns;
    sum->exposed_ns += (double)c->exposed_ns;
}

static bool is_wanted(const struct ar_profile *p, const bool *of, const struct ar_completed *c)
{
    return !of || of[ar_profile_root(p, c->location)];
}

static const char *show_hidden(const struct requests *r)
{
    return ar_show_share(r->flight_ns > 0 ? 1 - r->exposed_ns / r->flight_ns : 0);
}

void ar_print_hidden(const struct ar_profile *p, const bool *of, const char *path)
{
    struct requests sum = {0};

    for (size_t i = 0; i < p->n_completed; i++)
        if (is_wanted(p, of, ar_completed_at(p, i)))
            add(&sum, ar_completed_at(p, i));
    if (!sum.n)
        return;
    ar_print("\n%s, %s in flight: %s of that hidden behind other work\n",
             ar_show_items(sum.n, "request", "requests"), ar_show_duration(sum.flight_ns),
             show_hidden(&sum));
    ar_print("%sallranks mpi --requests ", ar_dim());
    ar_print_word(path);
    ar_print(" shows where%s\n", ar_plain());
}

/* ---- of one line ------------------------------------------------------------------------------ */

static bool is_same_line(const struct ar_profile *p, uint32_t node, uint32_t other)
{
    struct ar_place a = ar_place_of_call(p, node), b = ar_place_of_call(p, other);

    return a.function == b.function && a.line == b.line &&
           p->nodes[node].function == p->nodes[other].function;
}

static bool is_completed_at(const struct ar_profile *p, const struct ar_completed *c,
                            const struct ar_wait_site *site)
{
    struct ar_place place = ar_place_of_call(p, ar_operation_of(p, c->node));

    return place.function == site->place.function && place.line == site->place.line;
}

/* NULL: no memory. */
static struct requests *requests_of(struct requests **all, size_t *n, size_t *cap,
                                    const struct ar_profile *p, uint32_t posted)
{
    for (size_t i = 0; i < *n; i++)
        if (is_same_line(p, (*all)[i].posted, posted))
            return &(*all)[i];
    if (ar_grow((void **)all, cap, *n + 1, sizeof **all) < 0)
        return NULL;
    (*all)[*n] = (struct requests){.posted = posted};
    return &(*all)[(*n)++];
}

static int longest_first(const void *a, const void *b)
{
    double x = ((const struct requests *)a)->flight_ns, y = ((const struct requests *)b)->flight_ns;

    return (x < y) - (x > y);
}

#define NUMBER_COLUMNS 46

static void print_row(const struct ar_profile *p, const struct requests *r, size_t n_label)
{
    char label[256];

    snprintf(label, sizeof label, "%s %s", ar_show_place(p, r->posted),
             ar_show_operation(p, r->posted));
    ar_print(" ");
    ar_print_fit(label, n_label, AR_KEEP_START);
    ar_print(" %9s %12.6f %12.6f %8s\n", ar_show_short_count(r->n, 9), r->flight_ns / 1e9,
             r->exposed_ns / 1e9, show_hidden(r));
}

void ar_print_requests(const struct ar_profile *p, const bool *of, const struct ar_wait_site *site,
                       size_t n_columns)
{
    struct requests *all = NULL;
    size_t n = 0, cap = 0,
           n_label = n_columns > NUMBER_COLUMNS + 20 ? n_columns - NUMBER_COLUMNS : 20;

    for (size_t i = 0; i < p->n_completed; i++) {
        const struct ar_completed *c = ar_completed_at(p, i);
        struct requests *sum = is_wanted(p, of, c) && is_completed_at(p, c, site)
                                   ? requests_of(&all, &n, &cap, p, c->posted)
                                   : NULL;

        if (sum)
            add(sum, c);
    }
    if (n) {
        qsort(all, n, sizeof *all, longest_first);
        ar_print("\n%s%-*s %9s %12s %12s %8s%s\n", ar_bold(), (int)n_label + 1,
                 "Requests posted by", "number", "in flight", "exposed", "hidden", ar_plain());
    }
    for (size_t i = 0; i < n; i++)
        print_row(p, &all[i], n_label);
    free(all);
}
