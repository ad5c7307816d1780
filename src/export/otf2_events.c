// SPDX-License-Identifier: BSD-3-Clause
#include "export/otf2_events.h"

#include "base/arena.h"
#include "export/otf2_operations.h"
#include "export/otf2_requests.h"

#include <stdlib.h>

/* What one MPI call did: told before its end, and written in the order of time. */
struct act {
    struct ar_trace_message message;
    uint64_t start_ns, end_ns;
    uint32_t function;
};

struct writer {
    struct ar_otf2_work *work;
    const struct ar_otf2_library *lib;
    OTF2_EvtWriter *evt;
    size_t thread;
    struct ar_otf2_written *out;
    bool has_any;
    bool
        has_own_root; /* the thread has a node of its own, and the root above it is that of the first process */
    struct ar_otf2_requests requests;
    struct ar_idmap ranks; /* by communicator plus 1: this process's own */
    uint32_t last_comm;
    struct act *acts;
    size_t n_acts, cap_acts;
    OTF2_ErrorCode code;   /* the library's, if it has refused */
    enum ar_status status; /* ours */
};

/* Operations of requests; a message is none of OTF2_CollectiveOp. */
#define A_MESSAGE 1000u
#define NO_OPERATION 1001u

/* Of a record: a time is one of its own, where it is not that of the record before; all others have a kind and one number or more. */
#define STAMP_BYTES 9
#define LEAST_RECORD_BYTES 2

/* ---- times ------------------------------------------------------------------------------------ */

static inline uint64_t time_of(struct writer *w, uint64_t at_ns)
{
    int64_t ns = ar_traces_ns(w->work->traces, w->thread, at_ns);
    uint64_t time = ns < 0 ? 0 : (uint64_t)ns;

    if (__builtin_expect(!w->has_any, 0)) {
        w->has_any = true;
        w->out->first_ns = w->out->last_ns = time;
    }
    if (time <= w->out->last_ns)
        return w->out->last_ns;
    w->out->last_ns = time;
    w->out->least_bytes += STAMP_BYTES;
    return time;
}

static inline void note(struct writer *w, OTF2_ErrorCode code)
{
    if (__builtin_expect(code != OTF2_SUCCESS, 0) && w->code == OTF2_SUCCESS)
        w->code = code;
}

/* ---- messages --------------------------------------------------------------------------------- */

/* Of files and windows that of their processes; OTF2_UNDEFINED_COMM: it is not known. */
static uint32_t comm_of(const struct writer *w, const struct ar_trace_message *m)
{
    return m->comm && m->comm <= w->work->p->n_comms ? w->work->comms[m->comm - 1]
                                                     : OTF2_UNDEFINED_COMM;
}

static const struct ar_comm *comm_at(const struct writer *w, const struct ar_trace_message *m)
{
    return m->comm && m->comm <= w->work->p->n_comms ? &w->work->p->comms[m->comm - 1] : NULL;
}

/* The peer's number in the group; AR_NO_ID: it is none, or it is not known in which of two groups it is. */
static uint32_t peer_of(const struct writer *w, const struct ar_trace_message *m)
{
    const struct ar_comm *comm = comm_at(w, m);

    if (!comm || m->peer >= AR_PEER_UNKNOWN || (comm->remote_size && m->rank == AR_NO_ID))
        return AR_NO_ID;
    return ar_otf2_rank(comm, m->peer, !(m->rank & 1));
}

/* Messages of one-sided calls are of their windows, and none that another rank receives. */
static bool is_one_sided(const struct ar_comm *comm)
{
    return comm->origin == AR_COMM_WINDOW || comm->origin == AR_COMM_FILE;
}

static bool has_peer(const struct writer *w, const struct ar_trace_message *m)
{
    return peer_of(w, m) != AR_NO_ID && comm_of(w, m) != OTF2_UNDEFINED_COMM &&
           !is_one_sided(comm_at(w, m));
}

/* Where there are two groups, the root itself names no rank, and its neighbours name none either. */
static uint32_t root_of(const struct writer *w, const struct ar_trace_message *m)
{
    const struct ar_comm *comm = comm_at(w, m);
    uint32_t root = peer_of(w, m);

    if (comm && comm->remote_size && m->peer == AR_PEER_UNKNOWN && m->rank != AR_NO_ID)
        root = ar_otf2_rank(comm, m->rank >> 1, m->rank & 1);
    return root == AR_NO_ID ? OTF2_COLLECTIVE_ROOT_NONE : root;
}

