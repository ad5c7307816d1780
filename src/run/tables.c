// SPDX-License-Identifier: BSD-3-Clause
#include "run/tables.h"

#include "run/cells.h"

#include <stdio.h>
#include <stdlib.h>

const struct ar_shown_table *const ar_shown_tables[] = {
    &ar_shown_table_run,
    &ar_shown_table_efficiency,
    &ar_shown_table_findings,
    &ar_shown_table_functions,
    &ar_shown_table_tree,
    &ar_shown_table_relatives,
    &ar_shown_table_bottom_up,
    &ar_shown_table_tasks,
    &ar_shown_table_lines,
    &ar_shown_table_metrics,
    &ar_shown_table_tree_metrics,
    &ar_shown_table_derived_metrics,
    &ar_shown_table_tree_derived,
    &ar_shown_table_function_metrics,
    &ar_shown_table_function_rank_metrics,
    &ar_shown_table_ranks,
    &ar_shown_table_processes,
    &ar_shown_table_threads,
    &ar_shown_table_function_ranks,
    &ar_shown_table_function_efficiency,
    &ar_shown_table_imbalance,
    &ar_shown_table_rank_classes,
    &ar_shown_table_mpi,
    &ar_shown_table_communicators,
    &ar_shown_table_messages,
    &ar_shown_table_requests,
    &ar_shown_table_mpi_methods,
    &ar_shown_table_mpi_paths,
    &ar_shown_table_mpi_functions,
    &ar_shown_table_mpi_classes,
    &ar_shown_table_mpi_communicators,
    &ar_shown_table_mpi_peers,
    &ar_shown_table_mpi_sizes,
    &ar_shown_table_mpi_requests,
    &ar_shown_table_mpi_matrix,
    &ar_shown_table_synchronisations,
    &ar_shown_table_sync_causes,
    &ar_shown_table_waiting,
    &ar_shown_table_waits,
    &ar_shown_table_wait_ranks,
    &ar_shown_table_wait_times,
    &ar_shown_table_stacks,
    &ar_shown_table_stack_threads,
    &ar_shown_table_stack_frames,
    &ar_shown_table_other_data,
    &ar_shown_table_diff,
    &ar_shown_table_diff_runs,
    &ar_shown_table_diff_functions,
    &ar_shown_table_diff_paths,
    &ar_shown_table_diff_conditions,
    &ar_shown_table_trace_waiting,
    &ar_shown_table_trace_waits,
    &ar_shown_table_trace_wait_ranks,
    &ar_shown_table_trace_wait_list,
    &ar_shown_table_critical_path,
    &ar_shown_table_critical_path_functions,
    &ar_shown_table_critical_path_parts,
    &ar_shown_table_scaling,
    &ar_shown_table_scaling_runs,
    &ar_shown_table_scaling_functions,
    &ar_shown_table_scaling_function_runs,
    &ar_shown_table_top,
    &ar_shown_table_top_processes,
    &ar_shown_table_top_functions,
    &ar_shown_table_clean,
    &ar_shown_table_clean_jobs,
    &ar_shown_table_counters,
    &ar_shown_table_timeline,
    &ar_shown_table_timeline_rows,
    &ar_shown_table_timeline_cells,
    NULL,
};

const char *const ar_subject_commands[] = {[AR_ABOUT_RUN] = "",
                                           [AR_ABOUT_DIFF] = "diff",
                                           [AR_ABOUT_SCALING] = "scale",
                                           [AR_ABOUT_JOB] = "top",
                                           [AR_ABOUT_LEFTOVERS] = "clean",
                                           [AR_ABOUT_COUNTERS] = "counters",
                                           [AR_ABOUT_TIMELINE] = "timeline",
                                           [AR_ABOUT_TRACE] = "waits"};

const char *const ar_shown_units[] = {"", "ns", "bytes", "us2", "share", NULL};

size_t ar_one_row(const struct ar_subject *of)
{
    (void)of;
    return 1;
}

const struct ar_shown_table *ar_shown_find(const char *name)
{
    for (size_t i = 0; ar_shown_tables[i]; i++)
        if (strcmp(ar_shown_tables[i]->name, name) == 0)
            return ar_shown_tables[i];
    return NULL;
}

/* ---- rows ------------------------------------------------------------------------------------- */

