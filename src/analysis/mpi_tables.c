// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/mpi_tables.h"

#include "analysis/picklers.h"
#include "analysis/place.h"

#include <stdlib.h>
#include <string.h>

/* ---- what nodes are --------------------------------------------------------------------------- */

static uint32_t kind_of(const struct ar_profile *p, uint32_t node)
{
    return p->functions[p->nodes[node].function].kind;
}

static const char *name_of(const struct ar_profile *p, uint32_t node)
{
    return ar_strtab_text(&p->strings, p->functions[p->nodes[node].function].name);
}

static const struct ar_mpi_class *class_of(const struct ar_mpi *m, uint32_t node)
{
    return &m->functions[m->p->nodes[node].function];
}

static bool is_mpi(const struct ar_mpi *m, uint32_t node)
{
    return ar_totals_is_mpi(m->t, m->p, node);
}

/* Code of the program: what that calls is a call of its own, and no part of what is around it. */
static bool is_program(uint32_t kind)
{
    return kind != AR_FUNCTION_MPI && kind != AR_FUNCTION_BUILTIN &&
           kind != AR_FUNCTION_OPERATION && kind != AR_FUNCTION_UNASSIGNED;
}

/*
 * What is done within a method of mpi4py is shown as that, or else as itself. A pickler that the program
 * has set is a part of the method, although it is code of the program. Parents come first, so
 * that each finds its parent's answer; what is no MPI and in no method is not shown.
 */
static void find_shown(struct ar_mpi *m)
{
    m->shown[0] = AR_NO_ID;
    for (uint32_t i = 1; i < m->p->n_nodes; i++) {
        uint32_t kind = kind_of(m->p, i), above = m->shown[m->p->nodes[i].parent];
        bool is_part = !is_program(kind) || ar_pickler_of(m->p, m->picklers, i) != AR_NO_PICKLER;
        bool within = is_part && above != AR_NO_ID && kind_of(m->p, above) == AR_FUNCTION_OPERATION;

        if (within)
            m->shown[i] = above;
        else
            m->shown[i] = kind == AR_FUNCTION_OPERATION || is_mpi(m, i) ? i : AR_NO_ID;
    }
}

static enum ar_status find_classes(struct ar_mpi *m)
{
    m->functions = calloc(m->p->n_functions + 1, sizeof *m->functions);
    if (!m->functions)
        return AR_NOMEM;
    for (uint32_t f = 0; f < m->p->n_functions; f++)
        if (m->p->functions[f].kind == AR_FUNCTION_MPI)
            m->functions[f] =
                ar_mpi_class_of(ar_strtab_text(&m->p->strings, m->p->functions[f].name));
    return AR_OK;
}

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);

    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

static uint64_t *kind_of_part(const struct ar_mpi *m, uint32_t node, struct ar_mpi_parts *parts)
{
    enum ar_pickler pickler = ar_pickler_of(m->p, m->picklers, node);

    if (pickler != AR_NO_PICKLER)
        return pickler == AR_PICKLES ? &parts->pickling_ns : &parts->unpickling_ns;
    if (is_mpi(m, node))
        return &parts->mpi_ns;
    if (kind_of(m->p, node) != AR_FUNCTION_BUILTIN)
        return NULL;
    if (ends_in(name_of(m->p, node), "dumps"))
        return &parts->pickling_ns;
    return ends_in(name_of(m->p, node), "loads") ? &parts->unpickling_ns : NULL;
}

/* Which part of its method's time a node's is; NULL: none of these, or in the time of one of them. */
static uint64_t *part_of(const struct ar_mpi *m, uint32_t node, struct ar_mpi_parts *parts)
{
    uint32_t method = m->shown[node];

    if (method == node || method == AR_NO_ID)
        return NULL;
    for (uint32_t above = m->p->nodes[node].parent; above != method;
         above = m->p->nodes[above].parent)
        if (kind_of_part(m, above, parts))
            return NULL;
    return kind_of_part(m, node, parts);
}

