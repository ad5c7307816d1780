// SPDX-License-Identifier: BSD-3-Clause
/*
 * Events of a trace as steps in the tree of the profile.
 *
 * The bytes say how the thread moved in the tree of its live file. That of the profile may have more nodes (a region around a
 * function) or fewer (what is not shown), so each step is a way from one node of the profile to another: up to where both ways meet, then
 * down. Most ways are one step.
 *
 * What an MPI call did is stored behind its end, and told before it: the bytes are read on until something else comes.
 */
#include "format/trace.h"

#include "base/arena.h"

#include <stdlib.h>

/* ---- items ------------------------------------------------------------------------------------ */

/* The nearest node of the profile; AR_NO_ID: there is none. */
static uint32_t shown_node(const struct ar_trace *trace, uint32_t item)
{
    while (item != AR_NO_ID && trace->nodes[item] == AR_NO_ID)
        item = trace->parents[item];
    return item == AR_NO_ID ? AR_NO_ID : trace->nodes[item];
}

static uint32_t parent_node(const struct ar_trace_cursor *c, uint32_t node)
{
    return node == AR_NO_ID ? AR_NO_ID : c->trace->profile->nodes[node].parent;
}

/* ---- ways ------------------------------------------------------------------------------------- */

static uint32_t depth_of(const struct ar_trace_cursor *c, uint32_t node)
{
    uint32_t depth = 0;

    for (; node != AR_NO_ID; node = parent_node(c, node))
        depth++;
    return depth;
}

static bool push(struct ar_trace_cursor *c, uint32_t node)
{
    if (ar_grow((void **)&c->path, &c->cap_path, c->n_path + 1, sizeof *c->path) < 0) {
        c->status = ar_fail(&c->err, AR_NOMEM, "out of memory");
        return false;
    }
    c->path[c->n_path++] = node;
    return true;
}

/* Up to where both are in, and the nodes down from there. */
static void find_long_way(struct ar_trace_cursor *c, uint32_t goal)
{
    uint32_t from = c->node, n_from = depth_of(c, from), n_goal = depth_of(c, goal);

    while (from != goal) {
        if (n_goal >= n_from) {
            if (!push(c, goal))
                return;
            goal = parent_node(c, goal);
            n_goal--;
        } else {
            from = parent_node(c, from);
            n_from--;
        }
    }
    c->turn = from;
}

/* From `node` to `goal`: one step, nearly always. */
static void find_way(struct ar_trace_cursor *c, uint32_t goal)
{
    c->n_path = 0;
    if (c->node != AR_NO_ID && parent_node(c, c->node) == goal)
        c->turn = goal;
    else if (goal != AR_NO_ID && parent_node(c, goal) == c->node && push(c, goal))
        c->turn = c->node;
    else
        find_long_way(c, goal);
}

/* Setting all of it to zero would take as long as reading it from the bytes. */
static void fill(struct ar_trace_cursor *c, struct ar_trace_event *out,
                 enum ar_trace_event_kind kind, uint32_t node)
{
    out->kind = (uint8_t)kind;
    out->is_implied = c->is_implied;
    out->at_ns = c->goal_ns > c->at_ns ? c->goal_ns : c->at_ns;
    out->node = node;
    out->depth = c->depth;
    c->at_ns = out->at_ns;
}

static bool is_pause(const struct ar_trace_cursor *c, uint32_t node)
{
    return c->pause != AR_NO_ID && node != AR_NO_ID &&
           c->trace->profile->nodes[node].function == c->pause;
}

/* One step of the way to the goal; false: it is reached. A pause is no call: it begins and ends like a time in which the trace is off. */
static bool take_step(struct ar_trace_cursor *c, struct ar_trace_event *out)
{
    if (c->node != c->turn) {
        uint32_t left = c->node;

        c->node = parent_node(c, left);
        if (is_pause(c, left)) {
            fill(c, out, AR_EVENT_ON, c->node);
            return true;
        }
        c->depth--;
        fill(c, out, AR_EVENT_LEAVE, left);
        return true;
    }
    if (!c->n_path)
        return false;
    c->node = c->path[--c->n_path];
    c->turn = c->node;
    if (is_pause(c, c->node)) {
        fill(c, out, AR_EVENT_OFF, parent_node(c, c->node));
        return true;
    }
    fill(c, out, AR_EVENT_ENTER, c->node);
    c->depth++;
    c->entered_ns = out->at_ns;
    return true;
}

