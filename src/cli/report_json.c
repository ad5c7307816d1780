// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report_json.h"

#include "analysis/place.h"
#include "cli/findings_text.h"
#include "cli/hang_json.h"
#include "cli/report.h"
#include "cli/screen.h"

static void put_rank(struct ar_json *j, const char *key, const struct ar_profile *p, uint32_t i)
{
    if (i >= p->n_processes || p->processes[i].world_rank == AR_RANK_NONE)
        ar_json_null(j, key);
    else
        ar_json_integer(j, key, p->processes[i].world_rank);
}

void ar_json_spread(struct ar_json *j, const char *key, const struct ar_profile *p,
                    const struct ar_spread *s)
{
    ar_json_open(j, key, '{');
    ar_json_number(j, "sum", s->sum);
    ar_json_number(j, "mean", s->mean);
    ar_json_number(j, "sd", s->sd);
    ar_json_integer(j, "min", s->min);
    put_rank(j, "min_rank", p, s->min_process);
    ar_json_integer(j, "max", s->max);
    put_rank(j, "max_rank", p, s->max_process);
    if (s->doubt.marks & AR_MARK_ESTIMATED) {
        ar_json_bool(j, "estimated", true);
        ar_json_number(j, "error", ar_doubt_error(s->doubt, p->n_roots));
    }
    ar_json_close(j, '}');
}

void ar_json_doubt(struct ar_json *j, const char *estimated, const char *error,
                   struct ar_doubt doubt)
{
    ar_json_bool(j, estimated, doubt.marks & AR_MARK_ESTIMATED);
    ar_json_number(j, error, ar_doubt_error(doubt, 1));
}

static void put_node(struct ar_json *j, const struct ar_profile *p, const struct ar_totals *t,
                     uint32_t i)
{
    const struct ar_profile_node *node = &p->nodes[i];

    ar_json_open(j, NULL, '{');
    if (node->parent == AR_NO_ID)
        ar_json_null(j, "parent");
    else
        ar_json_integer(j, "parent", node->parent);
    ar_json_integer(j, "function", node->function);
    ar_json_integer(j, "line", ar_line_of_node(p, i));
    ar_json_integer(j, "calls", t->n_calls[i]);
    if (t->of_pairs)
        ar_json_integer(j, "primitive_calls", t->n_primitive[i]);
    ar_json_spread(j, "time_ns", p, &t->time[i]);
    ar_json_spread(j, "self_ns", p, &t->self[i]);
    if (p->functions[node->function].kind == AR_FUNCTION_MPI) {
        ar_json_integer(j, "bytes_out", t->bytes_out[i]);
        ar_json_integer(j, "bytes_in", t->bytes_in[i]);
    }
    if (p->functions[node->function].kind == AR_FUNCTION_TASK)
        ar_json_integer(j, "awaited_ns", t->awaited_ns[i]);
    if (t->time[i].doubt.marks & AR_MARK_ESTIMATED)
        ar_json_bool(j, "estimated", true);
    if (t->time[i].doubt.marks & AR_MARK_PARTIAL)
        ar_json_bool(j, "partial", true);
    ar_json_close(j, '}');
}

void ar_json_overheads(struct ar_json *j, const uint64_t *overheads_ns)
{
    ar_json_open(j, "overheads_ns", '{');
    for (int reason = 0; reason < AR_N_OVERHEADS; reason++)
        ar_json_integer(j, ar_overhead_names[reason], overheads_ns[reason]);
    ar_json_close(j, '}');
}

void ar_json_overhead(struct ar_json *j, const struct ar_totals *t)
{
    if (t->overhead_ns) {
        ar_json_integer(j, "overhead_ns", t->overhead_ns);
        ar_json_number(j, "overhead", t->overhead);
    } else {
        ar_json_null(j, "overhead_ns");
        ar_json_null(j, "overhead");
    }
    ar_json_overheads(j, t->overheads_ns);
}

/* What a function did on all of its paths, beside what it is. */
static void put_functions(struct ar_json *j, const struct ar_report *r,
                          const struct ar_by_function *by)
{
    ar_json_open(j, "functions", '[');
    for (uint32_t i = 0; i < r->p->n_functions; i++) {
        const struct ar_function *f = &r->p->functions[i];

        ar_json_open(j, NULL, '{');
        ar_json_text(j, "kind", ar_function_kind_name(f->kind));
        ar_json_text(j, "name", ar_strtab_text(&r->p->strings, f->name));
        ar_json_text(j, "file", ar_strtab_text(&r->p->strings, f->file));
        ar_json_integer(j, "line", f->first_line);
        ar_json_integer(j, "calls", by->sums[i].n_calls);
        ar_json_integer(j, "ranks", by->sums[i].n_processes);
        ar_json_spread(j, "time_ns", r->p, &by->sums[i].time);
        ar_json_spread(j, "self_ns", r->p, &by->sums[i].self);
        ar_json_close(j, '}');
    }
    ar_json_close(j, ']');
}

static void put_hot_path(struct ar_json *j, const struct ar_report *r)
{
    ar_json_open(j, "hot_path", '[');
    for (uint32_t i = 0; i < r->p->n_nodes; i++)
        if (r->is_hot[i])
            ar_json_integer(j, NULL, i);
    ar_json_close(j, ']');
}

static void put_head(struct ar_json *j, const struct ar_report *r)
{
    ar_json_text(j, "schema", "allranks.report");
    ar_json_integer(j, "version", 2);
    ar_json_facts(j, "facts", r->p);
    ar_json_selection(j, &r->selection);
    ar_json_bool(j, "call_paths", !r->t->of_pairs);
    ar_json_integer(j, "processes", r->p->n_processes);
    ar_json_integer(j, "ranks", r->p->n_roots);
    ar_json_number(j, "wall_ns", r->t->mean_wall_ns);
    ar_json_number(j, "mpi_ns", r->t->mpi_ns);
    ar_json_overhead(j, r->t);
}

static enum ar_status put_report(struct ar_json *j, struct ar_report *r)
{
    const struct ar_by_function *by = ar_run_functions(r->run, r->form);
    enum ar_status status;

    if (!by)
        return AR_NOMEM;
    ar_json_open(j, NULL, '{');
    put_head(j, r);
    ar_json_hang(j, r->p);
    status = ar_json_findings(j, r->run);
    put_functions(j, r, by);
    ar_json_open(j, "nodes", '[');
    for (uint32_t i = 0; i < r->p->n_nodes; i++)
        put_node(j, r->p, r->t, i);
    ar_json_close(j, ']');
    put_hot_path(j, r);
    if (status == AR_OK)
        status = ar_report_json_callers(r, j, by);
    ar_json_close(j, '}');
    return status;
}

int ar_report_json(struct ar_report *r)
{
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};
    enum ar_status made = put_report(&j, r);

    ar_bytes_u8(&bytes, '\n');

    int status =
        made < 0 || bytes.bad ? ar_complain("out of memory") : ar_write_output("-", &bytes);

    ar_bytes_free(&bytes);
    return status;
}
