// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/efficiency.h"

#include "analysis/mpi_class.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- from the times of ranks ---------------------------------------------------------------- */

/* Within estimates and rounding there may be more MPI than there is time. */
static uint64_t computing_of(const struct ar_rank_time *rank)
{
    return rank->mpi_ns < rank->wall_ns ? rank->wall_ns - rank->mpi_ns : 0;
}

/* What is left of its time without setting up. */
static uint64_t counted_of(const struct ar_rank_time *rank)
{
    uint64_t in_mpi = rank->wall_ns - computing_of(rank);

    return rank->wall_ns - (rank->setup_ns < in_mpi ? rank->setup_ns : in_mpi);
}

/* No rank can have waited for longer than it was in MPI. */
static double ideal_wall_of(const struct ar_rank_time *rank, double waiting_ns)
{
    double most_ns = (double)(counted_of(rank) - computing_of(rank));

    return (double)computing_of(rank) + (waiting_ns < most_ns ? waiting_ns : most_ns);
}

static void split(struct ar_efficiency *e, const struct ar_rank_time *ranks,
                  const double *waiting_ns, size_t n_ranks)
{
    double ideal_ns = 0;

    for (size_t i = 0; i < n_ranks; i++) {
        double ns = ideal_wall_of(&ranks[i], waiting_ns[i]);

        ideal_ns = ns > ideal_ns ? ns : ideal_ns;
    }
    e->is_split = true;
    e->serialisation = ideal_ns > 0 ? e->max_computing_ns / ideal_ns : 1;
    e->transfer = ideal_ns / e->counted_ns;
}

struct ar_efficiency ar_efficiency_of(const struct ar_rank_time *ranks, const double *waiting_ns,
                                      size_t n_ranks)
{
    struct ar_efficiency e = {.serialisation = NAN, .transfer = NAN};

    for (size_t i = 0; i < n_ranks; i++) {
        double computing_ns = (double)computing_of(&ranks[i]);

        e.mean_computing_ns += computing_ns / (double)n_ranks;
        if ((double)ranks[i].wall_ns > e.wall_ns)
            e.wall_ns = (double)ranks[i].wall_ns;
        if ((double)counted_of(&ranks[i]) > e.counted_ns)
            e.counted_ns = (double)counted_of(&ranks[i]);
        if (computing_ns > e.max_computing_ns) {
            e.max_computing_ns = computing_ns;
            e.max_process = (uint32_t)i;
        }
    }
    if (e.counted_ns <= 0) { /* MPI_Init itself */
        e.wall_ns = 0;
        return e;
    }
    /* Where no rank computes, all are alike. */
    e.load_balance = e.max_computing_ns > 0 ? e.mean_computing_ns / e.max_computing_ns : 1;
    e.communication = e.max_computing_ns / e.counted_ns;
    e.parallel = e.load_balance * e.communication;
    if (waiting_ns)
        split(&e, ranks, waiting_ns, n_ranks);
    return e;
}

/* ---- from waits ----------------------------------------------------------------------------- */

/* Where one rank is alone it waits for no other, whether waits are recorded or not. */
static bool are_known(const struct ar_waits *w, const struct ar_profile *p)
{
    return w && (w->n_calls || p->n_roots == 1);
}

static void divide(const struct ar_profile *p, const struct ar_waits *w, struct ar_rank_time *ranks,
                   double *waiting_ns)
{
    for (size_t i = 0; i < p->n_roots; i++) {
        const struct ar_wait_times *times = &w->times[i];

        ranks[i] = (struct ar_rank_time){
            .wall_ns = p->processes[i].wall_ns,
            .mpi_ns = (uint64_t)(times->waiting_ns + times->communicating_ns),
            .setup_ns = (uint64_t)times->setting_up_ns,
        };
        waiting_ns[i] = times->waiting_ns;
    }
}

static bool has_mpi(const struct ar_rank_time *ranks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ranks[i].mpi_ns)
            return true;
    return false;
}

