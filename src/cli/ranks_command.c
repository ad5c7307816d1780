// SPDX-License-Identifier: BSD-3-Clause
/*
 * allranks ranks: functions across ranks. Without a name those that differ most between ranks; with
 * one also what each rank has. All fits 80 columns and 24 lines unless more is asked for.
 */
#include "analysis/mpi_class.h"
#include "analysis/place.h"
#include "cli/choose_job.h"
#include "cli/commands.h"
#include "cli/doubt_text.h"
#include "cli/efficiency_text.h"
#include "cli/figures_text.h"
#include "cli/mpi_text.h"
#include "cli/options.h"
#include "cli/report_json.h"
#include "cli/screen.h"
#include "cli/selecting.h"
#include "cli/shown.h"
#include "export/tables_json.h"
#include "run/comparison.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: allranks ranks [options] RUN [FUNCTION]\n"
    "\n"
    "Show how functions differ between ranks: least, most, mean and standard deviation of\n"
    "their time, and which rank has them. FUNCTION is any that was recorded, of Python, MPI,\n"
    "mpi4py, C, or a region: a name (Solver.step), the end of one (step), a pattern ('*step*'),\n"
    "or FILE:LINE, where it begins or, of MPI, is called. Then each rank is shown, too.\n";
static const char usage_end[] = "A rank that never was there counts as 0.\n";

#define SCREEN_ROWS 24
#define DEFAULT_ROWS SIZE_MAX
#define MOST_MATCHES 4 /* that are shown rank by rank */
#define HOST_COLUMNS 24
#define HOST_COLUMNS_LEAST 12

enum sort { SORT_SPREAD, SORT_SD, SORT_TIME, SORT_CALLS, SORT_NAME };

struct command {
    struct ar_run *run;
    /* Parts of it, call sites folded: */
    const struct ar_profile *p;
    const struct ar_totals *t;
    const struct ar_by_function *f;
    const struct ar_efficiencies *e;
    const char *path;
    struct ar_wanted wanted;
    struct ar_selection selection;
    struct ar_words metrics;
    const struct ar_figures *figures;
    const struct ar_figure_items *items;
    struct ar_figure_columns columns; /* of the list of ranks */
    bool self, inclusive, all, csv;
    int json; /* enum ar_json_version */
    int sort;
    size_t n_rows, n_columns;
    size_t n_lines;      /* of the head */
    uint32_t *functions; /* that fit, in order */
    size_t n_functions;
    const struct ar_share *shares;         /* by root, of the function that is shown */
    const struct ar_figure_reader *reader; /* of that function; NULL: it has no metrics */
    double unit_ns;
    const char *unit;
    struct ar_marks_shown marks; /* since the last table */
};

/* ---- which functions -------------------------------------------------------------------------- */

static bool is_called_by_line(const struct ar_function *f)
{
    return f->kind == AR_FUNCTION_MPI || f->kind == AR_FUNCTION_OPERATION;
}

static bool has_own_time(const struct command *c, uint32_t function)
{
    return ar_compared_by(c->run, function) == AR_COMPARED_BY_OWN;
}

static const char *full_name(const struct command *c, uint32_t function)
{
    return ar_strtab_text(&c->p->strings, c->p->functions[function].name);
}

static const struct ar_function_sums *sums_of(const struct command *c, uint32_t function)
{
    return &c->f->sums[function];
}

static const struct ar_spread *spread_of(const struct command *c, uint32_t function)
{
    return c->inclusive ? &sums_of(c, function)->time : &sums_of(c, function)->self;
}

static double sort_key(const struct command *c, uint32_t function)
{
    const struct ar_spread *s = spread_of(c, function);

    switch ((enum sort)c->sort) {
    case SORT_SD:
        return s->sd;
    case SORT_TIME:
        return s->mean;
    case SORT_CALLS:
        return (double)sums_of(c, function)->n_calls;
    default:
        return c->p->n_roots > 1 ? (double)(s->max - s->min) : s->mean;
    }
}

static const struct command *sorting;

static int in_order(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    double kx = sort_key(sorting, x), ky = sort_key(sorting, y);
    int by_name = strcmp(full_name(sorting, x), full_name(sorting, y));

    if (sorting->sort == SORT_NAME && by_name)
        return by_name;
    if (kx == ky) {
        kx = spread_of(sorting, x)->mean;
        ky = spread_of(sorting, y)->mean;
    }
    if (kx != ky)
        return kx < ky ? 1 : -1;
    return (x > y) - (x < y);
}

