// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/wait_trails.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

enum ar_status ar_trails_open(struct ar_trails *out, const struct ar_call_paths *paths,
                              size_t n_threads)
{
    *out = (struct ar_trails){.paths = paths, .n = 1};
    if (ar_grow((void **)&out->nodes, &out->cap, 4 * n_threads + 16, sizeof *out->nodes) < 0)
        return AR_NOMEM;
    return ar_trail_go_on(out, 0) == AR_TRAIL_START ? AR_OK : AR_NOMEM;
}

void ar_trails_close(struct ar_trails *t)
{
    for (size_t i = 1; i < t->n; i++)
        if (t->nodes[i].serial)
            free(t->nodes[i].credits);
    free(t->nodes);
    *t = (struct ar_trails){0};
}

/* ---- nodes ------------------------------------------------------------------------------------ */

uint32_t ar_trail_go_on(struct ar_trails *t, uint32_t from)
{
    uint32_t id = t->free;

    if (id) {
        t->free = t->nodes[id].parent;
    } else {
        if (ar_grow((void **)&t->nodes, &t->cap, t->n + 1, sizeof *t->nodes) < 0) {
            t->failed = true;
            return 0;
        }
        id = (uint32_t)t->n++;
    }

    struct ar_trail_node *node = &t->nodes[id];

    node->parent = from;
    node->n_refs = 0;
    node->serial = ++t->n_made;
    node->n = node->n_credits = 0;
    node->credits = NULL;
    if (from)
        t->nodes[from].n_refs++;
    return id;
}

static void release(struct ar_trails *t, uint32_t id)
{
    struct ar_trail_node *node = &t->nodes[id];

    free(node->credits);
    node->serial = 0;
    node->parent = t->free;
    t->free = id;
}

void ar_trail_drop(struct ar_trails *t, uint32_t tip)
{
    while (tip && t->nodes[tip].n_refs == 0) {
        uint32_t parent = t->nodes[tip].parent;

        release(t, tip);
        tip = parent;
        if (tip)
            t->nodes[tip].n_refs--;
    }
}

void ar_trail_let_go(struct ar_trails *t, uint32_t node)
{
    t->nodes[node].n_refs--;
    ar_trail_drop(t, node);
}

/* ---- pieces ----------------------------------------------------------------------------------- */

static uint64_t key_of(const struct ar_piece *piece)
{
    return (uint64_t)piece->location << 32 | piece->what;
}

/* ---- too many --------------------------------------------------------------------------------- */

/* A rest of its function's caller: a single path in it has no more than it had. */
static struct ar_piece one_up(const struct ar_call_paths *paths, const struct ar_piece *piece)
{
    struct ar_piece up = *piece;

    up.what = AR_WHAT(paths->items[piece->what >> 2].parent, AR_WHAT_REST);
    up.most = piece->what & AR_WHAT_REST ? piece->most : piece->ns;
    return up;
}

/* Of different paths that become one rest. */
static uint32_t join(struct ar_piece *pieces, uint32_t n, const struct ar_piece *piece)
{
    for (uint32_t i = 0; i < n; i++)
        if (key_of(&pieces[i]) == key_of(piece)) {
            pieces[i].ns += piece->ns;
            pieces[i].most = piece->most > pieces[i].most ? piece->most : pieces[i].most;
            return n;
        }
    pieces[n] = *piece;
    return n + 1;
}

static bool is_small(const struct ar_piece *piece, double least)
{
    return !(piece->what & AR_WHAT_CAUSE) && piece->what != AR_WHAT_UNKNOWN && piece->ns >= 0 &&
           piece->ns < least;
}

static uint32_t deepest_small(const struct ar_call_paths *paths, const struct ar_piece *pieces,
                              uint32_t n, double least)
{
    uint32_t deepest = 0;

    for (uint32_t i = 0; i < n; i++)
        if (is_small(&pieces[i], least) && paths->items[pieces[i].what >> 2].depth > deepest)
            deepest = paths->items[pieces[i].what >> 2].depth;
    return deepest;
}

static uint32_t lift(const struct ar_call_paths *paths, struct ar_piece *pieces, uint32_t n,
                     double least, uint32_t depth)
{
    struct ar_piece before[AR_STRETCH_PIECES];
    uint32_t n_kept = 0;

    memcpy(before, pieces, n * sizeof *pieces);
    for (uint32_t i = 0; i < n; i++) {
        struct ar_piece piece = before[i];

        if (is_small(&piece, least) && paths->items[piece.what >> 2].depth == depth)
            piece = one_up(paths, &piece);
        n_kept = join(pieces, n_kept, &piece);
    }
    return n_kept;
}

static double size_of(const struct ar_piece *piece)
{
    return piece->ns < 0 ? -piece->ns : piece->ns;
}

/* The smallest of all, and the next: it is not known any more what they were. */
static uint32_t forget_smallest(struct ar_piece *pieces, uint32_t n)
{
    uint32_t first = 0, second;

    for (uint32_t i = 1; i < n; i++)
        first = size_of(&pieces[i]) < size_of(&pieces[first]) ? i : first;
    second = first == 0 ? 1 : 0;
    for (uint32_t i = 0; i < n; i++)
        second = i != first && size_of(&pieces[i]) < size_of(&pieces[second]) ? i : second;
    pieces[first].ns += pieces[second].ns;
    pieces[first].what = AR_WHAT_UNKNOWN;
    pieces[first].most = size_of(&pieces[first]);
    memmove(&pieces[second], &pieces[second + 1], (n - second - 1) * sizeof *pieces);
    return n - 1;
}

