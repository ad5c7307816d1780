// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/stacks.h"

#include <stdlib.h>
#include <string.h>

/* ---- one stack -------------------------------------------------------------------------------- */

static uint32_t kind_of(const struct ar_profile *p, uint32_t function)
{
    return p->functions[function].kind;
}

static size_t depth_of(const struct ar_profile *p, uint32_t node)
{
    size_t n = 0;

    for (; node != AR_NO_ID; node = p->nodes[node].parent)
        n += kind_of(p, p->nodes[node].function) != AR_FUNCTION_THREAD;
    return n;
}

/* Outermost first, each with the line that its node has: where it was called, in what is above. */
static void copy_path(const struct ar_profile *p, uint32_t node, struct ar_frame *frames, size_t n)
{
    for (; node != AR_NO_ID; node = p->nodes[node].parent)
        if (kind_of(p, p->nodes[node].function) != AR_FUNCTION_THREAD)
            frames[--n] = (struct ar_frame){p->nodes[node].function, p->nodes[node].line};
}

/*
 * A node's line is in the nearest Python function above it. Of several nodes that have the same one
 * above them, such as a region and what was called in it, the innermost says where that is now; but
 * what C calls, as a method of mpi4py does, may have none, and then the line where C was called stays.
 */
static void move_lines(const struct ar_profile *p, struct ar_frame *frames, size_t n)
{
    struct ar_frame *caller = NULL;
    bool in_c = false;

    for (size_t i = 0; i < n; i++) {
        uint32_t line = frames[i].line, kind = kind_of(p, frames[i].function);

        frames[i].line = 0;
        if (caller && !(in_c && !line))
            caller->line = line;
        if (kind == AR_FUNCTION_PYTHON)
            caller = &frames[i];
        in_c = kind == AR_FUNCTION_OPERATION || kind == AR_FUNCTION_BUILTIN ||
               (in_c && kind != AR_FUNCTION_PYTHON);
    }
}

/* ---- the tree --------------------------------------------------------------------------------- */

static enum ar_status add_node(struct ar_stacks *s, uint32_t parent, struct ar_frame frame,
                               uint32_t *id)
{
    if (ar_grow((void **)&s->nodes, &s->cap_nodes, s->n_nodes + 1, sizeof *s->nodes) < 0)
        return AR_NOMEM;
    *id = (uint32_t)s->n_nodes++;
    s->nodes[*id] = (struct ar_stack_node){
        .frame = frame, .parent = parent, .first_child = AR_NO_ID, .next_sibling = AR_NO_ID};
    if (parent != AR_NO_ID) {
        s->nodes[*id].next_sibling = s->nodes[parent].first_child;
        s->nodes[parent].first_child = *id;
    }
    return AR_OK;
}

static enum ar_status find_child(struct ar_stacks *s, uint32_t parent, struct ar_frame frame,
                                 uint32_t *id)
{
    for (*id = s->nodes[parent].first_child; *id != AR_NO_ID; *id = s->nodes[*id].next_sibling)
        if (s->nodes[*id].frame.function == frame.function &&
            s->nodes[*id].frame.line == frame.line)
            return AR_OK;
    return add_node(s, parent, frame, id);
}

static enum ar_status add_stack(struct ar_stacks *s, const struct ar_profile *p, uint32_t current,
                                uint32_t *leaf)
{
    size_t n = depth_of(p, current);
    struct ar_frame *frames = calloc(n + 1, sizeof *frames);
    enum ar_status status = frames ? AR_OK : AR_NOMEM;

    *leaf = 0;
    s->nodes[0].n_threads++;
    if (frames) {
        copy_path(p, current, frames, n);
        move_lines(p, frames, n);
    }
    for (size_t i = 0; i < n && status == AR_OK; i++) {
        status = find_child(s, *leaf, frames[i], leaf);
        if (status == AR_OK)
            s->nodes[*leaf].n_threads++;
    }
    free(frames);
    return status;
}

struct ordered {
    uint32_t n_threads, node;
};

static int fewest_first(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;

    if (x->n_threads != y->n_threads)
        return x->n_threads < y->n_threads ? -1 : 1;
    return x->node < y->node ? 1 : -1; /* of equal ones that of the lower rank, which came first */
}

/* Children are put in front of their parent's list one after the other, the largest last. */
static enum ar_status order_children(struct ar_stacks *s)
{
    struct ordered *order = malloc(s->n_nodes * sizeof *order);

    if (!order)
        return AR_NOMEM;
    for (uint32_t i = 0; i < s->n_nodes; i++) {
        order[i] = (struct ordered){s->nodes[i].n_threads, i};
        s->nodes[i].first_child = AR_NO_ID;
    }
    qsort(order, s->n_nodes, sizeof *order, fewest_first);
    for (size_t i = 0; i < s->n_nodes; i++) {
        struct ar_stack_node *node = &s->nodes[order[i].node];

        if (node->parent == AR_NO_ID)
            continue;
        node->next_sibling = s->nodes[node->parent].first_child;
        s->nodes[node->parent].first_child = order[i].node;
    }
    free(order);
    return AR_OK;
}