static void set_goal(struct ar_trace_cursor *c, uint32_t node, uint64_t at_ns, bool is_implied)
{
    c->goal_ns = at_ns;
    c->is_implied = is_implied;
    find_way(c, node);
}

/* ---- reading ---------------------------------------------------------------------------------- */

static uint64_t ns_at(const struct ar_trace_cursor *c, uint64_t units)
{
    const struct ar_trace_chunk *chunk = &c->trace->chunks[c->chunk];

    double ns = (double)units * c->trace->ns_per_unit;
    double most_ns = (double)(AR_TRACE_MOST_NS - chunk->start_ns);

    return ns < most_ns ? chunk->start_ns + (uint64_t)ns : AR_TRACE_MOST_NS;
}

/* false: it cannot be read, and `status` says why. */
static bool load_chunk(struct ar_trace_cursor *c)
{
    const struct ar_trace *trace = c->trace;
    const struct ar_trace_chunk *chunk = &trace->chunks[c->chunk];

    if (!trace->bulk) {
        c->status = ar_fail(&c->err, AR_BAD, "the events of the trace are not in the file");
        return false;
    }
    if (!c->room || chunk->n_bytes > c->n_room) { /* of an empty one there is room, too */
        free(c->room);
        c->n_room = (size_t)chunk->n_bytes + 1;
        c->room = malloc(c->n_room);
    }
    if (!c->room) {
        c->n_room = 0;
        c->status = ar_fail(&c->err, AR_NOMEM, "out of memory");
        return false;
    }
    c->status = ar_bulk_get(&trace->profile->bulks, trace->bulk, chunk->at, c->room,
                            (size_t)chunk->n_bytes, &c->err);
    if (c->status == AR_OK && ar_crc32(c->room, (size_t)chunk->n_bytes) != chunk->crc)
        c->status = ar_fail(&c->err, AR_BAD, "the trace is damaged (copy the file again)");
    c->reader = (struct ar_trace_chunk_reader){.at = c->room, .end = c->room + chunk->n_bytes};
    return c->status == AR_OK;
}

/* The next item of the trace, with its time; false: there is none, or it cannot be read. */
static bool next_item(struct ar_trace_cursor *c, struct ar_trace_item *item, uint64_t *at_ns)
{
    if (c->has_pending) {
        *item = c->pending;
        *at_ns = c->pending_ns;
        c->has_pending = false;
        return true;
    }
    while (!ar_trace_chunk_next(&c->reader, item)) {
        if (c->reader.bad) {
            c->status = ar_fail(&c->err, AR_BAD, "the trace is damaged (copy the file again)");
            return false;
        }
        if (c->chunk + 1 >= c->trace->n_chunks)
            return false;
        c->chunk++;
        if (!load_chunk(c))
            return false;
        c->item = c->trace->chunks[c->chunk].item;
        c->is_after_gap = c->trace->chunks[c->chunk].is_after_gap;
    }
    *at_ns = ns_at(c, item->units);
    return true;
}

/* ---- what waits to be told -------------------------------------------------------------------- */

static struct ar_trace_event *put_ahead(struct ar_trace_cursor *c, enum ar_trace_event_kind kind,
                                        uint64_t at_ns)
{
    if (ar_grow((void **)&c->ahead, &c->cap_ahead, c->n_ahead + 1, sizeof *c->ahead) < 0) {
        c->status = ar_fail(&c->err, AR_NOMEM, "out of memory");
        return NULL;
    }

    struct ar_trace_event *event = &c->ahead[c->n_ahead++];

    *event = (struct ar_trace_event){
        .kind = (uint8_t)kind, .at_ns = at_ns, .node = c->node, .depth = c->depth};
    return event;
}