/* ---- what is chosen --------------------------------------------------------------------------- */

static uint64_t sum_of(struct ar_row row)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < row.n; i++)
        sum += row.values[i].value;
    return sum;
}

static double less(double a, double b)
{
    return a < b ? a : b;
}

/* Is it at the line of that wait, in the same method or call? */
static bool is_at_site(const struct ar_mpi *m, uint32_t node, const struct ar_wait_site *site)
{
    struct ar_place place = ar_place_of_call(m->p, node);

    return place.function == site->place.function && place.line == site->place.line &&
           m->p->nodes[ar_operation_of(m->p, node)].function == m->p->nodes[site->node].function;
}

/*
 * A wait is that of a line, which is reached on several call paths: what the chosen ones have of it. Known
 * only if waits were built by node, else it is all or nothing.
 */
static double chosen_ns(const struct ar_mpi *m, const struct ar_wait_site *site)
{
    double all_ns = 0, ns = 0;

    for (uint32_t node = 0; m->w->node_ns && node < m->p->n_nodes; node++) {
        if (!m->w->node_ns[node] || !is_at_site(m, node, site))
            continue;
        for (size_t i = 0; i < m->p->n_roots; i++) {
            all_ns += m->w->node_ns[node][i];
            ns += m->is_chosen[node] ? m->w->node_ns[node][i] : 0;
        }
    }
    if (all_ns > 0)
        return site->waited_ns * (ns / all_ns);
    return m->is_chosen[site->node] ? site->waited_ns : 0;
}

/* A chosen node at the line of that wait; where there is none, the first of all. */
static uint32_t chosen_node(const struct ar_mpi *m, const struct ar_wait_site *site)
{
    for (uint32_t node = 0; m->w->node_ns && node < m->p->n_nodes; node++)
        if (m->w->node_ns[node] && m->is_chosen[node] && is_at_site(m, node, site))
            return node;
    return site->node;
}

static void sum_waits(struct ar_mpi *m)
{
    double in_methods_ns = 0;

    m->waiting_ns = 0;
    for (size_t i = 0; m->w && i < m->w->n_sites; i++) {
        const struct ar_wait_site *site = &m->w->sites[i];
        double ns = chosen_ns(m, site);

        m->waiting_ns += ns;
        if (m->shown[site->node] != AR_NO_ID &&
            kind_of(m->p, m->shown[site->node]) == AR_FUNCTION_OPERATION)
            in_methods_ns += ns;
    }
    m->parts.waiting_ns = less(in_methods_ns, (double)m->parts.mpi_ns);
}

void ar_mpi_use_waits(struct ar_mpi *m, const struct ar_waits *w)
{
    m->w = w->n_calls ? w : NULL;
    sum_waits(m);
}

double ar_mpi_transferring_ns(const struct ar_mpi_parts *parts)
{
    return (double)parts->mpi_ns - parts->waiting_ns;
}

/* Most nodes have nothing to do with MPI: nothing is read of them. */
static enum ar_status choice_changed(struct ar_mpi *m)
{
    struct ar_selves selves;

    if (ar_selves_open(&selves, m->t, m->p) < 0)
        return AR_NOMEM;
    m->n_ranks = m->p->n_roots;
    m->wall_ns = m->t->mean_wall_ns;
    m->mpi_ns = 0;
    m->parts = (struct ar_mpi_parts){0};
    for (uint32_t node = 0; node < m->p->n_nodes; node++) {
        uint64_t *part = part_of(m, node, &m->parts);

        if (m->is_chosen[node] && is_mpi(m, node))
            m->mpi_ns += (double)sum_of(ar_selves_get(&selves, node));
        if (m->is_chosen[node] && part)
            *part += sum_of(ar_rows_get(&selves.times, node));
    }
    if (m->n_ranks)
        m->mpi_ns /= (double)m->n_ranks;
    ar_selves_close(&selves);
    sum_waits(m);
    return AR_OK;
}

