// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/wait_blame.h"

#include "base/arena.h"

#include <string.h>

static uint32_t take_free(struct ar_intervals *all)
{
    uint32_t id = all->free - 1;

    if (all->free) {
        all->free = all->items[id].n_parts;
        return id;
    }
    if (all->n >= AR_NO_ID ||
        ar_grow((void **)&all->items, &all->cap, all->n + 1, sizeof *all->items) < 0)
        return AR_NO_ID;
    return (uint32_t)all->n++;
}

/* The oldest makes room, and nothing leads to it any more. */
static void push(struct ar_intervals *all, struct ar_intervals_back *back, uint32_t id)
{
    uint32_t *place = &back->ids[back->next % AR_INTERVALS_BACK];

    if (back->n == AR_INTERVALS_BACK) {
        all->items[back->ids[(back->next + 1) % AR_INTERVALS_BACK]].before = AR_NO_ID;
        ar_interval_drop(all, *place);
    } else {
        back->n++;
    }
    *place = id;
    back->next++;
}

uint32_t ar_interval_new(struct ar_intervals *all, struct ar_intervals_back *back, int64_t start_ns,
                         uint32_t call_node, int64_t call_ns)
{
    uint32_t id = take_free(all);

    if (id == AR_NO_ID)
        return id;

    struct ar_interval *interval = &all->items[id];
    uint32_t last = (back->next + AR_INTERVALS_BACK - 1) % AR_INTERVALS_BACK;

    interval->n_held = 1;
    interval->before = back->n ? back->ids[last] : AR_NO_ID;
    interval->start_ns = start_ns;
    interval->call_node = call_node;
    interval->call_ns = (float)call_ns;
    interval->n_parts = interval->n_waits = 0;
    interval->waited_ns = 0;
    push(all, back, id);
    return id;
}

