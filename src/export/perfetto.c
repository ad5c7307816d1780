// SPDX-License-Identifier: BSD-3-Clause
/*
 * Numbers of fields are those of protos/perfetto/trace of Perfetto. All processes and threads are tracks: thread `i` has the uuid i + 1,
 * processes come behind them, and counters of threads behind these, as they are met.
 */
#include "export/perfetto.h"

#include "analysis/names.h"
#include "analysis/place.h"
#include "base/text.h"
#include "export/protobuf.h"
#include "export/trace_flows.h"
#include "export/trace_steps.h"
#include "export/trace_tracks.h"

#include <stdlib.h>

enum {
    TRACE_PACKET = 1,
    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_CLOCK = 58,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK = 60,
    PACKET_IS_FIRST = 87,

    SNAPSHOT_CLOCKS = 1,
    SNAPSHOT_PRIMARY = 2,
    CLOCK_ID = 1,
    CLOCK_TIMESTAMP = 2,
    CLOCK_IS_INCREMENTAL = 3,

    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    COUNTER_UNIT = 3,
    TRACK_RANK = 12,
    TRACK_PROCESS_ORDERING = 19,
    PROCESS_PID = 1,
    PROCESS_SORT_INDEX = 3,
    PROCESS_NAME = 6,
    PROCESS_LABELS = 8,
    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_SORT_INDEX = 3,
    THREAD_NAME = 5,

    EVENT_CATEGORY = 3,
    EVENT_ANNOTATIONS = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_COUNTER_VALUE = 30,
    EVENT_NAME_TEXT = 23,
    EVENT_SOURCE = 34,
    EVENT_FLOWS = 47,
    EVENT_LAST_FLOWS = 48,

    INTERNED_CATEGORIES = 1,
    INTERNED_NAMES = 2,
    INTERNED_ANNOTATION_NAMES = 3,
    INTERNED_SOURCES = 4,
    INTERNED_TEXTS = 29,
    INTERNED_IID = 1, /* of all of them */
    INTERNED_NAME = 2,
    SOURCE_FILE = 2,
    SOURCE_FUNCTION = 3,
    SOURCE_LINE = 4,

    ANNOTATION_NAME = 1,
    ANNOTATION_BOOL = 2,
    ANNOTATION_UINT = 3,
    ANNOTATION_INT = 4,
    ANNOTATION_TEXT = 6,
    ANNOTATION_NAME_TEXT = 10,
    ANNOTATION_DICT = 11,
    ANNOTATION_ARRAY = 12,
    ANNOTATION_TEXT_IID = 17,
};

enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };
enum { CLOCK_REALTIME = 1, CLOCK_BOOTTIME = 6, OWN_CLOCK = 64 };
enum { STATE_CLEARED = 1 };
enum { UNIT_COUNT = 2 };
enum { OUR_SEQUENCE = 1 };

/* Names of arguments. */
enum argument {
    ARG_EARLIER = 1,
    ARG_LATER,
    ARG_KIND,
    ARG_TO,
    ARG_FROM,
    ARG_ROOT,
    ARG_COMM,
    ARG_TAG,
    ARG_SEQUENCE,
    ARG_OUT,
    ARG_IN,
    ARG_REQUEST,
    ARG_MESSAGES,
    N_ARGUMENTS
};
static const char *const argument_names[N_ARGUMENTS] = {
    [ARG_EARLIER] = "entered earlier",
    [ARG_LATER] = "left later",
    [ARG_KIND] = "kind",
    [ARG_TO] = "to",
    [ARG_FROM] = "from",
    [ARG_ROOT] = "root",
    [ARG_COMM] = "communicator",
    [ARG_TAG] = "tag",
    [ARG_SEQUENCE] = "number",
    [ARG_OUT] = "bytes out",
    [ARG_IN] = "bytes in",
    [ARG_REQUEST] = "request",
    [ARG_MESSAGES] = "messages",
};

