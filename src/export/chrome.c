// SPDX-License-Identifier: BSD-3-Clause
/*
 * What an event has in common with others is put together once: the ids of its thread, and the name, category and source of its call.
 */
#include "export/chrome.h"

#include "analysis/names.h"
#include "analysis/place.h"
#include "export/json.h"
#include "export/trace_flows.h"
#include "export/trace_steps.h"
#include "export/trace_tracks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a large buffer that is only grows. */
struct piece {
    size_t at, n;
};

struct encoder {
    const struct ar_profile *p;
    const struct ar_traces *traces;
    const struct ar_tracks *tracks;
    struct ar_sink *sink;
    struct ar_bytes made; /* all pieces */
    struct ar_bytes text;
    struct piece *threads; /* "pid": 1, "tid": 1 */
    struct piece
        *calls; /* by node: "name": "f", "cat": "python", "args": …; `n` is 0: not made yet */
    struct ar_flows flows;
    bool needs_comma;
};

static void put(struct ar_bytes *out, const char *text)
{
    ar_bytes_put(out, text, strlen(text));
}

static void put_piece(struct encoder *e, const struct piece *piece)
{
    ar_bytes_put(&e->sink->block, e->made.data + piece->at, piece->n);
}

static bool ends_with(const struct encoder *e, const struct piece *piece, char end)
{
    return piece->n && e->made.data[piece->at + piece->n - 1] == (unsigned char)end;
}

/* ---- what is made once ------------------------------------------------------------------------ */

static struct piece end_piece(struct encoder *e, size_t begin)
{
    return (struct piece){begin, e->made.n - begin};
}

static void make_thread(struct encoder *e, size_t i)
{
    const struct ar_track_thread *thread = &e->tracks->threads[i];
    struct ar_json j = {.out = &e->made, .is_flat = true};
    size_t begin = e->made.n;

    ar_json_integer(&j, "pid", e->tracks->processes[thread->process].pid);
    ar_json_integer(&j, "tid", thread->tid);
    e->threads[i] = end_piece(e, begin);
}

/* "solver.py:12" of a function or, where it has no file, of the line of the call. */
static void put_source(struct encoder *e, struct ar_json *j, uint32_t node)
{
    const struct ar_function *f = &e->p->functions[e->p->nodes[node].function];
    const char *file = ar_strtab_text(&e->p->strings, f->file);
    struct ar_place place = {.line = f->first_line};
    char line[16];

    if (!*file) {
        place = ar_place_of_call(e->p, node);
        file = ar_place_file(e->p, place);
    }
    if (!*file || !place.line)
        return;
    snprintf(line, sizeof line, ":%u", place.line);
    e->text.n = 0;
    put(&e->text, file);
    ar_bytes_put(&e->text, line, strlen(line) + 1);
    if (e->text.bad)
        e->made.bad = true;
    else
        ar_json_text(j, "source", (const char *)e->text.data);
}

static void make_call(struct encoder *e, uint32_t node)
{
    uint32_t function = e->p->nodes[node].function;
    struct ar_json j = {.out = &e->made, .is_flat = true};
    size_t begin = e->made.n;
    char room[AR_NAME_BYTES];

    ar_json_text(&j, "name", ar_plain_name(e->p, function, room));
    ar_json_text(&j, "cat", ar_step_category(e->p, function));
    ar_json_open(&j, "args", '{');
    put_source(e, &j, node);
    e->calls[node] = end_piece(e, begin);
}

/* ---- events ----------------------------------------------------------------------------------- */

static void begin_line(struct encoder *e)
{
    put(&e->sink->block, e->needs_comma ? ",\n" : "\n");
    e->needs_comma = true;
}

