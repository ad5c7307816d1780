// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/wait_blame.h"

#include "base/arena.h"

#include <string.h>

uint32_t ar_interval_new(struct ar_intervals *all)
{
    uint32_t id = all->free - 1;

    if (all->free) {
        all->free = all->items[id].n_parts;
    } else {
        if (all->n >= AR_NO_ID ||
            ar_grow((void **)&all->items, &all->cap, all->n + 1, sizeof *all->items) < 0)
            return AR_NO_ID;
        id = (uint32_t)all->n++;
    }
    all->items[id].n_held = 1;
    all->items[id].n_parts = all->items[id].n_waits = 0;
    all->items[id].waited_ns = 0;
    return id;
}

void ar_interval_hold(struct ar_intervals *all, uint32_t id)
{
    all->items[id].n_held++;
}

void ar_interval_drop(struct ar_intervals *all, uint32_t id)
{
    struct ar_interval *interval = &all->items[id];

    if (--interval->n_held)
        return;
    interval->n_parts = all->free;
    all->free = id + 1;
}

void ar_interval_end(struct ar_intervals *all, uint32_t id, const struct ar_profile_part *parts,
                     uint32_t n_parts)
{
    struct ar_interval *interval = &all->items[id];

    interval->n_parts = n_parts < AR_INTERVAL_PARTS ? n_parts : AR_INTERVAL_PARTS;
    for (uint32_t i = 0; i < interval->n_parts; i++) {
        interval->parts[i].node = parts[i].node;
        interval->parts[i].ns = (float)parts[i].ns;
    }
}

/* Of many the largest are kept: the smallest makes room. */
static void add_wait(struct ar_interval *interval, const struct ar_blame_item *item, uint32_t site,
                     uint32_t at_node, float ns)
{
    uint32_t at = 0;

    for (; at < interval->n_waits; at++)
        if (interval->waits[at].location == item->location &&
            interval->waits[at].node == item->node && interval->waits[at].site == site &&
            interval->waits[at].at_node == at_node) {
            interval->waits[at].ns += ns;
            return;
        }
    if (at == AR_INTERVAL_WAITS) {
        at = 0;
        for (uint32_t i = 1; i < AR_INTERVAL_WAITS; i++)
            if (interval->waits[i].ns < interval->waits[at].ns)
                at = i;
        if (interval->waits[at].ns >= ns)
            return;
    } else {
        interval->n_waits++;
    }
    interval->waits[at].location = item->location;
    interval->waits[at].node = item->node;
    interval->waits[at].site = site;
    interval->waits[at].at_node = at_node;
    interval->waits[at].ns = ns;
}

void ar_interval_waited(struct ar_intervals *all, uint32_t id, uint32_t site, uint32_t at_node,
                        const struct ar_blame *blame, double ns)
{
    struct ar_interval *interval = &all->items[id];

    interval->waited_ns += (float)ns;
    for (uint32_t i = 0; i < blame->n; i++)
        if (blame->items[i].share > 0)
            add_wait(interval, &blame->items[i], site, at_node, blame->items[i].share * (float)ns);
}

/* ---- blame ------------------------------------------------------------------------------------ */

static float part_of(const struct ar_interval *interval, uint32_t node)
{
    for (uint32_t i = 0; i < interval->n_parts; i++)
        if (interval->parts[i].node == node)
            return interval->parts[i].ns;
    return 0;
}

/* How long it had waited in a node within the interval: that part is not what it did. */
static float waited_in(const struct ar_interval *interval, uint32_t node)
{
    float ns = 0;

    for (uint32_t i = 0; i < interval->n_waits; i++)
        if (interval->waits[i].at_node == node)
            ns += interval->waits[i].ns;
    return ns;
}

/* What it did itself in its nodes, without waiting. */
static float own_part(const struct ar_interval *interval, uint32_t i)
{
    float ns = interval->parts[i].ns - waited_in(interval, interval->parts[i].node);

    return ns > 0 ? ns : 0;
}

