// SPDX-License-Identifier: BSD-3-Clause
/* Messages that ranks wait for, and which ranks can go on: see hang.h. */
#include "analysis/hang_parts.h"

#include <stdlib.h>

bool ar_hang_is_send(const struct ar_hang_thread *t)
{
    return t->open.kind == AR_SYNC_SEND;
}

static bool is_message(const struct ar_open_call *open)
{
    return open->kind == AR_SYNC_SEND || open->kind == AR_SYNC_RECEIVE ||
           open->kind == AR_SYNC_PROBE;
}

static uint32_t own_rank(const struct ar_hang *hang, uint32_t comm, uint32_t process)
{
    size_t n;
    const struct ar_member *members = ar_hang_members_of(hang, comm, &n);

    for (size_t i = 0; i < n; i++)
        if (members[i].process == process)
            return members[i].rank;
    return AR_NO_ID;
}

/* Ranks of a communicator between two groups are those of the other group. */
static uint32_t find_peer(const struct ar_hang *hang, const struct ar_profile *p,
                          const struct ar_hang_thread *t)
{
    size_t n;
    const struct ar_member *members = ar_hang_members_of(hang, t->open.comm, &n);
    uint32_t own = own_rank(hang, t->open.comm, t->process);

    if (!is_message(&t->open) || t->open.peer >= AR_PEER_UNKNOWN / 2 || own == AR_NO_ID)
        return AR_NO_ID;

    uint32_t side = p->comms[t->open.comm - 1].remote_size ? 1 - (own & 1) : own & 1;

    for (size_t i = 0; i < n; i++)
        if (members[i].rank == AR_OWN_RANK(t->open.peer, side))
            return ar_hang_rank_of(hang, members[i].process);
    return AR_NO_ID;
}

bool ar_hang_tags_differ(const struct ar_hang_thread *receiver, const struct ar_hang_thread *sender)
{
    return (int32_t)receiver->open.sequence >= 0 &&
           receiver->open.sequence != sender->open.sequence;
}

/* A message that is on its way: both sides are there. */
static bool is_under_way(const struct ar_hang *hang, uint32_t i)
{
    const struct ar_hang_thread *t = &hang->threads[i];
    const struct ar_hang_thread *peer = t->peer == AR_NO_ID ? NULL : &hang->threads[t->peer];

    if (!peer || peer->peer != i || ar_hang_is_send(t) == ar_hang_is_send(peer) ||
        t->open.comm != peer->open.comm)
        return false;
    return ar_hang_is_send(t) ? !ar_hang_tags_differ(peer, t) : !ar_hang_tags_differ(t, peer);
}

/* Where the main thread is blocked, the thread beside it says what the rank waits for. */
const struct ar_hang_thread *ar_hang_waiting(const struct ar_hang *hang, uint32_t rank)
{
    const struct ar_hang_thread *main_thread = &hang->threads[rank];

    return main_thread->beside == AR_NO_ID ? main_thread : &hang->threads[main_thread->beside];
}

/* For which rank this one waits; of several requests only the first is known, which may have ended. */
static uint32_t next_of(const struct ar_hang *hang, uint32_t rank)
{
    const struct ar_hang_thread *t = ar_hang_waiting(hang, rank);

    return t->open.n_requests <= 1 && !t->is_under_way ? t->peer : AR_NO_ID;
}

/* From each rank there is one way on: where it comes to a rank of the same walk, there is a circle. `walk` is zeroed. */
static void find_circles(struct ar_hang *out, uint32_t *walk)
{
    for (uint32_t first = 0; first < out->n_ranks; first++) {
        uint32_t at = first;

        while (!walk[at] && next_of(out, at) != AR_NO_ID) {
            walk[at] = first + 1;
            at = next_of(out, at);
        }
        if (walk[at] != first + 1)
            continue;
        out->n_circles++;
        for (; !out->threads[at].circle; at = next_of(out, at))
            out->threads[at].circle = (uint32_t)out->n_circles;
    }
}

