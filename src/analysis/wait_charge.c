// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/wait_charge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Below a thousandth of a nanosecond there is nothing. */
#define NOTHING_NS 1e-3

/* What one has more of than the other; one more for what clocks have lost. */
struct side {
    uint32_t n;
    struct ar_piece pieces[2 * AR_STRETCH_PIECES + 1];
};

struct difference {
    const struct ar_call_paths *paths;
    struct side more, less; /* of the late one; of the one who waited */
};

static uint32_t path_of(const struct ar_piece *piece)
{
    return piece->what >> 2;
}

static uint32_t function_of(const struct difference *d, const struct ar_piece *piece)
{
    return d->paths->items[path_of(piece)].function;
}

static bool is_rest(const struct ar_piece *piece)
{
    return piece->what & AR_WHAT_REST;
}

static bool is_unknown(const struct ar_piece *piece)
{
    return path_of(piece) == AR_PATH_UNKNOWN;
}

static void pack(struct side *side)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < side->n; i++)
        if (side->pieces[i].ns > NOTHING_NS)
            side->pieces[n++] = side->pieces[i];
    side->n = n;
}

static void pack_both(struct difference *d)
{
    pack(&d->more);
    pack(&d->less);
}

/* ---- the difference --------------------------------------------------------------------------- */

static void put(struct difference *d, const struct ar_piece *piece, double ns)
{
    struct side *side = ns > 0 ? &d->more : &d->less;

    if (fabs(ns) <= NOTHING_NS)
        return;
    side->pieces[side->n] = *piece;
    side->pieces[side->n++].ns = fabs(ns);
}

static const struct ar_piece *find(const struct ar_stretch *s, const struct ar_piece *like)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->pieces[i].location == like->location && s->pieces[i].what == like->what)
            return &s->pieces[i];
    return NULL;
}

/* The same work of the same thread is one entry, of which what is left is on either side. */
static void subtract(struct difference *d, const struct ar_stretch *late,
                     const struct ar_stretch *waiting)
{
    for (uint32_t i = 0; i < late->n; i++) {
        struct ar_piece piece = late->pieces[i];
        const struct ar_piece *other = find(waiting, &piece);

        if (other && other->most > piece.most)
            piece.most = other->most;
        put(d, &piece, piece.ns - (other ? other->ns : 0));
    }
    for (uint32_t i = 0; i < waiting->n; i++)
        if (!find(late, &waiting->pieces[i]))
            put(d, &waiting->pieces[i], -waiting->pieces[i].ns);
}

/* Clocks that disagree, and what was lost. */
static void add_missing(struct difference *d, uint32_t location, double wait_ns)
{
    struct ar_piece missing = {.location = location, .what = AR_WHAT_UNKNOWN};

    for (uint32_t i = 0; i < d->more.n; i++)
        wait_ns -= d->more.pieces[i].ns;
    for (uint32_t i = 0; i < d->less.n; i++)
        wait_ns += d->less.pieces[i].ns;
    put(d, &missing, wait_ns);
}

static void bound_unknown(struct side *side)
{
    for (uint32_t i = 0; i < side->n; i++)
        if (is_unknown(&side->pieces[i]))
            side->pieces[i].most = HUGE_VAL;
}

/* ---- what is alike ---------------------------------------------------------------------------- */

enum likeness {
    SAME_WORK,     /* of the same thread, whether it is known as a cause or not */
    SAME_PATH,     /* of any thread; causes with causes */
    SAME_FUNCTION, /* wherever it was called, of any thread; causes with causes */
    SAME_FUNCTION_OR_CAUSE
};

static bool are_alike(const struct difference *d, const struct ar_piece *a,
                      const struct ar_piece *b, enum likeness how)
{
    switch (how) {
    case SAME_WORK:
        return a->location == b->location && (a->what | AR_WHAT_CAUSE) == (b->what | AR_WHAT_CAUSE);
    case SAME_PATH:
        return a->what == b->what;
    case SAME_FUNCTION:
        return (a->what & 3) == (b->what & 3) && function_of(d, a) == function_of(d, b);
    default:
        return (a->what & 1) == (b->what & 1) && function_of(d, a) == function_of(d, b);
    }
}

/* Entries are in the order of time: the oldest of both go first. */
static void cancel_alike(struct difference *d, enum likeness how)
{
    for (uint32_t i = 0; i < d->less.n; i++) {
        struct ar_piece *less = &d->less.pieces[i];

        for (uint32_t k = 0; k < d->more.n && less->ns > NOTHING_NS; k++) {
            struct ar_piece *more = &d->more.pieces[k];

            if (more->ns > NOTHING_NS && are_alike(d, more, less, how)) {
                double both = less->ns < more->ns ? less->ns : more->ns;

                less->ns -= both;
                more->ns -= both;
            }
        }
    }
    pack_both(d);
}

