// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/wait_sums.h"

#include "analysis/wait_names.h"
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define N_RECENT 4096 /* a power of two */

static const struct ar_function *function_of(const struct ar_profile *p, uint32_t node)
{
    return &p->functions[p->nodes[node].function];
}

static const char *name_of(const struct ar_profile *p, uint32_t node)
{
    return ar_strtab_text(&p->strings, function_of(p, node)->name);
}

enum ar_status ar_wait_sums_open(struct ar_wait_sums *out, const struct ar_profile *p)
{
    *out = (struct ar_wait_sums){.p = p};
    out->caused_ns = calloc(p->n_processes + 1, sizeof *out->caused_ns);
    out->recent = calloc(N_RECENT, sizeof *out->recent);
    if (!out->caused_ns || !out->recent) {
        ar_wait_sums_close(out);
        return AR_NOMEM;
    }
    return AR_OK;
}

void ar_wait_sums_close(struct ar_wait_sums *s)
{
    free(s->caused_ns);
    for (size_t i = 0; i < s->n_sites; i++) {
        free(s->shares[i].waiting);
        free(s->shares[i].late);
    }
    free(s->shares);
    free(s->sites);
    free(s->charges);
    free(s->recent);
    ar_idmap_free(&s->by_node);
    ar_idmap_free(&s->by_line);
    ar_idmap_free(&s->charge_ids);
    *s = (struct ar_wait_sums){0};
}

/* ---- sites ------------------------------------------------------------------------------------ */

/* What a method of mpi4py is, however many messages it is made of. */
static bool class_of_method(const char *method, enum ar_wait_class *class)
{
    static const struct {
        const char *name;
        enum ar_wait_class class;
    } methods[] = {
        {"barrier", AR_WAIT_BARRIER},      {"allreduce", AR_WAIT_ALL},
        {"allgather", AR_WAIT_ALL},        {"alltoall", AR_WAIT_ALL},
        {"bcast", AR_WAIT_LATE_BROADCAST}, {"scatter", AR_WAIT_LATE_BROADCAST},
        {"reduce", AR_WAIT_EARLY_REDUCE},  {"gather", AR_WAIT_EARLY_REDUCE},
        {"scan", AR_WAIT_EARLY_SCAN},      {"exscan", AR_WAIT_EARLY_SCAN},
    };
    const char *dot = strrchr(method, '.');

    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i].name, dot ? dot + 1 : method) == 0) {
            *class = methods[i].class;
            return true;
        }
    return false;
}

static struct ar_wait_share *new_shares(size_t n_roots)
{
    struct ar_wait_share *shares = calloc(n_roots + 1, sizeof *shares);

    for (uint32_t i = 0; shares && i < n_roots; i++)
        shares[i].process = i;
    return shares;
}

static uint32_t add_site(struct ar_wait_sums *s, const struct ar_wait_site *like)
{
    if (ar_grow((void **)&s->sites, &s->cap_sites, s->n_sites + 1, sizeof *s->sites) < 0 ||
        ar_grow((void **)&s->shares, &s->cap_shares, s->n_sites + 1, sizeof *s->shares) < 0)
        return AR_NO_ID;

    struct ar_site_shares shares = {new_shares(s->p->n_roots), new_shares(s->p->n_roots)};

    s->sites[s->n_sites] = *like;
    s->shares[s->n_sites] = shares;
    s->n_sites++;
    return shares.waiting && shares.late ? (uint32_t)s->n_sites - 1 : AR_NO_ID;
}

static uint32_t site_of_line(struct ar_wait_sums *s, const struct ar_wait_site *like)
{
    uint32_t name = function_of(s->p, like->node)->name;
    uint64_t key = ar_pair_key(
        ar_pair_key((uint64_t)like->place.function << 32 | like->place.line,
                    (uint64_t)name << 8 | (unsigned)like->class << 1 | like->nonblocking),
        like->place.function == AR_NO_ID ? like->node : 0);
    uint32_t id = ar_idmap_get(&s->by_line, key, AR_NO_ID);

    if (id != AR_NO_ID)
        return id;
    id = add_site(s, like);
    if (id != AR_NO_ID && ar_idmap_put(&s->by_line, key, id) < 0)
        return AR_NO_ID;
    return id;
}

