// SPDX-License-Identifier: BSD-3-Clause
/*
 * allranks mpi: what MPI costs, where, and who talks to whom. The first screen fits 80 columns and 24
 * lines; a wider terminal has more room for names.
 */
#include "analysis/place.h"
#include "cli/choose_job.h"
#include "cli/commands.h"
#include "cli/mpi_json.h"
#include "cli/mpi_matrix.h"
#include "cli/mpi_text.h"
#include "cli/options.h"
#include "cli/screen.h"
#include "cli/selecting.h"
#include "cli/shown.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: allranks mpi [options] RUN [FILE:LINE|FUNCTION]\n"
    "\n"
    "Show what MPI costs, and where. A line of the program is a method of mpi4py with all\n"
    "that it does (pickling, waiting, transferring and unpickling apart), or an MPI call.\n"
    "With FILE:LINE or the name of a function, of MPI, mpi4py or the program, only what is\n"
    "called there: allranks mpi heat.allranks halo.py:51\n";
static const char usage_end[] =
    "Times are means over ranks, % is of their time; out and in are bytes of all ranks, size\n"
    "is that of a message. Sizes by decimal units: 1k is 1000 bytes.\n";

#define SCREEN_ROWS 24
#define DEFAULT_ROWS SIZE_MAX
#define DETAIL_ROWS 3

enum sort { SORT_TIME, SORT_CALLS, SORT_BYTES, SORT_SIZE, SORT_SPREAD, SORT_NAME };

struct command {
    struct ar_run *run;
    const struct ar_profile *p; /* call sites folded */
    const struct ar_mpi *m;
    const char *path;
    struct ar_wanted wanted;
    struct ar_selection selection;
    int by, sort, matrix; /* -1: not asked for */
    bool requests, csv;
    int json;         /* enum ar_json_version */
    size_t n_rows;    /* DEFAULT_ROWS: one screen; 0: all */
    size_t n_columns; /* of the terminal */
    size_t n_lines;   /* printed so far */
    double unit_ns;
    const char *unit;
};

/* ---- head ------------------------------------------------------------------------------------- */

static double share_of(const struct command *c, double ns)
{
    return c->m->wall_ns > 0 ? ns / c->m->wall_ns : 0;
}

static void print_program(struct command *c)
{
    const struct ar_profile *p = c->p;
    const char *name = ar_file_name(ar_profile_fact_text(p, "program"));
    size_t n_name = ar_count_columns(name, 30);

    ar_print("%s", ar_bold());
    ar_print_fit(*name ? name : ar_file_name(c->path), *name ? n_name : 20, AR_KEEP_START);
    ar_print("%s   %s on %s   %s", ar_plain(),
             p->n_processes && p->processes[0].world_rank == AR_RANK_NONE
                 ? ar_show_items(c->m->n_ranks, "process", "processes")
                 : ar_show_items(c->m->n_ranks, "rank", "ranks"),
             ar_show_items(ar_count_hosts(p), "host", "hosts"), ar_show_duration(c->m->wall_ns));
    if (c->wanted.text) {
        ar_print("   only ");
        ar_print("%s", c->wanted.text);
    }
    ar_print("\n");
    c->n_lines++;
}

/* "in MPI 38 %: collective 20 %, wait 15 %, p2p 3 %"; what is under a percent is left out. */
static void print_classes(struct command *c, const struct ar_mpi_row *rows, size_t n)
{
    const char *before = ": ";

    ar_print("in MPI %s, %s", ar_show_duration(c->m->mpi_ns),
             ar_show_share(share_of(c, c->m->mpi_ns)));
    for (size_t i = 0; i < n && i < 4; i++)
        if (share_of(c, rows[i].time.mean) >= 0.01) {
            ar_print("%s%s %.0f %%", before, rows[i].name, 100 * share_of(c, rows[i].time.mean));
            before = ", ";
        }
    ar_print("\n");
    c->n_lines++;
}

static size_t n_shown_comms(const struct ar_profile *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_comms; i++)
        n += !p->comms[i].is_hidden;
    return n;
}

