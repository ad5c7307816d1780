// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/select.h"

#include "analysis/place.h"
#include "format/rows.h"

#include <stdlib.h>
#include <string.h>

bool ar_selection_is_all(const struct ar_selection *s)
{
    return !s->ranks && !s->thread && !s->regions.n && !s->include.n && !s->exclude.n;
}

/* ---- ranks ------------------------------------------------------------------------------------ */

/* "5" or "5-9", and what comes after it; NULL: neither. */
static const char *parse_range(const char *text, uint64_t *first, uint64_t *last)
{
    char *end;

    *first = *last = strtoull(text, &end, 10);
    if (end == text || *text < '0' || *text > '9')
        return NULL;
    if (*end == '-') {
        text = end + 1;
        *last = strtoull(text, &end, 10);
        if (end == text || *text < '0' || *text > '9')
            return NULL;
    }
    return *end == ',' && end[1] ? end + 1 : *end ? NULL : end;
}

enum ar_status ar_ranks_choose(const struct ar_profile *p, const char *list, bool *has_rank)
{
    uint64_t first, last;
    bool found = false;

    memset(has_rank, 0, p->n_roots * sizeof *has_rank);
    do {
        list = parse_range(list, &first, &last);
        if (!list)
            return AR_BAD;
        for (size_t i = 0; i < p->n_roots; i++) {
            uint32_t rank = p->processes[i].world_rank;

            if (rank != AR_RANK_NONE && rank >= first && rank <= last)
                has_rank[i] = found = true;
        }
    } while (*list);
    return found ? AR_OK : AR_BAD;
}

/* ---- what is left ----------------------------------------------------------------------------- */

struct selecting {
    struct ar_profile *out;
    const struct ar_profile *p;
    const struct ar_selection *s;
    struct ar_error *err;
    bool of_pairs;
    bool *has_rank;        /* by root */
    uint32_t *process_of;  /* what a process becomes; AR_NO_ID: left out */
    uint32_t *location_of; /* what a location becomes; AR_NO_ID: left out */
    struct ar_process *processes;
    struct ar_location *locations;
    size_t n_processes, n_locations;
    uint32_t *ids;        /* by node: itself in `out`, or who has its time there */
    uint32_t *below;      /* by node: whose callees its callees are */
    uint32_t *line_above; /* by node: the line that its callees have; AR_NO_ID: their own */
    bool *is_own;         /* it is shown itself */
    bool *in_region;      /* it is a region that was asked for, or in one */
    bool *
        is_listed; /* by function: it fits include or, of kinds that this does not hold for, stays */
    bool *is_hidden;           /* by function: it fits exclude */
    uint32_t *comms, *strings; /* what they become */
};

static bool allocate(struct selecting *w)
{
    const struct ar_profile *p = w->p;

    w->has_rank = malloc(p->n_roots + 1);
    w->process_of = malloc((p->n_processes + 1) * sizeof *w->process_of);
    w->location_of = malloc((p->n_locations + 1) * sizeof *w->location_of);
    w->processes = malloc((p->n_processes + 1) * sizeof *w->processes);
    w->locations = malloc((p->n_locations + 1) * sizeof *w->locations);
    w->ids = calloc(p->n_nodes + 1, sizeof *w->ids);
    w->below = calloc(p->n_nodes + 1, sizeof *w->below);
    w->line_above = calloc(p->n_nodes + 1, sizeof *w->line_above);
    w->is_own = calloc(p->n_nodes + 1, sizeof *w->is_own);
    w->in_region = calloc(p->n_nodes + 1, sizeof *w->in_region);
    w->is_listed = calloc(p->n_functions + 1, sizeof *w->is_listed);
    w->is_hidden = calloc(p->n_functions + 1, sizeof *w->is_hidden);
    w->comms = malloc((p->n_comms + 1) * sizeof *w->comms);
    w->strings = malloc((p->strings.n_strings + 1) * sizeof *w->strings);
    return w->has_rank && w->process_of && w->location_of && w->processes && w->locations &&
           w->ids && w->below && w->line_above && w->is_own && w->in_region && w->is_listed &&
           w->is_hidden && w->comms && w->strings;
}

static void release(struct selecting *w)
{
    free(w->has_rank);
    free(w->process_of);
    free(w->location_of);
    free(w->processes);
    free(w->locations);
    free(w->ids);
    free(w->below);
    free(w->line_above);
    free(w->is_own);
    free(w->in_region);
    free(w->is_listed);
    free(w->is_hidden);
    free(w->comms);
    free(w->strings);
}

/* ---- processes and threads -------------------------------------------------------------------- */

