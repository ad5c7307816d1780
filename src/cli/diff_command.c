// SPDX-License-Identifier: BSD-3-Clause
/*
 * allranks diff: what got slower or faster between runs. All fits 80 columns and 24 lines unless
 * more is asked for; what is no more than noise is not shown as a change.
 */
#include "analysis/mpi_class.h"
#include "cli/commands.h"
#include "cli/diff_json.h"
#include "cli/doubt_text.h"
#include "cli/options.h"
#include "cli/program_names.h"
#include "cli/screen.h"
#include "cli/shown.h"
#include "export/tables_json.h"
#include "run/subjects.h"

#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: allranks diff [options] BASE NOW\n"
    "       allranks diff [options] BASE... -- NOW...\n"
    "\n"
    "Show what got slower or faster, by function or by call path: times and calls are means\n"
    "over ranks. With -- there are several runs a side, which tell noise best. A run is a\n"
    "run file, a live file or directory, or what cProfile has written ('cpu_*.prof', in\n"
    "quotes, is one run). Functions that have moved are found by name and file name.\n";
static const char usage_end[] =
    "A change counts if it is more than noise: of several runs by Student's t (95 %), of one\n"
    "a side by how unlike the changes of its ranks are, and then 2 % at least; always 0.1 %\n"
    "of the run. What does not count makes no condition hold. Fewer than three runs per side,\n"
    "or ranks, cannot tell: then ? marks changes by more than half.\n"
    "\n"
    "    allranks diff --fail-if 'total > 5%' --fail-if 'self of solve > 0.2s' \\\n"
    "                  base-*.allranks -- new-*.allranks\n";

#define SCREEN_ROWS 24
#define DEFAULT_ROWS SIZE_MAX
#define REGION_ROWS 3

struct command {
    struct ar_summary *runs;
    size_t n_base, n_runs;
    struct ar_diff d;
    struct ar_words fail_if;
    struct ar_fail_if conditions[AR_MOST_WORDS];
    struct ar_fail_verdict verdicts[AR_MOST_WORDS];
    bool paths, inclusive, csv;
    int json; /* enum ar_json_version */
    size_t n_rows, n_columns;
    size_t n_lines; /* printed so far */
    struct ar_marks_shown marks;
    double unit_ns;
    const char *unit;
};

/* ---- head ----------------------------------------------------------------------------------- */

static const char *show_signed(const struct command *c, double ns)
{
    static char texts[8][32];
    static int n;
    char *text = texts[n++ % 8];

    snprintf(text, sizeof texts[0], "%c%s", ns < 0 ? '-' : '+', ar_show_time(fabs(ns), c->unit_ns));
    return text;
}

/* "~+0.020", where one of the two is estimated. */
static const char *show_change(const struct command *c, const struct ar_change *change)
{
    char *text = ar_text_buffer();
    uint32_t marks = change->base_doubt.marks | change->now_doubt.marks;

    snprintf(text, AR_TEXT_BYTES, "%s%s", marks & AR_MARK_ESTIMATED ? "~" : "",
             show_signed(c, ar_change_ns(change)));
    return text;
}

/* "+30.1 %"; or why there is no such number. */
static const char *show_ratio(const struct ar_change *change)
{
    static char texts[8][32];
    static int n;
    char *text = texts[n++ % 8];
    double share = change->base > 0 ? ar_change_ns(change) / change->base : 0;

    if (change->base <= 0)
        snprintf(text, sizeof texts[0], "%s", change->now > 0 ? "new" : "");
    else if (share > 9.995)
        snprintf(text, sizeof texts[0], "x %.0f", change->now / change->base);
    else
        snprintf(text, sizeof texts[0], fabs(share) < 0.9995 ? "%+.1f %%" : "%+.0f %%",
                 100 * share);
    return text;
}