/* ---- credits ---------------------------------------------------------------------------------- */

static bool is_done_again(const struct difference *d, const struct ar_piece *piece,
                          const struct ar_credit *credit)
{
    return (piece->what & 1) == (credit->done & 1) &&
           function_of(d, piece) == d->paths->items[credit->done >> 2].function;
}

static struct ar_piece *find_instead(struct side *side, const struct ar_credit *credit)
{
    for (uint32_t i = 0; i < side->n; i++)
        if (side->pieces[i].location == credit->instead_location &&
            side->pieces[i].what == credit->instead)
            return &side->pieces[i];
    return NULL;
}

static struct ar_piece *make_instead(struct side *side, const struct ar_credit *credit)
{
    struct ar_piece *piece = find_instead(side, credit);

    if (piece || side->n == sizeof side->pieces / sizeof *side->pieces)
        return piece;
    piece = &side->pieces[side->n++];
    *piece = (struct ar_piece){.location = credit->instead_location, .what = credit->instead};
    return piece;
}

/* The late one does now what the other did before, while a delay went by: it is that delay which makes the difference. */
static void use_own_credit(struct difference *d, const struct ar_credit *credit)
{
    double left = credit->ns;
    uint32_t n = d->more.n;

    for (uint32_t i = 0; i < n && left > NOTHING_NS; i++) {
        struct ar_piece *piece = &d->more.pieces[i];
        double part = left < piece->ns ? left : piece->ns;

        if (part <= NOTHING_NS || !is_done_again(d, piece, credit))
            continue;

        struct ar_piece *instead = make_instead(&d->more, credit);

        if (!instead)
            return;
        piece->ns -= part;
        instead->ns += part;
        left -= part;
    }
}

/* And the other way round: the late one did it before. */
static void use_others_credit(struct difference *d, const struct ar_credit *credit)
{
    struct ar_piece *instead = find_instead(&d->more, credit);
    double left = credit->ns;

    for (uint32_t i = 0; instead && i < d->less.n; i++) {
        struct ar_piece *piece = &d->less.pieces[i];
        double part = left < piece->ns ? left : piece->ns;

        part = part < instead->ns ? part : instead->ns;
        if (part <= NOTHING_NS || !is_done_again(d, piece, credit))
            continue;
        piece->ns -= part;
        instead->ns -= part;
        left -= part;
    }
}

static void use_credits(struct difference *d, const struct ar_stretch *late,
                        const struct ar_stretch *waiting)
{
    for (uint32_t i = 0; i < waiting->n_credits; i++)
        use_own_credit(d, &waiting->credits[i]);
    for (uint32_t i = 0; i < late->n_credits; i++)
        use_others_credit(d, &late->credits[i]);
    pack_both(d);
}

/* ---- rests ------------------------------------------------------------------------------------ */

#define ANY_FUNCTION AR_NO_ID

static bool is_below(const struct difference *d, const struct ar_piece *piece, uint32_t function)
{
    return function == ANY_FUNCTION || ar_call_path_has(d->paths, path_of(piece), function);
}

static bool is_rest_of(const struct difference *d, const struct ar_piece *piece, uint32_t function)
{
    return is_rest(piece) && (function == ANY_FUNCTION || function_of(d, piece) == function);
}

/* What rests of a function hide of the other side: pieces below it, each up to `bound`, of which the part `used` is gone. */
struct hiding {
    double bound, used;
};

static struct hiding hide(const struct difference *d, struct side *rests, const struct side *other,
                          uint32_t function)
{
    double size = 0, most = 0, pool = 0;

    for (uint32_t i = 0; i < rests->n; i++)
        if (is_rest_of(d, &rests->pieces[i], function)) {
            size += rests->pieces[i].ns;
            most += rests->pieces[i].most;
        }

    double bound = size < most ? size : most;

    for (uint32_t i = 0; i < other->n && bound > NOTHING_NS; i++)
        if (is_below(d, &other->pieces[i], function) && !is_rest_of(d, &other->pieces[i], function))
            pool += other->pieces[i].ns < bound ? other->pieces[i].ns : bound;

    double used = pool < size ? pool : size;

    if (used <= NOTHING_NS)
        return (struct hiding){0};
    for (uint32_t i = 0; i < rests->n; i++)
        if (is_rest_of(d, &rests->pieces[i], function))
            rests->pieces[i].ns *= 1 - used / size;
    return (struct hiding){bound, used / pool};
}

