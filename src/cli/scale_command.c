// SPDX-License-Identifier: BSD-3-Clause
/*
 * allranks scale: runs on more and more ranks: efficiencies, and what does not scale. All fits 80
 * columns and 24 lines unless more is asked for.
 */
#include "analysis/mpi_class.h"
#include "analysis/scaling.h"
#include "cli/commands.h"
#include "cli/doubt_text.h"
#include "cli/options.h"
#include "cli/program_names.h"
#include "cli/report_json.h"
#include "cli/screen.h"
#include "cli/shown.h"
#include "export/tables_json.h"
#include "run/subjects.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: allranks scale [options] RUN RUN...\n"
    "\n"
    "Show how a program behaves on more and more ranks: runs that differ in nothing but that.\n"
    "Efficiencies are those of the POP centre: parallel efficiency is load balance (mean by\n"
    "most computing) times communication (most computing by wall time), which is, where waits\n"
    "were recorded, serialisation (waiting for others) times transfer; computation is how much\n"
    "less all ranks computed in the smallest run; global is parallel times that.\n"
    "\n"
    "Then functions, worst first: what one costs in the largest run beyond what it should,\n"
    "by its self time on the rank that has most of it, and whether it scales.\n";
static const char usage_end[] = "Of several runs on as many ranks the fastest counts.\n";

#define SCREEN_ROWS 24
#define DEFAULT_ROWS SIZE_MAX
#define LEAST_LABEL 30

struct command {
    struct ar_summary *runs;
    size_t n_runs;
    struct ar_scaling s;
    bool weak, functions, csv;
    int json; /* enum ar_json_version */
    size_t n_rows, n_columns;
    size_t n_lines; /* between head and tables */
    double unit_ns;
    const char *unit;
    struct ar_marks_shown marks;
};

/* ---- runs ----------------------------------------------------------------------------------- */

static const char *show_percent(double share)
{
    static char texts[8][16];
    static int n;
    char *text = texts[n++ % 8];

    snprintf(text, sizeof texts[0], "%.0f %%", 100 * share);
    return text;
}

static void print_head(const struct command *c)
{
    const char *program = ar_file_name(ar_profile_fact_text(&c->s.points[0].run->p, "program"));

    program = *program ? program : ar_file_name(c->runs[0].path);
    ar_print("%s", ar_bold());
    ar_print_fit(program, strlen(program) < 30 ? strlen(program) : 30, AR_KEEP_START);
    ar_print("%s   %s   %s scaling", ar_plain(), ar_show_items(c->s.n_points, "run", "runs"),
             c->weak ? "weak" : "strong");
    if (c->s.n_left_out)
        ar_print("   %s left out", ar_show_items(c->s.n_left_out, "slower run", "slower runs"));
    ar_print("\n");
}

/* Of all runs, or of none: columns are the same for all. */
static bool are_split(const struct command *c)
{
    for (size_t i = 0; i < c->s.n_points; i++)
        if (!c->s.points[i].run->e.run.is_split)
            return false;
    return true;
}

static void print_points(const struct command *c)
{
    bool split = are_split(c);

    ar_print("\n%s%7s %8s %8s %7s %8s %8s", ar_bold(), "ranks",
             c->unit_ns == 1e9 ? "seconds" : "ms", "speed-up", "global", "parallel", "balance");
    ar_print(split ? " %8s %8s" : " %9s", split ? "serial." : "communic.", "transfer");
    ar_print(" %11s%s\n", "computation", ar_plain());
    for (size_t i = 0; i < c->s.n_points; i++) {
        const struct ar_scaling_point *point = &c->s.points[i];
        const struct ar_efficiency *e = &point->run->e.run;

        ar_print("%7zu %8s %8.2f %7s %8s %8s", point->n_ranks,
                 ar_show_time(point->wall_ns, c->unit_ns), point->speed_up,
                 show_percent(point->global), show_percent(e->parallel),
                 show_percent(e->load_balance));
        if (split)
            ar_print(" %8s %8s", show_percent(e->serialisation), show_percent(e->transfer));
        else
            ar_print(" %9s", show_percent(e->communication));
        ar_print(" %11s\n", show_percent(point->computation));
    }
}

/* ---- functions ------------------------------------------------------------------------------ */