static bool is_at(const struct ar_mpi *m, const struct ar_wanted *wanted, uint32_t node)
{
    const struct ar_function *f = &m->p->functions[m->p->nodes[node].function];
    struct ar_place place = ar_place_of_call(m->p, node);

    return ar_wanted_place(wanted, ar_place_file(m->p, place), place.line) ||
           ar_wanted_place(wanted, ar_strtab_text(&m->p->strings, f->file), f->first_line);
}

/* "MPI_Send", "Send", "Comm.send", "send", or a function of the program. */
static bool is_wanted(const struct ar_mpi *m, const struct ar_wanted *wanted, uint32_t node)
{
    const char *function = class_of(m, node)->function;

    if (is_at(m, wanted, node) || ar_wanted_name(wanted, name_of(m->p, node)))
        return true;
    if (!function)
        return false;
    return ar_wanted_name(wanted, function) ||
           (strncmp(function, "MPI_", 4) == 0 && ar_wanted_name(wanted, function + 4));
}

/* With all that is below it. */
enum ar_status ar_mpi_choose(struct ar_mpi *m, const struct ar_wanted *wanted)
{
    m->n_chosen = 0;
    m->is_chosen[0] = !wanted->text;
    for (uint32_t i = 1; i < m->p->n_nodes; i++) {
        m->is_chosen[i] = m->is_chosen[m->p->nodes[i].parent] || is_wanted(m, wanted, i);
        m->n_chosen += m->is_chosen[i] && m->shown[i] != AR_NO_ID;
    }
    return choice_changed(m);
}

bool ar_mpi_has_calls(const struct ar_mpi *m)
{
    for (uint32_t i = 0; i < m->p->n_nodes; i++)
        if (m->shown[i] != AR_NO_ID)
            return true;
    return false;
}

bool ar_mpi_has_messages(const struct ar_mpi *m)
{
    return m->p->n_traffic > 0;
}

/* ---- rows ------------------------------------------------------------------------------------- */

/* Rows are found by a hash of what they are known by; each has its time on every root. */
struct building {
    const struct ar_mpi *m;
    enum ar_mpi_by by;
    struct ar_idmap ids;
    struct ar_mpi_row *rows;
    size_t n_rows, cap_rows;
    uint64_t *times; /* by row and root */
    size_t cap_times;
};

static struct ar_mpi_row *row_of(struct building *b, uint64_t key, const struct ar_mpi_row *like)
{
    size_t n_roots = b->m->p->n_roots;
    uint32_t id = ar_idmap_get(&b->ids, key, AR_NO_ID);

    if (id != AR_NO_ID)
        return &b->rows[id];
    if (ar_grow((void **)&b->rows, &b->cap_rows, b->n_rows + 1, sizeof *b->rows) < 0 ||
        ar_grow((void **)&b->times, &b->cap_times, (b->n_rows + 1) * n_roots, sizeof *b->times) <
            0 ||
        ar_idmap_put(&b->ids, key, (uint32_t)b->n_rows) < 0)
        return NULL;
    memset(b->times + b->n_rows * n_roots, 0, n_roots * sizeof *b->times);
    b->rows[b->n_rows] = *like;
    return &b->rows[b->n_rows++];
}

static void add_time(struct building *b, const struct ar_mpi_row *row, uint32_t location,
                     uint64_t ns)
{
    b->times[(size_t)(row - b->rows) * b->m->p->n_roots + ar_profile_root(b->m->p, location)] += ns;
}

static uint64_t hash_text(const char *text)
{
    return ar_hash_bytes(text, strlen(text));
}

/* What a node's row is known by. The same line on several paths is one row. */
static struct ar_mpi_row *row_of_node(struct building *b, uint32_t node)
{
    const struct ar_mpi *m = b->m;
    struct ar_mpi_row like = {.node = b->by == AR_MPI_BY_PATH ? m->shown[node] : node};
    struct ar_place place = {0};