enum ar_status ar_efficiency_of_run(struct ar_efficiency *out, const struct ar_profile *p,
                                    const struct ar_waits *w)
{
    size_t n = p->n_roots;
    struct ar_rank_time *ranks = calloc(n + 1, sizeof *ranks);
    double *waiting_ns = calloc(n + 1, sizeof *waiting_ns);
    bool has_memory = ranks && waiting_ns;

    *out = (struct ar_efficiency){0};
    if (has_memory)
        divide(p, w, ranks, waiting_ns);
    if (has_memory && n > 1 && has_mpi(ranks, n))
        *out = ar_efficiency_of(ranks, are_known(w, p) ? waiting_ns : NULL, n);
    free(ranks);
    free(waiting_ns);
    return has_memory ? AR_OK : AR_NOMEM;
}

/* ---- from a profile ------------------------------------------------------------------------- */

struct building {
    const struct ar_by_function *b;
    const struct ar_profile *p;
    bool *has_mpi; /* by node: it is an MPI call, or one is below it */
    struct ar_rows times;
    struct ar_selves selves; /* of MPI calls: what MPI calls back is computing */
    struct ar_rank_time *ranks;
    const struct ar_waits *w; /* NULL: not known */
    double *waiting_ns;       /* by rank */
};

static void find_mpi(struct building *m)
{
    for (uint32_t i = (uint32_t)m->p->n_nodes; i-- > 0;) {
        uint32_t parent = m->p->nodes[i].parent;

        m->has_mpi[i] = m->has_mpi[i] || ar_totals_is_mpi(m->b->t, m->p, i);
        if (m->has_mpi[i] && parent != AR_NO_ID)
            m->has_mpi[parent] = true;
    }
}

/* Adds a row of the ranks' main threads to one of the two fields of each. */
static void add_row(struct building *m, struct ar_row row, bool is_mpi)
{
    for (size_t i = 0; i < row.n; i++) {
        const struct ar_location *location = &m->p->locations[row.values[i].location];

        if (location->thread != 0 || location->process >= m->p->n_roots)
            continue;
        if (is_mpi)
            m->ranks[location->process].mpi_ns += row.values[i].value;
        else
            m->ranks[location->process].wall_ns += row.values[i].value;
    }
}

/* The next node within `top` that has to do with MPI, from above; AR_NO_ID: there is none. */
static uint32_t next_within(const struct building *m, uint32_t top, uint32_t node)
{
    const struct ar_totals *t = m->b->t;
    uint32_t next = t->first_child[node];

    for (;;) {
        for (; next != AR_NO_ID; next = t->next_sibling[next])
            if (m->has_mpi[next])
                return next;
        if (node == top)
            return AR_NO_ID;
        next = t->next_sibling[node];
        node = m->p->nodes[node].parent;
    }
}

static const double *waits_at(const struct building *m, uint32_t node)
{
    return m->w ? m->w->node_ns[node] : NULL;
}

static void add_waits(struct building *m, uint32_t node)
{
    const double *by_root = waits_at(m, node);

    for (size_t i = 0; by_root && i < m->p->n_roots; i++)
        m->waiting_ns[i] += by_root[i];
}

static void add_setup(struct building *m, uint32_t node, struct ar_row row)
{
    const double *waited_ns = waits_at(m, node);

    for (size_t i = 0; i < row.n; i++) {
        const struct ar_location *location = &m->p->locations[row.values[i].location];
        uint64_t ns = row.values[i].value;

        if (location->thread != 0 || location->process >= m->p->n_roots)
            continue;
        if (waited_ns && waited_ns[location->process] < (double)ns)
            ns -= (uint64_t)waited_ns[location->process];
        else if (waited_ns)
            ns = 0;
        m->ranks[location->process].setup_ns += ns;
    }
}