/* Numbers of categories: those of functions are their kinds. */
enum { CATEGORY_OFF = 200, CATEGORY_PARAMETER, CATEGORY_MESSAGE, N_CATEGORIES };
/* Numbers of names: the first are our own, those of functions follow. */
enum { NAME_OFF = 1, NAME_FULL, NAME_MESSAGE, NAME_RECEIVED, FIRST_FUNCTION_NAME };

struct encoder {
    const struct ar_profile *p;
    const struct ar_traces *traces;
    const struct ar_tracks *tracks;
    struct ar_sink *sink;
    /* What was written already, by number: */
    bool *has_name;         /* function */
    uint32_t *source_owner; /* by node: which node's source it has, plus 1; 0: not known yet */
    uint32_t *source_of;    /* by function: a node that has its source, plus 1 */
    bool has_category[N_CATEGORIES];
    bool *has_comm;
    struct ar_strtab counter_names;
    struct ar_idmap counters; /* by name and thread: which of the tracks of counters */
    uint32_t n_counters;
    struct ar_flows flows;
    uint64_t last_ns;
    struct ar_bytes packet, event, interned, part, inner, list, one, annotation, text;
};

/* ---- packets ---------------------------------------------------------------------------------- */

static enum ar_status end_packet(struct encoder *e, struct ar_error *err)
{
    ar_proto_uint(&e->packet, PACKET_SEQUENCE, OUR_SEQUENCE);
    ar_proto_message(&e->sink->block, TRACE_PACKET, &e->packet);
    return ar_sink_pass(e->sink, err);
}

static void put_clock(struct encoder *e, uint64_t id, uint64_t ns)
{
    ar_proto_uint(&e->inner, CLOCK_ID, id);
    ar_proto_uint(&e->inner, CLOCK_TIMESTAMP, ns);
    if (id == OWN_CLOCK)
        ar_proto_uint(&e->inner, CLOCK_IS_INCREMENTAL, true);
    ar_proto_message(&e->part, SNAPSHOT_CLOCKS, &e->inner);
}

/* When the run began, since 1970; 0: not known. */
static uint64_t real_start(const struct ar_traces *traces)
{
    const struct ar_profile *p = traces->profile;

    for (size_t i = 0; i < traces->n; i++) {
        const struct ar_process *process =
            &p->processes[p->locations[traces->items[i].location].process];
        int64_t begin_ns = ar_traces_ns(traces, i, 0);

        if (process->start_real_ns && begin_ns == 0)
            return process->start_real_ns;
    }
    return 0;
}

/* Zero of all times is when the run began; the packets that follow have times of our own clock. */
static enum ar_status put_head(struct encoder *e, struct ar_error *err)
{
    uint64_t real_ns = real_start(e->traces);

    put_clock(e, CLOCK_BOOTTIME, 0);
    if (real_ns)
        put_clock(e, CLOCK_REALTIME, real_ns);
    put_clock(e, OWN_CLOCK, 0);
    ar_proto_uint(&e->part, SNAPSHOT_PRIMARY, CLOCK_BOOTTIME);
    ar_proto_uint(&e->packet, PACKET_TIMESTAMP, 0);
    ar_proto_uint(&e->packet, PACKET_CLOCK, CLOCK_BOOTTIME);
    ar_proto_message(&e->packet, PACKET_CLOCK_SNAPSHOT, &e->part);
    ar_proto_uint(&e->packet, PACKET_FLAGS, STATE_CLEARED);
    ar_proto_uint(&e->packet, PACKET_IS_FIRST, true);
    ar_proto_uint(&e->part, PACKET_CLOCK, OWN_CLOCK);
    ar_proto_message(&e->packet, PACKET_DEFAULTS, &e->part);
    return end_packet(e, err);
}

/* ---- tracks ----------------------------------------------------------------------------------- */

static uint64_t process_uuid(const struct encoder *e, uint32_t process)
{
    return 1 + e->tracks->n_threads + process;
}

static enum ar_status put_process(struct encoder *e, uint32_t i, struct ar_error *err)
{
    const struct ar_track_process *it = &e->tracks->processes[i];