    like.is_operation = kind_of(m->p, like.node) == AR_FUNCTION_OPERATION;
    if (b->by == AR_MPI_BY_PATH)
        place = ar_place_of_call(m->p, like.node);
    if (like.is_operation)
        like.name = name_of(m->p, like.node);
    else
        like.name =
            b->by == AR_MPI_BY_CLASS ? class_of(m, node)->name : class_of(m, node)->function;
    return row_of(b, ar_pair_key(hash_text(like.name), (uint64_t)place.function << 32 | place.line),
                  &like);
}

/* Methods are rows by path only; then the calls within them are not. */
static bool is_counted_itself(const struct building *b, uint32_t node)
{
    return b->by == AR_MPI_BY_PATH ? b->m->shown[node] == node : is_mpi(b->m, node);
}

static bool has_row(const struct building *b, uint32_t node)
{
    return b->m->shown[node] != AR_NO_ID && b->m->is_chosen[node] &&
           (b->by == AR_MPI_BY_PATH || is_mpi(b->m, node));
}

static enum ar_status add_node_times(struct building *b, uint32_t node, struct ar_row values)
{
    if (!values.n)
        return AR_OK;

    struct ar_mpi_row *row = row_of_node(b, node);
    uint64_t *part = row ? part_of(b->m, node, &row->parts) : NULL;

    if (!row)
        return AR_NOMEM;
    for (size_t i = 0; i < values.n && is_counted_itself(b, node); i++)
        add_time(b, row, values.values[i].location, values.values[i].value);
    if (part && b->by == AR_MPI_BY_PATH)
        *part += sum_of(values);
    return AR_OK;
}

static enum ar_status add_times(struct building *b)
{
    struct ar_rows times;
    enum ar_status status = ar_rows_open(&times, b->m->p, AR_METRIC_TIME);

    for (uint32_t node = 0; node < b->m->p->n_nodes && status == AR_OK; node++)
        if (has_row(b, node))
            status = add_node_times(b, node, ar_rows_get(&times, node));
    ar_rows_close(&times);
    return status;
}

/* A count of each row: `only_itself` leaves out what calls within a method have. */
static enum ar_status add_metric(struct building *b, enum ar_metric_id metric, size_t field,
                                 bool only_itself)
{
    struct ar_rows rows;
    enum ar_status status = ar_rows_open(&rows, b->m->p, metric);

    for (uint32_t node = 0; node < b->m->p->n_nodes && status == AR_OK; node++) {
        if (!has_row(b, node) || (only_itself && !is_counted_itself(b, node)))
            continue;

        struct ar_row values = ar_rows_get(&rows, node);
        struct ar_mpi_row *row = values.n ? row_of_node(b, node) : NULL;

        if (row)
            *(uint64_t *)((char *)row + field) += sum_of(values);
        else if (values.n)
            status = AR_NOMEM;
    }
    ar_rows_close(&rows);
    return status;
}

static enum ar_status add_nodes(struct building *b)
{
    if (add_times(b) < 0 ||
        add_metric(b, AR_METRIC_CALLS, offsetof(struct ar_mpi_row, n_calls), true) < 0 ||
        add_metric(b, AR_METRIC_BYTES_OUT, offsetof(struct ar_mpi_row, bytes_out), false) < 0)
        return AR_NOMEM;
    return add_metric(b, AR_METRIC_BYTES_IN, offsetof(struct ar_mpi_row, bytes_in), false);
}

/* ---- messages --------------------------------------------------------------------------------- */

static bool is_rank(uint32_t peer)
{
    return peer < AR_PEER_UNKNOWN;
}

static struct ar_mpi_row *row_of_traffic(struct building *b, const struct ar_traffic *t)
{
    struct ar_mpi_row like = {.node = AR_NO_ID};