static uint32_t operation_of(const struct writer *w, const struct act *act)
{
    const struct ar_profile *p = w->work->p;
    OTF2_CollectiveOp operation;

    if (act->function == AR_NO_ID || comm_of(w, &act->message) == OTF2_UNDEFINED_COMM ||
        !ar_otf2_operation(ar_strtab_text(&p->strings, p->functions[act->function].name),
                           &operation))
        return NO_OPERATION;
    return operation;
}

static void post(struct writer *w, const struct act *act, uint32_t operation)
{
    enum ar_status status = ar_otf2_requests_post(&w->requests, act->message.request, operation);

    if (status < 0)
        w->status = status;
}

/* ---- what a call does when it begins ---------------------------------------------------------- */

static void write_begin(struct writer *w, const struct act *act)
{
    const struct ar_trace_message *m = &act->message;
    uint64_t time = time_of(w, act->start_ns);
    uint32_t operation;

    switch (m->kind) {
    case AR_TRACE_SEND:
        if (has_peer(w, m))
            note(w, w->lib->EvtWriter_MpiSend(w->evt, NULL, time, peer_of(w, m), comm_of(w, m),
                                              (uint32_t)m->tag, m->bytes_out));
        break;
    case AR_TRACE_SEND_POSTED:
        if (!has_peer(w, m))
            break;
        post(w, act, A_MESSAGE);
        note(w, w->lib->EvtWriter_MpiIsend(w->evt, NULL, time, peer_of(w, m), comm_of(w, m),
                                           (uint32_t)m->tag, m->bytes_out, m->request));
        break;
    case AR_TRACE_RECEIVE_POSTED:
        post(w, act, A_MESSAGE);
        note(w, w->lib->EvtWriter_MpiIrecvRequest(w->evt, NULL, time, m->request));
        break;
    case AR_TRACE_COLLECTIVE:
        if (operation_of(w, act) != NO_OPERATION)
            note(w, w->lib->EvtWriter_MpiCollectiveBegin(w->evt, NULL, time));
        break;
    case AR_TRACE_COLLECTIVE_POSTED:
        operation = operation_of(w, act);
        if (operation == NO_OPERATION)
            break;
        post(w, act, operation);
        note(w, w->lib->EvtWriter_NonBlockingCollectiveRequest(w->evt, NULL, time, m->request));
        break;
    default:
        break;
    }
}

/* ---- and when it ends ------------------------------------------------------------------------- */

static void write_received(struct writer *w, const struct ar_trace_message *m, uint64_t time,
                           bool was_posted)
{
    if (!has_peer(w, m))
        return;
    if (was_posted)
        note(w, w->lib->EvtWriter_MpiIrecv(w->evt, NULL, time, peer_of(w, m), comm_of(w, m),
                                           (uint32_t)m->tag, m->bytes_in, m->request));
    else
        note(w, w->lib->EvtWriter_MpiRecv(w->evt, NULL, time, peer_of(w, m), comm_of(w, m),
                                          (uint32_t)m->tag, m->bytes_in));
}

static void write_collective(struct writer *w, const struct act *act, uint64_t time)
{
    const struct ar_trace_message *m = &act->message;
    uint32_t operation = operation_of(w, act);

    if (operation != NO_OPERATION)
        note(w, w->lib->EvtWriter_MpiCollectiveEnd(w->evt, NULL, time, (OTF2_CollectiveOp)operation,
                                                   comm_of(w, m), root_of(w, m), m->bytes_out,
                                                   m->bytes_in));
}

/* A request that was not posted here does not end here either. */
static void write_done(struct writer *w, const struct ar_trace_message *m, uint64_t time)
{
    uint32_t operation = ar_otf2_requests_end(&w->requests, m->request);

    if (m->kind == AR_TRACE_RECEIVE_DONE)
        write_received(w, m, time, operation == A_MESSAGE);
    else if (operation == AR_NO_ID)
        return;
    else if (m->kind == AR_TRACE_CANCELLED)
        note(w, w->lib->EvtWriter_MpiRequestCancelled(w->evt, NULL, time, m->request));
    else if (m->kind == AR_TRACE_SEND_DONE)
        note(w, w->lib->EvtWriter_MpiIsendComplete(w->evt, NULL, time, m->request));
    else if (operation != A_MESSAGE)
        note(w, w->lib->EvtWriter_NonBlockingCollectiveComplete(
                    w->evt, NULL, time, (OTF2_CollectiveOp)operation, comm_of(w, m), root_of(w, m),
                    m->bytes_out, m->bytes_in, m->request));
}

