// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/mpi_call.h"

#include "format/streams.h"
#include "runtime/blocking.h"
#include "runtime/functions.h"
#include "runtime/mpi4py_methods.h"
#include "runtime/mpi_abi.h"
#include "runtime/mpi_channels.h"
#include "runtime/mpi_requests.h"
#include "runtime/mpi_traffic.h"
#include "runtime/pyframe.h"
#include "runtime/tracer.h"
#include "runtime/tree.h"

#include <string.h>

#define X(id, name, class, sync, light) name,
const char *const ar_mpi_names[AR_N_MPI] = {
#include "mpi_functions.inc"
};
#undef X

/* What kind of waiting there may be in a call, or in one that completes what it posted. */
#define X(id, name, class, sync, light) AR_SYNC_##sync,
static const uint8_t syncs[AR_N_MPI] = {
#include "mpi_functions.inc"
};
#undef X

enum function_class {
#define X(class, what) CLASS_##class,
#include "mpi_classes.inc"
#undef X
};

#define X(id, name, class, sync, light) CLASS_##class,
static const uint8_t classes[AR_N_MPI] = {
#include "mpi_functions.inc"
};
#undef X

static uint32_t function_numbers[AR_N_MPI]; /* 0: not seen yet */

/*
 * Release and acquire: a thread that finds the number here makes nodes with it, and a reader that
 * sees such a node must see the function's record, which another thread may have written.
 */
static uint32_t function_number(enum ar_mpi_id id)
{
    uint32_t number = __atomic_load_n(&function_numbers[id], __ATOMIC_ACQUIRE);

    if (__builtin_expect(number == 0, 0)) {
        number = ar_function_named(AR_FUNCTION_MPI, ar_mpi_names[id]);
        if (number)
            ar_tree_mark(number, AR_MARK_KEEP_PLACE);
        __atomic_store_n(&function_numbers[id], number, __ATOMIC_RELEASE);
    }
    return number;
}

/* Works without the GIL, and after the interpreter is gone, when mpi4py calls MPI_Finalize. */
static uint64_t python_place(const struct ar_node *current)
{
    PyThreadState *ts = PyGILState_GetThisThreadState();

    return ts ? ar_call_place(ar_frame_innermost(ts), current) : 0;
}

/* Without the GIL, so what another thread asks for is left to the next Python function. */
static bool is_unseen(struct ar_thread *t)
{
    return __atomic_load_n(&t->n_unseen, __ATOMIC_RELAXED) & AR_UNSEEN_CALLS;
}

static bool begin_mpi(struct ar_thread *t)
{
    if (!ar_mpi_thread_make(t))
        return false;
    ar_syncs_begin(t, &t->mpi->syncs, ar_ticks());
    return true;
}

/* A call that is not recorded may have sent or received what is counted in channels. */
static __attribute__((noinline)) bool pass_unseen(const struct ar_mpi_call *call, enum ar_mpi_id id)
{
    if (!call->is_nested &&
        (classes[id] == CLASS_p2p || id == AR_MPI_Start || id == AR_MPI_Startall))
        ar_channels_break();
    return false;
}

bool ar_mpi_enter(struct ar_mpi_call *call, struct ar_mpi_abi *abi, enum ar_mpi_id id)
{
    struct ar_thread *t = ar_thread_self();

    call->thread = NULL;
    call->is_nested = t && t->in_mpi;
    if (!t || t->in_mpi || is_unseen(t))
        return pass_unseen(call, id);
    if (__builtin_expect(!t->mpi, 0) && !begin_mpi(t))
        return pass_unseen(call, id);

    uint32_t function = function_number(id);

    if (!function)
        return pass_unseen(call, id);
    ar_trace_poll();

    uint64_t key = python_place(t->current) | function;
    uint64_t now = ar_ticks();

    ar_operation_opens(t, key, now);
    call->thread = t;
    call->abi = abi;
    call->id = id;
    call->has_counted = false;
    call->may_hold_up = t->slot->number && ar_main_thread_is_blocked();
    call->node = ar_tree_enter(t, key, now);
    call->start = now;
    if (!call->node) {
        call->thread = NULL;
        return pass_unseen(call, id);
    }
    t->in_mpi = true;
    ar_trace_keep(t);
    return true;
}

