// SPDX-License-Identifier: BSD-3-Clause
#include "cli/top_json.h"

#include "cli/report_json.h"
#include "cli/screen.h"

#include <stdlib.h>

static void put_function_name(struct ar_json *j, const struct ar_profile *p, uint32_t function)
{
    const struct ar_function *f = &p->functions[function];

    ar_json_text(j, "kind", ar_function_kind_name(f->kind));
    ar_json_text(j, "name", ar_strtab_text(&p->strings, f->name));
    ar_json_text(j, "file", ar_strtab_text(&p->strings, f->file));
    ar_json_integer(j, "line", f->first_line);
}

/* Where its main thread is: the function of MPI or C, or else the Python function. */
static void put_place(struct ar_json *j, const struct ar_profile *p, const struct ar_watched *at)
{
    uint32_t function = at->leaf == AR_NO_ID ? at->function : at->leaf;

    if (function == AR_NO_ID) {
        ar_json_null(j, "in");
        return;
    }
    ar_json_open(j, "in", '{');
    put_function_name(j, p, function);
    ar_json_close(j, '}');
}

static void put_process(struct ar_json *j, const struct ar_top_view *view, uint32_t i)
{
    const struct ar_profile *p = &view->watch->names;
    const struct ar_watched *at = &view->watch->processes[i];

    ar_json_open(j, NULL, '{');
    if (at->process.world_rank == AR_RANK_NONE)
        ar_json_null(j, "rank");
    else
        ar_json_integer(j, "rank", at->process.world_rank);
    ar_json_integer(j, "pid", at->process.pid);
    ar_json_text(j, "host", ar_strtab_text(&p->strings, at->process.host));
    ar_json_text(j, "state", ar_process_state_name(at->process.state));
    ar_json_integer(j, "threads", at->n_threads);
    ar_json_integer(j, "still_ns", at->still_ns);
    ar_json_integer(j, "wall_ns", at->now.wall_ns);
    ar_json_integer(j, "mpi_ns", at->now.mpi_ns);
    put_place(j, p, at);
    ar_json_close(j, '}');
}

static void put_share(struct ar_json *j, const char *key, struct ar_share share)
{
    ar_json_open(j, key, '{');
    ar_json_integer(j, "calls", share.n_calls);
    ar_json_integer(j, "self_ns", share.self_ns);
    ar_json_integer(j, "total_ns", share.time_ns);
    ar_json_doubt(j, "self_estimated", "self_error_ns", share.self_doubt);
    ar_json_doubt(j, "total_estimated", "total_error_ns", share.time_doubt);
    ar_json_close(j, '}');
}

static void put_functions(struct ar_json *j, const struct ar_top_view *view,
                          const struct ar_top_row *rows, size_t n)
{
    ar_json_open(j, "functions", '[');
    for (size_t i = 0; i < n; i++) {
        ar_json_open(j, NULL, '{');
        put_function_name(j, &view->watch->names, rows[i].function);
        put_share(j, "ever", rows[i].ever);
        if (view->has_interval)
            put_share(j, "lately", rows[i].lately);
        ar_json_close(j, '}');
    }
    ar_json_close(j, ']');
}

int ar_top_json(const struct ar_top_view *view)
{
    const struct ar_watch *w = view->watch;
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};
    size_t n = 0;
    struct ar_top_row *rows = ar_top_rows(view, &n);

    if (!rows)
        return ar_complain("out of memory");
    ar_json_open(&j, NULL, '{');
    ar_json_text(&j, "schema", "allranks.top");
    ar_json_integer(&j, "version", 1);
    ar_json_facts(&j, "facts", &w->names);
    ar_json_integer(&j, "span_ns", ar_watch_span_ns(w, AR_NO_ID, true));
    if (view->has_interval)
        ar_json_integer(&j, "lately_span_ns", ar_watch_span_ns(w, AR_NO_ID, false));
    else
        ar_json_null(&j, "lately_span_ns");
    ar_json_integer(&j, "unreadable_files", w->n_unreadable);
    ar_json_open(&j, "processes", '[');
    for (uint32_t i = 0; i < w->n_processes; i++)
        put_process(&j, view, i);
    ar_json_close(&j, ']');
    put_functions(&j, view, rows, n);
    ar_json_close(&j, '}');
    ar_bytes_u8(&bytes, '\n');

    int status = bytes.bad ? ar_complain("out of memory") : ar_write_output("-", &bytes);

    ar_bytes_free(&bytes);
    free(rows);
    return status;
}
