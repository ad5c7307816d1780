// SPDX-License-Identifier: BSD-3-Clause
#include "export/otf2_definitions.h"

#include "analysis/place.h"
#include "analysis/scorep_names.h"
#include "export/otf2_operations.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More ranks than any machine has are a damaged file. */
#define MOST_RANKS (UINT32_C(1) << 22)

struct defining {
    struct ar_otf2_work *work;
    const struct ar_otf2_library *lib;
    const struct ar_profile *p;
    const struct ar_otf2_world *world;
    const struct ar_otf2_written *written;
    OTF2_GlobalDefWriter *defs;
    uint32_t n_strings; /* that are defined */
    uint32_t
        *nodes; /* of hosts, which are strings of the profile: their number in the system tree */
    uint32_t n_groups;
    OTF2_ErrorCode code;
    enum ar_status status;
};

static void note(struct defining *d, OTF2_ErrorCode code)
{
    if (code != OTF2_SUCCESS && d->code == OTF2_SUCCESS)
        d->code = code;
}

static bool has_failed(const struct defining *d)
{
    return d->code != OTF2_SUCCESS || d->status < 0;
}

/* ---- strings ---------------------------------------------------------------------------------- */

/* A string is defined in front of the first definition that refers to it. */
static void define_strings(struct defining *d)
{
    const struct ar_strtab *strings = &d->work->names.strings;

    for (; d->n_strings < strings->n_strings && !has_failed(d); d->n_strings++)
        note(d, d->lib->GlobalDefWriter_WriteString(d->defs, d->n_strings,
                                                    ar_strtab_text(strings, d->n_strings)));
}

static OTF2_StringRef string(struct defining *d, const char *text)
{
    uint32_t id = 0;

    if (ar_otf2_string(&d->work->names, text, strlen(text), &id) < 0)
        d->status = AR_NOMEM;
    define_strings(d);
    return id;
}

static OTF2_StringRef profile_string(struct defining *d, uint32_t id)
{
    return string(d, ar_strtab_text(&d->p->strings, id));
}

/* ---- clock ------------------------------------------------------------------------------------ */

/* When the run began, by the clock of the process that was the first. */
static uint64_t real_start_ns(const struct defining *d)
{
    const struct ar_traces *traces = d->work->traces;
    int64_t earliest = INT64_MAX;
    uint64_t real = 0;

    for (size_t i = 0; i < traces->n; i++) {
        int64_t begin = ar_traces_ns(traces, i, 0);

        if (begin < earliest) {
            uint32_t process = d->p->locations[traces->items[i].location].process;

            earliest = begin;
            real = d->p->processes[process].start_real_ns - (uint64_t)begin;
        }
    }
    for (size_t i = 0; traces->n == 0 && i < d->p->n_processes; i++)
        if (!real || d->p->processes[i].start_real_ns < real)
            real = d->p->processes[i].start_real_ns;
    return real;
}

static void define_clock(struct defining *d)
{
    uint64_t first = UINT64_MAX, last = 0;

    for (size_t i = 0; i < d->p->n_locations; i++) {
        if (!d->written[i].n_events)
            continue;
        first = d->written[i].first_ns < first ? d->written[i].first_ns : first;
        last = d->written[i].last_ns > last ? d->written[i].last_ns : last;
    }
    if (first == UINT64_MAX)
        first = 0;
    note(d, d->lib->GlobalDefWriter_WriteClockProperties(d->defs, UINT64_C(1000000000), first,
                                                         last - first, real_start_ns(d) + first));
}

/* ---- machine, processes, threads --------------------------------------------------------------- */