/* Tables that have nodes show those of the chosen form. */
static enum ar_status choose_form(struct ar_run *run)
{
    run->shown = ar_run_form(run, run->choice.form);
    return run->shown ? AR_OK : AR_NOMEM;
}

enum ar_status ar_shown_prepare(const struct ar_shown_table *table, const struct ar_subject *of,
                                struct ar_shown_rows *rows)
{
    *rows = (struct ar_shown_rows){0};
    if (of->run && choose_form(of->run) < 0)
        return AR_NOMEM;
    if (table->prepare && table->prepare(of) < 0)
        return AR_NOMEM;
    if (table->order)
        rows->numbers = table->order(of, &rows->n);
    if (!rows->numbers)
        rows->n = table->n_rows(of);
    return AR_OK;
}

struct ordered {
    double key;
    uint32_t row;
};

static int largest_first(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? 1 : -1;
    return (x->row > y->row) - (x->row < y->row);
}

uint32_t *ar_rows_by(const double *keys, const bool *is_shown, size_t n, size_t *n_shown)
{
    struct ordered *order = malloc((n + 1) * sizeof *order);
    uint32_t *rows = malloc((n + 1) * sizeof *rows);
    size_t k = 0;

    if (!order || !rows) {
        free(order);
        free(rows);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++)
        if (is_shown[i])
            order[k++] = (struct ordered){keys[i], i};
    qsort(order, k, sizeof *order, largest_first);
    for (size_t i = 0; i < k; i++)
        rows[i] = order[i].row;
    free(order);
    *n_shown = k;
    return rows;
}

/* ---- columns ---------------------------------------------------------------------------------- */

size_t ar_cell_bytes(enum ar_cell_type type)
{
    switch (type) {
    case AR_CELL_BOOL:
        return sizeof(bool);
    case AR_CELL_TEXT:
        return sizeof(struct ar_str);
    case AR_CELL_RANKS:
        return sizeof(struct ar_rank_list);
    default:
        return 8;
    }
}

void ar_shown_read(const struct ar_shown_table *table, const struct ar_subject *of,
                   const struct ar_shown_rows *rows, size_t column, size_t first, size_t n,
                   void *out)
{
    size_t n_bytes = ar_cell_bytes(table->columns[column].type);

    for (size_t i = 0; i < n; i++) {
        union ar_cell cell = table->cell(of, column, ar_shown_row(rows, first + i));

        memcpy((char *)out + i * n_bytes, &cell, n_bytes);
    }
}

/* ---- names ------------------------------------------------------------------------------------ */

/* Of sizes and shares the name says it. */
static const char *suffix_of(const char *unit, enum ar_time_unit times)
{
    if (strcmp(unit, "ns") == 0)
        return times == AR_IN_NS ? "_ns" : "_s";
    return strcmp(unit, "us2") == 0 ? "_us2" : "";
}

void ar_shown_name(const struct ar_shown_column *column, enum ar_time_unit unit, char *out,
                   size_t n_out)
{
    const char *suffix = suffix_of(column->unit, unit);

    if (!column->group)
        snprintf(out, n_out, "%s%s", column->name, suffix);
    else if (strcmp(column->name, "sum") == 0)
        snprintf(out, n_out, "%s%s", column->group, suffix);
    else
        snprintf(out, n_out, "%s_%s%s", column->group, column->name, suffix);
}

/* The unit that all of a group have, but for those that have none; NULL: they differ. */
static const char *unit_of_group(const struct ar_shown_table *table, const char *group)
{
    const char *unit = "";

    for (size_t i = 0; i < table->n_columns; i++) {
        const struct ar_shown_column *c = &table->columns[i];

        if (!c->group || strcmp(c->group, group) != 0 || !*c->unit)
            continue;
        if (*unit && strcmp(unit, c->unit) != 0)
            return NULL;
        unit = c->unit;
    }
    return unit;
}

void ar_shown_keys(const struct ar_shown_table *table, size_t column, char *group, char *name,
                   size_t n_out)
{
    const struct ar_shown_column *c = &table->columns[column];
    const char *unit = c->group ? unit_of_group(table, c->group) : NULL;

    snprintf(group, n_out, "%s%s", c->group ? c->group : "", unit ? suffix_of(unit, AR_IN_NS) : "");
    snprintf(name, n_out, "%s%s", c->name, unit ? "" : suffix_of(c->unit, AR_IN_NS));
}
