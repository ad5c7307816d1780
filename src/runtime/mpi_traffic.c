// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/mpi_traffic.h"

#include "base/idmap.h"
#include "runtime/tree.h"

#include <stdlib.h>

#define MAX_CELLS 65536 /* of all threads: 4 MiB, and half a MiB to find them */

static uint32_t n_cells;

void ar_mpi_thread_end(struct ar_thread *t)
{
    if (!t->mpi)
        return;
    ar_syncs_end(t, &t->mpi->syncs);
    free(t->mpi->cells.slots);
    free(t->mpi);
    t->mpi = NULL;
}

struct ar_mpi_thread *ar_mpi_thread_make(struct ar_thread *t)
{
    t->mpi = calloc(1, sizeof *t->mpi);
    return t->mpi;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* The second word of a cell counts with its low half only. */
static size_t first_slot(const struct ar_cells *cells, uint64_t where, uint32_t what)
{
    return ar_pair_key(where, what) & (cells->n_slots - 1);
}

static struct ar_values *find(const struct ar_cells *cells, enum ar_values_kind kind,
                              uint64_t where, uint32_t what)
{
    if (!cells->n_slots)
        return NULL;
    for (size_t i = first_slot(cells, where, what); cells->slots[i];
         i = (i + 1) & (cells->n_slots - 1)) {
        struct ar_values *cell = ar_live_ptr(cells->slots[i]);

        if (cell->words[0] == where && (uint32_t)cell->words[1] == what &&
            cell->kind == (uint32_t)kind)
            return cell;
    }
    return NULL;
}

static void put(struct ar_cells *cells, const struct ar_values *cell)
{
    size_t i = first_slot(cells, cell->words[0], (uint32_t)cell->words[1]);

    while (cells->slots[i])
        i = (i + 1) & (cells->n_slots - 1);
    cells->slots[i] = ar_live_ref(cell);
    cells->n_used++;
}

static bool make_room(struct ar_cells *cells)
{
    struct ar_cells bigger = {.n_slots = cells->n_slots ? 2 * cells->n_slots : 64};

    if (2 * (cells->n_used + 1) <= cells->n_slots)
        return true;
    bigger.slots = calloc(bigger.n_slots, sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    for (size_t i = 0; i < cells->n_slots; i++)
        if (cells->slots[i])
            put(&bigger, ar_live_ptr(cells->slots[i]));
    free(cells->slots);
    *cells = bigger;
    return true;
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* Further values come after the first block, which is looked at in every call. */
static struct ar_values *add(struct ar_thread *t, struct ar_node *node,
                             const struct ar_values *cell)
{
    bool has_first = ar_tree_values(t, node, AR_VALUES_MPI) != NULL;
    struct ar_values *added =
        has_first && make_room(&t->mpi->cells) ? ar_tree_values_add(t, node, cell) : NULL;

    if (added)
        put(&t->mpi->cells, added);
    return added;
}

static bool may_add(void)
{
    if (__atomic_load_n(&n_cells, __ATOMIC_RELAXED) >= MAX_CELLS)
        return false;
    __atomic_fetch_add(&n_cells, 1, __ATOMIC_RELAXED);
    return true;
}

/* One a node, for what is not told apart any more. */
static struct ar_values *others(struct ar_thread *t, struct ar_node *node, enum ar_values_kind kind,
                                enum ar_live_loss loss)
{
    uint64_t where = (uint64_t)ar_live_ref(node) << 32;
    uint32_t what = kind == AR_VALUES_TRAFFIC ? AR_PEER_OTHERS : 0;
    struct ar_values *cell = find(&t->mpi->cells, kind, where, what);

    ar_livemap_lost(loss, 1);
    if (cell)
        return cell;
    return add(
        t, node,
        &(struct ar_values){
            .kind = kind,
            .words = {where, kind == AR_VALUES_TRAFFIC ? (uint64_t)AR_RANK_NONE << 32 | what : 0}});
}

static uint64_t with_world_rank(const struct ar_message *message)
{
    uint32_t world = message->peer < AR_PEER_UNKNOWN
                         ? ar_comm_world_rank(message->comm, (int)message->peer)
                         : AR_RANK_NONE;

    return (uint64_t)world << 32 | message->peer;
}

static struct ar_values *find_or_add(struct ar_thread *t, struct ar_node *node, uint64_t where,
                                     const struct ar_message *message)
{
    struct ar_values *cell = find(&t->mpi->cells, AR_VALUES_TRAFFIC, where, message->peer);

    if (cell)
        return cell;
    if (!may_add())
        return others(t, node, AR_VALUES_TRAFFIC, AR_LOST_TRAFFIC);
    return add(
        t, node,
        &(struct ar_values){.kind = AR_VALUES_TRAFFIC, .words = {where, with_world_rank(message)}});
}

struct ar_values *ar_traffic_look_up(struct ar_thread *t, struct ar_node *node, uint64_t where,
                                     const struct ar_message *message)
{
    struct ar_values *cell = find_or_add(t, node, where, message);

    if (cell)
        node->cell_ref = ar_live_ref(cell);
    return cell;
}

struct ar_values *ar_completed_cell(struct ar_thread *t, struct ar_node *node, uint32_t posted_ref)
{
    uint64_t where = (uint64_t)ar_live_ref(node) << 32;
    struct ar_values *cell = find(&t->mpi->cells, AR_VALUES_COMPLETED, where, posted_ref);

    if (__builtin_expect(cell != NULL, 1))
        return cell;
    if (!may_add())
        return others(t, node, AR_VALUES_COMPLETED, AR_LOST_REQUESTS);
    return add(t, node,
               &(struct ar_values){.kind = AR_VALUES_COMPLETED, .words = {where, posted_ref}});
}
