// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/trace_matches.h"

#include "analysis/mpi_class.h"

#include <stdlib.h>
#include <string.h>

/* An end of a message, or a member of a collective call: sorted, what belongs together is side by side. */
struct end {
    uint64_t key;
    uint64_t bytes;
    uint64_t posted_ns; /* of a receive: when; 0: before the trace */
    uint32_t number;
    uint32_t op;
    uint8_t side; /* enum side */
};

enum side { SENDS, RECEIVES, COMES };

/* A request where it is posted and where it ends. */
struct use {
    uint64_t request;
    uint32_t process, op;
};

/* A thread may look at a few messages before it receives one. */
#define N_PROBES 8
struct probe {
    uint32_t comm, peer, op; /* op AR_NO_ID: none */
    int32_t tag;
};

struct ar_trace_matching {
    struct end *ends;
    size_t n_ends, cap_ends;
    struct use *uses;
    size_t n_uses, cap_uses;
    size_t thread;
    struct probe probes[N_PROBES];
    uint32_t n_probes;     /* ever */
    struct ar_idmap owner; /* process plus 1, by communicator and rank */
    uint8_t *is_doubtful;  /* by communicator plus 1: two processes are the same rank of it */
    struct {
        uint32_t comm, rank, process;
    } last; /* that was looked up in `owner` */
};

const char *ar_trace_unmatched_name(enum ar_trace_unmatched why)
{
    static const char *const names[AR_N_TRACE_UNMATCHED] = {
        [AR_MATCHED] = "matched",
        [AR_UNMATCHED_ALONE] = "other end not in the trace, or not among the ranks shown",
        [AR_UNMATCHED_NUMBER] = "order not known",
        [AR_UNMATCHED_AMBIGUOUS] = "ambiguous",
        [AR_UNMATCHED_SIZE] = "sizes differ",
        [AR_UNMATCHED_COMM] = "communicator not known",
    };

    return names[why];
}

static const struct ar_profile *profile_of(const struct ar_trace_matches *m)
{
    return m->traces->profile;
}

static uint32_t process_of(const struct ar_trace_matches *m, size_t thread)
{
    return profile_of(m)->locations[m->traces->items[thread].location].process;
}