    ar_proto_uint(&e->part, PROCESS_PID, it->pid);
    ar_proto_text(&e->part, PROCESS_NAME, it->name);
    ar_proto_uint(&e->part, PROCESS_SORT_INDEX, i);
    if (*it->host)
        ar_proto_text(&e->part, PROCESS_LABELS, it->host);
    ar_proto_uint(&e->inner, TRACK_UUID, process_uuid(e, i));
    ar_proto_message(&e->inner, TRACK_PROCESS, &e->part);
    ar_proto_uint(&e->inner, TRACK_RANK, i);
    ar_proto_uint(&e->inner, TRACK_PROCESS_ORDERING, 1);
    ar_proto_message(&e->packet, PACKET_TRACK, &e->inner);
    return end_packet(e, err);
}

static enum ar_status put_thread(struct encoder *e, size_t i, struct ar_error *err)
{
    const struct ar_track_thread *it = &e->tracks->threads[i];
    uint32_t thread = e->p->locations[e->traces->items[i].location].thread;

    ar_proto_uint(&e->part, THREAD_PID, e->tracks->processes[it->process].pid);
    ar_proto_uint(&e->part, THREAD_TID, it->tid);
    ar_proto_text(&e->part, THREAD_NAME, it->name);
    ar_proto_uint(&e->part, THREAD_SORT_INDEX, thread);
    ar_proto_uint(&e->inner, TRACK_UUID, i + 1);
    ar_proto_uint(&e->inner, TRACK_PARENT, process_uuid(e, it->process));
    ar_proto_message(&e->inner, TRACK_THREAD, &e->part);
    ar_proto_uint(&e->inner, TRACK_RANK, thread);
    ar_proto_message(&e->packet, PACKET_TRACK, &e->inner);
    return end_packet(e, err);
}

static enum ar_status put_tracks(struct encoder *e, struct ar_error *err)
{
    enum ar_status status = AR_OK;

    for (uint32_t i = 0; i < e->tracks->n_processes && status == AR_OK; i++)
        status = put_process(e, i, err);
    for (size_t i = 0; i < e->tracks->n_threads && status == AR_OK; i++)
        status = put_thread(e, i, err);
    return status;
}

/* ---- what is written once --------------------------------------------------------------------- */

static void put_shown(struct encoder *e, struct ar_bytes *out, uint32_t field, const char *text)
{
    ar_text_put(&e->text, text, strlen(text));
    ar_proto_message(out, field, &e->text);
}

static void intern(struct encoder *e, uint32_t kind, uint64_t iid, const char *text)
{
    ar_proto_uint(&e->part, INTERNED_IID, iid);
    put_shown(e, &e->part, INTERNED_NAME, text);
    ar_proto_message(&e->interned, kind, &e->part);
}

static uint64_t category(struct encoder *e, uint32_t number, const char *name)
{
    number = number < N_CATEGORIES ? number : 0;
    if (!e->has_category[number]) {
        e->has_category[number] = true;
        intern(e, INTERNED_CATEGORIES, number + 1, name);
    }
    return number + 1;
}

static uint64_t function_name(struct encoder *e, uint32_t function)
{
    uint64_t iid = (uint64_t)FIRST_FUNCTION_NAME + function;
    char room[AR_NAME_BYTES];

    if (!e->has_name[function]) {
        e->has_name[function] = true;
        intern(e, INTERNED_NAMES, iid, ar_plain_name(e->p, function, room));
    }
    return iid;
}

static void intern_source(struct encoder *e, uint32_t node, const char *file, uint32_t line)
{
    char room[AR_NAME_BYTES];

    ar_proto_uint(&e->part, INTERNED_IID, (uint64_t)node + 1);
    put_shown(e, &e->part, SOURCE_FILE, file);
    put_shown(e, &e->part, SOURCE_FUNCTION, ar_plain_name(e->p, e->p->nodes[node].function, room));
    ar_proto_uint(&e->part, SOURCE_LINE, line);
    ar_proto_message(&e->interned, INTERNED_SOURCES, &e->part);
}