/* Function 0 is that of the root, which is no function of the program. */
static void list_functions(struct command *c)
{
    for (uint32_t i = 1; i < c->p->n_functions; i++)
        if (sums_of(c, i)->n_nodes && sums_of(c, i)->n_calls)
            c->functions[c->n_functions++] = i;
    sorting = c;
    qsort(c->functions, c->n_functions, sizeof *c->functions, in_order);
}

/* What the list of ranks has for metrics, with a short column of hosts. */
static size_t free_columns(const struct command *c)
{
    size_t n_others = 12 + HOST_COLUMNS_LEAST + 33;

    return c->n_columns > n_others ? c->n_columns - n_others : 0;
}

static enum ar_status find_functions(struct command *c)
{
    c->p = ar_run_profile(c->run, AR_FORM_FOLDED);
    c->t = ar_run_totals(c->run, AR_FORM_FOLDED);
    c->f = ar_run_functions(c->run, AR_FORM_FOLDED);
    c->e = ar_run_efficiencies(c->run);
    c->figures = ar_run_figures(c->run, AR_FORM_FOLDED);
    c->items = ar_run_function_figures(c->run, AR_FORM_FOLDED);
    if (!c->e || !ar_run_own_time(c->run) || !c->items)
        return AR_NOMEM;
    if (ar_figure_columns_find(&c->columns, c->figures, 0, free_columns(c)) < 0)
        return AR_NOMEM;
    c->functions = malloc((c->p->n_functions + 1) * sizeof *c->functions);
    if (!c->functions)
        return AR_NOMEM;
    list_functions(c);
    return AR_OK;
}

/* ---- the table -------------------------------------------------------------------------------- */

static uint32_t first_node(const struct command *c, uint32_t function)
{
    return c->f->nodes[c->f->first_node[function]];
}

/* In so many columns, half of it for where it is; an MPI function is called in many places. */
static void print_label(const struct command *c, uint32_t function, size_t n_columns)
{
    const struct ar_function *f = &c->p->functions[function];
    const char *name = f->kind == AR_FUNCTION_MPI ? ar_mpi_class_of(full_name(c, function)).function
                                                  : ar_show_function(c->p, function, n_columns / 2);
    bool has_place = !is_called_by_line(f) || sums_of(c, function)->n_nodes == 1 || c->wanted.file;
    const char *place = has_place ? ar_show_place(c->p, first_node(c, function)) : "";
    size_t n_place = n_columns / 2 - 1;

    ar_print_fit(name, n_columns - n_place - 1, AR_KEEP_START);
    ar_print(" ");
    if (has_place)
        ar_print_fit(place, n_place, AR_KEEP_END);
    else
        ar_print_fit(ar_show_items(sums_of(c, function)->n_nodes, "place", "places"), n_place,
                     AR_KEEP_START);
}

/* "0.717 (3)"; where all are equal no rank has more or less than another. */
static const char *show_extreme(const struct command *c, const struct ar_spread *s, bool most)
{
    uint64_t ns = most ? s->max : s->min;
    uint32_t process = most ? s->max_process : s->min_process;
    static char texts[4][48];
    static int n;
    char *text = texts[n++ % 4];
    uint32_t rank =
        process < c->p->n_processes ? c->p->processes[process].world_rank : AR_RANK_NONE;

    const char *time = ar_show_doubted(s->doubt, (double)ns, c->unit_ns);

    if (rank == AR_RANK_NONE || s->min == s->max)
        snprintf(text, sizeof texts[0], "%s", time);
    else
        snprintf(text, sizeof texts[0], "%s (%u)", time, rank);
    return text;
}

/* Numbers of ranks are as long as the largest. */
static int extreme_columns(const struct command *c)
{
    char rank[16];
    uint32_t largest = 0;

    for (size_t i = 0; i < c->p->n_roots; i++)
        if (c->p->processes[i].world_rank != AR_RANK_NONE &&
            c->p->processes[i].world_rank > largest)
            largest = c->p->processes[i].world_rank;
    return 9 + snprintf(rank, sizeof rank, "%u", largest);
}

#define NUMBER_COLUMNS 23 /* but for those two */

