// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/wait_partners.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

/* A collective call, up to the last of its members. */
struct group {
    uint32_t n, first; /* arrivals, linked */
};

/* Those of a communicator that have not all come yet: from number `base` on. */
struct comm {
    struct group *groups;
    size_t head, n, cap; /* the first `head` are done with */
    uint32_t base;
};

struct queue {
    uint32_t first, last;
};

enum side { SENT, RECEIVED, PROBED, TAKEN, N_SIDES };

/* Sends that were received, for those who will be found to have waited for that: the last few. */
#define N_RECENT 4

/* Messages between two ranks with one tag on one communicator. */
struct channel {
    struct queue queues[N_SIDES];
    uint32_t location[N_SIDES]; /* plus 1, of the thread that was first */
    bool is_ambiguous;
    uint32_t n_recent; /* ever */
    struct {
        int64_t posted_ns;
        uint32_t received; /* 0: not any more */
    } recent[N_RECENT];
};

struct ar_partners {
    const struct ar_profile *p;
    struct ar_partners_tell tell;
    struct ar_idmap ranks; /* rank in a communicator, by it and the rank in MPI_COMM_WORLD */
    struct comm *comms;    /* by number plus 1 */
    struct channel *channels;
    size_t n_channels, cap_channels;
    struct ar_idmap channel_ids;
    struct ar_arrival *arrivals; /* from 1: 0 ends a list */
    size_t n_arrivals, cap_arrivals;
    uint32_t free;
    uint32_t *waiting; /* of the meeting at hand */
    size_t cap_waiting;
};

/* ---- ranks ------------------------------------------------------------------------------------ */

static uint64_t rank_key(uint32_t comm, uint32_t world_rank)
{
    return ((uint64_t)comm << 32 | world_rank) + 1;
}

static bool is_rank(uint32_t peer)
{
    return peer < AR_PEER_UNKNOWN;
}