static enum ar_status choose_ranks(struct selecting *w)
{
    memset(w->has_rank, true, w->p->n_roots);
    if (!w->s->ranks || ar_ranks_choose(w->p, w->s->ranks, w->has_rank) == AR_OK)
        return AR_OK;
    return ar_fail(w->err, AR_BAD, "--ranks %s: no such ranks (a list is 0-3,8)", w->s->ranks);
}

static void choose_processes(struct selecting *w)
{
    for (size_t i = 0; i < w->p->n_processes; i++) {
        const struct ar_process *process = &w->p->processes[i];

        w->process_of[i] = w->has_rank[process->root] ? (uint32_t)w->n_processes : AR_NO_ID;
        if (w->process_of[i] != AR_NO_ID)
            w->processes[w->n_processes++] = *process;
    }
}

static bool is_number(const char *text, uint32_t *number)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);

    *number = (uint32_t)n;
    return *text >= '0' && *text <= '9' && !*end && n < AR_NO_ID;
}

static bool thread_fits(const struct selecting *w, const struct ar_location *location)
{
    struct ar_wanted wanted = {.text = w->s->thread};
    uint32_t number;

    if (!w->s->thread || (is_number(w->s->thread, &number) && location->thread == number))
        return true;
    return ar_wanted_name(&wanted, ar_strtab_text(&w->p->strings, location->name));
}

static enum ar_status choose_threads(struct selecting *w)
{
    for (size_t i = 0; i < w->p->n_locations; i++) {
        struct ar_location location = w->p->locations[i];

        w->location_of[i] = AR_NO_ID;
        if (w->process_of[location.process] == AR_NO_ID || !thread_fits(w, &location))
            continue;
        w->location_of[i] = (uint32_t)w->n_locations;
        location.process = w->process_of[location.process];
        location.current = 0; /* set when nodes are known */
        w->locations[w->n_locations++] = location;
    }
    if (w->n_locations || !w->s->thread)
        return AR_OK;
    return ar_fail(w->err, AR_BAD,
                   "--thread %s: no such thread (0 is the main thread of each process)",
                   w->s->thread);
}

/* Everything but nodes and what is said of them. */
static enum ar_status copy_dimensions(struct selecting *w)
{
    struct ar_profile bare = ar_profile_without_values(w->p);

    bare.processes = w->processes;
    bare.n_processes = w->n_processes;
    bare.locations = w->locations;
    bare.n_locations = w->n_locations;
    if (ar_profile_merge(w->out, &bare) < 0 ||
        ar_profile_find_strings(w->out, w->p, w->strings) < 0)
        return AR_NOMEM;
    if (w->out->n_locations != w->n_locations || w->out->n_functions != w->p->n_functions)
        return ar_fail(w->err, AR_BAD, "the same process is in it twice (look at all of it)");
    return AR_OK;
}

/* ---- functions -------------------------------------------------------------------------------- */

static bool fits_any(const struct selecting *w, const struct ar_words *words, uint32_t function)
{
    const struct ar_function *f = &w->p->functions[function];
    const char *file = f->kind == AR_FUNCTION_PYTHON ? ar_strtab_text(&w->p->strings, f->file) : "";

    for (size_t i = 0; i < words->n; i++) {
        struct ar_wanted wanted = ar_wanted_parse(words->items[i]);

        if (ar_wanted_function(&wanted, w->p, function) || ar_wanted_file(&wanted, file))
            return true;
    }
    return false;
}

/* Those that are part of a run's frame, and not of its program. */
static bool is_frame(const struct ar_function *f)
{
    return f->kind == AR_FUNCTION_THREAD || f->kind == AR_FUNCTION_PROCESS;
}

static bool is_in_c(const struct ar_function *f)
{
    return f->kind == AR_FUNCTION_BUILTIN || f->kind == AR_FUNCTION_UNASSIGNED;
}

static bool can_be_left_out(const struct ar_function *f)
{
    return f->kind == AR_FUNCTION_PYTHON || is_in_c(f) || f->kind == AR_FUNCTION_IMPORT;
}

static enum ar_status choose_functions(struct selecting *w)
{
    bool found = w->s->include.n == 0;

    for (uint32_t i = 0; i < w->p->n_functions; i++) {
        const struct ar_function *f = &w->p->functions[i];
        bool fits = fits_any(w, &w->s->include, i);

        found = found || fits;
        w->is_listed[i] = fits || !w->s->include.n || !can_be_left_out(f);
        w->is_hidden[i] = !is_frame(f) && fits_any(w, &w->s->exclude, i);
    }
    if (found)
        return AR_OK;
    return ar_fail(w->err, AR_BAD,
                   "--include %s: no function or file fits (allranks ranks -n 0 RUN)",
                   w->s->include.items[0]);
}