static const char *show_verdict(const struct command *c, const struct ar_scaling_function *f)
{
    static char text[64];
    static const char *const strong[AR_N_VERDICTS] = {
        "scales",           "scales poorly",    NULL,   "imbalance grows",
        "serial: one rank", "serial: constant", "grows"};

    if (f->verdict == AR_STOPS_SCALING) {
        snprintf(text, sizeof text, "stops at %zu", f->stops_at);
        return text;
    }
    if (ar_scaling_sums(&c->s, f->row, 0).n_nodes == 0)
        return "not in the first";
    return strong[f->verdict];
}

#define TIME_COLUMNS 8
#define LAST_COLUMNS 26 /* what is lost, and the verdict */

static size_t count_times(const struct command *c)
{
    size_t n_taken = LAST_COLUMNS + LEAST_LABEL;
    size_t n_fits = c->n_columns > n_taken ? (c->n_columns - n_taken) / TIME_COLUMNS : 0;

    n_fits = n_fits < 2 ? 2 : n_fits;
    return c->s.n_points < n_fits ? c->s.n_points : n_fits;
}

/* Of many runs the first, the last, and what lies evenly between them. */
static size_t shown_point(const struct command *c, size_t column, size_t n_columns)
{
    return n_columns < 2 ? c->s.n_points - 1 : column * (c->s.n_points - 1) / (n_columns - 1);
}

static const char *function_place(const struct ar_summary *s, uint32_t function)
{
    uint32_t first = s->f.first_node[function], kind = s->p.functions[function].kind;
    uint32_t n = s->f.first_node[function + 1] - first;

    if (n == 0)
        return "";
    if (n > 1 && (kind == AR_FUNCTION_MPI || kind == AR_FUNCTION_OPERATION))
        return ar_show_items(n, "place", "places");
    return ar_show_place(&s->p, s->f.nodes[first]);
}

static void print_label(const struct ar_summary *s, uint32_t function, size_t n_columns)
{
    size_t n_place = n_columns / 2 - 1;
    const char *name = ar_show_function(&s->p, function, n_columns - n_place - 1);

    if (s->p.functions[function].kind == AR_FUNCTION_MPI)
        name = ar_mpi_class_of(name).function;
    ar_print_fit(name, n_columns - n_place - 1, AR_KEEP_START);
    ar_print(" ");
    ar_print_fit(function_place(s, function), n_place, AR_KEEP_END);
}

/* Of the error of the rank that has most no more is known than that of all of them. */
static const char *show_most(struct command *c, const struct ar_spread *s, struct ar_doubt *lost)
{
    ar_mark_shown(&c->marks, s->doubt, 1);
    ar_doubt_add(lost, s->doubt);
    return ar_show_doubted(s->doubt, (double)s->max, c->unit_ns);
}

static void print_function(struct command *c, const struct ar_scaling_function *f, size_t n_label,
                           size_t n_times)
{
    struct ar_doubt lost = {0};

    ar_print(" ");
    print_label(c->s.points[f->run].run, f->id, n_label - 1);
    for (size_t i = 0; i < n_times; i++) {
        struct ar_function_sums sums = ar_scaling_sums(&c->s, f->row, shown_point(c, i, n_times));

        ar_print(" %7s", show_most(c, &sums.self, &lost));
    }
    ar_print(" %7s  %s\n", ar_show_doubted(lost, f->lost_ns > 0 ? f->lost_ns : 0, c->unit_ns),
             show_verdict(c, f));
}

/* Whether there will be a line more below the table. */
static bool has_marks(const struct command *c)
{
    for (size_t i = 0; i < c->s.n_functions; i++)
        for (size_t k = 0; k < c->s.n_points; k++)
            if (ar_scaling_sums(&c->s, c->s.functions[i].row, k).self.doubt.marks)
                return true;
    return false;
}

static void print_functions(struct command *c)
{
    size_t n_times = count_times(c), i = 0;
    size_t n_numbers = TIME_COLUMNS * n_times + LAST_COLUMNS;
    size_t n_head = 3 + c->n_lines + c->s.n_points + 2;
    size_t n_label = c->n_columns > n_numbers + 20 ? c->n_columns - n_numbers : 20;
    size_t n_fits = SCREEN_ROWS > n_head + 4 ? SCREEN_ROWS - n_head - 1 : 3;
    size_t n_most = c->n_rows == DEFAULT_ROWS ? n_fits - has_marks(c) : c->n_rows;

    ar_print("\n%s", ar_bold());
    ar_print_fit(c->unit_ns == 1e9 ? "Self, most, seconds" : "Self, most, ms", n_label,
                 AR_KEEP_START);
    for (size_t k = 0; k < n_times; k++)
        ar_print(" %7zu", c->s.points[shown_point(c, k, n_times)].n_ranks);
    ar_print(" %7s%s\n", "lost", ar_plain());
    for (; i < c->s.n_functions && (n_most == 0 || i < n_most); i++)
        print_function(c, &c->s.functions[i], n_label, n_times);
    if (i < c->s.n_functions)
        ar_print(" %s%s: -n 0 shows all%s\n", ar_dim(),
                 ar_show_items(c->s.n_functions - i, "more function", "more functions"),
                 ar_plain());
    ar_print_marks(&c->marks);
}