void ar_mpi_restart(struct ar_mpi_call *call)
{
    uint64_t ours = ar_ticks() - call->end;
    int64_t ticks = call->node->ticks - (int64_t)ours;

    if (ar_self != call->thread) /* the recording may be over */
        return;
    __atomic_store_n(&call->node->ticks, ticks, __ATOMIC_RELAXED);
    call->start += ours;
}

/* Always its first ones; see mpi_traffic.c. */
static inline struct ar_values *mpi_values(struct ar_thread *t, struct ar_node *node)
{
    struct ar_values *first = ar_live_ptr(node->values_ref);

    if (__builtin_expect(node->values_ref && first->kind == AR_VALUES_MPI, 1))
        return first;
    return ar_tree_values(t, node, AR_VALUES_MPI);
}

static void note_duration(struct ar_values *values, uint64_t ticks)
{
    uint64_t *words = values->words;

    if (ticks < words[AR_MPI_MIN_TICKS] || words[AR_MPI_MIN_TICKS] == 0)
        words[AR_MPI_MIN_TICKS] = ticks;
    if (ticks > words[AR_MPI_MAX_TICKS])
        words[AR_MPI_MAX_TICKS] = ticks;
}

static void note_sync(struct ar_mpi_call *call, const struct ar_mpi_comm *comm, struct ar_sync sync)
{
    struct ar_syncs *own = &call->thread->mpi->syncs;

    sync.comm = comm->number;
    sync.node_ref = ar_live_ref(call->node);
    if (call->may_hold_up && ar_main_thread_is_blocked())
        sync.flags |= AR_SYNC_HOLDS_UP;
    sync.enter_ticks = call->start;
    sync.exit_ticks = call->end;
    ar_sync_add(call->thread, own, &sync);
}

static const struct ar_mpi_comm no_comm;

/* It has waited, if it took a while; it is not known for whom. */
static void note_unknown(struct ar_mpi_call *call)
{
    if (call->end - call->start >= AR_INTERVAL_TICKS)
        note_sync(call, &no_comm, (struct ar_sync){.kind = AR_SYNC_UNKNOWN, .peer = AR_PEER_ALL});
}

void ar_mpi_leave(struct ar_mpi_call *call)
{
    uint64_t now = ar_ticks();

    call->end = now;
    call->thread = ar_self == call->thread ? ar_self : NULL; /* the recording may be over */
    if (!call->thread)
        return;
    call->thread->in_mpi = false;
    ar_tree_leave(call->thread, call->node, now);

    struct ar_values *values = mpi_values(call->thread, call->node);

    if (values)
        note_duration(values, now - call->start);
    if (syncs[call->id] == AR_SYNC_UNKNOWN)
        note_unknown(call);
}

/* ---- what was moved -------------------------------------------------------------------------- */

static struct ar_mpi_comm *comm_of(struct ar_mpi_call *call, uint64_t handle)
{
    return ar_comm_of(&call->thread->mpi->comms, call->abi, handle);
}

static inline void add_to(uint64_t *word, uint64_t n) /* NOLINT(readability-non-const-parameter) */
{
    __atomic_store_n(word, *word + n, __ATOMIC_RELAXED);
}

struct amounts {
    uint64_t n_out, bytes_out, n_in, bytes_in, ticks;
};

static inline void count(struct ar_thread *t, struct ar_node *node,
                         const struct ar_message *message, const struct amounts *amounts)
{
    struct ar_values *values = mpi_values(t, node);
    struct ar_values *cell = ar_traffic_cell(t, node, message);

    if (values) {
        add_to(&values->words[AR_MPI_BYTES_OUT], amounts->bytes_out);
        add_to(&values->words[AR_MPI_BYTES_IN], amounts->bytes_in);
    }
    if (cell) {
        add_to(&cell->words[AR_TRAFFIC_N_OUT], amounts->n_out);
        add_to(&cell->words[AR_TRAFFIC_BYTES_OUT], amounts->bytes_out);
        add_to(&cell->words[AR_TRAFFIC_N_IN], amounts->n_in);
        add_to(&cell->words[AR_TRAFFIC_BYTES_IN], amounts->bytes_in);
        add_to(&cell->words[AR_TRAFFIC_TICKS], amounts->ticks);
    }
}

