// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/wait_sums.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum what { WAITING, LATE, CAUSE };

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
    out->operation = malloc((p->n_nodes + 1) * sizeof *out->operation);
    out->caused_ns = calloc(p->n_processes + 1, sizeof *out->caused_ns);
    if (!out->operation || !out->caused_ns) {
        ar_wait_sums_close(out);
        return AR_NOMEM;
    }
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        uint32_t above = i ? out->operation[p->nodes[i].parent] : 0;
        bool is_within = function_of(p, above)->kind == AR_FUNCTION_OPERATION;

        out->operation[i] = is_within ? above : i;
    }
    return AR_OK;
}

void ar_wait_sums_close(struct ar_wait_sums *s)
{
    free(s->operation);
    free(s->caused_ns);
    free(s->sites);
    free(s->sums);
    ar_idmap_free(&s->by_node);
    ar_idmap_free(&s->by_line);
    ar_idmap_free(&s->sum_ids);
    *s = (struct ar_wait_sums){0};
}

/* ---- sites ------------------------------------------------------------------------------------ */

/* What a method of mpi4py is, however many messages it is made of. */
static enum ar_wait_class class_of_method(const char *method, enum ar_wait_class otherwise)
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
        if (strcmp(methods[i].name, dot ? dot + 1 : method) == 0)
            return methods[i].class;
    return otherwise;
}

static enum ar_wait_class shown_class(const struct ar_profile *p, uint32_t operation,
                                      enum ar_wait_class class)
{
    if (function_of(p, operation)->kind != AR_FUNCTION_OPERATION)
        return class;
    return class_of_method(name_of(p, operation), class);
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
    if (ar_grow((void **)&s->sites, &s->cap_sites, s->n_sites + 1, sizeof *s->sites) < 0 ||
        ar_idmap_put(&s->by_line, key, (uint32_t)s->n_sites) < 0)
        return AR_NO_ID;
    s->sites[s->n_sites] = *like;
    return (uint32_t)s->n_sites++;
}

uint32_t ar_wait_sums_site(struct ar_wait_sums *s, uint32_t node, enum ar_wait_class class,
                           bool nonblocking)
{
    uint64_t key = ((uint64_t)node << 8 | (unsigned)class << 1 | nonblocking) + 1;
    uint32_t id = ar_idmap_get(&s->by_node, key, AR_NO_ID), operation = s->operation[node];

    if (id != AR_NO_ID)
        return id;

    struct ar_wait_site like = {.class = shown_class(s->p, operation, class),
                                .node = operation,
                                .mpi = s->p->nodes[node].function,
                                .place = ar_place_of_call(s->p, operation),
                                .nonblocking = nonblocking};

    id = site_of_line(s, &like);
    if (id != AR_NO_ID && ar_idmap_put(&s->by_node, key, id) < 0)
        return AR_NO_ID;
    return id;
}

/* ---- sums ------------------------------------------------------------------------------------- */

static enum ar_status add(struct ar_wait_sums *s, struct ar_sum sum)
{
    uint64_t key = ar_pair_key(ar_pair_key((uint64_t)sum.site << 32 | sum.process, sum.node),
                               (uint64_t)sum.what << 1 | sum.indirect);
    uint32_t id = ar_idmap_get(&s->sum_ids, key, AR_NO_ID);

    if (id != AR_NO_ID) {
        s->sums[id].n += sum.n;
        s->sums[id].ns += sum.ns;
        return AR_OK;
    }
    if (ar_grow((void **)&s->sums, &s->cap_sums, s->n_sums + 1, sizeof *s->sums) < 0 ||
        ar_idmap_put(&s->sum_ids, key, (uint32_t)s->n_sums) < 0)
        return AR_NOMEM;
    s->sums[s->n_sums++] = sum;
    return AR_OK;
}

/* Late is who came late to this operation, and not one that only passed it on. */
static uint32_t late_process(const struct ar_wait_sums *s, const struct ar_blame_item *item,
                             uint32_t late)
{
    return ar_profile_root(s->p, item->indirect ? late : item->location);
}

