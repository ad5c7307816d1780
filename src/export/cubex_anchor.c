// SPDX-License-Identifier: BSD-3-Clause
#include "export/cubex_anchor.h"

#include "analysis/mpi_class.h"
#include "analysis/place.h"
#include "analysis/scorep_names.h"
#include "base/text.h"
#include "export/xml.h"
#include "format/mpi_functions.h"

#include <stdio.h>
#include <string.h>

static const char *text_of(const struct ar_profile *p, uint32_t string)
{
    return ar_strtab_text(&p->strings, string);
}

/* ---- attributes and metrics ------------------------------------------------------------------- */

static void put_attribute(struct ar_bytes *out, const char *key_before, const char *key,
                          const char *value_before, const char *value)
{
    ar_xml_put(out, "<attr key=\"");
    ar_xml_text(out, key_before);
    ar_xml_text(out, key);
    ar_xml_put(out, "\" value=\"");
    ar_xml_text(out, value_before);
    ar_xml_text(out, value);
    ar_xml_put(out, "\"/>\n");
}

/* Facts of the run are what is not CUBE's. */
static void put_attributes(const struct ar_profile *p, struct ar_bytes *out)
{
    put_attribute(out, "Cube anchor.xml syntax version", "", "4.4", "");
    put_attribute(out, "Creator", "", "allranks ", ar_profile_fact_text(p, "allranks"));
    put_attribute(out, "CUBE_CT_AGGR", "", "SUM", "");
    for (size_t i = 0; i < p->n_facts; i++)
        put_attribute(out, "allranks::", text_of(p, p->facts[i].key), "",
                      text_of(p, p->facts[i].value));
}

static void put_metric(const struct ar_cubex_metric *metric, size_t id, struct ar_bytes *out)
{
    ar_xml_put(out, "<metric");
    ar_xml_integer_attribute(out, "id", (int64_t)id);
    ar_xml_attribute(out, "type", metric->is_inclusive ? "INCLUSIVE" : "EXCLUSIVE");
    ar_xml_put(out, ">\n");
    ar_xml_element(out, "disp_name", metric->display);
    ar_xml_put(out, "<uniq_name>");
    ar_xml_put(out, metric->is_renamed ? "recorded_" : "");
    ar_xml_text(out, metric->name);
    ar_xml_put(out, "</uniq_name>\n");
    ar_xml_element(out, "dtype", ar_cubex_type(metric->form));
    ar_xml_element(out, "uom", metric->unit);
    ar_xml_element(out, "url", "");
    ar_xml_element(out, "descr", metric->description);
    ar_xml_put(out, "</metric>\n");
}

static void put_metrics(const struct ar_cubex *c, struct ar_bytes *out)
{
    ar_xml_put(out, "<metrics>\n");
    for (size_t i = 0; i < c->metrics.n; i++)
        put_metric(&c->metrics.list[i], i, out);
    ar_xml_put(out, "</metrics>\n");
}

/* ---- regions ---------------------------------------------------------------------------------- */

/* Who made it known, and what it does, in Score-P's words. */
struct kind {
    const char *paradigm, *role;
};

/* Of classes of format/mpi.def that have a word of their own; of collective calls it is by who waits for whom. */
static const char *role_of_mpi(const char *name)
{
    static const char *const roles[][2] = {
        {"p2p", "point2point"}, {"rma", "rma"}, {"io", "file io"}};
    static const char *const collective[AR_N_SYNC_KINDS] = {[AR_SYNC_BARRIER] = "barrier",
                                                            [AR_SYNC_ALL] = "all2all",
                                                            [AR_SYNC_FROM_ROOT] = "one2all",
                                                            [AR_SYNC_TO_ROOT] = "all2one",
                                                            [AR_SYNC_SCAN] = "other collective"};
    struct ar_mpi_class class = ar_mpi_class_of(name);
    const struct ar_mpi_function *function = ar_mpi_function_named(class.function);

    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(class.name, roles[i][0]) == 0)
            return roles[i][1];
    if (strcmp(class.name, "collective") != 0)
        return "function";
    return function && collective[function->sync] ? collective[function->sync] : "other collective";
}

static struct kind kind_of(const struct ar_profile *p, uint32_t function)
{
    const struct ar_function *f = &p->functions[function];