static void add_mpi_within(struct building *m, uint32_t top)
{
    if (!m->has_mpi[top])
        return;
    for (uint32_t node = top; node != AR_NO_ID; node = next_within(m, top, node))
        if (ar_totals_is_mpi(m->b->t, m->p, node)) {
            struct ar_row row = ar_selves_get(&m->selves, node);

            add_row(m, row, true);
            if (ar_mpi_is_setup(m->p, node))
                add_setup(m, node, row);
            add_waits(m, node);
        }
}

/* Of what has been added up. */
static struct ar_efficiency result(const struct building *m)
{
    return ar_efficiency_of(m->ranks, m->w ? m->waiting_ns : NULL, m->p->n_roots);
}

static struct ar_efficiency of_function(struct building *m, uint32_t function)
{
    const struct ar_by_function *b = m->b;

    if (b->first_node[function] == b->first_node[function + 1])
        return (struct ar_efficiency){0};
    memset(m->ranks, 0, m->p->n_roots * sizeof *m->ranks);
    memset(m->waiting_ns, 0, m->p->n_roots * sizeof *m->waiting_ns);
    for (uint32_t i = b->first_node[function]; i < b->first_node[function + 1]; i++)
        if (b->outermost[b->nodes[i]]) {
            add_row(m, ar_rows_get(&m->times, b->nodes[i]), false);
            add_mpi_within(m, b->nodes[i]);
        }
    return result(m);
}

/* The root's time begins with the first call that is recorded, that of a process before it. */
static void build_run(struct building *m, struct ar_efficiencies *out)
{
    m->ranks = out->ranks;
    if (m->w) {
        divide(m->p, m->w, m->ranks, m->waiting_ns);
    } else {
        for (size_t i = 0; i < m->p->n_roots; i++)
            out->ranks[i].wall_ns = m->p->processes[i].wall_ns;
        add_mpi_within(m, 0);
    }
    out->run = result(m);
}

static enum ar_status build(struct building *m, struct ar_efficiencies *out)
{
    struct ar_rank_time *ranks = calloc(m->p->n_roots + 1, sizeof *ranks);

    m->waiting_ns = calloc(m->p->n_roots + 1, sizeof *m->waiting_ns);
    if (!ranks || !m->waiting_ns) {
        free(ranks);
        return AR_NOMEM;
    }
    find_mpi(m);
    build_run(m, out);
    m->ranks = ranks;
    /* Caller pairs do not say what is called by what a function calls. */
    for (uint32_t f = 0; f < m->p->n_functions && !m->b->t->of_pairs; f++)
        out->functions[f] = of_function(m, f);
    free(ranks);
    return AR_OK;
}

enum ar_status ar_efficiencies_build(struct ar_efficiencies *out, const struct ar_by_function *b,
                                     const struct ar_waits *w)
{
    struct building m = {.b = b,
                         .p = b->p,
                         .w = are_known(w, b->p) ? w : NULL,
                         .has_mpi = calloc(b->p->n_nodes + 1, sizeof *m.has_mpi)};
    enum ar_status status = AR_NOMEM;

    *out =
        (struct ar_efficiencies){.functions = calloc(b->p->n_functions + 1, sizeof *out->functions),
                                 .ranks = calloc(b->p->n_roots + 1, sizeof *out->ranks),
                                 .n_ranks = b->p->n_roots};
    if (m.has_mpi && out->functions && out->ranks)
        status = ar_rows_open(&m.times, b->p, AR_METRIC_TIME);
    if (status == AR_OK)
        status = ar_selves_open(&m.selves, b->t, b->p);
    if (status == AR_OK)
        status = build(&m, out);
    ar_selves_close(&m.selves);
    ar_rows_close(&m.times);
    free(m.has_mpi);
    free(m.waiting_ns);
    if (status < 0)
        ar_efficiencies_free(out);
    return status;
}

void ar_efficiencies_free(struct ar_efficiencies *e)
{
    free(e->functions);
    free(e->ranks);
    *e = (struct ar_efficiencies){0};
}