    switch (b->by) {
    case AR_MPI_BY_COMM:
        like.comm = ar_comm_shown(b->m->p, t->comm);
        return row_of(b, ar_pair_key(like.comm, 0), &like);
    case AR_MPI_BY_SIZE:
        like.size_class = t->size_class;
        return row_of(b, ar_pair_key(like.size_class, 0), &like);
    case AR_MPI_BY_PEER:
        like.peer = t->peer;
        like.world_peer = t->world_peer;
        /* A rank of another run is known by its number in a communicator. */
        if (is_rank(t->peer) && !is_rank(t->world_peer))
            like.comm = ar_comm_shown(b->m->p, t->comm);
        if (is_rank(t->world_peer))
            like.peer = AR_PEER_UNKNOWN;
        return row_of(b, ar_pair_key((uint64_t)like.peer << 32 | like.world_peer, like.comm),
                      &like);
    default:
        return b->m->shown[t->node] == AR_NO_ID ? NULL : row_of_node(b, t->node);
    }
}

/* Where rows are of nodes, bytes and time are known already, and messages are added. */
static enum ar_status add_messages(struct building *b)
{
    const struct ar_profile *p = b->m->p;

    for (size_t i = 0; i < p->n_traffic; i++) {
        const struct ar_traffic *t = ar_traffic_at(p, i);

        if (!b->m->is_chosen[t->node] || (b->by < AR_MPI_BY_COMM && !has_row(b, t->node)))
            continue;

        struct ar_mpi_row *row = row_of_traffic(b, t);

        if (!row)
            return AR_NOMEM;
        row->n_out += t->n_out;
        row->n_in += t->n_in;
        if (b->by < AR_MPI_BY_COMM)
            continue;
        row->bytes_out += t->bytes_out;
        row->bytes_in += t->bytes_in;
        add_time(b, row, t->location, t->ns);
    }
    return AR_OK;
}

/* ---- waits ------------------------------------------------------------------------------------ */

/* Methods only: of other rows all of the time is that of one call, which `allranks waits` divides. */
static void add_waits(struct building *b)
{
    const struct ar_mpi *m = b->m;

    for (size_t i = 0; m->w && b->by == AR_MPI_BY_PATH && i < m->w->n_sites; i++) {
        const struct ar_wait_site *site = &m->w->sites[i];
        uint32_t node = chosen_node(m, site);
        struct ar_mpi_row *row = has_row(b, node) ? row_of_node(b, node) : NULL;

        if (row && row->is_operation)
            row->parts.waiting_ns =
                less(row->parts.waiting_ns + chosen_ns(m, site), (double)row->parts.mpi_ns);
    }
}

/* ---- order ------------------------------------------------------------------------------------ */

static void spread_time(const struct building *b, size_t i)
{
    const struct ar_mpi *m = b->m;
    const uint64_t *times = b->times + i * m->p->n_roots;
    struct ar_spreading s = {0};

    for (uint32_t root = 0; root < m->p->n_roots; root++)
        ar_spread_add(&s, times[root], root);
    b->rows[i].time = ar_spread_end(&s);
}

static int longest_first(const void *a, const void *b)
{
    const struct ar_mpi_row *x = a, *y = b;

    if (x->time.sum != y->time.sum)
        return x->time.sum < y->time.sum ? 1 : -1;
    return (x->node > y->node) - (x->node < y->node);
}

static int smallest_first(const void *a, const void *b)
{
    const struct ar_mpi_row *x = a, *y = b;

    return (x->size_class > y->size_class) - (x->size_class < y->size_class);
}