static void write_end(struct writer *w, const struct act *act)
{
    const struct ar_trace_message *m = &act->message;
    uint64_t time = time_of(w, act->end_ns);

    switch (m->kind) {
    case AR_TRACE_RECEIVE:
        write_received(w, m, time, false);
        break;
    case AR_TRACE_COLLECTIVE:
        write_collective(w, act, time);
        break;
    case AR_TRACE_SEND_DONE:
    case AR_TRACE_RECEIVE_DONE:
    case AR_TRACE_COLLECTIVE_DONE:
    case AR_TRACE_CANCELLED:
        write_done(w, m, time);
        break;
    default:
        break;
    }
}

static void write_acts(struct writer *w)
{
    for (size_t i = 0; i < w->n_acts; i++)
        write_begin(w, &w->acts[i]);
    for (size_t i = 0; i < w->n_acts; i++)
        write_end(w, &w->acts[i]);
    w->n_acts = 0;
}

/* Groups are defined with what messages say of ranks in them. */
static void note_rank(struct writer *w, const struct ar_trace_message *m)
{
    w->last_comm = m->comm;
    if (m->rank != AR_NO_ID && ar_idmap_put(&w->ranks, m->comm, m->rank) < 0)
        w->status = AR_NOMEM;
}

static void keep_act(struct writer *w, const struct ar_trace_event *event)
{
    const struct ar_profile *p = w->work->p;

    if (ar_grow((void **)&w->acts, &w->cap_acts, w->n_acts + 1, sizeof *w->acts) < 0) {
        w->status = AR_NOMEM;
        return;
    }
    if (event->message.comm != w->last_comm && event->message.comm)
        note_rank(w, &event->message);
    w->acts[w->n_acts++] = (struct act){
        .message = event->message,
        .start_ns = event->at_ns,
        .end_ns = event->call_end_ns,
        .function = event->node == AR_NO_ID ? AR_NO_ID : p->nodes[event->node].function};
}

/* ---- parameters ------------------------------------------------------------------------------- */

static void write_parameter(struct writer *w, const struct ar_trace_parameter *x, uint64_t time)
{
    uint32_t parameter = 0, text = 0;
    enum ar_status status =
        ar_otf2_parameter(&w->work->names, x->name, x->n_name, x->type, &parameter);

    if (status == AR_OK && x->type == AR_TRACE_TEXT)
        status = ar_otf2_string(&w->work->names, x->text, x->n_text, &text);
    if (status < 0)
        w->status = status;
    else if (x->type == AR_TRACE_TEXT)
        note(w, w->lib->EvtWriter_ParameterString(w->evt, NULL, time, parameter, text));
    else if (x->type == AR_TRACE_SIGNED)
        note(w, w->lib->EvtWriter_ParameterInt(w->evt, NULL, time, parameter, (int64_t)x->value));
    else
        note(w, w->lib->EvtWriter_ParameterUnsignedInt(w->evt, NULL, time, parameter, x->value));
}

static void write_counter(struct writer *w, const struct ar_trace_parameter *x, uint64_t time)
{
    const OTF2_Type type = OTF2_TYPE_UINT64;
    const OTF2_MetricValue value = {.unsigned_int = x->value};
    uint32_t counter = 0;

    if (ar_otf2_parameter(&w->work->names, x->name, x->n_name, AR_TRACE_COUNTER, &counter) < 0)
        w->status = AR_NOMEM;
    else
        note(w, w->lib->EvtWriter_Metric(w->evt, NULL, time, counter, 1, &type, &value));
}

/* ---- all events ------------------------------------------------------------------------------- */

static inline uint32_t step(struct writer *w, uint32_t node)
{
    uint32_t function = w->work->p->nodes[node].function;

    w->out->least_bytes += LEAST_RECORD_BYTES + (function > 0) + (function > 0xff);
    return function;
}

/* Of the first process's main thread, where all others are in it, too. */
static bool is_others_root(const struct writer *w, const struct ar_trace_event *event)
{
    return w->has_own_root && event->node != AR_NO_ID &&
           w->work->p->nodes[event->node].parent == AR_NO_ID &&
           (event->kind == AR_EVENT_ENTER || event->kind == AR_EVENT_LEAVE);
}