/* A thread beside a main one that works listens, and holds up no rank. */
static bool is_message_wait(const struct ar_hang *hang, const struct ar_profile *p, uint32_t i)
{
    const struct ar_hang_thread *t = &hang->threads[i];
    uint32_t rank = ar_hang_rank_of(hang, t->process);

    if (!t->waits || (i >= hang->n_ranks && hang->threads[rank].beside != i))
        return false;
    if (ar_hang_is_collective(p, t->call) || t->turn != AR_NO_ID)
        return false;
    return t->open.n_requests || (is_message(&t->open) && t->open.peer != AR_PEER_NULL);
}

enum ar_status ar_hang_find_messages(struct ar_hang *out, const struct ar_profile *p)
{
    uint32_t *walk = calloc(out->n_threads + 1, sizeof *walk);

    out->messages = calloc(out->n_threads + 1, sizeof *out->messages);
    if (!walk || !out->messages) {
        free(walk);
        return AR_NOMEM;
    }
    for (uint32_t i = 0; i < out->n_threads; i++)
        if (is_message_wait(out, p, i)) {
            out->threads[i].peer = find_peer(out, p, &out->threads[i]);
            out->messages[out->n_messages++] = i;
        }
    for (size_t i = 0; i < out->n_messages; i++)
        out->threads[out->messages[i]].is_under_way = is_under_way(out, out->messages[i]);
    find_circles(out, walk);
    free(walk);
    return AR_OK;
}

/* ---- which ranks can go on -------------------------------------------------------------------- */

static bool all_can_go_on(const struct ar_hang *hang, const struct ar_hang_turn *turn)
{
    for (size_t i = 0; i < turn->n_missing; i++)
        if (!hang->threads[turn->missing[i]].can_go_on)
            return false;
    return !turn->is_mismatch;
}

static bool any_can_go_on(const struct ar_hang *hang)
{
    for (size_t i = 0; i < hang->n_ranks; i++)
        if (hang->threads[i].can_go_on)
            return true;
    return false;
}

/* A rank that waits goes on if those can that it waits for; a call of another kind is not understood, and may end. */
static bool can_go_on(const struct ar_hang *hang, const struct ar_profile *p, uint32_t rank)
{
    const struct ar_hang_thread *t = ar_hang_waiting(hang, rank);

    if (ar_hang_has_left(p, t))
        return false;
    if (t->turn != AR_NO_ID)
        return all_can_go_on(hang, &hang->turns[t->turn]);
    if (!t->waits || t->is_under_way || !is_message_wait(hang, p, (uint32_t)(t - hang->threads)))
        return true;
    if (next_of(hang, rank) != AR_NO_ID)
        return hang->threads[next_of(hang, rank)].can_go_on;
    return any_can_go_on(hang);
}

/* From the ranks that compute on to those that wait for these. Ranks that only wait for each other are never reached. */
void ar_hang_find_movers(struct ar_hang *out, const struct ar_profile *p)
{
    bool has_changed = true;

    while (has_changed) {
        has_changed = false;
        for (uint32_t i = 0; i < out->n_ranks; i++)
            if (!out->threads[i].can_go_on && can_go_on(out, p, i))
                out->threads[i].can_go_on = has_changed = true;
    }
    for (uint32_t i = 0; i < out->n_ranks; i++) {
        const struct ar_hang_thread *t = ar_hang_waiting(out, i);

        out->is_certain =
            out->is_certain || (t->waits && !out->threads[i].can_go_on && !ar_hang_has_left(p, t));
    }
}

/* Reports a message from any rank only where none can send it: a rank that distributes work waits so all the time. */
void ar_hang_drop_usual_waits(struct ar_hang *out)
{
    size_t n = 0;

    for (size_t i = 0; i < out->n_messages; i++) {
        const struct ar_hang_thread *t = &out->threads[out->messages[i]];
        const struct ar_hang_thread *rank = &out->threads[ar_hang_rank_of(out, t->process)];

        if (!t->is_under_way && (t->peer != AR_NO_ID || !rank->can_go_on))
            out->messages[n++] = out->messages[i];
    }
    out->n_messages = n;
}
