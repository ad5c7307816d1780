// SPDX-License-Identifier: BSD-3-Clause
/*
 * From a live file to a profile: ticks become nanoseconds, instruction offsets become lines, open
 * calls are closed.
 *
 * The copy that ar_live_open made is sound in its extents; what nodes and records say is checked
 * here. A node whose parent or function cannot be found is left out with all below it, and counted
 * as lost: in a running process that is the node being made at this instant, in a damaged file it
 * is the damage.
 */
#include "format/live_profile.h"
#include "format/linetable.h"
#include "format/live_estimates.h"
#include "format/live_known.h"
#include "format/live_values.h"

#include <stdlib.h>
#include <string.h>

struct source_function {
    const struct ar_record *record;
    struct ar_known_function *known; /* what is known of it; NULL: no node has it yet */
    uint32_t region;                 /* number of the one that the program made of it; 0: none */
    bool is_partial;                 /* not all of its calls were recorded */
};

/* Nodes that are about ourselves. */
#define OURS (AR_NO_ID - 1)

/* What a node of the live file became. */
struct mapped {
    /* Its id in the profile and 1. 0 is so AR_NO_ID, left out: memory for the holes of a file is never written. */
    uint32_t node_plus_1;
    uint32_t python; /* index of the nearest Python function at or above; 0: none */
};

/* AR_NO_ID: left out, OURS: on purpose */
static uint32_t id_of(const struct mapped *mapped)
{
    return mapped->node_plus_1 - 1;
}

/* A communicator of the process; with the name that it was given last. */
struct source_comm {
    struct ar_live_comm facts;
    struct ar_str name;
    uint32_t id;      /* in the profile */
    uint32_t n_calls; /* collective calls on it that were recorded */
};

struct reading {
    struct ar_profile *p;
    struct ar_known *known; /* of files before; NULL: there was none */
    const struct ar_live *live;
    struct source_function *functions; /* from 1 */
    size_t n_functions, cap_functions;
    struct ar_known_function *own; /* of the functions, where nothing is kept for later files */
    struct mapped *nodes;          /* by ref */
    uint32_t *locations;           /* by thread number */
    size_t n_threads;
    double ns_per_tick;
    uint64_t now_ticks;
    uint64_t n_lost[AR_N_LOSSES]; /* besides what the file says */
    struct ar_estimates estimates;
    double overheads_ns[AR_N_OVERHEADS];
    bool is_child;                  /* what it says about the run has been said */
    struct ar_str program, command; /* what it was started as, in short and in full */
    struct source_comm *comms;      /* from 1 */
    size_t n_comms, cap_comms;
};

static const char *record_text(const struct ar_record *record)
{
    return (const char *)(record + 1);
}

static struct ar_str name_of(const struct ar_record *record)
{
    return (struct ar_str){record_text(record), record->n_name};
}

static struct ar_str file_of(const struct ar_record *record)
{
    return (struct ar_str){record_text(record) + record->n_name, record->n_file};
}

static bool is_text(struct ar_str s, const char *text)
{
    return s.n_bytes == strlen(text) && memcmp(s.text, text, s.n_bytes) == 0;
}

static enum ar_status add_fact(struct reading *r, struct ar_str key, struct ar_str value)
{
    if (is_text(key, "program"))
        r->program = value;
    if (is_text(key, "command"))
        r->command = value;
    return r->is_child ? AR_OK : ar_profile_fact(r->p, key, value);
}

/* One that says nothing sensible keeps its number: those after it are known by theirs. */
static enum ar_status note_comm(struct reading *r, const struct ar_record *record)
{
    struct source_comm comm = {.name = name_of(record), .id = AR_NO_ID};

    if (ar_grow((void **)&r->comms, &r->cap_comms, r->n_comms + 2, sizeof *r->comms) < 0)
        return AR_NOMEM;
    if ((uint64_t)record->n_file + record->n_linetable == sizeof comm.facts)
        memcpy(&comm.facts, record_text(record) + record->n_name, sizeof comm.facts);
    if (comm.facts.parent > r->n_comms)
        comm.facts.parent = 0;
    if (comm.facts.origin >= AR_N_COMM_ORIGINS)
        comm.facts.origin = AR_COMM_UNKNOWN;
    r->comms[++r->n_comms] = comm;
    return AR_OK;
}

/* To what other files had, in one step. */
static enum ar_status grow_functions(struct reading *r)
{
    size_t n_known = r->known ? r->known->n : 0;
    size_t n_wanted = r->n_functions > n_known ? r->n_functions : n_known;

    return ar_grow((void **)&r->functions, &r->cap_functions, n_wanted + 2, sizeof *r->functions);
}

static enum ar_status add_record(struct reading *r, const struct ar_record *record)
{
    struct ar_str name = name_of(record), file = file_of(record);
    struct source_function source = {.record = record, .region = record->other};

    if (record->kind == AR_RECORD_FACT)
        return add_fact(r, name, file);
    if (record->kind == AR_RECORD_COMM)
        return note_comm(r, record);
    if (record->kind == AR_RECORD_COMM_NAME && record->other > 0 && record->other <= r->n_comms)
        r->comms[record->other].name = name;
    if (record->kind == AR_RECORD_PARTIAL && record->other > 0 && record->other <= r->n_functions)
        r->functions[record->other].is_partial = true;
    if (record->kind != AR_RECORD_FUNCTION)
        return AR_OK;
    if (r->n_functions + 2 > r->cap_functions && grow_functions(r) < 0)
        return AR_NOMEM;
    r->functions[++r->n_functions] = source;
    return AR_OK;
}

