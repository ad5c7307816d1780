// SPDX-License-Identifier: BSD-3-Clause
/*
 * no_overlap: large messages are moved while nothing is computed, though there is something to compute.
 *
 * Fires where the time of these, without waits for late ranks, is worth a sentence: calls that send or
 * receive 64 KiB and more at a time and return when that is done, and lines that wait for requests nine tenths
 * of the time that these are in flight. Smaller messages are gone before anything could be done meanwhile. Of
 * collective calls those in which all get from all: in the others a rank may also wait for the root to take what it has, which
 * is not known. No more can be won than what ranks compute. Silent where waits are not known, or ranks share processors.
 * Says which line, and how long it moves bytes only.
 */
#include "findings/findings.h"
#include "findings/words.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_BYTES (64u << 10)
#define MOST_HIDDEN 0.1

struct exposed {
    uint32_t node; /* of the largest line */
    double largest_ns, ns;
    size_t n_lines;
};

/* `ns` is without waits for others. */
static void add_line(struct exposed *x, uint32_t node, double ns)
{
    if (ns <= 0)
        return;
    x->ns += ns;
    x->n_lines++;
    if (ns > x->largest_ns) {
        x->largest_ns = ns;
        x->node = node;
    }
}

static bool is_large(const struct ar_mpi_row *row)
{
    uint64_t n = row->n_out > row->n_in ? row->n_out : row->n_in;
    uint64_t n_bytes = row->bytes_out > row->bytes_in ? row->bytes_out : row->bytes_in;

    return n && n_bytes >= LEAST_BYTES * n;
}

static bool is_exchange_of_all(const struct ar_evidence *e, const struct ar_mpi_row *row)
{
    static const char *const names[] = {"Alltoall",   "Alltoallv", "Alltoallw", "Allgather",
                                        "Allgatherv", "alltoall",  "allgather"};
    const char *name = ar_show_operation(e->p, row->node);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* As pickling, which is a better reason; that ranks wait there, too, is another matter. */
static bool is_told_at(const struct ar_evidence *e, struct ar_place place)
{
    for (size_t i = 0; i < e->out->n; i++)
        if (strcmp(e->out->items[i].rule, "pickling") == 0 &&
            ar_is_same_place(e->out->items[i].place, place))
            return true;
    return false;
}

static void add_blocking(struct exposed *x, const struct ar_evidence *e)
{
    for (size_t i = 0; i < e->out->n_calls; i++) {
        const struct ar_mpi_row *row = &e->out->calls[i];

        if (is_large(row) && (ar_is_message(e, row) || is_exchange_of_all(e, row)) &&
            !is_told_at(e, ar_place_of_call(e->p, row->node)))
            add_line(x, row->node, ar_moving_ns(e, row));
    }
}

/* A line that completes requests. */
struct completing {
    uint32_t node;
    struct ar_place place;
    double waited_ns, exposed_ns, flight_ns;
};

static struct completing *completing_at(struct completing *lines, size_t *n,
                                        const struct ar_evidence *e, uint32_t node)
{
    struct ar_place place = ar_place_of_call(e->p, node);
    size_t i = 0;

    while (i < *n && !ar_is_same_place(lines[i].place, place))
        i++;
    if (i == *n)
        lines[(*n)++] = (struct completing){.node = node, .place = place};
    return &lines[i];
}

static void add_requests(struct exposed *x, struct ar_evidence *e)
{
    struct completing *lines = malloc((e->n_requests + 1) * sizeof *lines);
    size_t n = 0;

    e->bad |= !lines;
    for (size_t i = 0; lines && i < e->n_requests; i++) {
        const struct ar_mpi_request_row *row = &e->requests[i];

        if (!ar_is_worth_saying(e, 10 * row->flight_ns))
            break; /* the longest in flight come first */

        struct completing *line = completing_at(lines, &n, e, row->completed);

        line->waited_ns += row->waited_ns;
        line->exposed_ns += row->exposed_ns;
        line->flight_ns += row->flight_ns;
    }
    for (size_t i = 0; lines && i < n; i++)
        if (lines[i].exposed_ns >= (1 - MOST_HIDDEN) * lines[i].flight_ns &&
            !is_told_at(e, lines[i].place))
            add_line(x, lines[i].node, lines[i].waited_ns - ar_waited_at(e, lines[i].place));
    free(lines);
}

static double computing_ns(const struct ar_evidence *e)
{
    double ns = 0;

    for (size_t i = 0; i < e->p->n_roots; i++)
        ns += e->w->times[i].computing_ns - e->importing_ns[i];
    return ns;
}

void ar_rule_no_overlap(struct ar_evidence *e)
{
    struct exposed x = {0};
    double won_ns = computing_ns(e);
    struct ar_finding *f;

    if (!ar_is_moving_known(e))
        return;
    add_blocking(&x, e);
    add_requests(&x, e);
    won_ns = x.ns < won_ns ? x.ns : won_ns;
    if (!ar_is_worth_saying(e, won_ns))
        return;
    f = ar_finding_add(e, "no_overlap", won_ns);
    if (!f)
        return;
    f->place = ar_place_of_call(e->p, x.node);
    ar_finding_say(e, f,
                   "%s at %s moves data for %s (%s)%s while nothing is computed; started earlier "
                   "and waited for later, it may be hidden",
                   ar_show_operation(e->p, ar_operation_of(e->p, x.node)),
                   ar_show_line(e->p, f->place), ar_show_duration(x.largest_ns),
                   ar_show_share(x.largest_ns / e->all_ns), ar_show_similar(e, x.n_lines, x.ns));
    ar_finding_show(e, f, "mpi", ar_show_line(e->p, f->place));
}