static bool take_ahead(struct ar_trace_cursor *c, struct ar_trace_event *out)
{
    if (c->next_ahead == c->n_ahead) {
        c->n_ahead = c->next_ahead = 0;
        return false;
    }
    *out = c->ahead[c->next_ahead++];
    if (out->at_ns < c->at_ns)
        out->at_ns = c->at_ns;
    c->at_ns = out->at_ns;
    return true;
}

/* ---- messages --------------------------------------------------------------------------------- */

static uint32_t comm_of(const struct ar_trace *trace, uint32_t number)
{
    const struct ar_stream_table *comms = &trace->stream->tables[1];

    return number && number <= comms->n ? comms->numbers[number - 1] : 0;
}

static bool is_mpi(const struct ar_trace_cursor *c, uint32_t node)
{
    const struct ar_profile *p = c->trace->profile;

    return node != AR_NO_ID && p->functions[p->nodes[node].function].kind == AR_FUNCTION_MPI;
}

static void keep_item(struct ar_trace_cursor *c, const struct ar_trace_item *item, uint64_t at_ns)
{
    c->pending = *item;
    c->pending_ns = at_ns;
    c->has_pending = true;
}

/* What the call did that ends at `end_ns`. */
static void read_messages(struct ar_trace_cursor *c, uint64_t end_ns)
{
    struct ar_trace_item item = {0};
    struct ar_trace_message message;
    uint64_t at_ns;

    while (next_item(c, &item, &at_ns)) {
        if (!ar_trace_message_get(&message, &item)) {
            keep_item(c, &item, at_ns);
            return;
        }

        struct ar_trace_event *event = put_ahead(c, AR_EVENT_MESSAGE, c->at_ns);

        if (!event)
            return;
        event->message = message;
        event->message.comm = comm_of(c->trace, message.comm);
        event->call_start_ns = c->entered_ns < end_ns ? c->entered_ns : end_ns;
        event->call_end_ns = end_ns;
    }
}

/* ---- items of the trace ----------------------------------------------------------------------- */

/* The trace ends, or the window: what is open is left. */
static void leave_all(struct ar_trace_cursor *c, uint64_t at_ns)
{
    c->has_ended = true;
    set_goal(c, AR_NO_ID, at_ns, true);
}

static void put_gap(struct ar_trace_cursor *c, uint64_t from_ns, uint64_t to_ns)
{
    if (put_ahead(c, AR_EVENT_OFF, from_ns))
        put_ahead(c, AR_EVENT_ON, to_ns);
}

static void put_parameter(struct ar_trace_cursor *c, const struct ar_trace_item *item,
                          uint64_t at_ns)
{
    struct ar_trace_parameter parameter;
    struct ar_trace_event *event;

    if (is_pause(c, c->node) || !ar_trace_parameter_get(&parameter, item))
        return;
    event = put_ahead(c, parameter.type == AR_TRACE_COUNTER ? AR_EVENT_COUNTER : AR_EVENT_PARAMETER,
                      at_ns);
    if (event)
        event->parameter = parameter;
}

static void follow_code(struct ar_trace_cursor *c, const struct ar_trace_item *item, uint64_t at_ns)
{
    c->is_off = item->code == AR_TRACE_OFF || (c->is_off && item->code != AR_TRACE_ON);
    switch (item->code) {
    case AR_TRACE_OFF:
        put_ahead(c, AR_EVENT_OFF, at_ns);
        break;
    case AR_TRACE_ON:
        put_ahead(c, AR_EVENT_ON, at_ns);
        break;
    case AR_TRACE_REWOUND:
        put_gap(c, c->at_ns, at_ns);
        break;
    case AR_TRACE_FULL:
        put_ahead(c, AR_EVENT_FULL, at_ns);
        leave_all(c, at_ns);
        break;
    case AR_TRACE_PARAMETER:
        put_parameter(c, item, at_ns);
        break;
    default:
        break;
    }
}

