// SPDX-License-Identifier: BSD-3-Clause
/*
 * allranks report: where the time goes and on which rank. The first screen fits 80 columns and 24
 * lines; what is cut from the tree is said.
 */
#include "analysis/fold.h"
#include "analysis/load.h"
#include "analysis/mpi_tables.h"
#include "analysis/totals.h"
#include "cli/commands.h"
#include "cli/findings_text.h"
#include "cli/options.h"
#include "cli/report_functions.h"
#include "cli/report_json.h"
#include "cli/screen.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: allranks report [options] RUN|DIR\n"
    "\n"
    "Show what holds the program back, where the time goes, which ranks differ, and what\n"
    "MPI costs.\n"
    "\n"
    "RUN is a run file, a live file, or a file that cProfile has written, whatever its\n"
    "name; 'cpu_*.prof', in quotes, is a run of one rank a file. Files of cProfile have no\n"
    "call paths: their functions are shown instead of the tree.\n"
    "\n"
    "options:\n"
    "      --rows N       rows of the tree (default: 10; 0: all of them)\n"
    "      --min PERCENT  leave out calls with less of the run's time (default: 1)\n"
    "      --json         everything, for programs\n"
    "  -h, --help         show this help\n";

#define DEFAULT_ROWS 10

struct report {
    struct ar_profile p; /* call sites folded */
    struct ar_totals t;
    const char *path;
    const char *unit; /* of all times in the tables */
    double unit_ns;
    size_t n_rows; /* of the tree; 0: all */
    bool fits;     /* nobody asked for a number of rows: all of it is one screen */
    double min_share;
    bool json;
    struct ar_mpi_row *mpi; /* the longest first */
    size_t n_mpi;
    struct ar_findings findings;
};

/* ---- head ------------------------------------------------------------------------------------ */

static void print_version(const struct report *r, const char *label, const char *fact,
                          const char *before)
{
    const char *value = ar_profile_fact_text(&r->p, fact);

    if (*value) {
        printf("%s%s", before, label);
        ar_print_text(stdout, value);
    }
}

static uint64_t n_lost_in_all(const struct report *r)
{
    uint64_t n = 0;

    for (int loss = 0; loss < AR_N_LOSSES; loss++)
        n += r->t.n_lost[loss];
    return n;
}

static size_t n_unfinished(const struct ar_profile *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_processes; i++)
        n += i < p->n_roots && p->processes[i].state != AR_PROCESS_FINISHED;
    return n;
}

/* Times and sums are right all the same; a cause that is not there cannot be shown. */
static void print_untold(const struct report *r)
{
    static const struct {
        enum ar_live_loss loss;
        const char *one, *many;
    } losses[] = {{AR_LOST_TRAFFIC, "message by peer", "messages by peer"},
                  {AR_LOST_REQUESTS, "request", "requests"},
                  {AR_LOST_SYNCS, "synchronising call", "synchronising calls"},
                  {AR_LOST_COMMS, "communicator", "communicators"}};
    const char *before = "no room was left for details of ";

    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        uint64_t n = r->t.n_lost[losses[i].loss];

        if (n) {
            printf("%s%s", before, ar_show_items(n, losses[i].one, losses[i].many));
            before = ", ";
        }
    }
    if (*before == ',')
        printf(" (allranks info)\n");
}

static bool has_untold(const struct report *r)
{
    return r->t.n_lost[AR_LOST_TRAFFIC] || r->t.n_lost[AR_LOST_REQUESTS] ||
           r->t.n_lost[AR_LOST_SYNCS] || r->t.n_lost[AR_LOST_COMMS];
}

/* The tree stopped growing: what came after is found further up than it was. */
static void print_full(const struct report *r)
{
    uint64_t n_calls = r->t.n_lost[AR_LOST_NODES], n_functions = r->t.n_lost[AR_LOST_FUNCTIONS];

    if (n_calls || n_functions)
        printf(
            "the live file had no room for %s and %s: their time is their caller's (allranks run "
            "--max-size)\n",
            ar_show_items(n_calls, "call", "calls"),
            ar_show_items(n_functions, "function", "functions"));
}