/* Nodes of a function with a file share the source of the first; a function without one has a source for each call path. */
static uint32_t find_source(struct encoder *e, uint32_t node)
{
    uint32_t function = e->p->nodes[node].function;
    const struct ar_function *f = &e->p->functions[function];
    const char *file = ar_strtab_text(&e->p->strings, f->file);

    if (*file && e->source_of[function])
        return e->source_of[function];
    if (*file) {
        intern_source(e, node, file, f->first_line);
        return e->source_of[function] = node + 1;
    }

    struct ar_place place = ar_place_of_call(e->p, node);

    file = ar_place_file(e->p, place);
    if (!*file || !place.line)
        return AR_NO_ID;
    intern_source(e, node, file, place.line);
    return node + 1;
}

static uint32_t source(struct encoder *e, uint32_t node)
{
    if (!e->source_owner[node])
        e->source_owner[node] = find_source(e, node);
    return e->source_owner[node];
}

static uint64_t communicator(struct encoder *e, uint32_t comm)
{
    if (!e->has_comm[comm]) {
        e->has_comm[comm] = true;
        intern(e, INTERNED_TEXTS, (uint64_t)comm + 1, ar_step_comm_name(e->p, comm));
    }
    return (uint64_t)comm + 1;
}

/* All that are ours, in the first packet of an event. */
static void intern_own(struct encoder *e)
{
    for (uint32_t i = 1; i < N_ARGUMENTS; i++)
        intern(e, INTERNED_ANNOTATION_NAMES, i, argument_names[i]);
    intern(e, INTERNED_NAMES, NAME_OFF, AR_STEP_OFF_NAME);
    intern(e, INTERNED_NAMES, NAME_FULL, AR_STEP_FULL_NAME);
    intern(e, INTERNED_NAMES, NAME_MESSAGE, AR_STEP_MESSAGE_NAME);
    intern(e, INTERNED_NAMES, NAME_RECEIVED, "received");
}

/* ---- arguments -------------------------------------------------------------------------------- */

static void put_argument(struct encoder *e, struct ar_bytes *to, uint32_t field, enum argument name,
                         uint32_t type, uint64_t value)
{
    ar_proto_uint(&e->annotation, ANNOTATION_NAME, name);
    ar_proto_uint(&e->annotation, type, value);
    ar_proto_message(to, field, &e->annotation);
}

static void put_kind(struct encoder *e, struct ar_bytes *to, uint32_t field, unsigned kind)
{
    ar_proto_uint(&e->annotation, ANNOTATION_NAME, ARG_KIND);
    ar_proto_text(&e->annotation, ANNOTATION_TEXT, ar_step_message_name(kind));
    ar_proto_message(to, field, &e->annotation);
}

static enum argument peer_argument(const struct ar_trace_message *m)
{
    char first = *ar_step_peer_name(m);

    return first == 'r' ? ARG_ROOT : first == 't' ? ARG_TO : ARG_FROM;
}

/* As arguments of an event, or as entries of a dictionary among them. */
static void put_message(struct encoder *e, struct ar_bytes *to, uint32_t field,
                        const struct ar_trace_message *m)
{
    put_kind(e, to, field, m->kind);
    if (m->peer < AR_PEER_UNKNOWN)
        put_argument(e, to, field, peer_argument(m), ANNOTATION_UINT, m->peer);
    if (m->comm && m->comm <= e->p->n_comms)
        put_argument(e, to, field, ARG_COMM, ANNOTATION_TEXT_IID, communicator(e, m->comm));
    if (ar_step_is_collective(m))
        put_argument(e, to, field, ARG_SEQUENCE, ANNOTATION_UINT, m->sequence);
    else
        put_argument(e, to, field, ARG_TAG, ANNOTATION_INT, (uint64_t)(int64_t)m->tag);
    if (m->bytes_out)
        put_argument(e, to, field, ARG_OUT, ANNOTATION_UINT, m->bytes_out);
    if (m->bytes_in)
        put_argument(e, to, field, ARG_IN, ANNOTATION_UINT, m->bytes_in);
    if (m->request)
        put_argument(e, to, field, ARG_REQUEST, ANNOTATION_UINT, m->request);
}

