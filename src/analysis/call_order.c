// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/call_order.h"

#include "analysis/read_ahead.h"
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

/* Several calls are unpacked at a time: of thousands of threads none is in the cache when its turn comes. */
#define AHEAD 8

struct ar_supply {
    struct ar_stream_cursor cursor;
    struct ar_ordered_call calls[AHEAD]; /* on the clock of their process */
};

/* A thread that is being read: a line of the cache, with what is touched at every call. */
struct ar_reading {
    double drift, offset_ns; /* to the common clock, from when the process began */
    int64_t exit_ns;         /* of the call at hand, on that clock */
    struct ar_supply *supply;
    uint32_t at, n_ahead; /* the one at hand, of as many that are unpacked */
};

/* The ring that the thread fills: see read_ahead.h. */
#define BATCH_CALLS 256
#define N_BATCHES 16

struct ar_order_batch {
    size_t n; /* 0: the end */
    struct ar_ordered_call calls[BATCH_CALLS];
};

/* With fewer records starting a thread is not worth it. */
#define LEAST_FOR_THREAD 20000

/* ---- clocks ----------------------------------------------------------------------------------- */

static int64_t common_ns(const struct ar_reading *r, int64_t since_start_ns)
{
    return ar_whole_ns((double)since_start_ns * r->drift + r->offset_ns);
}

/* On clocks of processes, of which any may be far from the others: only differences are exact in a double. */
static void find_clock(struct ar_reading *r, const struct ar_process *process, int64_t epoch_ns)
{
    uint64_t wall_ns = process->wall_ns > 1000 ? process->wall_ns : 1000;
    int64_t start = ar_process_clock_ns(process, 0);
    int64_t end = ar_process_clock_ns(process, wall_ns);

    r->offset_ns = (double)(int64_t)((uint64_t)start - (uint64_t)epoch_ns);
    r->drift = (double)(int64_t)((uint64_t)end - (uint64_t)start) / (double)wall_ns;
}

static const struct ar_process *process_of(const struct ar_profile *p,
                                           const struct ar_stream *stream)
{
    return &p->processes[p->locations[stream->location].process];
}

int64_t ar_call_order_start(const struct ar_call_order *o, size_t stream)
{
    return common_ns(&o->readings[stream], 0);
}

/* ---- turns ------------------------------------------------------------------------------------ */

static unsigned n_bits_of(uint64_t number)
{
    return number ? 64 - (unsigned)__builtin_clzll(number) : 0;
}

/* Between the start of the first process and the end of the last, which may both be nonsense. */
static void plan_turns(struct ar_call_order *o)
{
    o->first_ns = INT64_MAX;
    o->last_ns = INT64_MIN;
    for (size_t i = 0; i < o->n_readings; i++) {
        int64_t start = common_ns(&o->readings[i], 0);
        int64_t end =
            common_ns(&o->readings[i], (int64_t)process_of(o->p, &o->p->streams[i])->wall_ns);

        o->first_ns = start < o->first_ns ? start : o->first_ns;
        o->last_ns = end > o->last_ns ? end : o->last_ns;
    }
    o->n_reading_bits = n_bits_of(o->n_readings);

    unsigned n_bits = n_bits_of((uint64_t)o->last_ns - (uint64_t)o->first_ns) + o->n_reading_bits;

    o->n_rounded_bits = n_bits > 63 ? n_bits - 63 : 0;
}

static uint64_t turn_of(const struct ar_call_order *o, const struct ar_reading *r)
{
    uint64_t since = r->exit_ns > o->first_ns ? (uint64_t)r->exit_ns - (uint64_t)o->first_ns : 0;
    uint64_t most = (UINT64_MAX >> o->n_reading_bits) - 1;

    since >>= o->n_rounded_bits;
    return (since < most ? since : most) << o->n_reading_bits | (uint64_t)(r - o->readings);
}

static struct ar_reading *reading_of(const struct ar_call_order *o, uint64_t turn)
{
    return &o->readings[turn & (((uint64_t)1 << o->n_reading_bits) - 1)];
}