static bool ranks_are_equal(const struct command *c)
{
    for (size_t i = 1; i < c->n_runs; i++)
        if (c->runs[i].p.n_roots != c->runs[0].p.n_roots)
            return false;
    return true;
}

/* "4 ranks", or of several runs "4-8 ranks"; a program that runs alone is a process. */
static void show_ranks(const struct command *c, size_t first, size_t end, char *text, size_t n_text)
{
    const struct ar_profile *p = &c->runs[first].p;
    bool ranks = p->n_processes && p->processes[0].world_rank != AR_RANK_NONE;
    size_t least = SIZE_MAX, most = 0;
    char from[32] = "";

    for (size_t i = first; i < end; i++) {
        size_t n = c->runs[i].p.n_roots;

        least = n < least ? n : least;
        most = n > most ? n : most;
    }
    if (least != most)
        snprintf(from, sizeof from, "%s-", ar_show_count(least));
    snprintf(text, n_text, "%s%s", from,
             ranks ? ar_show_items(most, "rank", "ranks")
                   : ar_show_items(most, "process", "processes"));
}

/* The path has what room is left of the line. */
static void print_side(struct command *c, const char *name, size_t first, size_t end, double wall,
                       double mpi)
{
    char more[32] = "", in_mpi[48] = "", ranks[64], rest[256];
    const char *path = c->runs[first].path;
    size_t n_path = strlen(path), n_rest;

    if (end - first > 1)
        snprintf(more, sizeof more, " and %zu more", end - first - 1);
    if (mpi > 0 && wall > 0)
        snprintf(in_mpi, sizeof in_mpi, "   in MPI %s", ar_show_share(mpi / wall));
    show_ranks(c, first, end, ranks, sizeof ranks);
    snprintf(rest, sizeof rest, "%s   %s   %s%s", more, ranks, ar_show_duration(wall), in_mpi);
    n_rest = 6 + strlen(rest);
    if (n_path + n_rest > c->n_columns)
        n_path = c->n_columns > n_rest + 8 ? c->n_columns - n_rest : 8;
    ar_print("%s%-4s%s  ", ar_bold(), name, ar_plain());
    ar_print_fit(path, n_path, AR_KEEP_END);
    ar_print("%s\n", rest);
    c->n_lines++;
}

/* Why a change does not count; "" if it does, or if there is none. */
static const char *show_doubt(const struct ar_change *change)
{
    if (change->counts || ar_change_ns(change) == 0)
        return "";
    return change->is_undecided ? "?" : ", within noise";
}

static void print_total(const struct command *c, const char *what, const struct ar_change *change)
{
    ar_print("%s %s%s%s", what, change->counts ? ar_bold() : "",
             show_signed(c, ar_change_ns(change)), change->counts ? ar_plain() : "");
    ar_print(" %s", c->unit_ns == 1e9 ? "s" : "ms");
    if (change->base > 0)
        ar_print(" (%s%s)", show_ratio(change), show_doubt(change));
}

/* What is not recorded on one side is not 0 there. */
static void print_builtins(struct command *c)
{
    const char *first = ar_profile_fact_text(&c->runs[0].p, "builtins"), *other = first;

    for (size_t i = 1; i < c->n_runs && strcmp(first, other) == 0; i++)
        other = ar_profile_fact_text(&c->runs[i].p, "builtins");
    if (strcmp(first, other) == 0 || !*first || !*other)
        return;
    ar_print("functions in C cannot be compared: --builtins %s and %s record other ones\n", first,
             other);
    c->n_lines++;
}

static void print_noise(struct command *c)
{
    static const char *const texts[] = {NULL, "noise: by how unlike ranks' changes are",
                                        "noise: by how unlike ranks are",
                                        "noise is not known with one process a side"};

    if (c->d.has_few) {
        ar_print("fewer than 3 %s cannot tell a change from noise: ? marks large ones\n",
                 c->d.noise == AR_NOISE_OF_RUNS ? "runs per side" : "ranks");
        c->n_lines++;
    } else if (texts[c->d.noise]) {
        ar_print("%s%s; several runs tell more (--help)%s\n", ar_dim(), texts[c->d.noise],
                 ar_plain());
        c->n_lines++;
    }
    c->n_lines += ar_print_programs(c->runs, c->n_runs);
    if (!ranks_are_equal(c)) {
        ar_print("different numbers of ranks: all times are means per rank\n");
        c->n_lines++;
    }
    print_builtins(c);
}