size_t ar_trace_matches_thread_of(const struct ar_trace_matches *m, uint32_t op)
{
    size_t low = 0, high = m->traces->n;

    while (high - low > 1) {
        size_t middle = (low + high) / 2;

        if (m->first[middle] <= op)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* ---- what an op is ---------------------------------------------------------------------------- */

static const struct ar_comm *comm_at(const struct ar_trace_matches *m, uint32_t comm)
{
    return comm && comm <= profile_of(m)->n_comms ? &profile_of(m)->comms[comm - 1] : NULL;
}

/* Those without an identity may be several. */
static bool is_known(const struct ar_comm *c)
{
    return c && c->size && (c->identity || c->origin == AR_COMM_WORLD || c->origin == AR_COMM_SELF);
}

static bool is_one_sided(const struct ar_comm *c)
{
    return c && (c->origin == AR_COMM_WINDOW || c->origin == AR_COMM_FILE);
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);

    return n >= n_end && memcmp(text + n - n_end, end, n_end) == 0;
}

static const char *function_name(const struct ar_trace_matches *m, uint32_t node)
{
    const struct ar_profile *p = profile_of(m);

    return node == AR_NO_ID
               ? ""
               : ar_strtab_text(&p->strings, p->functions[p->nodes[node].function].name);
}

/* What each rank has of it may be nothing, so that some need not wait for others: MPI_Gatherv, MPI_Alltoallw, not MPI_Recv. */
static bool has_parts_of_their_own(const char *name)
{
    return ends_with(name, "v") || ends_with(name, "w") || ends_with(name, "v_c") ||
           ends_with(name, "w_c");
}

static bool may_pass(const struct ar_trace_matches *m, const struct ar_trace_event *event)
{
    const struct ar_trace_message *message = &event->message;

    if (message->may_pass || message->sync == AR_SYNC_BARRIER)
        return message->may_pass;
    return has_parts_of_their_own(function_name(m, event->node));
}

static bool is_collective(const struct ar_trace_message *message)
{
    return message->kind >= AR_TRACE_COLLECTIVE && message->kind <= AR_TRACE_COLLECTIVE_DONE;
}

static uint8_t flags_of(const struct ar_trace_matches *m, const struct ar_trace_event *event,
                        bool is_cut)
{
    const struct ar_trace_message *message = &event->message;
    const struct ar_comm *c = comm_at(m, message->comm);
    bool has_two = c && c->remote_size;
    bool is_empty = !message->bytes_out && !message->bytes_in;
    unsigned flags = is_cut ? AR_OP_CUT : 0;

    if (is_collective(message)) {
        /* Between two groups the root says that it is one, which is no rank. */
        if (has_two ? message->peer == AR_PEER_UNKNOWN
                    : message->rank == AR_OWN_RANK(message->peer, 0))
            flags |= AR_OP_ROOT;
        if (may_pass(m, event) || (is_empty && !has_two && message->sync != AR_SYNC_BARRIER))
            flags |= AR_OP_MAY_PASS;
    } else if (message->kind == AR_TRACE_SEND) {
        flags |= strncmp(function_name(m, event->node), "MPI_Bsend", 9) == 0 ? AR_OP_BUFFERED : 0;
    }
    return (uint8_t)flags;
}

/* ---- adding ops ------------------------------------------------------------------------------- */

enum ar_status ar_trace_matches_begin(struct ar_trace_matches *out, const struct ar_traces *traces)
{
    *out = (struct ar_trace_matches){.traces = traces,
                                     .first = calloc(traces->n + 1, sizeof *out->first),
                                     .work = calloc(1, sizeof *out->work)};
    if (out->work)
        out->work->is_doubtful = calloc(traces->profile->n_comms + 1, 1);
    if (out->first && out->work && out->work->is_doubtful)
        return AR_OK;
    ar_trace_matches_free(out);
    return AR_NOMEM;
}

void ar_trace_matches_thread(struct ar_trace_matches *m, size_t thread)
{
    for (size_t i = m->work->thread + 1; i <= thread; i++)
        m->first[i] = m->n_ops;
    m->work->thread = thread;
    for (size_t i = 0; i < N_PROBES; i++)
        m->work->probes[i].op = AR_NO_ID;
}

/* The rank of a communicator is one process, or nothing on it can be told apart. */
static enum ar_status check_owner(struct ar_trace_matches *m, uint32_t comm, uint32_t rank)
{
    struct ar_trace_matching *w = m->work;
    uint32_t process = process_of(m, w->thread) + 1;
    uint64_t key = ar_pair_key(comm, rank);

    if (w->last.comm == comm && w->last.rank == rank && w->last.process == process)
        return AR_OK;
    w->last.comm = comm;
    w->last.rank = rank;
    w->last.process = process;

    uint32_t owner = ar_idmap_get(&w->owner, key, 0);

    if (owner && owner != process && m->traces->profile->comms[comm - 1].origin != AR_COMM_SELF)
        w->is_doubtful[comm] = true;
    return owner ? AR_OK : ar_idmap_put(&w->owner, key, process);
}

static enum ar_status add_end(struct ar_trace_matches *m, struct end end)
{
    struct ar_trace_matching *w = m->work;

    if (ar_grow((void **)&w->ends, &w->cap_ends, w->n_ends + 1, sizeof *w->ends) < 0)
        return AR_NOMEM;
    w->ends[w->n_ends++] = end;
    return AR_OK;
}

static uint64_t channel_key(const struct ar_trace_matches *m,
                            const struct ar_trace_message *message, bool is_out)
{
    const struct ar_comm *c = comm_at(m, message->comm);
    uint32_t own = message->rank,
             peer = AR_OWN_RANK(message->peer, c->remote_size ? 1 - (own & 1) : 0);
    uint64_t ends = is_out ? (uint64_t)own << 32 | peer : (uint64_t)peer << 32 | own;
    uint64_t comm = (uint64_t)message->comm << 32 | (uint32_t)message->tag;

    if (c->origin == AR_COMM_SELF) /* one for each process, all of one number */
        ends = process_of(m, m->work->thread);
    return ar_pair_key(comm, ends);
}

static enum ar_status add_message(struct ar_trace_matches *m, const struct ar_trace_event *event,
                                  struct ar_trace_op *op)
{
    const struct ar_trace_message *message = &event->message;
    bool is_out = ar_trace_op_sends(op);

    if (!is_known(comm_at(m, op->comm)) || message->peer >= AR_PEER_UNKNOWN) {
        op->why = AR_UNMATCHED_COMM;
        return AR_OK;
    }
    if (!message->sequence) {
        op->why = AR_UNMATCHED_NUMBER;
        return AR_OK;
    }
    op->why = AR_UNMATCHED_ALONE;
    if (check_owner(m, op->comm, op->rank) < 0)
        return AR_NOMEM;
    return add_end(m, (struct end){.key = channel_key(m, message, is_out),
                                   .bytes = is_out ? message->bytes_out : message->bytes_in,
                                   .posted_ns = op->kind == AR_TRACE_RECEIVE ? op->start_ns + 1 : 0,
                                   .number = message->sequence,
                                   .op = (uint32_t)(op - m->ops),
                                   .side = is_out ? SENDS : RECEIVES});
}

static bool is_counted(const struct ar_comm *c, uint8_t sync)
{
    return c && c->size + c->remote_size > 1 && sync >= AR_SYNC_BARRIER && sync <= AR_SYNC_SCAN;
}

static enum ar_status add_collective(struct ar_trace_matches *m, const struct ar_trace_event *event,
                                     struct ar_trace_op *op)
{
    const struct ar_comm *c = comm_at(m, op->comm);

    if (!is_counted(c, op->sync))
        return AR_OK;
    if (!is_known(c)) {
        op->why = AR_UNMATCHED_COMM;
        return AR_OK;
    }
    op->why = AR_UNMATCHED_ALONE;
    if (check_owner(m, op->comm, op->rank) < 0)
        return AR_NOMEM;
    return add_end(m, (struct end){.key = ar_pair_key(op->comm, UINT64_MAX),
                                   .number = event->message.sequence,
                                   .op = (uint32_t)(op - m->ops),
                                   .side = COMES});
}

static enum ar_status add_use(struct ar_trace_matches *m, uint64_t request, uint32_t op)
{
    struct ar_trace_matching *w = m->work;

    if (!request)
        return AR_OK;
    if (ar_grow((void **)&w->uses, &w->cap_uses, w->n_uses + 1, sizeof *w->uses) < 0)
        return AR_NOMEM;
    w->uses[w->n_uses++] = (struct use){request, process_of(m, w->thread), op};
    return AR_OK;
}

static void note_probe(struct ar_trace_matches *m, const struct ar_trace_message *message,
                       uint32_t op)
{
    struct ar_trace_matching *w = m->work;

    w->probes[w->n_probes++ % N_PROBES] =
        (struct probe){message->comm, message->peer, op, message->tag};
}

/* The thread has looked for that message before, perhaps several times. */
static void end_probes(struct ar_trace_matches *m, const struct ar_trace_message *message,
                       uint32_t op)
{
    for (size_t i = 0; i < N_PROBES; i++) {
        struct probe *probe = &m->work->probes[i];

        if (probe->op != AR_NO_ID && probe->comm == message->comm && probe->peer == message->peer &&
            probe->tag == message->tag) {
            m->ops[probe->op].other = op;
            probe->op = AR_NO_ID;
        }
    }
}

enum ar_status ar_trace_matches_add(struct ar_trace_matches *m, const struct ar_trace_event *event,
                                    bool is_cut)
{
    const struct ar_trace_message *message = &event->message;
    uint32_t at = (uint32_t)m->n_ops;

    if (m->n_ops >= AR_NO_ID ||
        ar_grow((void **)&m->ops, &m->cap_ops, m->n_ops + 1, sizeof *m->ops) < 0)
        return AR_NOMEM;

    struct ar_trace_op *op = &m->ops[m->n_ops++];

    *op = (struct ar_trace_op){.start_ns = event->call_start_ns,
                               .end_ns = event->call_end_ns,
                               .node = event->node,
                               .partner = AR_NO_ID,
                               .other = AR_NO_ID,
                               .rank = message->rank,
                               .comm = message->comm,
                               .kind = message->kind,
                               .sync = message->sync,
                               .flags = flags_of(m, event, is_cut)};
    if (is_one_sided(comm_at(m, op->comm)) && !is_collective(message))
        return AR_OK;
    if (op->kind == AR_TRACE_PROBED)
        note_probe(m, message, at);
    else if (op->kind == AR_TRACE_RECEIVE || op->kind == AR_TRACE_RECEIVE_POSTED)
        end_probes(m, message, at);
    if (add_use(m, message->request, at) < 0)
        return AR_NOMEM;
    if (ar_trace_op_sends(op) || ar_trace_op_receives(op))
        return add_message(m, event, op);
    return ar_trace_op_comes(op) ? add_collective(m, event, op) : AR_OK;
}

/* ---- requests --------------------------------------------------------------------------------- */

static int by_request(const void *a, const void *b)
{
    const struct use *x = a, *y = b;

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->request != y->request)
        return x->request < y->request ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

static bool is_post(const struct ar_trace_op *op)
{
    return op->kind == AR_TRACE_SEND_POSTED || op->kind == AR_TRACE_RECEIVE_POSTED ||
           op->kind == AR_TRACE_COLLECTIVE_POSTED;
}

/* Another thread may have ended what one has posted. */
static void join_requests(struct ar_trace_matches *m)
{
    struct ar_trace_matching *w = m->work;

    if (w->n_uses)
        qsort(w->uses, w->n_uses, sizeof *w->uses, by_request);
    for (size_t i = 0; i + 1 < w->n_uses; i++) {
        const struct use *a = &w->uses[i], *b = &w->uses[i + 1];
        struct ar_trace_op *x = &m->ops[a->op], *y = &m->ops[b->op];

        if (a->process != b->process || a->request != b->request || is_post(x) == is_post(y))
            continue;
        x->other = b->op;
        y->other = a->op;
        i++;
    }
}

/* ---- messages --------------------------------------------------------------------------------- */

static int by_channel(const void *a, const void *b)
{
    const struct end *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->side == COMES && x->number != y->number)
        return x->number < y->number ? -1 : 1;
    if (x->side != y->side)
        return x->side < y->side ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

static int by_post(const void *a, const void *b)
{
    const struct end *x = a, *y = b;

    if (x->posted_ns != y->posted_ns)
        return x->posted_ns < y->posted_ns ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

/* All by one thread, and no number twice. */
static bool is_in_order(const struct ar_trace_matches *m, const struct end *ends, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (ends[i].number == ends[i - 1].number)
            return false;
    return n == 0 || ar_trace_matches_thread_of(m, ends[0].op) ==
                         ar_trace_matches_thread_of(m, ends[n - 1].op);
}

static bool has_one_thread(const struct ar_trace_matches *m, const struct end *ends, size_t n)
{
    size_t thread = n ? ar_trace_matches_thread_of(m, ends[0].op) : 0;

    for (size_t i = 1; i < n; i++)
        if (ends[i].op < m->first[thread] || ends[i].op >= m->first[thread + 1])
            return false;
    return true;
}

/*
 * Receives were numbered as they ended, and MPI matches them as they were posted. Where the orders differ numbers are given
 * anew, if none is missing between them. false: that is not known.
 */
static bool number_by_post(struct end *ends, size_t n)
{
    uint32_t lowest = n ? ends[0].number : 0;
    uint64_t latest_ns = 0;
    bool is_changed = false, is_known_post = true, is_whole = true;

    for (size_t i = 0; i < n; i++) {
        is_changed = is_changed || (ends[i].posted_ns && ends[i].posted_ns < latest_ns);
        latest_ns = ends[i].posted_ns > latest_ns ? ends[i].posted_ns : latest_ns;
        is_known_post = is_known_post && ends[i].posted_ns;
        is_whole = is_whole && ends[i].number == lowest + i;
    }
    if (!is_changed)
        return true;
    if (!is_known_post || !is_whole)
        return false;
    qsort(ends, n, sizeof *ends, by_post);
    for (size_t i = 0; i < n; i++)
        ends[i].number = lowest + (uint32_t)i;
    return true;
}

static void give_reason(struct ar_trace_matches *m, const struct end *ends, size_t n,
                        enum ar_trace_unmatched why)
{
    for (size_t i = 0; i < n; i++)
        m->ops[ends[i].op].why = (uint8_t)why;
}

/* Calls `met` for what has the same number on both sides; stops where that says so. */
static bool walk(struct ar_trace_matches *m, const struct end *sent, size_t n_sent,
                 const struct end *received, size_t n_received,
                 bool (*met)(struct ar_trace_matches *m, const struct end *s, const struct end *r))
{
    for (size_t i = 0, k = 0; i < n_sent && k < n_received;) {
        if (sent[i].number == received[k].number && !met(m, &sent[i], &received[k]))
            return false;
        if (sent[i].number <= received[k].number)
            i++;
        else
            k++;
    }
    return true;
}

static bool is_same_size(struct ar_trace_matches *m, const struct end *s, const struct end *r)
{
    (void)m;
    return s->bytes == r->bytes;
}

static bool pair(struct ar_trace_matches *m, const struct end *s, const struct end *r)
{
    m->ops[s->op].partner = r->op;
    m->ops[r->op].partner = s->op;
    m->ops[s->op].why = m->ops[r->op].why = AR_MATCHED;
    m->n_messages++;
    return true;
}

static void match_channel(struct ar_trace_matches *m, struct end *ends, size_t n)
{
    size_t n_sent = 0;

    while (n_sent < n && ends[n_sent].side == SENDS)
        n_sent++;

    struct end *received = ends + n_sent;
    size_t n_received = n - n_sent;

    if (m->work->is_doubtful[m->ops[ends[0].op].comm])
        give_reason(m, ends, n, AR_UNMATCHED_COMM);
    else if (!is_in_order(m, ends, n_sent) || !is_in_order(m, received, n_received) ||
             !has_one_thread(m, ends, n_sent) || !has_one_thread(m, received, n_received) ||
             !number_by_post(received, n_received))
        give_reason(m, ends, n, AR_UNMATCHED_AMBIGUOUS);
    else if (!walk(m, ends, n_sent, received, n_received, is_same_size))
        give_reason(m, ends, n, AR_UNMATCHED_SIZE);
    else
        walk(m, ends, n_sent, received, n_received, pair);
}

/* ---- collective calls ------------------------------------------------------------------------- */

static int by_rank_of(const struct ar_trace_matches *m, const struct end *a, const struct end *b)
{
    uint32_t x = m->ops[a->op].rank, y = m->ops[b->op].rank;

    return (x > y) - (x < y);
}

/* Few are not in the order of ranks: threads are in that order. */
static void sort_members(const struct ar_trace_matches *m, struct end *ends, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct end end = ends[i];
        size_t at = i;

        for (; at > 0 && by_rank_of(m, &ends[at - 1], &end) > 0; at--)
            ends[at] = ends[at - 1];
        ends[at] = end;
    }
}

static bool is_whole(const struct ar_trace_matches *m, const struct end *ends, size_t n)
{
    const struct ar_trace_op *first = &m->ops[ends[0].op];
    const struct ar_comm *c = comm_at(m, first->comm);

    if (n != c->size + c->remote_size)
        return false;
    for (size_t i = 1; i < n; i++)
        if (m->ops[ends[i].op].sync != first->sync ||
            m->ops[ends[i].op].rank == m->ops[ends[i - 1].op].rank)
            return false;
    return true;
}

static enum ar_status add_group(struct ar_trace_matches *m, struct end *ends, size_t n)
{
    const struct ar_trace_op *first = &m->ops[ends[0].op];
    struct ar_trace_group group = {.first = (uint32_t)m->n_members,
                                   .n = (uint32_t)n,
                                   .sync = first->sync,
                                   .has_two = comm_at(m, first->comm)->remote_size > 0};

    if (ar_grow((void **)&m->groups, &m->cap_groups, m->n_groups + 1, sizeof *m->groups) < 0 ||
        ar_grow((void **)&m->members, &m->cap_members, m->n_members + n, sizeof *m->members) < 0)
        return AR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        struct ar_trace_op *op = &m->ops[ends[i].op];

        m->members[m->n_members++] = ends[i].op;
        group.may_pass = group.may_pass || op->flags & AR_OP_MAY_PASS;
        op->why = AR_MATCHED;
        op->partner = (uint32_t)m->n_groups;
        if (op->kind == AR_TRACE_COLLECTIVE_POSTED && op->other != AR_NO_ID)
            m->ops[op->other].partner = (uint32_t)m->n_groups;
    }
    m->groups[m->n_groups++] = group;
    return AR_OK;
}