static enum ar_status read_records(struct reading *r)
{
    for (const struct ar_extent *e = NULL; (e = ar_live_next(r->live, e, AR_EXTENT_RECORDS));) {
        size_t n_left = e->n_bytes_used - sizeof *e;
        const unsigned char *at = (const unsigned char *)(e + 1);

        while (n_left) {
            const struct ar_record *record = (const struct ar_record *)at;

            if (!ar_record_is_sound(record, n_left))
                return AR_BAD;
            if (add_record(r, record) < 0)
                return AR_NOMEM;
            at += record->n_bytes;
            n_left -= record->n_bytes;
        }
    }
    return AR_OK;
}

/* Of a file that is the first, or the only one, nothing is kept. */
static struct ar_known_function *know(struct reading *r, struct source_function *source)
{
    if (r->known)
        return ar_known_find(r->known, source->record);
    if (!r->own)
        r->own = calloc(r->n_functions + 1, sizeof *r->own);
    if (!r->own)
        return NULL;

    struct ar_known_function *own = &r->own[source - r->functions];

    *own = (struct ar_known_function){.record = source->record, .id = AR_NO_ID};
    return own;
}

static enum ar_status add_function(struct reading *r, struct ar_known_function *known)
{
    const struct ar_record *record = known->record;
    struct ar_function function = {.kind = record->function_kind, .first_line = record->first_line};

    if (ar_profile_string(r->p, name_of(record), &function.name) < 0 ||
        ar_profile_string(r->p, file_of(record), &function.file) < 0)
        return AR_NOMEM;
    return ar_profile_function(r->p, function, &known->id);
}

/* Its number in the profile, given when a node has it: a forked child knows all that its parent did. */
static enum ar_status function_id(struct reading *r, uint32_t number, uint32_t *id)
{
    struct source_function *source = &r->functions[number];

    if (!source->known)
        source->known = know(r, source);
    if (!source->known || (source->known->id == AR_NO_ID && add_function(r, source->known) < 0))
        return AR_NOMEM;
    *id = source->known->id;
    return AR_OK;
}

/* Calls the visitor for each slot that a thread has taken. */
static enum ar_status each_thread(struct reading *r,
                                  enum ar_status (*visit)(struct reading *,
                                                          const struct ar_live_thread *))
{
    for (const struct ar_extent *e = NULL; (e = ar_live_next(r->live, e, AR_EXTENT_THREADS));)
        for (size_t i = 0; i < ar_extent_count(e, sizeof(struct ar_live_thread)); i++) {
            const struct ar_live_thread *thread =
                ar_extent_item(e, i, sizeof(struct ar_live_thread));

            if (thread->root_ref) {
                enum ar_status status = visit(r, thread);

                if (status < 0)
                    return status;
            }
        }
    return AR_OK;
}

static enum ar_status note_thread(struct reading *r, const struct ar_live_thread *thread)
{
    if (thread->latest_ticks > r->now_ticks)
        r->now_ticks = thread->latest_ticks;
    if (thread->number >= r->n_threads)
        r->n_threads = (size_t)thread->number + 1;
    return AR_OK;
}

/* A damaged file may hold any number of ticks: what no clock can have counted is cut off. */
static uint64_t whole(double value)
{
    return value < 0x1p62 ? (uint64_t)value : (uint64_t)1 << 62;
}

static uint64_t nanoseconds(const struct reading *r, uint64_t ticks)
{
    return whole((double)ticks * r->ns_per_tick + 0.5);
}

static enum ar_process_state state_of(const struct ar_live_header *h)
{
    if (h->state == AR_LIVE_FINISHED)
        return AR_PROCESS_FINISHED;
    if (h->state == AR_LIVE_REPLACED)
        return AR_PROCESS_REPLACED;
    return ar_live_is_running(h) ? AR_PROCESS_RUNNING : AR_PROCESS_SILENT;
}

/* AR_NO_ID: the profile has it already. */
static enum ar_status add_process(struct reading *r, uint32_t *id)
{
    const struct ar_live_header *h = r->live->header;
    struct ar_process process = {
        .pid = h->pid,
        .world_rank = h->world_rank,
        .world_size = h->world_size,
        .state = state_of(h),
        .pid_start = h->pid_start,
        .parent_pid = r->is_child ? h->parent_pid : 0,
        .root_pid = r->is_child ? h->root_pid : 0,
        .root_start = r->is_child ? h->root_start : 0,
        .start_real_ns = h->start.real_ns,
        .start_mono_ns = h->start.mono_ns,
        .wall_ns =
            r->now_ticks > h->start.ticks ? nanoseconds(r, r->now_ticks - h->start.ticks) : 0,
    };

    memcpy(process.clock_links, h->clock_links, sizeof process.clock_links);
    if (ar_profile_string(r->p, (struct ar_str){h->host, strlen(h->host)}, &process.host) < 0 ||
        ar_profile_string(r->p, r->command, &process.command) < 0)
        return AR_NOMEM;
    *id = AR_NO_ID;
    if (!ar_profile_admit(r->p, &process))
        return AR_OK;
    return ar_profile_process(r->p, &process, id);
}

