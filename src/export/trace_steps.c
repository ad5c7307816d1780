// SPDX-License-Identifier: BSD-3-Clause
#include "export/trace_steps.h"

#include "base/arena.h"

#include <stdlib.h>

/* ---- words ------------------------------------------------------------------------------------ */

const char *ar_step_category(const struct ar_profile *p, uint32_t function)
{
    uint32_t kind = p->functions[function].kind;

    return kind == AR_FUNCTION_BUILTIN ? "c" : ar_function_kind_name(kind);
}

const char *ar_step_message_name(unsigned kind)
{
    static const char *const names[AR_N_TRACE_MESSAGE_KINDS] = {
        [AR_TRACE_SEND] = "send",
        [AR_TRACE_RECEIVE] = "receive",
        [AR_TRACE_SEND_POSTED] = "send-posted",
        [AR_TRACE_SEND_DONE] = "send-done",
        [AR_TRACE_RECEIVE_POSTED] = "receive-posted",
        [AR_TRACE_RECEIVE_DONE] = "receive-done",
        [AR_TRACE_COLLECTIVE] = "collective",
        [AR_TRACE_COLLECTIVE_POSTED] = "collective-posted",
        [AR_TRACE_COLLECTIVE_DONE] = "collective-done",
        [AR_TRACE_CANCELLED] = "cancelled",
        [AR_TRACE_PROBED] = "probed",
    };

    return kind < AR_N_TRACE_MESSAGE_KINDS && names[kind] ? names[kind] : "";
}

const char *ar_step_peer_name(const struct ar_trace_message *m)
{
    if (ar_step_is_collective(m))
        return "root";
    return m->kind == AR_TRACE_SEND || m->kind == AR_TRACE_SEND_POSTED ||
                   m->kind == AR_TRACE_SEND_DONE
               ? "to"
               : "from";
}

const char *ar_step_comm_name(const struct ar_profile *p, uint32_t comm)
{
    return comm && comm <= p->n_comms ? ar_strtab_text(&p->strings, p->comms[comm - 1].name) : "";
}

/* ---- events ----------------------------------------------------------------------------------- */

enum ar_status ar_steps_begin(struct ar_steps *s, const struct ar_traces *traces, size_t thread,
                              int64_t from_ns, int64_t to_ns)
{
    *s = (struct ar_steps){.traces = traces,
                           .thread = thread,
                           .from_ns = from_ns > 0 ? from_ns : 0,
                           .to_ns = to_ns,
                           .threads = calloc(traces->n + 1, sizeof *s->threads)};
    if (thread == AR_STEPS_OF_ALL) {
        if (ar_traces_begin(&s->all, traces, from_ns, to_ns) < 0)
            return AR_NOMEM;
    } else {
        ar_trace_seek(&s->one, &traces->items[thread], ar_traces_at(traces, thread, from_ns),
                      ar_traces_at(traces, thread, to_ns));
    }
    return s->threads ? AR_OK : AR_NOMEM;
}

enum ar_status ar_steps_end(struct ar_steps *s, enum ar_status status, struct ar_error *err)
{
    enum ar_status read = s->thread == AR_STEPS_OF_ALL ? AR_OK : s->one.status;
    struct ar_error reading = s->one.err;

    if (s->thread == AR_STEPS_OF_ALL)
        read = ar_traces_end(&s->all, &reading);
    else
        ar_trace_end(&s->one);
    for (size_t i = 0; s->threads && i < s->traces->n; i++)
        free(s->threads[i].messages);
    free(s->threads);
    free(s->told);
    if (status == AR_OK && s->is_out_of_memory)
        status = ar_fail(err, AR_NOMEM, "out of memory");
    if (status == AR_OK && read < 0)
        status = ar_fail(err, read, "%s", reading.text);
    *s = (struct ar_steps){0};
    return status;
}

static bool read_event(struct ar_steps *s, struct ar_traces_event *out)
{
    if (s->has_held) {
        s->has_held = false;
        *out = s->held;
        return true;
    }
    if (s->is_out_of_memory)
        return false;
    s->n_events++;
    if (s->thread == AR_STEPS_OF_ALL)
        return ar_traces_next(&s->all, out);
    out->thread = s->thread;
    if (!ar_trace_next(&s->one, &out->event))
        return false;
    out->ns = ar_traces_ns(s->traces, s->thread, out->event.at_ns);
    return true;
}