static void put_decimal(struct ar_bytes *out, uint64_t value, size_t n_least)
{
    char text[24];
    size_t at = sizeof text;

    do {
        text[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value || sizeof text - at < n_least);
    ar_bytes_put(out, text + at, sizeof text - at);
}

/* Up to the time: what follows needs a comma. */
static void put_event(struct encoder *e, const char *begin, const struct ar_step *step)
{
    struct ar_bytes *out = &e->sink->block;

    begin_line(e);
    put(out, begin);
    put_piece(e, &e->threads[step->thread]);
    put(out, ",\"ts\":");
    put_decimal(out, (uint64_t)step->ns / 1000, 1);
    put(out, ".");
    put_decimal(out, (uint64_t)step->ns % 1000, 3);
}

/* Each an event of its own, of the time of the call's end that it is bound to, and within the call. */
static void put_flows(struct encoder *e, const struct ar_step *step)
{
    struct ar_flow flow;

    ar_flows_seek(&e->flows, step);
    while (ar_flows_next(&e->flows, step, &flow)) {
        struct ar_json j = {.out = &e->sink->block, .is_flat = true, .needs_comma = true};

        put_event(e,
                  flow.is_first  ? "{\"ph\":\"s\","
                  : flow.is_last ? "{\"ph\":\"f\",\"bp\":\"e\","
                                 : "{\"ph\":\"t\",",
                  step);
        ar_json_text(&j, "name", flow.is_collective ? "collective" : "message");
        ar_json_text(&j, "cat", "mpi");
        ar_json_integer(&j, "id", flow.id);
        put(j.out, "}");
    }
}

static void put_begin(struct encoder *e, const struct ar_step *step)
{
    if (!e->calls[step->node].n)
        make_call(e, step->node);
    put_event(e, "{\"ph\":\"B\",", step);
    put(&e->sink->block, ",");
    put_piece(e, &e->calls[step->node]);
    if (step->is_implied)
        put(&e->sink->block, ends_with(e, &e->calls[step->node], '{') ? "" : ",");
    put(&e->sink->block, step->is_implied ? "\"entered earlier\": true}}" : "}}");
    if (e->flows.has_matches)
        put_flows(e, step);
}

static void put_message(const struct encoder *e, struct ar_json *j,
                        const struct ar_trace_message *m)
{
    ar_json_text(j, "kind", ar_step_message_name(m->kind));
    if (m->peer < AR_PEER_UNKNOWN)
        ar_json_integer(j, ar_step_peer_name(m), m->peer);
    if (m->comm && m->comm <= e->p->n_comms)
        ar_json_text(j, "communicator", ar_step_comm_name(e->p, m->comm));
    if (ar_step_is_collective(m))
        ar_json_integer(j, "number", m->sequence);
    else
        ar_json_signed(j, "tag", m->tag);
    if (m->bytes_out)
        ar_json_integer(j, "bytes out", m->bytes_out);
    if (m->bytes_in)
        ar_json_integer(j, "bytes in", m->bytes_in);
    if (m->request)
        ar_json_integer(j, "request", m->request);
}

static void put_messages(const struct encoder *e, struct ar_json *j, const struct ar_step *step)
{
    if (step->n_messages == 1) {
        put_message(e, j, &step->messages[0]);
        return;
    }
    ar_json_open(j, "messages", '[');
    for (size_t i = 0; i < step->n_messages; i++) {
        ar_json_open(j, NULL, '{');
        put_message(e, j, &step->messages[i]);
        ar_json_close(j, '}');
    }
    ar_json_close(j, ']');
}

static void put_end(struct encoder *e, const struct ar_step *step)
{
    struct ar_json j = {.out = &e->sink->block, .is_flat = true, .needs_comma = true};

    if (step->n_messages)
        put_flows(e, step);
    put_event(e, "{\"ph\":\"E\",", step);
    if (step->n_messages || step->is_implied) {
        ar_json_open(&j, "args", '{');
        if (step->n_messages)
            put_messages(e, &j, step);
        if (step->is_implied)
            ar_json_bool(&j, "left later", true);
        ar_json_close(&j, '}');
    }
    put(&e->sink->block, "}");
}

/* A text of the trace, as one that ends with 0. */
static void put_text_of(struct ar_json *j, const char *key, const char *text, size_t n)
{
    char *copy = strndup(text, n);

    if (copy)
        ar_json_text(j, key, copy);
    else
        j->out->bad = true;
    free(copy);
}

static void put_value(struct ar_json *j, const struct ar_trace_parameter *x)
{
    if (x->type == AR_TRACE_TEXT)
        put_text_of(j, "value", x->text, x->n_text);
    else if (x->type == AR_TRACE_SIGNED)
        ar_json_signed(j, "value", (int64_t)x->value);
    else
        ar_json_integer(j, "value", x->value);
}

/* Of a thread alone. */
static void put_instant(struct encoder *e, const struct ar_step *step)
{
    struct ar_json j = {.out = &e->sink->block, .is_flat = true, .needs_comma = true};

    put_event(e, "{\"ph\":\"i\",\"s\":\"t\",", step);
    if (step->kind == AR_STEP_PARAMETER)
        put_text_of(&j, "name", step->parameter.name, step->parameter.n_name);
    else
        ar_json_text(&j, "name",
                     step->kind == AR_STEP_FULL ? AR_STEP_FULL_NAME : AR_STEP_MESSAGE_NAME);
    ar_json_text(&j, "cat",
                 step->kind == AR_STEP_PARAMETER ? "parameter"
                 : step->kind == AR_STEP_FULL    ? "allranks"
                                                 : "message");
    if (step->kind != AR_STEP_FULL) {
        ar_json_open(&j, "args", '{');
        if (step->kind == AR_STEP_PARAMETER)
            put_value(&j, &step->parameter);
        else
            put_messages(e, &j, step);
        ar_json_close(&j, '}');
    }
    put(&e->sink->block, "}");
}

/* Viewers draw a line for each process and name; `id` makes it one for each thread. */
static void put_counter(struct encoder *e, const struct ar_step *step)
{
    struct ar_json j = {.out = &e->sink->block, .is_flat = true, .needs_comma = true};
    const struct ar_track_thread *thread = &e->tracks->threads[step->thread];

    put_event(e, "{\"ph\":\"C\",", step);
    put_text_of(&j, "name", step->parameter.name, step->parameter.n_name);
    ar_json_text(&j, "cat", "counter");
    ar_json_integer(&j, "id", thread->tid);
    ar_json_open(&j, "args", '{');
    ar_json_integer(&j, "value", step->parameter.value);
    ar_json_close(&j, '}');
    put(&e->sink->block, "}");
}

static void put_step(struct encoder *e, const struct ar_step *step)
{
    switch (step->kind) {
    case AR_STEP_BEGIN:
        put_begin(e, step);
        break;
    case AR_STEP_END:
    case AR_STEP_ON:
        put_end(e, step);
        break;
    case AR_STEP_OFF:
        put_event(e, "{\"ph\":\"B\",", step);
        put(&e->sink->block, ",\"name\": \"" AR_STEP_OFF_NAME "\",\"cat\": \"allranks\"}");
        break;
    case AR_STEP_COUNTER:
        put_counter(e, step);
        break;
    case AR_STEP_PARAMETER:
    case AR_STEP_FULL:
    case AR_STEP_MESSAGE:
        put_instant(e, step);
        break;
    }
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
        put_step(e, &step);
        if (e->made.bad)
            status = ar_fail(err, AR_NOMEM, "out of memory");
        else
            status = ar_sink_pass(e->sink, err);
        if (tell && steps.n_events % AR_EXPORT_TELL_EVERY == 0)
            tell(steps.n_events, e->traces->n_events);
    }
    return ar_steps_end(&steps, status, err);
}