static uint64_t newest_ticks(const struct ar_live_thread *thread)
{
    return thread->end_ticks > thread->latest_ticks ? thread->end_ticks : thread->latest_ticks;
}

static uint64_t real_ns(const struct reading *r, uint64_t ticks)
{
    const struct ar_stamp *start = &r->live->header->start;

    return start->real_ns + (ticks > start->ticks ? nanoseconds(r, ticks - start->ticks) : 0);
}

static enum ar_status node_below(struct reading *r, enum ar_function_kind kind, uint32_t name,
                                 uint32_t *node)
{
    struct ar_profile_node made = {.parent = *node};

    if (ar_profile_function(r->p, (struct ar_function){.kind = kind, .name = name},
                            &made.function) < 0)
        return AR_NOMEM;
    return ar_profile_node(r->p, made, node);
}

/*
 * The main thread's tree is the run's tree; every other thread hangs below the root under its name,
 * and so does a child process, under what it was started as.
 */
static enum ar_status add_thread(struct reading *r, const struct ar_live_thread *thread)
{
    uint32_t program, node = 0;
    struct ar_location location = {.process = (uint32_t)r->p->n_processes - 1,
                                   .thread = thread->number};
    const void *root = ar_live_at(r->live, thread->root_ref);

    if (!root || thread->number >= r->n_threads) /* it started while we read */
        return AR_OK;
    if (ar_profile_string(r->p,
                          (struct ar_str){thread->name, strnlen(thread->name, sizeof thread->name)},
                          &location.name) < 0 ||
        ar_profile_string(r->p, r->program, &program) < 0)
        return AR_NOMEM;
    location.latest_real_ns = real_ns(r, newest_ticks(thread));
    if (r->is_child && node_below(r, AR_FUNCTION_PROCESS, program, &node) < 0)
        return AR_NOMEM;
    if (thread->number > 0 && node_below(r, AR_FUNCTION_THREAD, location.name, &node) < 0)
        return AR_NOMEM;
    r->nodes[thread->root_ref].node_plus_1 = node + 1;
    return ar_profile_location(r->p, &location, &r->locations[thread->number]);
}

/* Once, when first asked for: scripts are long. */
static enum ar_status decode_lines(struct ar_known_function *f)
{
    const struct ar_record *record = f->record;
    struct ar_linetable table = ar_linetable_over(
        record->linetable_kind, record_text(record) + record->n_name + record->n_file,
        record->n_linetable, record->first_line);
    struct ar_line_range range;

    while (ar_linetable_next(&table, &range)) {
        if (ar_grow((void **)&f->ranges, &f->cap_ranges, f->n_ranges + 1, sizeof *f->ranges) < 0)
            return AR_NOMEM;
        f->ranges[f->n_ranges++] = range;
    }
    return AR_OK;
}

/* In the nearest Python function, number `python`. */
static struct ar_known_call call_of(const struct reading *r, const struct ar_node *node,
                                    uint32_t python)
{
    return (struct ar_known_call){.caller = python ? r->functions[python].known : NULL,
                                  .site = (uint32_t)(node->key >> 32)};
}

static enum ar_status call_line(struct ar_known_call call, uint32_t *line)
{
    struct ar_known_function *f = call.caller;
    size_t low = 0;

    *line = 0;
    if (!call.site || !f)
        return AR_OK;
    if (f->n_ranges == 0 && decode_lines(f) < 0)
        return AR_NOMEM;
    for (size_t high = f->n_ranges; low < high;) {
        size_t middle = low + (high - low) / 2;

        if (f->ranges[middle].end_offset > call.site - 1)
            high = middle;
        else
            low = middle + 1;
    }
    if (low < f->n_ranges)
        *line = f->ranges[low].line;
    return AR_OK;
}

static enum ar_status add_value(struct reading *r, enum ar_metric_id metric, uint32_t node,
                                uint32_t location, uint64_t value)
{
    if (!value)
        return AR_OK;
    return ar_profile_value(r->p, metric,
                            (struct ar_value){.node = node, .location = location, .value = value});
}

static enum ar_status add_mpi_values(struct reading *r, const uint64_t *words, uint32_t node,
                                     uint32_t location)
{
    const struct {
        enum ar_metric_id metric;
        uint64_t value;
    } items[] = {
        {AR_METRIC_BYTES_OUT, words[AR_MPI_BYTES_OUT]},
        {AR_METRIC_BYTES_IN, words[AR_MPI_BYTES_IN]},
        {AR_METRIC_MIN_TIME, nanoseconds(r, words[AR_MPI_MIN_TICKS])},
        {AR_METRIC_MAX_TIME, nanoseconds(r, words[AR_MPI_MAX_TICKS])},
    };

    for (size_t i = 0; i < sizeof items / sizeof *items; i++)
        if (add_value(r, items[i].metric, node, location, items[i].value) < 0)
            return AR_NOMEM;
    return AR_OK;
}

static enum ar_status add_mpi(struct reading *r, const struct ar_node *node, uint32_t id,
                              uint32_t location)
{
    const struct ar_values *values = ar_live_values(r->live, node, AR_VALUES_MPI);

    return values ? add_mpi_values(r, values->words, id, location) : AR_OK;
}