/* ---- groups ----------------------------------------------------------------------------------- */

/* A thread with all that decides where it is listed. */
struct member {
    uint32_t location, node, state, world_rank, process, thread;
    uint64_t still_ns;
};

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By group, and in a group by rank; ranks that are not known come last. */
static int by_group(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order = compare(x->thread > 0, y->thread > 0);

    if (!order)
        order = compare(x->state, y->state);
    if (!order)
        order = compare(x->node, y->node);
    if (!order)
        order = compare(x->world_rank, y->world_rank);
    if (!order)
        order = compare(x->process, y->process);
    return order ? order : compare(x->thread, y->thread);
}

static bool same_group(const struct member *a, const struct member *b)
{
    return (a->thread > 0) == (b->thread > 0) && a->state == b->state && a->node == b->node;
}

static int largest_first(const void *a, const void *b)
{
    const struct ar_stack_group *x = a, *y = b;
    int order = compare(y->is_main, x->is_main);

    if (!order)
        order = compare(y->n_threads, x->n_threads);
    return order ? order : compare(x->first, y->first);
}

static void form_groups(struct ar_stacks *s, struct member *members)
{
    qsort(members, s->n_threads, sizeof *members, by_group);
    for (uint32_t i = 0; i < s->n_threads; i++) {
        const struct member *m = &members[i];

        s->threads[i] = m->location;
        if (i == 0 || !same_group(&members[i - 1], m))
            s->groups[s->n_groups++] = (struct ar_stack_group){.node = m->node,
                                                               .state = m->state,
                                                               .is_main = m->thread == 0,
                                                               .first = i,
                                                               .still_ns = m->still_ns};

        struct ar_stack_group *group = &s->groups[s->n_groups - 1];

        group->n_threads++;
        if (m->still_ns < group->still_ns)
            group->still_ns = m->still_ns;
    }
    qsort(s->groups, s->n_groups, sizeof *s->groups, largest_first);
}

uint64_t ar_stacks_still_ns(const struct ar_profile *p, uint32_t location)
{
    const struct ar_process *process = &p->processes[p->locations[location].process];
    uint64_t heard_ns = process->start_real_ns + process->wall_ns;
    uint64_t moved_ns = p->locations[location].latest_real_ns;

    return heard_ns > moved_ns ? heard_ns - moved_ns : 0;
}

/* ---- all together ----------------------------------------------------------------------------- */

static bool is_wanted(const struct ar_location *location, bool main_only)
{
    return location->current && (!main_only || location->thread == 0);
}

static enum ar_status add_member(struct ar_stacks *s, const struct ar_profile *p, uint32_t i,
                                 struct member *member)
{
    const struct ar_location *location = &p->locations[i];
    const struct ar_process *process = &p->processes[location->process];

    *member = (struct member){.location = i,
                              .state = process->state,
                              .world_rank = process->world_rank,
                              .process = location->process,
                              .thread = location->thread,
                              .still_ns = ar_stacks_still_ns(p, i)};
    return add_stack(s, p, location->current - 1, &member->node);
}

static enum ar_status add_all(struct ar_stacks *s, const struct ar_profile *p, bool main_only,
                              struct member *members)
{
    uint32_t root;
    enum ar_status status = add_node(s, AR_NO_ID, (struct ar_frame){0}, &root);

    for (uint32_t i = 0; i < p->n_locations && status == AR_OK; i++)
        if (is_wanted(&p->locations[i], main_only))
            status = add_member(s, p, i, &members[s->n_threads++]);
    return status == AR_OK ? order_children(s) : status;
}

enum ar_status ar_stacks_build(struct ar_stacks *out, const struct ar_profile *p, bool main_only)
{
    struct member *members = calloc(p->n_locations + 1, sizeof *members);
    enum ar_status status = AR_NOMEM;

    *out = (struct ar_stacks){
        .groups = calloc(p->n_locations + 1, sizeof *out->groups),
        .threads = calloc(p->n_locations + 1, sizeof *out->threads),
    };
    if (members && out->groups && out->threads)
        status = add_all(out, p, main_only, members);
    if (status == AR_OK)
        form_groups(out, members);
    else
        ar_stacks_free(out);
    free(members);
    return status;
}

void ar_stacks_free(struct ar_stacks *s)
{
    free(s->nodes);
    free(s->groups);
    free(s->threads);
    *s = (struct ar_stacks){0};
}

size_t ar_stacks_frames(const struct ar_stacks *s, uint32_t node, struct ar_frame *frames)
{
    size_t n = 0;

    for (uint32_t i = node; i != 0; i = s->nodes[i].parent)
        n++;
    if (frames)
        for (size_t i = n; node != 0; node = s->nodes[node].parent)
            frames[--i] = s->nodes[node].frame;
    return n;
}
