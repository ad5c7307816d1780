// SPDX-License-Identifier: BSD-3-Clause
/* Communicators of a live file, and the calls in which its threads waited for other ranks. */
#include "format/live_reading.h"

#include <stdlib.h>
#include <string.h>

/* What it says of times that cannot be is damage. */
static bool is_sound_sync(const struct ar_reading *r, const struct ar_sync *sync)
{
    uint64_t start = r->live->header->start.ticks;

    if (sync->kind == AR_SYNC_NONE || sync->kind >= AR_N_SYNC_KINDS ||
        ar_reading_node(r, sync->node_ref) == AR_NO_ID || sync->comm > r->n_comms)
        return false;
    if (sync->posted_ref && (ar_reading_node(r, sync->posted_ref) == AR_NO_ID ||
                             sync->post_ticks < start || sync->post_ticks > sync->exit_ticks))
        return false;
    return start <= sync->enter_ticks && sync->enter_ticks <= sync->exit_ticks;
}

static uint32_t read_parts(const struct ar_reading *r, const struct ar_sync *sync,
                           struct ar_profile_part *parts)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < sync->n_parts && n < AR_MOST_PARTS; i++) {
        struct ar_sync_part part;

        memcpy(&part, (const char *)(sync + 1) + i * sizeof part, sizeof part);

        float ticks = part.ticks < 0 ? -part.ticks : part.ticks;

        parts[n].node = ar_reading_node(r, part.node_ref);
        parts[n].is_rest = part.ticks < 0;
        parts[n].ns = ticks > 0 && ticks < 0x1p62f ? ar_reading_ns(r, (uint64_t)ticks) : 0;
        n += parts[n].node != AR_NO_ID;
    }
    return n;
}

/* Number 0 of communicators is none. */
static uint32_t own_rank(const struct ar_reading *r, uint32_t comm)
{
    const struct ar_live_comm *facts = comm ? &r->comms[comm].facts : NULL;

    if (!facts || facts->rank >= AR_PEER_UNKNOWN / 2)
        return AR_NO_ID;
    return AR_OWN_RANK(facts->rank, facts->side & 1);
}

static void count_call(struct ar_reading *r, const struct ar_sync *sync)
{
    struct ar_source_comm *comm = sync->comm ? &r->comms[sync->comm] : NULL;
    bool is_collective = sync->kind >= AR_SYNC_BARRIER && sync->kind <= AR_SYNC_SCAN;

    if (comm && is_collective && sync->sequence >= comm->n_calls && sync->sequence < UINT32_MAX)
        comm->n_calls = sync->sequence + 1;
}

static enum ar_status add_sync(struct ar_reading *r, const struct ar_sync *sync, uint32_t location)
{
    struct ar_profile_part parts[AR_MOST_PARTS];

    if (!is_sound_sync(r, sync)) {
        r->n_lost[AR_LOST_SYNCS]++;
        return AR_OK;
    }

    struct ar_profile_sync made = {
        .location = location,
        .kind = sync->kind,
        .flags = sync->flags,
        .comm = sync->comm ? r->comms[sync->comm].id + 1 : 0,
        .rank = own_rank(r, sync->comm),
        .sequence = sync->sequence,
        .peer = sync->peer,
        .node = ar_reading_node(r, sync->node_ref),
        .posted = sync->posted_ref ? ar_reading_node(r, sync->posted_ref) + 1 : 0,
        .enter_ns = ar_reading_since_start(r, sync->enter_ticks),
        .exit_ns = ar_reading_since_start(r, sync->exit_ticks),
        .post_ns = sync->posted_ref ? ar_reading_since_start(r, sync->post_ticks) : 0,
    };

    count_call(r, sync);
    made.n_parts = read_parts(r, sync, parts);
    return ar_profile_sync(r->p, made, parts);
}

/* Calls end one after the other: a record that ends before the one before it is damage as well. */
static enum ar_status read_stream(struct ar_reading *r, const struct ar_extent *e,
                                  uint32_t location, uint64_t *latest)
{
    size_t n_left = (size_t)(e->n_bytes_used - sizeof *e);
    const char *at = (const char *)(e + 1);
    enum ar_status status = AR_OK;

    while (n_left >= sizeof(struct ar_sync) && status == AR_OK) {
        const struct ar_sync *sync = (const struct ar_sync *)at;
        size_t n_bytes = sizeof *sync + sync->n_parts * sizeof(struct ar_sync_part);

        if (n_bytes > n_left)
            break;
        if (sync->exit_ticks > r->now_ticks)
            break; /* it ended while we read */
        if (sync->exit_ticks >= *latest)
            status = add_sync(r, sync, location);
        else
            r->n_lost[AR_LOST_SYNCS]++;
        *latest = sync->exit_ticks > *latest ? sync->exit_ticks : *latest;
        at += n_bytes;
        n_left -= n_bytes;
    }
    return status;
}

enum ar_status ar_read_syncs(struct ar_reading *r)
{
    uint64_t *latest = calloc(r->n_threads + 1, sizeof *latest); /* by thread */
    enum ar_status status = latest ? AR_OK : AR_NOMEM;

    for (const struct ar_extent *e = NULL;
         status == AR_OK && (e = ar_live_next(r->live, e, AR_EXTENT_STREAM));)
        if (ar_reading_location(r, e) != AR_NO_ID)
            status = read_stream(r, e, ar_reading_location(r, e), &latest[e->owner]);
    free(latest);
    return status;
}

/* Parents come before those that are made of them. */
enum ar_status ar_read_comms(struct ar_reading *r)
{
    for (size_t i = 1; i <= r->n_comms; i++) {
        struct ar_source_comm *source = &r->comms[i];
        const struct ar_live_comm *facts = &source->facts;
        uint32_t made_at = facts->made_ref ? ar_reading_node(r, facts->made_ref) : AR_NO_ID;
        struct ar_comm comm = {
            .identity = facts->identity,
            .origin = facts->origin,
            .size = facts->size,
            .remote_size = facts->remote_size,
            .parent = facts->parent ? r->comms[facts->parent].id + 1 : 0,
            .made_at = made_at == AR_NO_ID ? 0 : made_at + 1,
            .is_hidden = facts->is_hidden != 0,
        };

        if (ar_profile_string(r->p, source->name, &comm.name) < 0 ||
            ar_profile_comm(r->p, comm, &source->id) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

/* Of those that other processes can be members of as well; a communicator without an identity may be any. */
enum ar_status ar_read_members(struct ar_reading *r, uint32_t process)
{
    for (size_t i = 1; i <= r->n_comms; i++) {
        const struct ar_live_comm *facts = &r->comms[i].facts;
        struct ar_member member = {.comm = r->comms[i].id,
                                   .process = process,
                                   .rank = own_rank(r, (uint32_t)i),
                                   .n_calls = r->comms[i].n_calls};

        if (facts->identity && (uint64_t)facts->size + facts->remote_size > 1 &&
            member.rank != AR_NO_ID && ar_profile_add_row(r->p, AR_TABLE_MEMBERS, &member) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}