static void print_head(struct command *c)
{
    const char *name = ar_file_name(ar_profile_fact_text(c->p, "program"));
    bool ranks = c->p->n_processes && c->p->processes[0].world_rank != AR_RANK_NONE;

    ar_print("%s", ar_bold());
    ar_print_fit(*name ? name : ar_file_name(c->path), *name ? ar_count_columns(name, 30) : 20,
                 AR_KEEP_START);
    ar_print("%s   %s on %s   %s\n", ar_plain(),
             ranks ? ar_show_items(c->p->n_roots, "rank", "ranks")
                   : ar_show_items(c->p->n_roots, "process", "processes"),
             ar_show_items(ar_count_hosts(c->p), "host", "hosts"),
             ar_show_duration(c->t->mean_wall_ns));
    c->n_lines = 1 + ar_print_selection(&c->selection);
    if (c->p->n_roots > 1 && c->e->run.wall_ns > 0)
        c->n_lines += ar_print("%s\n", ar_show_efficiency(&c->e->run)) > 0;
}

static const char *show_mean(struct command *c, const struct ar_spread *s)
{
    return ar_show_mean(s, c->p->n_roots, c->unit_ns, &c->marks);
}

/* Whether there will be a line more below the table. */
static bool has_marks(const struct command *c)
{
    for (size_t i = 0; i < c->n_functions; i++)
        if (spread_of(c, c->functions[i])->doubt.marks)
            return true;
    return false;
}

static void print_functions(struct command *c)
{
    int n_extreme = extreme_columns(c) > 12 ? extreme_columns(c) : 12;
    size_t n_numbers = NUMBER_COLUMNS + 2 * (size_t)(n_extreme + 1), i = 0;
    size_t n_label = c->n_columns > n_numbers + 20 ? c->n_columns - n_numbers : 20;
    size_t n_most =
        c->n_rows == DEFAULT_ROWS ? SCREEN_ROWS - 5 - c->n_lines - has_marks(c) : c->n_rows;

    ar_print("\n%s", ar_bold());
    ar_print_fit(c->inclusive ? "Functions, with what they call" : "Functions, self time", n_label,
                 AR_KEEP_START);
    ar_print("%s %8s %6s %6s %*s %*s\n", ar_plain(), "calls", c->unit, "sd", n_extreme,
             "least (rank)", n_extreme, "most (rank)");
    for (; i < c->n_functions && (n_most == 0 || i < n_most); i++) {
        const struct ar_spread *s = spread_of(c, c->functions[i]);

        ar_print(" ");
        print_label(c, c->functions[i], n_label - 1);
        ar_print(" %8s %6s %6s %*s %*s\n",
                 ar_show_short_count(sums_of(c, c->functions[i])->n_calls, 8), show_mean(c, s),
                 ar_show_time(s->sd, c->unit_ns), n_extreme, show_extreme(c, s, false), n_extreme,
                 show_extreme(c, s, true));
    }
    if (i < c->n_functions)
        ar_print(" %s%s: -n 0 shows all%s\n", ar_dim(),
                 ar_show_items(c->n_functions - i, "more function", "more functions"), ar_plain());
    ar_print_marks(&c->marks);
}

/* ---- one function ----------------------------------------------------------------------------- */

static void print_spread(struct command *c, const char *what, const struct ar_spread *s)
{
    ar_print(" %-20s mean %s, sd %s, least %s, most %s\n", what, show_mean(c, s),
             ar_show_time(s->sd, c->unit_ns), show_extreme(c, s, false), show_extreme(c, s, true));
}

static void print_calls(const struct command *c, const struct ar_spread *s)
{
    uint32_t least = c->p->processes[s->min_process].world_rank;
    uint32_t most = c->p->processes[s->max_process].world_rank;
    bool differ = s->min != s->max && least != AR_RANK_NONE && most != AR_RANK_NONE;

    ar_print(" %-20s mean %.1f, sd %.1f, least %s", "calls", s->mean, s->sd, ar_show_count(s->min));
    if (differ)
        ar_print(" (%u)", least);
    ar_print(", most %s", ar_show_count(s->max));
    if (differ)
        ar_print(" (%u)", most);
    ar_print("\n");
}

static uint64_t share_ns(const struct command *c, uint32_t root)
{
    return c->inclusive ? c->shares[root].time_ns : c->shares[root].self_ns;
}

static int most_first(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint64_t nx = share_ns(sorting, x), ny = share_ns(sorting, y);

    if (nx != ny)
        return nx < ny ? 1 : -1;
    return (x > y) - (x < y);
}

static size_t host_columns(const struct command *c)
{
    return c->reader ? HOST_COLUMNS_LEAST : HOST_COLUMNS;
}