static void put_messages(struct encoder *e, const struct ar_step *step)
{
    if (step->n_messages == 1) {
        put_message(e, &e->event, EVENT_ANNOTATIONS, &step->messages[0]);
        return;
    }
    ar_proto_uint(&e->list, ANNOTATION_NAME, ARG_MESSAGES);
    for (size_t i = 0; i < step->n_messages; i++) {
        put_message(e, &e->one, ANNOTATION_DICT, &step->messages[i]);
        ar_proto_message(&e->list, ANNOTATION_ARRAY, &e->one);
    }
    ar_proto_message(&e->event, EVENT_ANNOTATIONS, &e->list);
}

static void put_parameter(struct encoder *e, const struct ar_trace_parameter *x)
{
    ar_text_put(&e->text, x->name, x->n_name);
    ar_proto_bytes(&e->event, EVENT_NAME_TEXT, e->text.data, e->text.n);
    ar_proto_message(&e->annotation, ANNOTATION_NAME_TEXT, &e->text);
    if (x->type == AR_TRACE_TEXT) {
        ar_text_put(&e->text, x->text, x->n_text);
        ar_proto_message(&e->annotation, ANNOTATION_TEXT, &e->text);
    } else {
        ar_proto_uint(&e->annotation, x->type == AR_TRACE_SIGNED ? ANNOTATION_INT : ANNOTATION_UINT,
                      x->value);
    }
    ar_proto_message(&e->event, EVENT_ANNOTATIONS, &e->annotation);
}

/* ---- events ----------------------------------------------------------------------------------- */

static void put_type(struct encoder *e, const struct ar_step *step, unsigned type)
{
    ar_proto_uint(&e->event, EVENT_TYPE, type);
    ar_proto_uint(&e->event, EVENT_TRACK, step->thread + 1);
}

/* Returns how many. */
static size_t put_flows(struct encoder *e, const struct ar_step *step)
{
    struct ar_flow flow;
    size_t n = 0;

    ar_flows_seek(&e->flows, step);
    for (; ar_flows_next(&e->flows, step, &flow); n++)
        ar_proto_fixed64(&e->event, flow.is_last ? EVENT_LAST_FLOWS : EVENT_FLOWS, flow.id);
    return n;
}

static void put_begin(struct encoder *e, const struct ar_step *step)
{
    uint32_t function = e->p->nodes[step->node].function, from = source(e, step->node);
    uint32_t kind = e->p->functions[function].kind;

    put_type(e, step, SLICE_BEGIN);
    ar_proto_uint(&e->event, EVENT_NAME, function_name(e, function));
    ar_proto_uint(&e->event, EVENT_CATEGORY, category(e, kind, ar_step_category(e->p, function)));
    if (from != AR_NO_ID)
        ar_proto_uint(&e->event, EVENT_SOURCE, from);
    if (step->is_implied)
        put_argument(e, &e->event, EVENT_ANNOTATIONS, ARG_EARLIER, ANNOTATION_BOOL, true);
    if (kind == AR_FUNCTION_MPI)
        put_flows(e, step);
}

static void put_end(struct encoder *e, const struct ar_step *step)
{
    put_type(e, step, SLICE_END);
    if (step->n_messages)
        put_messages(e, step);
    if (step->is_implied)
        put_argument(e, &e->event, EVENT_ANNOTATIONS, ARG_LATER, ANNOTATION_BOOL, true);
}

static void put_own(struct encoder *e, const struct ar_step *step, unsigned type, uint64_t name,
                    uint64_t category_iid)
{
    put_type(e, step, type);
    ar_proto_uint(&e->event, EVENT_NAME, name);
    ar_proto_uint(&e->event, EVENT_CATEGORY, category_iid);
}

/* Its track is described before its first value. `*track`: the uuid. */
static enum ar_status find_counter(struct encoder *e, const struct ar_step *step, uint64_t *track,
                                   struct ar_error *err)
{
    const struct ar_trace_parameter *x = &step->parameter;
    uint32_t name, known;
    uint64_t key;