static void print_volume(struct command *c, const struct ar_mpi_row *rows, size_t n)
{
    const struct ar_mpi_parts *parts = &c->m->parts;
    uint64_t out = 0, in = 0, n_out = 0;
    double pickling =
        c->m->n_ranks ? (double)(parts->pickling_ns + parts->unpickling_ns) / (double)c->m->n_ranks
                      : 0;

    for (size_t i = 0; i < n; i++) {
        out += rows[i].bytes_out;
        in += rows[i].bytes_in;
        n_out += strcmp(rows[i].name, "collective") == 0 ? 0 : rows[i].n_out;
    }
    ar_print("out %s, in %s", ar_show_bytes(out), ar_show_bytes(in));
    if (n_out)
        ar_print(", %s", ar_show_items(n_out, "message", "messages"));
    if (n_shown_comms(c->p))
        ar_print(", %s", ar_show_items(n_shown_comms(c->p), "communicator", "communicators"));
    if (pickling > 0)
        ar_print(", pickling %s", ar_show_share(share_of(c, pickling)));
    ar_print("\n");
    c->n_lines++;
    if (c->m->w) {
        double left_ns = c->m->mpi_ns * (double)c->m->n_ranks - c->m->waiting_ns;

        ar_print("waiting for other ranks %s, the rest of MPI %s, sums over ranks\n",
                 ar_show_duration(c->m->waiting_ns), ar_show_duration(left_ns > 0 ? left_ns : 0));
        c->n_lines++;
    }
}

static void print_losses(struct command *c)
{
    uint64_t n_messages = c->m->t->n_lost[AR_LOST_TRAFFIC];
    uint64_t n_requests = c->m->t->n_lost[AR_LOST_REQUESTS];

    if (!n_messages && !n_requests)
        return;
    ar_print("no room to tell apart %s, nor to follow %s\n",
             ar_show_items(n_messages, "message", "messages"),
             ar_show_items(n_requests, "request", "requests"));
    c->n_lines++;
}

static int print_head(struct command *c)
{
    struct ar_mpi_row *rows;
    size_t n;

    if (ar_mpi_table(c->m, AR_MPI_BY_CLASS, &rows, &n) < 0)
        return ar_complain("out of memory");
    print_program(c);
    print_classes(c, rows, n);
    print_volume(c, rows, n);
    print_losses(c);
    c->n_lines += ar_print_selection(&c->selection);
    free(rows);
    return AR_EXIT_OK;
}

/* ---- order ------------------------------------------------------------------------------------ */

static double mean_size(const struct ar_mpi_row *row)
{
    uint64_t n = row->n_out + row->n_in ? row->n_out + row->n_in : row->n_calls;

    return n ? ((double)row->bytes_out + (double)row->bytes_in) / (double)n : 0;
}

static double sort_key(const struct ar_mpi_row *row, enum sort sort)
{
    switch (sort) {
    case SORT_CALLS:
        return (double)(row->n_calls ? row->n_calls : row->n_out + row->n_in);
    case SORT_BYTES:
        return (double)row->bytes_out + (double)row->bytes_in;
    case SORT_SIZE:
        return mean_size(row);
    case SORT_SPREAD:
        return (double)(row->time.max - row->time.min);
    default:
        return row->time.sum;
    }
}

static enum sort sorting_by;

static int in_order(const void *a, const void *b)
{
    const struct ar_mpi_row *x = a, *y = b;
    double kx = sort_key(x, sorting_by), ky = sort_key(y, sorting_by);

    if (sorting_by == SORT_NAME && x->name && y->name && strcmp(x->name, y->name) != 0)
        return strcmp(x->name, y->name);
    return (kx < ky) - (kx > ky);
}

/* A copy, in the order that was asked for. */
static enum ar_status make_table(const struct command *c, enum ar_mpi_by by,
                                 struct ar_mpi_row **rows, size_t *n)
{
    const struct ar_mpi_row *made = ar_run_mpi_rows(c->run, by, n);

    *rows = made ? malloc((*n + 1) * sizeof **rows) : NULL;
    if (!*rows)
        return AR_NOMEM;
    memcpy(*rows, made, *n * sizeof **rows);
    sorting_by = c->sort < 0 ? SORT_TIME : (enum sort)c->sort;
    if (*n && c->sort >= 0)
        qsort(*rows, *n, sizeof **rows, in_order);
    return AR_OK;
}