static void print_head(struct command *c)
{
    print_side(c, "base", 0, c->n_base, c->d.total.base, c->d.mpi.base);
    print_side(c, "now", c->n_base, c->n_runs, c->d.total.now, c->d.mpi.now);
    print_total(c, "total", &c->d.total);
    if (c->d.mpi.base > 0 || c->d.mpi.now > 0) {
        ar_print("   ");
        print_total(c, "in MPI", &c->d.mpi);
    }
    ar_print("\n");
    c->n_lines++;
    print_noise(c);
}

/* ---- tables --------------------------------------------------------------------------------- */

#define NUMBER_COLUMNS 35   /* base, now, change, percent */
#define FUNCTION_COLUMNS 18 /* the other change, calls */

static const char *function_place(const struct ar_summary *s, uint32_t function)
{
    uint32_t first = s->f.first_node[function];
    uint32_t kind = s->p.functions[function].kind;

    if (first == s->f.first_node[function + 1])
        return "";
    if (kind == AR_FUNCTION_MPI || kind == AR_FUNCTION_OPERATION) {
        uint32_t n = s->f.first_node[function + 1] - first;

        if (n > 1)
            return ar_show_items(n, "place", "places");
    }
    return ar_show_place(&s->p, s->f.nodes[first]);
}

static void print_function_label(const struct command *c, const struct ar_diff_row *row,
                                 size_t n_columns)
{
    const struct ar_summary *s = &c->runs[row->run];
    size_t n_place = n_columns / 2 - 1;
    const char *name = ar_show_function(&s->p, row->id, n_columns - n_place - 1);

    if (s->p.functions[row->id].kind == AR_FUNCTION_MPI)
        name = ar_mpi_class_of(name).function;
    ar_print_fit(name, n_columns - n_place - 1, AR_KEEP_START);
    ar_print(" ");
    ar_print_fit(function_place(s, row->id), n_place, AR_KEEP_END);
}

static void print_path_label(const struct command *c, const struct ar_diff_row *row,
                             size_t n_columns)
{
    const struct ar_summary *s = &c->runs[row->run];
    struct ar_bytes path = {0};

    ar_path_text(&s->p, row->id, &path);
    if (!path.bad) {
        path.n--; /* the end of the text */
        const char *place = ar_show_place(&s->p, row->id);

        if (*place) {
            ar_bytes_u8(&path, ' ');
            ar_bytes_put(&path, place, strlen(place));
        }
        ar_bytes_u8(&path, '\0');
    }
    ar_print_fit(path.bad ? "" : (const char *)path.data, n_columns, AR_KEEP_END);
    ar_bytes_free(&path);
}

/* "x 2.0", "=" where there are as many as before. */
static const char *show_calls(const struct ar_diff_row *row)
{
    static char text[32];

    if (row->base_calls == row->now_calls)
        return "=";
    if (row->base_calls <= 0 || row->now_calls <= 0)
        return row->now_calls > 0 ? "new" : "gone";
    if (row->now_calls > row->base_calls)
        snprintf(text, sizeof text, "x %.3g", row->now_calls / row->base_calls);
    else
        snprintf(text, sizeof text, "/ %.3g", row->base_calls / row->now_calls);
    return text;
}

static bool is_change(const struct ar_change *change)
{
    return change->counts || change->is_undecided;
}