    if (ar_function_is_pause(p, function))
        return (struct kind){"user", "artificial"};
    switch (f->kind) {
    case AR_FUNCTION_MPI:
        return (struct kind){"mpi", role_of_mpi(text_of(p, f->name))};
    case AR_FUNCTION_REGION:
        return (struct kind){"user", "code"};
    case AR_FUNCTION_TASK:
        return (struct kind){"user", "task"};
    case AR_FUNCTION_OPERATION:
        return (struct kind){"user", "wrapper"};
    case AR_FUNCTION_THREAD:
    case AR_FUNCTION_PROCESS:
    case AR_FUNCTION_UNASSIGNED:
        return (struct kind){"measurement", "artificial"};
    default:
        return (struct kind){"user", "function"};
    }
}

struct region {
    const char *file, *name, *mangled, *description;
    uint32_t line; /* 0: not known */
    struct kind kind;
};

static void put_region(const struct region *region, uint32_t id, struct ar_bytes *out)
{
    ar_xml_put(out, "<region");
    ar_xml_integer_attribute(out, "id", id);
    ar_xml_attribute(out, "mod", region->file);
    ar_xml_integer_attribute(out, "begin", region->line ? (int64_t)region->line : -1);
    ar_xml_integer_attribute(out, "end", -1);
    ar_xml_put(out, ">\n");
    ar_xml_element(out, "name", region->name);
    ar_xml_element(out, "mangled_name", region->mangled);
    ar_xml_element(out, "paradigm", region->kind.paradigm);
    ar_xml_element(out, "role", region->kind.role);
    ar_xml_element(out, "url", "");
    ar_xml_element(out, "descr", region->description);
    ar_xml_put(out, "</region>\n");
}

/* Score-P's root is the program, too. */
static void put_root_region(const struct ar_profile *p, struct ar_bytes *out)
{
    const char *program = ar_base_name(ar_profile_fact_text(p, "program"));
    const char *command = ar_profile_fact_text(p, "command");
    const char *name = *program ? program : "program";

    put_region(&(struct region){.file = "",
                                .name = name,
                                .mangled = *command ? command : name,
                                .description = "",
                                .kind = {"measurement", "artificial"}},
               0, out);
}

static void put_function(const struct ar_profile *p, uint32_t function, uint32_t id,
                         struct ar_bytes *out)
{
    const struct ar_function *f = &p->functions[function];
    const char *file = f->kind == AR_FUNCTION_MPI ? "MPI" : text_of(p, f->file);
    char room[AR_NAME_BYTES];
    const char *name = ar_scorep_name(p, function, room);

    put_region(&(struct region){.file = file,
                                .name = name,
                                .mangled = name,
                                .description = text_of(p, f->name),
                                .line = f->first_line,
                                .kind = kind_of(p, function)},
               id, out);
}

static void put_regions(const struct ar_cubex *c, struct ar_bytes *out)
{
    put_root_region(c->p, out);
    for (uint32_t f = 0; f < c->p->n_functions; f++)
        if (c->tree.region_of[f] != AR_NO_ID)
            put_function(c->p, f, c->tree.region_of[f], out);
}

/* ---- call tree -------------------------------------------------------------------------------- */

static void put_cnode(const struct ar_cubex *c, uint32_t id, struct ar_bytes *out)
{
    uint32_t node = c->tree.deep[id];
    uint32_t region = id ? c->tree.region_of[c->p->nodes[node].function] : 0;
    struct ar_place place = ar_place_of_call(c->p, node);

    ar_xml_put(out, "<cnode");
    ar_xml_integer_attribute(out, "id", id);
    if (place.line) {
        ar_xml_integer_attribute(out, "line", place.line);
        ar_xml_attribute(out, "mod", ar_place_file(c->p, place));
    }
    ar_xml_integer_attribute(out, "calleeId", region);
    ar_xml_put(out, ">\n");
}

/* A node is closed when one comes that is not below it. */
static void put_tree(const struct ar_cubex *c, struct ar_bytes *out)
{
    uint32_t open = AR_NO_ID;

    for (uint32_t id = 0; id < c->tree.n; id++) {
        uint32_t node = c->tree.deep[id];

        for (; open != c->p->nodes[node].parent; open = c->p->nodes[open].parent)
            ar_xml_put(out, "</cnode>\n");
        put_cnode(c, id, out);
        open = node;
    }
    for (; open != AR_NO_ID; open = c->p->nodes[open].parent)
        ar_xml_put(out, "</cnode>\n");
}

/* ---- system ----------------------------------------------------------------------------------- */

