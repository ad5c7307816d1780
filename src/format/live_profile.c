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
#include "format/live_reading.h"

#include <stdlib.h>
#include <string.h>

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

static enum ar_status add_fact(struct ar_reading *r, struct ar_str key, struct ar_str value)
{
    if (is_text(key, "program"))
        r->program = value;
    if (is_text(key, "command"))
        r->command = value;
    return r->is_child ? AR_OK : ar_profile_fact(r->p, key, value);
}

/* One that says nothing sensible keeps its number: those after it are known by theirs. */
static enum ar_status note_comm(struct ar_reading *r, const struct ar_record *record)
{
    struct ar_source_comm comm = {.name = name_of(record), .id = AR_NO_ID};

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
static enum ar_status grow_functions(struct ar_reading *r)
{
    size_t n_known = r->known ? r->known->n : 0;
    size_t n_wanted = r->n_functions > n_known ? r->n_functions : n_known;

    return ar_grow((void **)&r->functions, &r->cap_functions, n_wanted + 2, sizeof *r->functions);
}

static enum ar_status add_record(struct ar_reading *r, const struct ar_record *record)
{
    struct ar_str name = name_of(record), file = file_of(record);
    struct ar_source_function source = {.record = record, .region = record->other};

    if (record->kind == AR_RECORD_FACT)
        return add_fact(r, name, file);
    if (record->kind == AR_RECORD_COMM)
        return note_comm(r, record);
    if (record->kind == AR_RECORD_MEASURE)
        return ar_measures_add(&r->measures, record);
    if (record->kind == AR_RECORD_COMM_NAME && record->other > 0 && record->other <= r->n_comms)
        r->comms[record->other].name = name;
    if (record->kind == AR_RECORD_PARTIAL && record->other > 0 && record->other <= r->n_functions)
        r->functions[record->other].is_partial = true;
    if (record->kind == AR_RECORD_MODULE && record->other > 0 && record->other <= r->n_functions)
        r->functions[record->other].module = record;
    if (record->kind != AR_RECORD_FUNCTION)
        return AR_OK;
    if (r->n_functions + 2 > r->cap_functions && grow_functions(r) < 0)
        return AR_NOMEM;
    r->functions[++r->n_functions] = source;
    return AR_OK;
}

static enum ar_status read_records(struct ar_reading *r)
{
    for (const struct ar_extent *e = NULL; (e = ar_live_next(r->live, e, AR_EXTENT_RECORDS));) {
        size_t n_left = (size_t)(e->n_bytes_used - sizeof *e);
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
static struct ar_known_function *know(struct ar_reading *r, struct ar_source_function *source)
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

static enum ar_status add_function(struct ar_reading *r, const struct ar_source_function *source)
{
    struct ar_known_function *known = source->known;
    const struct ar_record *record = known->record;
    struct ar_str module = source->module ? name_of(source->module) : (struct ar_str){"", 0};
    struct ar_function function = {.kind = record->function_kind, .first_line = record->first_line};

    if (ar_profile_string(r->p, name_of(record), &function.name) < 0 ||
        ar_profile_string(r->p, file_of(record), &function.file) < 0 ||
        ar_profile_string(r->p, module, &function.module) < 0)
        return AR_NOMEM;
    return ar_profile_function(r->p, function, &known->id);
}

/* Its number in the profile, given when a node has it: a forked child knows all that its parent did. */
enum ar_status ar_reading_function(struct ar_reading *r, uint32_t number, uint32_t *id)
{
    struct ar_source_function *source = &r->functions[number];

    if (!source->known)
        source->known = know(r, source);
    if (!source->known || (source->known->id == AR_NO_ID && add_function(r, source) < 0))
        return AR_NOMEM;
    *id = source->known->id;
    return AR_OK;
}

/* Calls the visitor for each slot that a thread has taken. */
static enum ar_status each_thread(struct ar_reading *r,
                                  enum ar_status (*visit)(struct ar_reading *,
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

static enum ar_status note_thread(struct ar_reading *r, const struct ar_live_thread *thread)
{
    if (thread->latest_ticks > r->now_ticks)
        r->now_ticks = thread->latest_ticks;
    if (thread->number >= r->n_threads)
        r->n_threads = (size_t)thread->number + 1;
    return AR_OK;
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
static enum ar_status add_process(struct ar_reading *r, uint32_t *id)
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
            r->now_ticks > h->start.ticks ? ar_reading_ns(r, r->now_ticks - h->start.ticks) : 0,
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

static uint64_t real_ns(const struct ar_reading *r, uint64_t ticks)
{
    const struct ar_stamp *start = &r->live->header->start;

    return start->real_ns + (ticks > start->ticks ? ar_reading_ns(r, ticks - start->ticks) : 0);
}

static enum ar_status node_below(struct ar_reading *r, enum ar_function_kind kind, uint32_t name,
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
static enum ar_status add_thread(struct ar_reading *r, const struct ar_live_thread *thread)
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

/* ---- where threads are ------------------------------------------------------------------------ */

/* What is about ourselves lies below something that is not. */
static uint32_t skip_ours(const struct ar_reading *r, uint32_t ref)
{
    while (ref && ar_mapped_id(&r->nodes[ref]) == AR_NODE_OURS) {
        const struct ar_node *node = ar_live_at(r->live, ref);

        ref = node && node->parent_ref < ref ? node->parent_ref : 0;
    }
    return ref;
}

static enum ar_status note_open_call(struct ar_reading *r, uint32_t location,
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

static enum ar_status note_current(struct ar_reading *r, const struct ar_live_thread *thread)
{
    uint32_t location = thread->number < r->n_threads ? r->locations[thread->number] : AR_NO_ID;

    if (location == AR_NO_ID || thread->end_ticks || !ar_live_at(r->live, thread->current_ref))
        return AR_OK;

    uint32_t id = ar_mapped_id(&r->nodes[skip_ours(r, thread->current_ref)]);

    if (id == AR_NO_ID || id == AR_NODE_OURS)
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
static void take_overheads(struct ar_reading *r, struct ar_process *process)
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

static enum ar_status finish_process(struct ar_reading *r, uint32_t process)
{
    enum ar_status status = AR_OK;

    take_overheads(r, &r->p->processes[process]);
    if (r->p->processes[process].state == AR_PROCESS_RUNNING)
        /* Rows that came after the nodes were copied are not lost, but later. */
        r->n_lost[AR_LOST_TRAFFIC] = r->n_lost[AR_LOST_REQUESTS] = r->n_lost[AR_LOST_ROWS] = 0;
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
static enum ar_status make_room(struct ar_reading *r)
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
static enum ar_status find_known(struct ar_reading *r)
{
    struct ar_profile *p = r->p;

    if (p->n_processes && !p->memory) {
        p->memory = calloc(1, sizeof *r->known);
        p->free_memory = free_known;
    }
    r->known = p->memory;
    return p->n_processes && !r->known ? AR_NOMEM : AR_OK;
}

static enum ar_status prepare(struct ar_reading *r)
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

static enum ar_status read_tree(struct ar_reading *r, uint32_t process)
{
    enum ar_status status = each_thread(r, add_thread);

    if (status == AR_OK)
        status = ar_read_nodes(r);
    if (status == AR_OK)
        status = ar_read_comms(r);
    if (status == AR_OK)
        status = ar_read_blocks(r);
    if (status == AR_OK)
        status = ar_read_syncs(r);
    if (status == AR_OK)
        status = ar_read_described_streams(r);
    if (status == AR_OK)
        status = ar_read_traces(r);
    if (status == AR_OK)
        status = ar_read_members(r, process);
    if (status == AR_OK && r->live->header->state == AR_LIVE_RUNNING)
        status = each_thread(r, note_current);
    return status == AR_OK ? finish_process(r, process) : status;
}

enum ar_status ar_profile_add_live(struct ar_profile *p, const struct ar_live *live,
                                   uint64_t now_ticks, struct ar_error *err)
{
    const struct ar_live_header *h = live->header;
    struct ar_reading r = {
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
        status = ar_prepare_blocks(&r);
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
    free(r.targets);
    ar_measures_free(&r.measures);
    free(r.nodes);
    free(r.locations);
    return status;
}
