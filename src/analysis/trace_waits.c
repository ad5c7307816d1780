// SPDX-License-Identifier: BSD-3-Clause
/*
 * Waits are found from matched ops, one after the other. What they are charged to is first a list of spans of threads, each of which
 * counts as often as it is in the list; then all events are read once, and what a thread does in a moment gets that often.
 */
#include "analysis/trace_waits.h"

#include "analysis/names.h"

#include <stdlib.h>
#include <string.h>

/* So many parts of waits are charged one by one, and some for each wait; chains of waits are not longer than that. */
#define MOST_PARTS ((size_t)1 << 22)
#define PARTS_PER_WAIT 16
#define LONGEST_CHAIN 256

/* From here on a thread is counted once more, or once less. */
struct edge {
    int64_t ns;
    uint32_t thread;
    int32_t by;
};

struct building {
    struct ar_trace_waits *w;
    const struct ar_trace_matches *m;
    const struct ar_traces *traces;
    const struct ar_profile *p;
    int64_t *waited_until; /* of waits: how long their threads have waited, with them */
    struct edge *edges;
    size_t n_edges, cap_edges, n_parts, most_parts;
    int64_t *function_caused, *function_path; /* by function, and what is not known */
    struct ar_idmap site_ids;
};

static const struct ar_location *location_of(const struct building *b, size_t thread)
{
    return &b->p->locations[b->traces->items[thread].location];
}

static bool is_main(const struct building *b, size_t thread)
{
    const struct ar_location *l = location_of(b, thread);

    return l->thread == 0 && l->process < b->p->n_roots;
}

/* ---- an op's times ---------------------------------------------------------------------------- */

/* A begin or an end of a call, on the common clock. */
struct when {
    int64_t start_ns, end_ns;
    uint32_t thread;
};

static struct when when_of(const struct building *b, uint32_t op)
{
    size_t thread = ar_trace_matches_thread_of(b->m, op);

    return (struct when){.start_ns = ar_traces_ns(b->traces, thread, b->m->ops[op].start_ns),
                         .end_ns = ar_traces_ns(b->traces, thread, b->m->ops[op].end_ns),
                         .thread = (uint32_t)thread};
}

/* `waiting` was there from its start on, and needed one that came at `came_ns`. */
static enum ar_status add_wait(struct building *b, enum ar_wait_class class, uint32_t node,
                               struct when waiting, uint32_t late, int64_t came_ns)
{
    struct ar_trace_waits *w = b->w;

    if (came_ns <= waiting.start_ns || came_ns > waiting.end_ns || late == waiting.thread ||
        !ar_traces_have_one_clock(b->traces, waiting.thread, late))
        return AR_OK;
    if (ar_grow((void **)&w->items, &w->cap, w->n + 1, sizeof *w->items) < 0)
        return AR_NOMEM;
    w->items[w->n++] = (struct ar_trace_wait){.from_ns = waiting.start_ns,
                                              .until_ns = came_ns,
                                              .thread = waiting.thread,
                                              .late = late,
                                              .node = node,
                                              .class = (uint8_t) class};
    return AR_OK;
}

/* ---- messages --------------------------------------------------------------------------------- */

static enum ar_status find_late_sender(struct building *b, uint32_t op)
{
    const struct ar_trace_op *receive = &b->m->ops[op];
    struct when sent = when_of(b, receive->partner);

    return add_wait(b, AR_WAIT_LATE_SENDER, receive->node, when_of(b, op), sent.thread,
                    sent.start_ns);
}

/* When a receiver was there for the message: a request when it was posted. AR_NO_ID: that is not in the trace. */
static uint32_t came_of_receive(const struct building *b, uint32_t receive)
{
    const struct ar_trace_op *op = &b->m->ops[receive];

    return op->kind == AR_TRACE_RECEIVE ? receive : op->other;
}

static enum ar_status find_late_receiver(struct building *b, uint32_t op, uint32_t receive)
{
    uint32_t came = came_of_receive(b, receive);
    struct when there;

    if (came == AR_NO_ID)
        return AR_OK;
    there = when_of(b, came);
    return add_wait(b, AR_WAIT_LATE_RECEIVER, b->m->ops[op].node, when_of(b, op), there.thread,
                    there.start_ns);
}