static enum ar_status add_awaited(struct reading *r, const struct ar_node *node, uint32_t id,
                                  uint32_t location)
{
    const struct ar_values *values = ar_live_values(r->live, node, AR_VALUES_TASK);

    return values ? add_value(r, AR_METRIC_AWAITED, id, location,
                              nanoseconds(r, values->words[AR_TASK_AWAITED_TICKS]))
                  : AR_OK;
}

static enum ar_function_kind kind_of(const struct reading *r, const struct ar_node *node)
{
    return r->functions[(uint32_t)node->key].record->function_kind;
}

/* The time of a node, and how far it is to be believed. */
static enum ar_status add_time(struct reading *r, const struct ar_node *node, uint32_t ref,
                               uint32_t id, uint32_t location)
{
    struct ar_live_time time = ar_estimates_time(&r->estimates, node, ref);
    bool is_partial = r->functions[(uint32_t)node->key].is_partial;
    uint64_t marks =
        (time.is_estimated ? AR_MARK_ESTIMATED : 0) | (is_partial ? AR_MARK_PARTIAL : 0);
    double us_per_tick = r->ns_per_tick / 1000;

    if (add_value(r, AR_METRIC_TIME, id, location, nanoseconds(r, time.ticks)) < 0 ||
        add_value(r, AR_METRIC_MARKS, id, location, marks) < 0)
        return AR_NOMEM;
    if (!time.is_estimated)
        return AR_OK;
    return add_value(r, AR_METRIC_VARIANCE, id, location,
                     1 + whole(time.variance * us_per_tick * us_per_tick));
}

static uint64_t n_timed_calls(const struct reading *r, const struct ar_node *node)
{
    const struct ar_values *values =
        node->values_ref ? ar_live_values(r->live, node, AR_VALUES_ESTIMATE) : NULL;
    uint64_t n_timed = values ? values->words[AR_ESTIMATE_TIMED] : node->n_calls;

    return n_timed < node->n_calls ? n_timed : node->n_calls;
}

/* Time that could not be assigned was not spent in a call that we have seen. */
static void add_overhead(struct reading *r, const struct ar_node *node)
{
    const struct ar_live_header *h = r->live->header;
    enum ar_function_kind kind = kind_of(r, node);

    if (kind == AR_FUNCTION_BUILTIN) {
        uint64_t n_timed = n_timed_calls(r, node);

        r->overheads_ns[AR_OVERHEAD_C] += (double)n_timed * h->c_call_cost_ns +
                                          (double)(node->n_calls - n_timed) * h->c_count_cost_ns;
    } else if (kind != AR_FUNCTION_UNASSIGNED) {
        r->overheads_ns[kind == AR_FUNCTION_MPI ? AR_OVERHEAD_MPI : AR_OVERHEAD_PYTHON] +=
            (double)node->n_calls * h->call_cost_ns;
    }
}

/* All values of a node. */
static enum ar_status add_values(struct reading *r, const struct ar_node *node, uint32_t ref,
                                 uint32_t id, uint32_t location)
{
    if (add_time(r, node, ref, id, location) < 0 ||
        add_value(r, AR_METRIC_CALLS, id, location, node->n_calls) < 0)
        return AR_NOMEM;
    if (!node->values_ref) /* as most have none */
        return AR_OK;
    return add_mpi(r, node, id, location) < 0 ? AR_NOMEM : add_awaited(r, node, id, location);
}

/*
 * Ranks call the same functions in the same order, but for some: then the node is one of the next, and
 * which line its call is on need not be looked up.
 */
static bool guess_node(struct reading *r, const struct ar_profile_node *made,
                       struct ar_known_call call, uint32_t *id)
{
    struct ar_profile *p = r->p;

    for (uint32_t i = p->next_node; i < p->n_nodes && i < p->next_node + AR_KNOWN_GUESSES; i++)
        if (p->nodes[i].parent == made->parent && p->nodes[i].function == made->function &&
            ar_known_made_by(r->known, i, call)) {
            *id = i;
            p->next_node = i + 1;
            return true;
        }
    return false;
}

static enum ar_status find_node(struct reading *r, struct ar_profile_node *made,
                                struct ar_known_call call, uint32_t *id)
{
    if (r->known && guess_node(r, made, call, id))
        return AR_OK;
    if (call_line(call, &made->line) < 0 || ar_profile_node(r->p, *made, id) < 0)
        return AR_NOMEM;
    if (!r->known)
        return AR_OK;
    return ar_known_note_call(r->known, *id, call);
}

/* A function that the program made a region has a node of that region around it. */
static enum ar_status enter_region(struct reading *r, const struct source_function *source,
                                   struct ar_profile_node *made, struct ar_known_call call,
                                   const struct ar_node *node, uint32_t ref, uint32_t location)
{
    struct ar_profile_node region = *made;

    if (!source->region || source->region > r->n_functions)
        return AR_OK;
    if (function_id(r, source->region, &region.function) < 0 ||
        find_node(r, &region, call, &made->parent) < 0)
        return AR_NOMEM;
    return add_values(r, node, ref, made->parent, location);
}

