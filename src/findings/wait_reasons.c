// SPDX-License-Identifier: BSD-3-Clause
#include "findings/wait_reasons.h"

#include "analysis/own_time.h"

#include <stdlib.h>

#define MOST_INDIRECT 0.1

size_t ar_n_main_shares(const struct ar_wait_share *shares, size_t n, double all_ns, double part)
{
    double sum = 0;
    size_t i = 0;

    while (i < n && (i == 0 || sum < part * all_ns))
        sum += shares[i++].ns;
    return i;
}

uint32_t ar_to_blame(const struct ar_profile *p, uint32_t node)
{
    while (ar_is_callers_own(p, node) && p->nodes[node].parent != AR_NO_ID)
        node = p->nodes[node].parent;
    return node;
}

double ar_unknown_share(const struct ar_wait_site *site)
{
    double ns = 0;

    for (size_t i = 0; i < site->n_causes; i++)
        ns += site->causes[i].node == AR_NO_ID ? site->causes[i].ns : 0;
    return site->waited_ns > 0 ? ns / site->waited_ns : 0;
}

struct charged {
    uint32_t function;
    struct ar_wait_cause cause;
};

static uint32_t function_of(const struct ar_profile *p, uint32_t node)
{
    return node == AR_NO_ID ? AR_NO_ID : p->nodes[node].function;
}

static bool is_same_reason(const struct charged *a, const struct charged *b)
{
    return a->function == b->function && a->cause.with_callees == b->cause.with_callees;
}

static int by_function(const void *a, const void *b)
{
    const struct charged *x = a, *y = b;

    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    if (x->cause.with_callees != y->cause.with_callees)
        return x->cause.with_callees ? 1 : -1;
    return (x->cause.process > y->cause.process) - (x->cause.process < y->cause.process);
}

static struct charged *list_charged(const struct ar_profile *p, const struct ar_wait_site *site)
{
    struct charged *items = malloc((site->n_causes + 1) * sizeof *items);

    for (size_t i = 0; items && i < site->n_causes; i++)
        items[i] = (struct charged){function_of(p, site->causes[i].node), site->causes[i]};
    if (items && site->n_causes)
        qsort(items, site->n_causes, sizeof *items, by_function);
    return items;
}

/* Of items that are in order of processes: what each has of that function. */
static struct ar_wait_reason add_up(const struct charged *items, size_t n,
                                    struct ar_wait_share *shares)
{
    struct ar_wait_reason reason = {.function = items->function,
                                    .node = items->cause.node,
                                    .with_callees = items->cause.with_callees,
                                    .late = shares};
    double indirect_ns = 0, largest_ns = 0;

    for (size_t i = 0; i < n; i++) {
        const struct ar_wait_cause *cause = &items[i].cause;

        if (reason.n_late == 0 || shares[reason.n_late - 1].process != cause->process)
            shares[reason.n_late++] = (struct ar_wait_share){.process = cause->process};
        shares[reason.n_late - 1].ns += cause->ns;
        reason.ns += cause->ns;
        indirect_ns += cause->indirect_ns;
        if (cause->ns > largest_ns) {
            largest_ns = cause->ns;
            reason.node = cause->node;
        }
    }
    reason.indirect = indirect_ns > MOST_INDIRECT * reason.ns;
    qsort(shares, reason.n_late, sizeof *shares, ar_wait_share_order);
    return reason;
}

static int larger_reason_first(const void *a, const void *b)
{
    const struct ar_wait_reason *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    if (x->function != y->function)
        return x->function > y->function ? 1 : -1;
    return x->with_callees - y->with_callees;
}

enum ar_status ar_reasons_build(struct ar_wait_reasons *out, const struct ar_profile *p,
                                const struct ar_wait_site *site)
{
    size_t n = site->n_causes, n_shares = 0;
    struct charged *items = list_charged(p, site);

    *out = (struct ar_wait_reasons){0};
    out->items = malloc((n + 1) * sizeof *out->items);
    out->shares = malloc((n + 1) * sizeof *out->shares);
    if (!items || !out->items || !out->shares) {
        free(items);
        ar_reasons_free(out);
        return AR_NOMEM;
    }
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && is_same_reason(&items[end], &items[i]);)
            end++;
        out->items[out->n] = add_up(&items[i], end - i, out->shares + n_shares);
        n_shares += out->items[out->n++].n_late;
    }
    if (out->n)
        qsort(out->items, out->n, sizeof *out->items, larger_reason_first);
    free(items);
    return AR_OK;
}

void ar_reasons_free(struct ar_wait_reasons *r)
{
    free(r->items);
    free(r->shares);
    *r = (struct ar_wait_reasons){0};
}