/* The part of the path down to that function. */
static uint32_t up_to(const struct difference *d, uint32_t path, uint32_t function)
{
    uint32_t found = path;

    for (; path != AR_PATH_UNKNOWN; path = d->paths->items[path].parent)
        if (d->paths->items[path].function == function)
            found = path;
    return found;
}

static uint32_t outermost(const struct difference *d, uint32_t path)
{
    while (d->paths->items[path].parent != AR_PATH_UNKNOWN)
        path = d->paths->items[path].parent;
    return path;
}

static bool has_unknown(const struct side *side)
{
    for (uint32_t i = 0; i < side->n; i++)
        if (is_unknown(&side->pieces[i]))
            return true;
    return false;
}

/* It is not known which of the pieces it was, so all of them are in a rest as far as it may have been. */
static void blur(struct difference *d, const struct hiding *h, uint32_t function, bool is_known)
{
    uint32_t n = d->more.n;

    for (uint32_t i = 0; i < n; i++) {
        struct ar_piece *piece = &d->more.pieces[i];
        double part = piece->ns < h->bound ? piece->ns : h->bound;
        struct ar_piece rest = *piece;

        if (!is_below(d, piece, function) || is_rest_of(d, piece, function))
            continue;
        piece->ns -= part;
        rest.ns = part * (1 - h->used);
        rest.what = AR_WHAT_UNKNOWN;
        if (function != ANY_FUNCTION)
            rest.what = AR_WHAT(up_to(d, path_of(piece), function), AR_WHAT_REST);
        else if (is_known)
            rest.what = AR_WHAT(outermost(d, path_of(piece)), AR_WHAT_REST);
        rest.most = part;
        if (rest.ns > NOTHING_NS && d->more.n < sizeof d->more.pieces / sizeof *d->more.pieces)
            d->more.pieces[d->more.n++] = rest;
    }
}

/* The rest of a function may be anything below it that is small enough. */
static void cancel_rests(struct difference *d, uint32_t function)
{
    bool is_known = !has_unknown(&d->less);
    struct hiding h = hide(d, &d->less, &d->more, function);

    if (h.used > 0)
        blur(d, &h, function, is_known);
    h = hide(d, &d->more, &d->less, function);
    for (uint32_t i = 0; i < d->less.n && h.used > 0; i++) {
        struct ar_piece *piece = &d->less.pieces[i];

        if (is_below(d, piece, function) && !is_rest_of(d, piece, function))
            piece->ns -= (piece->ns < h.bound ? piece->ns : h.bound) * h.used;
    }
    pack_both(d);
}

/* ---- what is not alike ------------------------------------------------------------------------ */

/* All that is below a function shrinks in proportion. */
static void cancel_within(struct difference *d, uint32_t function)
{
    struct side *sides[2] = {&d->more, &d->less};
    double sums[2] = {0, 0};

    for (int s = 0; s < 2; s++)
        for (uint32_t i = 0; i < sides[s]->n; i++)
            if (is_below(d, &sides[s]->pieces[i], function))
                sums[s] += sides[s]->pieces[i].ns;

    double both = sums[0] < sums[1] ? sums[0] : sums[1];

    if (both <= NOTHING_NS)
        return;
    for (int s = 0; s < 2; s++)
        for (uint32_t i = 0; i < sides[s]->n; i++)
            if (is_below(d, &sides[s]->pieces[i], function))
                sides[s]->pieces[i].ns *= 1 - both / sums[s];
    pack_both(d);
}

/* Functions that contain something of both, the deepest first. */
struct container {
    uint32_t function, depth;
};

#define MOST_CONTAINERS 512

struct containers {
    uint32_t n;
    struct container items[MOST_CONTAINERS];
};

static void add_container(struct containers *c, uint32_t function, uint32_t depth)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->items[i].function == function) {
            if (depth > c->items[i].depth)
                c->items[i].depth = depth;
            return;
        }
    if (c->n < MOST_CONTAINERS)
        c->items[c->n++] = (struct container){function, depth};
}

static void add_containers(const struct difference *d, const struct side *side,
                           const struct side *other, struct containers *c)
{
    uint64_t mask = 0;

    for (uint32_t i = 0; i < other->n; i++)
        mask |= d->paths->items[path_of(&other->pieces[i])].mask;
    for (uint32_t i = 0; i < side->n; i++)
        for (uint32_t path = path_of(&side->pieces[i]); path != AR_PATH_UNKNOWN;
             path = d->paths->items[path].parent) {
            const struct ar_call_path *p = &d->paths->items[path];

            if (mask & ar_function_bit(p->function))
                add_container(c, p->function, p->depth);
        }
}