static const char *show_note(const struct ar_diff_row *row, const struct ar_change *change)
{
    char *text = ar_text_buffer();
    const char *note = !row->has_now ? "gone" : row->has_base ? show_ratio(change) : "new";

    if (!is_change(change))
        return ar_change_ns(change) == 0 ? "=" : "noise";
    snprintf(text, AR_TEXT_BYTES, "%s%s", note, change->is_undecided ? "?" : "");
    return text;
}

static size_t label_columns(const struct command *c)
{
    size_t n_numbers = NUMBER_COLUMNS + (c->paths ? 0 : FUNCTION_COLUMNS);

    return c->n_columns > n_numbers + 20 ? c->n_columns - n_numbers : 20;
}

static const char *show_mean(struct command *c, double ns, struct ar_doubt doubt)
{
    ar_mark_shown(&c->marks, doubt, 1);
    return ar_show_doubted(doubt, ns, c->unit_ns);
}

static void print_row(struct command *c, const struct ar_diff_row *row, bool by_path,
                      bool inclusive)
{
    const struct ar_change *change = inclusive ? &row->time : &row->self;
    const struct ar_change *other = inclusive ? &row->self : &row->time;

    ar_print("%s ", is_change(change) ? "" : ar_dim());
    if (by_path)
        print_path_label(c, row, label_columns(c) - 1);
    else
        print_function_label(c, row, label_columns(c) - 1);
    ar_print(" %8s %8s %8s %7s", show_mean(c, change->base, change->base_doubt),
             show_mean(c, change->now, change->now_doubt), show_change(c, change),
             show_note(row, change));
    if (!c->paths)
        ar_print(" %8s %8s", show_change(c, other), show_calls(row));
    ar_print("%s\n", is_change(change) ? "" : ar_plain());
    c->n_lines++;
}

static void print_title(struct command *c, const char *title, bool inclusive)
{
    ar_print("\n%s", ar_bold());
    ar_print_fit(title, label_columns(c), AR_KEEP_START);
    ar_print("%s %8s %8s %8s %7s", ar_plain(), "base", "now", "change", "");
    if (!c->paths)
        ar_print(" %8s %8s", inclusive ? "self" : "total", "calls");
    ar_print("\n");
    c->n_lines += 2;
}

static const struct ar_change *change_of(const struct command *c, const struct ar_diff_row *row)
{
    return c->inclusive ? &row->time : &row->self;
}

static size_t count_changes(const struct command *c, const struct ar_diff_table *table)
{
    size_t n = 0;

    while (n < table->n_rows && is_change(change_of(c, &table->rows[n])))
        n++;
    return n;
}

/* As of two copies of a run. */
static bool are_same(const struct command *c, const struct ar_diff_table *table)
{
    bool same = ar_change_ns(&c->d.total) == 0;

    for (size_t i = 0; i < table->n_rows && same; i++)
        same = ar_change_ns(&table->rows[i].time) == 0 && ar_change_ns(&table->rows[i].self) == 0 &&
               table->rows[i].base_calls == table->rows[i].now_calls;
    return same;
}

static void print_rest(const struct command *c, size_t n_more, size_t n_noise)
{
    if (!n_more && !n_noise)
        return;
    ar_print(" %s", ar_dim());
    if (n_more)
        ar_print("%s%s", ar_show_items(n_more, "more change", "more changes"), n_noise ? ", " : "");
    if (n_noise)
        ar_print("%s %s within noise", ar_show_count(n_noise),
                 c->paths       ? n_noise == 1 ? "call path" : "call paths"
                 : n_noise == 1 ? "function"
                                : "functions");
    ar_print(": -n 0 shows all%s\n", ar_plain());
}

/* Whether there will be a line more below the table. */
static bool has_marks(const struct ar_diff_table *table)
{
    for (size_t i = 0; i < table->n_rows; i++)
        if (table->rows[i].self.base_doubt.marks | table->rows[i].self.now_doubt.marks)
            return true;
    return false;
}