static void put_thread(const struct ar_cubex *c, uint32_t column, struct ar_bytes *out)
{
    uint32_t location = c->system.location_at[column];
    char numbered[32] = "(no thread)";
    const char *name = "";
    uint32_t number = 0;

    if (location != AR_NO_ID) {
        number = c->p->locations[location].thread;
        name = text_of(c->p, c->p->locations[location].name);
        snprintf(numbered, sizeof numbered, "thread %u", number);
    }
    ar_xml_put(out, "<location");
    ar_xml_integer_attribute(out, "Id", column);
    ar_xml_put(out, ">\n");
    ar_xml_element(out, "name", *name ? name : numbered);
    ar_xml_integer_element(out, "rank", number);
    ar_xml_element(out, "type", "thread");
    ar_xml_put(out, "</location>\n");
}

static void put_process(const struct ar_cubex *c, uint32_t id, struct ar_bytes *out)
{
    const struct ar_cubex_process *process = &c->system.processes[id];
    char name[256];

    ar_cubex_process_name(c->p, process->process, name, sizeof name);
    ar_xml_put(out, "<locationgroup");
    ar_xml_integer_attribute(out, "Id", id);
    ar_xml_put(out, ">\n");
    ar_xml_element(out, "name", name);
    ar_xml_integer_element(out, "rank", process->rank);
    ar_xml_element(out, "type", "process");
    for (uint32_t i = 0; i < process->n_columns; i++)
        put_thread(c, process->first_column + i, out);
    ar_xml_put(out, "</locationgroup>\n");
}

static void open_host(const struct ar_profile *p, uint32_t host, uint32_t id, struct ar_bytes *out)
{
    const char *name = text_of(p, host);

    ar_xml_put(out, "<systemtreenode");
    ar_xml_integer_attribute(out, "Id", id);
    ar_xml_put(out, ">\n<name>node ");
    ar_xml_text(out, *name ? name : "unknown");
    ar_xml_put(out, "</name>\n<class>node</class>\n");
}

static void put_hosts(const struct ar_cubex *c, struct ar_bytes *out)
{
    uint32_t n_hosts = 0;

    for (uint32_t i = 0; i < c->system.n_processes; i++) {
        const struct ar_cubex_process *process = &c->system.processes[i];

        if (i == 0 || process->host != process[-1].host) {
            ar_xml_put(out, i ? "</systemtreenode>\n" : "");
            open_host(c->p, process->host, ++n_hosts, out);
        }
        put_process(c, i, out);
    }
    ar_xml_put(out, n_hosts ? "</systemtreenode>\n" : "");
}

/* As Score-P has it: a grid of processes by threads. */
static void put_grid(const struct ar_cubex *c, struct ar_bytes *out)
{
    const struct ar_cubex_system *system = &c->system;
    uint32_t n_most = 1;

    for (uint32_t i = 0; i < system->n_processes; i++)
        if (system->processes[i].n_columns > n_most)
            n_most = system->processes[i].n_columns;
    ar_xml_put(out, "<topologies>\n<cart name=\"Process x Thread\" ndims=\"2\">\n"
                    "<dim name=\"Process\"");
    ar_xml_integer_attribute(out, "size", system->n_processes);
    ar_xml_put(out, " periodic=\"false\"/>\n<dim name=\"Thread\"");
    ar_xml_integer_attribute(out, "size", n_most);
    ar_xml_put(out, " periodic=\"false\"/>\n");
    for (uint32_t i = 0; i < system->n_processes; i++)
        for (uint32_t k = 0; k < system->processes[i].n_columns; k++) {
            ar_xml_put(out, "<coord");
            ar_xml_integer_attribute(out, "locId", system->processes[i].first_column + k);
            ar_xml_put(out, ">");
            ar_xml_integer(out, i);
            ar_xml_put(out, " ");
            ar_xml_integer(out, k);
            ar_xml_put(out, "</coord>\n");
        }
    ar_xml_put(out, "</cart>\n</topologies>\n");
}

void ar_cubex_put_anchor(const struct ar_cubex *c, struct ar_bytes *out)
{
    ar_xml_put(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\n<cube version=\"4.4\">\n");
    put_attributes(c->p, out);
    put_metrics(c, out);
    ar_xml_put(out, "<program>\n");
    put_regions(c, out);
    put_tree(c, out);
    ar_xml_put(out, "</program>\n<system>\n<systemtreenode Id=\"0\">\n<name>machine</name>\n"
                    "<class>machine</class>\n");
    put_hosts(c, out);
    ar_xml_put(out, "</systemtreenode>\n");
    put_grid(c, out);
    ar_xml_put(out, "</system>\n</cube>\n");
}