static enum ar_status find_of_message(struct building *b, uint32_t i)
{
    const struct ar_trace_op *op = &b->m->ops[i];
    uint32_t posted = op->kind == AR_TRACE_SEND_DONE ? op->other : AR_NO_ID;

    if (op->partner != AR_NO_ID && (ar_trace_op_receives(op) || op->kind == AR_TRACE_PROBED))
        return find_late_sender(b, i);
    if (op->partner != AR_NO_ID && op->kind == AR_TRACE_SEND && !(op->flags & AR_OP_BUFFERED))
        return find_late_receiver(b, i, op->partner);
    if (posted != AR_NO_ID && b->m->ops[posted].partner != AR_NO_ID)
        return find_late_receiver(b, i, b->m->ops[posted].partner);
    return AR_OK;
}

/* ---- collective calls ------------------------------------------------------------------------- */

/* The call in which a member waits: where a request ends. AR_NO_ID: not in the trace. */
static uint32_t waiting_op(const struct building *b, uint32_t member)
{
    const struct ar_trace_op *op = &b->m->ops[member];

    return op->kind == AR_TRACE_COLLECTIVE ? member : op->other;
}

/* Of those that a member waits for. */
struct last {
    int64_t came_ns;
    uint32_t thread;
    bool is_known;
};

static void be_later(struct last *last, struct when came)
{
    if (!last->is_known || came.start_ns > last->came_ns)
        *last = (struct last){came.start_ns, came.thread, true};
}

static enum ar_status member_waits(struct building *b, enum ar_wait_class class, uint32_t member,
                                   struct last last)
{
    uint32_t op = waiting_op(b, member);

    if (op == AR_NO_ID || !last.is_known)
        return AR_OK;
    return add_wait(b, class, b->m->ops[op].node, when_of(b, op), last.thread, last.came_ns);
}

/* Each of them waits for the last; between two groups for the last of the other one. */
static enum ar_status find_of_all(struct building *b, const struct ar_trace_group *group,
                                  const uint32_t *members, enum ar_wait_class class)
{
    struct last last[2] = {{0}};
    enum ar_status status = AR_OK;

    for (uint32_t i = 0; i < group->n; i++) {
        struct when came = when_of(b, members[i]);
        uint32_t side = b->m->ops[members[i]].rank & 1;

        be_later(&last[0], came);
        if (group->has_two && side)
            be_later(&last[1], came);
    }
    if (group->has_two) {
        last[0] = (struct last){0};
        for (uint32_t i = 0; i < group->n; i++)
            if (!(b->m->ops[members[i]].rank & 1))
                be_later(&last[0], when_of(b, members[i]));
    }
    for (uint32_t i = 0; i < group->n && status == AR_OK; i++) {
        uint32_t side = group->has_two ? 1 - (b->m->ops[members[i]].rank & 1) : 0;

        status = member_waits(b, class, members[i], last[side]);
    }
    return status;
}

static enum ar_status find_of_root(struct building *b, const struct ar_trace_group *group,
                                   const uint32_t *members)
{
    bool is_from = group->sync == AR_SYNC_FROM_ROOT;
    struct last last = {0};
    uint32_t root = AR_NO_ID;
    enum ar_status status = AR_OK;

    for (uint32_t i = 0; i < group->n; i++)
        if (b->m->ops[members[i]].flags & AR_OP_ROOT)
            root = members[i];
    if (root == AR_NO_ID)
        return AR_OK;
    for (uint32_t i = 0; i < group->n; i++) {
        bool is_other_side = (b->m->ops[members[i]].rank & 1) != (b->m->ops[root].rank & 1);

        if (members[i] != root && (!group->has_two || is_other_side))
            be_later(&last, when_of(b, members[i]));
    }
    if (!is_from)
        return member_waits(b, AR_WAIT_EARLY_REDUCE, root, last);
    last = (struct last){0};
    be_later(&last, when_of(b, root));
    for (uint32_t i = 0; i < group->n && status == AR_OK; i++) {
        bool is_other_side = (b->m->ops[members[i]].rank & 1) != (b->m->ops[root].rank & 1);

        if (members[i] != root && (!group->has_two || is_other_side))
            status = member_waits(b, AR_WAIT_LATE_BROADCAST, members[i], last);
    }
    return status;
}

