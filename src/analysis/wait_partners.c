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
    struct coming *comings; /* likewise */
    size_t cap_comings;
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
        const struct ar_traffic *t = ar_traffic_at(all->p, i);

        if (t->comm && is_rank(t->peer) && is_rank(t->world_peer) &&
            ar_idmap_put(&all->ranks, rank_key(t->comm, t->world_peer), t->peer) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

/* Of files that do not say it. Where no rank has sent it anything, a process has the rank of the world if that fits. */
static uint32_t guess_rank(const struct ar_partners *all, uint32_t comm, uint32_t process)
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

/* Communicators of two groups are not known in such files. */
static uint32_t own_rank(const struct ar_partners *all, const struct ar_ordered_call *sync,
                         uint32_t process)
{
    uint32_t rank = sync->rank;

    if (rank == AR_NO_ID && sync->comm && !all->p->comms[sync->comm - 1].remote_size)
        rank = guess_rank(all, sync->comm, process);
    else
        return rank;
    return rank == AR_NO_ID ? rank : AR_OWN_RANK(rank, 0);
}

static uint32_t n_members(const struct ar_partners *all, uint32_t comm)
{
    return all->p->comms[comm - 1].size + all->p->comms[comm - 1].remote_size;
}

static bool has_two_groups(const struct ar_partners *all, uint32_t comm)
{
    return all->p->comms[comm - 1].remote_size > 0;
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

static bool is_counted(uint32_t kind)
{
    return kind != AR_SYNC_START && kind != AR_SYNC_END;
}

/* Of two at the same time always the same one is the later, in whichever order they were read. */
static bool came_later(const struct ar_arrival *a, const struct ar_arrival *b)
{
    return !b || a->came_ns > b->came_ns || (a->came_ns == b->came_ns && a->process > b->process);
}

static bool is_on_side(const struct ar_arrival *arrival, uint32_t side)
{
    return (arrival->rank & 1) == side;
}

#define ANY_SIDE 2u

/* All of a side but one, where that is not NULL. */
static size_t list_waiting(struct ar_partners *all, const struct group *group, uint32_t side,
                           const struct ar_arrival *but)
{
    size_t n = 0;

    for (const struct ar_arrival *each = group->first; each; each = each->next)
        if (each != but && (side == ANY_SIDE || is_on_side(each, side)))
            all->waiting[n++] = each;
    return n;
}

static const struct ar_arrival *last_of(const struct group *group, uint32_t side,
                                        const struct ar_arrival *but)
{
    const struct ar_arrival *last = NULL;

    for (const struct ar_arrival *each = group->first; each; each = each->next)
        if (each != but && (side == ANY_SIDE || is_on_side(each, side)) && came_later(each, last))
            last = each;
    return last;
}

static void met(struct ar_partners *all, enum ar_wait_class class, const struct ar_arrival *late,
                const struct ar_arrival *const *waiting, size_t n)
{
    if (late && n)
        all->tell.met(all->tell.who, class, late, waiting, n);
}

/* Between two groups the root says that it is one, which is no rank. */
static const struct ar_arrival *find_root(const struct group *group, uint32_t root, bool has_two)
{
    for (const struct ar_arrival *each = group->first; each; each = each->next)
        if (has_two ? each->peer == AR_PEER_UNKNOWN : each->rank == AR_OWN_RANK(root, 0))
            return each;
    return NULL;
}

static int by_rank(const void *a, const void *b)
{
    uint32_t x = (*(const struct ar_arrival *const *)a)->rank;
    uint32_t y = (*(const struct ar_arrival *const *)b)->rank;

    return (x > y) - (x < y);
}

static void meet_in_turn(struct ar_partners *all, const struct group *group)
{
    size_t n = list_waiting(all, group, ANY_SIDE, NULL);
    const struct ar_arrival *last = NULL;

    qsort(all->waiting, n, sizeof(void *), by_rank);
    for (size_t i = 0; i < n; i++) {
        met(all, AR_WAIT_EARLY_SCAN, last, &all->waiting[i], 1);
        if (came_later(all->waiting[i], last))
            last = all->waiting[i];
    }
}

static void meet_from_root(struct ar_partners *all, const struct group *group,
                           const struct ar_arrival *root, bool has_two)
{
    uint32_t side = has_two ? 1 - (root->rank & 1) : ANY_SIDE;

    met(all, AR_WAIT_LATE_BROADCAST, root, all->waiting, list_waiting(all, group, side, root));
}

static void meet_at_root(struct ar_partners *all, const struct group *group,
                         const struct ar_arrival *root, bool has_two)
{
    uint32_t side = has_two ? 1 - (root->rank & 1) : ANY_SIDE;

    met(all, AR_WAIT_EARLY_REDUCE, last_of(group, side, root), &root, 1);
}

/* Between two groups each waits for the other one. */
static void meet_all(struct ar_partners *all, const struct group *group, enum ar_wait_class class,
                     bool has_two)
{
    const struct ar_arrival *last;

    if (!has_two) {
        last = last_of(group, ANY_SIDE, NULL);
        met(all, class, last, all->waiting, list_waiting(all, group, ANY_SIDE, last));
        return;
    }
    for (uint32_t side = 0; side < 2; side++) {
        last = last_of(group, 1 - side, NULL);
        met(all, class, last, all->waiting, list_waiting(all, group, side, NULL));
    }
}

/* ---- guesses ---------------------------------------------------------------------------------- */

/* What is shorter is the transfer, or noise. */
#define LEAST_GUESS_NS 20000.0

/* When a rank came, or called MPI again. */
struct coming {
    int64_t at_ns;
    const struct ar_arrival *who;
    bool is_again;
};

static int by_time(const void *a, const void *b)
{
    const struct coming *x = a, *y = b;

    if (x->at_ns != y->at_ns)
        return x->at_ns > y->at_ns ? 1 : -1;
    return (x->who->process > y->who->process) - (x->who->process < y->who->process);
}

static size_t list_comings(const struct group *group, struct coming *comings)
{
    size_t n = 0;

    for (const struct ar_arrival *each = group->first; each; each = each->next) {
        comings[n++] = (struct coming){each->came_ns, each, false};
        if (each->again)
            comings[n++] = (struct coming){each->again_ns, each, true};
    }
    qsort(comings, n, sizeof *comings, by_time);
    return n;
}

/* The last of another rank before it left. */
static const struct coming *last_before(const struct coming *comings, size_t n,
                                        const struct ar_arrival *waiting)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (comings[middle].at_ns <= waiting->exit_ns)
            low = middle + 1;
        else
            high = middle;
    }
    while (low > 0 && comings[low - 1].who == waiting)
        low--;
    return low ? &comings[low - 1] : NULL;
}