static void print_head(const struct report *r)
{
    const struct ar_profile *p = &r->p;
    bool ranks = p->n_processes && p->processes[0].world_rank != AR_RANK_NONE;
    const char *program = ar_profile_fact_text(p, "program");
    const char *slash = strrchr(program, '/');

    const char *name = slash ? slash + 1 : program;
    size_t n_name = strlen(name);

    printf("%s", ar_bold());
    ar_print_fit(name, n_name < 40 ? n_name : 40, AR_KEEP_START);
    printf("%s   %s", ar_plain(),
           ranks ? ar_show_items(p->n_roots, "rank", "ranks")
                 : ar_show_items(p->n_roots, "process", "processes"));
    if (p->n_processes > p->n_roots)
        printf(" and %s", ar_show_items(p->n_processes - p->n_roots, "child", "children"));
    printf(" on %s   %s\n", ar_show_items(ar_count_hosts(p), "host", "hosts"),
           ar_show_duration(r->t.mean_wall_ns));
    print_version(r, "Python ", "python", "");
    print_version(r, "", "mpi", ", ");
    print_version(r, "mpi4py ", "mpi4py", ", ");
    printf("\nin MPI %.0f %%", r->t.mean_wall_ns > 0 ? 100 * r->t.mpi_ns / r->t.mean_wall_ns : 0);
    if (r->t.overhead_ns)
        printf("   overhead %s", ar_show_share(r->t.overhead));
    printf("   dropped %s", ar_show_count(n_lost_in_all(r)));
    if (n_unfinished(p))
        printf("   unfinished %zu", n_unfinished(p));
    printf("\n");
    print_full(r);
    print_untold(r);
}

/* ---- imbalance ------------------------------------------------------------------------------- */

static bool is_kind(const struct ar_profile *p, uint32_t node, enum ar_function_kind kind)
{
    return p->functions[p->nodes[node].function].kind == (uint32_t)kind;
}

static bool is_mpi(const struct ar_profile *p, uint32_t node)
{
    return is_kind(p, node, AR_FUNCTION_MPI);
}

/*
 * What the run would win if the slowest rank were an average one. MPI time is left out: waiting is
 * the effect.
 */
static double gain_ns(const struct report *r, uint32_t node)
{
    const struct ar_spread *s = &r->t.self[node];

    return is_mpi(&r->p, node) || node == 0 ? 0 : (double)s->max - s->mean;
}

/* Below an import nothing is said: loading differs from rank to rank as disks do. */
static bool is_import(const struct ar_profile *p, uint32_t node)
{
    return is_kind(p, node, AR_FUNCTION_IMPORT);
}

static bool below_import(const struct ar_profile *p, uint32_t node)
{
    while (node != AR_NO_ID && !is_import(p, node))
        node = p->nodes[node].parent;
    return node != AR_NO_ID;
}

/* The node with the largest gain that is smaller than `below`. */
static uint32_t next_worst(const struct report *r, double below)
{
    uint32_t worst = AR_NO_ID;

    for (uint32_t node = 1; node < r->p.n_nodes; node++)
        if (gain_ns(r, node) < below &&
            (worst == AR_NO_ID || gain_ns(r, node) > gain_ns(r, worst)) &&
            !below_import(&r->p, node))
            worst = node;
    return worst;
}

/* "~0.020": a time that is estimated, ">0.020": one that is only a part. */
static void print_time(const struct report *r, uint32_t node, double ns)
{
    uint8_t marks = r->t.marks[node];
    char text[48];

    snprintf(text, sizeof text, "%s%s",
             marks & AR_MARK_PARTIAL     ? ">"
             : marks & AR_MARK_ESTIMATED ? "~"
                                         : "",
             ar_show_time(ns, r->unit_ns));
    printf(" %8s", text);
}

/* All tables have the same columns: what, where, and from there two or four numbers. */
static void print_title(const char *title, const char *where, const char *a, const char *b,
                        const char *rest)
{
    printf("\n%s%-25s%s %-16s %8s %8s%s\n", ar_bold(), title, ar_plain(), where, a, b, rest);
}

/* Of a long place the end is what matters: the line. */
static void print_label(const struct report *r, uint32_t node, size_t indent)
{
    printf(" %*s", (int)indent, "");
    ar_print_fit(ar_show_name(&r->p, node, 24 - indent), 24 - indent, AR_KEEP_START);
    printf(" ");
    ar_print_fit(ar_show_place(&r->p, node), 16, AR_KEEP_END);
}

/* Whoever calls a function in C is to blame, not that. */
static uint32_t to_blame(const struct report *r, uint32_t node)
{
    while (r->p.functions[r->p.nodes[node].function].kind == AR_FUNCTION_BUILTIN)
        node = r->p.nodes[node].parent;
    return node;
}

