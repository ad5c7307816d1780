// SPDX-License-Identifier: BSD-3-Clause
#include "run/run.h"

#include "analysis/callers.h"
#include "analysis/fold.h"
#include "run/parts.h"

#include <stdlib.h>

/* ---- opening and closing ---------------------------------------------------------------------- */

static enum ar_status select_part(struct ar_run *run, struct ar_error *err)
{
    const struct ar_selection *selection = run->choice.selection;
    struct ar_error why = {""};

    run->forms[AR_FORM_RECORDED].p = &run->whole;
    if (!selection || ar_selection_is_all(selection))
        return AR_OK;

    enum ar_status status = ar_select(&run->chosen, &run->whole, selection, &why);

    if (status < 0)
        return ar_fail(err, status, "%s: %s", run->choice.path, why.text);
    run->forms[AR_FORM_RECORDED].p = &run->chosen;
    return AR_OK;
}

/* The others are looked at all the same: a rank may wait for any. */
static enum ar_status choose_waiting(struct ar_run *run, struct ar_error *err)
{
    struct ar_profile *p = run->forms[AR_FORM_RECORDED].p;

    if (!run->choice.waiting)
        return AR_OK;
    if (ar_profile_sort(p) == AR_OK)
        run->waiting = calloc(p->n_roots + 1, sizeof *run->waiting);
    if (!run->waiting)
        return ar_fail(err, AR_NOMEM, "out of memory");
    if (ar_ranks_choose(p, run->choice.waiting, run->waiting) < 0)
        return ar_fail(err, AR_BAD, "--ranks %s: no such ranks (try: --ranks 0-3,8)",
                       run->choice.waiting);
    return AR_OK;
}

/* Said when the run is opened: what is shown comes later, piece by piece. */
static enum ar_status check_metrics(struct ar_run *run, struct ar_error *err)
{
    struct ar_figures figures;
    struct ar_error why = {""};
    enum ar_status status;

    if (!run->choice.metrics || !run->choice.metrics->n)
        return AR_OK;
    status = ar_figures_find(&figures, run->forms[AR_FORM_RECORDED].p, run->choice.metrics, &why);
    if (status < 0)
        return ar_fail(err, status, "%s: %s", run->choice.path, why.text);
    ar_figures_free(&figures);
    return AR_OK;
}

enum ar_status ar_run_of(struct ar_run **out, struct ar_profile *taken,
                         const struct ar_run_choice *choice, struct ar_error *err)
{
    struct ar_run *run = calloc(1, sizeof *run);

    *out = NULL;
    if (!run) {
        ar_profile_free(taken);
        return ar_fail(err, AR_NOMEM, "out of memory");
    }
    run->choice = *choice;
    run->subject.run = run;
    run->whole = *taken;
    *taken = (struct ar_profile){0};

    enum ar_status status = select_part(run, err);

    if (status == AR_OK)
        status = choose_waiting(run, err);
    if (status == AR_OK)
        status = check_metrics(run, err);
    if (status == AR_OK)
        *out = run;
    else
        ar_run_close(run);
    return status;
}

/* Readers of rows that are open point into packed metrics. They are opened again when they are asked for. */
static void close_readers(struct ar_run *run)
{
    for (int i = 0; i < AR_N_TREE_FORMS; i++) {
        struct ar_form *f = &run->forms[i];

        if (f->rank_shares)
            ar_shares_close(&f->shares);
        free(f->rank_shares);
        f->rank_shares = NULL;
        if (f->figure_reader.rows)
            ar_figure_reader_close(&f->figure_reader);
    }
    ar_own_time_close(&run->own_time);
    run->has_own_time = false;
}

static void free_form(struct ar_form *form)
{
    free(form->function_rows);
    free(form->mpi_rows);
    free(form->tasks);
    free(form->bottom_up);
    free(form->others);
    ar_arena_free(&form->other_names);
    free(form->mpi_classes);
    free(form->selves);
    ar_by_function_free(&form->functions);
    ar_places_free(&form->places);
    ar_call_times_free(&form->call_times);
    ar_node_metrics_free(&form->metrics);
    free(form->derived_rows);
    ar_figure_items_free(&form->function_figures);
    ar_figure_items_free(&form->node_figures);
    ar_figures_free(&form->figures);
    ar_thread_times_free(&form->thread_times);
    ar_sync_list_free(&form->syncs);
    ar_totals_free(&form->totals);
    free(form->is_hot);
}