static enum ar_status find_ranks(struct ar_partners *all)
{
    for (size_t i = 0; i < all->p->n_traffic; i++) {
        const struct ar_traffic *t = &all->p->traffic[i];

        if (t->comm && is_rank(t->peer) && is_rank(t->world_peer) &&
            ar_idmap_put(&all->ranks, rank_key(t->comm, t->world_peer), t->peer) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

/* Where nobody has sent it anything, a process has the rank that it has in MPI_COMM_WORLD if that fits. */
static uint32_t rank_in(const struct ar_partners *all, uint32_t comm, uint32_t process)
{
    uint32_t world_rank = all->p->processes[process].world_rank;
    const struct ar_comm *c = &all->p->comms[comm - 1];

    if (c->origin == AR_COMM_WORLD)
        return world_rank;

    uint32_t rank = ar_idmap_get(&all->ranks, rank_key(comm, world_rank), AR_NO_ID);

    if (rank == AR_NO_ID && c->size == all->p->processes[process].world_size)
        return world_rank;
    return rank;
}

/* ---- arrivals --------------------------------------------------------------------------------- */

static uint32_t new_arrival(struct ar_partners *all, const struct ar_arrival *like)
{
    uint32_t id = all->free;

    if (id) {
        all->free = all->arrivals[id].next;
    } else {
        if (ar_grow((void **)&all->arrivals, &all->cap_arrivals, all->n_arrivals + 2,
                    sizeof *all->arrivals) < 0)
            return 0;
        id = (uint32_t)++all->n_arrivals;
    }
    all->arrivals[id] = *like;
    all->arrivals[id].next = 0;
    return id;
}

static void leave(struct ar_partners *all, uint32_t id, bool is_resolved)
{
    all->tell.left(all->tell.who, id, is_resolved);
    all->arrivals[id].next = all->free;
    all->free = id;
}

static uint32_t leave_all(struct ar_partners *all, uint32_t first, bool is_resolved)
{
    uint32_t n = 0;

    for (uint32_t id = first, next; id; id = next, n++) {
        next = all->arrivals[id].next;
        leave(all, id, is_resolved);
    }
    return n;
}

const struct ar_arrival *ar_partners_get(const struct ar_partners *all, uint32_t arrival)
{
    return &all->arrivals[arrival];
}

/* ---- collective calls ------------------------------------------------------------------------- */

static bool came_later(const struct ar_partners *all, uint32_t a, uint32_t b)
{
    return !b || all->arrivals[a].came_ns > all->arrivals[b].came_ns;
}

/* All but one, where that is not 0. */
static size_t list_waiting(struct ar_partners *all, const struct group *group, uint32_t but)
{
    size_t n = 0;

    for (uint32_t id = group->first; id; id = all->arrivals[id].next)
        if (id != but)
            all->waiting[n++] = id;
    return n;
}

static uint32_t last_of(const struct ar_partners *all, const struct group *group, uint32_t but)
{
    uint32_t last = 0;

    for (uint32_t id = group->first; id; id = all->arrivals[id].next)
        if (id != but && came_later(all, id, last))
            last = id;
    return last;
}

static void met(struct ar_partners *all, enum ar_wait_class class, uint32_t late,
                const uint32_t *waiting, size_t n)
{
    if (late && n)
        all->tell.met(all->tell.who, class, late, waiting, n);
}

static uint32_t find_root(const struct ar_partners *all, const struct group *group, uint32_t comm,
                          uint32_t root)
{
    for (uint32_t id = group->first; id; id = all->arrivals[id].next)
        if (rank_in(all, comm, all->arrivals[id].process) == root)
            return id;
    return 0;
}

static const struct ar_partners *sorting;
static uint32_t sorting_comm;

static int by_rank(const void *a, const void *b)
{
    uint32_t x = sorting->arrivals[*(const uint32_t *)a].process;
    uint32_t y = sorting->arrivals[*(const uint32_t *)b].process;
    uint32_t rx = rank_in(sorting, sorting_comm, x), ry = rank_in(sorting, sorting_comm, y);

    if (rx ==
        ry) { /* not known: splitting keeps the order of the world, if nothing else is asked for */
        rx = sorting->p->processes[x].world_rank;
        ry = sorting->p->processes[y].world_rank;
    }
    return (rx > ry) - (rx < ry);
}

static void meet_in_turn(struct ar_partners *all, const struct group *group, uint32_t comm)
{
    size_t n = list_waiting(all, group, 0);
    uint32_t last = 0;

    sorting = all;
    sorting_comm = comm;
    qsort(all->waiting, n, sizeof *all->waiting, by_rank);
    for (size_t i = 0; i < n; i++) {
        met(all, AR_WAIT_EARLY_SCAN, last, &all->waiting[i], 1);
        if (came_later(all, all->waiting[i], last))
            last = all->waiting[i];
    }
}

/* false: it is not known who the root is. */
static bool meet(struct ar_partners *all, const struct group *group,
                 const struct ar_profile_sync *sync)
{
    bool has_root = sync->kind == AR_SYNC_FROM_ROOT || sync->kind == AR_SYNC_TO_ROOT;
    uint32_t root = has_root ? find_root(all, group, sync->comm, sync->peer) : 0;
    uint32_t last = last_of(all, group, sync->kind == AR_SYNC_TO_ROOT ? root : 0);

    if (has_root && !root)
        return false;
    if (sync->kind == AR_SYNC_FROM_ROOT)
        met(all, AR_WAIT_LATE_BROADCAST, root, all->waiting, list_waiting(all, group, root));
    else if (sync->kind == AR_SYNC_TO_ROOT)
        met(all, AR_WAIT_EARLY_REDUCE, last, &root, 1);
    else if (sync->kind == AR_SYNC_SCAN)
        meet_in_turn(all, group, sync->comm);
    else
        met(all, sync->kind == AR_SYNC_BARRIER ? AR_WAIT_BARRIER : AR_WAIT_ALL, last, all->waiting,
            list_waiting(all, group, last));
    return true;
}

/* The one with that number; those in between are made, too. */
static struct group *group_of(struct comm *comm, uint32_t sequence)
{
    size_t at = sequence - comm->base;

    if (comm->head > 64 && comm->head > comm->n / 2) {
        comm->n -= comm->head;
        memmove(comm->groups, comm->groups + comm->head, comm->n * sizeof *comm->groups);
        comm->base += (uint32_t)comm->head;
        at -= comm->head;
        comm->head = 0;
    }
    if (ar_grow((void **)&comm->groups, &comm->cap, at + 1, sizeof *comm->groups) < 0)
        return NULL;
    for (; comm->n <= at; comm->n++)
        comm->groups[comm->n] = (struct group){0};
    return &comm->groups[at];
}

/* Ranks may be so many operations apart; a damaged file may say any number. */
#define FARTHEST ((size_t)1 << 24)

static bool is_sensible(const struct comm *comm, uint32_t sequence)
{
    return sequence >= comm->base && sequence - comm->base >= comm->head &&
           sequence - comm->base - comm->head < FARTHEST;
}

static enum ar_status add_to_group(struct ar_partners *all, const struct ar_profile_sync *sync,
                                   uint32_t id)
{
    struct comm *comm = &all->comms[sync->comm];
    struct group *group = is_sensible(comm, sync->sequence) ? group_of(comm, sync->sequence) : NULL;

    if (!group) {
        leave(all, id, false);
        return AR_OK;
    }
    all->arrivals[id].next = group->first;
    group->first = id;
    if (ar_grow((void **)&all->waiting, &all->cap_waiting, ++group->n, sizeof *all->waiting) < 0)
        return AR_NOMEM;
    if (group->n < all->p->comms[sync->comm - 1].size)
        return AR_OK;

    uint32_t first = group->first;
    bool is_resolved = meet(all, group, sync);

    *group = (struct group){.n = UINT32_MAX};
    while (comm->head < comm->n && comm->groups[comm->head].n == UINT32_MAX)
        comm->head++;
    leave_all(all, first, is_resolved);
    return AR_OK;
}

/* ---- messages --------------------------------------------------------------------------------- */

static struct channel *channel_of(struct ar_partners *all, const struct ar_profile_sync *sync,
                                  uint32_t from, uint32_t to)
{
    uint64_t key =
        ar_pair_key((uint64_t)sync->comm << 32 | sync->sequence, (uint64_t)from << 32 | to);
    uint32_t id = ar_idmap_get(&all->channel_ids, key, AR_NO_ID);

    if (id != AR_NO_ID)
        return &all->channels[id];
    if (ar_grow((void **)&all->channels, &all->cap_channels, all->n_channels + 1,
                sizeof *all->channels) < 0 ||
        ar_idmap_put(&all->channel_ids, key, (uint32_t)all->n_channels) < 0)
        return NULL;
    all->channels[all->n_channels] = (struct channel){0};
    return &all->channels[all->n_channels++];
}

/* In the order in which they were posted, which is that in which MPI lets them meet. */
static void enqueue(struct ar_partners *all, struct queue *queue, uint32_t id)
{
    uint32_t *link = &queue->first;

    if (queue->last && !came_later(all, queue->last, id))
        link = &all->arrivals[queue->last].next;
    while (*link && !came_later(all, *link, id))
        link = &all->arrivals[*link].next;
    all->arrivals[id].next = *link;
    *link = id;
    if (!all->arrivals[id].next)
        queue->last = id;
}

static uint32_t dequeue(struct ar_partners *all, struct queue *queue)
{
    uint32_t id = queue->first;

    queue->first = all->arrivals[id].next;
    if (!queue->first)
        queue->last = 0;
    all->arrivals[id].next = 0;
    return id;
}

/* Those who had asked for the message before it was received waited for it as well. */
static void meet_probes(struct ar_partners *all, struct channel *channel, uint32_t sent,
                        uint32_t received)
{
    struct queue *probes = &channel->queues[PROBED];

    while (probes->first &&
           all->arrivals[probes->first].waits_ns <= all->arrivals[received].exit_ns) {
        uint32_t id = dequeue(all, probes);

        met(all, AR_WAIT_LATE_SENDER, sent, &id, 1);
        leave(all, id, true);
    }
}

/* ---- sends that are waited for later ---------------------------------------------------------- */

/* Both are the same instant of one process, rounded. */
static bool is_same_time(int64_t a, int64_t b)
{
    return a - b < 2 && b - a < 2;
}

static void meet_receiver(struct ar_partners *all, uint32_t taken, uint32_t received)
{
    if (all->arrivals[received].came_ns > all->arrivals[taken].waits_ns)
        met(all, AR_WAIT_LATE_RECEIVER, received, &taken, 1);
    leave(all, taken, true);
}

/* false: its message has not been received yet. */
static bool meet_recent(struct ar_partners *all, struct channel *channel, uint32_t taken)
{
    for (uint32_t i = 0; i < N_RECENT; i++)
        if (channel->recent[i].received &&
            is_same_time(channel->recent[i].posted_ns, all->arrivals[taken].came_ns)) {
            meet_receiver(all, taken, channel->recent[i].received);
            leave(all, channel->recent[i].received, true);
            channel->recent[i].received = 0;
            return true;
        }
    return false;
}

static enum ar_status keep_recent(struct ar_partners *all, struct channel *channel, uint32_t sent,
                                  uint32_t received)
{
    uint32_t at = channel->n_recent++ % N_RECENT;
    struct ar_arrival copy = all->arrivals[received];
    uint32_t id;

    copy.call = 0;
    id = new_arrival(all, &copy);
    if (!id)
        return AR_NOMEM;
    all->tell.kept(all->tell.who, id);
    if (channel->recent[at].received)
        leave(all, channel->recent[at].received, true);
    channel->recent[at].received = id;
    channel->recent[at].posted_ns = all->arrivals[sent].exit_ns;
    return AR_OK;
}

/* One that was posted: whoever waits for it has come already, or will. */
static enum ar_status meet_posted(struct ar_partners *all, struct channel *channel, uint32_t sent,
                                  uint32_t received)
{
    for (uint32_t *link = &channel->queues[TAKEN].first; *link; link = &all->arrivals[*link].next)
        if (is_same_time(all->arrivals[*link].came_ns, all->arrivals[sent].exit_ns)) {
            uint32_t taken = *link;

            *link = all->arrivals[taken].next;
            channel->queues[TAKEN].last = 0;
            meet_receiver(all, taken, received);
            return AR_OK;
        }
    return keep_recent(all, channel, sent, received);
}

/* A message that was sent before anybody came for it, and was let go, has not waited. */
static void meet_both(struct ar_partners *all, uint32_t sent, uint32_t received)
{
    const struct ar_arrival *s = &all->arrivals[sent], *r = &all->arrivals[received];

    if (s->came_ns > r->waits_ns)
        met(all, AR_WAIT_LATE_SENDER, sent, &received, 1);
    else if (r->came_ns > s->waits_ns && s->exit_ns >= r->came_ns)
        met(all, AR_WAIT_LATE_RECEIVER, received, &sent, 1);
}

static enum ar_status meet_message(struct ar_partners *all, struct channel *channel)
{
    uint32_t sent = dequeue(all, &channel->queues[SENT]);
    uint32_t received = dequeue(all, &channel->queues[RECEIVED]);
    enum ar_status status = AR_OK;

    if (!channel->is_ambiguous) {
        meet_probes(all, channel, sent, received);
        meet_both(all, sent, received);
        if (all->arrivals[sent].is_posted)
            status = meet_posted(all, channel, sent, received);
    }
    leave(all, sent, !channel->is_ambiguous);
    leave(all, received, !channel->is_ambiguous);
    return status;
}

static enum side side_of(uint32_t kind)
{
    switch (kind) {
    case AR_SYNC_SEND:
        return SENT;
    case AR_SYNC_RECEIVE:
        return RECEIVED;
    case AR_SYNC_PROBE:
        return PROBED;
    default:
        return TAKEN;
    }
}

static enum ar_status add_message(struct ar_partners *all, const struct ar_profile_sync *sync,
                                  uint32_t id)
{
    uint32_t own = rank_in(all, sync->comm, all->arrivals[id].process);
    enum side side = side_of(sync->kind);
    bool sends = side == SENT || side == TAKEN;

    if (own == AR_NO_ID || !is_rank(sync->peer)) {
        leave(all, id, false);
        return AR_OK;
    }

    struct channel *channel =
        channel_of(all, sync, sends ? own : sync->peer, sends ? sync->peer : own);

    if (!channel)
        return AR_NOMEM;

    uint32_t location = all->arrivals[id].location + 1;

    if (!channel->location[side])
        channel->location[side] = location;
    channel->is_ambiguous = channel->is_ambiguous || channel->location[side] != location;
    if (side == TAKEN && meet_recent(all, channel, id))
        return AR_OK;
    enqueue(all, &channel->queues[side], id);
    if (channel->queues[SENT].first && channel->queues[RECEIVED].first)
        return meet_message(all, channel);
    return AR_OK;
}

/* ---- all of them ------------------------------------------------------------------------------ */

struct ar_partners *ar_partners_new(const struct ar_profile *p, struct ar_partners_tell tell)
{
    struct ar_partners *all = calloc(1, sizeof *all);

    if (!all)
        return NULL;
    all->p = p;
    all->tell = tell;
    all->comms = calloc(p->n_comms + 1, sizeof *all->comms);
    if (!all->comms || find_ranks(all) < 0) {
        ar_partners_delete(all);
        return NULL;
    }
    return all;
}

/* Those without an identity may be several. */
static bool is_known(const struct ar_partners *all, uint32_t comm)
{
    const struct ar_comm *c = comm ? &all->p->comms[comm - 1] : NULL;

    return c && c->size && !c->remote_size &&
           (c->identity || c->origin == AR_COMM_WORLD || c->origin == AR_COMM_SELF);
}

/* To nobody. */
static bool is_alone(const struct ar_partners *all, const struct ar_profile_sync *sync)
{
    return sync->peer == AR_PEER_NULL || (sync->comm && all->p->comms[sync->comm - 1].size == 1 &&
                                          !all->p->comms[sync->comm - 1].remote_size);
}

enum ar_status ar_partners_add(struct ar_partners *all, const struct ar_profile_sync *sync,
                               const struct ar_arrival *arrival)
{
    uint32_t id = new_arrival(all, arrival);

    if (!id)
        return AR_NOMEM;
    if (is_alone(all, sync) || !is_known(all, sync->comm)) {
        leave(all, id, is_alone(all, sync));
        return AR_OK;
    }
    if (sync->kind >= AR_SYNC_SEND)
        return add_message(all, sync, id);
    return add_to_group(all, sync, id);
}

static void end_channel(struct ar_partners *all, struct channel *channel)
{
    for (int side = 0; side < N_SIDES; side++)
        leave_all(all, channel->queues[side].first, false);
    for (uint32_t i = 0; i < N_RECENT; i++)
        if (channel->recent[i].received)
            leave(all, channel->recent[i].received, true);
}

void ar_partners_end(struct ar_partners *all)
{
    for (size_t i = 0; i <= all->p->n_comms; i++)
        for (size_t k = all->comms[i].head; k < all->comms[i].n; k++)
            if (all->comms[i].groups[k].n != UINT32_MAX)
                leave_all(all, all->comms[i].groups[k].first, false);
    for (size_t i = 0; i < all->n_channels; i++)
        end_channel(all, &all->channels[i]);
}

void ar_partners_delete(struct ar_partners *all)
{
    for (size_t i = 0; all->comms && i <= all->p->n_comms; i++)
        free(all->comms[i].groups);
    free(all->comms);
    free(all->channels);
    free(all->arrivals);
    free(all->waiting);
    ar_idmap_free(&all->ranks);
    ar_idmap_free(&all->channel_ids);
    free(all);
}