static void write_event(struct writer *w, const struct ar_trace_event *event)
{
    uint64_t time;

    if (is_others_root(w, event))
        return;
    if (event->kind == AR_EVENT_MESSAGE) {
        keep_act(w, event);
        return;
    }
    if (__builtin_expect(w->n_acts > 0, 0))
        write_acts(w);
    time = time_of(w, event->at_ns);
    switch ((enum ar_trace_event_kind)event->kind) {
    case AR_EVENT_ENTER:
        note(w, w->lib->EvtWriter_Enter(w->evt, NULL, time, step(w, event->node)));
        break;
    case AR_EVENT_LEAVE:
        note(w, w->lib->EvtWriter_Leave(w->evt, NULL, time, step(w, event->node)));
        break;
    case AR_EVENT_PARAMETER:
        write_parameter(w, &event->parameter, time);
        break;
    case AR_EVENT_COUNTER:
        write_counter(w, &event->parameter, time);
        break;
    case AR_EVENT_OFF:
    case AR_EVENT_FULL:
        note(w, w->lib->EvtWriter_MeasurementOnOff(w->evt, NULL, time, OTF2_MEASUREMENT_OFF));
        break;
    case AR_EVENT_ON:
        note(w, w->lib->EvtWriter_MeasurementOnOff(w->evt, NULL, time, OTF2_MEASUREMENT_ON));
        break;
    default:
        break;
    }
}

#define TELL_EVERY 16384

static void write_all(struct writer *w, struct ar_trace_cursor *c)
{
    struct ar_trace_event event;
    uint64_t n = 0;

    while (w->code == OTF2_SUCCESS && w->status == AR_OK && ar_trace_next(c, &event)) {
        write_event(w, &event);
        if (++n % TELL_EVERY == 0) {
            atomic_fetch_add_explicit(&w->work->n_done, TELL_EVERY, memory_order_relaxed);
            if (atomic_load_explicit(&w->work->is_stopped, memory_order_relaxed))
                break;
        }
    }
    write_acts(w);
}

static enum ar_status result(const struct writer *w, const struct ar_trace_cursor *c,
                             struct ar_error *err)
{
    if (c->status < 0) {
        *err = c->err;
        return c->status;
    }
    if (w->status < 0)
        return ar_fail(err, w->status, "out of memory");
    return w->code == OTF2_SUCCESS ? AR_OK : ar_otf2_refuse(w->lib, w->code, err);
}

static enum ar_status add_members(const struct writer *w)
{
    struct ar_otf2_work *work = w->work;
    uint32_t location = work->traces->items[w->thread].location;
    const struct ar_process *process = &work->p->processes[work->p->locations[location].process];
    enum ar_status status = AR_OK;

    if (process->root_pid)
        return AR_OK;
    pthread_mutex_lock(&work->lock);
    for (size_t i = 0; i < w->ranks.n_slots && status == AR_OK; i++)
        if (w->ranks.slots[i].key)
            status = ar_comm_members_add(&work->members, (uint32_t)w->ranks.slots[i].key - 1,
                                         w->ranks.slots[i].value, process->world_rank);
    pthread_mutex_unlock(&work->lock);
    return status;
}

static bool has_own_root(const struct ar_otf2_work *work, size_t thread)
{
    const struct ar_location *location = &work->p->locations[work->traces->items[thread].location];

    return location->thread != 0 || work->p->processes[location->process].root_pid;
}

enum ar_status ar_otf2_write_events(struct ar_otf2_work *work, size_t thread, OTF2_EvtWriter *evt,
                                    struct ar_otf2_written *out, struct ar_error *err)
{
    struct writer w = {.work = work, .lib = work->lib, .evt = evt, .thread = thread, .out = out};
    struct ar_trace_cursor c;
    enum ar_status status;

    *out = (struct ar_otf2_written){0};
    w.has_own_root = has_own_root(work, thread);
    ar_trace_seek(&c, &work->traces->items[thread],
                  ar_traces_at(work->traces, thread, work->from_ns),
                  ar_traces_at(work->traces, thread, work->to_ns));
    write_all(&w, &c);
    status = result(&w, &c, err);
    if (status == AR_OK &&
        work->lib->EvtWriter_GetNumberOfEvents(evt, &out->n_events) != OTF2_SUCCESS)
        status = ar_fail(err, AR_IO, "libotf2: %s", ar_otf2_complaint());
    if (status == AR_OK && add_members(&w) < 0)
        status = ar_fail(err, AR_NOMEM, "out of memory");
    ar_trace_end(&c);
    ar_idmap_free(&w.ranks);
    ar_otf2_requests_free(&w.requests);
    free(w.acts);
    return status;
}