/* A function in C is shown with the function that calls it; the root, node 0, is no function. */
static bool is_shown(const struct selecting *w, uint32_t node)
{
    uint32_t function = w->p->nodes[node].function;

    if (w->is_hidden[function])
        return false;
    if (w->is_listed[function] || !is_in_c(&w->p->functions[function]))
        return w->is_listed[function];
    return w->p->nodes[node].parent && w->is_own[w->p->nodes[node].parent];
}

/* ---- regions ---------------------------------------------------------------------------------- */

static bool region_fits(const struct selecting *w, uint32_t node)
{
    for (size_t i = 0; i < w->s->regions.n; i++) {
        const struct ar_wanted wanted = {.text = w->s->regions.items[i]};

        if (ar_wanted_region(&wanted, w->p, w->p->nodes[node].function))
            return true;
    }
    return false;
}

static enum ar_status choose_regions(struct selecting *w)
{
    bool found = w->s->regions.n == 0;

    if (w->s->regions.n && w->of_pairs)
        return ar_fail(w->err, AR_BAD,
                       "--region: pstats files have no call paths (record the program "
                       "with: allranks run)");
    w->in_region[0] = found;
    for (uint32_t i = 1; i < w->p->n_nodes; i++) {
        w->in_region[i] = w->in_region[w->p->nodes[i].parent] || region_fits(w, i);
        found = found || w->in_region[i];
    }
    if (found)
        return AR_OK;
    return ar_fail(w->err, AR_BAD,
                   "--region %s: no such region (allranks report --functions shows "
                   "all)",
                   w->s->regions.items[0]);
}

static bool is_outermost_region(const struct selecting *w, uint32_t node)
{
    return node && w->in_region[node] && !w->in_region[w->p->nodes[node].parent];
}

/* ---- nodes ------------------------------------------------------------------------------------ */

/*
 * The line of a call in the nearest Python function that is still above it. Where that function was
 * not shown, it is the line of the call that led there, which its node passes on.
 */
static uint32_t line_of(const struct selecting *w, uint32_t node)
{
    uint32_t line = w->line_above[w->p->nodes[node].parent];

    return line == AR_NO_ID ? ar_line_of_node(w->p, node) : line;
}

/* The function that the code of a region is in, if it is shown. */
static uint32_t function_around(const struct selecting *w, uint32_t node)
{
    do {
        node = w->p->nodes[node].parent;
    } while (node != AR_NO_ID &&
             w->p->functions[w->p->nodes[node].function].kind != AR_FUNCTION_PYTHON);
    if (node == AR_NO_ID)
        return AR_NO_ID;

    uint32_t function = w->p->nodes[node].function;

    return w->is_listed[function] && !w->is_hidden[function] ? function : AR_NO_ID;
}

/*
 * A region begins a tree, whatever called it. Below it is as much of the function around it as is in the
 * region: that has the lines of what is called there.
 */
static enum ar_status begin_tree(struct selecting *w, uint32_t i)
{
    struct ar_profile_node region = {.parent = 0, .function = w->p->nodes[i].function};
    struct ar_profile_node body = {.function = function_around(w, i)};

    w->is_own[i] = !w->is_hidden[region.function];
    w->line_above[i] = AR_NO_ID;
    if (w->is_own[i] && ar_profile_node(w->out, region, &w->ids[i]) < 0)
        return AR_NOMEM;
    body.parent = w->below[i] = w->ids[i];
    return body.function == AR_NO_ID ? AR_OK : ar_profile_node(w->out, body, &w->below[i]);
}

static enum ar_status place_node(struct selecting *w, uint32_t i)
{
    struct ar_profile_node node = w->p->nodes[i];
    bool has_lines = w->p->functions[node.function].kind == AR_FUNCTION_PYTHON;

    if (is_outermost_region(w, i))
        return begin_tree(w, i);
    node.line = line_of(w, i);
    w->line_above[i] = has_lines ? node.line : w->line_above[node.parent];
    node.parent = w->below[node.parent];
    w->ids[i] = w->below[i] = node.parent;
    w->is_own[i] = w->in_region[i] && is_shown(w, i);
    if (!w->is_own[i])
        return AR_OK;
    w->line_above[i] = has_lines ? AR_NO_ID : w->line_above[i];
    if (ar_profile_node(w->out, node, &w->ids[i]) < 0)
        return AR_NOMEM;
    w->below[i] = w->ids[i];
    return AR_OK;
}

