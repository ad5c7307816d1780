// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/wait_partners.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

/* A collective call, up to the last of its members. */
struct group {
    uint32_t n;
    struct ar_arrival *first; /* linked */
};

/* Those of a communicator that have not all come yet: from number `base` on. */
struct comm {
    struct group *groups;
    size_t head, n, cap; /* the first `head` are done with */
    uint32_t base;
    struct group start, end;
};

struct queue {
    struct ar_arrival *first, *last;
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
        struct ar_arrival *received; /* NULL: not any more */
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
    struct ar_arena arrivals;
    struct ar_arrival *free;           /* those that are done with */
    const struct ar_arrival **waiting; /* of the meeting at hand */
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

struct ar_arrival *ar_partners_new_arrival(struct ar_partners *all)
{
    struct ar_arrival *arrival = all->free;

    if (!arrival)
        return ar_arena_alloc(&all->arrivals, sizeof *arrival);
    all->free = arrival->next;
    return arrival;
}

static void leave(struct ar_partners *all, struct ar_arrival *arrival, bool is_resolved)
{
    all->tell.left(all->tell.who, arrival, is_resolved);
    arrival->next = all->free;
    all->free = arrival;
}

static void leave_all(struct ar_partners *all, struct ar_arrival *first, bool is_resolved)
{
    for (struct ar_arrival *next; first; first = next) {
        next = first->next;
        leave(all, first, is_resolved);
    }
}

/* ---- collective calls ------------------------------------------------------------------------- */

/* Of two at the same time always the same one is the later, in whichever order they were read. */
static bool came_later(const struct ar_arrival *a, const struct ar_arrival *b)
{
    return !b || a->came_ns > b->came_ns || (a->came_ns == b->came_ns && a->process > b->process);
}

/* All but one, where that is not NULL. */
static size_t list_waiting(struct ar_partners *all, const struct group *group,
                           const struct ar_arrival *but)
{
    size_t n = 0;

    for (const struct ar_arrival *each = group->first; each; each = each->next)
        if (each != but)
            all->waiting[n++] = each;
    return n;
}

static const struct ar_arrival *last_of(const struct group *group, const struct ar_arrival *but)
{
    const struct ar_arrival *last = NULL;

    for (const struct ar_arrival *each = group->first; each; each = each->next)
        if (each != but && came_later(each, last))
            last = each;
    return last;
}

static void met(struct ar_partners *all, enum ar_wait_class class, const struct ar_arrival *late,
                const struct ar_arrival *const *waiting, size_t n)
{
    if (late && n)
        all->tell.met(all->tell.who, class, late, waiting, n);
}

static const struct ar_arrival *find_root(const struct ar_partners *all, const struct group *group,
                                          uint32_t comm, uint32_t root)
{
    for (const struct ar_arrival *each = group->first; each; each = each->next)
        if (rank_in(all, comm, each->process) == root)
            return each;
    return NULL;
}

static const struct ar_partners *sorting;
static uint32_t sorting_comm;

/* Where ranks are not known: splitting keeps the order of the world, if nothing else is asked for. */
static int by_rank(const void *a, const void *b)
{
    uint32_t x = (*(const struct ar_arrival *const *)a)->process;
    uint32_t y = (*(const struct ar_arrival *const *)b)->process;
    uint32_t rx = rank_in(sorting, sorting_comm, x), ry = rank_in(sorting, sorting_comm, y);

    if (rx == ry) {
        rx = sorting->p->processes[x].world_rank;
        ry = sorting->p->processes[y].world_rank;
    }
    return (rx > ry) - (rx < ry);
}

static void meet_in_turn(struct ar_partners *all, const struct group *group, uint32_t comm)
{
    size_t n = list_waiting(all, group, NULL);
    const struct ar_arrival *last = NULL;

    sorting = all;
    sorting_comm = comm;
    qsort(all->waiting, n, sizeof(void *), by_rank);
    for (size_t i = 0; i < n; i++) {
        met(all, AR_WAIT_EARLY_SCAN, last, &all->waiting[i], 1);
        if (came_later(all->waiting[i], last))
            last = all->waiting[i];
    }
}

/*
 * Who sends much to a root that is not there waits for it: it came before, and left when the root had come.
 * If somebody came after the root meanwhile, it may have been for that one.
 */
static void meet_late_root(struct ar_partners *all, const struct group *group,
                           const struct ar_arrival *root)
{
    int64_t next_ns = INT64_MAX;
    size_t n = 0;

    for (const struct ar_arrival *each = group->first; each; each = each->next)
        if (each->came_ns > root->came_ns && each->came_ns < next_ns)
            next_ns = each->came_ns;
    for (const struct ar_arrival *each = group->first; each; each = each->next)
        if (each->waits_ns < root->came_ns && each->exit_ns >= root->came_ns &&
            each->exit_ns < next_ns)
            all->waiting[n++] = each;
    met(all, AR_WAIT_LATE_RECEIVER, root, all->waiting, n);
}

/* false: it is not known who the root is. */
static bool meet(struct ar_partners *all, const struct group *group,
                 const struct ar_profile_sync *sync)
{
    bool has_root = sync->kind == AR_SYNC_FROM_ROOT || sync->kind == AR_SYNC_TO_ROOT;
    const struct ar_arrival *root = has_root ? find_root(all, group, sync->comm, sync->peer) : NULL;
    const struct ar_arrival *last = last_of(group, sync->kind == AR_SYNC_TO_ROOT ? root : NULL);

    if (has_root && !root)
        return false;
    if (sync->kind == AR_SYNC_FROM_ROOT) {
        met(all, AR_WAIT_LATE_BROADCAST, root, all->waiting, list_waiting(all, group, root));
    } else if (sync->kind == AR_SYNC_TO_ROOT) {
        met(all, AR_WAIT_EARLY_REDUCE, last, &root, 1);
        meet_late_root(all, group, root);
    } else if (sync->kind == AR_SYNC_SCAN) {
        meet_in_turn(all, group, sync->comm);
    } else {
        met(all, sync->kind == AR_SYNC_ALL ? AR_WAIT_ALL : AR_WAIT_BARRIER, last, all->waiting,
            list_waiting(all, group, last));
    }
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

static bool is_counted(uint32_t kind)
{
    return kind != AR_SYNC_START && kind != AR_SYNC_END;
}

static struct group *find_group(struct comm *comm, const struct ar_profile_sync *sync)
{
    if (sync->kind == AR_SYNC_START)
        return &comm->start;
    if (sync->kind == AR_SYNC_END)
        return &comm->end;
    return is_sensible(comm, sync->sequence) ? group_of(comm, sync->sequence) : NULL;
}

static enum ar_status add_to_group(struct ar_partners *all, const struct ar_profile_sync *sync,
                                   struct ar_arrival *arrival)
{
    struct comm *comm = &all->comms[sync->comm];
    struct group *group = find_group(comm, sync);

    if (!group || group->n == UINT32_MAX) { /* damage, or no memory, or once more */
        leave(all, arrival, false);
        return AR_OK;
    }
    arrival->may_pass = !is_counted(sync->kind);
    arrival->next = group->first;
    group->first = arrival;
    if (++group->n < all->p->comms[sync->comm - 1].size)
        return AR_OK;
    if (ar_grow((void **)&all->waiting, &all->cap_waiting, group->n, sizeof(void *)) < 0)
        return AR_NOMEM;

    struct ar_arrival *first = group->first;
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
static void enqueue(struct queue *queue, struct ar_arrival *arrival)
{
    struct ar_arrival **link = &queue->first;

    if (queue->last && !came_later(queue->last, arrival))
        link = &queue->last->next;
    while (*link && !came_later(*link, arrival))
        link = &(*link)->next;
    arrival->next = *link;
    *link = arrival;
    if (!arrival->next)
        queue->last = arrival;
}

static struct ar_arrival *dequeue(struct queue *queue)
{
    struct ar_arrival *first = queue->first;

    queue->first = first->next;
    if (!queue->first)
        queue->last = NULL;
    first->next = NULL;
    return first;
}

static void met_one(struct ar_partners *all, enum ar_wait_class class,
                    const struct ar_arrival *late, const struct ar_arrival *waiting)
{
    met(all, class, late, &waiting, 1);
}

/* Those who had asked for the message before it was received waited for it as well. */
static void meet_probes(struct ar_partners *all, struct channel *channel,
                        const struct ar_arrival *sent, const struct ar_arrival *received)
{
    struct queue *probes = &channel->queues[PROBED];

    while (probes->first && probes->first->waits_ns <= received->exit_ns) {
        struct ar_arrival *probe = dequeue(probes);

        met_one(all, AR_WAIT_LATE_SENDER, sent, probe);
        leave(all, probe, true);
    }
}

/* ---- sends that are waited for later ---------------------------------------------------------- */

/* Both are the same instant of one process, rounded. */
static bool is_same_time(int64_t a, int64_t b)
{
    return a - b < 2 && b - a < 2;
}

static void meet_receiver(struct ar_partners *all, struct ar_arrival *taken,
                          const struct ar_arrival *received)
{
    /* Who was through before the receiver came has not waited for that, but for something else. */
    if (received->came_ns > taken->waits_ns && received->came_ns <= taken->exit_ns)
        met_one(all, AR_WAIT_LATE_RECEIVER, received, taken);
    leave(all, taken, true);
}

/* false: its message has not been received yet. */
static bool meet_recent(struct ar_partners *all, struct channel *channel, struct ar_arrival *taken)
{
    for (uint32_t i = 0; i < N_RECENT; i++)
        if (channel->recent[i].received &&
            is_same_time(channel->recent[i].posted_ns, taken->came_ns)) {
            meet_receiver(all, taken, channel->recent[i].received);
            leave(all, channel->recent[i].received, true);
            channel->recent[i].received = NULL;
            return true;
        }
    return false;
}

static enum ar_status keep_recent(struct ar_partners *all, struct channel *channel,
                                  const struct ar_arrival *sent, const struct ar_arrival *received)
{
    uint32_t at = channel->n_recent++ % N_RECENT;
    struct ar_arrival *copy = ar_partners_new_arrival(all);

    if (!copy)
        return AR_NOMEM;
    *copy = *received;
    copy->call = 0;
    copy->next = NULL;
    all->tell.kept(all->tell.who, copy);
    if (channel->recent[at].received)
        leave(all, channel->recent[at].received, true);
    channel->recent[at].received = copy;
    channel->recent[at].posted_ns = sent->exit_ns;
    return AR_OK;
}

/* One that was posted: whoever waits for it has come already, or will. */
static enum ar_status meet_posted(struct ar_partners *all, struct channel *channel,
                                  const struct ar_arrival *sent, const struct ar_arrival *received)
{
    for (struct ar_arrival **link = &channel->queues[TAKEN].first; *link; link = &(*link)->next)
        if (is_same_time((*link)->came_ns, sent->exit_ns)) {
            struct ar_arrival *taken = *link;

            *link = taken->next;
            channel->queues[TAKEN].last = NULL;
            meet_receiver(all, taken, received);
            return AR_OK;
        }
    return keep_recent(all, channel, sent, received);
}

/* A message that was sent before anybody came for it, and was let go, has not waited. */
static void meet_both(struct ar_partners *all, const struct ar_arrival *sent,
                      const struct ar_arrival *received)
{
    if (sent->came_ns > received->waits_ns)
        met_one(all, AR_WAIT_LATE_SENDER, sent, received);
    else if (received->came_ns > sent->waits_ns && sent->exit_ns >= received->came_ns)
        met_one(all, AR_WAIT_LATE_RECEIVER, received, sent);
}

static enum ar_status meet_message(struct ar_partners *all, struct channel *channel)
{
    struct ar_arrival *sent = dequeue(&channel->queues[SENT]);
    struct ar_arrival *received = dequeue(&channel->queues[RECEIVED]);
    enum ar_status status = AR_OK;

    if (!channel->is_ambiguous) {
        meet_probes(all, channel, sent, received);
        meet_both(all, sent, received);
        if (sent->is_posted)
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
                                  struct ar_arrival *arrival)
{
    uint32_t own = rank_in(all, sync->comm, arrival->process);
    enum side side = side_of(sync->kind);
    bool sends = side == SENT || side == TAKEN;

    if (own == AR_NO_ID || !is_rank(sync->peer)) {
        leave(all, arrival, false);
        return AR_OK;
    }

    struct channel *channel =
        channel_of(all, sync, sends ? own : sync->peer, sends ? sync->peer : own);

    if (!channel)
        return AR_NOMEM;

    uint32_t location = arrival->location + 1;

    if (!channel->location[side])
        channel->location[side] = location;
    channel->is_ambiguous = channel->is_ambiguous || channel->location[side] != location;
    if (side == TAKEN && meet_recent(all, channel, arrival))
        return AR_OK;
    enqueue(&channel->queues[side], arrival);
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
                               struct ar_arrival *arrival)
{
    if (is_alone(all, sync) || !is_known(all, sync->comm)) {
        leave(all, arrival, is_alone(all, sync));
        return AR_OK;
    }
    if (sync->kind >= AR_SYNC_SEND && is_counted(sync->kind))
        return add_message(all, sync, arrival);
    return add_to_group(all, sync, arrival);
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
    for (size_t i = 0; i <= all->p->n_comms; i++) {
        leave_all(all, all->comms[i].start.first, false);
        leave_all(all, all->comms[i].end.first, false);
        for (size_t k = all->comms[i].head; k < all->comms[i].n; k++)
            if (all->comms[i].groups[k].n != UINT32_MAX)
                leave_all(all, all->comms[i].groups[k].first, false);
    }
    for (size_t i = 0; i < all->n_channels; i++)
        end_channel(all, &all->channels[i]);
}

void ar_partners_delete(struct ar_partners *all)
{
    for (size_t i = 0; all->comms && i <= all->p->n_comms; i++)
        free(all->comms[i].groups);
    free(all->comms);
    free(all->channels);
    ar_arena_free(&all->arrivals);
    free(all->waiting);
    ar_idmap_free(&all->ranks);
    ar_idmap_free(&all->channel_ids);
    free(all);
}