static void print_table(struct command *c)
{
    const struct ar_diff_table *table = c->paths ? &c->d.paths : &c->d.functions;
    size_t n_changes = count_changes(c, table), n = n_changes, n_fits;
    char title[64];

    snprintf(title, sizeof title, "%s, %s, %s", c->paths ? "Call paths" : "Functions",
             c->inclusive ? "total" : "self", c->unit);
    print_title(c, title, c->inclusive);
    c->n_lines += has_marks(table);
    n_fits = SCREEN_ROWS > c->n_lines + c->fail_if.n + 3
                 ? SCREEN_ROWS - c->n_lines - c->fail_if.n - 2
                 : 1;
    if (c->n_rows == 0)
        n = table->n_rows;
    else if (c->n_rows != DEFAULT_ROWS)
        n = c->n_rows < table->n_rows ? c->n_rows : table->n_rows;
    else if (n > n_fits)
        n = n_fits;
    for (size_t i = 0; i < n; i++)
        if (!c->paths || table->rows[i].id != 0)
            print_row(c, &table->rows[i], c->paths, c->inclusive);
    if (n_changes == 0 && c->n_rows == DEFAULT_ROWS)
        ar_print(" nothing has changed%s\n", are_same(c, table) ? "" : " by more than noise");
    if (!are_same(c, table))
        print_rest(c, n < n_changes ? n_changes - n : 0,
                   table->n_rows - (n > n_changes ? n : n_changes));
    ar_print_marks(&c->marks);
}

static int region_order(const void *a, const void *b)
{
    const struct ar_diff_row *const *x = a, *const *y = b;
    double dx = fabs(ar_change_ns(&(*x)->time)), dy = fabs(ar_change_ns(&(*y)->time));

    if (is_change(&(*x)->time) != is_change(&(*y)->time))
        return is_change(&(*x)->time) ? -1 : 1;
    return dx == dy ? 0 : dx > dy ? -1 : 1;
}

/* What the user named, with all that is in it: it is what was asked about. */
static int print_regions(struct command *c)
{
    const struct ar_diff_table *table = &c->d.functions;
    const struct ar_diff_row **regions = malloc((table->n_rows + 1) * sizeof(void *));
    size_t n = 0;

    if (!regions)
        return ar_complain("out of memory");
    for (size_t i = 0; i < table->n_rows; i++) {
        const struct ar_diff_row *row = &table->rows[i];

        if (c->runs[row->run].p.functions[row->id].kind == AR_FUNCTION_REGION)
            regions[n++] = row;
    }
    qsort(regions, n, sizeof(void *), region_order);
    if (n)
        print_title(c, "Regions, total", true);
    for (size_t i = 0; i < n && (i < REGION_ROWS || c->n_rows == 0); i++)
        print_row(c, regions[i], false, true);
    free(regions);
    return AR_EXIT_OK;
}

/* ---- conditions ----------------------------------------------------------------------------- */

static const char *name_of(const struct command *c, size_t i)
{
    const struct ar_diff_row *row = c->verdicts[i].row;

    if (!row)
        return c->conditions[i].name;
    return ar_strtab_text(&c->runs[row->run].p.strings,
                          c->runs[row->run].p.functions[row->id].name);
}

static void tell_condition(const struct command *c, size_t i)
{
    const struct ar_fail_verdict *v = &c->verdicts[i];
    char text[512];

    snprintf(text, sizeof text, "fail-if '%s': %s%s grew by %s (%s), from %s to %s%s",
             c->conditions[i].text, c->conditions[i].self ? "self of " : "", name_of(c, i),
             ar_show_duration(ar_change_ns(&v->change)),
             v->change.base > 0 ? show_ratio(&v->change) : "new", ar_show_duration(v->change.base),
             ar_show_duration(v->change.now),
             v->holds                 ? ""
             : v->change.is_undecided ? ": too few runs to tell noise, does not count"
                                      : ": within noise, does not count");
    ar_note("allranks: %s\n", text);
}

