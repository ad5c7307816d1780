// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/comm_members.h"

#include "base/arena.h"
#include "format/trace.h"

#include <stdlib.h>

struct finding {
    const struct ar_profile *p;
    struct ar_comm_members *out;
    enum ar_status status;
};

/* ---- representatives -------------------------------------------------------------------------- */

static bool is_like_parent(const struct ar_comm *comm)
{
    return comm->parent && (comm->origin == AR_COMM_DUP || comm->origin == AR_COMM_WINDOW ||
                            comm->origin == AR_COMM_FILE);
}

/* Parents come first. */
static void choose_representatives(struct finding *f)
{
    uint32_t *alike = f->out->alike;

    for (uint32_t i = 0; i < f->p->n_comms; i++)
        alike[i] = is_like_parent(&f->p->comms[i]) && f->p->comms[i].parent <= i
                       ? alike[f->p->comms[i].parent - 1]
                       : i;
}

/* ---- what is known ---------------------------------------------------------------------------- */

enum ar_status ar_comm_members_add(struct ar_comm_members *members, uint32_t comm, uint32_t rank,
                                   uint32_t world_rank)
{
    if (comm >= members->n_comms || rank == AR_NO_ID || world_rank == AR_RANK_NONE)
        return AR_OK;
    if (ar_grow((void **)&members->items, &members->cap, members->n + 1, sizeof *members->items) <
        0)
        return AR_NOMEM;
    members->items[members->n++] = (struct ar_comm_member){members->alike[comm], rank, world_rank};
    return AR_OK;
}

static void add(struct finding *f, uint32_t comm, uint32_t rank, uint32_t world_rank)
{
    if (f->status == AR_OK)
        f->status = ar_comm_members_add(f->out, comm, rank, world_rank);
}

/* AR_RANK_NONE: it has none. What a rank has started is no member. */
static uint32_t world_rank_of(const struct ar_profile *p, uint32_t process)
{
    return process < p->n_processes && !p->processes[process].root_pid
               ? p->processes[process].world_rank
               : AR_RANK_NONE;
}

static uint32_t world_rank_at(const struct finding *f, uint32_t location)
{
    return world_rank_of(f->p, f->p->locations[location].process);
}

static void add_world(struct finding *f)
{
    for (uint32_t comm = 0; comm < f->p->n_comms; comm++)
        for (uint32_t i = 0; f->p->comms[comm].origin == AR_COMM_WORLD && i < f->p->n_processes;
             i++) {
            uint32_t rank = world_rank_of(f->p, i);

            if (rank != AR_RANK_NONE)
                add(f, comm, AR_OWN_RANK(rank, 0), rank);
        }
}

static void add_streams(struct finding *f)
{
    for (size_t i = 0; i < f->p->n_streams; i++) {
        const struct ar_stream *stream = &f->p->streams[i];

        for (size_t c = 0; c < stream->n_comms; c++)
            if (stream->comms[c].comm)
                add(f, stream->comms[c].comm - 1, stream->comms[c].rank,
                    world_rank_at(f, stream->location));
    }
    for (size_t i = 0; i < f->p->n_members; i++) {
        const struct ar_member *member = ar_members_at(f->p, i);

        add(f, member->comm, member->rank, world_rank_of(f->p, member->process));
    }
}

/* Peers of messages within one group. Of two groups it is not said in which of them the peer is. */
static void add_peers(struct finding *f)
{
    for (size_t i = 0; i < f->p->n_traffic; i++) {
        const struct ar_traffic *t = ar_traffic_at(f->p, i);

        if (t->comm && t->comm <= f->p->n_comms && t->peer < AR_PEER_UNKNOWN &&
            t->world_peer < AR_PEER_UNKNOWN && !f->p->comms[t->comm - 1].remote_size)
            add(f, t->comm - 1, AR_OWN_RANK(t->peer, 0), t->world_peer);
    }
}

/* Nobody synchronises with itself: whose it is, is known from its use. */
static void add_single(struct finding *f, uint32_t comm, uint32_t location)
{
    const struct ar_comm *c = &f->p->comms[comm];

    if (c->size == 1 && !c->remote_size && c->origin != AR_COMM_SELF)
        add(f, comm, AR_OWN_RANK(0, 0), world_rank_at(f, location));
}

static void add_singles(struct finding *f)
{
    for (size_t i = 0; i < f->p->n_traffic; i++) {
        const struct ar_traffic *t = ar_traffic_at(f->p, i);

        if (t->comm && t->comm <= f->p->n_comms)
            add_single(f, t->comm - 1, t->location);
    }
    for (size_t i = 0; i < f->p->other_streams.n; i++) {
        const struct ar_other_stream *stream = &f->p->other_streams.items[i];

        if (!ar_is_trace(stream) || stream->n_tables < AR_N_TRACE_TABLES)
            continue;
        for (size_t c = 0; c < stream->tables[1].n; c++)
            if (stream->tables[1].numbers[c] && stream->tables[1].numbers[c] <= f->p->n_comms)
                add_single(f, stream->tables[1].numbers[c] - 1, stream->location);
    }
}

/* ---- in order --------------------------------------------------------------------------------- */

static int in_order(const void *a, const void *b)
{
    const struct ar_comm_member *x = a, *y = b;

    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->world_rank > y->world_rank) - (x->world_rank < y->world_rank);
}

/* What two ranks claim is the first one's. */
void ar_comm_members_end(struct ar_comm_members *members)
{
    size_t n = 0;

    if (members->n)
        qsort(members->items, members->n, sizeof *members->items, in_order);
    for (size_t i = 0; i < members->n; i++)
        if (!n || members->items[n - 1].comm != members->items[i].comm ||
            members->items[n - 1].rank != members->items[i].rank)
            members->items[n++] = members->items[i];
    members->n = n;
    for (size_t comm = 0, at = 0; comm <= members->n_comms; comm++) {
        while (at < n && members->items[at].comm < comm)
            at++;
        members->first[comm] = at;
    }
}

enum ar_status ar_comm_members_begin(struct ar_comm_members *out, const struct ar_profile *p)
{
    struct finding f = {.p = p, .out = out};

    *out = (struct ar_comm_members){.first = calloc(p->n_comms + 1, sizeof *out->first),
                                    .alike = calloc(p->n_comms + 1, sizeof *out->alike),
                                    .n_comms = p->n_comms};
    if (!out->first || !out->alike) {
        ar_comm_members_free(out);
        return AR_NOMEM;
    }
    choose_representatives(&f);
    add_world(&f);
    add_streams(&f);
    add_peers(&f);
    add_singles(&f);
    if (f.status < 0)
        ar_comm_members_free(out);
    return f.status;
}

void ar_comm_members_free(struct ar_comm_members *members)
{
    free(members->items);
    free(members->first);
    free(members->alike);
    *members = (struct ar_comm_members){0};
}

const struct ar_comm_member *ar_comm_members_of(const struct ar_comm_members *members,
                                                uint32_t comm, size_t *n)
{
    uint32_t alike = members->alike[comm];

    *n = members->first[alike + 1] - members->first[alike];
    return members->items + members->first[alike];
}