static void print_share(struct command *c, uint32_t root)
{
    const struct ar_process *process = &c->p->processes[root];
    const struct ar_share *share = &c->shares[root];

    ar_print(" %-10s ", ar_show_process(c->p, root));
    ar_print_fit(ar_strtab_text(&c->p->strings, process->host), host_columns(c), AR_KEEP_START);
    ar_print(" %10s %10s %10s", ar_show_short_count(share->n_calls, 10),
             ar_show_doubted(share->time_doubt, (double)share->time_ns, c->unit_ns),
             ar_show_doubted(share->self_doubt, (double)share->self_ns, c->unit_ns));
    if (c->reader)
        ar_print_figures_of(&c->columns, c->reader, root, c->unit_ns);
    ar_print("\n");
    ar_mark_shown(&c->marks, share->time_doubt, 1);
    ar_mark_shown(&c->marks, share->self_doubt, 1);
}

/* In order of rank, or, where there are too many, those that have most. */
static int print_shares(struct command *c, size_t n_most)
{
    uint32_t *order = malloc((c->p->n_roots + 1) * sizeof *order);
    size_t n = c->p->n_roots;
    bool cut = n_most && n > n_most;

    if (!order)
        return ar_complain("out of memory");
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    sorting = c;
    if (cut)
        qsort(order, n, sizeof *order, most_first);
    ar_print("\n %s%-10s %-*s %10s %10s %10s", ar_bold(), "", (int)host_columns(c), "host", "calls",
             "total", "self");
    if (c->reader)
        ar_print_figure_heads(&c->columns);
    ar_print("%s\n", ar_plain());
    for (size_t i = 0; i < n && !(cut && i == n_most); i++)
        print_share(c, order[i]);
    if (cut)
        ar_print(" %sthose that have most; %s: --all shows every one%s\n", ar_dim(),
                 ar_show_items(n - n_most, "more", "more"), ar_plain());
    ar_print_marks(&c->marks);
    c->marks = (struct ar_marks_shown){0};
    free(order);
    return AR_EXIT_OK;
}

/* ---- classes of ranks ------------------------------------------------------------------------- */

static uint32_t world_size(const struct command *c)
{
    const struct ar_process *last = &c->p->processes[c->p->n_roots - 1];

    return last->world_rank == AR_RANK_NONE ? (uint32_t)c->p->n_roots : last->world_rank + 1;
}

/* "rank 3", "ranks 20-31", "every 8th from 0"; the class that most are in is "28 others". */
static void put_class_name(struct ar_bytes *out, const struct command *c,
                           const struct ar_comparison *cmp, size_t class)
{
    size_t n = cmp->first_rank[class + 1] - cmp->first_rank[class];
    struct ar_bytes set = {0};
    char text[64];

    ar_rank_set_text(&set, cmp->ranks + cmp->first_rank[class], n, world_size(c), 24);
    if (class == ar_imbalance_largest(&cmp->im) && n > 2)
        snprintf(text, sizeof text, "%zu others", n);
    else if (set.bad || set.data[0] == 'e')
        snprintf(text, sizeof text, "%.*s", (int)set.n, set.bad ? "" : (const char *)set.data);
    else
        snprintf(text, sizeof text, "%s %.*s", n == 1 ? "rank" : "ranks", (int)set.n,
                 (const char *)set.data);
    ar_bytes_put(out, text, strlen(text));
    ar_bytes_free(&set);
}

/* "4.077", "0.950-1.050", "nothing" */
static void put_class_times(struct ar_bytes *out, const struct command *c,
                            const struct ar_rank_class *class)
{
    const char *least = ar_show_time((double)class->least, c->unit_ns);
    const char *most = ar_show_time((double)class->most, c->unit_ns);
    char text[64];

    if (class->most == 0)
        snprintf(text, sizeof text, ": nothing");
    else if (strcmp(least, most) == 0)
        snprintf(text, sizeof text, ": %s", most);
    else
        snprintf(text, sizeof text, ": %s-%s", least, most);
    ar_bytes_put(out, text, strlen(text));
}

#define CLASS_INDENT 22

/* One after the other, and a new line where there is no room. */
static enum ar_status print_class_texts(const struct command *c, const struct ar_comparison *cmp,
                                        size_t n_used)
{
    for (size_t i = 0; i < cmp->im.n_classes; i++) {
        struct ar_bytes text = {0};

        put_class_name(&text, c, cmp, i);
        put_class_times(&text, c, &cmp->im.classes[i]);
        if (text.bad) {
            ar_bytes_free(&text);
            return AR_NOMEM;
        }
        if (n_used + 3 + text.n > c->n_columns) {
            ar_print(",\n%*s", CLASS_INDENT, "");
            n_used = CLASS_INDENT;
        } else {
            n_used += ar_print(i == 0 ? "; " : ", ");
        }
        n_used += ar_print("%.*s", (int)text.n, (const char *)text.data);
        ar_bytes_free(&text);
    }
    ar_print("\n");
    return AR_OK;
}