static void free_rows(struct ar_run *run)
{
    for (size_t i = 0; i < run->n_comparisons; i++)
        ar_comparison_free(&run->comparisons[i]);
    free(run->comparisons);
    free(run->efficiency_rows);
    free(run->class_rows);
    free(run->relatives);
    for (int by = 0; by < AR_N_MPI_BY; by++)
        free(run->mpi_tables[by]);
    free(run->mpi_requests);
    free(run->mpi_pairs);
    free(run->wait_rows);
    free(run->finding_ranks);
    ar_stacks_free(&run->stacks);
    free(run->stack_threads);
    free(run->stack_frames);
    free(run->other_rows);
}

void ar_run_close(struct ar_run *run)
{
    if (!run)
        return;
    close_readers(run);
    ar_lines_free(&run->lines);
    ar_hot_lines_free(&run->hot_lines);
    ar_findings_free(&run->findings);
    ar_efficiencies_free(&run->efficiencies);
    ar_child_waits_free(&run->child_waits);
    ar_mpi_close(&run->mpi);
    ar_waits_free(&run->waits);
    ar_waits_free(&run->waits_by_node);
    for (int form = 0; form < AR_N_TREE_FORMS; form++)
        free_form(&run->forms[form]);
    free_rows(run);
    free(run->waiting);
    ar_profile_free(&run->folded);
    ar_profile_free(&run->chosen);
    ar_profile_free(&run->whole);
    free(run);
}

const struct ar_run_choice *ar_run_choice(const struct ar_run *run)
{
    return &run->choice;
}

const struct ar_subject *ar_run_subject(struct ar_run *run)
{
    return &run->subject;
}

/* ---- of either form --------------------------------------------------------------------------- */

struct ar_form *ar_run_form(struct ar_run *run, enum ar_tree_form form)
{
    struct ar_form *recorded = &run->forms[AR_FORM_RECORDED];
    struct ar_form *folded = &run->forms[AR_FORM_FOLDED];

    if (form == AR_FORM_RECORDED)
        return recorded;
    if (!run->folded_form && ar_profile_of_pairs(recorded->p))
        run->folded_form = recorded;
    if (!run->folded_form && ar_fold(&run->folded, recorded->p) == AR_OK) {
        folded->p = &run->folded;
        run->folded_form = folded;
    }
    return run->folded_form;
}

struct ar_profile *ar_run_profile(struct ar_run *run, enum ar_tree_form form)
{
    struct ar_form *f = ar_run_form(run, form);

    return f ? f->p : NULL;
}

/* The folded form has most figures of the recorded one, if it shows its rows. */
static struct ar_totals *totals_of(struct ar_run *run, struct ar_form *f)
{
    const struct ar_form *recorded = &run->forms[AR_FORM_RECORDED];
    bool has_known = f && recorded->has_totals && f->p->rows_of == recorded->p;

    if (f && !f->has_totals)
        f->has_totals =
            ar_totals_build_from(&f->totals, f->p, has_known ? &recorded->totals : NULL) == AR_OK;
    return f && f->has_totals ? &f->totals : NULL;
}

const struct ar_totals *ar_run_totals(struct ar_run *run, enum ar_tree_form form)
{
    return totals_of(run, ar_run_form(run, form));
}

enum ar_status ar_run_order(struct ar_run *run, enum ar_tree_form form, const double *keys)
{
    struct ar_form *f = ar_run_form(run, form);
    struct ar_totals *t = totals_of(run, f);

    return t ? ar_totals_order(t, f->p, keys) : AR_NOMEM;
}

static enum ar_status build_functions(struct ar_form *f, const struct ar_wanted *wanted)
{
    bool *only = NULL;
    enum ar_status status;

    if (wanted && wanted->text) {
        only = malloc((f->p->n_nodes + 1) * sizeof *only);
        if (!only)
            return AR_NOMEM;
        for (uint32_t i = 0; i < f->p->n_nodes; i++)
            only[i] = ar_wanted_node(wanted, f->p, i);
    }
    status = ar_by_function_build_of(&f->functions, f->p, &f->totals, only);
    free(only);
    return status;
}

const struct ar_by_function *ar_run_functions(struct ar_run *run, enum ar_tree_form form)
{
    struct ar_form *f = ar_run_form(run, form);

    if (!totals_of(run, f))
        return NULL;
    if (!f->has_functions)
        f->has_functions = build_functions(f, run->choice.wanted) == AR_OK;
    return f->has_functions ? &f->functions : NULL;
}