static void define_system_tree(struct defining *d)
{
    uint32_t n_nodes = 1;

    note(d, d->lib->GlobalDefWriter_WriteSystemTreeNode(d->defs, 0, string(d, "machine"),
                                                        string(d, "machine"),
                                                        OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    note(d, d->lib->GlobalDefWriter_WriteSystemTreeNodeDomain(d->defs, 0,
                                                              OTF2_SYSTEM_TREE_DOMAIN_MACHINE));
    for (size_t i = 0; i < d->p->n_processes && !has_failed(d); i++) {
        uint32_t host = d->p->processes[i].host;

        if (d->nodes[host])
            continue;
        d->nodes[host] = n_nodes++;
        note(d, d->lib->GlobalDefWriter_WriteSystemTreeNode(
                    d->defs, d->nodes[host], profile_string(d, host), string(d, "node"), 0));
        note(d, d->lib->GlobalDefWriter_WriteSystemTreeNodeDomain(
                    d->defs, d->nodes[host], OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY));
    }
}

static bool is_rank(const struct defining *d, uint32_t process)
{
    uint32_t rank = d->p->processes[process].world_rank;

    return rank < d->world->n_ranks && d->world->of_rank[rank] == process;
}

static void put_location_group(struct defining *d, uint32_t group, const char *name, uint32_t node,
                               OTF2_LocationGroupRef creator)
{
    note(d, d->lib->GlobalDefWriter_WriteLocationGroup(
                d->defs, group, string(d, name), OTF2_LOCATION_GROUP_TYPE_PROCESS, node, creator));
}

static void define_process(struct defining *d, uint32_t process)
{
    const struct ar_process *x = &d->p->processes[process];
    OTF2_LocationGroupRef creator =
        x->root != process ? d->world->group[x->root] : OTF2_UNDEFINED_LOCATION_GROUP;
    char name[64];

    if (is_rank(d, process))
        snprintf(name, sizeof name, "MPI Rank %" PRIu32, x->world_rank);
    else
        snprintf(name, sizeof name, "Process %" PRIu32, x->pid);
    put_location_group(d, d->world->group[process], name, d->nodes[x->host], creator);
}

static void define_rank(struct defining *d, uint32_t rank)
{
    char name[64];

    if (d->world->of_rank[rank] != AR_NO_ID) {
        define_process(d, d->world->of_rank[rank]);
        return;
    }
    snprintf(name, sizeof name, "MPI Rank %" PRIu32 " (not in this trace)", rank);
    put_location_group(d, rank, name, 0, OTF2_UNDEFINED_LOCATION_GROUP);
}

/* In the order of their numbers: ranks, then other processes, those that others created behind these. */
static void define_location_groups(struct defining *d)
{
    for (uint32_t rank = 0; rank < d->world->n_ranks && !has_failed(d); rank++)
        define_rank(d, rank);
    for (uint32_t i = 0; i < d->p->n_processes && !has_failed(d); i++)
        if (!is_rank(d, i))
            define_process(d, i);
    if (d->world->unknown)
        put_location_group(d, d->world->n_groups, "MPI ranks that are not known", 0,
                           OTF2_UNDEFINED_LOCATION_GROUP);
}

static void put_empty_location(struct defining *d, uint64_t location, uint32_t group)
{
    note(d, d->lib->GlobalDefWriter_WriteLocation(d->defs, location, string(d, "Master thread"),
                                                  OTF2_LOCATION_TYPE_CPU_THREAD, 0, group));
}

static void define_location(struct defining *d, uint32_t location)
{
    const struct ar_location *x = &d->p->locations[location];
    const char *text = ar_strtab_text(&d->p->strings, x->name);
    char name[64];

    if (!x->thread)
        text = "Master thread";
    else if (!*text) {
        snprintf(name, sizeof name, "Thread %" PRIu32, x->thread);
        text = name;
    }
    note(d, d->lib->GlobalDefWriter_WriteLocation(
                d->defs, location, string(d, text), OTF2_LOCATION_TYPE_CPU_THREAD,
                d->written[location].n_events, d->world->group[x->process]));
}

static void define_locations(struct defining *d)
{
    uint64_t next = d->p->n_locations;

    for (uint32_t i = 0; i < d->p->n_locations && !has_failed(d); i++)
        define_location(d, i);
    for (uint32_t rank = 0; rank < d->world->n_ranks && !has_failed(d); rank++)
        if (d->world->of_rank[rank] == AR_NO_ID)
            put_empty_location(d, next++, rank);
    if (d->world->unknown)
        put_empty_location(d, next, d->world->n_groups);
}

/* ---- regions ---------------------------------------------------------------------------------- */

#ifndef AR_OTF2_HAS_PYTHON
#define OTF2_PARADIGM_PYTHON OTF2_PARADIGM_USER
#endif

static OTF2_RegionRole role_of(const struct defining *d, uint32_t function)
{
    const struct ar_function *f = &d->p->functions[function];

    if (ar_function_is_pause(d->p, function))
        return OTF2_REGION_ROLE_ARTIFICIAL;
    switch (f->kind) {
    case AR_FUNCTION_MPI:
        return ar_otf2_role_of_mpi(ar_strtab_text(&d->p->strings, f->name));
    case AR_FUNCTION_REGION:
        return OTF2_REGION_ROLE_CODE;
    case AR_FUNCTION_TASK:
        return OTF2_REGION_ROLE_TASK;
    case AR_FUNCTION_OPERATION:
        return OTF2_REGION_ROLE_WRAPPER;
    case AR_FUNCTION_PYTHON:
    case AR_FUNCTION_BUILTIN:
        return OTF2_REGION_ROLE_FUNCTION;
    default:
        return OTF2_REGION_ROLE_ARTIFICIAL;
    }
}

static OTF2_Paradigm paradigm_of(const struct ar_function *f)
{
    if (f->kind == AR_FUNCTION_PYTHON)
        return OTF2_PARADIGM_PYTHON;
    switch (f->kind) {
    case AR_FUNCTION_MPI:
        return OTF2_PARADIGM_MPI;
    case AR_FUNCTION_BUILTIN:
    case AR_FUNCTION_REGION:
    case AR_FUNCTION_TASK:
    case AR_FUNCTION_OPERATION:
        return OTF2_PARADIGM_USER;
    default:
        return OTF2_PARADIGM_MEASUREMENT_SYSTEM;
    }
}

/*
 * A region has no definition of its own: its place is that of the first call path in which it begins, by function. NULL: no memory.
 */
static struct ar_place *find_places(const struct ar_profile *p)
{
    struct ar_place *places = calloc(p->n_functions + 1, sizeof *places);

    for (uint32_t i = 1; places && i < p->n_nodes; i++) {
        uint32_t function = p->nodes[i].function;

        if (p->functions[function].kind == AR_FUNCTION_REGION &&
            !ar_function_is_pause(p, function) && !places[function].line)
            places[function] = ar_place_of_call(p, i);
    }
    return places;
}

static void define_regions(struct defining *d)
{
    char room[AR_NAME_BYTES];
    struct ar_place *places = find_places(d->p);

    if (!places)
        d->status = AR_NOMEM;
    for (uint32_t i = 0; i < d->p->n_functions && !has_failed(d); i++) {
        const struct ar_function *f = &d->p->functions[i];
        OTF2_StringRef name = string(d, ar_scorep_name(d->p, i, room));
        OTF2_StringRef canonical = profile_string(d, f->name);
        OTF2_StringRef description = string(d, ar_function_kind_name(f->kind));
        bool has_place = places[i].line;
        OTF2_StringRef file =
            has_place ? string(d, ar_place_file(d->p, places[i])) : profile_string(d, f->file);

        note(d, d->lib->GlobalDefWriter_WriteRegion(
                    d->defs, i, name, canonical, description, role_of(d, i), paradigm_of(f),
                    OTF2_REGION_FLAG_NONE, file, has_place ? places[i].line : f->first_line, 0));
    }
    free(places);
}

/* The text before the colon is what a function belongs to, as Score-P's bindings group them; functions of MPI have none. */
static OTF2_StringRef group_of(struct defining *d, uint32_t function)
{
    char room[AR_NAME_BYTES], group[AR_NAME_BYTES];
    const char *name = ar_scorep_name(d->p, function, room);

    if (d->p->functions[function].kind == AR_FUNCTION_MPI)
        return string(d, "MPI");
    snprintf(group, sizeof group, "%.*s", (int)strcspn(name, ":"), name);
    return string(d, group);
}

struct grouped {
    uint32_t group, function;
};

static int by_group(const void *a, const void *b)
{
    const struct grouped *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->function > y->function) - (x->function < y->function);
}

static void put_region_groups(struct defining *d, const struct grouped *all, size_t n,
                              uint64_t *members)
{
    for (size_t i = 0, end; i < n && !has_failed(d); i = end) {
        for (end = i; end < n && all[end].group == all[i].group; end++)
            members[end - i] = all[end].function;
        note(d, d->lib->GlobalDefWriter_WriteGroup(
                    d->defs, d->n_groups++, all[i].group, OTF2_GROUP_TYPE_REGIONS,
                    paradigm_of(&d->p->functions[all[i].function]), OTF2_GROUP_FLAG_NONE,
                    (uint32_t)(end - i), members));
    }
}

static void define_region_groups(struct defining *d)
{
    size_t n = d->p->n_functions;
    struct grouped *all = calloc(n + 1, sizeof *all);
    uint64_t *members = calloc(n + 1, sizeof *members);

    if (!all || !members)
        d->status = AR_NOMEM;
    for (uint32_t i = 0; i < n && !has_failed(d); i++)
        all[i] = (struct grouped){group_of(d, i), i};
    if (!has_failed(d)) {
        qsort(all, n, sizeof *all, by_group);
        put_region_groups(d, all, n, members);
    }
    free(all);
    free(members);
}

static void define_parameters(struct defining *d)
{
    static const OTF2_ParameterType types[] = {[AR_TRACE_SIGNED] = OTF2_PARAMETER_TYPE_INT64,
                                               [AR_TRACE_UNSIGNED] = OTF2_PARAMETER_TYPE_UINT64,
                                               [AR_TRACE_TEXT] = OTF2_PARAMETER_TYPE_STRING};
    const struct ar_otf2_parameters *parameters = &d->work->names.parameters;

    for (uint32_t i = 0; i < parameters->n && !has_failed(d); i++)
        note(d, d->lib->GlobalDefWriter_WriteParameter(d->defs, i, parameters->items[i].name,
                                                       types[parameters->items[i].type]));
}

static const char *unit_of(const struct defining *d, const char *name)
{
    unsigned metric = ar_profile_metric_named(d->p, name);

    const char *unit = metric == AR_MAX_METRICS ? "" : ar_profile_metric(d->p, metric)->unit;

    return strcmp(unit, "1") == 0 ? "#" : unit; /* as Score-P has it */
}

/* Each is a class of its own, because the threads of a run need not have the same ones. */
static void define_counters(struct defining *d)
{
    const struct ar_otf2_names *names = &d->work->names;

    for (uint32_t i = 0; i < names->counters.n && !has_failed(d); i++) {
        uint32_t name = names->counters.items[i].name;
        const char *text = ar_strtab_text(&names->strings, name);
        OTF2_MetricMemberRef member = i;

        note(d, d->lib->GlobalDefWriter_WriteMetricMember(
                    d->defs, i, name, 0,
                    strncmp(text, "PAPI_", 5) == 0 ? OTF2_METRIC_TYPE_PAPI : OTF2_METRIC_TYPE_OTHER,
                    OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_UINT64, OTF2_BASE_DECIMAL, 0,
                    string(d, unit_of(d, text))));
        note(d, d->lib->GlobalDefWriter_WriteMetricClass(
                    d->defs, i, 1, &member, OTF2_METRIC_SYNCHRONOUS, OTF2_RECORDER_KIND_CPU));
    }
}

/* ---- communicators ---------------------------------------------------------------------------- */

static bool is_defined(const struct ar_comm *c)
{
    return c->origin != AR_COMM_WINDOW && c->origin != AR_COMM_FILE;
}

static uint32_t put_group(struct defining *d, const char *name, OTF2_GroupType type,
                          const uint64_t *members, uint32_t n)
{
    note(d,
         d->lib->GlobalDefWriter_WriteGroup(d->defs, d->n_groups, string(d, name), type,
                                            OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, n, members));
    return d->n_groups++;
}

static void define_world(struct defining *d)
{
    uint64_t next = d->p->n_locations;
    uint64_t *locations = malloc(((size_t)d->world->n_ranks + 1) * sizeof *locations);
    uint32_t n = d->world->n_ranks;

    if (!locations) {
        d->status = AR_NOMEM;
        return;
    }
    for (uint32_t rank = 0; rank < d->world->n_ranks; rank++) {
        uint32_t process = d->world->of_rank[rank];

        locations[rank] = process == AR_NO_ID ? next++ : d->world->location[process];
    }
    if (d->world->unknown)
        locations[n++] = next;
    put_group(d, "", OTF2_GROUP_TYPE_COMM_LOCATIONS, locations, n);
    free(locations);
}

/* The members of a communicator, as far as they are known, and how many there are. */
struct roster {
    const struct ar_comm *comm;
    const struct ar_comm_member *members;
    size_t n;
    uint32_t size;
};

static struct roster roster_of(const struct ar_otf2_work *work, uint32_t comm)
{
    const struct ar_comm *c = &work->p->comms[work->members.alike[comm]];
    uint64_t size = (uint64_t)c->size + c->remote_size;
    struct roster r = {.comm = c, .size = size < MOST_RANKS ? (uint32_t)size : MOST_RANKS};

    r.members = ar_comm_members_of(&work->members, comm, &r.n);
    return r;
}

/* The number of member `i` in the group; `size`: it is not known, or makes no sense. */
static uint32_t place_of(const struct roster *r, size_t i, uint32_t n_ranks)
{
    uint32_t place = ar_otf2_rank(r->comm, r->members[i].rank >> 1, r->members[i].rank & 1);

    return place < r->size && r->members[i].world_rank < n_ranks ? place : r->size;
}

/* Of the world every rank is in its place, whether it is known or not. */
static bool is_world(const struct roster *r)
{
    return r->comm->origin == AR_COMM_WORLD;
}

static uint32_t put_members(struct defining *d, const struct roster *r)
{
    uint64_t *members = malloc(((size_t)r->size + 1) * sizeof *members);
    uint32_t group;

    if (!members) {
        d->status = AR_NOMEM;
        return 0;
    }
    for (uint32_t i = 0; i < r->size; i++)
        members[i] = is_world(r) && i < d->world->n_ranks ? i : d->world->unknown;
    for (size_t i = 0; i < r->n; i++)
        if (place_of(r, i, d->world->n_ranks) < r->size)
            members[place_of(r, i, d->world->n_ranks)] = r->members[i].world_rank;
    group = put_group(d, "", OTF2_GROUP_TYPE_COMM_GROUP, members, r->size);
    free(members);
    return group;
}

static void define_comm(struct defining *d, uint32_t comm, uint32_t group)
{
    const struct ar_comm *c = &d->p->comms[comm];
    OTF2_CommRef parent =
        c->parent && c->parent <= comm ? d->work->comms[c->parent - 1] : OTF2_UNDEFINED_COMM;

    note(d, d->lib->GlobalDefWriter_WriteComm(d->defs, d->work->comms[comm],
                                              profile_string(d, c->name), group, parent,
                                              OTF2_COMM_FLAG_NONE));
}

/* At most one group of all that consist of one process each may be there. */
static void define_all_comms(struct defining *d, uint32_t *groups)
{
    const struct ar_comm_members *all = &d->work->members;
    uint32_t self = put_group(d, "", OTF2_GROUP_TYPE_COMM_SELF, NULL, 0);

    for (uint32_t comm = 0; comm < d->p->n_comms && !has_failed(d); comm++) {
        uint32_t alike = all->alike[comm];
        struct roster roster = roster_of(d->work, comm);

        if (!is_defined(&d->p->comms[comm]))
            continue;
        groups[comm] = d->p->comms[alike].origin == AR_COMM_SELF ? self
                       : alike != comm                           ? groups[alike]
                                                                 : put_members(d, &roster);
        define_comm(d, comm, groups[comm]);
    }
}

static void define_comms(struct defining *d)
{
    uint32_t *groups = calloc(d->p->n_comms + 1, sizeof *groups);

    if (!groups) {
        d->status = AR_NOMEM;
        return;
    }
    note(d, d->lib->GlobalDefWriter_WriteParadigm(d->defs, OTF2_PARADIGM_MPI, string(d, "MPI"),
                                                  OTF2_PARADIGM_CLASS_PROCESS));
    define_world(d);
    define_all_comms(d, groups);
    free(groups);
}

uint32_t *ar_otf2_comms(const struct ar_profile *p)
{
    uint32_t *comms = calloc(p->n_comms + 1, sizeof *comms), n = 0;

    for (uint32_t i = 0; comms && i < p->n_comms; i++) {
        const struct ar_comm *c = &p->comms[i];

        if (is_defined(c))
            comms[i] = n++;
        else
            comms[i] = c->parent && c->parent <= i ? comms[c->parent - 1] : OTF2_UNDEFINED_COMM;
    }
    return comms;
}

/* ---- the world -------------------------------------------------------------------------------- */

/* Children are recorded with their rank, too: it is that of the process that started them. */
static bool has_rank(const struct ar_profile *p, uint32_t process)
{
    return p->processes[process].world_rank != AR_RANK_NONE &&
           p->processes[process].root == process;
}

static uint32_t count_ranks(const struct ar_profile *p)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->n_processes; i++) {
        const struct ar_process *x = &p->processes[i];

        if (!has_rank(p, i))
            continue;
        n = x->world_rank >= n ? x->world_rank + 1 : n;
        n = x->world_size > n ? x->world_size : n;
    }
    return n;
}

