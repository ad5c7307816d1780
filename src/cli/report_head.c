// SPDX-License-Identifier: BSD-3-Clause
#include "cli/mpi_text.h"
#include "cli/report.h"
#include "cli/screen.h"

#include <stdarg.h>
#include <string.h>

#define HEAD_COLUMNS 80
#define MOST_NAMES 38 /* in bytes, of counters that were left out */

/* A line is put together first, since it has to fit. */
static void add(struct ar_bytes *line, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct ar_bytes *line, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ar_bytes_put(line, text, strlen(text));
}

/* Returns 1 for the line. */
static size_t print_line(struct ar_bytes *line)
{
    ar_bytes_u8(line, '\0');
    if (!line->bad) {
        size_t n = ar_count_columns((char *)line->data, HEAD_COLUMNS);

        ar_print_fit((char *)line->data, n < HEAD_COLUMNS ? n : HEAD_COLUMNS, AR_KEEP_START);
    }
    ar_print("\n");
    ar_bytes_free(line);
    return 1;
}

/* ---- what ran --------------------------------------------------------------------------------- */

static void add_size(struct ar_bytes *line, const struct ar_report *r)
{
    const struct ar_profile *p = r->p;
    bool ranks = p->n_processes && p->processes[0].world_rank != AR_RANK_NONE;

    add(line, "   %s",
        ranks ? ar_show_items(p->n_roots, "rank", "ranks")
              : ar_show_items(p->n_roots, "process", "processes"));
    if (p->n_processes > p->n_roots)
        add(line, " and %s", ar_show_items(p->n_processes - p->n_roots, "child", "children"));
    if (!r->t->of_pairs)
        add(line, " on %s", ar_show_items(ar_count_hosts(p), "host", "hosts"));
    add(line, "   %s", ar_show_duration(r->t->mean_wall_ns));
    if (r->t->of_pairs && r->t->mpi_ns > 0)
        add(line, "   in MPI %.0f %%", 100 * r->t->mpi_ns / r->t->mean_wall_ns);
}

/* A long name gives way: numbers are why people look. */
static size_t print_program(const struct ar_report *r)
{
    const char *program = ar_file_name(ar_profile_fact_text(r->p, "program"));
    bool is_path = !*program || r->t->of_pairs;
    const char *name = is_path ? r->path : program;
    struct ar_bytes rest = {0};

    add_size(&rest, r);

    size_t most = rest.n < HEAD_COLUMNS - 20 ? HEAD_COLUMNS - rest.n : 20;
    size_t n_name = ar_count_columns(name, most);

    most = most < 40 ? most : 40;
    ar_print("%s", ar_bold());
    ar_print_fit(name, n_name < most ? n_name : most, is_path ? AR_KEEP_END : AR_KEEP_START);
    ar_print("%s", ar_plain());
    return print_line(&rest);
}

static void add_version(struct ar_bytes *line, const struct ar_report *r, const char *label,
                        const char *fact)
{
    const char *value = ar_profile_fact_text(r->p, fact);

    if (*value)
        add(line, "%s%s%s", line->n ? ", " : "", label, value);
}

static size_t print_versions(const struct ar_report *r)
{
    struct ar_bytes line = {0};

    add_version(&line, r, "Python ", "python");
    add_version(&line, r, "", "mpi");
    add_version(&line, r, "mpi4py ", "mpi4py");
    return print_line(&line);
}

/* ---- what it cost, and what is not there ------------------------------------------------------ */

static size_t n_unfinished(const struct ar_profile *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_processes; i++)
        n += i < p->n_roots && p->processes[i].state != AR_PROCESS_FINISHED;
    return n;
}