/* ---- processes and threads -------------------------------------------------------------------- */

/* {"ph":"M","pid":1,"tid":1,"name": "process_name","args": {"name": …; open until its value is written. */
static struct ar_json begin_fact(struct encoder *e, const char *name, uint64_t pid, uint64_t tid)
{
    struct ar_json j = {.out = &e->sink->block, .is_flat = true};

    begin_line(e);
    ar_json_open(&j, NULL, '{');
    ar_json_text(&j, "ph", "M");
    ar_json_integer(&j, "pid", pid);
    ar_json_integer(&j, "tid", tid);
    ar_json_text(&j, "name", name);
    ar_json_open(&j, "args", '{');
    return j;
}

static void end_fact(struct ar_json *j)
{
    ar_json_close(j, '}');
    ar_json_close(j, '}');
}

static void put_process(struct encoder *e, size_t i)
{
    const struct ar_track_process *it = &e->tracks->processes[i];
    struct ar_json j = begin_fact(e, "process_name", it->pid, it->pid);

    ar_json_text(&j, "name", it->name);
    end_fact(&j);
    j = begin_fact(e, "process_sort_index", it->pid, it->pid);
    ar_json_integer(&j, "sort_index", i);
    end_fact(&j);
    if (!*it->host)
        return;
    j = begin_fact(e, "process_labels", it->pid, it->pid);
    ar_json_text(&j, "labels", it->host);
    end_fact(&j);
}