enum ar_status ar_wait_sums_add(struct ar_wait_sums *s, uint32_t site, uint32_t process,
                                uint32_t late, const struct ar_blame *blame, double ns)
{
    s->sites[site].n++;
    s->sites[site].waited_ns += ns;
    if (add(s, (struct ar_sum){site, WAITING, process, 0, false, 1, ns}) < 0)
        return AR_NOMEM;
    for (uint32_t i = 0; i < blame->n; i++) {
        const struct ar_blame_item *item = &blame->items[i];
        uint32_t to_blame = ar_profile_root(s->p, item->location);
        double part = ns * (double)item->share;

        s->caused_ns[to_blame] += part;
        if (add(s, (struct ar_sum){site, LATE, late_process(s, item, late), 0, false, i == 0,
                                   part}) < 0 ||
            add(s, (struct ar_sum){site, CAUSE, to_blame, item->node, item->indirect, 1, part}) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

/* ---- the result ------------------------------------------------------------------------------- */

static int largest_share(const void *a, const void *b)
{
    const struct ar_wait_share *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    return (x->process > y->process) - (x->process < y->process);
}

static int largest_cause(const void *a, const void *b)
{
    const struct ar_wait_cause *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    if (x->process != y->process)
        return x->process > y->process ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

static int largest_site(const void *a, const void *b)
{
    const struct ar_wait_site *x = a, *y = b;

    if (x->waited_ns != y->waited_ns)
        return x->waited_ns < y->waited_ns ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

static bool make_lists(struct ar_wait_site *site)
{
    site->waiting = malloc((site->n_waiting + 1) * sizeof *site->waiting);
    site->late = malloc((site->n_late + 1) * sizeof *site->late);
    site->causes = malloc((site->n_causes + 1) * sizeof *site->causes);
    site->n_waiting = site->n_late = site->n_causes = 0;
    return site->waiting && site->late && site->causes;
}

static void put(struct ar_wait_site *site, const struct ar_sum *sum)
{
    if (sum->what == CAUSE)
        site->causes[site->n_causes++] =
            (struct ar_wait_cause){sum->process, sum->node, sum->indirect, sum->ns};
    else if (sum->what == LATE)
        site->late[site->n_late++] = (struct ar_wait_share){sum->process, sum->n, sum->ns};
    else
        site->waiting[site->n_waiting++] = (struct ar_wait_share){sum->process, sum->n, sum->ns};
}

static void count(struct ar_wait_site *site, const struct ar_sum *sum)
{
    site->n_waiting += sum->what == WAITING;
    site->n_late += sum->what == LATE;
    site->n_causes += sum->what == CAUSE;
}

enum ar_status ar_wait_sums_take(struct ar_wait_sums *s, struct ar_waits *out)
{
    out->sites = s->sites;
    out->n_sites = s->n_sites;
    s->sites = NULL;
    for (size_t i = 0; i < s->n_sums; i++)
        count(&out->sites[s->sums[i].site], &s->sums[i]);

    bool made = true;

    for (size_t i = 0; i < out->n_sites; i++) /* all of them: they are freed by their number */
        made = make_lists(&out->sites[i]) && made;
    if (!made)
        return AR_NOMEM;
    for (size_t i = 0; i < s->n_sums; i++)
        put(&out->sites[s->sums[i].site], &s->sums[i]);
    for (size_t i = 0; i < out->n_sites; i++) {
        struct ar_wait_site *site = &out->sites[i];

        qsort(site->waiting, site->n_waiting, sizeof *site->waiting, largest_share);
        qsort(site->late, site->n_late, sizeof *site->late, largest_share);
        qsort(site->causes, site->n_causes, sizeof *site->causes, largest_cause);
    }
    if (out->n_sites)
        qsort(out->sites, out->n_sites, sizeof *out->sites, largest_site);
    return AR_OK;
}