static uint32_t new_site(struct ar_wait_sums *s, uint64_t key, uint32_t node,
                         enum ar_wait_class class, bool nonblocking)
{
    uint32_t operation = ar_operation_of(s->p, node);
    struct ar_wait_site like = {.class = class,
                                .node = operation,
                                .mpi = s->p->nodes[node].function,
                                .place = ar_place_of_call(s->p, operation),
                                .nonblocking = nonblocking};

    if (function_of(s->p, operation)->kind == AR_FUNCTION_OPERATION)
        like.is_composed = class_of_method(name_of(s->p, operation), &like.class);

    uint32_t id = site_of_line(s, &like);

    if (id != AR_NO_ID && ar_idmap_put(&s->by_node, key, id) < 0)
        return AR_NO_ID;
    return id;
}

uint32_t ar_wait_sums_site(struct ar_wait_sums *s, uint32_t node, enum ar_wait_class class,
                           bool nonblocking)
{
    uint64_t key = ((uint64_t)node << 8 | (unsigned)class << 1 | nonblocking) + 1;

    if (key == s->last_key) /* ranks do the same at the same time */
        return s->last_site;

    uint32_t id = ar_idmap_get(&s->by_node, key, AR_NO_ID);

    if (id == AR_NO_ID)
        id = new_site(s, key, node, class, nonblocking);
    if (id != AR_NO_ID) {
        s->last_key = key;
        s->last_site = id;
    }
    return id;
}

/* ---- sums ------------------------------------------------------------------------------------- */

static bool is_same(const struct ar_site_charge *a, const struct ar_site_charge *b)
{
    return a->site == b->site && a->process == b->process && a->what == b->what;
}

static uint32_t find_charge(struct ar_wait_sums *s, const struct ar_site_charge *charge)
{
    uint64_t key = ar_pair_key((uint64_t)charge->site << 32 | charge->process, charge->what);
    uint32_t id = ar_idmap_get(&s->charge_ids, key, AR_NO_ID);

    if (id != AR_NO_ID)
        return id;
    if (ar_grow((void **)&s->charges, &s->cap_charges, s->n_charges + 1, sizeof *s->charges) < 0 ||
        ar_idmap_put(&s->charge_ids, key, (uint32_t)s->n_charges) < 0)
        return AR_NO_ID;
    s->charges[s->n_charges] = *charge;
    s->charges[s->n_charges].ns = s->charges[s->n_charges].indirect_ns = 0;
    return (uint32_t)s->n_charges++;
}

/* The same few come again and again. */
enum ar_status ar_wait_sums_charge(struct ar_wait_sums *s, uint32_t site,
                                   const struct ar_piece *piece, bool is_indirect)
{
    struct ar_site_charge charge = {.site = site,
                                    .process = ar_profile_root(s->p, piece->location),
                                    .what = piece->what & ~AR_WHAT_CAUSE};
    uint32_t hash = (charge.what * 31 + charge.process) * 7 + site * 2;
    uint32_t *recent = &s->recent[hash % N_RECENT];

    if (!*recent || !is_same(&s->charges[*recent - 1], &charge)) {
        uint32_t id = find_charge(s, &charge);

        if (id == AR_NO_ID)
            return AR_NOMEM;
        *recent = id + 1;
    }
    s->charges[*recent - 1].ns += piece->ns;
    /* Within one such method ranks wait for each other: that is its own affair. */
    if (is_indirect && !s->sites[site].is_composed)
        s->charges[*recent - 1].indirect_ns += piece->ns;
    if (s->sites[site].is_composed)
        s->shares[site].late[charge.process].ns += piece->ns;
    return AR_OK;
}

