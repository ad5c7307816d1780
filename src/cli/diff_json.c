// SPDX-License-Identifier: BSD-3-Clause
#include "cli/diff_json.h"

#include "analysis/place.h"
#include "cli/report_json.h"
#include "cli/screen.h"
#include "run/subjects.h"

static void put_run(struct ar_json *j, const struct ar_summary *s)
{
    ar_json_open(j, NULL, '{');
    ar_json_text(j, "path", s->path);
    ar_json_facts(j, "facts", &s->p);
    ar_json_integer(j, "ranks", s->p.n_roots);
    ar_json_number(j, "wall_ns", s->t.mean_wall_ns);
    ar_json_number(j, "mpi_ns", s->t.mpi_ns);
    ar_json_close(j, '}');
}

static void put_side(struct ar_json *j, const char *key, const struct ar_diff *d, size_t first,
                     size_t end)
{
    ar_json_open(j, key, '[');
    for (size_t i = first; i < end; i++)
        put_run(j, &d->runs[i]);
    ar_json_close(j, ']');
}

static void put_change(struct ar_json *j, const char *key, const struct ar_change *change)
{
    ar_json_open(j, key, '{');
    ar_json_number(j, "base", change->base);
    ar_json_number(j, "now", change->now);
    ar_json_number(j, "change", ar_change_ns(change));
    ar_json_number(j, "noise", change->noise);
    ar_json_bool(j, "counts", change->counts);
    ar_json_bool(j, "undecided", change->is_undecided);
    ar_json_doubt(j, "base_estimated", "base_error", change->base_doubt);
    ar_json_doubt(j, "now_estimated", "now_error", change->now_doubt);
    ar_json_close(j, '}');
}

/* Where a function is, of the last run of a side that has it; null where none has. */
static void put_place(struct ar_json *j, const char *key, const struct ar_diff *d,
                      const struct ar_common *common, uint32_t row, size_t first, size_t end)
{
    while (end > first && ar_common_id(common, end - 1, row) == AR_NO_ID)
        end--;
    if (end == first) {
        ar_json_null(j, key);
        return;
    }

    const struct ar_profile *p = &d->runs[end - 1].p;
    const struct ar_function *f = &p->functions[ar_common_id(common, end - 1, row)];

    ar_json_open(j, key, '{');
    ar_json_text(j, "file", ar_strtab_text(&p->strings, f->file));
    ar_json_integer(j, "line", f->first_line);
    ar_json_close(j, '}');
}

static void put_identity(struct ar_json *j, const struct ar_profile *p, uint32_t function)
{
    const struct ar_function *f = &p->functions[function];

    ar_json_text(j, "kind", ar_function_kind_name(f->kind));
    ar_json_text(j, "name", ar_strtab_text(&p->strings, f->name));
    ar_json_text(j, "file", ar_strtab_text(&p->strings, f->file));
    ar_json_integer(j, "line", f->first_line);
}

static void put_figures(struct ar_json *j, const struct ar_diff_row *row)
{
    ar_json_open(j, "calls", '{');
    ar_json_number(j, "base", row->base_calls);
    ar_json_number(j, "now", row->now_calls);
    ar_json_close(j, '}');
    put_change(j, "time_ns", &row->time);
    put_change(j, "self_ns", &row->self);
}

static void put_functions(struct ar_json *j, const struct ar_diff *d)
{
    const struct ar_common *common = &d->functions.common;

    ar_json_open(j, "functions", '[');
    for (size_t i = 0; i < d->functions.n_rows; i++) {
        const struct ar_diff_row *row = &d->functions.rows[i];

        ar_json_open(j, NULL, '{');
        put_identity(j, &d->runs[row->run].p, row->id);
        put_place(j, "base", d, common, row->row, 0, d->n_base);
        put_place(j, "now", d, common, row->row, d->n_base, d->n_runs);
        put_figures(j, row);
        ar_json_close(j, '}');
    }
    ar_json_close(j, ']');
}

static void put_node(struct ar_json *j, const struct ar_profile *p, uint32_t node)
{
    uint32_t nodes[AR_PATH_NODES];

    put_identity(j, p, p->nodes[node].function);
    if (p->nodes[node].line)
        ar_json_integer(j, "call_line", ar_place_of_call(p, node).line);
    else
        ar_json_null(j, "call_line");
    ar_json_open(j, "path", '[');
    for (size_t n = ar_path_nodes(p, node, nodes); n-- > 0;)
        ar_json_text(j, NULL, ar_show_name(p, nodes[n], SIZE_MAX));
    ar_json_close(j, ']');
}

static void put_paths(struct ar_json *j, const struct ar_diff *d)
{
    ar_json_open(j, "paths", '[');
    for (size_t i = 0; i < d->paths.n_rows; i++) {
        const struct ar_diff_row *row = &d->paths.rows[i];

        if (row->id == 0)
            continue;
        ar_json_open(j, NULL, '{');
        put_node(j, &d->runs[row->run].p, row->id);
        ar_json_bool(j, "has_base", row->has_base);
        ar_json_bool(j, "has_now", row->has_now);
        put_figures(j, row);
        ar_json_close(j, '}');
    }
    ar_json_close(j, ']');
}

static void put_conditions(struct ar_json *j, const struct ar_diff *d,
                           const struct ar_fail_if *conditions,
                           const struct ar_fail_verdict *verdicts, size_t n)
{
    ar_json_open(j, "fail_if", '[');
    for (size_t i = 0; i < n; i++) {
        const struct ar_diff_row *row = verdicts[i].row;

        ar_json_open(j, NULL, '{');
        ar_json_text(j, "condition", conditions[i].text);
        ar_json_bool(j, "holds", verdicts[i].holds);
        ar_json_bool(j, "within_noise", verdicts[i].is_noise);
        if (row)
            ar_json_text(j, "function",
                         ar_strtab_text(&d->runs[row->run].p.strings,
                                        d->runs[row->run].p.functions[row->id].name));
        else
            ar_json_null(j, "function");
        put_change(j, "change_ns", &verdicts[i].change);
        ar_json_close(j, '}');
    }
    ar_json_close(j, ']');
}

int ar_diff_json(const struct ar_diff *d, const struct ar_fail_if *conditions,
                 const struct ar_fail_verdict *verdicts, size_t n)
{
    static const char *const noises[] = {"runs", "pairs", "ranks", "unknown"};
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};

    ar_json_open(&j, NULL, '{');
    ar_json_text(&j, "schema", "allranks.diff");
    ar_json_integer(&j, "version", 1);
    put_side(&j, "base", d, 0, d->n_base);
    put_side(&j, "now", d, d->n_base, d->n_runs);
    ar_json_text(&j, "noise_from", noises[d->noise]);
    put_change(&j, "total_ns", &d->total);
    put_change(&j, "mpi_ns", &d->mpi);
    put_functions(&j, d);
    if (d->paths.common.n_rows)
        put_paths(&j, d);
    put_conditions(&j, d, conditions, verdicts, n);
    ar_json_close(&j, '}');
    ar_bytes_u8(&bytes, '\n');

    int status = bytes.bad ? ar_complain("out of memory") : ar_write_output("-", &bytes);

    ar_bytes_free(&bytes);
    return status;
}