/* ---- version 1 of the JSON --------------------------------------------------------------------------- */

static void put_point(struct ar_json *j, const struct ar_scaling_point *point)
{
    const struct ar_efficiency *e = &point->run->e.run;

    ar_json_open(j, NULL, '{');
    ar_json_text(j, "path", point->run->path);
    ar_json_facts(j, "facts", &point->run->p);
    ar_json_integer(j, "ranks", point->n_ranks);
    ar_json_number(j, "wall_ns", point->wall_ns);
    ar_json_number(j, "mean_computing_ns", e->mean_computing_ns);
    ar_json_number(j, "max_computing_ns", e->max_computing_ns);
    ar_json_number(j, "speed_up", point->speed_up);
    ar_json_number(j, "global_efficiency", point->global);
    ar_json_number(j, "parallel_efficiency", e->parallel);
    ar_json_number(j, "load_balance", e->load_balance);
    ar_json_number(j, "communication_efficiency", e->communication);
    ar_json_number(j, "serialisation_efficiency", e->serialisation);
    ar_json_number(j, "transfer_efficiency", e->transfer);
    ar_json_number(j, "computation_scaling", point->computation);
    ar_json_close(j, '}');
}

static void put_function(struct ar_json *j, const struct command *c,
                         const struct ar_scaling_function *f)
{
    const struct ar_profile *p = &c->s.points[f->run].run->p;
    const struct ar_function *function = &p->functions[f->id];

    ar_json_open(j, NULL, '{');
    ar_json_text(j, "kind", ar_function_kind_name(function->kind));
    ar_json_text(j, "name", ar_strtab_text(&p->strings, function->name));
    ar_json_text(j, "file", ar_strtab_text(&p->strings, function->file));
    ar_json_integer(j, "line", function->first_line);
    ar_json_text(j, "verdict", ar_verdict_name(f->verdict));
    if (f->verdict == AR_STOPS_SCALING)
        ar_json_integer(j, "stops_at", f->stops_at);
    else
        ar_json_null(j, "stops_at");
    ar_json_number(j, "power", f->power);
    ar_json_number(j, "lost_ns", f->lost_ns);
    ar_json_open(j, "by_run", '[');
    for (size_t i = 0; i < c->s.n_points; i++) {
        struct ar_function_sums sums = ar_scaling_sums(&c->s, f->row, i);

        ar_json_open(j, NULL, '{');
        ar_json_integer(j, "ranks", c->s.points[i].n_ranks);
        ar_json_number(j, "calls", sums.calls.mean);
        ar_json_spread(j, "time_ns", &c->s.points[i].run->p, &sums.time);
        ar_json_spread(j, "self_ns", &c->s.points[i].run->p, &sums.self);
        ar_json_close(j, '}');
    }
    ar_json_close(j, ']');
    ar_json_close(j, '}');
}

static int print_json_1(const struct command *c)
{
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};

    ar_json_open(&j, NULL, '{');
    ar_json_text(&j, "schema", "allranks.scale");
    ar_json_integer(&j, "version", 1);
    ar_json_text(&j, "scaling", c->weak ? "weak" : "strong");
    ar_json_integer(&j, "left_out", c->s.n_left_out);
    ar_json_open(&j, "runs", '[');
    for (size_t i = 0; i < c->s.n_points; i++)
        put_point(&j, &c->s.points[i]);
    ar_json_close(&j, ']');
    ar_json_open(&j, "functions", '[');
    for (size_t i = 0; i < c->s.n_functions; i++)
        put_function(&j, c, &c->s.functions[i]);
    ar_json_close(&j, ']');
    ar_json_close(&j, '}');
    ar_bytes_u8(&bytes, '\n');

    int status = bytes.bad ? ar_complain("out of memory") : ar_write_output("-", &bytes);

    ar_bytes_free(&bytes);
    return status;
}