/* ---- rows ------------------------------------------------------------------------------------- */

/* In both kinds of tables the numbers take so many columns; the rest is for names. */
#define CALL_COLUMNS 37
#define MESSAGE_COLUMNS 45
#define RANGE_COLUMNS 15 /* and as many as a rank has digits */
#define WIDE_COLUMNS 100
#define MOST_PLACE_COLUMNS 24

struct table {
    enum ar_mpi_by by;
    struct ar_mpi_row *rows;
    size_t n;
    size_t n_label, n_place; /* columns; the place is part of the label */
    bool has_range, is_short;
};

/* "0.020-0.717 (3)": the rank that has most is named where they differ by more than a tenth. */
static void print_range(const struct command *c, const struct table *t, const struct ar_spread *s)
{
    const struct ar_process *most = &c->p->processes[s->max_process];
    bool differ = (double)(s->max - s->min) > 0.1 * (double)s->max;

    if (!t->has_range)
        return;
    ar_print(" %s-%s", ar_show_time((double)s->min, c->unit_ns),
             ar_show_time((double)s->max, c->unit_ns));
    if (differ && most->world_rank != AR_RANK_NONE)
        ar_print(" (%u)", most->world_rank);
}

static const char *place_of(const struct command *c, const struct table *t,
                            const struct ar_mpi_row *row)
{
    if (t->by == AR_MPI_BY_PATH)
        return ar_show_place(c->p, row->node);
    return t->by == AR_MPI_BY_COMM ? ar_show_comm_place(c->p, row->comm) : "";
}

static size_t n_rank_digits(const struct command *c)
{
    char text[16];
    uint32_t largest = 0;

    for (size_t i = 0; i < c->p->n_roots; i++)
        if (c->p->processes[i].world_rank != AR_RANK_NONE &&
            c->p->processes[i].world_rank > largest)
            largest = c->p->processes[i].world_rank;
    return (size_t)snprintf(text, sizeof text, "%u", largest);
}

/* In a table of MPI the prefix says nothing: it goes from all names if one has no room for it. */
static const char *name_in(const struct table *t, const char *name)
{
    return t->is_short && strncmp(name, "MPI_", 4) == 0 ? name + 4 : name;
}

static size_t name_columns(const struct table *t)
{
    return t->n_label - (t->n_place ? t->n_place + 1 : 0);
}

/* A place has as much room as the longest needs, if that is not more than half of it. */
static void arrange(const struct command *c, struct table *t)
{
    size_t n_numbers = t->by < AR_MPI_BY_COMM ? CALL_COLUMNS : MESSAGE_COLUMNS;

    t->has_range = c->m->n_ranks > 1 && (t->by != AR_MPI_BY_COMM || c->n_columns >= WIDE_COLUMNS);
    n_numbers += t->has_range ? RANGE_COLUMNS + n_rank_digits(c) : 0;
    t->n_label = c->n_columns > n_numbers + 16 ? c->n_columns - n_numbers - 1 : 16;
    for (size_t i = 0; i < t->n; i++) {
        size_t n = ar_count_columns(place_of(c, t, &t->rows[i]), MOST_PLACE_COLUMNS);

        if (n > t->n_place)
            t->n_place = n;
    }
    if (t->n_place > t->n_label / 2)
        t->n_place = t->n_label / 2;
    for (size_t i = 0; i < t->n && t->by < AR_MPI_BY_COMM; i++)
        t->is_short =
            t->is_short || ar_count_columns(t->rows[i].name, name_columns(t) + 1) > name_columns(t);
}

static void print_label(const struct command *c, const struct table *t,
                        const struct ar_mpi_row *row)
{
    size_t n = name_columns(t);
    const char *text = t->by < AR_MPI_BY_COMM    ? name_in(t, row->name)
                       : t->by == AR_MPI_BY_COMM ? ar_show_comm(c->p, row->comm)
                       : t->by == AR_MPI_BY_PEER ? ar_show_peer(c->p, row)
                                                 : ar_show_size_class(row->size_class);

    ar_print(" ");
    ar_print_fit(text, n, AR_KEEP_START);
    if (t->n_place) {
        ar_print(" ");
        ar_print_fit(place_of(c, t, row), t->n_place, AR_KEEP_END);
    }
}

