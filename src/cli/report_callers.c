// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/callers.h"

#include "cli/mpi_text.h"
#include "cli/report.h"
#include "cli/report_json.h"
#include "cli/screen.h"

#include <stdlib.h>
#include <string.h>

#define MOST_MATCHES 4 /* that are shown unless more is asked for */

/* Which of the two is asked, of which function. */
struct view {
    struct ar_report *r;
    bool callees;
    uint32_t function;
    const struct ar_function_sums *whole; /* of that function */
    struct ar_by_function relatives;
    uint32_t *functions; /* those, in order */
    size_t n;
    struct ar_marks_shown *marks;
};

/* Of the callees' group that is the function itself. */
static const struct ar_function_sums *itself(const struct view *v)
{
    return &v->relatives.sums[v->r->p->n_functions];
}

static double share_of(const struct view *v, double ns)
{
    return v->whole->time.mean > 0 ? ns / v->whole->time.mean : 0;
}

/* ---- the screen ------------------------------------------------------------------------------- */

static void print_figures(const struct view *v, uint64_t n_calls, const struct ar_spread *s)
{
    const struct ar_report *r = v->r;

    ar_print(" %8s %8s %8s", n_calls ? ar_show_short_count(n_calls, 8) : "",
             ar_show_mean(s, r->p->n_roots, r->unit_ns, v->marks),
             ar_show_percent(share_of(v, s->mean)));
    ar_print_range(r->p, s, r->unit_ns);
    ar_print("\n");
}

/* A caller is shown by one of the nodes that call; the first that is its. */
static uint32_t node_of(const struct view *v, uint32_t relative)
{
    uint32_t node = v->relatives.nodes[v->relatives.first_node[relative]];

    return v->callees ? node : v->r->p->nodes[node].parent;
}

static void print_relative(const struct view *v, uint32_t relative)
{
    struct ar_label_columns c = ar_list_columns(v->r);

    if (relative == v->r->p->nodes[0].function) {
        ar_print(" ");
        ar_print_fit("(no caller)", c.name, AR_KEEP_START);
        ar_print(" %*s", (int)c.place, "");
    } else {
        ar_print_label(v->r, c, node_of(v, relative), 0, ' ');
    }
    print_figures(v, v->relatives.sums[relative].n_calls, &v->relatives.sums[relative].time);
}

static void print_itself(const struct view *v)
{
    struct ar_label_columns c = ar_list_columns(v->r);

    ar_print(" ");
    ar_print_fit("(itself)", c.name, AR_KEEP_START);
    ar_print(" %*s", (int)c.place, "");
    print_figures(v, 0, &itself(v)->self);
}

static void print_heading(const struct view *v)
{
    const struct ar_report *r = v->r;
    struct ar_label_columns c = ar_list_columns(r);
    char heads[80];

    snprintf(heads, sizeof heads, " %8s %8s %8s%s", "calls", "total", "share", ar_range_head(r));
    ar_print_title(c, v->callees ? "What it calls" : "Who calls it", r->unit, heads);
}

static size_t print_relatives(const struct view *v)
{
    size_t n_shown = 0, n_most = v->r->fits ? 0 : v->r->n_rows;

    print_heading(v);
    if (v->callees)
        print_itself(v);
    for (size_t i = 0; i < v->n && !(n_most && n_shown == n_most); i++, n_shown++)
        print_relative(v, v->functions[i]);
    return n_shown;
}

static void print_view(const struct view *v)
{
    size_t n_shown = print_relatives(v);

    ar_print_more(v->n - n_shown, v->callees ? "more function" : "more caller",
                  v->callees ? "more functions" : "more callers", "");
}

/* ---- the function ----------------------------------------------------------------------------- */

static enum ar_status open_view(struct view *v)
{
    enum ar_status status = (v->callees ? ar_callees_build : ar_callers_build)(
        &v->relatives, v->r->p, v->r->t, v->function);

    return status == AR_OK
               ? ar_report_list(v->r, &v->relatives, AR_SORT_TOTAL, &v->functions, &v->n)
               : status;
}