static enum ar_status match_collective(struct ar_trace_matches *m, struct end *ends, size_t n)
{
    if (m->work->is_doubtful[m->ops[ends[0].op].comm]) {
        give_reason(m, ends, n, AR_UNMATCHED_COMM);
        return AR_OK;
    }
    sort_members(m, ends, n);
    return is_whole(m, ends, n) ? add_group(m, ends, n) : AR_OK;
}

/* ---- all of them ------------------------------------------------------------------------------ */

static void find_posts(struct ar_trace_matches *m)
{
    for (size_t i = 0; i < m->work->n_ends; i++) {
        struct end *end = &m->work->ends[i];
        const struct ar_trace_op *op = &m->ops[end->op];

        if (op->kind == AR_TRACE_RECEIVE_DONE && op->other != AR_NO_ID)
            end->posted_ns = m->ops[op->other].end_ns + 1;
    }
}

static bool belongs(const struct end *a, const struct end *b)
{
    return a->key == b->key && a->side / COMES == b->side / COMES &&
           (a->side != COMES || a->number == b->number);
}

static enum ar_status match_ends(struct ar_trace_matches *m)
{
    struct end *ends = m->work->ends;
    enum ar_status status = AR_OK;

    for (size_t i = 0, n; i < m->work->n_ends && status == AR_OK; i += n) {
        for (n = 1; i + n < m->work->n_ends && belongs(&ends[i], &ends[i + n]);)
            n++;
        if (ends[i].side == COMES)
            status = match_collective(m, &ends[i], n);
        else
            match_channel(m, &ends[i], n);
    }
    return status;
}