static void print_share(const struct command *c, double ns)
{
    double share = 100 * share_of(c, ns);

    if (share > 0 && share < 0.5)
        ar_print("  <1");
    else
        ar_print(" %3.0f", share);
}

static void print_sizes(const struct ar_mpi_row *row)
{
    bool moves = row->bytes_out || row->bytes_in;

    ar_print(" %5s %5s %5s", moves ? ar_show_short_bytes((double)row->bytes_out) : "",
             moves ? ar_show_short_bytes((double)row->bytes_in) : "",
             moves ? ar_show_short_bytes(mean_size(row)) : "");
}

/* What a method's time is made of, in a line of its own. */
static bool print_parts(const struct command *c, const struct ar_mpi_row *row)
{
    const struct ar_mpi_parts *parts = &row->parts;
    double n = (double)c->m->n_ranks;

    if (!row->is_operation || !(parts->pickling_ns || parts->unpickling_ns))
        return false;
    if (c->m->w)
        ar_print("   %spickling %s, waiting %s, transferring %s, unpickling %s%s\n", ar_dim(),
                 ar_show_time((double)parts->pickling_ns / n, c->unit_ns),
                 ar_show_time(parts->waiting_ns / n, c->unit_ns),
                 ar_show_time(ar_mpi_transferring_ns(parts) / n, c->unit_ns),
                 ar_show_time((double)parts->unpickling_ns / n, c->unit_ns), ar_plain());
    else
        ar_print("   %spickling %s, within MPI %s, unpickling %s%s\n", ar_dim(),
                 ar_show_time((double)parts->pickling_ns / n, c->unit_ns),
                 ar_show_time((double)parts->mpi_ns / n, c->unit_ns),
                 ar_show_time((double)parts->unpickling_ns / n, c->unit_ns), ar_plain());
    return true;
}

/* Returns how many lines it took. */
static size_t print_row(const struct command *c, const struct table *t,
                        const struct ar_mpi_row *row)
{
    print_label(c, t, row);
    if (t->by < AR_MPI_BY_COMM)
        ar_print(" %7s", ar_show_short_count(row->n_calls, 7));
    else
        ar_print(" %7s %7s", ar_show_short_count(row->n_out, 7), ar_show_short_count(row->n_in, 7));
    ar_print(" %6s", ar_show_time(row->time.mean, c->unit_ns));
    print_share(c, row->time.mean);
    print_sizes(row);
    print_range(c, t, &row->time);
    ar_print("\n");
    return 1 + (t->by == AR_MPI_BY_PATH && print_parts(c, row));
}

static void print_title(const struct command *c, const struct table *t)
{
    static const char *const titles[AR_N_MPI_BY] = {"MPI by line",  "MPI by function",
                                                    "MPI by class", "by communicator",
                                                    "by peer",      "by size of message"};

    ar_print("\n%s", ar_bold());
    ar_print_fit(titles[t->by], t->n_label + 1, AR_KEEP_START);
    ar_print("%s", ar_plain());
    if (t->by < AR_MPI_BY_COMM)
        ar_print(" %7s", "calls");
    else
        ar_print(" %7s %7s", "sent", "recvd");
    ar_print(" %6s   %% %5s %5s %5s%s\n", c->unit, "out", "in", "size",
             t->has_range ? " min-max (rank)" : "");
}

/* `n_most` lines of rows at most; 0: all. */
static int print_table(struct command *c, enum ar_mpi_by by, size_t n_most)
{
    struct table t = {.by = by};
    size_t n_used = 0, i = 0;

    if (make_table(c, by, &t.rows, &t.n) < 0)
        return ar_complain("out of memory");
    arrange(c, &t);
    if (t.n) {
        print_title(c, &t);
        c->n_lines += 2;
    }
    for (; i < t.n && (n_most == 0 || n_used < n_most); i++)
        n_used += print_row(c, &t, &t.rows[i]);
    if (i < t.n) {
        ar_print(" %s%s: -n 0 shows all%s\n", ar_dim(),
                 ar_show_items(t.n - i, "more row", "more rows"), ar_plain());
        c->n_lines++;
    }
    c->n_lines += n_used;
    free(t.rows);
    return AR_EXIT_OK;
}