    if (ar_strtab_put(&e->counter_names, x->name, x->n_name, &name) < 0)
        return ar_fail(err, AR_NOMEM, "out of memory");
    key = ((uint64_t)name << 32 | step->thread) + 1;
    known = ar_idmap_get(&e->counters, key, AR_NO_ID);
    *track = 1 + e->tracks->n_threads + e->tracks->n_processes +
             (known == AR_NO_ID ? e->n_counters : known);
    if (known != AR_NO_ID)
        return AR_OK;
    if (ar_idmap_put(&e->counters, key, e->n_counters++) < 0)
        return ar_fail(err, AR_NOMEM, "out of memory");
    ar_proto_uint(&e->inner, TRACK_UUID, *track);
    ar_text_put(&e->text, x->name, x->n_name);
    ar_proto_message(&e->inner, TRACK_NAME, &e->text);
    ar_proto_uint(&e->inner, TRACK_PARENT, step->thread + 1);
    ar_proto_uint(&e->part, COUNTER_UNIT, UNIT_COUNT);
    ar_proto_message(&e->inner, TRACK_COUNTER, &e->part);
    ar_proto_message(&e->packet, PACKET_TRACK, &e->inner);
    return end_packet(e, err);
}

static void put_event(struct encoder *e, const struct ar_step *step)
{
    switch (step->kind) {
    case AR_STEP_BEGIN:
        put_begin(e, step);
        break;
    case AR_STEP_END:
        put_end(e, step);
        break;
    case AR_STEP_OFF:
        put_own(e, step, SLICE_BEGIN, NAME_OFF, category(e, CATEGORY_OFF, "allranks"));
        break;
    case AR_STEP_ON:
        put_type(e, step, SLICE_END);
        break;
    case AR_STEP_FULL:
        put_own(e, step, INSTANT, NAME_FULL, category(e, CATEGORY_OFF, "allranks"));
        break;
    case AR_STEP_MESSAGE:
        put_own(e, step, INSTANT, NAME_MESSAGE, category(e, CATEGORY_MESSAGE, "message"));
        put_messages(e, step);
        break;
    case AR_STEP_COUNTER: /* put_counter */
        break;
    case AR_STEP_PARAMETER:
        put_type(e, step, INSTANT);
        ar_proto_uint(&e->event, EVENT_CATEGORY, category(e, CATEGORY_PARAMETER, "parameter"));
        put_parameter(e, &step->parameter);
        break;
    }
}

static enum ar_status put_packet(struct encoder *e, int64_t at_ns, struct ar_error *err)
{
    uint64_t ns = (uint64_t)at_ns > e->last_ns ? (uint64_t)at_ns : e->last_ns;

    ar_proto_uint(&e->packet, PACKET_TIMESTAMP, ns - e->last_ns);
    if (e->interned.n)
        ar_proto_message(&e->packet, PACKET_INTERNED, &e->interned);
    ar_proto_message(&e->packet, PACKET_TRACK_EVENT, &e->event);
    e->last_ns = ns;
    return end_packet(e, err);
}

/*
 * Where messages arrive. Perfetto turns an arrow round that leads to a slice which began before the one that it comes from, as that of a
 * receive does which waited for a late sender. So arrows lead to an instant at the end of the call.
 */
static enum ar_status put_arrival(struct encoder *e, const struct ar_step *step,
                                  struct ar_error *err)
{
    put_own(e, step, INSTANT, NAME_RECEIVED, category(e, CATEGORY_MESSAGE, "message"));
    if (put_flows(e, step))
        return put_packet(e, step->ns, err);
    e->event.n = 0;
    return AR_OK;
}

static enum ar_status put_counter(struct encoder *e, const struct ar_step *step,
                                  struct ar_error *err)
{
    uint64_t track;
    enum ar_status status = find_counter(e, step, &track, err);

    if (status < 0)
        return status;
    ar_proto_uint(&e->event, EVENT_TYPE, COUNTER);
    ar_proto_uint(&e->event, EVENT_TRACK, track);
    ar_proto_uint(&e->event, EVENT_COUNTER_VALUE, step->parameter.value);
    return put_packet(e, step->ns, err);
}

