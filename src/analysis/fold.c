// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/fold.h"

#include "analysis/place.h"
#include "format/import_system.h"

#include <stdlib.h>
#include <string.h>

/* Everything but nodes and what is said of them. */
static enum ar_status copy_dimensions(struct ar_profile *out, const struct ar_profile *p)
{
    const struct ar_profile bare = ar_profile_without_values(p);

    return ar_profile_merge(out, &bare);
}

/* Pairs of callers have no lines, and an import below them is not told from its parts. */
static enum ar_status copy_all(struct ar_profile *out, const struct ar_profile *p)
{
    enum ar_status status = ar_profile_merge(out, p);

    return status == AR_OK ? ar_profile_sort(out) : status;
}

struct folding {
    struct ar_profile *out;
    const struct ar_profile *p;
    uint32_t *ids;      /* what a node became */
    uint32_t *comms;    /* what a communicator became */
    uint32_t *strings;  /* what a text became */
    bool *within;       /* part of the node above it, whose time has it already */
    uint32_t import_id; /* the function that stands for the import system */
};

/* Which call of MPI it was is the question, and its line the answer. */
static bool keeps_line(const struct ar_profile *p, uint32_t node)
{
    uint32_t kind = p->functions[p->nodes[node].function].kind;

    return kind == AR_FUNCTION_MPI || kind == AR_FUNCTION_OPERATION;
}

/* Functions keep their numbers: the copy has all of them, in the same order. */
static enum ar_status fold_node(struct folding *f, uint32_t i)
{
    struct ar_profile_node node = f->p->nodes[i];
    uint32_t parent = f->ids[node.parent];

    if (ar_function_imports(f->p, node.function)) {
        if (f->out->nodes[parent].function == f->import_id) {
            f->ids[i] = parent;
            f->within[i] = true;
            return AR_OK;
        }
        node.function = f->import_id;
    } else {
        node.line = keeps_line(f->p, i) ? ar_line_of_node(f->p, i) : 0;
    }
    node.parent = parent;
    return ar_profile_node(f->out, node, &f->ids[i]);
}

/* Those that have what they called are within the node above already; others are added to it. */
static enum ar_status fold_metric(struct folding *f, unsigned metric)
{
    const struct ar_metric *m = &f->p->metrics[metric];
    bool is_exclusive = ar_profile_metric(f->p, metric)->scope == AR_SCOPE_EXCLUSIVE;