enum ar_status ar_mpi_table(const struct ar_mpi *m, enum ar_mpi_by by, struct ar_mpi_row **rows,
                            size_t *n)
{
    struct building b = {.m = m, .by = by};
    enum ar_status status = by < AR_MPI_BY_COMM ? add_nodes(&b) : AR_OK;

    if (status == AR_OK)
        status = add_messages(&b);
    if (status == AR_OK)
        add_waits(&b);
    for (size_t i = 0; i < b.n_rows && status == AR_OK; i++)
        spread_time(&b, i);
    if (b.n_rows)
        qsort(b.rows, b.n_rows, sizeof *b.rows,
              by == AR_MPI_BY_SIZE ? smallest_first : longest_first);
    free(b.times);
    ar_idmap_free(&b.ids);
    if (status < 0) {
        free(b.rows);
        b.rows = NULL;
        b.n_rows = 0;
    }
    *rows = b.rows;
    *n = b.n_rows;
    return status;
}

/* ---- requests --------------------------------------------------------------------------------- */

static uint64_t call_key(const struct ar_mpi *m, uint32_t node)
{
    struct ar_place place = ar_place_of_call(m->p, node);
    const char *name = class_of(m, node)->name ? class_of(m, node)->function : name_of(m->p, node);

    return ar_pair_key(hash_text(name), (uint64_t)place.function << 32 | place.line);
}

static int longest_flight_first(const void *a, const void *b)
{
    const struct ar_mpi_request_row *x = a, *y = b;

    if (x->flight_ns != y->flight_ns)
        return x->flight_ns < y->flight_ns ? 1 : -1;
    return (x->posted > y->posted) - (x->posted < y->posted);
}

/* Room for one more row, and its number. */
static enum ar_status find_or_add(struct ar_idmap *ids, uint64_t key, size_t *n, uint32_t *id)
{
    *id = ar_idmap_get(ids, key, AR_NO_ID);
    if (*id != AR_NO_ID)
        return AR_OK;
    *id = (uint32_t)(*n)++;
    return ar_idmap_put(ids, key, *id);
}

enum ar_status ar_mpi_requests(const struct ar_mpi *m, struct ar_mpi_request_row **rows, size_t *n)
{
    struct ar_mpi_request_row *found = calloc(m->p->n_completed + 1, sizeof *found);
    struct ar_idmap ids = {0};
    enum ar_status status = found ? AR_OK : AR_NOMEM;
    size_t n_found = 0;

    for (size_t i = 0; i < m->p->n_completed && status == AR_OK; i++) {
        const struct ar_completed *c = ar_completed_at(m->p, i);
        uint32_t id;

        if (!m->is_chosen[c->node] && !m->is_chosen[c->posted])
            continue;
        status = find_or_add(&ids, ar_pair_key(call_key(m, c->posted), call_key(m, c->node)),
                             &n_found, &id);
        if (status < 0)
            break;
        found[id].posted = c->posted;
        found[id].completed = c->node;
        found[id].n += c->n;
        found[id].flight_ns += (double)c->flight_ns;
        found[id].waited_ns += (double)c->waited_ns;
        found[id].exposed_ns += (double)c->exposed_ns;
    }
    ar_idmap_free(&ids);
    if (status < 0) {
        free(found);
        return status;
    }
    qsort(found, n_found, sizeof *found, longest_flight_first);
    *rows = found;
    *n = n_found;
    return AR_OK;
}

/* ---- who talks to whom ------------------------------------------------------------------------ */

static bool has_world_rank(const struct ar_profile *p, uint32_t rank)
{
    for (size_t i = 0; i < p->n_roots; i++)
        if (p->processes[i].world_rank == rank)
            return true;
    return false;
}

struct pairing {
    const struct ar_mpi *m;
    struct ar_idmap ids;
    struct ar_mpi_pair *pairs;
    size_t n, cap;
};

static struct ar_mpi_pair *pair_of(struct pairing *b, uint32_t from, uint32_t to)
{
    uint32_t id;
    size_t n = b->n;

    if (ar_grow((void **)&b->pairs, &b->cap, b->n + 1, sizeof *b->pairs) < 0 ||
        find_or_add(&b->ids, ar_pair_key(from, to), &b->n, &id) < 0)
        return NULL;
    if (id == n)
        b->pairs[id] = (struct ar_mpi_pair){.from = from, .to = to};
    return &b->pairs[id];
}