/* `most` of them; returns how many there are. */
static size_t print_imbalance(const struct report *r, size_t most)
{
    double below = 1e300;
    size_t i = 0;

    for (; i < most && r->p.n_roots > 1; i++) {
        uint32_t node = next_worst(r, below);

        if (node == AR_NO_ID || gain_ns(r, node) < r->min_share * r->t.mean_wall_ns)
            break;
        if (i == 0)
            print_title("Imbalance", r->unit, "max-mean", "self", "   min-max (rank)");
        below = gain_ns(r, node);
        print_label(r, to_blame(r, node), 0);
        printf(" %8s", ar_show_time(below, r->unit_ns));
        print_time(r, node, r->t.self[node].mean);
        ar_print_range(&r->p, &r->t.self[node], r->unit_ns);
        printf("\n");
    }
    return i;
}

/* ---- tree ------------------------------------------------------------------------------------ */

struct rows {
    size_t n_shown, n_cut;
    uint8_t marks; /* of all that are shown */
};

static void print_row(const struct report *r, uint32_t node, size_t depth)
{
    print_label(r, node, depth < 12 ? depth : 12);
    print_time(r, node, r->t.time[node].mean);
    print_time(r, node, r->t.self[node].mean);
    ar_print_range(&r->p, &r->t.time[node], r->unit_ns);
    printf("\n");
}

static bool worth_a_row(const struct report *r, uint32_t node)
{
    return (double)r->t.time[node].max >= r->min_share * r->t.mean_wall_ns;
}

/* Depth first, without recursion: trees are as deep as programs recurse. */
static struct rows walk_tree(const struct report *r, size_t n_rows, bool print)
{
    struct rows rows = {0};
    uint32_t node = r->t.first_child[0];
    size_t depth = 0;

    while (node != AR_NO_ID && node != 0) {
        bool worth = depth == 0 || worth_a_row(r, node);

        if (worth && (n_rows == 0 || rows.n_shown < n_rows)) {
            if (print)
                print_row(r, node, depth);
            rows.n_shown++;
            rows.marks |= r->t.marks[node];
        } else {
            rows.n_cut++;
        }
        /*
         * What a module does while it is imported is seldom the question: it is shown with all
         * rows.
         */
        if (worth && (!is_import(&r->p, node) || n_rows == 0) &&
            r->t.first_child[node] != AR_NO_ID) {
            node = r->t.first_child[node];
            depth++;
            continue;
        }
        while (node != 0 && r->t.next_sibling[node] == AR_NO_ID) {
            node = r->p.nodes[node].parent;
            depth--;
        }
        if (node != 0)
            node = r->t.next_sibling[node];
    }
    return rows;
}

static bool says_cheap(const struct report *r)
{
    return r->t.n_cheap_builtins && strcmp(ar_profile_fact_text(&r->p, "builtins"), "costly") == 0;
}

/* What the marks mean, and what is not there. */
static void print_notes(const struct report *r, uint8_t marks)
{
    if (marks)
        printf(" %s%s%s%s%s\n", ar_dim(),
               marks & AR_MARK_ESTIMATED ? "~ estimated from some of the calls" : "",
               marks == (AR_MARK_ESTIMATED | AR_MARK_PARTIAL) ? "   " : "",
               marks & AR_MARK_PARTIAL ? "> at least: timed no more, see --budget" : "",
               ar_plain());
    if (says_cheap(r))
        printf(" %s%s under 1 %% %s%s\n", ar_dim(),
               ar_show_items(r->t.n_cheap_builtins, "function in C", "functions in C"),
               r->t.n_cheap_builtins == 1 ? "is its callers'" : "are their callers'", ar_plain());
}

static void print_tree(const struct report *r, size_t n_rows)
{
    bool several = r->p.n_roots > 1;

    print_title("Where the time goes", r->unit, "total", "self",
                several ? "   min-max (rank)" : "");

    struct rows rows = walk_tree(r, n_rows, true);

    if (rows.n_cut) {
        printf(" %s%s: allranks report --rows 0 --min 0 ", ar_dim(),
               ar_show_items(rows.n_cut, "more call path", "more call paths"));
        ar_print_text(stdout, r->path);
        printf("%s\n", ar_plain());
    }
    print_notes(r, rows.marks & (AR_MARK_ESTIMATED | AR_MARK_PARTIAL));
}

/* ---- MPI ------------------------------------------------------------------------------------- */

#define SHORT_MPI_ROWS 3