struct comparison {
    float more[AR_INTERVAL_PARTS]; /* than the others, on average */
    float own[AR_INTERVAL_PARTS];
    float more_ns, own_ns, waited_more_ns;
};

static struct comparison compare(const struct ar_intervals *all, const struct ar_interval *late,
                                 const uint32_t *others, size_t n_others)
{
    struct comparison c = {0};
    double others_ns[AR_INTERVAL_PARTS] = {0}, others_waited_ns = 0;

    for (size_t k = 0; k < n_others; k++) {
        const struct ar_interval *other = &all->items[others[k]];

        for (uint32_t i = 0; i < late->n_parts; i++)
            others_ns[i] += part_of(other, late->parts[i].node);
        others_waited_ns += other->waited_ns;
    }
    for (uint32_t i = 0; i < late->n_parts; i++) {
        float usual = (float)(others_ns[i] / (double)n_others);

        c.own[i] = own_part(late, i);
        c.more[i] = c.own[i] > usual ? c.own[i] - usual : 0;
        c.own_ns += c.own[i];
        c.more_ns += c.more[i];
    }
    c.waited_more_ns = late->waited_ns - (float)(others_waited_ns / (double)n_others);
    if (c.waited_more_ns < 0)
        c.waited_more_ns = 0;
    return c;
}

static void add_item(struct ar_blame *out, struct ar_blame_item item)
{
    if (item.share > 0)
        out->items[out->n++] = item;
}

static void blame_parts(struct ar_blame *out, const struct ar_interval *late, uint32_t location,
                        const float *ns, float scale)
{
    for (uint32_t i = 0; i < late->n_parts; i++)
        add_item(out, (struct ar_blame_item){.location = location,
                                             .node = late->parts[i].node,
                                             .site = AR_NO_ID,
                                             .share = ns[i] * scale});
}

/* At the same line it is one operation, whose messages wait for each other: nothing is indirect there. */
static void blame_waits(struct ar_blame *out, const struct ar_interval *late, uint32_t site,
                        float scale)
{
    for (uint32_t i = 0; i < late->n_waits; i++)
        add_item(out, (struct ar_blame_item){.location = late->waits[i].location,
                                             .node = late->waits[i].node,
                                             .site = late->waits[i].site,
                                             .indirect = late->waits[i].site != site,
                                             .share = late->waits[i].ns * scale});
}

static float less(float a, float b)
{
    return a < b ? a : b;
}

/*
 * First what it did more of; then that it had waited longer; then whatever it did, which is all that is known
 * where the others did the same, but sooner.
 */
void ar_blame_find(const struct ar_intervals *all, uint32_t location, uint32_t late_id,
                   const uint32_t *others, size_t n_others, double mean_ns, uint32_t site,
                   struct ar_blame *out)
{
    const struct ar_interval *late = &all->items[late_id];
    struct comparison c = compare(all, late, others, n_others);
    float wait = mean_ns > 1 ? (float)mean_ns : 1;
    float more = less(wait, c.more_ns), waited = less(wait - more, c.waited_more_ns);
    float rest_own = c.own_ns - c.more_ns, other = less(wait - more - waited, rest_own);
    float ns[AR_INTERVAL_PARTS] = {0}, waits_ns = 0;

    out->n = 0;
    for (uint32_t i = 0; i < late->n_parts; i++)
        ns[i] = (c.more_ns > 0 ? c.more[i] * (more / c.more_ns) : 0) +
                (rest_own > 0 ? (c.own[i] - c.more[i]) * (other / rest_own) : 0);
    blame_parts(out, late, location, ns, 1 / wait);
    for (uint32_t i = 0; i < late->n_waits; i++)
        waits_ns += late->waits[i].ns;
    if (waits_ns > 0)
        blame_waits(out, late, site, waited / waits_ns / wait);
    else
        waited = 0;

    float unknown = wait - more - waited - other;

    if (unknown > 1e-4f * wait)
        add_item(out, (struct ar_blame_item){.location = location,
                                             .node = AR_NO_ID,
                                             .site = AR_NO_ID,
                                             .share = unknown / wait});
}