static void number_groups(struct ar_otf2_world *world, const struct ar_profile *p)
{
    uint32_t next = world->n_ranks;

    for (uint32_t i = 0; i < p->n_processes; i++) {
        uint32_t rank = p->processes[i].world_rank;
        bool is_first = has_rank(p, i) && world->of_rank[rank] == AR_NO_ID;

        world->group[i] = is_first ? rank : next++;
        if (is_first)
            world->of_rank[rank] = i;
    }
    world->n_groups = next;
    for (uint32_t rank = 0; rank < world->n_ranks; rank++)
        world->n_absent += world->of_rank[rank] == AR_NO_ID;
    for (uint32_t i = (uint32_t)p->n_locations; i-- > 0;)
        world->location[p->locations[i].process] = i;
}

enum ar_status ar_otf2_world_find(struct ar_otf2_world *out, const struct ar_profile *p,
                                  struct ar_error *err)
{
    uint32_t n = count_ranks(p);

    *out = (struct ar_otf2_world){0};
    if (n > MOST_RANKS)
        return ar_fail(err, AR_BAD, "a world of %" PRIu32 " ranks makes no sense", n);
    out->n_ranks = n;
    out->of_rank = malloc(((size_t)n + 1) * sizeof *out->of_rank);
    out->location = calloc(p->n_processes + 1, sizeof *out->location);
    out->group = calloc(p->n_processes + 1, sizeof *out->group);
    if (!out->of_rank || !out->location || !out->group) {
        ar_otf2_world_free(out);
        return ar_fail(err, AR_NOMEM, "out of memory");
    }
    memset(out->of_rank, 0xff, ((size_t)n + 1) * sizeof *out->of_rank);
    number_groups(out, p);
    return AR_OK;
}