static double unexplained_ns(const struct ar_partners *all, const struct ar_arrival *waiting)
{
    return (double)(waiting->exit_ns - waiting->waits_ns) -
           all->tell.waited(all->tell.who, waiting);
}

static void guess_for(struct ar_partners *all, const struct coming *coming,
                      const struct ar_arrival *waiting, const struct ar_arrival *root)
{
    double left_ns = (double)(waiting->exit_ns - coming->at_ns);
    struct ar_arrival late = *coming->who;

    if (left_ns > unexplained_ns(all, waiting) / 2)
        return;
    if (coming->is_again) {
        late.came_ns = coming->at_ns;
        late.point = coming->who->again;
    }
    met(all,
        coming->is_again      ? AR_WAIT_LATE_PROGRESS
        : coming->who == root ? AR_WAIT_LATE_RECEIVER
                              : AR_WAIT_LATE_MEMBER,
        &late, &waiting, 1);
}

/* Where everybody waits for everybody, in a call that blocks, nothing is left to be guessed. */
static bool is_to_be_guessed(const struct ar_partners *all, const struct ar_arrival *waiting,
                             uint32_t kind)
{
    bool is_one_for_all = kind == AR_SYNC_ALL || kind == AR_SYNC_BARRIER;

    return (!is_one_for_all || waiting->again) && unexplained_ns(all, waiting) >= LEAST_GUESS_NS;
}

static enum ar_status guess(struct ar_partners *all, const struct group *group, uint32_t kind,
                            const struct ar_arrival *root)
{
    size_t n = 0;

    for (const struct ar_arrival *each = group->first; each; each = each->next) {
        if (!is_to_be_guessed(all, each, kind))
            continue;
        if (!n) {
            if (ar_grow((void **)&all->comings, &all->cap_comings, 2 * (size_t)group->n,
                        sizeof *all->comings) < 0)
                return AR_NOMEM;
            n = list_comings(group, all->comings);
        }

        const struct coming *coming = last_before(all->comings, n, each);

        if (coming)
            guess_for(all, coming, each, root);
    }
    return AR_OK;
}

/* Was each of them still there when the last one came? Clocks of two hosts may be a bit apart. */
static bool has_kept_all(const struct group *group)
{
    const struct ar_arrival *last = last_of(group, ANY_SIDE, NULL);

    for (const struct ar_arrival *each = group->first; each; each = each->next)
        if ((double)(last->came_ns - each->exit_ns) > LEAST_GUESS_NS)
            return false;
    return true;
}