/* Whose turn has come is late the next time: so down to the end without looking, and up again a little. */
static void sift_down(struct ar_call_order *o, size_t top, uint64_t moving)
{
    uint64_t *turns = o->turns;
    size_t at = top;

    for (size_t child; (child = 2 * at + 1) < o->n_turns; at = child) {
        child += turns[child + 1] < turns[child]; /* no branch: it would be a guess */
        turns[at] = turns[child];
    }
    for (size_t above; at > top && moving < turns[above = (at - 1) / 2]; at = above)
        turns[at] = turns[above];
    turns[at] = moving;
}

/* One more behind the last, which is later than all: every node has two below it, or none. */
static void end_turns(struct ar_call_order *o)
{
    o->turns[o->n_turns] = UINT64_MAX;
}

static void next_turn(struct ar_call_order *o, const struct ar_reading *r, bool goes_on)
{
    if (goes_on) {
        sift_down(o, 0, turn_of(o, r));
    } else if (--o->n_turns) {
        uint64_t last = o->turns[o->n_turns];

        end_turns(o);
        sift_down(o, 0, last);
    }
}

/* ---- reading ---------------------------------------------------------------------------------- */

static const struct ar_ordered_call *call_of(const struct ar_reading *r)
{
    return &r->supply->calls[r->at];
}

static struct ar_work_shares work_of(const struct ar_stream_cursor *c)
{
    if (!c->sync.n_parts)
        return (struct ar_work_shares){0};
    return (struct ar_work_shares){.shares = c->shares,
                                   .first = c->stream->patterns[c->pattern].first,
                                   .n = c->sync.n_parts,
                                   .ns = c->parts_ns};
}

static void unpack_one(const struct ar_stream_cursor *c, struct ar_ordered_call *to)
{
    to->enter_ns = (int64_t)c->sync.enter_ns;
    to->exit_ns = (int64_t)c->sync.exit_ns;
    to->post_ns = (int64_t)c->sync.post_ns;
    to->work = work_of(c);
    to->location = c->sync.location;
    to->node = c->sync.node;
    to->comm = c->sync.comm;
    to->rank = c->sync.rank;
    to->sequence = c->sync.sequence;
    to->peer = c->sync.peer;
    to->kind = (uint8_t)c->sync.kind;
    to->flags = (uint8_t)c->sync.flags;
    to->was_posted = c->sync.posted != 0;
}

static void unpack(struct ar_reading *r)
{
    struct ar_stream_cursor *cursor = &r->supply->cursor;

    r->at = r->n_ahead = 0;
    while (r->n_ahead < AHEAD && ar_stream_next(cursor))
        unpack_one(cursor, &r->supply->calls[r->n_ahead++]);
}

static bool read_next(struct ar_reading *r)
{
    if (++r->at >= r->n_ahead)
        unpack(r);
    if (!r->n_ahead)
        return false;
    r->exit_ns = common_ns(r, call_of(r)->exit_ns);
    return true;
}

/* It ended when the one before did, so that its turn is next, whatever the others have. */
static bool is_same_call(const struct ar_call_order *o, const struct ar_ordered_call *call)
{
    return o->last.thread == call->thread && o->last.node == call->node &&
           o->last.enter_ns == call->enter_ns && o->last.exit_ns == call->exit_ns;
}

static void put(struct ar_call_order *o, const struct ar_reading *r, struct ar_ordered_call *to)
{
    *to = *call_of(r);
    to->thread = (uint32_t)(r - o->readings);
    to->is_same_call = is_same_call(o, to);
    o->last.thread = to->thread;
    o->last.node = to->node;
    o->last.enter_ns = to->enter_ns;
    o->last.exit_ns = to->exit_ns;
    to->enter_ns = common_ns(r, to->enter_ns);
    to->exit_ns = r->exit_ns;
    if (to->was_posted)
        to->post_ns = common_ns(r, to->post_ns);
}

static void fill(struct ar_call_order *o, struct ar_order_batch *batch)
{
    batch->n = 0;
    while (o->n_turns && batch->n < BATCH_CALLS) {
        struct ar_reading *r = reading_of(o, o->turns[0]);

        put(o, r, &batch->calls[batch->n++]);
        next_turn(o, r, read_next(r));
    }
}