/* Up to the first item that belongs to the window: only where the thread is counts. */
static void skip_to_window(struct ar_trace_cursor *c)
{
    struct ar_trace_item item = {0};
    uint64_t at_ns, from_ns = c->from_ns;

    c->has_begun = true;
    while (next_item(c, &item, &at_ns)) {
        if (at_ns >= from_ns) {
            keep_item(c, &item, at_ns);
            break;
        }
        c->item = ar_trace_follow(c->trace, c->item, &item);
        if (item.tag == AR_TRACE_MORE)
            c->is_off = item.code == AR_TRACE_OFF || (c->is_off && item.code != AR_TRACE_ON);
    }
    c->is_after_gap = false;
    if (from_ns < c->trace->start_ns)
        from_ns = c->trace->start_ns;
    if (from_ns < c->to_ns && c->status == AR_OK)
        set_goal(c, shown_node(c->trace, c->item), from_ns, true);
}

static void take_item(struct ar_trace_cursor *c)
{
    struct ar_trace_item item = {0};
    uint64_t at_ns, end_ns = c->is_off ? c->at_ns : c->trace->end_ns;

    if (!next_item(c, &item, &at_ns)) {
        if (c->status == AR_OK)
            leave_all(c, end_ns < c->to_ns ? end_ns : c->to_ns);
        return;
    }
    if (at_ns > c->to_ns) {
        leave_all(c, c->to_ns);
        return;
    }
    if (c->is_after_gap) {
        uint64_t start_ns = c->trace->chunks[c->chunk].start_ns;

        c->is_after_gap = false;
        keep_item(c, &item, at_ns);
        put_gap(c, c->at_ns, start_ns);
        set_goal(c, shown_node(c->trace, c->trace->chunks[c->chunk].item), start_ns, true);
        return;
    }

    uint32_t next = ar_trace_follow(c->trace, c->item, &item), node = shown_node(c->trace, next);

    c->item = next;
    if (item.tag == AR_TRACE_MORE)
        follow_code(c, &item, at_ns);
    if (c->has_ended || node == c->node)
        return;
    if (is_mpi(c, c->node))
        read_messages(c, at_ns);
    set_goal(c, node, at_ns, item.tag == AR_TRACE_MORE && item.code != AR_TRACE_GO);
}

/* ---- the cursor ------------------------------------------------------------------------------- */

static size_t chunk_at(const struct ar_trace *trace, uint64_t ns)
{
    size_t first = 0, end = trace->n_chunks;

    while (end - first > 1) {
        size_t middle = (first + end) / 2;

        if (trace->chunks[middle].start_ns <= ns)
            first = middle;
        else
            end = middle;
    }
    return first;
}

static uint32_t find_pause(const struct ar_profile *p)
{
    for (uint32_t i = 0; i < p->n_functions; i++)
        if (ar_function_is_pause(p, i))
            return i;
    return AR_NO_ID;
}

void ar_trace_seek(struct ar_trace_cursor *c, const struct ar_trace *trace, uint64_t from_ns,
                   uint64_t to_ns)
{
    *c = (struct ar_trace_cursor){.trace = trace,
                                  .from_ns = from_ns,
                                  .to_ns = to_ns,
                                  .pause = find_pause(trace->profile),
                                  .node = AR_NO_ID,
                                  .turn = AR_NO_ID,
                                  .item = AR_NO_ID};
    if (!trace->n_chunks || from_ns > trace->end_ns || to_ns < trace->start_ns) {
        c->has_begun = c->has_ended = true;
        return;
    }
    c->chunk = chunk_at(trace, from_ns);
    c->item = trace->chunks[c->chunk].item;
    load_chunk(c);
}

bool ar_trace_next(struct ar_trace_cursor *c, struct ar_trace_event *out)
{
    while (c->status == AR_OK) {
        if (take_ahead(c, out) || take_step(c, out))
            return true;
        if (c->has_ended)
            return false;
        if (!c->has_begun)
            skip_to_window(c);
        else
            take_item(c);
    }
    return false;
}

void ar_trace_end(struct ar_trace_cursor *c)
{
    free(c->room);
    free(c->path);
    free(c->ahead);
    c->room = NULL;
    c->path = NULL;
    c->ahead = NULL;
}
