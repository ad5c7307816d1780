// SPDX-License-Identifier: BSD-3-Clause
/* Communicators, messages and requests of a profile: see profile.h. */
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

enum ar_status ar_profile_member(struct ar_profile *p, struct ar_member member)
{
    if (ar_grow((void **)&p->members, &p->cap_members, p->n_members + 1, sizeof *p->members) < 0)
        return AR_NOMEM;
    p->members[p->n_members++] = member;
    return AR_OK;
}

void ar_profile_renumber_members(struct ar_profile *p, const uint32_t *numbers)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_members; i++) {
        p->members[n] = p->members[i];
        p->members[n].process = numbers[p->members[i].process];
        n += p->members[n].process != AR_NO_ID;
    }
    p->n_members = n;
}

/* A thread that waits on a hidden one is shown to wait on its parent. */
enum ar_status ar_profile_trim_members(struct ar_profile *p)
{
    bool *is_used = calloc(p->n_comms + 1, sizeof *is_used); /* by number plus 1 */
    size_t n = 0;

    if (!is_used)
        return AR_NOMEM;
    for (size_t i = 0; i < p->n_locations; i++) {
        uint32_t comm = p->locations[i].open.comm;

        is_used[comm] = is_used[ar_comm_shown(p, comm)] = true;
    }
    for (size_t i = 0; i < p->n_members; i++)
        if (is_used[p->members[i].comm + 1])
            p->members[n++] = p->members[i];
    p->n_members = n;
    free(is_used);
    return AR_OK;
}

/* ---- messages and requests -------------------------------------------------------------------- */

enum ar_status ar_profile_traffic(struct ar_profile *p, struct ar_traffic traffic)
{
    if (ar_grow((void **)&p->traffic, &p->cap_traffic, p->n_traffic + 1, sizeof *p->traffic) < 0)
        return AR_NOMEM;
    p->traffic[p->n_traffic++] = traffic;
    return AR_OK;
}

enum ar_status ar_profile_completed(struct ar_profile *p, struct ar_completed completed)
{
    if (ar_grow((void **)&p->completed, &p->cap_completed, p->n_completed + 1,
                sizeof *p->completed) < 0)
        return AR_NOMEM;
    p->completed[p->n_completed++] = completed;
    return AR_OK;
}

void ar_profile_renumber_traffic(struct ar_profile *p, const uint32_t *numbers)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_traffic; i++) {
        p->traffic[n] = p->traffic[i];
        p->traffic[n].location = numbers[p->traffic[i].location];
        n += p->traffic[n].location != AR_NO_ID;
    }
    p->n_traffic = n;
    n = 0;
    for (size_t i = 0; i < p->n_completed; i++) {
        p->completed[n] = p->completed[i];
        p->completed[n].location = numbers[p->completed[i].location];
        n += p->completed[n].location != AR_NO_ID;
    }
    p->n_completed = n;
}

/* ---- order ------------------------------------------------------------------------------------ */

static int compare_words(const uint32_t *a, const uint32_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

#define TRAFFIC_KEY_WORDS 6
#define COMPLETED_KEY_WORDS 3
_Static_assert(offsetof(struct ar_traffic, n_out) == sizeof(uint32_t) * TRAFFIC_KEY_WORDS,
               "keys come first");
_Static_assert(offsetof(struct ar_completed, spare) == sizeof(uint32_t) * COMPLETED_KEY_WORDS,
               "keys come first");

static int by_traffic_key(const void *a, const void *b)
{
    return compare_words(a, b, TRAFFIC_KEY_WORDS);
}

static int by_completed_key(const void *a, const void *b)
{
    return compare_words(a, b, COMPLETED_KEY_WORDS);
}

/* What was in order before, as in a file that was read, is not sorted again. */
static void put_in_order(void *items, size_t n, size_t item_bytes,
                         int (*compare)(const void *, const void *))
{
    const char *at = items;

    for (size_t i = 1; i < n; i++)
        if (compare(at + (i - 1) * item_bytes, at + i * item_bytes) > 0) {
            qsort(items, n, item_bytes, compare);
            return;
        }
}

static void add_traffic(struct ar_traffic *to, const struct ar_traffic *from)
{
    to->n_out += from->n_out;
    to->bytes_out += from->bytes_out;
    to->n_in += from->n_in;
    to->bytes_in += from->bytes_in;
    to->ns += from->ns;
}

static void add_completed(struct ar_completed *to, const struct ar_completed *from)
{
    to->n += from->n;
    to->flight_ns += from->flight_ns;
    to->waited_ns += from->waited_ns;
    to->exposed_ns += from->exposed_ns;
}

/* As two call sites on one line, which are one node, and two handles that are one communicator. */
static void combine_traffic(struct ar_profile *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_traffic; i++)
        if (n && by_traffic_key(&p->traffic[n - 1], &p->traffic[i]) == 0)
            add_traffic(&p->traffic[n - 1], &p->traffic[i]);
        else
            p->traffic[n++] = p->traffic[i];
    p->n_traffic = n;
}

static void combine_completed(struct ar_profile *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_completed; i++)
        if (n && by_completed_key(&p->completed[n - 1], &p->completed[i]) == 0)
            add_completed(&p->completed[n - 1], &p->completed[i]);
        else
            p->completed[n++] = p->completed[i];
    p->n_completed = n;
}

void ar_profile_sort_traffic(struct ar_profile *p)
{
    put_in_order(p->traffic, p->n_traffic, sizeof *p->traffic, by_traffic_key);
    combine_traffic(p);
    put_in_order(p->completed, p->n_completed, sizeof *p->completed, by_completed_key);
    combine_completed(p);
}

static bool is_strictly_sorted(const void *items, size_t n, size_t item_bytes,
                               int (*compare)(const void *, const void *))
{
    const char *at = items;

    for (size_t i = 1; i < n; i++)
        if (compare(at + (i - 1) * item_bytes, at + i * item_bytes) >= 0)
            return false;
    return true;
}

bool ar_profile_traffic_is_sorted(const struct ar_profile *p)
{
    return is_strictly_sorted(p->traffic, p->n_traffic, sizeof *p->traffic, by_traffic_key);
}

bool ar_profile_completed_is_sorted(const struct ar_profile *p)
{
    return is_strictly_sorted(p->completed, p->n_completed, sizeof *p->completed, by_completed_key);
}