const struct ar_places *ar_run_places(struct ar_run *run, enum ar_tree_form form)
{
    struct ar_form *f = ar_run_form(run, form);

    if (f && !f->has_places)
        f->has_places = ar_places_find(&f->places, f->p) == AR_OK;
    return f && f->has_places ? &f->places : NULL;
}

const bool *ar_run_hot_path(struct ar_run *run, enum ar_tree_form form)
{
    struct ar_form *f = ar_run_form(run, form);

    if (!totals_of(run, f))
        return NULL;
    if (!f->is_hot) {
        f->is_hot = calloc(f->p->n_nodes + 1, sizeof *f->is_hot);
        if (f->is_hot)
            ar_mark_hot_path(f->p, &f->totals, f->is_hot);
    }
    return f->is_hot;
}

enum ar_status ar_run_count_partial(struct ar_run *run, enum ar_tree_form form, size_t *n)
{
    const struct ar_totals *t = ar_run_totals(run, form);
    const struct ar_profile *p = ar_run_profile(run, form);
    bool *is_counted = t ? calloc(p->n_functions + 1, sizeof *is_counted) : NULL;

    if (!is_counted)
        return AR_NOMEM;
    *n = 0;
    for (uint32_t i = 0; i < p->n_nodes; i++)
        if (t->time[i].doubt.marks & AR_MARK_PARTIAL && !is_counted[p->nodes[i].function]) {
            is_counted[p->nodes[i].function] = true;
            ++*n;
        }
    free(is_counted);
    return AR_OK;
}

const struct ar_node_metrics *ar_run_node_metrics(struct ar_run *run, enum ar_tree_form form)
{
    struct ar_form *f = ar_run_form(run, form);

    if (f && !f->has_metrics)
        f->has_metrics = ar_node_metrics_build(&f->metrics, f->p) == AR_OK;
    return f && f->has_metrics ? &f->metrics : NULL;
}

const struct ar_figures *ar_run_figures(struct ar_run *run, enum ar_tree_form form)
{
    struct ar_form *f = ar_run_form(run, form);

    if (f && !f->has_figures)
        f->has_figures = ar_figures_find(&f->figures, f->p, run->choice.metrics, NULL) == AR_OK;
    return f && f->has_figures ? &f->figures : NULL;
}

const struct ar_figure_items *ar_run_function_figures(struct ar_run *run, enum ar_tree_form form)
{
    const struct ar_figures *figures = ar_run_figures(run, form);
    const struct ar_by_function *by = figures ? ar_run_functions(run, form) : NULL;
    struct ar_form *f = by ? ar_run_form(run, form) : NULL;

    if (f && !f->has_function_figures)
        f->has_function_figures =
            ar_figures_of_functions(&f->function_figures, figures, by) == AR_OK;
    return f && f->has_function_figures ? &f->function_figures : NULL;
}

const struct ar_figure_items *ar_run_node_figures(struct ar_run *run, enum ar_tree_form form)
{
    const struct ar_figures *figures = ar_run_figures(run, form);
    struct ar_form *f = figures ? ar_run_form(run, form) : NULL;

    if (f && !f->has_node_figures)
        f->has_node_figures = ar_figures_of_nodes(&f->node_figures, figures) == AR_OK;
    return f && f->has_node_figures ? &f->node_figures : NULL;
}

const struct ar_figure_reader *ar_run_figures_of(struct ar_run *run, enum ar_tree_form form,
                                                 uint32_t function)
{
    const struct ar_figures *figures = ar_run_figures(run, form);
    const struct ar_by_function *by = figures ? ar_run_functions(run, form) : NULL;
    struct ar_form *f = by ? ar_run_form(run, form) : NULL;

    if (!f)
        return NULL;
    if (!f->figure_reader.rows) {
        if (ar_figure_reader_open(&f->figure_reader, figures) < 0)
            return NULL;
        f->figures_of = AR_NO_ID;
    }
    if (f->figures_of != function)
        ar_figure_read(&f->figure_reader, by->nodes + by->first_node[function],
                       by->first_node[function + 1] - by->first_node[function], by->outermost);
    f->figures_of = function;
    return &f->figure_reader;
}

const struct ar_call_times *ar_run_call_times(struct ar_run *run, enum ar_tree_form form)
{
    struct ar_form *f = ar_run_form(run, form);

    if (f && !f->has_call_times)
        f->has_call_times = ar_call_times_find(&f->call_times, f->p) == AR_OK;
    return f && f->has_call_times ? &f->call_times : NULL;
}