/* In caller pairs, a function whose caller is not shown has no caller. */
static enum ar_status place_pair(struct selecting *w, uint32_t i)
{
    struct ar_profile_node node = w->p->nodes[i];
    bool shown = is_shown(w, i) && w->is_own[node.parent];

    node.parent = w->ids[node.parent];
    w->is_own[i] = shown;
    return shown ? ar_profile_node(w->out, node, &w->ids[i]) : AR_OK;
}

static enum ar_status place_nodes(struct selecting *w)
{
    enum ar_status status = AR_OK;

    w->is_own[0] = true;
    w->line_above[0] = AR_NO_ID;
    for (uint32_t i = 1; i < w->p->n_nodes && status == AR_OK; i++)
        status = w->of_pairs ? place_pair(w, i) : place_node(w, i);
    return status;
}

/* The root has its own time, or that of the regions. */
static bool counts_for_root(const struct selecting *w, uint32_t node)
{
    return w->s->regions.n ? is_outermost_region(w, node) : node == 0;
}

/* A region counts for the code in it, too. */
static bool counts_for_body(const struct selecting *w, uint32_t node)
{
    return is_outermost_region(w, node) && w->s->regions.n && w->below[node] != w->ids[node];
}

/* What was measured without what is called below goes to the one node that has the rest of that: */
static uint32_t owner_of_own(const struct selecting *w, uint32_t node)
{
    return counts_for_body(w, node) ? w->below[node] : w->ids[node];
}

/* Of caller pairs, none is a part of another. */
static bool is_of_shown(const struct selecting *w, uint32_t node)
{
    return w->of_pairs ? w->is_own[node] : w->in_region[node];
}

typedef void link_fn(void *to, uint32_t node, uint32_t row);

/* Tells to which nodes of `out` a row belongs. */
static void link_row(const struct selecting *w, enum ar_row_list_id list, uint32_t row,
                     link_fn *link, void *to)
{
    if (list == AR_ROWS_EXCLUSIVE) {
        if (is_of_shown(w, row))
            link(to, owner_of_own(w, row), row);
        return;
    }
    if (counts_for_root(w, row))
        link(to, 0, row);
    if (row && w->is_own[row])
        link(to, w->ids[row], row);
    if (counts_for_body(w, row))
        link(to, w->below[row], row);
}

static void count_link(void *list, uint32_t node, uint32_t row)
{
    (void)row;
    ((struct ar_row_list *)list)->first[node + 1]++;
}

/* Each is put at its beginning, which moves on. */
static void put_link(void *list, uint32_t node, uint32_t row)
{
    struct ar_row_list *l = list;

    l->nodes[l->first[node]++] = row;
}

/* By counting. */
static enum ar_status list_rows(struct selecting *w, enum ar_row_list_id id)
{
    struct ar_row_list *list = &w->out->rows[id];
    size_t n_nodes = w->out->n_nodes;

    list->first = calloc(n_nodes + 2, sizeof *list->first);
    list->nodes = malloc((3 * w->p->n_nodes + 1) * sizeof *list->nodes);
    if (!list->first || !list->nodes)
        return AR_NOMEM;
    for (uint32_t i = 0; i < w->p->n_nodes; i++)
        link_row(w, id, i, count_link, list);
    for (size_t i = 0; i < n_nodes; i++)
        list->first[i + 1] += list->first[i];
    for (uint32_t i = 0; i < w->p->n_nodes; i++)
        link_row(w, id, i, put_link, list);
    memmove(list->first + 1, list->first, n_nodes * sizeof *list->first);
    list->first[0] = 0;
    return AR_OK;
}

static enum ar_status link_rows(struct selecting *w)
{
    enum ar_status status = list_rows(w, AR_ROWS_SHOWN);

    if (status == AR_OK && ar_profile_has_exclusive(w->p))
        status = list_rows(w, AR_ROWS_EXCLUSIVE);
    if (status < 0)
        return status;
    w->out->rows_of = w->p;
    if (w->n_locations != w->p->n_locations) {
        w->out->location_of = w->location_of;
        w->location_of = NULL;
    }
    return AR_OK;
}

/* ---- messages --------------------------------------------------------------------------------- */

static uint32_t location_at(const struct selecting *w, uint32_t location)
{
    return w->out->location_of ? w->out->location_of[location] : location;
}