static enum ar_status add_inner_node(struct reading *r, const struct ar_node *node, uint32_t ref,
                                     uint32_t location)
{
    struct mapped *self = &r->nodes[ref];
    uint32_t function = (uint32_t)node->key;
    const struct mapped *parent = node->parent_ref < ref ? &r->nodes[node->parent_ref] : self;

    if (!node->key && r->is_child) /* a node of its parent's */
        return AR_OK;
    if (id_of(parent) == AR_NO_ID || function == 0 || function > r->n_functions) {
        r->n_lost[AR_LOST_NODES]++;
        return AR_OK;
    }
    if (id_of(parent) == OURS || kind_of(r, node) == AR_FUNCTION_OURS) {
        self->node_plus_1 = OURS + 1;
        return AR_OK;
    }
    add_overhead(r, node);

    const struct source_function *source = &r->functions[function];
    struct ar_known_call call = call_of(r, node, parent->python);
    struct ar_profile_node made = {.parent = id_of(parent)};
    uint32_t id;

    self->python = kind_of(r, node) == AR_FUNCTION_PYTHON ? function : parent->python;
    if (function_id(r, function, &made.function) < 0 ||
        enter_region(r, source, &made, call, node, ref, location) < 0 ||
        find_node(r, &made, call, &id) < 0 || add_values(r, node, ref, id, location) < 0)
        return AR_NOMEM;
    self->node_plus_1 = id + 1;
    return AR_OK;
}

static enum ar_status add_node(struct reading *r, const struct ar_node *node, uint32_t ref,
                               uint32_t location)
{
    if (id_of(&r->nodes[ref]) == AR_NO_ID)
        return add_inner_node(r, node, ref, location);
    return add_value(r, AR_METRIC_TIME, id_of(&r->nodes[ref]), location,
                     nanoseconds(r, ar_live_ticks(node, r->now_ticks))); /* a root */
}

static enum ar_status read_nodes(struct reading *r)
{
    for (const struct ar_extent *e = NULL; (e = ar_live_next(r->live, e, AR_EXTENT_NODES));) {
        uint32_t first =
            (uint32_t)(((const unsigned char *)(e + 1) - r->live->bytes) / AR_LIVE_REF_BYTES);
        uint32_t location = e->owner < r->n_threads ? r->locations[e->owner] : AR_NO_ID;

        size_t n_nodes = ar_extent_count(e, sizeof(struct ar_node));

        if (location == AR_NO_ID)
            continue; /* a thread that started while we copied */
        for (size_t i = 0; i < n_nodes; i++)
            if (add_node(r, ar_extent_item(e, i, sizeof(struct ar_node)), first + (uint32_t)i,
                         location) < 0)
                return AR_NOMEM;
    }
    return AR_OK;
}

/* ---- messages and requests -------------------------------------------------------------------- */

/* What a ref became; AR_NO_ID: no node, or one that is not shown. */
static uint32_t node_of(const struct reading *r, uint64_t ref)
{
    if (ref >= r->live->n_bytes / AR_LIVE_REF_BYTES || id_of(&r->nodes[ref]) == OURS)
        return AR_NO_ID;
    return id_of(&r->nodes[ref]);
}

static enum ar_status add_traffic(struct reading *r, const uint64_t *words, uint32_t location)
{
    struct ar_traffic traffic = {
        .node = node_of(r, words[AR_TRAFFIC_WHERE] >> 32),
        .location = location,
        .comm = (uint32_t)words[AR_TRAFFIC_WHERE] >> 8,
        .peer = (uint32_t)words[AR_TRAFFIC_PEER],
        .world_peer = (uint32_t)(words[AR_TRAFFIC_PEER] >> 32),
        .size_class = words[AR_TRAFFIC_WHERE] & 0xff,
        .n_out = words[AR_TRAFFIC_N_OUT],
        .bytes_out = words[AR_TRAFFIC_BYTES_OUT],
        .n_in = words[AR_TRAFFIC_N_IN],
        .bytes_in = words[AR_TRAFFIC_BYTES_IN],
        .ns = nanoseconds(r, words[AR_TRAFFIC_TICKS]),
    };

    if (traffic.node == AR_NO_ID || traffic.size_class >= AR_N_SIZE_CLASSES) {
        r->n_lost[AR_LOST_TRAFFIC] += traffic.n_out + traffic.n_in;
        return AR_OK;
    }
    traffic.comm = traffic.comm && traffic.comm <= r->n_comms ? r->comms[traffic.comm].id + 1 : 0;
    return ar_profile_add_row(r->p, AR_TABLE_MESSAGES, &traffic);
}

static enum ar_status add_completed(struct reading *r, const uint64_t *words, uint32_t location)
{
    struct ar_completed completed = {
        .node = node_of(r, words[AR_COMPLETED_WHERE] >> 32),
        .location = location,
        .posted = node_of(r, words[AR_COMPLETED_POSTED]),
        .n = words[AR_COMPLETED_N],
        .flight_ns = nanoseconds(r, words[AR_COMPLETED_FLIGHT_TICKS]),
        .waited_ns = nanoseconds(r, words[AR_COMPLETED_WAITED_TICKS]),
        .exposed_ns = nanoseconds(r, words[AR_COMPLETED_EXPOSED_TICKS]),
    };

    if (completed.node == AR_NO_ID || completed.posted == AR_NO_ID) {
        r->n_lost[AR_LOST_REQUESTS] += completed.n;
        return AR_OK;
    }
    return ar_profile_add_row(r->p, AR_TABLE_REQUESTS, &completed);
}