/* ---- steps ------------------------------------------------------------------------------------ */

static void hold(struct ar_steps *s, const struct ar_traces_event *e)
{
    s->held = *e;
    s->has_held = true;
}

static void keep_message(struct ar_steps *s, const struct ar_traces_event *e)
{
    struct ar_steps_thread *t = &s->threads[e->thread];

    if (ar_grow((void **)&t->messages, &t->cap_messages, t->n_messages + 1, sizeof *t->messages) <
        0)
        s->is_out_of_memory = true;
    else
        t->messages[t->n_messages++] = e->event.message;
}

/* They are the step's until the next one; the thread collects others meanwhile. */
static void give_messages(struct ar_steps *s, struct ar_steps_thread *t, struct ar_step *out)
{
    struct ar_trace_message *emptied = s->told;
    size_t cap = s->cap_told;

    if (!t->n_messages)
        return;
    out->messages = t->messages;
    out->n_messages = t->n_messages;
    t->n_told += t->n_messages;
    s->told = t->messages;
    s->cap_told = t->cap_messages;
    t->messages = emptied;
    t->cap_messages = cap;
    t->n_messages = 0;
}

static bool is_root(const struct ar_steps *s, uint32_t node)
{
    return node == AR_NO_ID || s->traces->profile->nodes[node].parent == AR_NO_ID;
}

/* Clocks of processes are compared to within some ns: an event at the edge of the window may seem to lie beyond it. */
static int64_t within(const struct ar_steps *s, int64_t ns)
{
    return ns < s->from_ns ? s->from_ns : ns > s->to_ns ? s->to_ns : ns;
}

static void fill(const struct ar_steps *s, struct ar_step *out, const struct ar_traces_event *e,
                 enum ar_step_kind kind)
{
    *out = (struct ar_step){.kind = kind,
                            .is_implied = e->event.is_implied,
                            .thread = e->thread,
                            .ns = within(s, e->ns),
                            .at_ns = e->event.at_ns,
                            .node = e->event.node,
                            .n_before = s->threads[e->thread].n_told};
}

/* What is open comes before the event: a gap ends with it, and messages have waited for the end of their call in vain. */
static bool step_before(struct ar_steps *s, const struct ar_traces_event *e, struct ar_step *out)
{
    struct ar_steps_thread *t = &s->threads[e->thread];

    if (t->n_messages && e->event.kind != AR_EVENT_MESSAGE && e->event.kind != AR_EVENT_LEAVE) {
        fill(s, out, e, AR_STEP_MESSAGE);
        give_messages(s, t, out);
        return true;
    }
    if (t->is_off && e->event.kind != AR_EVENT_OFF) {
        fill(s, out, e, AR_STEP_ON);
        t->is_off = false;
        return true;
    }
    return false;
}

/* false: the event is none. */
static bool step_of(struct ar_steps *s, const struct ar_traces_event *e, struct ar_step *out)
{
    struct ar_steps_thread *t = &s->threads[e->thread];

    switch (e->event.kind) {
    case AR_EVENT_ENTER:
        fill(s, out, e, AR_STEP_BEGIN);
        return !is_root(s, e->event.node);
    case AR_EVENT_LEAVE:
        fill(s, out, e, AR_STEP_END);
        give_messages(s, t, out);
        return !is_root(s, e->event.node);
    case AR_EVENT_MESSAGE:
        keep_message(s, e);
        return false;
    case AR_EVENT_PARAMETER:
    case AR_EVENT_COUNTER:
        fill(s, out, e, e->event.kind == AR_EVENT_COUNTER ? AR_STEP_COUNTER : AR_STEP_PARAMETER);
        out->parameter = e->event.parameter;
        return true;
    case AR_EVENT_OFF:
        fill(s, out, e, AR_STEP_OFF);
        if (t->is_off)
            return false;
        t->is_off = true;
        return true;
    case AR_EVENT_FULL:
        fill(s, out, e, AR_STEP_FULL);
        return true;
    default: /* the end of a gap was told before it */
        return false;
    }
}

bool ar_steps_next(struct ar_steps *s, struct ar_step *out)
{
    struct ar_traces_event e;

    while (read_event(s, &e)) {
        if (step_before(s, &e, out)) {
            hold(s, &e);
            return true;
        }
        if (step_of(s, &e, out))
            return true;
    }
    return false;
}