/* A probe has found what was received then. */
static void match_probes(struct ar_trace_matches *m)
{
    for (size_t i = 0; i < m->n_ops; i++) {
        struct ar_trace_op *op = &m->ops[i];
        uint32_t to = op->kind == AR_TRACE_PROBED ? op->other : AR_NO_ID;

        if (to != AR_NO_ID && m->ops[to].kind == AR_TRACE_RECEIVE_POSTED)
            to = m->ops[to].other;
        if (to != AR_NO_ID && m->ops[to].why == AR_MATCHED)
            op->partner = m->ops[to].partner;
    }
}

static void count(struct ar_trace_matches *m)
{
    for (size_t i = 0; i < m->n_ops; i++) {
        const struct ar_trace_op *op = &m->ops[i];

        if (ar_trace_op_sends(op) || ar_trace_op_receives(op))
            m->n_unmatched[op->why]++;
        else if (ar_trace_op_comes(op))
            m->n_incomplete += op->why != AR_MATCHED;
    }
    m->n_unmatched[AR_MATCHED] = 0;
}

static void end_work(struct ar_trace_matches *m)
{
    if (!m->work)
        return;
    free(m->work->ends);
    free(m->work->uses);
    free(m->work->is_doubtful);
    ar_idmap_free(&m->work->owner);
    free(m->work);
    m->work = NULL;
}