/* They are in the order of ranks. */
static enum ar_status find_of_scan(struct building *b, const struct ar_trace_group *group,
                                   const uint32_t *members)
{
    struct last last = {0};
    enum ar_status status = AR_OK;

    for (uint32_t i = 0; i < group->n && status == AR_OK; i++) {
        status = member_waits(b, AR_WAIT_EARLY_SCAN, members[i], last);
        be_later(&last, when_of(b, members[i]));
    }
    return status;
}

static enum ar_status find_of_group(struct building *b, const struct ar_trace_group *group)
{
    const uint32_t *members = &b->m->members[group->first];

    switch (group->sync) {
    case AR_SYNC_BARRIER:
        return find_of_all(b, group, members, AR_WAIT_BARRIER);
    case AR_SYNC_ALL:
        return find_of_all(b, group, members, AR_WAIT_ALL);
    case AR_SYNC_FROM_ROOT:
    case AR_SYNC_TO_ROOT:
        return find_of_root(b, group, members);
    default:
        return find_of_scan(b, group, members);
    }
}

/* ---- MPI_Init and MPI_Finalize ---------------------------------------------------------------- */

static struct when when_of_setup(const struct building *b, const struct ar_trace_setup *setup)
{
    return (struct when){.start_ns = ar_traces_ns(b->traces, setup->thread, setup->start_ns),
                         .end_ns = ar_traces_ns(b->traces, setup->thread, setup->end_ns),
                         .thread = (uint32_t)setup->thread};
}

/* Where all ranks have it: without some it is not known who was last. */
static enum ar_status find_of_setup(struct building *b, bool is_end)
{
    const struct ar_trace_matches *m = b->m;
    struct last last = {0};
    size_t n = 0;
    enum ar_status status = AR_OK;

    for (size_t i = 0; i < m->n_setups; i++)
        if (m->setups[i].is_end == is_end) {
            be_later(&last, when_of_setup(b, &m->setups[i]));
            n++;
        }
    if (!n || n != b->p->processes[location_of(b, last.thread)->process].world_size)
        return AR_OK;
    for (size_t i = 0; i < m->n_setups && status == AR_OK; i++)
        if (m->setups[i].is_end == is_end)
            status = add_wait(b, AR_WAIT_BARRIER, m->setups[i].node,
                              when_of_setup(b, &m->setups[i]), last.thread, last.came_ns);
    return status;
}

/* ---- one wait per call ------------------------------------------------------------------------ */

static int by_call(const void *a, const void *b)
{
    const struct ar_trace_wait *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->from_ns != y->from_ns)
        return x->from_ns < y->from_ns ? -1 : 1;
    if (x->until_ns != y->until_ns)
        return x->until_ns > y->until_ns ? -1 : 1;
    return (x->late > y->late) - (x->late < y->late);
}

/* For the last one that it needed. A thread is in one call at a time: what damaged files say else is cut. */
static enum ar_status keep_one_per_call(struct building *b)
{
    struct ar_trace_waits *w = b->w;
    size_t n = 0;

    if (w->n)
        qsort(w->items, w->n, sizeof *w->items, by_call);
    for (size_t i = 0; i < w->n; i++) {
        bool is_first = !n || w->items[n - 1].thread != w->items[i].thread;

        if (is_first || w->items[i].from_ns >= w->items[n - 1].until_ns)
            w->items[n++] = w->items[i];
    }
    w->n = n;
    w->first = calloc(b->traces->n + 1, sizeof *w->first);
    b->waited_until = calloc(n + 1, sizeof *b->waited_until);
    if (!w->first || !b->waited_until)
        return AR_NOMEM;
    for (size_t thread = 0, i = 0; thread <= b->traces->n; thread++) {
        while (i < n && w->items[i].thread < thread)
            i++;
        w->first[thread] = i;
    }
    for (size_t i = 0; i < n; i++) {
        bool is_first = w->first[w->items[i].thread] == i;

        b->waited_until[i] =
            (is_first ? 0 : b->waited_until[i - 1]) + w->items[i].until_ns - w->items[i].from_ns;
    }
    return AR_OK;
}

static enum ar_status find_waits(struct building *b)
{
    enum ar_status status = find_of_setup(b, false);