/* Few ranks make no groups, however much they differ. */
static void print_no_classes(const struct command *c, const struct ar_comparison *cmp)
{
    if (cmp->im.max_over_mean < AR_UNEVEN_FACTOR)
        ar_print("; all alike\n");
    else
        ar_print("; most on %s\n", ar_show_process(c->p, cmp->most));
}

static enum ar_status print_classes(const struct command *c, uint32_t function)
{
    static const char *const titles[] = {[AR_COMPARED_BY_OWN] = "self with C, ranks",
                                         [AR_COMPARED_BY_SELF] = "self, ranks",
                                         [AR_COMPARED_BY_TOTAL] = "total, ranks"};
    struct ar_comparison cmp;
    enum ar_status status = ar_compare_ranks(&cmp, c->run, function);

    if (status == AR_OK) {
        int n = ar_print(" %-20s most/mean %.2f", titles[cmp.by], cmp.im.max_over_mean);

        if (cmp.im.n_classes > 1)
            status = print_class_texts(c, &cmp, (size_t)n);
        else
            print_no_classes(c, &cmp);
        ar_comparison_free(&cmp);
    }
    return status;
}

/* ---- metrics ---------------------------------------------------------------------------------- */

static enum ar_status read_figures(struct command *c, uint32_t function)
{
    size_t n;

    ar_figure_items_of(c->items, function, &n);
    c->reader = n ? ar_run_figures_of(c->run, AR_FORM_FOLDED, function) : NULL;
    return n && !c->reader ? AR_NOMEM : AR_OK;
}

/* "1,500 (2)"; where all are equal no rank has more or less than another. */
static const char *show_figure_of(const struct command *c, const struct ar_figure *figure,
                                  const struct ar_figure_value *v, bool most)
{
    double value = most ? v->max : v->min;
    uint32_t process = most ? v->max_process : v->min_process;
    static char texts[2][64];
    static int n;
    char *text = texts[n++ % 2];
    uint32_t rank = c->p->processes[process].world_rank;

    if (rank == AR_RANK_NONE || !(v->min < v->max))
        snprintf(text, sizeof texts[0], "%s", ar_show_figure(figure, value, c->unit_ns, 12));
    else
        snprintf(text, sizeof texts[0], "%s (%u)", ar_show_figure(figure, value, c->unit_ns, 12),
                 rank);
    return text;
}