/* As `allranks mpi` has them: a method of mpi4py stands for the calls that it makes. */
static void print_mpi_row(const struct report *r, const struct ar_mpi_row *row)
{
    printf(" ");
    ar_print_fit(row->name, 24, AR_KEEP_START);
    printf(" ");
    ar_print_fit(ar_show_place(&r->p, row->node), 16, AR_KEEP_END);
    printf(" %8s %8s %9s %9s\n", ar_show_count(row->n_calls),
           ar_show_time(row->time.mean, r->unit_ns), ar_show_bytes(row->bytes_out),
           ar_show_bytes(row->bytes_in));
}

static void print_mpi(const struct report *r)
{
    if (r->n_mpi)
        print_title("MPI", r->unit, "calls", "time", "       out        in");
    for (size_t i = 0; i < r->n_mpi && (r->n_rows == 0 || i < SHORT_MPI_ROWS); i++)
        print_mpi_row(r, &r->mpi[i]);
}

/* With totals, which it needs itself, and what is to be said of all of it. */
static enum ar_status find_mpi(struct report *r)
{
    struct ar_mpi m;

    if (ar_mpi_open(&m, &r->p) < 0)
        return AR_NOMEM;

    enum ar_status status = ar_mpi_table(&m, AR_MPI_BY_PATH, &r->mpi, &r->n_mpi);

