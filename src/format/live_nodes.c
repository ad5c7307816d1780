// SPDX-License-Identifier: BSD-3-Clause
/*
 * Nodes of a live file: their functions, the lines of their calls, their calls and times.
 *
 * A node whose parent or function cannot be found is left out with all below it, and counted as lost: in a running process that
 * is the node being made at this instant, in a damaged file it is the damage.
 */
#include "format/linetable.h"
#include "format/live_reading.h"
#include "format/live_values.h"

/* Once, when first asked for: scripts are long. */
static enum ar_status decode_lines(struct ar_known_function *f)
{
    const struct ar_record *record = f->record;
    struct ar_linetable table = ar_linetable_over(
        record->linetable_kind, (const char *)(record + 1) + record->n_name + record->n_file,
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
static struct ar_known_call call_of(const struct ar_reading *r, const struct ar_node *node,
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

enum ar_status ar_reading_line(const struct ar_reading *r, uint32_t ref, uint32_t site,
                               uint32_t *line)
{
    uint32_t python = ref < r->live->n_bytes / AR_LIVE_REF_BYTES ? r->nodes[ref].python : 0;
    struct ar_known_call call = {.caller = python ? r->functions[python].known : NULL,
                                 .site = site};

    return call_line(call, line);
}

static enum ar_status add_value(struct ar_reading *r, enum ar_metric_id metric, uint32_t node,
                                uint32_t location, uint64_t value)
{
    if (!value)
        return AR_OK;
    return ar_profile_value(r->p, metric,
                            (struct ar_value){.node = node, .location = location, .value = value});
}

static enum ar_function_kind kind_of(const struct ar_reading *r, const struct ar_node *node)
{
    return r->functions[(uint32_t)node->key].record->function_kind;
}

/* The time of a node, and how far it is to be believed. */
static enum ar_status add_time(struct ar_reading *r, const struct ar_node *node, uint32_t ref,
                               uint32_t id, uint32_t location)
{
    struct ar_live_time time = ar_estimates_time(&r->estimates, node, ref);
    bool is_partial = r->functions[(uint32_t)node->key].is_partial;
    uint64_t marks =
        (time.is_estimated ? AR_MARK_ESTIMATED : 0) | (is_partial ? AR_MARK_PARTIAL : 0);
    double us_per_tick = r->ns_per_tick / 1000;

    if (add_value(r, AR_METRIC_TIME, id, location, ar_reading_ns(r, time.ticks)) < 0 ||
        add_value(r, AR_METRIC_MARKS, id, location, marks) < 0)
        return AR_NOMEM;
    if (!time.is_estimated)
        return AR_OK;
    return add_value(r, AR_METRIC_VARIANCE, id, location,
                     1 + ar_whole(time.variance * us_per_tick * us_per_tick));
}

static uint64_t n_timed_calls(const struct ar_reading *r, const struct ar_node *node)
{
    const struct ar_values *values =
        node->values_ref ? ar_live_values(r->live, node, AR_VALUES_ESTIMATE) : NULL;
    uint64_t n_timed = values ? values->words[AR_ESTIMATE_TIMED] : node->n_calls;

    return n_timed < node->n_calls ? n_timed : node->n_calls;
}

/* Time that could not be assigned was not spent in a call that we have seen. */
static void add_overhead(struct ar_reading *r, const struct ar_node *node)
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
static enum ar_status add_values(struct ar_reading *r, const struct ar_node *node, uint32_t ref,
                                 uint32_t id, uint32_t location)
{
    if (add_time(r, node, ref, id, location) < 0 ||
        add_value(r, AR_METRIC_CALLS, id, location, node->n_calls) < 0)
        return AR_NOMEM;
    if (!node->values_ref) /* as most have none */
        return AR_OK;
    return ar_read_chained(r, node, id, location);
}

/*
 * Ranks call the same functions in the same order, but for some: then the node is one of the next, and
 * which line its call is on need not be looked up.
 */
static bool guess_node(struct ar_reading *r, const struct ar_profile_node *made,
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

static enum ar_status find_node(struct ar_reading *r, struct ar_profile_node *made,
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
static enum ar_status enter_region(struct ar_reading *r, const struct ar_source_function *source,
                                   struct ar_profile_node *made, struct ar_known_call call,
                                   const struct ar_node *node, uint32_t ref, uint32_t location)
{
    struct ar_profile_node region = *made;

    if (!source->region || source->region > r->n_functions)
        return AR_OK;
    if (ar_reading_function(r, source->region, &region.function) < 0 ||
        find_node(r, &region, call, &made->parent) < 0)
        return AR_NOMEM;
    return add_values(r, node, ref, made->parent, location);
}

static enum ar_status add_inner_node(struct ar_reading *r, const struct ar_node *node, uint32_t ref,
                                     uint32_t location)
{
    struct ar_mapped *self = &r->nodes[ref];
    uint32_t function = (uint32_t)node->key;
    const struct ar_mapped *parent = node->parent_ref < ref ? &r->nodes[node->parent_ref] : self;

    if (!node->key && r->is_child) /* a node of its parent's */
        return AR_OK;
    if (ar_mapped_id(parent) == AR_NO_ID || function == 0 || function > r->n_functions) {
        r->n_lost[AR_LOST_NODES]++;
        return AR_OK;
    }
    if (ar_mapped_id(parent) == AR_NODE_OURS || kind_of(r, node) == AR_FUNCTION_OURS) {
        self->node_plus_1 = AR_NODE_OURS + 1;
        return AR_OK;
    }
    add_overhead(r, node);

    const struct ar_source_function *source = &r->functions[function];
    struct ar_known_call call = call_of(r, node, parent->python);
    struct ar_profile_node made = {.parent = ar_mapped_id(parent)};
    uint32_t id;

    self->python = kind_of(r, node) == AR_FUNCTION_PYTHON ? function : parent->python;
    if (ar_reading_function(r, function, &made.function) < 0 ||
        enter_region(r, source, &made, call, node, ref, location) < 0 ||
        find_node(r, &made, call, &id) < 0 || add_values(r, node, ref, id, location) < 0)
        return AR_NOMEM;
    self->node_plus_1 = id + 1;
    return AR_OK;
}

static enum ar_status add_node(struct ar_reading *r, const struct ar_node *node, uint32_t ref,
                               uint32_t location)
{
    if (ar_mapped_id(&r->nodes[ref]) == AR_NO_ID)
        return add_inner_node(r, node, ref, location);
    return add_value(r, AR_METRIC_TIME, ar_mapped_id(&r->nodes[ref]), location,
                     ar_reading_ns(r, ar_live_ticks(node, r->now_ticks))); /* a root */
}

enum ar_status ar_read_nodes(struct ar_reading *r)
{
    for (const struct ar_extent *e = NULL; (e = ar_live_next(r->live, e, AR_EXTENT_NODES));) {
        uint32_t first =
            (uint32_t)(((const unsigned char *)(e + 1) - r->live->bytes) / AR_LIVE_REF_BYTES);
        uint32_t location = ar_reading_location(r, e);

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