/* A screen's, less a line that says how many more there are, and one that may be its parts'. */
static size_t rows_that_fit(const struct command *c)
{
    if (c->n_rows != DEFAULT_ROWS)
        return c->n_rows;
    return SCREEN_ROWS - c->n_lines - 2 - 2;
}

/* ---- requests --------------------------------------------------------------------------------- */

/* "Irecv halo.py:22" */
static void print_call(const struct command *c, uint32_t node, size_t n_columns)
{
    const char *name = ar_mpi_class_of(ar_show_name(c->p, node, SIZE_MAX)).function;
    size_t n_name = n_columns / 2 - 1;

    ar_print_fit(strncmp(name, "MPI_", 4) == 0 ? name + 4 : name, n_name, AR_KEEP_START);
    ar_print(" ");
    ar_print_fit(ar_show_place(c->p, node), n_columns - n_name - 1, AR_KEEP_END);
}

#define REQUEST_COLUMNS 31

static void print_request(const struct command *c, const struct ar_mpi_request_row *row,
                          size_t n_label)
{
    ar_print(" ");
    print_call(c, row->posted, n_label);
    ar_print(" ");
    print_call(c, row->completed, n_label);
    ar_print(" %8s %10s %10s\n", ar_show_short_count(row->n, 8),
             ar_show_duration(row->n ? row->flight_ns / (double)row->n : 0),
             ar_show_duration(row->n ? row->exposed_ns / (double)row->n : 0));
}

static void print_request_title(size_t n_label)
{
    ar_print("\n%s", ar_bold());
    ar_print_fit("requests posted by", n_label + 1, AR_KEEP_START);
    ar_print(" ");
    ar_print_fit("completed by", n_label, AR_KEEP_START);
    ar_print("%s %8s %10s %10s\n", ar_plain(), "number", "in flight", "exposed");
}

/* Times are those of one request. */
static int print_requests(struct command *c, size_t n_most)
{
    size_t n_label = (c->n_columns - REQUEST_COLUMNS - 2) / 2, n, i = 0;
    struct ar_mpi_request_row *rows;

    if (ar_mpi_requests(c->m, &rows, &n) < 0)
        return ar_complain("out of memory");
    if (n) {
        print_request_title(n_label);
        c->n_lines += 2;
    }
    for (; i < n && (n_most == 0 || i < n_most); i++)
        print_request(c, &rows[i], n_label);
    if (i < n)
        ar_print(" %s%s: -n 0 shows all%s\n", ar_dim(),
                 ar_show_items(n - i, "more row", "more rows"), ar_plain());
    c->n_lines += i + (i < n);
    free(rows);
    return AR_EXIT_OK;
}

/* ---- all of a line ---------------------------------------------------------------------------- */

static bool has_operations(const struct command *c)
{
    for (uint32_t i = 0; i < c->p->n_nodes; i++)
        if (c->m->is_chosen[i] && c->m->shown[i] != AR_NO_ID && c->m->shown[i] != i)
            return true;
    return false;
}

/* Is there room for a title and a few rows? */
static bool has_room(const struct command *c)
{
    return c->n_rows != DEFAULT_ROWS || c->n_lines + 2 + DETAIL_ROWS < SCREEN_ROWS;
}

/* What it calls, where its requests come from, with whom it talks, and how much. */
static int print_details(struct command *c)
{
    static const enum ar_mpi_by order[] = {AR_MPI_BY_COMM, AR_MPI_BY_PEER, AR_MPI_BY_SIZE};
    size_t n_most = c->n_rows == DEFAULT_ROWS ? DETAIL_ROWS : c->n_rows;
    int status = print_table(c, AR_MPI_BY_PATH, n_most);

    if (status == AR_EXIT_OK && has_operations(c))
        status = print_table(c, AR_MPI_BY_FUNCTION, n_most);
    if (status == AR_EXIT_OK && has_room(c))
        status = print_requests(c, n_most);
    for (size_t i = 0; i < sizeof order / sizeof *order && status == AR_EXIT_OK; i++)
        if (has_room(c))
            status = print_table(c, order[i], n_most);
    return status;
}