static size_t print_costs(const struct ar_report *r)
{
    struct ar_bytes line = {0};

    add(&line, "in MPI %.0f %%",
        r->t->mean_wall_ns > 0 ? 100 * r->t->mpi_ns / r->t->mean_wall_ns : 0);
    if (r->t->overhead_ns)
        add(&line, "   overhead %s", ar_show_share(r->t->overhead));
    add(&line, "   dropped %s", ar_show_count(ar_profile_lost_in_all(r->p, AR_NO_ID)));
    if (n_unfinished(r->p))
        add(&line, "   unfinished %zu", n_unfinished(r->p));
    return print_line(&line);
}

/* As ar_show_items has it, in fewer digits: such lines have up to four of them. */
static const char *show_items(uint64_t n, const char *one, const char *many)
{
    static char texts[4][48];
    static int next;
    char *text = texts[next++ % 4];

    snprintf(text, sizeof texts[0], "%s %s", ar_show_short_count(n, 7), n == 1 ? one : many);
    return text;
}

/* The tree stopped growing: what came after is found further up than it was. */
static size_t print_full(const struct ar_report *r)
{
    uint64_t n_calls = r->t->n_lost[AR_LOST_NODES], n_functions = r->t->n_lost[AR_LOST_FUNCTIONS];
    struct ar_bytes line = {0};

    if (!n_calls && !n_functions)
        return 0;
    add(&line, "no room for %s, %s: their callers' now (--max-size)",
        show_items(n_calls, "call", "calls"), show_items(n_functions, "function", "functions"));
    return print_line(&line);
}

/* Times and sums are right all the same; a cause that is not there cannot be shown. */
static size_t print_untold(const struct ar_report *r)
{
    static const struct {
        enum ar_live_loss loss;
        const char *one, *many;
    } losses[] = {{AR_LOST_TRAFFIC, "message", "messages"},
                  {AR_LOST_REQUESTS, "request", "requests"},
                  {AR_LOST_SYNCS, "wait", "waits"},
                  {AR_LOST_COMMS, "communicator", "communicators"}};
    struct ar_bytes line = {0};

    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        uint64_t n = r->t->n_lost[losses[i].loss];

        if (n)
            add(&line, "%s%s", line.n ? ", " : "no details of ",
                show_items(n, losses[i].one, losses[i].many));
    }
    return line.n ? print_line(&line) : 0;
}

/* With --counters-optional the program ran without them. */
static size_t print_uncounted(const struct ar_report *r)
{
    const char *uncounted = ar_profile_fact_text(r->p, "uncounted");
    struct ar_bytes line = {0};

    if (!*uncounted)
        return 0;
    add(&line, "not counted: %.*s%s (allranks info says why)", MOST_NAMES, uncounted,
        strlen(uncounted) > MOST_NAMES ? "..." : "");
    return print_line(&line);
}

/* Counters are read in regions and chosen functions: there may have been none. */
static size_t print_nothing_counted(const struct ar_report *r)
{
    const struct ar_figures *figures = ar_run_figures(r->run, r->form);

    if (!*ar_profile_fact_text(r->p, "counters") || !figures || figures->n_recorded)
        return 0;
    ar_print("nothing was counted: no region ran (try: --counters-at 'FILE.py:*')\n");
    return 1;
}

/* Logging is off unless it is asked for, and switching it on may be noticed by the program. */
static size_t print_petsc(const struct ar_report *r)
{
    if (!*ar_profile_fact_text(r->p, "petsc") || *ar_profile_fact_text(r->p, "petsc-log"))
        return 0;
    ar_print("PETSc's events are not recorded (try: allranks run --petsc-log)\n");
    return 1;
}

size_t ar_report_head(const struct ar_report *r)
{
    size_t n = print_program(r);

    if (r->t->of_pairs) {
        ar_print("pstats files: functions and who called them, no call paths\n");
        return n + 1 + ar_print_selection(&r->selection);
    }
    n += print_versions(r);
    n += print_costs(r);
    n += print_uncounted(r);
    n += print_nothing_counted(r);
    n += ar_print_selection(&r->selection);
    n += print_full(r);
    n += print_petsc(r);
    return n + print_untold(r);
}