static int deepest_first(const void *a, const void *b)
{
    const struct container *x = a, *y = b;

    if (x->depth != y->depth)
        return x->depth < y->depth ? 1 : -1;
    return (x->function > y->function) - (x->function < y->function);
}

static bool has_rests(const struct side *side)
{
    for (uint32_t i = 0; i < side->n; i++)
        if (is_rest(&side->pieces[i]))
            return true;
    return false;
}

/* Step 3 and 4. Whatever is below only one of them is passed over quickly. */
static void cancel_the_rest(struct difference *d)
{
    struct containers c;

    c.n = 0;
    if (!d->less.n)
        return;
    add_containers(d, &d->more, &d->less, &c);
    add_containers(d, &d->less, &d->more, &c);
    qsort(c.items, c.n, sizeof *c.items, deepest_first);
    if (has_rests(&d->more) || has_rests(&d->less)) {
        for (uint32_t i = 0; i < c.n && d->less.n; i++)
            cancel_rests(d, c.items[i].function);
        cancel_rests(d, ANY_FUNCTION);
    }
    for (uint32_t i = 0; i < c.n && d->less.n; i++)
        cancel_within(d, c.items[i].function);
    if (d->less.n)
        cancel_within(d, ANY_FUNCTION);
}

/* ---- what was done instead -------------------------------------------------------------------- */

#define MOST_NEW_CREDITS 8

static void add_credit(struct ar_stretch *out, const struct ar_credit *credit)
{
    uint32_t at = out->n_credits;

    if (at == MOST_NEW_CREDITS && out->credits[at - 1].ns >= credit->ns)
        return;
    if (at == MOST_NEW_CREDITS)
        at--;
    else
        out->n_credits++;
    for (; at > 0 && out->credits[at - 1].ns < credit->ns; at--)
        out->credits[at] = out->credits[at - 1];
    out->credits[at] = *credit;
}

static double left_of(const struct side *side, const struct ar_piece *like)
{
    for (uint32_t i = 0; i < side->n; i++)
        if (side->pieces[i].location == like->location && side->pieces[i].what == like->what)
            return side->pieces[i].ns;
    return 0;
}

/* What was set off in the end, in which nothing was alike: if the late one does the same later, it is its delay again. */
static void give_credits(const struct side *more, const struct side *less,
                         const struct difference *d, struct ar_stretch *out)
{
    double whole = 0, set_off[2 * AR_STRETCH_PIECES + 1];

    for (uint32_t i = 0; i < more->n; i++) {
        set_off[i] = is_rest(&more->pieces[i])
                         ? 0
                         : more->pieces[i].ns - left_of(&d->more, &more->pieces[i]);
        whole += set_off[i] > 0 ? set_off[i] : 0;
    }
    for (uint32_t k = 0; k < less->n && whole > 0; k++)
        for (uint32_t i = 0; i < more->n && !is_rest(&less->pieces[k]); i++) {
            double ns = less->pieces[k].ns < whole ? less->pieces[k].ns : whole;

            if (set_off[i] > 1)
                add_credit(out, &(struct ar_credit){.location = less->pieces[k].location,
                                                    .done = less->pieces[k].what,
                                                    .instead_location = more->pieces[i].location,
                                                    .instead = more->pieces[i].what | AR_WHAT_CAUSE,
                                                    .ns = ns * set_off[i] / whole});
        }
}

/* ---- all together ----------------------------------------------------------------------------- */

void ar_charge(const struct ar_call_paths *paths, const struct ar_stretch *late,
               const struct ar_stretch *waiting, uint32_t late_location, double wait_ns,
               struct ar_stretch *out)
{
    struct difference d; /* large: none of it is cleared */
    struct side more, less;

    d.paths = paths;
    d.more.n = d.less.n = 0;
    subtract(&d, late, waiting);
    add_missing(&d, late_location, wait_ns);
    bound_unknown(&d.more);
    bound_unknown(&d.less);
    for (enum likeness how = SAME_WORK; how <= SAME_FUNCTION; how++)
        cancel_alike(&d, how);
    use_credits(&d, late, waiting);
    cancel_alike(&d, SAME_FUNCTION_OR_CAUSE);
    more.n = d.more.n;
    less.n = d.less.n;
    memcpy(more.pieces, d.more.pieces, more.n * sizeof *more.pieces);
    memcpy(less.pieces, d.less.pieces, less.n * sizeof *less.pieces);
    cancel_the_rest(&d);
    out->n = out->n_credits = 0;
    for (uint32_t i = 0; i < d.more.n; i++)
        ar_stretch_add(paths, out, &d.more.pieces[i]);
    give_credits(&more, &less, &d, out);
}