/* ---- JSON and CSV ----------------------------------------------------------------------------- */

static int print_json(struct command *c)
{
    static const char *const tables[] = {
        "run",           "mpi_methods",  "communicators",     "mpi_paths",
        "mpi_functions", "mpi_classes",  "mpi_communicators", "mpi_peers",
        "mpi_sizes",     "mpi_requests", "mpi_matrix",        NULL};

    return ar_print_tables(c->run, "mpi", tables);
}

static const struct ar_mpi_row *sorted_rows;

static int numbers_in_order(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = in_order(&sorted_rows[x], &sorted_rows[y]);

    return order ? order : (x > y) - (x < y);
}

static int print_csv(struct command *c)
{
    static const char *const tables[AR_N_MPI_BY] = {
        [AR_MPI_BY_PATH] = "mpi_paths",    [AR_MPI_BY_FUNCTION] = "mpi_functions",
        [AR_MPI_BY_CLASS] = "mpi_classes", [AR_MPI_BY_COMM] = "mpi_communicators",
        [AR_MPI_BY_PEER] = "mpi_peers",    [AR_MPI_BY_SIZE] = "mpi_sizes"};
    size_t n;
    uint32_t *order = NULL;
    int status;

    sorted_rows = ar_run_mpi_rows(c->run, (enum ar_mpi_by)c->by, &n);
    if (sorted_rows)
        order = malloc((n + 1) * sizeof *order);
    if (!order)
        return ar_complain("out of memory");
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    sorting_by = c->sort < 0 ? SORT_TIME : (enum sort)c->sort;
    if (c->sort >= 0)
        qsort(order, n, sizeof *order, numbers_in_order);
    status = ar_print_table(ar_run_subject(c->run), tables[c->by],
                            &(struct ar_shown_rows){.numbers = order, .n = n});
    free(order);
    return status;
}

static int print_matrix(struct command *c)
{
    struct ar_mpi_pair *pairs;
    size_t n;
    int status = AR_EXIT_OK;

    if (ar_mpi_pairs(c->m, &pairs, &n) < 0)
        return ar_complain("out of memory");
    if (n == 0)
        ar_print("\n nothing was sent from one rank to another, but by collective calls\n");
    else
        status = ar_print_matrix(pairs, n, (enum ar_matrix_of)c->matrix);
    free(pairs);
    return status;
}

/* ---- command ---------------------------------------------------------------------------------- */

static bool needs_messages(const struct command *c)
{
    return c->matrix >= 0 || c->requests || c->by >= AR_MPI_BY_COMM;
}

static int complain_messages(const struct command *c)
{
    if (c->m->t->of_pairs)
        return ar_complain("%s: pstats files do not tell who sent what to whom (record the program "
                           "with: allranks run)",
                           c->path);
    return ar_complain("%s: no messages are in it: the program sent none, or an older allranks "
                       "recorded it (record it again)",
                       c->path);
}

static int check_choice(const struct command *c)
{
    if (c->wanted.text && c->m->n_chosen == 0)
        return ar_complain("%s: no MPI call at or below %s (allranks mpi %s shows where they are)",
                           c->path, c->wanted.text, ar_quote(c->path));
    return AR_EXIT_OK;
}

static void choose_unit(struct command *c)
{
    c->unit_ns = c->m->wall_ns < 1e9 ? 1e6 : 1e9;
    c->unit = c->unit_ns == 1e9 ? "sec" : "ms";
}

static int print_screen(struct command *c)
{
    int status;

    choose_unit(c);
    if (c->csv && c->matrix >= 0)
        return ar_print_table(ar_run_subject(c->run), "mpi_matrix", NULL);
    if (c->csv)
        return c->requests ? ar_print_table(ar_run_subject(c->run), "mpi_requests", NULL)
                           : print_csv(c);
    status = print_head(c);
    if (status != AR_EXIT_OK)
        return status;
    if (c->matrix >= 0)
        return print_matrix(c);
    if (c->requests)
        return print_requests(c, rows_that_fit(c));
    if (c->wanted.text && c->by < 0)
        return print_details(c);
    return print_table(c, c->by < 0 ? AR_MPI_BY_PATH : (enum ar_mpi_by)c->by, rows_that_fit(c));
}