enum ar_status ar_trace_matches_end(struct ar_trace_matches *m)
{
    enum ar_status status;

    ar_trace_matches_thread(m, m->traces->n);
    join_requests(m);
    find_posts(m);
    if (m->work->n_ends)
        qsort(m->work->ends, m->work->n_ends, sizeof *m->work->ends, by_channel);
    status = match_ends(m);
    end_work(m);
    match_probes(m);
    count(m);
    return status;
}

/* Of ranks, and not of what they have started. */
static bool is_main_of_rank(const struct ar_trace_matches *m, size_t thread)
{
    const struct ar_profile *p = profile_of(m);
    const struct ar_location *l = &p->locations[m->traces->items[thread].location];

    return l->thread == 0 && l->process < p->n_roots;
}

static enum ar_status add_setup(struct ar_trace_matches *m, size_t thread, uint32_t node,
                                uint64_t start_ns, uint64_t end_ns)
{
    if (!is_main_of_rank(m, thread))
        return AR_OK;
    if (ar_grow((void **)&m->setups, &m->cap_setups, m->n_setups + 1, sizeof *m->setups) < 0)
        return AR_NOMEM;
    m->setups[m->n_setups++] =
        (struct ar_trace_setup){.start_ns = start_ns,
                                .end_ns = end_ns,
                                .thread = thread,
                                .node = node,
                                .is_end = strstr(function_name(m, node), "Finalize") != NULL};
    return AR_OK;
}