const struct ar_thread_times *ar_run_thread_times(struct ar_run *run, enum ar_tree_form form)
{
    struct ar_form *f = ar_run_form(run, form);

    if (!totals_of(run, f))
        return NULL;
    if (!f->has_thread_times)
        f->has_thread_times = ar_thread_times_sum(&f->thread_times, f->p, &f->totals) == AR_OK;
    return f->has_thread_times ? &f->thread_times : NULL;
}

const struct ar_sync_list *ar_run_syncs(struct ar_run *run, enum ar_tree_form form)
{
    struct ar_form *f = ar_run_form(run, form);

    if (f && !f->has_syncs)
        f->has_syncs = ar_sync_list_read(&f->syncs, f->p) == AR_OK;
    return f && f->has_syncs ? &f->syncs : NULL;
}

/* NULL: no memory. */
static bool *wanted_functions(const struct ar_profile *p, const struct ar_wanted *wanted)
{
    bool *is_wanted = calloc(p->n_functions + 1, sizeof *is_wanted);

    for (uint32_t i = 0; is_wanted && i < p->n_functions; i++)
        is_wanted[i] = !wanted || ar_wanted_function(wanted, p, i) ||
                       ar_wanted_file(wanted, ar_strtab_text(&p->strings, p->functions[i].file));
    return is_wanted;
}

const struct ar_lines *ar_run_lines(struct ar_run *run)
{
    const struct ar_totals *t = ar_run_totals(run, AR_FORM_RECORDED);
    struct ar_profile *p = ar_run_profile(run, AR_FORM_RECORDED);
    bool *only;

    if (run->has_lines || !t || !p)
        return run->has_lines ? &run->lines : NULL;
    only = wanted_functions(p, run->choice.wanted);
    run->has_lines = only && ar_lines_build(&run->lines, p, t, only) == AR_OK;
    free(only);
    return run->has_lines ? &run->lines : NULL;
}

const struct ar_hot_lines *ar_run_hot_lines(struct ar_run *run)
{
    const struct ar_totals *t = ar_run_totals(run, AR_FORM_RECORDED);
    struct ar_profile *p = ar_run_profile(run, AR_FORM_RECORDED);

    if (!run->has_hot_lines && t && p)
        run->has_hot_lines = ar_hot_lines_build(&run->hot_lines, p, t) == AR_OK;
    return run->has_hot_lines ? &run->hot_lines : NULL;
}

/* Threads are those of the profile when it is in order. */
const struct ar_stacks *ar_run_stacks(struct ar_run *run)
{
    struct ar_profile *p = run->forms[AR_FORM_RECORDED].p;

    if (!run->has_stacks && ar_profile_sort(p) == AR_OK)
        run->has_stacks = ar_stacks_build(&run->stacks, p, run->choice.main_only) == AR_OK;
    return run->has_stacks ? &run->stacks : NULL;
}

/* The folded form shows bytes of the recorded one, which go with its packed metrics. */
enum ar_status ar_run_unpack(struct ar_run *run, enum ar_tree_form form)
{
    struct ar_form *f = ar_run_form(run, form), *folded = run->folded_form;

    close_readers(run);
    if (!f || (folded && folded != f && ar_profile_keep_streams(folded->p) < 0))
        return AR_NOMEM;
    return ar_profile_unpack(f->p);
}

static enum ar_status open_shares(struct ar_form *f)
{
    f->rank_shares = calloc(f->p->n_processes + 1, sizeof *f->rank_shares);
    if (!f->rank_shares || ar_shares_open(&f->shares, &f->functions) < 0) {
        free(f->rank_shares);
        f->rank_shares = NULL;
        return AR_NOMEM;
    }
    f->shares_of = AR_NO_ID;
    return AR_OK;
}

const struct ar_share *ar_form_shares(struct ar_form *f, uint32_t function)
{
    if (f->shares_of != function)
        ar_shares_get(&f->shares, function, f->rank_shares);
    f->shares_of = function;
    return f->rank_shares;
}

const struct ar_share *ar_run_shares_of(struct ar_run *run, enum ar_tree_form form,
                                        uint32_t function)
{
    struct ar_form *f = ar_run_functions(run, form) ? ar_run_form(run, form) : NULL;

    if (!f || (!f->rank_shares && open_shares(f) < 0))
        return NULL;
    return ar_form_shares(f, function);
}

/* ---- of the folded form ----------------------------------------------------------------------- */