/* ---- handing over ----------------------------------------------------------------------------- */

static struct ar_order_batch *batch_of(const struct ar_call_order *o, uint64_t number)
{
    return &o->batches[number % N_BATCHES];
}

static bool fill_ahead(void *order, uint64_t number)
{
    struct ar_call_order *o = order;
    struct ar_order_batch *batch = batch_of(o, number);

    fill(o, batch);
    return batch->n > 0;
}

/* Without a thread a batch is filled when it is asked for. */
static void take_batch(struct ar_call_order *o)
{
    o->at = 0;
    if (o->ahead)
        ar_read_ahead_wait(o->ahead);
    else
        fill(o, batch_of(o, o->n_read));
}

static void release_batch(struct ar_call_order *o)
{
    o->n_read++;
    if (o->ahead)
        ar_read_ahead_release(o->ahead);
}

const struct ar_ordered_call *ar_call_order_next(struct ar_call_order *o)
{
    struct ar_order_batch *batch = batch_of(o, o->n_read);

    if (o->at && o->at == batch->n) {
        release_batch(o);
        take_batch(o);
        batch = batch_of(o, o->n_read);
    }
    return o->at < batch->n ? &batch->calls[o->at++] : NULL;
}

const struct ar_ordered_call *ar_call_order_later(const struct ar_call_order *o, size_t n_later)
{
    const struct ar_order_batch *batch = batch_of(o, o->n_read);
    size_t at = o->at - 1 + n_later;

    return at < batch->n ? &batch->calls[at] : NULL;
}

/* ---- opening ---------------------------------------------------------------------------------- */

static enum ar_status open_readings(struct ar_call_order *o)
{
    const struct ar_profile *p = o->p;
    int64_t epoch_ns = p->n_processes ? ar_process_clock_ns(&p->processes[0], 0) : 0;

    for (size_t i = 0; i < p->n_streams; i++) {
        struct ar_reading *r = &o->readings[i];

        *r = (struct ar_reading){.supply = &o->supplies[i]};
        if (ar_stream_open(&r->supply->cursor, &p->streams[i]) < 0)
            return AR_NOMEM;
        o->n_readings++;
        find_clock(r, process_of(p, &p->streams[i]), epoch_ns);
    }
    return AR_OK;
}

static void line_up(struct ar_call_order *o)
{
    plan_turns(o);
    for (size_t i = 0; i < o->n_readings; i++)
        if (read_next(&o->readings[i]))
            o->turns[o->n_turns++] = turn_of(o, &o->readings[i]);
    end_turns(o);
    for (size_t i = o->n_turns / 2; i-- > 0;)
        sift_down(o, i, o->turns[i]);
}

static uint64_t n_records(const struct ar_profile *p)
{
    uint64_t n = 0;

    for (size_t i = 0; i < p->n_streams; i++)
        n += p->streams[i].n_syncs;
    return n;
}

enum ar_status ar_call_order_open(struct ar_call_order *out, const struct ar_profile *p)
{
    *out = (struct ar_call_order){.p = p, .last.thread = AR_NO_ID};
    out->readings = ar_large_array(p->n_streams + 1, sizeof *out->readings);
    out->supplies = ar_large_array(p->n_streams + 1, sizeof *out->supplies);
    out->turns = calloc(p->n_streams + 1, sizeof *out->turns);
    out->batches = ar_large_array(N_BATCHES, sizeof *out->batches);
    if (!out->readings || !out->supplies || !out->turns || !out->batches || open_readings(out) < 0)
        return AR_NOMEM;
    line_up(out);
    if (n_records(p) >= LEAST_FOR_THREAD)
        out->ahead = ar_read_ahead_start(fill_ahead, out, N_BATCHES);
    take_batch(out);
    return AR_OK;
}

void ar_call_order_close(struct ar_call_order *o)
{
    ar_read_ahead_stop(o->ahead);
    for (size_t i = 0; i < o->n_readings; i++)
        ar_stream_close(&o->readings[i].supply->cursor);
    free(o->readings);
    free(o->supplies);
    free(o->turns);
    free(o->batches);
}