/*
 * Blocks say themselves whose they are: chains need not be followed, which grow in their middle while
 * they are copied, and a request may have been posted in any tree.
 */
static enum ar_status read_values(struct reading *r)
{
    enum ar_status status = AR_OK;

    for (const struct ar_extent *e = NULL; (e = ar_live_next(r->live, e, AR_EXTENT_VALUES));) {
        uint32_t location = e->owner < r->n_threads ? r->locations[e->owner] : AR_NO_ID;
        size_t n = location == AR_NO_ID ? 0 : ar_extent_count(e, sizeof(struct ar_values));

        for (size_t i = 0; i < n && status == AR_OK; i++) {
            const struct ar_values *values = ar_extent_item(e, i, sizeof *values);

            if (values->kind == AR_VALUES_TRAFFIC)
                status = add_traffic(r, values->words, location);
            else if (values->kind == AR_VALUES_COMPLETED)
                status = add_completed(r, values->words, location);
        }
    }
    return status;
}

/* ---- synchronising calls ---------------------------------------------------------------------- */

static uint64_t since_start(const struct reading *r, uint64_t ticks)
{
    uint64_t start = r->live->header->start.ticks;

    return ticks > start ? nanoseconds(r, ticks - start) : 0;
}

/* What it says of times that cannot be is damage. */
static bool is_sound_sync(const struct reading *r, const struct ar_sync *sync)
{
    uint64_t start = r->live->header->start.ticks;

    if (sync->kind == AR_SYNC_NONE || sync->kind >= AR_N_SYNC_KINDS ||
        node_of(r, sync->node_ref) == AR_NO_ID || sync->comm > r->n_comms)
        return false;
    if (sync->posted_ref && (node_of(r, sync->posted_ref) == AR_NO_ID || sync->post_ticks < start ||
                             sync->post_ticks > sync->exit_ticks))
        return false;
    return start <= sync->enter_ticks && sync->enter_ticks <= sync->exit_ticks;
}

static uint32_t read_parts(const struct reading *r, const struct ar_sync *sync,
                           struct ar_profile_part *parts)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < sync->n_parts && n < AR_MOST_PARTS; i++) {
        struct ar_sync_part part;

        memcpy(&part, (const char *)(sync + 1) + i * sizeof part, sizeof part);

        float ticks = part.ticks < 0 ? -part.ticks : part.ticks;

        parts[n].node = node_of(r, part.node_ref);
        parts[n].is_rest = part.ticks < 0;
        parts[n].ns = ticks > 0 && ticks < 0x1p62f ? nanoseconds(r, (uint64_t)ticks) : 0;
        n += parts[n].node != AR_NO_ID;
    }
    return n;
}

/* Number 0 of communicators is none. */
static uint32_t own_rank(const struct reading *r, uint32_t comm)
{
    const struct ar_live_comm *facts = comm ? &r->comms[comm].facts : NULL;

    if (!facts || facts->rank >= AR_PEER_UNKNOWN / 2)
        return AR_NO_ID;
    return AR_OWN_RANK(facts->rank, facts->side & 1);
}

static void count_call(struct reading *r, const struct ar_sync *sync)
{
    struct source_comm *comm = sync->comm ? &r->comms[sync->comm] : NULL;
    bool is_collective = sync->kind >= AR_SYNC_BARRIER && sync->kind <= AR_SYNC_SCAN;

    if (comm && is_collective && sync->sequence >= comm->n_calls && sync->sequence < UINT32_MAX)
        comm->n_calls = sync->sequence + 1;
}

static enum ar_status add_sync(struct reading *r, const struct ar_sync *sync, uint32_t location)
{
    struct ar_profile_part parts[AR_MOST_PARTS];

    if (!is_sound_sync(r, sync)) {
        r->n_lost[AR_LOST_SYNCS]++;
        return AR_OK;
    }

    struct ar_profile_sync made = {
        .location = location,
        .kind = sync->kind,
        .flags = sync->flags,
        .comm = sync->comm ? r->comms[sync->comm].id + 1 : 0,
        .rank = own_rank(r, sync->comm),
        .sequence = sync->sequence,
        .peer = sync->peer,
        .node = node_of(r, sync->node_ref),
        .posted = sync->posted_ref ? node_of(r, sync->posted_ref) + 1 : 0,
        .enter_ns = since_start(r, sync->enter_ticks),
        .exit_ns = since_start(r, sync->exit_ticks),
        .post_ns = sync->posted_ref ? since_start(r, sync->post_ticks) : 0,
    };

    count_call(r, sync);
    made.n_parts = read_parts(r, sync, parts);
    return ar_profile_sync(r->p, made, parts);
}

/* Calls end one after the other: a record that ends before the one before it is damage as well. */
static enum ar_status read_stream(struct reading *r, const struct ar_extent *e, uint32_t location,
                                  uint64_t *latest)
{
    size_t n_left = e->n_bytes_used - sizeof *e;
    const char *at = (const char *)(e + 1);
    enum ar_status status = AR_OK;

    while (n_left >= sizeof(struct ar_sync) && status == AR_OK) {
        const struct ar_sync *sync = (const struct ar_sync *)at;
        size_t n_bytes = sizeof *sync + sync->n_parts * sizeof(struct ar_sync_part);

        if (n_bytes > n_left)
            break;
        if (sync->exit_ticks > r->now_ticks)
            break; /* it ended while we read */
        if (sync->exit_ticks >= *latest)
            status = add_sync(r, sync, location);
        else
            r->n_lost[AR_LOST_SYNCS]++;
        *latest = sync->exit_ticks > *latest ? sync->exit_ticks : *latest;
        at += n_bytes;
        n_left -= n_bytes;
    }
    return status;
}