/* The folded form with its totals, which all that follows needs. */
static struct ar_form *folded_of(struct ar_run *run)
{
    struct ar_form *f = ar_run_form(run, AR_FORM_FOLDED);

    return totals_of(run, f) ? f : NULL;
}

const bool *ar_run_waiting(const struct ar_run *run)
{
    return run->waiting;
}

/* Those by node have all that the others have. */
const struct ar_waits *ar_run_waits(struct ar_run *run)
{
    struct ar_form *f = folded_of(run);

    if (!f)
        return NULL;
    if (run->has_waits_by_node)
        return &run->waits_by_node;
    if (!run->has_waits)
        run->has_waits = ar_waits_build_with(&run->waits, f->p, &f->totals, run->waiting) == AR_OK;
    return run->has_waits ? &run->waits : NULL;
}

const struct ar_waits *ar_run_waits_by_node(struct ar_run *run)
{
    struct ar_form *f = folded_of(run);

    if (f && !run->has_waits_by_node)
        run->has_waits_by_node =
            ar_waits_build_by_node(&run->waits_by_node, f->p, &f->totals) == AR_OK;
    return f && run->has_waits_by_node ? &run->waits_by_node : NULL;
}

const struct ar_child_waits *ar_run_child_waits(struct ar_run *run)
{
    struct ar_form *f = folded_of(run);

    if (f && !run->has_child_waits)
        run->has_child_waits = ar_child_waits_build(&run->child_waits, f->p, &f->totals) == AR_OK;
    return f && run->has_child_waits ? &run->child_waits : NULL;
}

/* A line has the waits of its own nodes: these are known by node only. */
static enum ar_status open_mpi(struct ar_run *run, struct ar_form *f)
{
    const struct ar_wanted *wanted = run->choice.wanted;
    bool is_part = wanted && wanted->text;
    const struct ar_waits *w = is_part ? ar_run_waits_by_node(run) : ar_run_waits(run);

    if (!w || ar_mpi_open(&run->mpi, f->p, &f->totals) < 0)
        return AR_NOMEM;
    ar_mpi_use_waits(&run->mpi, w);
    if (!is_part || ar_mpi_choose(&run->mpi, wanted) == AR_OK)
        return AR_OK;
    ar_mpi_close(&run->mpi);
    return AR_NOMEM;
}

const struct ar_mpi *ar_run_mpi(struct ar_run *run)
{
    struct ar_form *f = folded_of(run);

    if (f && !run->has_mpi)
        run->has_mpi = open_mpi(run, f) == AR_OK;
    return f && run->has_mpi ? &run->mpi : NULL;
}

const struct ar_mpi_row *ar_run_mpi_rows(struct ar_run *run, enum ar_mpi_by by, size_t *n)
{
    static const struct ar_mpi_row none = {0};
    const struct ar_mpi *m = ar_run_mpi(run);

    if (m && !run->has_mpi_table[by])
        run->has_mpi_table[by] =
            ar_mpi_table(m, by, &run->mpi_tables[by], &run->n_mpi_tables[by]) == AR_OK;
    *n = run->n_mpi_tables[by];
    if (!m || !run->has_mpi_table[by])
        return NULL;
    return *n ? run->mpi_tables[by] : &none;
}

const struct ar_efficiencies *ar_run_efficiencies(struct ar_run *run)
{
    const struct ar_by_function *f = ar_run_functions(run, AR_FORM_FOLDED);
    const struct ar_waits *w = f ? ar_run_waits_by_node(run) : NULL;

    if (w && !run->has_efficiencies)
        run->has_efficiencies = ar_efficiencies_build(&run->efficiencies, f, w) == AR_OK;
    return w && run->has_efficiencies ? &run->efficiencies : NULL;
}

const struct ar_findings *ar_run_findings(struct ar_run *run)
{
    const struct ar_mpi *m = ar_run_mpi(run);

    if (m && !run->has_findings)
        run->has_findings =
            ar_findings_find(&run->findings, ar_run_profile(run, AR_FORM_FOLDED), m,
                             ar_run_waits(run), ar_run_hot_lines(run), run->choice.path) == AR_OK;
    return m && run->has_findings ? &run->findings : NULL;
}

struct ar_own_time *ar_run_own_time(struct ar_run *run)
{
    struct ar_form *f = folded_of(run);

    if (f && !run->has_own_time)
        run->has_own_time = ar_own_time_open(&run->own_time, f->p, &f->totals) == AR_OK;
    return f && run->has_own_time ? &run->own_time : NULL;
}