    if (status == AR_OK)
        status = ar_findings_find(&r->findings, &r->p, &m, r->path);
    r->t = m.t;
    m.t = (struct ar_totals){0};
    ar_mpi_close(&m);
    return status;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

#define SHORT_TASK_ROWS 5

/* All tasks of a name, wherever in the tree they run; at the index of their function. */
struct task_row {
    uint32_t node; /* one of them */
    uint64_t n_steps, awaited_ns;
    double ns;
};

static int longest_task_first(const void *a, const void *b)
{
    double x = ((const struct task_row *)a)->ns, y = ((const struct task_row *)b)->ns;

    return (x < y) - (x > y);
}

/* A task that runs within one of its name, as eager ones do: that one's time has its time. */
static bool is_within_its_like(const struct ar_profile *p, uint32_t node)
{
    uint32_t function = p->nodes[node].function;

    for (node = p->nodes[node].parent; node != AR_NO_ID; node = p->nodes[node].parent)
        if (p->nodes[node].function == function)
            return true;
    return false;
}

/* Puts the rows in front, the longest first; returns how many there are. */
static size_t collect_tasks(const struct report *r, struct task_row *rows)
{
    size_t n = 0;

    for (uint32_t node = 0; node < r->p.n_nodes; node++) {
        struct task_row *row = &rows[r->p.nodes[node].function];

        if (!is_kind(&r->p, node, AR_FUNCTION_TASK))
            continue;
        row->node = node;
        row->n_steps += r->t.n_calls[node];
        row->awaited_ns += r->t.awaited_ns[node];
        if (!is_within_its_like(&r->p, node))
            row->ns += r->t.time[node].mean;
    }
    for (size_t i = 0; i < r->p.n_functions; i++)
        if (rows[i].node)
            rows[n++] = rows[i];
    qsort(rows, n, sizeof *rows, longest_task_first);
    return n;
}

static void print_tasks(const struct report *r, const struct task_row *rows, size_t n)
{
    double n_processes = (double)r->p.n_roots;

    if (n)
        print_title("asyncio tasks", r->unit, "steps", "running", "   awaited");
    for (size_t i = 0; i < n; i++) {
        print_label(r, rows[i].node, 0);
        printf(" %8s %8s %9s\n", ar_show_count(rows[i].n_steps),
               ar_show_time(rows[i].ns, r->unit_ns),
               ar_show_time((double)rows[i].awaited_ns / n_processes, r->unit_ns));
    }
}

/* ---- command --------------------------------------------------------------------------------- */

static int parse(int argc, char **argv, struct report *r)
{
    const char *min = NULL;
    const struct ar_option options[] = {
        {.name = "rows", .kind = AR_OPTION_COUNT, .to = &r->n_rows},
        {.name = "min", .kind = AR_OPTION_TEXT, .to = &min},
        {.name = "json", .kind = AR_OPTION_FLAG, .to = &r->json},
    };
    int status = ar_options_parse(argc, argv, options, sizeof options / sizeof *options, usage);
    char *end = NULL;

    if (status >= 0)
        return status;
    r->fits = r->n_rows == SIZE_MAX;
    r->n_rows = r->fits ? DEFAULT_ROWS : r->n_rows;
    if (min)
        r->min_share = strtod(min, &end) / 100;
    if (min && (end == min || *end || !(r->min_share >= 0)))
        return ar_complain("--min %s: not a percentage", min);
    if (argc - optind != 1)
        return ar_complain_runs(argc - optind, "report RUN");
    r->path = argv[optind];
    return -1;
}

/* Short runs in milliseconds. Where there are several ranks the numbers are their mean. */
static void choose_unit(struct report *r)
{
    bool several = r->p.n_roots > 1;

    r->unit_ns = r->t.mean_wall_ns < 1e9 ? 1e6 : 1e9;
    if (r->unit_ns == 1e9)
        r->unit = several ? "seconds, mean" : "seconds";
    else
        r->unit = several ? "ms, mean" : "milliseconds";
}

#define SCREEN_ROWS 24
#define HEAD_ROWS 3
#define TITLE_ROWS 2 /* with the empty one before it */
#define FEWEST_ROWS 3
/* What is left beside the head and the fewest rows of the tree, with a line of what is cut. */
#define FINDING_ROWS (SCREEN_ROWS - HEAD_ROWS - TITLE_ROWS - FEWEST_ROWS - 3)
#define IMBALANCE_ROWS 3

static size_t section_rows(size_t n, size_t n_most)
{
    return n ? TITLE_ROWS + (n < n_most ? n : n_most) : 0;
}

/*
 * One screen in all: what stands above and below the tree is taken from it, and then from tasks. MPI goes first,
 * where there is no room for all.
 */
static void share_screen(struct report *r, size_t n_above, size_t *n_rows, size_t *n_tasks)
{
    size_t taken = HEAD_ROWS + n_above + TITLE_ROWS + 1 + says_cheap(r) + has_untold(r) +
                   (walk_tree(r, r->n_rows, false).marks != 0);
    size_t left = taken + FEWEST_ROWS < SCREEN_ROWS ? SCREEN_ROWS - taken : FEWEST_ROWS;

    if (section_rows(r->n_mpi, SHORT_MPI_ROWS) + FEWEST_ROWS > left)
        r->n_mpi = 0;
    left -= section_rows(r->n_mpi, SHORT_MPI_ROWS);
    while (*n_tasks > 1 && section_rows(*n_tasks, *n_tasks) + FEWEST_ROWS + 1 > left)
        --*n_tasks;
    left -= section_rows(*n_tasks, *n_tasks);
    if (*n_rows > left)
        *n_rows = left;
}

/* Findings come first, and a table that has no room is left out. */
static size_t imbalance_rows(const struct report *r, size_t n_findings)
{
    size_t left =
        n_findings + TITLE_ROWS < FINDING_ROWS ? FINDING_ROWS - n_findings - TITLE_ROWS : 0;

    return r->fits && left < IMBALANCE_ROWS ? left : IMBALANCE_ROWS;
}

static int print_report(struct report *r)
{
    struct task_row *tasks = calloc(r->p.n_functions + 1, sizeof *tasks);

    if (!tasks)
        return ar_complain("out of memory");
    choose_unit(r);
    print_head(r);

    size_t n_rows = r->n_rows, n_tasks = collect_tasks(r, tasks);
    size_t n_above = ar_print_findings(&r->findings, r->path, r->fits ? FINDING_ROWS : 0);

    size_t n_imbalance = print_imbalance(r, imbalance_rows(r, n_above));

    n_above += section_rows(n_imbalance, n_imbalance);
    if (r->n_rows && n_tasks > SHORT_TASK_ROWS)
        n_tasks = SHORT_TASK_ROWS;
    if (r->fits)
        share_screen(r, n_above, &n_rows, &n_tasks);
    print_tree(r, n_rows);
    print_tasks(r, tasks, n_tasks);
    print_mpi(r);
    free(tasks);
    return AR_EXIT_OK;
}

int ar_command_report(int argc, char **argv)
{
    struct report r = {.n_rows = SIZE_MAX, .min_share = 0.01};
    struct ar_profile whole;
    struct ar_error err;
    int status = parse(argc, argv, &r);

    if (status >= 0)
        return status;
    if (ar_load_packed(&whole, r.path, &err) < 0)
        return ar_complain("%s", err.text);
    if (r.json)
        status = ar_report_json(&whole, r.path);
    else if (ar_profile_of_pairs(&whole))
        status = ar_report_functions(&whole, r.path, r.n_rows, r.min_share);
    else if (ar_fold(&r.p, &whole) < 0 || find_mpi(&r) < 0)
        status = ar_complain("out of memory");
    else
        status = print_report(&r);
    free(r.mpi);
    ar_findings_free(&r.findings);
    ar_totals_free(&r.t);
    ar_profile_free(&r.p);
    ar_profile_free(&whole);
    return status;
}