void ar_otf2_world_free(struct ar_otf2_world *world)
{
    free(world->of_rank);
    free(world->location);
    free(world->group);
    *world = (struct ar_otf2_world){0};
}

/* No two members have one place: so it is enough to count. */
static bool has_unknown(const struct roster *r, uint32_t n_ranks)
{
    uint32_t n_known = 0;

    for (size_t i = 0; i < r->n; i++)
        n_known += place_of(r, i, n_ranks) < r->size;
    return n_known < r->size && !(is_world(r) && r->size <= n_ranks);
}

void ar_otf2_world_end(struct ar_otf2_world *world, struct ar_otf2_work *work)
{
    const struct ar_profile *p = work->p;
    bool is_one_unknown = false;

    ar_comm_members_end(&work->members);
    for (uint32_t comm = 0; comm < p->n_comms && !is_one_unknown; comm++) {
        struct roster roster = roster_of(work, comm);

        is_one_unknown = is_defined(&p->comms[comm]) && roster.comm->origin != AR_COMM_SELF &&
                         has_unknown(&roster, world->n_ranks);
    }
    world->unknown = is_one_unknown ? world->n_ranks : 0;
}

/* ---- all of them ------------------------------------------------------------------------------ */

enum ar_status ar_otf2_define(struct ar_otf2_work *work, const struct ar_otf2_world *world,
                              const struct ar_otf2_written *written, struct ar_error *err)
{
    struct defining d = {.work = work,
                         .lib = work->lib,
                         .p = work->p,
                         .world = world,
                         .written = written,
                         .defs = work->lib->Archive_GetGlobalDefWriter(work->archive),
                         .nodes = calloc(work->p->strings.n_strings + 1, sizeof *d.nodes)};

    if (!d.defs || !d.nodes) {
        free(d.nodes);
        return d.defs ? ar_fail(err, AR_NOMEM, "out of memory")
                      : ar_fail(err, AR_IO, "libotf2: %s", ar_otf2_complaint());
    }
    define_clock(&d);
    define_strings(&d);
    define_system_tree(&d);
    define_location_groups(&d);
    define_locations(&d);
    define_regions(&d);
    define_region_groups(&d);
    define_parameters(&d);
    define_counters(&d);
    if (world->n_ranks)
        define_comms(&d);
    if (d.code == OTF2_SUCCESS)
        note(&d, work->lib->Archive_CloseGlobalDefWriter(work->archive, d.defs));
    free(d.nodes);
    if (d.status < 0)
        return ar_fail(err, d.status, "out of memory");
    return d.code == OTF2_SUCCESS ? AR_OK : ar_otf2_refuse(work->lib, d.code, err);
}