/*
 * A message counts as its sender noted it, and as its receiver did where the sender is not in the
 * run. What a rank gets from another's memory only that rank has noted.
 */
static enum ar_status add_pair(struct pairing *b, const struct ar_traffic *t, uint32_t rank)
{
    const struct ar_mpi *m = b->m;
    const char *class = class_of(m, t->node)->name;
    bool one_sided = class && strcmp(class, "rma") == 0;
    struct ar_mpi_pair *out = pair_of(b, rank, t->world_peer);

    if (!out)
        return AR_NOMEM;
    out->n += t->n_out;
    out->n_bytes += t->bytes_out;
    out->ns += t->ns;
    if (!t->n_in || !(one_sided || !has_world_rank(m->p, t->world_peer)))
        return AR_OK;

    struct ar_mpi_pair *in = pair_of(b, t->world_peer, rank);

    if (!in)
        return AR_NOMEM;
    in->n += t->n_in;
    in->n_bytes += t->bytes_in;
    return AR_OK;
}

static bool is_between_two(const struct ar_mpi *m, const struct ar_traffic *t, uint32_t rank)
{
    const char *class = class_of(m, t->node)->name;

    return rank != AR_RANK_NONE && is_rank(t->world_peer) && class &&
           strcmp(class, "collective") != 0;
}

static int by_ranks(const void *a, const void *b)
{
    const struct ar_mpi_pair *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

enum ar_status ar_mpi_pairs(const struct ar_mpi *m, struct ar_mpi_pair **pairs, size_t *n)
{
    struct pairing b = {.m = m};
    enum ar_status status = AR_OK;

    for (size_t i = 0; i < m->p->n_traffic && status == AR_OK; i++) {
        const struct ar_traffic *t = ar_traffic_at(m->p, i);
        uint32_t rank = m->p->processes[ar_profile_root(m->p, t->location)].world_rank;

        if (m->is_chosen[t->node] && is_between_two(m, t, rank))
            status = add_pair(&b, t, rank);
    }
    ar_idmap_free(&b.ids);
    if (status < 0) {
        free(b.pairs);
        return status;
    }
    if (b.n)
        qsort(b.pairs, b.n, sizeof *b.pairs, by_ranks);
    *pairs = b.pairs;
    *n = b.n;
    return AR_OK;
}

const char *ar_peer_kind_name(uint32_t peer, uint32_t world_peer)
{
    if (peer < AR_PEER_UNKNOWN || world_peer < AR_PEER_UNKNOWN)
        return "rank";
    return peer == AR_PEER_ALL ? "all" : peer == AR_PEER_OTHERS ? "several" : "unknown";
}

/* ---- life ------------------------------------------------------------------------------------- */

enum ar_status ar_mpi_open(struct ar_mpi *out, const struct ar_profile *p,
                           const struct ar_totals *t)
{
    enum ar_status status;

    *out = (struct ar_mpi){.p = p, .t = t};
    status = find_classes(out);
    if (status == AR_OK)
        status = ar_picklers_find(&out->picklers, p);
    out->shown = calloc(p->n_nodes + 1, sizeof *out->shown);
    out->is_chosen = malloc((p->n_nodes + 1) * sizeof *out->is_chosen);
    if (status == AR_OK && out->shown && out->is_chosen) {
        find_shown(out);
        memset(out->is_chosen, true, p->n_nodes * sizeof *out->is_chosen);
        status = choice_changed(out);
    } else {
        status = AR_NOMEM;
    }
    if (status < 0)
        ar_mpi_close(out);
    return status;
}

void ar_mpi_close(struct ar_mpi *m)
{
    free(m->functions);
    free(m->picklers);
    free(m->shown);
    free(m->is_chosen);
    *m = (struct ar_mpi){0};
}