static uint32_t peer_of(const struct ar_mpi_abi *abi, int peer)
{
    if (peer >= 0)
        return (uint32_t)peer;
    return peer == AR_MPI_NO_ROOT   ? AR_PEER_ALL
           : peer == abi->proc_null ? AR_PEER_NULL
                                    : AR_PEER_UNKNOWN;
}

static uint64_t take_time(struct ar_mpi_call *call)
{
    uint64_t ticks = call->has_counted ? 0 : call->end - call->start;

    call->has_counted = true;
    return ticks;
}

/* ---- traces ----------------------------------------------------------------------------------- */

static inline void trace_message(struct ar_mpi_call *call, const struct ar_mpi_comm *comm,
                                 struct ar_trace_message message)
{
    if (__builtin_expect(!ar_trace_is_on(), 1))
        return;
    message.comm = comm->number;
    message.rank = AR_OWN_RANK(comm->rank, comm->side);
    message.sync = syncs[call->id];
    ar_trace_message(call->thread, &message);
}

/* Which message of its channel it is: see mpi_channels.h. */
static inline uint32_t next_number(const struct ar_mpi_comm *comm, bool is_out, uint32_t peer,
                                   int tag)
{
    return ar_trace_is_expected ? ar_channel_next(is_out, comm->number, peer, tag) : 0;
}

static uint32_t number_of_call(const struct ar_mpi_call *call, const struct ar_mpi_comm *comm,
                               bool is_out, uint32_t peer, int tag)
{
    return classes[call->id] == CLASS_p2p ? next_number(comm, is_out, peer, tag) : 0;
}