/* What is entered and left: MPI_Init and MPI_Finalize are wanted. */
static enum ar_status follow_step(struct ar_trace_matches *m, size_t thread,
                                  const struct ar_trace_event *event, uint64_t *entered_ns)
{
    bool is_enter = event->kind == AR_EVENT_ENTER;

    if ((!is_enter && event->kind != AR_EVENT_LEAVE) || event->node == AR_NO_ID ||
        profile_of(m)->functions[profile_of(m)->nodes[event->node].function].kind !=
            AR_FUNCTION_MPI ||
        !ar_mpi_is_setup(profile_of(m), event->node))
        return AR_OK;
    if (!is_enter)
        return add_setup(m, thread, event->node, *entered_ns, event->at_ns);
    *entered_ns = event->at_ns;
    return AR_OK;
}

static enum ar_status add_thread(struct ar_trace_matches *m, size_t thread, struct ar_error *err)
{
    struct ar_trace_cursor c;
    struct ar_trace_event event;
    uint64_t start_ns = m->traces->items[thread].start_ns, entered_ns = 0;
    enum ar_status status = AR_OK;

    ar_trace_matches_thread(m, thread);
    ar_trace_seek(&c, &m->traces->items[thread], 0, UINT64_MAX);
    while (status == AR_OK && ar_trace_next(&c, &event))
        if (event.kind == AR_EVENT_MESSAGE)
            status = ar_trace_matches_add(m, &event, event.call_start_ns <= start_ns);
        else
            status = follow_step(m, thread, &event, &entered_ns);
    if (status < 0)
        status = ar_fail(err, AR_NOMEM, "out of memory");
    else if (c.status < 0)
        status = ar_fail(err, c.status, "%s", c.err.text);
    ar_trace_end(&c);
    return status;
}

enum ar_status ar_trace_matches_build(struct ar_trace_matches *out, const struct ar_traces *traces,
                                      struct ar_error *err)
{
    enum ar_status status = ar_trace_matches_begin(out, traces);

    if (status < 0)
        return ar_fail(err, AR_NOMEM, "out of memory");
    for (size_t i = 0; i < traces->n && status == AR_OK; i++)
        status = add_thread(out, i, err);
    if (status == AR_OK && ar_trace_matches_end(out) < 0)
        status = ar_fail(err, AR_NOMEM, "out of memory");
    if (status < 0)
        ar_trace_matches_free(out);
    return status;
}

void ar_trace_matches_free(struct ar_trace_matches *m)
{
    end_work(m);
    free(m->ops);
    free(m->first);
    free(m->groups);
    free(m->members);
    free(m->setups);
    *m = (struct ar_trace_matches){0};
}