static int widest_first(const void *a, const void *b)
{
    const struct ar_figure_item *x = a, *y = b;
    double kx = x->v.max - x->v.min, ky = y->v.max - y->v.min;

    if (kx == ky) {
        kx = x->v.mean;
        ky = y->v.mean;
    }
    if (kx != ky)
        return kx < ky ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

#define METRIC_COLUMNS 49 /* of the four numbers */

static void print_metric_row(const struct command *c, const struct ar_figure_item *item,
                             size_t n_label)
{
    const struct ar_figure *figure = &c->figures->list[item->figure];

    ar_print(" ");
    print_label(c, item->id, n_label - 1);
    ar_print(" %10s %8s %14s %14s\n", ar_show_figure(figure, item->v.mean, c->unit_ns, 10),
             ar_show_figure(figure, item->v.sd, c->unit_ns, 8),
             show_figure_of(c, figure, &item->v, false), show_figure_of(c, figure, &item->v, true));
}

/* Functions by one metric, those that differ most between ranks first. */
static int print_metric(const struct command *c, uint32_t figure)
{
    size_t n_label = c->n_columns > METRIC_COLUMNS + 20 ? c->n_columns - METRIC_COLUMNS : 20;
    struct ar_figure_item *order = calloc(c->items->n + 1, sizeof *order);
    size_t n = 0, i = 0;
    size_t n_most = c->n_rows == DEFAULT_ROWS ? SCREEN_ROWS - 4 - c->n_lines : c->n_rows;

    if (!order)
        return ar_complain("out of memory");
    for (size_t k = 0; k < c->items->n; k++)
        if (c->items->list[k].figure == figure)
            order[n++] = c->items->list[k];
    qsort(order, n, sizeof *order, widest_first);
    ar_print("\n%s", ar_bold());
    ar_print_fit(c->figures->list[figure].name, n_label, AR_KEEP_START);
    ar_print("%s %10s %8s %14s %14s\n", ar_plain(), "mean", "sd", "least (rank)", "most (rank)");
    for (; i < n && (n_most == 0 || i < n_most); i++)
        print_metric_row(c, &order[i], n_label);
    if (i < n)
        ar_print(" %s%s: -n 0 shows all%s\n", ar_dim(),
                 ar_show_items(n - i, "more function", "more functions"), ar_plain());
    free(order);
    return AR_EXIT_OK;
}

static int print_metrics(const struct command *c)
{
    int status = AR_EXIT_OK;

    for (uint32_t i = 0; i < c->figures->n && status == AR_EXIT_OK; i++)
        if (c->figures->list[i].is_asked)
            status = print_metric(c, i);
    ar_print_figure_doubt(c->p);
    return status;
}

/* A line for each metric, as those of time and calls. */
static void print_figure_spreads(const struct command *c, uint32_t function)
{
    size_t n, first = ar_figure_items_of(c->items, function, &n);

    for (size_t i = first; i < first + n; i++) {
        const struct ar_figure *figure = &c->figures->list[c->items->list[i].figure];
        const struct ar_figure_value *v = &c->items->list[i].v;

        ar_print(" ");
        ar_print_fit(figure->name, 20, AR_KEEP_START);
        ar_print(" mean %s, sd %s, least %s, most %s\n",
                 ar_show_figure(figure, v->mean, c->unit_ns, 12),
                 ar_show_figure(figure, v->sd, c->unit_ns, 12), show_figure_of(c, figure, v, false),
                 show_figure_of(c, figure, v, true));
    }
    if (n)
        ar_print_figure_doubt(c->p);
}

static int print_function(struct command *c, uint32_t function, size_t n_most)
{
    const struct ar_function_sums *sums = sums_of(c, function);
    struct ar_spread own = ar_own_time_get(ar_run_own_time(c->run), function);

    c->shares = ar_run_shares_of(c->run, AR_FORM_FOLDED, function);
    if (!c->shares || read_figures(c, function) < 0)
        return ar_complain("out of memory");
    ar_print("\n%s", ar_bold());
    print_label(c, function, c->n_columns - 20);
    ar_print("%s %s\n", ar_plain(), ar_function_kind_name(c->p->functions[function].kind));
    print_calls(c, &sums->calls);
    print_spread(c, c->unit_ns == 1e9 ? "total, seconds" : "total, milliseconds", &sums->time);
    print_spread(c, c->unit_ns == 1e9 ? "self, seconds" : "self, milliseconds", &sums->self);
    if (has_own_time(c, function) && own.sum > sums->self.sum)
        print_spread(c, c->unit_ns == 1e9 ? "self with C, sec" : "self with C, ms", &own);
    print_figure_spreads(c, function);
    if (c->p->n_roots > 1 && print_classes(c, function) < 0)
        return ar_complain("out of memory");
    if (c->p->n_roots > 1 && c->e->functions[function].wall_ns > 0 &&
        c->p->functions[function].kind != AR_FUNCTION_MPI)
        ar_print(" %s\n", ar_show_efficiency(&c->e->functions[function]));
    return print_shares(c, n_most);
}

/* Of a screen, what is left when each of so many functions has said all else in up to twelve lines. */
static size_t rows_of_ranks(size_t n_functions)
{
    size_t n_lines = (SCREEN_ROWS - 2) / n_functions;

    return n_lines > 14 ? n_lines - 12 : 2;
}

static int print_matches(struct command *c)
{
    size_t n = c->n_functions, n_most = c->n_rows;
    int status = AR_EXIT_OK;

    print_head(c);
    if (n > MOST_MATCHES && !c->all) {
        print_functions(c);
        return status;
    }
    if (c->n_rows == DEFAULT_ROWS)
        n_most = rows_of_ranks(n);
    for (size_t i = 0; i < n && status == AR_EXIT_OK; i++)
        status = print_function(c, c->functions[i], c->all ? 0 : n_most);
    return status;
}

/* ---- version 1 of the JSON --------------------------------------------------------------------- */

static void put_shares(struct ar_json *j, struct command *c, uint32_t function)
{
    c->shares = ar_run_shares_of(c->run, AR_FORM_FOLDED, function);
    j->out->bad = j->out->bad || !c->shares;
    ar_json_open(j, "by_rank", '[');
    for (uint32_t i = 0; c->shares && i < c->p->n_roots; i++) {
        ar_json_open(j, NULL, '{');
        if (c->p->processes[i].world_rank == AR_RANK_NONE)
            ar_json_null(j, "rank");
        else
            ar_json_integer(j, "rank", c->p->processes[i].world_rank);
        ar_json_text(j, "host", ar_strtab_text(&c->p->strings, c->p->processes[i].host));
        ar_json_integer(j, "calls", c->shares[i].n_calls);
        ar_json_integer(j, "time_ns", c->shares[i].time_ns);
        ar_json_integer(j, "self_ns", c->shares[i].self_ns);
        ar_json_doubt(j, "time_estimated", "time_error_ns", c->shares[i].time_doubt);
        ar_json_doubt(j, "self_estimated", "self_error_ns", c->shares[i].self_doubt);
        ar_json_close(j, '}');
    }
    ar_json_close(j, ']');
}

/* Of the time that was asked about, as on the screen. */
static void put_classes(struct ar_json *j, const struct command *c, uint32_t function)
{
    struct ar_comparison cmp;

    if (ar_compare_ranks(&cmp, c->run, function) < 0) {
        j->out->bad = true;
        return;
    }
    ar_json_number(j, "max_over_mean", cmp.im.max_over_mean);
    ar_json_open(j, "classes", '[');
    for (size_t i = 0; i < cmp.im.n_classes; i++) {
        ar_json_open(j, NULL, '{');
        ar_json_number(j, "mean_ns", cmp.im.classes[i].mean);
        ar_json_integer(j, "min_ns", cmp.im.classes[i].least);
        ar_json_integer(j, "max_ns", cmp.im.classes[i].most);
        ar_json_open(j, "ranks", '[');
        for (size_t k = cmp.first_rank[i]; k < cmp.first_rank[i + 1]; k++)
            ar_json_integer(j, NULL, cmp.ranks[k]);
        ar_json_close(j, ']');
        ar_json_close(j, '}');
    }
    ar_json_close(j, ']');
    ar_comparison_free(&cmp);
}

static void put_function(struct ar_json *j, struct command *c, uint32_t function)
{
    const struct ar_function *f = &c->p->functions[function];
    const struct ar_function_sums *sums = sums_of(c, function);

    ar_json_open(j, NULL, '{');
    ar_json_text(j, "kind", ar_function_kind_name(f->kind));
    ar_json_text(j, "name", full_name(c, function));
    ar_json_text(j, "file", ar_strtab_text(&c->p->strings, f->file));
    ar_json_integer(j, "line", f->first_line);
    ar_json_integer(j, "ranks", sums->n_processes);
    ar_json_spread(j, "calls", c->p, &sums->calls);
    ar_json_spread(j, "time_ns", c->p, &sums->time);
    ar_json_spread(j, "self_ns", c->p, &sums->self);
    if (c->wanted.text && has_own_time(c, function)) {
        struct ar_spread own = ar_own_time_get(ar_run_own_time(c->run), function);

        ar_json_spread(j, "self_with_c_ns", c->p, &own);
    }
    ar_json_efficiency(j, "efficiency", &c->e->functions[function]);
    if (c->wanted.text) {
        put_shares(j, c, function);
        put_classes(j, c, function);
    }
    ar_json_close(j, '}');
}

static int print_json_1(struct command *c)
{
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};

    ar_json_open(&j, NULL, '{');
    ar_json_text(&j, "schema", "allranks.ranks");
    ar_json_integer(&j, "version", 1);
    ar_json_facts(&j, "facts", c->p);
    ar_json_selection(&j, &c->selection);
    ar_json_integer(&j, "ranks", c->p->n_roots);
    ar_json_number(&j, "wall_ns", c->t->mean_wall_ns);
    ar_json_efficiency(&j, "efficiency", &c->e->run);
    ar_json_open(&j, "functions", '[');
    for (size_t i = 0; i < c->n_functions; i++)
        put_function(&j, c, c->functions[i]);
    ar_json_close(&j, ']');
    ar_json_close(&j, '}');
    ar_bytes_u8(&bytes, '\n');

    int status = bytes.bad ? ar_complain("out of memory") : ar_write_output("-", &bytes);

    ar_bytes_free(&bytes);
    return status;
}