/* Handles are used again, and several requests may be posted in one call. */
static uint64_t request_number(const struct ar_request *r)
{
    uint64_t since_start = r->post_ticks - ar_live_header()->start.ticks;

    return since_start << 16 | (r->handle * UINT64_C(0x9e3779b97f4a7c15)) >> 48;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Nobody waits for himself, nor for nobody. */
static bool may_wait(const struct ar_mpi_comm *comm, uint32_t peer)
{
    if (comm->size + comm->remote_size <= 1 || peer == AR_PEER_NULL)
        return false;
    return comm->remote_size || peer != comm->rank;
}

static void note_message(struct ar_mpi_call *call, const struct ar_mpi_comm *comm,
                         enum ar_sync_kind kind, uint32_t peer, int tag)
{
    if (may_wait(comm, peer))
        note_sync(call, comm,
                  (struct ar_sync){.kind = kind, .peer = peer, .sequence = (uint32_t)tag});
}

/* Windows and files, and what is freed: each library has its own mind on which of these calls keep ranks together. */
static bool may_pass(enum ar_mpi_id id)
{
    switch (classes[id]) {
    case CLASS_rma:
    case CLASS_window:
    case CLASS_io:
    case CLASS_file:
        return true;
    default:
        return id == AR_MPI_Comm_free || id == AR_MPI_Comm_disconnect;
    }
}

/* Returns which of its communicator's it is; 0 where they are not counted. */
static uint32_t note_collective(struct ar_mpi_call *call, struct ar_mpi_comm *comm, uint32_t root)
{
    enum ar_sync_kind kind = syncs[call->id];
    uint32_t sequence;

    if (kind == AR_SYNC_NONE || kind == AR_SYNC_UNKNOWN || comm->size + comm->remote_size <= 1)
        return 0;
    sequence = ar_comm_next(comm);
    note_sync(call, comm,
              (struct ar_sync){.kind = kind,
                               .flags = may_pass(call->id) ? AR_SYNC_MAY_PASS : 0,
                               .peer = root,
                               .sequence = sequence});
    return sequence;
}

void ar_mpi_all_have_come(struct ar_mpi_call *call, enum ar_sync_kind kind)
{
    if (!call || ar_self != call->thread) /* the recording may be over */
        return;

    const struct ar_mpi_comm *world = comm_of(call, call->abi->ask.world());

    if (kind == AR_SYNC_END)
        call->end = ar_ticks();
    if (world->size > 1)
        note_sync(call, world, (struct ar_sync){.kind = kind, .peer = AR_PEER_ALL});
}

/* ---- what is open ---------------------------------------------------------------------------- */

/*
 * In the cache line that every event writes. The node comes last, and is 0 meanwhile: what is of another call is not taken
 * for this one's.
 */
static inline struct ar_live_call *begin_open(const struct ar_mpi_call *call)
{
    struct ar_live_call *open = &call->thread->slot->call;

    __atomic_store_n(&open->node_ref, 0, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    return open;
}

static inline void end_open(const struct ar_mpi_call *call, struct ar_live_call *open)
{
    __atomic_store_n(&open->node_ref, ar_live_ref(call->node), __ATOMIC_RELEASE);
}

static inline bool has_tag(enum ar_sync_kind kind)
{
    return kind == AR_SYNC_SEND || kind == AR_SYNC_RECEIVE || kind == AR_SYNC_PROBE;
}

/* A collective call gets its number when it ends, so the number is the next one. */
void ar_mpi_waits(struct ar_mpi_call *call, enum ar_sync_kind kind, uint64_t handle, int peer,
                  int tag)
{
    const struct ar_mpi_comm *comm = ar_comm_find(&call->thread->mpi->comms, call->abi, handle);
    struct ar_live_call *open = begin_open(call);

    if (!comm)
        comm = &no_comm;
    open->kind = (uint8_t)kind;
    open->flags = 0;
    open->n_requests = 0;
    open->comm = comm->number;
    open->sequence =
        has_tag(kind) ? (uint32_t)tag : __atomic_load_n(&comm->sequence, __ATOMIC_RELAXED);
    open->peer = peer_of(call->abi, peer);
    end_open(call, open);
}

/* What a request is called in the terms of struct ar_sync. */
static enum ar_sync_kind sync_of(const struct ar_request *r)
{
    switch ((enum ar_request_kind)r->kind) {
    case AR_REQUEST_SEND:
        return AR_SYNC_SEND;
    case AR_REQUEST_RECEIVE:
        return AR_SYNC_RECEIVE;
    case AR_REQUEST_COLLECTIVE:
    case AR_REQUEST_KNOWN:
        return r->sync;
    default:
        return AR_SYNC_UNKNOWN;
    }
}

void ar_mpi_waits_for(struct ar_mpi_call *call, uint64_t handle, uint32_t n, bool is_any)
{
    struct ar_request r;
    bool is_found = ar_request_find(handle, call->start, &r);
    struct ar_live_call *open = begin_open(call);

    open->kind = AR_SYNC_UNKNOWN;
    open->flags = is_any ? AR_CALL_ANY_REQUEST : 0;
    open->n_requests = n < UINT16_MAX ? (uint16_t)n : UINT16_MAX;
    open->comm = 0;
    if (is_found) {
        open->kind = (uint8_t)sync_of(&r);
        open->comm = r.comm->number;
        open->sequence = r.kind == AR_REQUEST_COLLECTIVE ? r.sequence : (uint32_t)r.tag;
        open->peer = peer_of(call->abi, r.peer);
    }
    end_open(call, open);
}

/* ---- what wrappers tell ---------------------------------------------------------------------- */

/*
 * MPI_PROC_NULL is no peer, and what is passed to it is no message: the call keeps its time, and
 * nothing is counted. As a root it says on which side of an intercommunicator this process is: such a
 * collective call is counted like any other.
 */
void ar_mpi_out(struct ar_mpi_call *call, uint64_t handle, int peer, int tag, uint64_t n_bytes)
{
    if (!call->thread)
        return;

    struct ar_mpi_comm *comm = comm_of(call, handle);
    struct ar_message message = {comm, peer_of(call->abi, peer), n_bytes};

    if (message.peer == AR_PEER_NULL)
        return;
    count(call->thread, call->node, &message,
          &(struct amounts){.n_out = 1, .bytes_out = n_bytes, .ticks = take_time(call)});
    trace_message(
        call, comm,
        (struct ar_trace_message){.kind = AR_TRACE_SEND,
                                  .peer = message.peer,
                                  .tag = tag,
                                  .sequence = number_of_call(call, comm, true, message.peer, tag),
                                  .bytes_out = n_bytes});
    if (classes[call->id] == CLASS_p2p)
        note_message(call, comm, AR_SYNC_SEND, message.peer, tag);
}

void ar_mpi_in(struct ar_mpi_call *call, uint64_t handle, int peer, int tag, uint64_t n_bytes)
{
    if (!call->thread)
        return;

    struct ar_mpi_comm *comm = comm_of(call, handle);
    struct ar_message message = {comm, peer_of(call->abi, peer), n_bytes};

    if (message.peer == AR_PEER_NULL)
        return;
    count(call->thread, call->node, &message,
          &(struct amounts){.n_in = 1, .bytes_in = n_bytes, .ticks = take_time(call)});
    trace_message(
        call, comm,
        (struct ar_trace_message){.kind = AR_TRACE_RECEIVE,
                                  .peer = message.peer,
                                  .tag = tag,
                                  .sequence = number_of_call(call, comm, false, message.peer, tag),
                                  .bytes_in = n_bytes});
    if (classes[call->id] == CLASS_p2p)
        note_message(call, comm, AR_SYNC_RECEIVE, message.peer, tag);
}

void ar_mpi_probed(struct ar_mpi_call *call, uint64_t handle, int peer, int tag)
{
    if (!call->thread)
        return;

    struct ar_mpi_comm *comm = comm_of(call, handle);

    trace_message(call, comm,
                  (struct ar_trace_message){
                      .kind = AR_TRACE_PROBED, .peer = peer_of(call->abi, peer), .tag = tag});
    note_message(call, comm, AR_SYNC_PROBE, peer_of(call->abi, peer), tag);
}

void ar_mpi_collective(struct ar_mpi_call *call, uint64_t handle, int root, uint64_t n_out,
                       uint64_t n_in)
{
    if (!call->thread)
        return;

    struct ar_mpi_comm *comm = comm_of(call, handle);
    struct ar_message message = {comm, peer_of(call->abi, root), n_out > n_in ? n_out : n_in};

    count(call->thread, call->node, &message,
          &(struct amounts){.n_out = n_out > 0,
                            .bytes_out = n_out,
                            .n_in = n_in > 0,
                            .bytes_in = n_in,
                            .ticks = take_time(call)});
    trace_message(call, comm,
                  (struct ar_trace_message){.kind = AR_TRACE_COLLECTIVE,
                                            .may_pass = may_pass(call->id),
                                            .peer = message.peer,
                                            .sequence = note_collective(call, comm, message.peer),
                                            .bytes_out = n_out,
                                            .bytes_in = n_in});
}

void ar_mpi_freed(struct ar_mpi_call *call, struct ar_mpi_comm *was)
{
    struct ar_message message = {was, AR_PEER_ALL, 0};

    if (!call->thread)
        return;
    count(call->thread, call->node, &message, &(struct amounts){.ticks = take_time(call)});
    if (!was->size) {
        note_unknown(call);
        return;
    }
    trace_message(call, was,
                  (struct ar_trace_message){.kind = AR_TRACE_COLLECTIVE,
                                            .may_pass = may_pass(call->id),
                                            .peer = AR_PEER_ALL,
                                            .sequence = note_collective(call, was, AR_PEER_ALL)});
}

/* ---- requests -------------------------------------------------------------------------------- */

bool ar_mpi_follows(void)
{
    return ar_requests_followed() > 0;
}

/* Its status says how much was moved. */
static bool tells_later(const struct ar_request *r)
{
    return r->kind == AR_REQUEST_RECEIVE || r->kind == AR_REQUEST_READ ||
           r->kind == AR_REQUEST_WRITE;
}

/*
 * Others may go on because of what was posted here, and not of what this thread does later. A send leaves a record of
 * its own; of what is posted together one record is enough.
 */
static void note_post(struct ar_mpi_call *call, const struct ar_request *r)
{
    struct ar_syncs *own = &call->thread->mpi->syncs;
    bool is_waited_for =
        r->kind == AR_REQUEST_COLLECTIVE
            ? r->comm->size + r->comm->remote_size > 1
            : r->kind == AR_REQUEST_RECEIVE && may_wait(r->comm, peer_of(call->abi, r->peer));

    if (is_waited_for && call->end - own->posted_at >= AR_INTERVAL_TICKS)
        note_sync(call, r->comm, (struct ar_sync){.kind = AR_SYNC_POST, .peer = AR_PEER_ALL});
    if (is_waited_for || r->kind == AR_REQUEST_SEND)
        own->posted_at = call->end;
}

static bool is_without_peer(const struct ar_mpi_abi *abi, const struct ar_request *r)
{
    return r->kind != AR_REQUEST_COLLECTIVE && peer_of(abi, r->peer) == AR_PEER_NULL;
}

static void trace_posted(struct ar_mpi_call *call, const struct ar_request *r)
{
    static const uint8_t kinds[] = {
        [AR_REQUEST_SEND] = AR_TRACE_SEND_POSTED,
        [AR_REQUEST_RECEIVE] = AR_TRACE_RECEIVE_POSTED,
        [AR_REQUEST_COLLECTIVE] = AR_TRACE_COLLECTIVE_POSTED,
    };
    uint8_t kind = r->kind < sizeof kinds ? kinds[r->kind] : 0;
    uint32_t peer = peer_of(call->abi, r->peer);

    if (kind && !is_without_peer(call->abi, r))
        trace_message(
            call, r->comm,
            (struct ar_trace_message){.kind = kind,
                                      .peer = peer,
                                      .tag = r->tag,
                                      .sequence = r->kind == AR_REQUEST_SEND
                                                      ? next_number(r->comm, true, peer, r->tag)
                                                      : r->sequence,
                                      .bytes_out = r->n_out,
                                      .bytes_in = r->n_in,
                                      .request = request_number(r)});
}

static void trace_completed(struct ar_mpi_call *call, const struct ar_request *r, uint32_t peer,
                            const struct ar_mpi_done *done, uint64_t n_bytes)
{
    static const uint8_t kinds[] = {
        [AR_REQUEST_SEND] = AR_TRACE_SEND_DONE,
        [AR_REQUEST_RECEIVE] = AR_TRACE_RECEIVE_DONE,
        [AR_REQUEST_COLLECTIVE] = AR_TRACE_COLLECTIVE_DONE,
    };
    uint8_t kind = r->kind < sizeof kinds ? kinds[r->kind] : 0;
    bool is_received = r->kind == AR_REQUEST_RECEIVE;

    if (r->kind == AR_REQUEST_SEND && done->is_cancelled) /* others have had its number */
        ar_channels_break();
    if (kind && !is_without_peer(call->abi, r))
        trace_message(
            call, r->comm,
            (struct ar_trace_message){.kind = done->is_cancelled ? AR_TRACE_CANCELLED : kind,
                                      .peer = peer,
                                      .tag = is_received ? done->tag : r->tag,
                                      .sequence = is_received && !done->is_cancelled
                                                      ? next_number(r->comm, false, peer, done->tag)
                                                      : r->sequence,
                                      .bytes_out = is_received ? 0 : r->n_out,
                                      .bytes_in = is_received ? n_bytes : r->n_in,
                                      .request = request_number(r)});
}

/* What is known when it is posted, or started. */
static void count_posted(struct ar_mpi_call *call, const struct ar_request *r)
{
    uint64_t n_bytes = r->n_out > r->n_in ? r->n_out : r->n_in;
    struct ar_message message = {r->comm, peer_of(call->abi, r->peer), n_bytes};

    note_post(call, r);
    trace_posted(call, r);
    if (tells_later(r) || is_without_peer(call->abi, r))
        return;
    count(call->thread, call->node, &message,
          &(struct amounts){.n_out = r->kind == AR_REQUEST_SEND || r->n_out,
                            .bytes_out = r->n_out,
                            .n_in = r->n_in > 0,
                            .bytes_in = r->n_in,
                            .ticks = take_time(call)});
    if (r->kind == AR_REQUEST_SEND && may_wait(r->comm, message.peer))
        note_sync(call, r->comm,
                  (struct ar_sync){.kind = AR_SYNC_SEND,
                                   .flags = AR_SYNC_NONBLOCKING,
                                   .peer = message.peer,
                                   .sequence = (uint32_t)r->tag});
}

/* What it receives is known only to the status of a request of both, and not in every library. */
static bool receives_unseen(enum ar_mpi_id id)
{
    return id == AR_MPI_Isendrecv || id == AR_MPI_Isendrecv_c || id == AR_MPI_Isendrecv_replace ||
           id == AR_MPI_Isendrecv_replace_c;
}

void ar_mpi_posted(struct ar_mpi_call *call, const struct ar_mpi_post *post)
{
    if (!call->thread)
        return;
    if (receives_unseen(call->id))
        ar_channels_break();

    struct ar_mpi_comm *comm = comm_of(call, post->comm);
    struct ar_request request = {
        .handle = post->request,
        .comm = comm,
        .thread = call->thread,
        .node = call->node,
        .post_ticks = call->end,
        .n_out = post->n_out,
        .n_in = post->n_in,
        .peer = post->peer,
        .tag = post->tag,
        .kind = (uint8_t)post->kind,
        .sync = syncs[call->id],
        .is_persistent = post->is_persistent,
        .is_active = !post->is_persistent,
        .may_share = post->may_share,
        .is_numbered = post->kind == AR_REQUEST_COLLECTIVE,
    };

    if (request.is_numbered && !post->is_persistent)
        request.sequence = ar_comm_next(comm);
    if (!post->is_persistent)
        count_posted(call, &request);
    if (!ar_request_add(&request)) {
        ar_livemap_lost(AR_LOST_REQUESTS, 1);
        ar_channels_break();
    }
}

void ar_mpi_started(struct ar_mpi_call *call, uint64_t handle)
{
    struct ar_request r;

    if (call->thread && ar_request_start(handle, call->thread, call->node, call->end, &r))
        count_posted(call, &r);
}

/* A call that is not recorded has no time: then nothing that was replaced is meant. */
static uint64_t began_at(const struct ar_mpi_call *call)
{
    return call->thread ? call->start : UINT64_MAX;
}

void ar_mpi_request_freed(struct ar_mpi_call *call, uint64_t handle)
{
    struct ar_request r;

    if (call->is_nested)
        return;
    if (ar_request_find(handle, began_at(call), &r) && r.kind == AR_REQUEST_RECEIVE)
        ar_channels_break(); /* what it receives is not seen */
    ar_request_forget(handle, began_at(call));
}

/* No other process has a part in it, so that there is no communication that computing could hide. */
static bool is_local(const struct ar_mpi_abi *abi, const struct ar_request *r)
{
    bool is_communication =
        r->kind != AR_REQUEST_READ && r->kind != AR_REQUEST_WRITE && r->kind != AR_REQUEST_OTHER;

    return is_communication &&
           (r->comm->size + r->comm->remote_size == 1 || is_without_peer(abi, r));
}

/* How long it took, and where: at the node that completed it. */
static void count_completed(struct ar_mpi_call *call, const struct ar_request *r,
                            uint32_t n_together)
{
    struct ar_values *cell = ar_completed_cell(call->thread, call->node, ar_live_ref(r->node));
    uint64_t flight = call->end > r->post_ticks ? call->end - r->post_ticks : 0;
    uint64_t took = call->end - call->start;

    if (!cell)
        return;
    add_to(&cell->words[AR_COMPLETED_N], 1);
    add_to(&cell->words[AR_COMPLETED_FLIGHT_TICKS], flight);
    add_to(&cell->words[AR_COMPLETED_WAITED_TICKS], took / n_together);
    add_to(&cell->words[AR_COMPLETED_EXPOSED_TICKS], took < flight ? took : flight);
}

/*
 * What its status told, where it was posted. Another thread's nodes are not ours to write: then it is
 * counted where it was completed.
 */
static void count_received(struct ar_mpi_call *call, const struct ar_request *r, uint32_t peer,
                           uint64_t n_bytes)
{
    struct ar_node *node = r->thread == call->thread ? r->node : call->node;
    struct ar_message message = {r->comm, peer, n_bytes};
    bool is_out = r->kind == AR_REQUEST_WRITE;

    count(call->thread, node, &message,
          &(struct amounts){.n_out = is_out,
                            .bytes_out = is_out ? n_bytes : 0,
                            .n_in = !is_out,
                            .bytes_in = is_out ? 0 : n_bytes});
}

/*
 * Of what is partitioned both sides are noted when they end: when it is started it is not there yet,
 * and its parts are handed over in calls of their own.
 */
static void sync_completed(struct ar_mpi_call *call, const struct ar_request *r, uint32_t peer,
                           int tag)
{
    struct ar_sync sync = {.kind = r->kind == AR_REQUEST_RECEIVE ? AR_SYNC_RECEIVE : r->sync,
                           .flags = AR_SYNC_NONBLOCKING,
                           .peer = peer,
                           .posted_ref = ar_live_ref(r->node),
                           .post_ticks = r->post_ticks};
    bool is_message = r->kind == AR_REQUEST_RECEIVE || r->kind == AR_REQUEST_KNOWN;

    if (is_message && may_wait(r->comm, peer)) {
        sync.sequence = (uint32_t)(r->kind == AR_REQUEST_RECEIVE ? tag : r->tag);
        note_sync(call, r->comm, sync);
    } else if (r->sync == AR_SYNC_UNKNOWN) {
        note_unknown(call);
    } else if (r->kind == AR_REQUEST_COLLECTIVE && r->sync != AR_SYNC_NONE &&
               r->comm->size + r->comm->remote_size > 1) {
        sync.sequence = r->sequence;
        note_sync(call, r->comm, sync);
    } else if (r->kind == AR_REQUEST_SEND && may_wait(r->comm, peer) &&
               call->end - call->start >= AR_INTERVAL_TICKS) {
        sync.kind =
            AR_SYNC_TAKEN; /* that it was sent is noted: this only where it was waited for */
        sync.sequence = (uint32_t)r->tag;
        note_sync(call, r->comm, sync);
    }
}

void ar_mpi_completed(struct ar_mpi_call *call, uint64_t handle, const struct ar_mpi_done *done,
                      uint32_t n_together)
{
    struct ar_request r;

    if (call->is_nested || !ar_request_end(handle, began_at(call), &r))
        return;
    if (!call->thread) {
        if (r.kind == AR_REQUEST_RECEIVE)
            ar_channels_break();
        return;
    }
    if (!is_local(call->abi, &r))
        count_completed(call, &r, n_together ? n_together : 1);

    bool told = r.kind == AR_REQUEST_RECEIVE;
    uint32_t peer = peer_of(call->abi, told ? done->source : r.peer);

    uint64_t n_bytes = done->is_truncated && done->n_bytes > r.n_in ? r.n_in : done->n_bytes;

    trace_completed(call, &r, peer, done, n_bytes);
    if (done->is_cancelled && (r.kind == AR_REQUEST_SEND || r.kind == AR_REQUEST_RECEIVE))
        return;

    if (tells_later(&r) && !is_without_peer(call->abi, &r))
        count_received(call, &r, peer, n_bytes);
    sync_completed(call, &r, peer, done->tag);
}

/* ---- communicators --------------------------------------------------------------------------- */

void ar_mpi_made(struct ar_mpi_call *call, enum ar_comm_origin origin, uint64_t parent,
                 uint64_t made, uint64_t tag)
{
    struct ar_comm_making making = {.origin = origin, .parent = parent, .made = made, .tag = tag};

    if (!call->thread)
        return;
    making.node = call->node;
    making.is_hidden = origin == AR_COMM_DUP && ar_operation_makes_its_own(call->thread);
    ar_comm_made(&call->thread->mpi->comms, call->abi, &making);
}

struct ar_mpi_comm ar_mpi_unmade(struct ar_mpi_abi *abi, uint64_t handle)
{
    return ar_comm_unmade(abi, handle);
}

void ar_mpi_named(struct ar_mpi_abi *abi, uint64_t handle, const char *name)
{
    ar_comm_named(abi, handle, name);
}

bool ar_mpi_is_known(const struct ar_mpi_abi *abi, uint64_t handle)
{
    return ar_comm_is_known(abi, handle);
}