void ar_intervals_forget(struct ar_intervals *all, struct ar_intervals_back *back)
{
    for (uint32_t i = 0; i < back->n; i++) {
        uint32_t id = back->ids[(back->next + AR_INTERVALS_BACK - 1 - i) % AR_INTERVALS_BACK];

        all->items[id].before = AR_NO_ID;
        ar_interval_drop(all, id);
    }
    *back = (struct ar_intervals_back){0};
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
                     uint32_t at_node, bool is_before, float ns)
{
    uint32_t at = 0;

    for (; at < interval->n_waits; at++)
        if (interval->waits[at].location == item->location &&
            interval->waits[at].node == item->node && interval->waits[at].site == site &&
            interval->waits[at].at_node == at_node && interval->waits[at].is_before == is_before) {
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
    interval->waits[at].is_before = is_before;
    interval->waits[at].ns = ns;
}

void ar_interval_waited(struct ar_intervals *all, uint32_t id, uint32_t site, uint32_t at_node,
                        bool is_before, const struct ar_blame *blame, double ns)
{
    struct ar_interval *interval = &all->items[id];

    if (!is_before)
        interval->waited_ns += (float)ns;
    for (uint32_t i = 0; i < blame->n; i++)
        if (blame->items[i].share > 0)
            add_wait(interval, &blame->items[i], site, at_node, is_before,
                     blame->items[i].share * (float)ns);
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
        if (interval->waits[i].at_node == node && !interval->waits[i].is_before)
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

/* ---- adding up -------------------------------------------------------------------------------- */

struct blaming {
    const struct ar_lateness *of;
    struct ar_blame *out;
    float left_ns; /* of the wait, that nothing has been found for */
};

static void add_item(struct blaming *b, uint32_t location, uint32_t node, bool indirect, float ns)
{
    struct ar_blame *out = b->out;
    uint32_t at = 0;

    if (ns <= 0)
        return;
    for (; at < out->n; at++)
        if (out->items[at].location == location && out->items[at].node == node &&
            out->items[at].indirect == indirect)
            break;
    if (at == AR_BLAME_ITEMS - 1 && at == out->n)
        return; /* the last is for what is not known */
    if (at == out->n)
        out->items[out->n++] = (struct ar_blame_item){location, node, indirect, 0};
    out->items[at].share += ns;
    b->left_ns -= ns;
}

static void add_waits(struct blaming *b, const struct ar_interval *late, bool are_before,
                      float scale)
{
    for (uint32_t i = 0; i < late->n_waits; i++)
        if (late->waits[i].is_before == are_before)
            add_item(b, late->waits[i].location, late->waits[i].node,
                     late->waits[i].site != b->of->site, late->waits[i].ns * scale);
}

static float less(float a, float b)
{
    return a < b ? a : b;
}

static float sum_of_waits(const struct ar_interval *late, bool are_before)
{
    float sum = 0;

    for (uint32_t i = 0; i < late->n_waits; i++)
        if (late->waits[i].is_before == are_before)
            sum += late->waits[i].ns;
    return sum;
}

/*
 * All that it did while the others waited already; that it had waited itself before, while they did; and that it
 * was in that call for longer than it waited there.
 */
static void blame_whole(struct blaming *b, const struct ar_interval *late, int64_t since_ns)
{
    float own[AR_INTERVAL_PARTS], own_ns = 0, waits_ns = sum_of_waits(late, false);
    float before_ns = sum_of_waits(late, true), overlap_ns = (float)(late->start_ns - since_ns);
    float in_call_ns = less(late->call_ns - before_ns, overlap_ns);
    float moving_ns =
        in_call_ns > 0 ? in_call_ns : 0; /* the end of the call: waiting comes first */
    float together_ns = less(before_ns, overlap_ns - moving_ns);

    for (uint32_t i = 0; i < late->n_parts; i++)
        own_ns += own[i] = own_part(late, i);

    float sum_ns = own_ns + waits_ns + together_ns + moving_ns;
    float scale = sum_ns > b->left_ns ? b->left_ns / sum_ns : 1;

    for (uint32_t i = 0; i < late->n_parts; i++)
        add_item(b, b->of->location, late->parts[i].node, false, own[i] * scale);
    add_waits(b, late, false, scale);
    if (before_ns > 0)
        add_waits(b, late, true, together_ns / before_ns * scale);
    add_item(b, b->of->location, late->call_node, false, moving_ns * scale);
}

/*
 * In the interval in which they began to wait: first what it did more of; then that it had waited longer; then
 * whatever it did, which is all that is known where the others did the same, but sooner.
 */
static void blame_difference(struct blaming *b, const struct ar_intervals *all,
                             const struct ar_interval *late)
{
    struct comparison c = compare(all, late, b->of->others, b->of->n_others);
    float left = b->left_ns, more = less(left, c.more_ns), waits_ns = sum_of_waits(late, false);
    float waited = less(left - more, less(c.waited_more_ns, waits_ns));
    float rest_own = c.own_ns - c.more_ns, rest = less(left - more - waited, rest_own);

    for (uint32_t i = 0; i < late->n_parts; i++)
        add_item(b, b->of->location, late->parts[i].node, false,
                 (c.more_ns > 0 ? c.more[i] * (more / c.more_ns) : 0) +
                     (rest_own > 0 ? (c.own[i] - c.more[i]) * (rest / rest_own) : 0));
    if (waits_ns > 0)
        add_waits(b, late, false, waited / waits_ns);
}

void ar_blame_find(const struct ar_intervals *all, const struct ar_lateness *lateness,
                   struct ar_blame *out)
{
    float wait_ns = lateness->mean_ns > 1 ? (float)lateness->mean_ns : 1;
    int64_t since_ns = lateness->came_ns - (int64_t)lateness->mean_ns;
    struct blaming b = {.of = lateness, .out = out, .left_ns = wait_ns};
    uint32_t id = lateness->late;

    out->n = 0;
    while (all->items[id].start_ns > since_ns && all->items[id].before != AR_NO_ID &&
           b.left_ns > 0) {
        blame_whole(&b, &all->items[id], since_ns);
        id = all->items[id].before;
    }
    if (b.left_ns > 0)
        blame_difference(&b, all, &all->items[id]);
    if (b.left_ns > 1e-4f * wait_ns)
        out->items[out->n++] =
            (struct ar_blame_item){lateness->location, AR_NO_ID, false, b.left_ns};
    for (uint32_t i = 0; i < out->n; i++)
        out->items[i].share /= wait_ns;
}
