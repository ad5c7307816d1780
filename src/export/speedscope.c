// SPDX-License-Identifier: BSD-3-Clause
/*
 * Frames are functions, by number, and one more for time that was not recorded. Profiles are written one after the other, each while the
 * trace of its thread is read; what has to stand at its end (when it ends) may do so, since keys of JSON have no order.
 */
#include "export/speedscope.h"

#include "analysis/names.h"
#include "analysis/totals.h"
#include "export/json.h"
#include "export/trace_steps.h"
#include "export/trace_tracks.h"

#include <stdlib.h>
#include <string.h>

struct encoder {
    struct ar_profile *p;
    struct ar_sink *sink;
    const struct ar_export_choice *which;
    ar_export_tell_fn *tell;
    struct ar_traces traces; /* `n` is 0: there are none */
    struct ar_tracks tracks;
    bool *is_traced; /* by process */
    bool needs_comma;
    uint64_t n_events_before; /* of threads that were written */
};

static void put(struct ar_bytes *out, const char *text)
{
    ar_bytes_put(out, text, strlen(text));
}

static void put_decimal(struct ar_bytes *out, uint64_t value)
{
    char text[24];
    size_t at = sizeof text;

    do {
        text[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    ar_bytes_put(out, text + at, sizeof text - at);
}

/* ---- frames ----------------------------------------------------------------------------------- */

static uint32_t off_frame(const struct encoder *e)
{
    return (uint32_t)e->p->n_functions;
}

static void put_frame(struct encoder *e, uint32_t function)
{
    const struct ar_function *f = &e->p->functions[function];
    const char *file = ar_strtab_text(&e->p->strings, f->file);
    struct ar_json j = {.out = &e->sink->block, .is_flat = true};
    char room[AR_NAME_BYTES];

    put(j.out, function ? ",\n" : "\n");
    ar_json_open(&j, NULL, '{');
    ar_json_text(&j, "name", ar_plain_name(e->p, function, room));
    if (*file)
        ar_json_text(&j, "file", file);
    if (f->first_line)
        ar_json_integer(&j, "line", f->first_line);
    ar_json_close(&j, '}');
}

static enum ar_status put_frames(struct encoder *e, struct ar_error *err)
{
    enum ar_status status = AR_OK;

    put(&e->sink->block,
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"shared\":{"
        "\"frames\":[");
    for (uint32_t i = 0; i < e->p->n_functions && status == AR_OK; i++) {
        put_frame(e, i);
        status = ar_sink_pass(e->sink, err);
    }
    put(&e->sink->block, e->p->n_functions ? ",\n" : "\n");
    put(&e->sink->block, "{\"name\": \"[" AR_STEP_OFF_NAME "]\"}]},\n\"profiles\":[");
    return status;
}

/* ---- profiles --------------------------------------------------------------------------------- */

static void begin_profile(struct encoder *e, const char *type, const char *name)
{
    struct ar_json j = {.out = &e->sink->block, .is_flat = true};

    put(j.out, e->needs_comma ? ",\n" : "\n");
    e->needs_comma = true;
    ar_json_open(&j, NULL, '{');
    ar_json_text(&j, "type", type);
    ar_json_text(&j, "name", name);
    ar_json_text(&j, "unit", "nanoseconds");
}

static void end_profile(struct encoder *e, uint64_t start_ns, uint64_t end_ns)
{
    struct ar_json j = {.out = &e->sink->block, .is_flat = true, .needs_comma = true};

    ar_json_integer(&j, "startValue", start_ns);
    ar_json_integer(&j, "endValue", end_ns);
    ar_json_close(&j, '}');
}

/* ---- a trace ---------------------------------------------------------------------------------- */

static void put_event(struct encoder *e, char type, uint32_t frame, int64_t ns)
{
    struct ar_bytes *out = &e->sink->block;

    put(out, type == 'O' ? "{\"type\":\"O\",\"frame\":" : "{\"type\":\"C\",\"frame\":");
    put_decimal(out, frame);
    put(out, ",\"at\":");
    put_decimal(out, (uint64_t)ns);
    put(out, "}");
}

/* false: the format has no such thing. */
static bool put_step(struct encoder *e, const struct ar_step *step, bool is_first)
{
    bool is_call = step->kind == AR_STEP_BEGIN || step->kind == AR_STEP_END;
    bool opens = step->kind == AR_STEP_BEGIN || step->kind == AR_STEP_OFF;

    if (!is_call && step->kind != AR_STEP_OFF && step->kind != AR_STEP_ON)
        return false;
    put(&e->sink->block, is_first ? "\n" : ",\n");
    put_event(e, opens ? 'O' : 'C', is_call ? e->p->nodes[step->node].function : off_frame(e),
              step->ns);
    return true;
}

static enum ar_status put_steps(struct encoder *e, size_t thread, int64_t *last_ns,
                                struct ar_error *err)
{
    struct ar_steps steps;
    struct ar_step step;
    enum ar_status status =
        ar_steps_begin(&steps, &e->traces, thread, e->which->from_ns, ar_export_end(e->which));
    bool is_first = true;

    if (status < 0)
        ar_fail(err, status, "out of memory");
    while (status == AR_OK && ar_steps_next(&steps, &step)) {
        if (put_step(e, &step, is_first))
            is_first = false;
        *last_ns = step.ns;
        status = ar_sink_pass(e->sink, err);
        if (e->tell && steps.n_events % AR_EXPORT_TELL_EVERY == 0)
            e->tell(e->n_events_before + steps.n_events, e->traces.n_events);
    }
    e->n_events_before += steps.n_events;
    return ar_steps_end(&steps, status, err);
}

/* "rank 3", "rank 3, worker" */
static enum ar_status name_thread(struct encoder *e, size_t thread, struct ar_bytes *name)
{
    const struct ar_track_thread *it = &e->tracks.threads[thread];

    put(name, e->tracks.processes[it->process].name);
    if (e->p->locations[e->traces.items[thread].location].thread) {
        put(name, ", ");
        put(name, it->name);
    }
    ar_bytes_u8(name, '\0');
    return name->bad ? AR_NOMEM : AR_OK;
}

static enum ar_status put_thread(struct encoder *e, size_t thread, struct ar_error *err)
{
    int64_t last_ns = e->which->from_ns, end_ns = ar_export_end(e->which);
    struct ar_bytes name = {0};
    enum ar_status status = name_thread(e, thread, &name);

    if (status < 0) {
        ar_bytes_free(&name);
        return ar_fail(err, status, "out of memory");
    }
    begin_profile(e, "evented", (const char *)name.data);
    ar_bytes_free(&name);
    put(&e->sink->block, ",\"events\":[");
    status = put_steps(e, thread, &last_ns, err);
    put(&e->sink->block, "]");
    end_ns = end_ns < e->traces.end_ns ? end_ns : e->traces.end_ns;
    end_profile(e, (uint64_t)e->which->from_ns, (uint64_t)(last_ns > end_ns ? last_ns : end_ns));
    return status;
}

/* In the order of processes, then of threads. */
static enum ar_status put_traces(struct encoder *e, struct ar_error *err)
{
    enum ar_status status = AR_OK;

    for (size_t process = 0; process < e->tracks.n_processes; process++)
        for (size_t i = 0; i < e->tracks.n_threads && status == AR_OK; i++)
            if (e->tracks.threads[i].process == process)
                status = put_thread(e, i, err);
    return status;
}

/* ---- a call tree ------------------------------------------------------------------------------ */

/* What a rank did in a node itself. */
struct own {
    uint32_t node;
    uint64_t ns;
};

struct owns {
    size_t *first; /* by rank, where its begin, with one more */
    struct own *items;
    uint64_t *sums;  /* by rank, of the node at hand */
    uint32_t *ranks; /* that have one */
    size_t n_touched;
};

static void free_owns(struct owns *o)
{
    free(o->first);
    free(o->items);
    free(o->sums);
    free(o->ranks);
}

/* Of all ranks, in `sums`; a profile of caller pairs has the same time in its pairs once more. */
static void sum_node(const struct encoder *e, struct owns *o, struct ar_selves *selves,
                     uint32_t node)
{
    struct ar_row row = {0};

    if (!selves->t->of_pairs || !ar_node_is_pair(e->p, node))
        row = ar_selves_get(selves, node);
    for (size_t i = 0; i < row.n; i++) {
        uint32_t rank = ar_profile_root(e->p, row.values[i].location);

        if (!row.values[i].value || e->is_traced[rank])
            continue;
        if (!o->sums[rank])
            o->ranks[o->n_touched++] = rank;
        o->sums[rank] += row.values[i].value;
    }
}

/* First how many there are of each rank, in `first`; then they. */
static void take_node(struct owns *o, uint32_t node)
{
    for (size_t i = 0; i < o->n_touched; i++) {
        uint32_t rank = o->ranks[i];

        if (o->items)
            o->items[o->first[rank]++] = (struct own){node, o->sums[rank]};
        else
            o->first[rank]++;
        o->sums[rank] = 0;
    }
    o->n_touched = 0;
}

static enum ar_status take_all(const struct encoder *e, struct owns *o, const struct ar_totals *t)
{
    struct ar_selves selves;

    if (ar_selves_open(&selves, t, e->p) < 0)
        return AR_NOMEM;
    for (uint32_t node = 0; node < e->p->n_nodes; node++) {
        sum_node(e, o, &selves, node);
        take_node(o, node);
    }
    ar_selves_close(&selves);
    return AR_OK;
}

/* Of numbers of items where they begin; and after items were put there, which moves beginnings to ends, once more. */
static size_t begin_items(struct owns *o, size_t n_ranks)
{
    size_t n = 0;

    for (size_t i = 0; i <= n_ranks; i++) {
        size_t here = o->first[i];

        o->first[i] = n;
        n += here;
    }
    return n;
}

static void move_back(struct owns *o, size_t n_ranks)
{
    for (size_t i = n_ranks; i > 0; i--)
        o->first[i] = o->first[i - 1];
    o->first[0] = 0;
}

static enum ar_status find_owns(const struct encoder *e, struct owns *o)
{
    size_t n_ranks = e->p->n_processes, n;
    struct ar_totals totals;
    enum ar_status status = ar_totals_build(&totals, e->p);

    if (status < 0)
        return status;
    o->first = calloc(n_ranks + 1, sizeof *o->first);
    o->sums = calloc(n_ranks + 1, sizeof *o->sums);
    o->ranks = calloc(n_ranks + 1, sizeof *o->ranks);
    status = o->first && o->sums && o->ranks ? take_all(e, o, &totals) : AR_NOMEM;
    if (status == AR_OK) {
        n = begin_items(o, n_ranks);
        o->items = calloc(n + 1, sizeof *o->items);
        status = o->items ? take_all(e, o, &totals) : AR_NOMEM;
        move_back(o, n_ranks);
    }
    ar_totals_free(&totals);
    return status;
}

/* From the outermost call; the root is none. */
static void put_stack(struct encoder *e, uint32_t node, struct ar_bytes *path)
{
    uint32_t frame;

    path->n = 0;
    for (; node != AR_NO_ID; node = e->p->nodes[node].parent)
        if (e->p->nodes[node].parent != AR_NO_ID)
            ar_bytes_put(path, &e->p->nodes[node].function, sizeof frame);
    put(&e->sink->block, "[");
    for (size_t at = path->n; at >= sizeof frame; at -= sizeof frame) {
        memcpy(&frame, path->data + at - sizeof frame, sizeof frame);
        put_decimal(&e->sink->block, frame);
        put(&e->sink->block, at > sizeof frame ? "," : "");
    }
    put(&e->sink->block, "]");
    e->sink->block.bad = e->sink->block.bad || path->bad;
}

static enum ar_status put_samples(struct encoder *e, const struct own *owns, size_t n,
                                  struct ar_error *err)
{
    enum ar_status status = AR_OK;
    struct ar_bytes path = {0};

    put(&e->sink->block, ",\"samples\":[");
    for (size_t i = 0; i < n && status == AR_OK; i++) {
        put(&e->sink->block, i ? ",\n" : "\n");
        put_stack(e, owns[i].node, &path);
        status = ar_sink_pass(e->sink, err);
    }
    put(&e->sink->block, "],\n\"weights\":[");
    for (size_t i = 0; i < n && status == AR_OK; i++) {
        put(&e->sink->block, i ? "," : "");
        put_decimal(&e->sink->block, owns[i].ns);
        status = ar_sink_pass(e->sink, err);
    }
    put(&e->sink->block, "]");
    ar_bytes_free(&path);
    return status;
}

static enum ar_status put_rank(struct encoder *e, const struct owns *o, uint32_t rank,
                               struct ar_error *err)
{
    const struct own *owns = o->items + o->first[rank];
    size_t n = o->first[rank + 1] - o->first[rank];
    struct ar_bytes name = {0};
    uint64_t sum_ns = 0;
    enum ar_status status;

    for (size_t i = 0; i < n; i++)
        sum_ns += owns[i].ns;
    ar_track_name(e->p, rank, &name);
    ar_bytes_u8(&name, '\0');
    if (name.bad)
        return ar_fail(err, AR_NOMEM, "out of memory");
    begin_profile(e, "sampled", (const char *)name.data);
    ar_bytes_free(&name);
    status = put_samples(e, owns, n, err);
    end_profile(e, 0, sum_ns);
    return status;
}

/* Of each rank without a trace. */
static enum ar_status put_trees(struct encoder *e, struct ar_error *err)
{
    struct owns owns = {0};
    enum ar_status status = find_owns(e, &owns);

    if (status < 0)
        ar_fail(err, status, "out of memory");
    for (uint32_t rank = 0; rank < e->p->n_roots && status == AR_OK; rank++)
        if (!e->is_traced[rank])
            status = put_rank(e, &owns, rank, err);
    free_owns(&owns);
    return status;
}

/* ---- the file --------------------------------------------------------------------------------- */

static bool has_traces(const struct ar_profile *p)
{
    for (size_t i = 0; i < p->other_streams.n; i++)
        if (ar_is_trace(&p->other_streams.items[i]))
            return true;
    return false;
}

static enum ar_status find_traces(struct encoder *e, struct ar_error *err)
{
    enum ar_status status = AR_OK;

    e->is_traced = calloc(e->p->n_processes + 1, sizeof *e->is_traced);
    if (!e->is_traced)
        return ar_fail(err, AR_NOMEM, "out of memory");
    if (has_traces(e->p))
        status = ar_traces_open(&e->traces, e->p, err);
    if (status < 0 || !e->traces.n)
        return status;
    if (ar_tracks_build(&e->tracks, &e->traces) < 0)
        return ar_fail(err, AR_NOMEM, "out of memory");
    for (size_t i = 0; i < e->traces.n; i++)
        e->is_traced[ar_profile_root(e->p, e->traces.items[i].location)] = true;
    return AR_OK;
}

static bool are_all_traced(const struct encoder *e)
{
    for (size_t i = 0; i < e->p->n_roots; i++)
        if (!e->is_traced[i])
            return false;
    return true;
}

static void put_tail(struct encoder *e)
{
    struct ar_json j = {.out = &e->sink->block, .is_flat = true, .needs_comma = true};

    put(j.out, "]");
    ar_json_text(&j, "name", ar_profile_fact_text(e->p, "program"));
    ar_json_integer(&j, "activeProfileIndex", 0);
    ar_json_text(&j, "exporter", "allranks");
    put(j.out, "}\n");
}

enum ar_status ar_speedscope_encode(struct ar_profile *p, const struct ar_export_choice *which,
                                    struct ar_sink *out, ar_export_tell_fn *tell,
                                    struct ar_error *err)
{
    struct encoder e = {.p = p, .sink = out, .which = which, .tell = tell};
    enum ar_status status =
        ar_profile_sort(p) < 0 ? ar_fail(err, AR_NOMEM, "out of memory") : find_traces(&e, err);

    if (status == AR_OK)
        status = put_frames(&e, err);
    if (status == AR_OK)
        status = put_traces(&e, err);
    if (status == AR_OK && e.is_traced && !are_all_traced(&e))
        status = put_trees(&e, err);
    put_tail(&e);
    free(e.is_traced);
    ar_tracks_free(&e.tracks);
    ar_traces_close(&e.traces);
    return status;
}