static int show(struct command *c)
{
    bool is_empty = !ar_mpi_has_calls(c->m);
    int status;

    if (is_empty && c->json == AR_NO_JSON && !c->csv) {
        ar_print("no MPI call was recorded: the program made none, or its MPI is one that allranks "
                 "does not\nknow (allranks info shows what was found)\n");
        return AR_EXIT_OK;
    }
    status = is_empty ? AR_EXIT_OK : check_choice(c);
    if (status != AR_EXIT_OK)
        return status;
    if (c->json != AR_NO_JSON)
        return c->json == AR_JSON_1 ? ar_mpi_json(c->m, &c->selection) : print_json(c);
    if (needs_messages(c) && !is_empty && !ar_mpi_has_messages(c->m) && !c->p->n_completed)
        return complain_messages(c);
    if (c->csv && c->by < 0)
        c->by = AR_MPI_BY_PATH;
    return print_screen(c);
}

static int parse(int argc, char **argv, struct command *c)
{
    static const char *const bys[] = {"path", "function", "class", "communicator",
                                      "peer", "size",     NULL};
    static const char *const matrices[] = {"bytes", "messages", "time", NULL};
    static const char *const sorts[] = {"time", "calls", "bytes", "size", "spread", "name", NULL};
    const struct ar_option options[] = {
        AR_HEADING("options"),
        {.name = "by",
         .kind = AR_OPTION_CHOICE,
         .to = &c->by,
         .choices = bys,
         .value = "WHAT",
         .help = "rows are: path (default), function, class, communicator, peer, size"},
        {.name = "matrix",
         .kind = AR_OPTION_MAYBE,
         .to = &c->matrix,
         .choices = matrices,
         .value = "OF",
         .help = "who sends how much to whom: bytes (default), messages or time; of\n"
                 "point-to-point and one-sided calls"},
        {.name = "requests",
         .kind = AR_OPTION_FLAG,
         .to = &c->requests,
         .help = "where requests were posted and completed; how long one was in\n"
                 "flight, and how much of that in the completing call, on average"},
        {.name = "sort",
         .kind = AR_OPTION_CHOICE,
         .to = &c->sort,
         .choices = sorts,
         .value = "WHAT",
         .help = "time (default), calls, bytes, size, spread or name"},
        AR_ROWS_OPTION(&c->n_rows, AR_ROWS_HELP),
        AR_CSV_OPTION(&c->csv, "the table for spreadsheets, all rows"),
        AR_JSON_OPTION(&c->json, "everything"),
        AR_HELP_OPTION,
        AR_SELECTION_OPTIONS(&c->selection),
    };
    int status =
        ar_options_parse(argc, argv, options, sizeof options / sizeof *options, usage, usage_end);

    if (status >= 0)
        return status;
    if (argc - optind < 1 || argc - optind > 2)
        return ar_complain_runs(argc - optind, "mpi RUN [FILE:LINE|FUNCTION]");
    c->path = argv[optind];
    c->wanted = ar_wanted_parse(argc - optind == 2 ? argv[optind + 1] : NULL);
    return ar_refuse_several_jobs("mpi", c->path);
}

static enum ar_status open_tables(struct command *c)
{
    c->p = ar_run_profile(c->run, AR_FORM_FOLDED);
    c->m = ar_run_mpi(c->run);
    return c->m ? AR_OK : AR_NOMEM;
}

int ar_command_mpi(int argc, char **argv)
{
    struct command c = {.by = -1,
                        .sort = -1,
                        .matrix = -1,
                        .json = AR_NO_JSON,
                        .n_rows = DEFAULT_ROWS,
                        .n_columns = ar_screen_columns()};
    int status = parse(argc, argv, &c);

    if (status < 0)
        status = ar_open_run(&c.run, &(struct ar_run_choice){.path = c.path,
                                                             .selection = &c.selection,
                                                             .wanted = &c.wanted,
                                                             .form = AR_FORM_FOLDED});
    if (status >= 0)
        return status;
    status = open_tables(&c) < 0 ? ar_complain("out of memory") : show(&c);
    ar_run_close(c.run);
    return status;
}