static enum ar_status read_streams(struct reading *r)
{
    uint64_t *latest = calloc(r->n_threads + 1, sizeof *latest); /* by thread */
    enum ar_status status = latest ? AR_OK : AR_NOMEM;

    for (const struct ar_extent *e = NULL;
         status == AR_OK && (e = ar_live_next(r->live, e, AR_EXTENT_STREAM));)
        if (e->owner < r->n_threads && r->locations[e->owner] != AR_NO_ID)
            status = read_stream(r, e, r->locations[e->owner], &latest[e->owner]);
    free(latest);
    return status;
}

/* Parents come before those that are made of them. */
static enum ar_status add_comms(struct reading *r)
{
    for (size_t i = 1; i <= r->n_comms; i++) {
        struct source_comm *source = &r->comms[i];
        const struct ar_live_comm *facts = &source->facts;
        uint32_t made_at = facts->made_ref ? node_of(r, facts->made_ref) : AR_NO_ID;
        struct ar_comm comm = {
            .identity = facts->identity,
            .origin = facts->origin,
            .size = facts->size,
            .remote_size = facts->remote_size,
            .parent = facts->parent ? r->comms[facts->parent].id + 1 : 0,
            .made_at = made_at == AR_NO_ID ? 0 : made_at + 1,
            .is_hidden = facts->is_hidden != 0,
        };

        if (ar_profile_string(r->p, source->name, &comm.name) < 0 ||
            ar_profile_comm(r->p, comm, &source->id) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

/* Of those that other processes can be members of as well; a communicator without an identity may be any. */
static enum ar_status add_members(struct reading *r, uint32_t process)
{
    for (size_t i = 1; i <= r->n_comms; i++) {
        const struct ar_live_comm *facts = &r->comms[i].facts;
        struct ar_member member = {.comm = r->comms[i].id,
                                   .process = process,
                                   .rank = own_rank(r, (uint32_t)i),
                                   .n_calls = r->comms[i].n_calls};

        if (facts->identity && (uint64_t)facts->size + facts->remote_size > 1 &&
            member.rank != AR_NO_ID && ar_profile_add_row(r->p, AR_TABLE_MEMBERS, &member) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

/* ---- where threads are ------------------------------------------------------------------------ */

/* What is about ourselves lies below something that is not. */
static uint32_t skip_ours(const struct reading *r, uint32_t ref)
{
    while (ref && id_of(&r->nodes[ref]) == OURS) {
        const struct ar_node *node = ar_live_at(r->live, ref);

        ref = node && node->parent_ref < ref ? node->parent_ref : 0;
    }
    return ref;
}

static enum ar_status note_open_call(struct reading *r, uint32_t location,
                                     const struct ar_live_call *call)
{
    uint32_t comm = call->comm <= r->n_comms ? call->comm : 0;
    struct ar_open_call open = {
        .location = location,
        .kind = call->kind < AR_N_SYNC_KINDS ? call->kind : AR_SYNC_UNKNOWN,
        .flags = call->flags,
        .n_requests = call->n_requests,
        .comm = comm ? r->comms[comm].id + 1 : 0,
        .sequence = call->sequence,
        .peer = call->peer,
    };

    return open.kind == AR_SYNC_NONE ? AR_OK : ar_profile_add_row(r->p, AR_TABLE_OPEN_CALLS, &open);
}

static enum ar_status note_current(struct reading *r, const struct ar_live_thread *thread)
{
    uint32_t location = thread->number < r->n_threads ? r->locations[thread->number] : AR_NO_ID;

    if (location == AR_NO_ID || thread->end_ticks || !ar_live_at(r->live, thread->current_ref))
        return AR_OK;

    uint32_t id = id_of(&r->nodes[skip_ours(r, thread->current_ref)]);

    if (id == AR_NO_ID || id == OURS)
        return AR_OK;
    r->p->locations[location].current = id + 1;
    return thread->call.node_ref == thread->current_ref ? note_open_call(r, location, &thread->call)
                                                        : AR_OK;
}

/*
 * Prices were measured in a loop whose few nodes stay in the cache, and new paths without what they push out of it.
 * In ten ordinary programs, on 3.11 to 3.13, both took about half as much again (make bench ARGS='--only programs').
 */
#define IN_PROGRAMS 1.5

static double in_programs(enum ar_overhead reason)
{
    return reason == AR_OVERHEAD_PATHS || reason == AR_OVERHEAD_PYTHON || reason == AR_OVERHEAD_C
               ? IN_PROGRAMS
               : 1;
}

/*
 * Prices are words of the file like any other: they may be no numbers at all. A call whose node had to be
 * looked for takes the engine's slow path, which costs about twice as much, besides the search.
 */
static void take_overheads(struct reading *r, struct ar_process *process)
{
    const struct ar_live_header *h = r->live->header;

    r->overheads_ns[AR_OVERHEAD_PYTHON] += (double)h->n_sought * h->call_cost_ns;
    for (int reason = 0; reason < AR_N_OVERHEADS; reason++) {
        double ns = (r->overheads_ns[reason] + (double)h->spent_ns[reason] +
                     (double)h->spent_ticks[reason] * r->ns_per_tick) *
                    in_programs((enum ar_overhead)reason);
        bool is_sound = ns >= 0 && ns < 0x1p58;

        process->overheads_ns[reason] = is_sound ? (uint64_t)ns : 0;
        process->overhead_ns += process->overheads_ns[reason];
    }
}

static enum ar_status finish_process(struct reading *r, uint32_t process)
{
    enum ar_status status = AR_OK;

    take_overheads(r, &r->p->processes[process]);
    if (r->p->processes[process].state == AR_PROCESS_RUNNING)
        /* Messages that came after the nodes were copied are not lost, but later. */
        r->n_lost[AR_LOST_TRAFFIC] = r->n_lost[AR_LOST_REQUESTS] = 0;
    for (int what = 0; what < AR_N_LIVE_LOSSES; what++)
        r->n_lost[what] += r->live->header->n_lost[what];
    for (int what = 0; what < AR_N_LOSSES && status == AR_OK; what++)
        if (ar_loss_name((enum ar_live_loss)what))
            status = ar_profile_lose(r->p, process, (enum ar_live_loss)what, r->n_lost[what]);
    return status;
}

/*
 * Room for as many nodes and values as there can be at most: arrays that grow are there twice for a
 * while, and room that is not used is not touched.
 */
static enum ar_status make_room(struct reading *r)
{
    static const enum ar_metric_id common[] = {AR_METRIC_CALLS, AR_METRIC_TIME};
    struct ar_profile *p = r->p;
    size_t n = 0;

    for (const struct ar_extent *e = NULL; (e = ar_live_next(r->live, e, AR_EXTENT_NODES));)
        n += ar_extent_count(e, sizeof(struct ar_node));
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (ar_profile_room(p, common[i], n) < 0)
            return AR_NOMEM;
    return ar_profile_node_room(p, n);
}

static void free_known(void *known)
{
    ar_known_delete(known);
}

/* The first file is not kept: see live_known.h. */
static enum ar_status find_known(struct reading *r)
{
    struct ar_profile *p = r->p;

    if (p->n_processes && !p->memory) {
        p->memory = calloc(1, sizeof *r->known);
        p->free_memory = free_known;
    }
    r->known = p->memory;
    return p->n_processes && !r->known ? AR_NOMEM : AR_OK;
}

static enum ar_status prepare(struct reading *r)
{
    size_t n_refs = r->live->n_bytes / AR_LIVE_REF_BYTES;

    /* Every thread has a slot: a larger number than there is room for is damage. */
    if (r->n_threads > r->live->n_bytes / sizeof(struct ar_live_thread))
        return AR_BAD;
    if (find_known(r) < 0)
        return AR_NOMEM;
    r->nodes = calloc(n_refs + 1, sizeof *r->nodes);
    r->locations = malloc((r->n_threads + 1) * sizeof *r->locations);
    if (!r->nodes || !r->locations)
        return AR_NOMEM;
    memset(r->locations, 0xff, (r->n_threads + 1) * sizeof *r->locations);
    return make_room(r);
}

static enum ar_status read_tree(struct reading *r, uint32_t process)
{
    enum ar_status status = each_thread(r, add_thread);

    if (status == AR_OK)
        status = read_nodes(r);
    if (status == AR_OK)
        status = add_comms(r);
    if (status == AR_OK)
        status = read_values(r);
    if (status == AR_OK)
        status = read_streams(r);
    if (status == AR_OK)
        status = add_members(r, process);
    if (status == AR_OK && r->live->header->state == AR_LIVE_RUNNING)
        status = each_thread(r, note_current);
    return status == AR_OK ? finish_process(r, process) : status;
}

enum ar_status ar_profile_add_live(struct ar_profile *p, const struct ar_live *live,
                                   uint64_t now_ticks, struct ar_error *err)
{
    const struct ar_live_header *h = live->header;
    struct reading r = {
        .p = p,
        .live = live,
        .ns_per_tick = ar_scale_between(&h->start, &h->latest).ns_per_tick,
        .now_ticks = now_ticks > h->latest.ticks ? now_ticks : h->latest.ticks,
        .is_child = h->is_child,
        .program = {"", 0},
        .command = {"", 0},
    };
    uint32_t process = AR_NO_ID;
    enum ar_status status = each_thread(&r, note_thread);

    if (status == AR_OK)
        status = prepare(&r);
    if (status == AR_OK)
        status = read_records(&r);
    if (status == AR_OK)
        status = ar_estimates_find(&r.estimates, live, r.n_functions, r.now_ticks);
    if (status == AR_OK)
        status = add_process(&r, &process);
    if (status == AR_OK && process != AR_NO_ID)
        status = read_tree(&r, process);
    if (status < 0)
        ar_fail(err, status, "live file of process %u on %s: %s", h->pid, h->host,
                status == AR_BAD ? "damaged" : ar_status_text(status));
    for (size_t i = 1; r.own && i <= r.n_functions; i++)
        free(r.own[i].ranges);
    free(r.own);
    ar_estimates_free(&r.estimates);
    free(r.functions);
    free(r.comms);
    free(r.nodes);
    free(r.locations);
    return status;
}