/*
 * Where a library need not keep ranks together, they show by when they left whether it did. If it did not, a rank was
 * busy by itself, with a file for one: nothing is guessed.
 */
static bool is_for_all(const struct group *group, const struct ar_ordered_call *sync)
{
    return !(sync->flags & AR_SYNC_MAY_PASS) || has_kept_all(group);
}

/* false: it is not known who the root is. */
static bool meet(struct ar_partners *all, const struct group *group,
                 const struct ar_ordered_call *sync)
{
    bool has_root = sync->kind == AR_SYNC_FROM_ROOT || sync->kind == AR_SYNC_TO_ROOT;
    bool has_two = has_two_groups(all, sync->comm);
    const struct ar_arrival *root = has_root ? find_root(group, sync->peer, has_two) : NULL;

    if (has_root && !root)
        return false;
    if (sync->kind == AR_SYNC_FROM_ROOT)
        meet_from_root(all, group, root, has_two);
    else if (sync->kind == AR_SYNC_TO_ROOT)
        meet_at_root(all, group, root, has_two);
    else if (sync->kind == AR_SYNC_SCAN)
        meet_in_turn(all, group);
    else if (is_for_all(group, sync))
        meet_all(all, group, sync->kind == AR_SYNC_ALL ? AR_WAIT_ALL : AR_WAIT_BARRIER, has_two);
    if (is_counted(sync->kind) && guess(all, group, sync->kind, root) < 0)
        return false;
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

static struct group *find_group(struct comm *comm, const struct ar_ordered_call *sync)
{
    if (sync->kind == AR_SYNC_START)
        return &comm->start;
    if (sync->kind == AR_SYNC_END)
        return &comm->end;
    return is_sensible(comm, sync->sequence) ? group_of(comm, sync->sequence) : NULL;
}

static enum ar_status add_to_group(struct ar_partners *all, const struct ar_ordered_call *sync,
                                   struct ar_arrival *arrival)
{
    struct comm *comm = &all->comms[sync->comm];
    struct group *group = find_group(comm, sync);

    if (!group && is_sensible(comm, sync->sequence))
        return AR_NOMEM;
    if (!group || group->n == UINT32_MAX) { /* damage, or once more */
        leave(all, arrival, false);
        return AR_OK;
    }
    arrival->may_pass = !is_counted(sync->kind);
    arrival->next = group->first;
    group->first = arrival;
    if (++group->n < n_members(all, sync->comm))
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

static struct channel *channel_of(struct ar_partners *all, const struct ar_ordered_call *sync,
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

static enum ar_status add_message(struct ar_partners *all, const struct ar_ordered_call *sync,
                                  struct ar_arrival *arrival)
{
    uint32_t own = arrival->rank;
    enum side side = side_of(sync->kind);
    bool sends = side == SENT || side == TAKEN;

    if (own == AR_NO_ID || !is_rank(sync->peer)) {
        leave(all, arrival, false);
        return AR_OK;
    }

    uint32_t peer = AR_OWN_RANK(sync->peer, has_two_groups(all, sync->comm) ? 1 - (own & 1) : 0);
    struct channel *channel = channel_of(all, sync, sends ? own : peer, sends ? peer : own);

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

    return c && c->size && (c->identity || c->origin == AR_COMM_WORLD || c->origin == AR_COMM_SELF);
}

static bool is_message(uint32_t kind)
{
    return kind >= AR_SYNC_SEND && kind <= AR_SYNC_TAKEN;
}

/* To nobody. */
static bool is_alone(const struct ar_partners *all, const struct ar_ordered_call *sync)
{
    return (is_message(sync->kind) && sync->peer == AR_PEER_NULL) ||
           (sync->comm && n_members(all, sync->comm) == 1);
}

enum ar_status ar_partners_add(struct ar_partners *all, const struct ar_ordered_call *sync,
                               struct ar_arrival *arrival)
{
    if (is_alone(all, sync) || !is_known(all, sync->comm) || sync->kind == AR_SYNC_UNKNOWN) {
        leave(all, arrival, is_alone(all, sync));
        return AR_OK;
    }
    arrival->rank = own_rank(all, sync, arrival->process);
    arrival->peer = sync->peer;
    if (is_message(sync->kind))
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
    free(all->comings);
    ar_idmap_free(&all->ranks);
    ar_idmap_free(&all->channel_ids);
    free(all);
}