static int tell_conditions(const struct command *c)
{
    int status = AR_EXIT_OK;

    for (size_t i = 0; i < c->fail_if.n; i++) {
        if (c->verdicts[i].holds || c->verdicts[i].is_noise)
            tell_condition(c, i);
        if (c->verdicts[i].holds)
            status = AR_EXIT_NO;
    }
    return status;
}

/* A function that is not there cannot fail, and a test that cannot fail is a mistake. */
static int check_conditions(struct command *c)
{
    for (size_t i = 0; i < c->fail_if.n; i++) {
        c->verdicts[i] = ar_fail_if_check(&c->conditions[i], &c->d);
        if (c->verdicts[i].n_fit == 0)
            return ar_complain("--fail-if '%s': no %s %s in any of the runs (allranks ranks "
                               "-n 0 %s shows all)",
                               c->conditions[i].text,
                               c->conditions[i].region ? "region" : "function",
                               c->conditions[i].name, c->runs[0].path);
    }
    return AR_EXIT_OK;
}

/* ---- tables --------------------------------------------------------------------------------- */

static int print_json(const struct command *c, const struct ar_subject *of)
{
    static const char *const before[] = {"diff", "diff_runs", "diff_functions", NULL};
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};
    enum ar_status status;

    ar_json_begin(&j, "diff");
    ar_json_open(&j, "facts", '[');
    for (size_t i = 0; i < c->n_runs; i++)
        ar_json_facts(&j, NULL, &c->runs[i].p);
    ar_json_close(&j, ']');
    status = ar_json_tables(&j, of, before);
    if (status == AR_OK && c->paths)
        status = ar_json_table(&j, of, "diff_paths", NULL);
    if (status == AR_OK)
        status = ar_json_table(&j, of, "diff_conditions", NULL);
    ar_json_end(&j);
    return ar_print_json(&j, status);
}

/* As JSON of version 2, or as CSV. */
static int print_tables(const struct command *c)
{
    struct ar_shown_condition conditions[AR_MOST_WORDS];
    struct ar_shown_diff diff = {
        .d = &c->d, .conditions = conditions, .n_conditions = c->fail_if.n};
    const struct ar_subject subject = {.diff = &diff};
    int status;

    for (size_t i = 0; i < c->fail_if.n; i++)
        conditions[i] = (struct ar_shown_condition){.text = c->conditions[i].text,
                                                    .holds = c->verdicts[i].holds,
                                                    .is_noise = c->verdicts[i].is_noise,
                                                    .row = c->verdicts[i].row,
                                                    .change = c->verdicts[i].change};
    if (c->json == AR_JSON_2)
        status = print_json(c, &subject);
    else
        status = ar_print_table(&subject, c->paths ? "diff_paths" : "diff_functions", NULL);
    ar_shown_diff_free(&diff);
    return status;
}

/* ---- command -------------------------------------------------------------------------------- */

static int print_screen(struct command *c)
{
    int status = AR_EXIT_OK;

    c->unit_ns = c->d.total.base < 1e9 && c->d.total.now < 1e9 ? 1e6 : 1e9;
    c->unit = c->unit_ns == 1e9 ? "sec" : "ms";
    print_head(c);
    if (!c->paths)
        status = print_regions(c);
    print_table(c);
    return status;
}

static int show(struct command *c)
{
    int status;

    ar_diff_sort(&c->d.functions, c->inclusive);
    ar_diff_sort(&c->d.paths, c->inclusive);
    status = check_conditions(c);
    if (status != AR_EXIT_OK)
        return status;
    if (c->json == AR_JSON_1)
        status = ar_diff_json(&c->d, c->conditions, c->verdicts, c->fail_if.n);
    else if (c->json == AR_JSON_2 || c->csv)
        status = print_tables(c);
    else
        status = print_screen(c);
    return status == AR_EXIT_OK ? tell_conditions(c) : status;
}