/* ---- JSON and CSV ----------------------------------------------------------------------------- */

static int print_json(struct command *c)
{
    static const char *const before[] = {"run", "efficiency", NULL};
    static const char *const after[] = {"function_efficiency", "derived_metrics",
                                        "function_metrics", NULL};
    static const char *const of_function[] = {"function_ranks", "imbalance", "rank_classes",
                                              "function_rank_metrics", NULL};
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};
    enum ar_status status;

    ar_json_begin(&j, "ranks");
    ar_json_about(&j, c->run);
    status = ar_json_tables(&j, ar_run_subject(c->run), before);
    if (status == AR_OK)
        status =
            ar_json_table(&j, ar_run_subject(c->run), "functions",
                          &(struct ar_shown_rows){.numbers = c->functions, .n = c->n_functions});
    if (status == AR_OK)
        status = ar_json_tables(&j, ar_run_subject(c->run), after);
    if (status == AR_OK && c->wanted.text)
        status = ar_json_tables(&j, ar_run_subject(c->run), of_function);
    ar_json_end(&j);
    return ar_print_json(&j, status);
}

static int print_csv(struct command *c)
{
    if (c->wanted.text)
        return ar_print_table(ar_run_subject(c->run), "function_ranks", NULL);
    return ar_print_table(ar_run_subject(c->run), "functions",
                          &(struct ar_shown_rows){.numbers = c->functions, .n = c->n_functions});
}