/* ---- tables --------------------------------------------------------------------------------- */

static int print_json(const struct command *c, const struct ar_subject *of)
{
    static const char *const tables[] = {"scaling", "scaling_runs", "scaling_functions",
                                         "scaling_function_runs", NULL};
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};
    enum ar_status status;

    ar_json_begin(&j, "scale");
    ar_json_open(&j, "facts", '[');
    for (size_t i = 0; i < c->s.n_points; i++)
        ar_json_facts(&j, NULL, &c->s.points[i].run->p);
    ar_json_close(&j, ']');
    status = ar_json_tables(&j, of, tables);
    ar_json_end(&j);
    return ar_print_json(&j, status);
}

/* As JSON of version 2, or as CSV. */
static int print_tables(const struct command *c)
{
    const struct ar_shown_scaling scaling = {.s = &c->s};
    const struct ar_subject subject = {.scaling = &scaling};

    if (c->json == AR_JSON_2)
        return print_json(c, &subject);
    return ar_print_table(&subject, c->functions ? "scaling_function_runs" : "scaling_runs", NULL);
}

/* ---- command -------------------------------------------------------------------------------- */

static int show(struct command *c)
{
    c->unit_ns = c->s.points[0].wall_ns < 1e9 ? 1e6 : 1e9;
    if (c->json == AR_JSON_1)
        return print_json_1(c);
    if (c->json == AR_JSON_2 || c->csv)
        return print_tables(c);
    print_head(c);
    c->n_lines = ar_print_programs(c->runs, c->n_runs);
    print_points(c);
    print_functions(c);
    return AR_EXIT_OK;
}

static int load(struct command *c, char *const *paths, size_t n)
{
    struct ar_error err;

    for (; c->n_runs < n; c->n_runs++) {
        if (ar_summary_load(&c->runs[c->n_runs], paths[c->n_runs], true, &err) < 0)
            return ar_complain("%s", err.text);
        ar_summary_forget_values(&c->runs[c->n_runs]);
    }
    return -1;
}

static int build_and_show(struct command *c)
{
    enum ar_status status = ar_scaling_build(&c->s, c->runs, c->n_runs, c->weak);

    if (status == AR_BAD)
        return ar_complain("%s: all runs are on %s (runs on different numbers of ranks are needed; "
                           "to compare these: allranks diff)",
                           c->runs[0].path, ar_show_items(c->runs[0].p.n_roots, "rank", "ranks"));
    return status < 0 ? ar_complain("out of memory") : show(c);
}

static int parse(int argc, char **argv, struct command *c)
{
    const struct ar_option options[] = {
        AR_HEADING("options"),
        {.name = "weak",
         .kind = AR_OPTION_FLAG,
         .to = &c->weak,
         .help = "the problem grows with the ranks (default: it stays the same)"},
        AR_ROWS_OPTION(&c->n_rows, "functions (default: one screen; 0: all of them)"),
        {.name = "functions",
         .kind = AR_OPTION_FLAG,
         .to = &c->functions,
         .help = "with --csv: a row for each function and run, not for each run"},
        AR_CSV_OPTION(&c->csv, "for spreadsheets"),
        AR_JSON_OPTION(&c->json, "everything"),
        AR_HELP_OPTION,
    };
    int status =
        ar_options_parse(argc, argv, options, sizeof options / sizeof *options, usage, usage_end);

    if (status >= 0)
        return status;
    if (argc - optind < 2)
        return ar_complain("two runs are needed at least, not %d (usage: allranks scale RUN "
                           "RUN...)",
                           argc - optind);
    return -1;
}

int ar_command_scale(int argc, char **argv)
{
    struct command c = {
        .json = AR_NO_JSON, .n_rows = DEFAULT_ROWS, .n_columns = ar_screen_columns()};
    int status = parse(argc, argv, &c);
    struct ar_summary *runs;
    size_t n;

    if (status >= 0)
        return status;
    n = (size_t)(argc - optind);
    runs = calloc(n, sizeof *runs);
    if (!runs)
        return ar_complain("out of memory");
    c.runs = runs;
    status = load(&c, argv + optind, n);
    if (status < 0)
        status = build_and_show(&c);
    ar_scaling_free(&c.s);
    for (size_t i = 0; i < c.n_runs; i++)
        ar_summary_free(&runs[i]);
    free(runs);
    return status;
}