enum ar_status ar_wait_sums_charge_all(struct ar_wait_sums *s, uint32_t site,
                                       uint32_t late_location, const struct ar_stretch *charged)
{
    uint32_t late_root = ar_profile_root(s->p, late_location);
    enum ar_status status = AR_OK;

    for (uint32_t i = 0; i < charged->n && status == AR_OK; i++) {
        struct ar_piece piece = charged->pieces[i];

        if (piece.location == AR_NO_ID)
            piece.location = late_location;
        status = ar_wait_sums_charge(s, site, &piece,
                                     ar_profile_root(s->p, piece.location) != late_root);
    }
    return status;
}

/* Of methods that are made of many messages, late is who came late, and not one that only passed it on. */
void ar_wait_sums_add(struct ar_wait_sums *s, uint32_t site, uint32_t process, uint32_t late,
                      double ns)
{
    struct ar_site_shares *shares = &s->shares[site];

    s->sites[site].n++;
    s->sites[site].waited_ns += ns;
    shares->waiting[process].n++;
    shares->waiting[process].ns += ns;
    shares->late[late].n++;
    if (!s->sites[site].is_composed)
        shares->late[late].ns += ns;
}

/* ---- the result ------------------------------------------------------------------------------- */

int ar_wait_share_order(const void *a, const void *b)
{
    const struct ar_wait_share *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    return (x->process > y->process) - (x->process < y->process);
}

static int largest_site(const void *a, const void *b)
{
    const struct ar_wait_site *x = a, *y = b;

    if (x->waited_ns != y->waited_ns)
        return x->waited_ns < y->waited_ns ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Those that have any, the largest first, which gets what rounding to whole nanoseconds leaves. */
static size_t pack_shares(struct ar_wait_share *shares, size_t n_roots, double sum_ns)
{
    size_t n = 0;

    for (size_t i = 0; i < n_roots; i++)
        if (shares[i].ns >= 1) {
            shares[n] = shares[i];
            shares[n].ns = (double)(int64_t)shares[n].ns;
            sum_ns -= shares[n++].ns;
        }
    qsort(shares, n, sizeof *shares, ar_wait_share_order);
    if (n)
        shares[0].ns += sum_ns;
    return n;
}

static int by_site(const void *a, const void *b)
{
    const struct ar_site_charge *x = a, *y = b;

    if (x->site != y->site)
        return x->site < y->site ? -1 : 1;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return (x->what > y->what) - (x->what < y->what);
}

static enum ar_status make_causes(struct ar_wait_sums *s, const struct ar_call_paths *paths,
                                  struct ar_wait_site *sites)
{
    enum ar_status status = AR_OK;

    if (s->n_charges)
        qsort(s->charges, s->n_charges, sizeof *s->charges, by_site);
    for (size_t i = 0, end; i < s->n_charges && status == AR_OK; i = end) {
        for (end = i + 1; end < s->n_charges && s->charges[end].site == s->charges[i].site;)
            end++;
        status = ar_wait_name(paths, &s->charges[i], end - i, &sites[s->charges[i].site]);
        for (size_t k = 0; k < sites[s->charges[i].site].n_causes; k++) {
            const struct ar_wait_cause *cause = &sites[s->charges[i].site].causes[k];

            s->caused_ns[cause->process] += cause->ns;
        }
    }
    return status;
}

enum ar_status ar_wait_sums_take(struct ar_wait_sums *s, const struct ar_call_paths *paths,
                                 struct ar_waits *out)
{
    out->sites = s->sites;
    out->n_sites = s->n_sites;
    for (size_t i = 0; i < s->n_sites; i++) {
        struct ar_wait_site *site = &out->sites[i];

        site->waiting = s->shares[i].waiting;
        site->late = s->shares[i].late;
        site->n_waiting = pack_shares(site->waiting, s->p->n_roots, site->waited_ns);
        site->n_late = pack_shares(site->late, s->p->n_roots, site->waited_ns);
    }
    s->sites = NULL;
    s->n_sites = 0;
    if (make_causes(s, paths, out->sites) < 0)
        return AR_NOMEM;
    if (out->n_sites)
        qsort(out->sites, out->n_sites, sizeof *out->sites, largest_site);
    return AR_OK;
}