    if (status == AR_OK)
        status = find_of_setup(b, true);
    for (size_t i = 0; i < b->m->n_ops && status == AR_OK; i++)
        status = find_of_message(b, (uint32_t)i);
    for (size_t i = 0; i < b->m->n_groups && status == AR_OK; i++)
        status = find_of_group(b, &b->m->groups[i]);
    return status == AR_OK ? keep_one_per_call(b) : status;
}

/* The first wait of a thread that ends after a time. */
static size_t wait_after(const struct ar_trace_waits *w, size_t thread, int64_t ns)
{
    size_t low = w->first[thread], high = w->first[thread + 1];

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (w->items[middle].until_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- what waits are charged to ---------------------------------------------------------------- */

static enum ar_status add_part(struct building *b, uint32_t thread, int64_t from_ns,
                               int64_t until_ns)
{
    if (from_ns >= until_ns)
        return AR_OK;
    if (ar_grow((void **)&b->edges, &b->cap_edges, b->n_edges + 2, sizeof *b->edges) < 0)
        return AR_NOMEM;
    b->edges[b->n_edges++] = (struct edge){from_ns, thread, 1};
    b->edges[b->n_edges++] = (struct edge){until_ns, thread, -1};
    b->n_parts++;
    return AR_OK;
}

/* Someone waits while `thread` is in this span; where that waits itself, for the one that it waits for. */
static enum ar_status charge(struct building *b, uint32_t thread, int64_t from_ns, int64_t until_ns,
                             unsigned depth)
{
    const struct ar_trace_waits *w = b->w;
    enum ar_status status = AR_OK;

    for (size_t i = wait_after(w, thread, from_ns);
         status == AR_OK && i < w->first[thread + 1] && w->items[i].from_ns < until_ns; i++) {
        const struct ar_trace_wait *wait = &w->items[i];
        int64_t begin_ns = wait->from_ns > from_ns ? wait->from_ns : from_ns;
        int64_t end_ns = wait->until_ns < until_ns ? wait->until_ns : until_ns;

        status = add_part(b, thread, from_ns, begin_ns);
        if (depth >= LONGEST_CHAIN || b->n_parts >= b->most_parts) {
            b->w->unfollowed_ns += end_ns - begin_ns;
            if (status == AR_OK)
                status = add_part(b, thread, begin_ns, end_ns);
        } else if (status == AR_OK) {
            status = charge(b, wait->late, begin_ns, end_ns, depth + 1);
        }
        from_ns = end_ns;
    }
    return status == AR_OK ? add_part(b, thread, from_ns, until_ns) : status;
}

/* How long a thread has waited until then. */
static int64_t waited_before(const struct building *b, size_t thread, int64_t ns)
{
    const struct ar_trace_waits *w = b->w;
    size_t i = wait_after(w, thread, ns);
    int64_t waited_ns = i > w->first[thread] ? b->waited_until[i - 1] : 0;

    if (i < w->first[thread + 1] && w->items[i].from_ns < ns)
        waited_ns += ns - w->items[i].from_ns;
    return waited_ns;
}

/* ---- sites ------------------------------------------------------------------------------------ */

static struct ar_trace_wait_site *site_of(struct building *b, const struct ar_trace_wait *wait)
{
    struct ar_trace_waits *w = b->w;
    uint32_t node = wait->node == AR_NO_ID ? AR_NO_ID : ar_operation_of(b->p, wait->node);
    struct ar_place place = {.function = AR_NO_ID};
    uint64_t key;
    uint32_t id;

    if (node != AR_NO_ID)
        place = ar_place_of_call(b->p, node);
    key = ar_pair_key((uint64_t)wait->class << 32 |
                          (node == AR_NO_ID ? AR_NO_ID : b->p->nodes[node].function),
                      (uint64_t)place.function << 32 | place.line);
    id = ar_idmap_get(&b->site_ids, key, AR_NO_ID);
    if (id != AR_NO_ID)
        return &w->sites[id];
    if (ar_grow((void **)&w->sites, &w->cap_sites, w->n_sites + 1, sizeof *w->sites) < 0 ||
        ar_idmap_put(&b->site_ids, key, (uint32_t)w->n_sites) < 0)
        return NULL;
    w->sites[w->n_sites] = (struct ar_trace_wait_site){
        .class = (enum ar_wait_class)wait->class, .node = node, .place = place};
    return &w->sites[w->n_sites++];
}

static enum ar_status count_wait(struct building *b, const struct ar_trace_wait *wait)
{
    struct ar_trace_wait_site *site = site_of(b, wait);
    struct ar_trace_blame *own = &b->w->processes[location_of(b, wait->thread)->process];
    int64_t ns = wait->until_ns - wait->from_ns;

    if (!site)
        return AR_NOMEM;
    site->n++;
    site->waited_ns += ns;
    site->indirect_ns += wait->indirect_ns;
    site->longest_ns = ns > site->longest_ns ? ns : site->longest_ns;
    own->waited_ns += ns;
    own->indirect_ns += wait->indirect_ns;
    b->w->waited_ns += ns;
    b->w->indirect_ns += wait->indirect_ns;
    b->w->n_counted++;
    return charge(b, wait->late, wait->from_ns, wait->until_ns, 0);
}

static int by_waited(const void *a, const void *b)
{
    const struct ar_trace_wait_site *x = a, *y = b;

    if (x->waited_ns != y->waited_ns)
        return x->waited_ns > y->waited_ns ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static enum ar_status count_waits(struct building *b)
{
    struct ar_trace_waits *w = b->w;
    enum ar_status status = AR_OK;

    b->most_parts = MOST_PARTS + PARTS_PER_WAIT * w->n;
    for (size_t i = 0; i < w->n && status == AR_OK; i++) {
        struct ar_trace_wait *wait = &w->items[i];

        wait->indirect_ns = waited_before(b, wait->late, wait->until_ns) -
                            waited_before(b, wait->late, wait->from_ns);
        if (is_main(b, wait->thread))
            status = count_wait(b, wait);
    }
    if (w->n_sites)
        qsort(w->sites, w->n_sites, sizeof *w->sites, by_waited);
    return status;
}

/* ---- the critical path ------------------------------------------------------------------------ */

static int64_t start_of(const struct building *b, size_t thread)
{
    return ar_traces_ns(b->traces, thread, b->traces->items[thread].start_ns);
}

static int64_t end_of(const struct building *b, size_t thread)
{
    return ar_traces_ns(b->traces, thread, b->traces->items[thread].end_ns);
}

/* AR_NO_ID: no rank has a trace. */
static uint32_t last_thread(const struct building *b)
{
    uint32_t last = AR_NO_ID;

    for (uint32_t i = 0; i < b->traces->n; i++)
        if (is_main(b, i) && (last == AR_NO_ID || end_of(b, i) > end_of(b, last)))
            last = i;
    return last;
}

static enum ar_status add_path(struct building *b, uint32_t thread, int64_t from_ns,
                               int64_t until_ns, uint32_t wait)
{
    struct ar_trace_waits *w = b->w;

    if (from_ns > until_ns)
        from_ns = until_ns;
    if (ar_grow((void **)&w->path, &w->cap_path, w->n_path + 1, sizeof *w->path) < 0)
        return AR_NOMEM;
    w->path[w->n_path++] = (struct ar_trace_path_part){from_ns, until_ns, thread, wait};
    return AR_OK;
}

/* A thread that another one has started: it goes on on the main one. AR_NO_ID: there is none. */
static uint32_t main_thread_of(const struct building *b, uint32_t thread)
{
    const struct ar_location *l = location_of(b, thread);
    uint32_t root = b->p->processes[l->process].root;

    for (uint32_t i = 0; i < b->traces->n; i++)
        if (i != thread && location_of(b, i)->thread == 0 &&
            location_of(b, i)->process == (l->thread ? l->process : root))
            return i;
    return AR_NO_ID;
}

static void turn_path_round(struct ar_trace_waits *w)
{
    for (size_t i = 0; i < w->n_path / 2; i++) {
        struct ar_trace_path_part part = w->path[i];

        w->path[i] = w->path[w->n_path - 1 - i];
        w->path[w->n_path - 1 - i] = part;
    }
}

/* Backward, from wait to wait. Times never grow, so that each wait is met once, or the file is damaged. */
static enum ar_status find_path(struct building *b)
{
    struct ar_trace_waits *w = b->w;
    uint32_t thread = last_thread(b);
    size_t most_steps = w->n + b->traces->n + 1;
    int64_t now_ns = thread == AR_NO_ID ? 0 : end_of(b, thread);
    enum ar_status status = AR_OK;

    w->start_ns = w->end_ns = now_ns;
    while (thread != AR_NO_ID && status == AR_OK && w->n_path < most_steps) {
        size_t after = wait_after(w, thread, now_ns);
        bool has_wait = after > w->first[thread];
        uint32_t wait = has_wait ? (uint32_t)(after - 1) : AR_NO_ID;
        int64_t from_ns = has_wait ? w->items[wait].until_ns : start_of(b, thread);

        status = add_path(b, thread, from_ns, now_ns, wait);
        now_ns = from_ns < now_ns ? from_ns : now_ns;
        thread = has_wait             ? w->items[wait].late
                 : is_main(b, thread) ? AR_NO_ID
                                      : main_thread_of(b, thread);
    }
    w->start_ns = now_ns;
    turn_path_round(w);
    return status;
}

/* ---- events ----------------------------------------------------------------------------------- */

static int by_edge(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

static int by_path(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    return by_edge(x, y);
}

/* The edges of a thread that are left, how often its moments count now, and since when. */
struct counting {
    const struct edge *at, *end;
    int64_t now_ns;
    int32_t times;
};

/* How much the time up to an instant counts. */
static int64_t count_until(struct counting *c, int64_t ns)
{
    int64_t sum = 0;

    while (c->at < c->end && c->at->ns <= ns) {
        if (c->at->ns > c->now_ns) {
            sum += c->times * (c->at->ns - c->now_ns);
            c->now_ns = c->at->ns;
        }
        c->times += c->at->by;
        c->at++;
    }
    if (ns > c->now_ns) {
        sum += c->times * (ns - c->now_ns);
        c->now_ns = ns;
    }
    return sum;
}

static struct counting counting_of(const struct edge *edges, size_t n, uint32_t thread)
{
    size_t low = 0, high = n;
    struct counting c;

    if (!n || !edges)
        return (struct counting){.at = NULL};
    while (low < high) {
        size_t middle = (low + high) / 2;

        if (edges[middle].thread < thread)
            low = middle + 1;
        else
            high = middle;
    }
    for (high = low; high < n && edges[high].thread == thread;)
        high++;
    c = (struct counting){.at = edges + low, .end = edges + high};
    c.now_ns = low < high ? edges[low].ns : 0;
    return c;
}

/* Where a thread is, as its events say. */
static uint32_t node_after(const struct building *b, const struct ar_trace_event *event,
                           uint32_t node)
{
    switch (event->kind) {
    case AR_EVENT_ENTER:
        return event->node;
    case AR_EVENT_LEAVE:
        return event->node == AR_NO_ID ? AR_NO_ID : b->p->nodes[event->node].parent;
    default:
        return node;
    }
}

struct reading {
    struct counting caused, path;
    uint32_t node;
    bool is_off;
};

static void count_moment(struct building *b, struct reading *r, uint32_t process, int64_t ns)
{
    int64_t caused_ns = count_until(&r->caused, ns), path_ns = count_until(&r->path, ns);
    uint32_t function = r->is_off || r->node == AR_NO_ID ? (uint32_t)b->p->n_functions
                                                         : b->p->nodes[r->node].function;

    b->function_caused[function] += caused_ns;
    b->function_path[function] += path_ns;
    b->w->processes[process].caused_ns += caused_ns;
    b->w->processes[process].path_ns += path_ns;
}

static enum ar_status read_thread(struct building *b, size_t thread, struct reading r,
                                  struct ar_error *err)
{
    struct ar_trace_cursor c;
    struct ar_trace_event event;
    uint32_t process = location_of(b, thread)->process;
    enum ar_status status;

    if (r.caused.at == r.caused.end && r.path.at == r.path.end)
        return AR_OK;
    ar_trace_seek(&c, &b->traces->items[thread], 0, UINT64_MAX);
    while (ar_trace_next(&c, &event)) {
        if (event.kind == AR_EVENT_MESSAGE || event.kind == AR_EVENT_PARAMETER ||
            event.kind == AR_EVENT_COUNTER)
            continue;
        count_moment(b, &r, process, ar_traces_ns(b->traces, thread, event.at_ns));
        r.node = node_after(b, &event, r.node);
        r.is_off = event.kind == AR_EVENT_OFF || (r.is_off && event.kind != AR_EVENT_ON);
    }
    r.node = AR_NO_ID;
    count_moment(b, &r, process, INT64_MAX / 2);
    status = c.status;
    if (status < 0)
        ar_fail(err, status, "%s", c.err.text);
    ar_trace_end(&c);
    return status;
}

static struct edge *path_edges(const struct ar_trace_waits *w)
{
    struct edge *edges = calloc(2 * w->n_path + 1, sizeof *edges);

    for (size_t i = 0; edges && i < w->n_path; i++) {
        edges[2 * i] = (struct edge){w->path[i].from_ns, w->path[i].thread, 1};
        edges[2 * i + 1] = (struct edge){w->path[i].until_ns, w->path[i].thread, -1};
    }
    if (edges)
        qsort(edges, 2 * w->n_path, sizeof *edges, by_path);
    return edges;
}

static enum ar_status read_events(struct building *b, struct ar_error *err)
{
    struct edge *path = path_edges(b->w);
    enum ar_status status = path ? AR_OK : ar_fail(err, AR_NOMEM, "out of memory");

    if (b->n_edges)
        qsort(b->edges, b->n_edges, sizeof *b->edges, by_edge);
    for (uint32_t i = 0; i < b->traces->n && status == AR_OK; i++)
        status = read_thread(b, i,
                             (struct reading){.caused = counting_of(b->edges, b->n_edges, i),
                                              .path = counting_of(path, 2 * b->w->n_path, i),
                                              .node = AR_NO_ID},
                             err);
    free(path);
    return status;
}

/* ---- all together ----------------------------------------------------------------------------- */

static int by_path_share(const void *a, const void *b)
{
    const struct ar_trace_blame *x = a, *y = b;

    if (x->path_ns != y->path_ns)
        return x->path_ns > y->path_ns ? -1 : 1;
    if (x->caused_ns != y->caused_ns)
        return x->caused_ns > y->caused_ns ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

static enum ar_status list_functions(struct building *b)
{
    struct ar_trace_waits *w = b->w;

    w->functions = calloc(b->p->n_functions + 1, sizeof *w->functions);
    if (!w->functions)
        return AR_NOMEM;
    for (size_t i = 0; i <= b->p->n_functions; i++)
        if (b->function_caused[i] || b->function_path[i])
            w->functions[w->n_functions++] =
                (struct ar_trace_blame){.item = i < b->p->n_functions ? (uint32_t)i : AR_NO_ID,
                                        .caused_ns = b->function_caused[i],
                                        .path_ns = b->function_path[i]};
    qsort(w->functions, w->n_functions, sizeof *w->functions, by_path_share);
    return AR_OK;
}

static enum ar_status build(struct building *b, struct ar_error *err)
{
    enum ar_status status = AR_NOMEM;

    b->w->processes = calloc(b->p->n_processes + 1, sizeof *b->w->processes);
    b->function_caused = calloc(b->p->n_functions + 1, sizeof *b->function_caused);
    b->function_path = calloc(b->p->n_functions + 1, sizeof *b->function_path);
    if (b->w->processes && b->function_caused && b->function_path)
        status = find_waits(b);
    for (uint32_t i = 0; status == AR_OK && i < b->p->n_processes; i++)
        b->w->processes[i].item = i;
    if (status == AR_OK)
        status = count_waits(b);
    if (status == AR_OK)
        status = find_path(b);
    if (status < 0)
        return ar_fail(err, AR_NOMEM, "out of memory");
    status = read_events(b, err);
    if (status == AR_OK && list_functions(b) < 0)
        status = ar_fail(err, AR_NOMEM, "out of memory");
    return status;
}

enum ar_status ar_trace_waits_build(struct ar_trace_waits *out, const struct ar_trace_matches *m,
                                    struct ar_error *err)
{
    struct building b = {.w = out, .m = m, .traces = m->traces, .p = m->traces->profile};
    enum ar_status status;

    *out = (struct ar_trace_waits){.m = m};
    status = build(&b, err);
    free(b.waited_until);
    free(b.edges);
    free(b.function_caused);
    free(b.function_path);
    ar_idmap_free(&b.site_ids);
    if (status < 0)
        ar_trace_waits_free(out);
    return status;
}

void ar_trace_waits_free(struct ar_trace_waits *w)
{
    free(w->items);
    free(w->first);
    free(w->sites);
    free(w->processes);
    free(w->functions);
    free(w->path);
    *w = (struct ar_trace_waits){0};
}