/* What has less than a twelfth, say, becomes rests, level by level. */
static uint32_t make_room(const struct ar_call_paths *paths, struct ar_piece *pieces, uint32_t n,
                          uint32_t most)
{
    double least = 0;

    for (uint32_t i = 0; i < n; i++)
        least += pieces[i].ns > 0 ? 2 * pieces[i].ns / most : 0;
    while (n >= most) {
        uint32_t depth = deepest_small(paths, pieces, n, least);

        n = depth ? lift(paths, pieces, n, least, depth) : forget_smallest(pieces, n);
    }
    return n;
}

/* ---- adding ----------------------------------------------------------------------------------- */

static uint32_t add_piece(const struct ar_call_paths *paths, struct ar_piece *pieces, uint32_t n,
                          uint32_t most, const struct ar_piece *piece)
{
    uint64_t key = key_of(piece);

    for (uint32_t i = 0; i < n; i++)
        if (key_of(&pieces[i]) == key) {
            pieces[i].ns += piece->ns;
            pieces[i].most += piece->most;
            return n;
        }
    if (n == most)
        n = make_room(paths, pieces, n, most);
    pieces[n] = *piece;
    return n + 1;
}

void ar_stretch_add(const struct ar_call_paths *paths, struct ar_stretch *s,
                    const struct ar_piece *piece)
{
    s->n = add_piece(paths, s->pieces, s->n, AR_STRETCH_PIECES, piece);
}

void ar_trail_make_room(struct ar_trails *t, uint32_t tip)
{
    struct ar_trail_node *node = &t->nodes[tip];

    node->n = make_room(t->paths, node->pieces, node->n, AR_TRAIL_PIECES);
}

/* The same one again is more of it; of many the largest are kept. */
static uint32_t add_credit(struct ar_credit *credits, uint32_t n, const struct ar_credit *credit)
{
    uint32_t smallest = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (credits[i].location == credit->location && credits[i].done == credit->done &&
            credits[i].instead_location == credit->instead_location &&
            credits[i].instead == credit->instead) {
            credits[i].ns += credit->ns;
            return n;
        }
        smallest = credits[i].ns < credits[smallest].ns ? i : smallest;
    }
    if (n < AR_STRETCH_CREDITS)
        smallest = n++;
    else if (credits[smallest].ns >= credit->ns)
        return n;
    credits[smallest] = *credit;
    return n;
}

void ar_trail_credit(struct ar_trails *t, uint32_t tip, const struct ar_credit *credits, uint32_t n)
{
    struct ar_trail_node *node = &t->nodes[tip];

    if (n && !node->credits)
        node->credits = malloc(AR_STRETCH_CREDITS * sizeof *node->credits);
    if (n && !node->credits) {
        t->failed = true;
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        node->n_credits = add_credit(node->credits, node->n_credits, &credits[i]);
}

/* ---- squeezing -------------------------------------------------------------------------------- */

/* What the parent has is older, so it comes first. */
static void take_parents(struct ar_trails *t, struct ar_trail_node *node,
                         struct ar_trail_node *parent)
{
    struct ar_piece own[AR_TRAIL_PIECES];
    struct ar_credit *credits = node->credits;
    uint32_t n_own = node->n, n_credits = node->n_credits;

    memcpy(own, node->pieces, n_own * sizeof *own);
    memcpy(node->pieces, parent->pieces, parent->n * sizeof *own);
    node->n = parent->n;
    for (uint32_t i = 0; i < n_own; i++)
        node->n = add_piece(t->paths, node->pieces, node->n, AR_TRAIL_PIECES, &own[i]);
    if (!parent->credits)
        return;
    node->credits = parent->credits;
    node->n_credits = parent->n_credits;
    parent->credits = NULL;
    for (uint32_t i = 0; i < n_credits; i++)
        node->n_credits = add_credit(node->credits, node->n_credits, &credits[i]);
    free(credits);
}

/* A parent that has no other one after it is one with it. If it is the first of all, everybody shares it: it is forgotten. */
void ar_trail_take_parents(struct ar_trails *t, uint32_t id)
{
    struct ar_trail_node *node = &t->nodes[id];

    while (ar_trail_is_only_one(t, id)) {
        uint32_t parent = node->parent, above = t->nodes[parent].parent;

        if (above)
            take_parents(t, node, &t->nodes[parent]);
        node->parent = above;
        release(t, parent);
    }
}

/* ---- comparing -------------------------------------------------------------------------------- */

void ar_trail_walk(struct ar_trails *t, uint32_t late, uint32_t waiting, struct ar_walk *out)
{
    out->n_late = out->n_waiting = 0;
    while (late != waiting && out->n_late < AR_LONGEST_WALK && out->n_waiting < AR_LONGEST_WALK)
        if (!late || (waiting && t->nodes[waiting].serial > t->nodes[late].serial)) {
            ar_trail_squeeze(t, waiting);
            out->waiting[out->n_waiting++] = waiting;
            waiting = t->nodes[waiting].parent;
        } else {
            ar_trail_squeeze(t, late);
            out->late[out->n_late++] = late;
            late = t->nodes[late].parent;
        }
    if (late) /* what is before it would never be visited again where all have met */
        ar_trail_squeeze(t, late);
}

void ar_trail_stretch(const struct ar_trails *t, const uint32_t *nodes, uint32_t n,
                      struct ar_stretch *out)
{
    out->n = out->n_credits = 0;
    for (; n > 0; n--) {
        const struct ar_trail_node *node = &t->nodes[nodes[n - 1]];

        for (uint32_t i = 0; i < node->n; i++)
            ar_stretch_add(t->paths, out, &node->pieces[i]);
        for (uint32_t i = 0; i < node->n_credits; i++)
            out->n_credits = add_credit(out->credits, out->n_credits, &node->credits[i]);
    }
}
