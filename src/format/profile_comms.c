// SPDX-License-Identifier: BSD-3-Clause
/* Communicators of a profile, and who belongs to them: see profile.h. */
#include "format/profile.h"

#include <stdlib.h>
#include <string.h>

/* ---- communicators ---------------------------------------------------------------------------- */

const char *ar_comm_origin_name(uint32_t origin)
{
    static const char *const names[AR_N_COMM_ORIGINS] = {
        [AR_COMM_UNKNOWN] = "unknown", [AR_COMM_WORLD] = "world",
        [AR_COMM_SELF] = "self",       [AR_COMM_DUP] = "dup",
        [AR_COMM_SPLIT] = "split",     [AR_COMM_CREATE] = "create",
        [AR_COMM_GROUP] = "group",     [AR_COMM_TOPOLOGY] = "topology",
        [AR_COMM_INTER] = "intercomm", [AR_COMM_MERGE] = "merge",
        [AR_COMM_SPAWN] = "spawn",     [AR_COMM_CONNECT] = "connect",
        [AR_COMM_PARENT] = "parent",   [AR_COMM_WINDOW] = "window",
        [AR_COMM_FILE] = "file",
    };

    return origin < AR_N_COMM_ORIGINS ? names[origin] : "unknown";
}

/* MPI_COMM_SELF is another on each rank, and the same to readers of a table of them. */
static bool same_comm(const struct ar_comm *a, const struct ar_comm *b)
{
    if (a->origin == AR_COMM_SELF || b->origin == AR_COMM_SELF)
        return a->origin == b->origin;
    if (a->identity || b->identity)
        return a->identity == b->identity;
    return a->name == b->name && a->origin == b->origin && a->size == b->size &&
           a->remote_size == b->remote_size && a->parent == b->parent && a->made_at == b->made_at &&
           a->is_hidden == b->is_hidden;
}

static uint64_t comm_key(const struct ar_comm *comm)
{
    if (comm->origin == AR_COMM_SELF)
        return AR_COMM_SELF;
    if (comm->identity)
        return ar_mix64(comm->identity);
    return ar_pair_key(ar_pair_key(comm->name, (uint64_t)comm->origin << 32 | comm->size),
                       ar_pair_key(comm->parent, comm->made_at));
}

/* What one process did not know of it another may. */
static void complete(struct ar_comm *known, const struct ar_comm *comm)
{
    if (!known->name)
        known->name = comm->name;
    if (!known->made_at)
        known->made_at = comm->made_at;
}

enum ar_status ar_profile_comm(struct ar_profile *p, struct ar_comm comm, uint32_t *id)
{
    uint64_t key = comm_key(&comm);

    for (;; key++) {
        uint32_t found = ar_idmap_get(&p->comm_ids, key ? key : 1, AR_NO_ID);

        if (found == AR_NO_ID)
            break;
        if (same_comm(&p->comms[found], &comm)) {
            complete(&p->comms[found], &comm);
            *id = found;
            return AR_OK;
        }
    }
    if (ar_grow((void **)&p->comms, &p->cap_comms, p->n_comms + 1, sizeof *p->comms) < 0 ||
        ar_idmap_put(&p->comm_ids, key ? key : 1, (uint32_t)p->n_comms) < 0)
        return AR_NOMEM;
    *id = (uint32_t)p->n_comms;
    p->comms[p->n_comms++] = comm;
    return AR_OK;
}

/* Parents have smaller numbers: this ends. */
uint32_t ar_comm_shown(const struct ar_profile *p, uint32_t comm)
{
    while (comm && p->comms[comm - 1].is_hidden && p->comms[comm - 1].parent)
        comm = p->comms[comm - 1].parent;
    return comm;
}

/* ---- members ---------------------------------------------------------------------------------- */

/* A thread that waits on a hidden one is shown to wait on its parent. */
enum ar_status ar_profile_trim_members(struct ar_profile *p)
{
    bool *is_used = calloc(p->n_comms + 1, sizeof *is_used); /* by number plus 1 */
    size_t n = 0;

    if (!is_used)
        return AR_NOMEM;
    for (size_t i = 0; i < p->n_open_calls; i++) {
        uint32_t comm = ar_open_calls_at(p, i)->comm;

        is_used[comm] = is_used[ar_comm_shown(p, comm)] = true;
    }
    for (size_t i = 0; i < p->n_members; i++)
        if (is_used[ar_members_at(p, i)->comm + 1])
            memmove(ar_members_at(p, n++), ar_members_at(p, i), p->members_bytes);
    p->n_members = n;
    free(is_used);
    return AR_OK;
}