static int load(struct command *c, char *const *paths, size_t n)
{
    struct ar_error err;

    for (; c->n_runs < n; c->n_runs++) {
        struct ar_summary *s = &c->runs[c->n_runs];

        if (ar_summary_load(s, paths[c->n_runs], false, &err) < 0)
            return ar_complain("%s", err.text);
        if (c->paths && s->t.of_pairs)
            return ar_complain("%s: pstats files have no call paths (leave --paths out)",
                               paths[c->n_runs++]);
        if (!ar_diff_needs_values(c->n_base, n))
            ar_summary_forget_values(s);
    }
    return -1;
}

static int parse_conditions(struct command *c)
{
    struct ar_error err;

    for (size_t i = 0; i < c->fail_if.n; i++)
        if (ar_fail_if_parse(&c->conditions[i], c->fail_if.items[i], &err) < 0)
            return ar_complain("--fail-if '%s': %s (try: allranks diff --help)",
                               c->fail_if.items[i], err.text);
    return -1;
}

/* What is left of "--" is the base; getopt takes it away, so that it has to be looked for first. */
static int parse(int argc, char **argv, struct command *c)
{
    const struct ar_option options[] = {
        AR_HEADING("options"),
        {.name = "paths",
         .kind = AR_OPTION_FLAG,
         .to = &c->paths,
         .help = "by call path, not by function"},
        {.name = "inclusive",
         .kind = AR_OPTION_FLAG,
         .to = &c->inclusive,
         .help = "time with what is called (default: without, which is where it is)"},
        {.name = "fail-if",
         .kind = AR_OPTION_LIST,
         .to = &c->fail_if,
         .value = "'WHAT > AMOUNT'",
         .help = "exit with status 1 if WHAT has grown by more; may be\n"
                 "given again. WHAT is total, mpi, a function (with what it calls),\n"
                 "'self of FUNCTION' or 'region NAME'. FUNCTION is a name, the end\n"
                 "of one, a pattern or FILE:LINE, where it begins. AMOUNT is in %\n"
                 "of the base, s, ms or us."},
        AR_ROWS_OPTION(&c->n_rows, "rows (default: one screen; 0: all of them, also within noise)"),
        AR_CSV_OPTION(&c->csv, "for spreadsheets"),
        AR_JSON_OPTION(&c->json, "everything"),
        AR_HELP_OPTION,
    };
    int separator = 1, n_now = 1, n_paths, status;

    while (separator < argc && strcmp(argv[separator], "--") != 0)
        separator++;
    status =
        ar_options_parse(argc, argv, options, sizeof options / sizeof *options, usage, usage_end);
    if (status >= 0)
        return status;
    n_paths = argc - optind;
    if (separator < argc)
        n_now = argc - separator - 1;
    else if (n_paths != 2)
        return ar_complain("two runs are needed, not %d (usage: allranks diff BASE NOW, or several "
                           "a side: allranks diff BASE... -- NOW...)",
                           n_paths);
    if (n_now < 1 || n_now >= n_paths)
        return ar_complain("a run is needed on either side of -- (usage: allranks diff BASE... -- "
                           "NOW...)");
    for (int i = separator + 1; i < argc; i++)
        if (argv[i][0] == '-' && access(argv[i], F_OK) < 0)
            return ar_complain("%s: options come before -- (usage: allranks diff [options] BASE... "
                               "-- NOW...)",
                               argv[i]);
    c->n_base = (size_t)(n_paths - n_now);
    return parse_conditions(c);
}

int ar_command_diff(int argc, char **argv)
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
        status = ar_diff_build(&c.d, c.runs, c.n_base, c.n_runs, c.paths) < 0
                     ? ar_complain("out of memory")
                     : show(&c);
    ar_diff_free(&c.d);
    for (size_t i = 0; i < c.n_runs; i++)
        ar_summary_free(&runs[i]);
    free(runs);
    return status;
}