static void close_view(struct view *v)
{
    free(v->functions);
    ar_by_function_free(&v->relatives);
}

static void print_function(const struct ar_report *r, const struct ar_by_function *f,
                           uint32_t function, struct ar_marks_shown *marks)
{
    const struct ar_function_sums *s = &f->sums[function];
    struct ar_label_columns c = ar_list_columns(r);
    char heads[80];

    snprintf(heads, sizeof heads, " %8s %8s %8s%s", "calls", "total", "self",
             r->p->n_roots > 1 ? "   min-max (rank)" : "");
    ar_print_title(c, "Function", r->unit, heads);
    ar_print_label(r, c, f->nodes[f->first_node[function]], 0, ' ');
    ar_print(" %8s %8s %8s", ar_show_short_count(s->n_calls, 8),
             ar_show_mean(&s->time, r->p->n_roots, r->unit_ns, marks),
             ar_show_mean(&s->self, r->p->n_roots, r->unit_ns, marks));
    ar_print_range(r->p, &s->time, r->unit_ns);
    ar_print("\n");
}

static int show_one(struct ar_report *r, const struct ar_by_function *f, uint32_t function,
                    bool callees, struct ar_marks_shown *marks)
{
    struct view v = {.r = r,
                     .callees = callees,
                     .function = function,
                     .whole = &f->sums[function],
                     .marks = marks};
    enum ar_status status = open_view(&v);

    if (status == AR_OK)
        print_view(&v);
    close_view(&v);
    return status < 0 ? ar_complain("out of memory") : AR_EXIT_OK;
}

/* ---- what was asked --------------------------------------------------------------------------- */

/* Of one function callers, callees, or both. */
struct asked {
    const char *name;
    bool callers, callees;
};

static int show_function(struct ar_report *r, const struct ar_by_function *f, uint32_t function,
                         struct asked asked)
{
    struct ar_marks_shown marks = {0};
    int status = AR_EXIT_OK;

    print_function(r, f, function, &marks);
    if (asked.callers)
        status = show_one(r, f, function, false, &marks);
    if (asked.callees && status == AR_EXIT_OK)
        status = show_one(r, f, function, true, &marks);
    ar_print_marks(&marks);
    return status;
}

static bool is_asked(const struct ar_report *r, const struct ar_by_function *f, const char *name,
                     uint32_t function)
{
    struct ar_wanted wanted = ar_wanted_parse(name);
    const struct ar_function_sums *s = &f->sums[function];

    return function != r->p->nodes[0].function && s->n_nodes && (s->n_calls || s->time.max) &&
           ar_wanted_function(&wanted, r->p, function);
}

/* The longest first; returns how many there are. */
static size_t find_asked(const struct ar_report *r, const struct ar_by_function *f,
                         const char *name, uint32_t *functions, size_t n_functions)
{
    size_t n = 0;

    for (size_t i = 0; i < n_functions; i++)
        if (is_asked(r, f, name, functions[i]))
            functions[n++] = functions[i];
    return n;
}

static int show_asked(struct ar_report *r, const struct ar_by_function *f, struct asked asked)
{
    uint32_t *functions;
    size_t n, n_shown = 0;
    int status = AR_EXIT_OK;

    if (ar_report_list(r, f, AR_SORT_TOTAL, &functions, &n) < 0)
        return ar_complain("out of memory");
    n = find_asked(r, f, asked.name, functions, n);
    for (; n_shown < n && status == AR_EXIT_OK; n_shown++) {
        if (r->fits && n_shown == MOST_MATCHES)
            break;
        status = show_function(r, f, functions[n_shown], asked);
    }
    if (status == AR_EXIT_OK && n_shown < n)
        ar_print("\n %s%s: --rows 0 shows all%s\n", ar_dim(),
                 ar_show_items(n - n_shown, "more function fits", "more functions fit"),
                 ar_plain());
    free(functions);
    return status;
}