static enum ar_status keep_comms(struct selecting *w)
{
    for (size_t i = 0; i < w->p->n_comms; i++) {
        struct ar_comm comm = w->p->comms[i];
        bool is_known = comm.made_at && w->is_own[comm.made_at - 1];

        comm.parent = comm.parent ? w->comms[comm.parent - 1] + 1 : 0;
        comm.made_at = is_known ? w->ids[comm.made_at - 1] + 1 : 0;
        if (ar_profile_comm(w->out, comm, &w->comms[i]) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

/* What happened at a node that is not shown is not told. */
static enum ar_status keep_tables(struct selecting *w)
{
    uint32_t *nodes = malloc((w->p->n_nodes + 1) * sizeof *nodes);
    const struct ar_role_maps maps = {.to = {[AR_ROLE_STRING] = w->strings,
                                             [AR_ROLE_NODE] = nodes,
                                             [AR_ROLE_PROCESS] = w->process_of,
                                             [AR_ROLE_LOCATION] = w->out->location_of,
                                             [AR_ROLE_COMM] = w->comms}};

    if (!nodes)
        return AR_NOMEM;
    for (size_t i = 0; i < w->p->n_nodes; i++)
        nodes[i] = w->is_own[i] ? w->ids[i] : AR_NO_ID;

    enum ar_status status = ar_profile_add_tables(w->out, w->p, &maps);
    struct ar_role_maps of_streams = maps;

    of_streams.to[AR_ROLE_NODE] =
        w->ids; /* what they say of a node is of the one that has its time */
    if (status == AR_OK)
        status = ar_profile_add_other_streams(w->out, w->p, &of_streams, true);
    free(nodes);
    return status;
}

/* Who waited for whom is asked of all ranks or not at all: synchronising calls are left out. */
static enum ar_status keep_messages(struct selecting *w)
{
    enum ar_status status = keep_comms(w);

    return status == AR_OK ? keep_tables(w) : status;
}

static void keep_stacks(struct selecting *w)
{
    for (size_t i = 0; i < w->p->n_locations; i++) {
        uint32_t current = w->p->locations[i].current, location = location_at(w, (uint32_t)i);

        if (location != AR_NO_ID)
            w->out->locations[location].current = current ? w->ids[current - 1] + 1 : 0;
    }
}

/* ---- time of regions -------------------------------------------------------------------------- */

/* That of a family is its root's, as everywhere. */
static enum ar_status take_time_of_regions(struct ar_profile *p)
{
    struct ar_rows times;

    if (ar_rows_open(&times, p, AR_METRIC_TIME) < 0)
        return AR_NOMEM;
    for (size_t i = 0; i < p->n_processes; i++) {
        p->processes[i].wall_ns = p->processes[i].overhead_ns = 0;
        memset(p->processes[i].overheads_ns, 0, sizeof p->processes[i].overheads_ns);
    }

    struct ar_row row = ar_rows_get(&times, 0);

    for (size_t i = 0; i < row.n; i++) {
        uint32_t process = p->locations[row.values[i].location].process;
        uint32_t root = p->processes[process].root;

        p->processes[root].wall_ns += row.values[i].value;
        if (process != root)
            p->processes[process].wall_ns += row.values[i].value;
    }
    ar_rows_close(&times);
    return AR_OK;
}

/* ---- all of it -------------------------------------------------------------------------------- */

static enum ar_status choose(struct selecting *w)
{
    enum ar_status status = choose_ranks(w);

    if (status == AR_OK) {
        choose_processes(w);
        status = choose_threads(w);
    }
    if (status == AR_OK)
        status = choose_functions(w);
    return status == AR_OK ? choose_regions(w) : status;
}

static enum ar_status make(struct selecting *w)
{
    enum ar_status status = copy_dimensions(w);

    if (status == AR_OK)
        status = place_nodes(w);
    if (status == AR_OK)
        status = link_rows(w);
    if (status == AR_OK)
        status = keep_messages(w);
    if (status < 0)
        return status;
    keep_stacks(w);
    status = ar_profile_sort(w->out);
    if (status == AR_OK && w->s->regions.n)
        status = take_time_of_regions(w->out);
    /* Folding copies caller pairs, values and all. */
    return status == AR_OK && w->of_pairs ? ar_profile_unpack(w->out) : status;
}

enum ar_status ar_select(struct ar_profile *out, struct ar_profile *p, const struct ar_selection *s,
                         struct ar_error *err)
{
    struct selecting w = {
        .out = out, .p = p, .s = s, .err = err, .of_pairs = ar_profile_of_pairs(p)};
    enum ar_status status = ar_profile_init(out);

    if (status == AR_OK)
        status = ar_profile_sort(p);
    if (status == AR_OK)
        status = allocate(&w) ? choose(&w) : AR_NOMEM;
    if (status == AR_OK)
        status = make(&w);
    release(&w);
    if (status < 0)
        ar_profile_free(out);
    return status == AR_NOMEM ? ar_fail(err, AR_NOMEM, "out of memory") : status;
}