static enum ar_status put_step(struct encoder *e, const struct ar_step *step, struct ar_error *err)
{
    enum ar_status status = AR_OK;

    if (step->kind == AR_STEP_COUNTER)
        return put_counter(e, step, err);
    if (step->kind == AR_STEP_END && step->n_messages)
        status = put_arrival(e, step, err);
    if (status < 0)
        return status;
    put_event(e, step);
    return put_packet(e, step->ns, err);
}

static enum ar_status put_steps(struct encoder *e, const struct ar_export_choice *which,
                                ar_export_tell_fn *tell, struct ar_error *err)
{
    struct ar_steps steps;
    struct ar_step step;
    enum ar_status status =
        ar_steps_begin(&steps, e->traces, AR_STEPS_OF_ALL, which->from_ns, ar_export_end(which));

    if (status < 0)
        ar_fail(err, status, "out of memory");
    while (status == AR_OK && ar_steps_next(&steps, &step)) {
        status = put_step(e, &step, err);
        if (tell && steps.n_events % AR_EXPORT_TELL_EVERY == 0)
            tell(steps.n_events, e->traces->n_events);
    }
    return ar_steps_end(&steps, status, err);
}

/* ---- the file --------------------------------------------------------------------------------- */

static enum ar_status make_room(struct encoder *e, struct ar_error *err)
{
    e->has_name = calloc(e->p->n_functions + 1, sizeof *e->has_name);
    e->source_owner = calloc(e->p->n_nodes + 1, sizeof *e->source_owner);
    e->source_of = calloc(e->p->n_functions + 1, sizeof *e->source_of);
    e->has_comm = calloc(e->p->n_comms + 2, sizeof *e->has_comm);
    if (!e->has_name || !e->source_owner || !e->source_of || !e->has_comm)
        return ar_fail(err, AR_NOMEM, "out of memory");
    return AR_OK;
}

static void free_room(struct encoder *e)
{
    ar_flows_free(&e->flows);
    ar_strtab_free(&e->counter_names);
    ar_idmap_free(&e->counters);
    free(e->has_name);
    free(e->source_owner);
    free(e->source_of);
    free(e->has_comm);
    ar_bytes_free(&e->packet);
    ar_bytes_free(&e->event);
    ar_bytes_free(&e->interned);
    ar_bytes_free(&e->part);
    ar_bytes_free(&e->inner);
    ar_bytes_free(&e->list);
    ar_bytes_free(&e->one);
    ar_bytes_free(&e->annotation);
    ar_bytes_free(&e->text);
}

static enum ar_status encode(struct encoder *e, const struct ar_export_choice *which,
                             ar_export_tell_fn *tell, struct ar_error *err)
{
    enum ar_status status = make_room(e, err);

    if (status == AR_OK)
        status = put_head(e, err);
    if (status == AR_OK)
        status = put_tracks(e, err);
    intern_own(e);
    if (status == AR_OK)
        status = ar_flows_build(&e->flows, e->traces, which->from_ns, err);
    if (status == AR_OK)
        status = put_steps(e, which, tell, err);
    free_room(e);
    return status;
}

enum ar_status ar_perfetto_encode(struct ar_profile *p, const struct ar_export_choice *which,
                                  struct ar_sink *out, ar_export_tell_fn *tell,
                                  struct ar_error *err)
{
    struct ar_traces traces;
    struct ar_tracks tracks;
    enum ar_status status = ar_traces_open(&traces, p, err);

    if (status < 0)
        return status;
    status = ar_tracks_build(&tracks, &traces);
    if (status < 0) {
        ar_traces_close(&traces);
        return ar_fail(err, status, "out of memory");
    }

    struct encoder e = {.p = p, .traces = &traces, .tracks = &tracks, .sink = out};

    status = encode(&e, which, tell, err);
    ar_tracks_free(&tracks);
    ar_traces_close(&traces);
    return status;
}