static int show_all(struct ar_report *r, const struct ar_by_function *f)
{
    bool both = r->callers && r->callees && strcmp(r->callers, r->callees) == 0;
    int status = AR_EXIT_OK;

    if (r->callers)
        status = show_asked(r, f, (struct asked){r->callers, true, both});
    if (r->callees && !both && status == AR_EXIT_OK)
        status = show_asked(r, f, (struct asked){r->callees, false, true});
    return status;
}

/* Before anything is printed. Returns an exit status, or -1 to go on. */
static int check_name(const struct ar_report *r, const struct ar_by_function *f, const char *name)
{
    for (uint32_t i = 0; name && i < r->p->n_functions; i++)
        if (is_asked(r, f, name, i))
            return -1;
    if (!name)
        return -1;
    return ar_complain("%s: no function %s in it (allranks report --functions --rows 0 shows all)",
                       r->path, name);
}

/* As many rows as are asked for, of all that fit. */
static int print_csv(struct ar_report *r)
{
    struct ar_shown_rows rows;

    if (ar_shown_prepare(ar_shown_find("relatives"), ar_run_subject(r->run), &rows) < 0)
        return ar_complain("out of memory");
    if (!r->fits && r->n_rows && r->n_rows < rows.n)
        rows.n = r->n_rows;
    return ar_print_table(ar_run_subject(r->run), "relatives", &rows);
}

int ar_report_callers(struct ar_report *r)
{
    const struct ar_by_function *f = ar_run_functions(r->run, r->form);
    int status;

    if (!f)
        return ar_complain("out of memory");
    status = check_name(r, f, r->callers);
    if (status < 0)
        status = check_name(r, f, r->callees);
    if (status >= 0)
        return status;
    if (r->csv)
        return print_csv(r);
    ar_report_head(r);
    return show_all(r, f);
}

/* ---- version 1 of the JSON ------------------------------------------------------------------------------------- */

static void put_json_relatives(const struct view *v, struct ar_json *j)
{
    ar_json_open(j, NULL, '{');
    ar_json_integer(j, "function", v->function);
    ar_json_open(j, v->callees ? "callees" : "callers", '[');
    for (size_t i = 0; i < v->n; i++) {
        const struct ar_function_sums *s = &v->relatives.sums[v->functions[i]];

        ar_json_open(j, NULL, '{');
        if (v->functions[i] == v->r->p->nodes[0].function)
            ar_json_null(j, "function");
        else
            ar_json_integer(j, "function", v->functions[i]);
        ar_json_integer(j, "calls", s->n_calls);
        ar_json_spread(j, "time_ns", v->r->p, &s->time);
        ar_json_spread(j, "self_ns", v->r->p, &s->self);
        ar_json_close(j, '}');
    }
    ar_json_close(j, ']');
    if (v->callees)
        ar_json_spread(j, "itself_ns", v->r->p, &itself(v)->self);
    ar_json_close(j, '}');
}

static enum ar_status put_json_list(struct ar_report *r, struct ar_json *j,
                                    const struct ar_by_function *f, const char *name, bool callees)
{
    enum ar_status status = AR_OK;

    ar_json_open(j, callees ? "callees" : "callers", '[');
    for (uint32_t i = 0; i < r->p->n_functions && status == AR_OK; i++) {
        struct view v = {.r = r, .callees = callees, .function = i, .whole = &f->sums[i]};

        if (!is_asked(r, f, name, i))
            continue;
        status = open_view(&v);
        if (status == AR_OK)
            put_json_relatives(&v, j);
        close_view(&v);
    }
    ar_json_close(j, ']');
    return status;
}

enum ar_status ar_report_json_callers(struct ar_report *r, struct ar_json *j,
                                      const struct ar_by_function *f)
{
    enum ar_status status = AR_OK;

    if (r->callers)
        status = put_json_list(r, j, f, r->callers, false);
    if (r->callees && status == AR_OK)
        status = put_json_list(r, j, f, r->callees, true);
    return status;
}