    for (size_t i = 0; i < m->n_values; i++) {
        struct ar_value value = m->values[i];

        if (f->within[value.node] && !is_exclusive)
            continue;
        value.node = f->ids[value.node];
        if (ar_profile_value(f->out, metric, value) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

static enum ar_status fold_values(struct folding *f)
{
    enum ar_status status = AR_OK;

    for (unsigned m = 0; m < ar_profile_n_metrics(f->p) && status == AR_OK; m++)
        status = fold_metric(f, m);
    return status;
}

/* How many rows of the profile that has the values a node stands for; a selection shows another's. */
static uint32_t n_rows_of(const struct ar_profile *p, enum ar_row_list_id list, uint32_t node)
{
    const uint32_t *first = p->rows[list].first;

    return p->rows_of ? first[node + 1] - first[node] : 1;
}

static uint32_t row_of(const struct ar_profile *p, enum ar_row_list_id list, uint32_t node,
                       uint32_t i)
{
    return p->rows_of ? p->rows[list].nodes[p->rows[list].first[node] + i] : node;
}

static enum ar_status keep_locations(struct folding *f)
{
    size_t n_bytes = f->p->rows_of ? f->p->rows_of->n_locations * sizeof(uint32_t) : 0;

    if (!f->p->location_of)
        return AR_OK;
    f->out->location_of = malloc(n_bytes + 1);
    if (!f->out->location_of)
        return AR_NOMEM;
    memcpy(f->out->location_of, f->p->location_of, n_bytes);
    return AR_OK;
}

/* Which nodes make up which: by counting, in their order. */
static enum ar_status list_rows(struct folding *f, enum ar_row_list_id list)
{
    bool has_all = list == AR_ROWS_EXCLUSIVE;
    uint32_t *first = calloc(f->out->n_nodes + 2, sizeof *first), *nodes;
    size_t n_rows = 0;

    f->out->rows[list].first = first;
    for (uint32_t i = 0; i < f->p->n_nodes && first; i++)
        if (has_all || !f->within[i]) {
            first[f->ids[i] + 1] += n_rows_of(f->p, list, i);
            n_rows += n_rows_of(f->p, list, i);
        }
    f->out->rows[list].nodes = nodes = malloc((n_rows + 1) * sizeof *nodes);
    if (!first || !nodes)
        return AR_NOMEM;
    for (size_t i = 0; i < f->out->n_nodes; i++)
        first[i + 1] += first[i];
    /* Each is put at its beginning, which moves on; then all are moved back by one. */
    for (uint32_t i = 0; i < f->p->n_nodes; i++)
        for (uint32_t k = 0; (has_all || !f->within[i]) && k < n_rows_of(f->p, list, i); k++)
            nodes[first[f->ids[i]]++] = row_of(f->p, list, i, k);
    memmove(first + 1, first, f->out->n_nodes * sizeof *first);
    first[0] = 0;
    return AR_OK;
}

static enum ar_status fold_rows(struct folding *f)
{
    enum ar_status status = list_rows(f, AR_ROWS_SHOWN);

    if (status == AR_OK && ar_profile_has_exclusive(f->p))
        status = list_rows(f, AR_ROWS_EXCLUSIVE);
    f->out->rows_of = f->p->rows_of ? f->p->rows_of : f->p;
    return status == AR_OK ? keep_locations(f) : status;
}

/* Those that were told apart only by the place that made them may become one. */
static enum ar_status fold_comms(struct folding *f)
{
    for (size_t i = 0; i < f->p->n_comms; i++) {
        struct ar_comm comm = f->p->comms[i];

        comm.parent = comm.parent ? f->comms[comm.parent - 1] + 1 : 0;
        comm.made_at = comm.made_at ? f->ids[comm.made_at - 1] + 1 : 0;
        if (ar_profile_comm(f->out, comm, &f->comms[i]) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

static enum ar_status fold_tables(struct folding *f)
{
    const struct ar_role_maps maps = {
        .to = {[AR_ROLE_STRING] = f->strings, [AR_ROLE_NODE] = f->ids, [AR_ROLE_COMM] = f->comms}};

    enum ar_status status = ar_profile_add_tables(f->out, f->p, &maps);

    return status == AR_OK ? ar_profile_add_other_streams(f->out, f->p, &maps, !f->p->file)
                           : status;
}

/* Of a packed run the bytes are those of its file, which the result shows rows of, too. */
static enum ar_status fold_streams(struct folding *f)
{
    const struct ar_stream_maps maps = {f->ids, f->comms};

    for (size_t i = 0; i < f->p->n_streams; i++) {
        const struct ar_stream *stream = &f->p->streams[i];

        if (ar_profile_stream(f->out, stream, stream->location, &maps, !f->p->file) < 0)
            return AR_NOMEM;
    }
    return AR_OK;
}

static void fold_stacks(struct folding *f)
{
    for (size_t i = 0; i < f->p->n_locations; i++) {
        uint32_t current = f->p->locations[i].current;

        f->out->locations[i].current = current ? f->ids[current - 1] + 1 : 0;
    }
}

static enum ar_status fold_all(struct folding *f)
{
    struct ar_function import = {.kind = AR_FUNCTION_IMPORT};
    enum ar_status status = copy_dimensions(f->out, f->p);

    if (status == AR_OK)
        status = ar_profile_string(f->out, (struct ar_str){"(import)", 8}, &import.name);
    if (status == AR_OK)
        status = ar_profile_function(f->out, import, &f->import_id);
    f->ids[0] = 0;
    for (uint32_t i = 1; i < f->p->n_nodes && status == AR_OK; i++)
        status = fold_node(f, i);
    if (status == AR_OK)
        status = ar_profile_find_strings(f->out, f->p, f->strings);
    if (status < 0)
        return status;
    fold_stacks(f);
    if ((f->p->file || f->p->rows_of ? fold_rows(f) : fold_values(f)) < 0 || fold_comms(f) < 0 ||
        fold_tables(f) < 0 || fold_streams(f) < 0)
        return AR_NOMEM;
    return ar_profile_sort(f->out);
}

enum ar_status ar_fold(struct ar_profile *out, const struct ar_profile *p)
{
    struct folding f = {
        .out = out,
        .p = p,
        .ids = calloc(p->n_nodes + 1, sizeof *f.ids),
        .comms = malloc((p->n_comms + 1) * sizeof *f.comms),
        .strings = malloc((p->strings.n_strings + 1) * sizeof *f.strings),
        .within = calloc(p->n_nodes + 1, sizeof *f.within),
    };
    enum ar_status status = ar_profile_init(out);

    if (!f.ids || !f.comms || !f.strings || !f.within)
        status = AR_NOMEM;
    if (status == AR_OK)
        status = ar_profile_of_pairs(p) ? copy_all(out, p) : fold_all(&f);
    free(f.ids);
    free(f.comms);
    free(f.strings);
    free(f.within);
    if (status < 0)
        ar_profile_free(out);
    return status;
}