static void put_thread(struct encoder *e, size_t i)
{
    const struct ar_track_thread *it = &e->tracks->threads[i];
    uint32_t pid = e->tracks->processes[it->process].pid;
    struct ar_json j = begin_fact(e, "thread_name", pid, it->tid);

    ar_json_text(&j, "name", it->name);
    end_fact(&j);
    j = begin_fact(e, "thread_sort_index", pid, it->tid);
    ar_json_integer(&j, "sort_index", e->p->locations[e->traces->items[i].location].thread);
    end_fact(&j);
}

static void put_head(struct encoder *e)
{
    put(&e->sink->block, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    for (size_t i = 0; i < e->tracks->n_processes; i++)
        put_process(e, i);
    for (size_t i = 0; i < e->tracks->n_threads; i++)
        put_thread(e, i);
}

static void put_tail(struct encoder *e)
{
    struct ar_json j = {.out = &e->sink->block, .is_flat = true, .needs_comma = true};

    put(&e->sink->block, "\n]");
    ar_json_open(&j, "otherData", '{');
    ar_json_text(&j, "program", ar_profile_fact_text(e->p, "program"));
    ar_json_text(&j, "exporter", "allranks");
    ar_json_close(&j, '}');
    put(&e->sink->block, "}\n");
}

/* ---- the file --------------------------------------------------------------------------------- */

static enum ar_status encode(struct encoder *e, const struct ar_export_choice *which,
                             ar_export_tell_fn *tell, struct ar_error *err)
{
    enum ar_status status;

    e->threads = calloc(e->traces->n + 1, sizeof *e->threads);
    e->calls = calloc(e->p->n_nodes + 1, sizeof *e->calls);
    if (!e->threads || !e->calls)
        return ar_fail(err, AR_NOMEM, "out of memory");
    status = ar_flows_build(&e->flows, e->traces, which->from_ns, err);
    if (status < 0)
        return status;
    for (size_t i = 0; i < e->traces->n; i++)
        make_thread(e, i);
    put_head(e);
    status = put_steps(e, which, tell, err);
    put_tail(e);
    return status;
}

enum ar_status ar_chrome_encode(struct ar_profile *p, const struct ar_export_choice *which,
                                struct ar_sink *out, ar_export_tell_fn *tell, struct ar_error *err)
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
    ar_flows_free(&e.flows);
    free(e.threads);
    free(e.calls);
    ar_bytes_free(&e.made);
    ar_bytes_free(&e.text);
    ar_tracks_free(&tracks);
    ar_traces_close(&traces);
    return status;
}