/* ---- command ---------------------------------------------------------------------------------- */

static int show(struct command *c)
{
    c->unit_ns = c->t->mean_wall_ns < 1e9 ? 1e6 : 1e9;
    c->unit = c->unit_ns == 1e9 ? "sec" : "ms";
    if (c->wanted.text && c->n_functions == 0)
        return ar_complain("%s: no function %s in it (allranks ranks -n 0 %s shows all)", c->path,
                           c->wanted.text, ar_quote(c->path));
    if (c->json != AR_NO_JSON)
        return c->json == AR_JSON_1 ? print_json_1(c) : print_json(c);
    if (c->csv)
        return print_csv(c);
    if (c->wanted.text)
        return print_matches(c);
    print_head(c);
    if (ar_figures_are_asked(c->figures))
        return print_metrics(c);
    print_functions(c);
    return AR_EXIT_OK;
}

static int parse(int argc, char **argv, struct command *c)
{
    static const char *const sorts[] = {"spread", "sd", "time", "calls", "name", NULL};
    const struct ar_option options[] = {
        AR_HEADING("options"),
        {.name = "self",
         .kind = AR_OPTION_FLAG,
         .to = &c->self,
         .help = "time without what it calls (default); ranks of one function are\n"
                 "compared by its time with what it calls in C, unless this is given"},
        {.name = "inclusive",
         .kind = AR_OPTION_FLAG,
         .to = &c->inclusive,
         .help = "time with what it calls"},
        {.name = "sort",
         .kind = AR_OPTION_CHOICE,
         .to = &c->sort,
         .choices = sorts,
         .value = "WHAT",
         .help = "spread (most less least; default), sd, time, calls or name"},
        AR_METRIC_OPTION(&c->metrics),
        AR_ROWS_OPTION(&c->n_rows, AR_ROWS_HELP),
        {.name = "all",
         .kind = AR_OPTION_FLAG,
         .to = &c->all,
         .help = "every rank, and every function"},
        AR_CSV_OPTION(&c->csv, "for spreadsheets: with FUNCTION a row a rank"),
        AR_JSON_OPTION(&c->json, "everything"),
        AR_HELP_OPTION,
        AR_SELECTION_OPTIONS(&c->selection),
    };
    int status =
        ar_options_parse(argc, argv, options, sizeof options / sizeof *options, usage, usage_end);

    if (status >= 0)
        return status;
    if (c->self && c->inclusive)
        return ar_complain("--self and --inclusive: one of them (try: allranks ranks --help)");
    if (argc - optind < 1 || argc - optind > 2)
        return ar_complain_runs(argc - optind, "ranks RUN [FUNCTION]");
    if (c->all)
        c->n_rows = 0;
    c->path = argv[optind];
    c->wanted = ar_wanted_parse(argc - optind == 2 ? argv[optind + 1] : NULL);
    return ar_refuse_several_jobs("ranks", c->path);
}

static enum ar_compared compared_by(const struct command *c)
{
    return c->inclusive ? AR_COMPARED_BY_TOTAL : c->self ? AR_COMPARED_BY_SELF : AR_COMPARED_BY_OWN;
}

int ar_command_ranks(int argc, char **argv)
{
    struct command c = {
        .json = AR_NO_JSON, .n_rows = DEFAULT_ROWS, .n_columns = ar_screen_columns()};
    int status = parse(argc, argv, &c);

    if (status < 0)
        status = ar_open_run(&c.run, &(struct ar_run_choice){.path = c.path,
                                                             .selection = &c.selection,
                                                             .wanted = &c.wanted,
                                                             .metrics = &c.metrics,
                                                             .form = AR_FORM_FOLDED,
                                                             .compared = compared_by(&c)});
    if (status >= 0)
        return status;
    status = find_functions(&c) < 0 ? ar_complain("out of memory") : show(&c);
    free(c.functions);
    ar_figure_columns_free(&c.columns);
    ar_run_close(c.run);
    return status;
}
