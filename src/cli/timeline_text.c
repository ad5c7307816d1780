// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/mpi_class.h"
#include "base/text.h"
#include "cli/screen.h"
#include "cli/time_axis.h"
#include "cli/timeline_view.h"
#include "cli/who.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Computing is drawn lightly, and MPI in letters: without colour, too, one sees where ranks wait. */
static const struct {
    char letter;
    uint8_t colour; /* of the 256 that terminals have; 0: none */
} looks[AR_N_WINDOW_CLASSES] = {
    [AR_CLASS_NONE] = {' ', 0},     [AR_CLASS_OTHER] = {'.', 240},
    [AR_CLASS_PYTHON] = {'=', 25},  [AR_CLASS_C] = {'+', 74},
    [AR_CLASS_REGION] = {'~', 30},  [AR_CLASS_IMPORT] = {':', 245},
    [AR_CLASS_IO] = {'/', 97},      [AR_CLASS_SLEEP] = {'z', 182},
    [AR_CLASS_MPI4PY] = {'k', 229}, [AR_CLASS_MPI] = {'m', 187},
    [AR_CLASS_P2P] = {'p', 220},    [AR_CLASS_COLLECTIVE] = {'c', 136},
    [AR_CLASS_WAIT] = {'W', 202},   [AR_WINDOW_UNWANTED] = {'-', 236},
};

static bool has_colour(void)
{
    return *ar_bold() != '\0';
}

const char *ar_timeline_class_label(unsigned kind)
{
    return kind == AR_WINDOW_UNWANTED ? "other functions" : ar_trace_class_label(kind);
}

size_t ar_timeline_legend(const struct ar_timeline *t, unsigned classes[AR_N_WINDOW_CLASSES])
{
    size_t n = 0;

    for (unsigned kind = 0; kind < AR_N_WINDOW_CLASSES; kind++) {
        size_t at = n;

        if (t->class_ns[kind] <= 1e-6 * (double)(t->to_ns - t->from_ns))
            continue;
        for (; at && t->class_ns[classes[at - 1]] < t->class_ns[kind]; at--)
            classes[at] = classes[at - 1];
        classes[at] = kind;
        n++;
    }
    return n;
}

/* ---- rows ------------------------------------------------------------------------------------- */

static const struct ar_location *location_of(const struct ar_timeline *t, size_t thread)
{
    return &t->traces->profile->locations[t->traces->items[t->threads[thread]].location];
}

static const struct ar_process *process_of(const struct ar_timeline *t, size_t thread)
{
    return &t->traces->profile->processes[location_of(t, thread)->process];
}

const char *ar_timeline_rows_are(const struct ar_timeline *t)
{
    for (size_t i = 0; i < t->n_threads; i++)
        if (process_of(t, i)->world_rank == AR_RANK_NONE)
            return "process";
    return "rank";
}

static void label_thread(const struct ar_timeline *t, size_t thread, char *room)
{
    const struct ar_profile *p = t->traces->profile;
    const struct ar_location *l = location_of(t, thread);
    const struct ar_process *process = process_of(t, thread), *root = &p->processes[process->root];
    char who[40], part[20] = "";

    if (process == root && root->world_rank != AR_RANK_NONE)
        snprintf(who, sizeof who, "%" PRIu32, root->world_rank);
    else if (root->world_rank != AR_RANK_NONE)
        snprintf(who, sizeof who, "%" PRIu32 " pid %" PRIu32, root->world_rank, process->pid);
    else
        snprintf(who, sizeof who, "pid %" PRIu32, process->pid);
    if (l->thread)
        snprintf(part, sizeof part, ".%" PRIu32, l->thread);
    snprintf(room, AR_ROW_LABEL_BYTES, "%s%s", who, part);
}

void ar_timeline_label(const struct ar_timeline *t, size_t row, char *room)
{
    const struct ar_timeline_row *r = &t->rows[row];
    uint32_t first = process_of(t, r->first)->world_rank,
             last = process_of(t, r->first + r->n - 1)->world_rank;

    if (r->n == 1)
        label_thread(t, r->first, room);
    else if (first != AR_RANK_NONE && last != AR_RANK_NONE)
        snprintf(room, AR_ROW_LABEL_BYTES, "%" PRIu32 "-%" PRIu32, first, last);
    else
        snprintf(room, AR_ROW_LABEL_BYTES, "%zu-%zu", r->first, r->first + r->n - 1);
}

/* As wide as the longest one. */
static size_t width_of_labels(const struct ar_timeline *t, size_t most)
{
    size_t width = strlen(ar_timeline_rows_are(t));
    char room[AR_ROW_LABEL_BYTES];

    for (size_t i = 0; i < t->n_rows; i++) {
        ar_timeline_label(t, i, room);
        width = strlen(room) > width ? strlen(room) : width;
    }
    return width < most ? width : most;
}

/* "rank", "60-63", "960-1023", "1 pid 12345.2". */
static size_t widest_label(const struct ar_profile *p, bool with_threads)
{
    bool has_ranks = true;

    for (size_t i = 0; i < p->n_processes; i++)
        has_ranks = has_ranks && p->processes[p->processes[i].root].world_rank != AR_RANK_NONE;
    if (!has_ranks || with_threads)
        return with_threads ? 14 : 11;
    return p->n_processes <= 100 ? 5 : p->n_processes <= 1000 ? 7 : 11;
}

size_t ar_timeline_columns(const struct ar_profile *p, bool with_threads, size_t n_screen_columns)
{
    size_t n_label = widest_label(p, with_threads) + 1;

    return n_screen_columns > n_label + 10 ? n_screen_columns - n_label : 10;
}

/* A space in a colour, or a letter. */
static void put_cell(struct ar_bytes *out, unsigned kind, unsigned *colour)
{
    unsigned wanted = has_colour() ? looks[kind].colour : 0;
    char text[24];

    if (wanted != *colour) {
        snprintf(text, sizeof text, wanted ? "\033[48;5;%um" : "\033[0m", wanted);
        ar_bytes_put(out, text, strlen(text));
    }
    *colour = wanted;
    ar_bytes_u8(out, (uint8_t)(has_colour() ? ' ' : looks[kind].letter));
}

static void print_row(const struct ar_timeline *t, size_t row, size_t width)
{
    uint8_t *classes = calloc(t->n_columns + 1, 1);
    struct ar_bytes out = {0};
    char label[AR_ROW_LABEL_BYTES];
    unsigned colour = 0;

    if (!classes)
        return;
    ar_timeline_label(t, row, label);
    ar_timeline_classes(t, row, classes);
    for (size_t i = 0; i < t->n_columns; i++)
        put_cell(&out, classes[i], &colour);
    put_cell(&out, AR_CLASS_NONE, &colour);
    while (!has_colour() && out.n && out.data[out.n - 1] == ' ')
        out.n--;
    ar_print("%*s", (int)(strlen(label) < width ? width - strlen(label) : 0), "");
    ar_print_fit(label, strlen(label) < width ? strlen(label) : width, AR_KEEP_END);
    ar_print(" ");
    ar_print_bytes(&out);
    ar_print("\n");
    ar_bytes_free(&out);
    free(classes);
}

/* ---- around them ------------------------------------------------------------------------------ */

static const char *time_text(int64_t ns, const struct ar_timeline *t, char *room, size_t n)
{
    return ar_time_option(ns, (double)(t->to_ns - t->from_ns) / 1000, room, n);
}

static void print_head(const struct ar_timeline_view *view)
{
    const struct ar_timeline *t = view->t;
    char from[40], to[40];

    ar_print("%s%s%s  %s to %s", ar_bold(), ar_file_name(view->path), ar_plain(),
             time_text(t->from_ns, t, from, sizeof from), time_text(t->to_ns, t, to, sizeof to));
    ar_print("  a column is %s",
             ar_show_duration((double)(t->to_ns - t->from_ns) / (double)t->n_columns));
    if (t->per_row > 1)
        ar_print(", a row the mean of %zu %s", t->per_row,
                 strcmp(ar_timeline_rows_are(t), "rank") == 0 ? "ranks" : "processes");
    if (view->match)
        ar_print(", in %s", view->match);
    ar_print("\n");
}

/* A label begins at its tick; one that does not fit is left out, with its tick. */
static void print_axis(const struct ar_timeline *t, size_t width)
{
    struct ar_time_axis axis = ar_time_axis_of(t->from_ns, t->to_ns, t->n_columns / 12 + 1);
    size_t at = 0;
    char room[40];

    ar_print("%s%*s ", ar_dim(), (int)width, ar_timeline_rows_are(t));
    for (int64_t ns = axis.first_ns; ns < t->to_ns; ns += axis.step_ns) {
        size_t column = (size_t)((double)(ns - t->from_ns) / (double)(t->to_ns - t->from_ns) *
                                 (double)t->n_columns);
        const char *label = ar_time_axis_label(&axis, ns, room, sizeof room);

        if ((at && column <= at) || column + 1 + strlen(label) > t->n_columns)
            continue;
        ar_print("%*s|%s", (int)(column - at), "", label);
        at = column + 1 + strlen(label);
    }
    ar_print("%s\n", ar_plain());
}

static void put_swatch(struct ar_bytes *out, unsigned kind)
{
    unsigned colour = 0;

    if (kind == AR_CLASS_NONE) {
        ar_bytes_put(out, has_colour() ? "  " : "' '", has_colour() ? 2 : 3);
        return;
    }
    put_cell(out, kind, &colour);
    if (has_colour())
        put_cell(out, kind, &colour);
    if (colour)
        ar_bytes_put(out, "\033[0m", 4);
}

static void print_legend(const struct ar_timeline *t, size_t n_screen_columns)
{
    unsigned classes[AR_N_WINDOW_CLASSES];
    size_t n = ar_timeline_legend(t, classes), used = 0;

    for (size_t i = 0; i < n; i++) {
        double share = t->class_ns[classes[i]] / (double)(t->to_ns - t->from_ns);
        const char *label = ar_timeline_class_label(classes[i]), *shown = ar_show_share(share);
        size_t n_columns = 3 + 1 + strlen(label) + 1 + strlen(shown);
        struct ar_bytes swatch = {0};

        if (used && used + 3 + n_columns > n_screen_columns) {
            ar_print("\n");
            used = 0;
        } else if (used) {
            ar_print("   ");
            used += 3;
        }
        put_swatch(&swatch, classes[i]);
        ar_print_bytes(&swatch);
        ar_bytes_free(&swatch);
        ar_print(" %s %s", label, shown);
        used += n_columns;
    }
    ar_print("\n");
}

/* ---- where to look next ----------------------------------------------------------------------- */

/* MPI functions of no class of their own count where one takes most of the cell: not MPI_Init and MPI_Finalize. */
static double mpi_share_of(const struct ar_timeline *t, const struct ar_window_cell *cell)
{
    const struct ar_profile *p = t->traces->profile;
    double share = (double)cell->shares[AR_CLASS_P2P] + (double)cell->shares[AR_CLASS_COLLECTIVE] +
                   (double)cell->shares[AR_CLASS_WAIT];

    if (cell->node == AR_NO_ID ||
        p->functions[p->nodes[cell->node].function].kind != AR_FUNCTION_MPI ||
        ar_mpi_is_setup(p, cell->node))
        return share;
    return share + (double)cell->shares[AR_CLASS_MPI];
}

struct column {
    double mpi, recorded; /* sums over rows */
};

static struct column look_at(const struct ar_timeline *t, size_t i)
{
    struct column column = {0};

    for (size_t row = 0; row < t->n_rows; row++) {
        const struct ar_window_cell *cell = ar_timeline_cell(t, row, i);

        column.mpi += mpi_share_of(t, cell);
        column.recorded += 1 - (double)cell->shares[AR_CLASS_NONE];
    }
    return column;
}

/* From the first column on that nearly as many ranks have recorded as any, up to behind the last such one. */
static void find_recorded(const struct ar_timeline *t, size_t *from, size_t *to)
{
    double most = 0;

    for (size_t i = 0; i < t->n_columns; i++) {
        double recorded = look_at(t, i).recorded;

        most = recorded > most ? recorded : most;
    }
    for (*from = 0; *from + 1 < t->n_columns && look_at(t, *from).recorded < 0.9 * most;)
        ++*from;
    for (*to = t->n_columns; *to > *from + 1 && look_at(t, *to - 1).recorded < 0.9 * most;)
        --*to;
}

/* More MPI is better; where there is none, more that is recorded. */
static double score(const struct ar_timeline *t, size_t first, size_t n, bool *is_mpi)
{
    struct column sum = {0};

    for (size_t i = first; i < first + n; i++) {
        struct column column = look_at(t, i);

        sum.mpi += column.mpi;
        sum.recorded += column.recorded;
    }
    *is_mpi = sum.mpi > 0;
    return sum.mpi + 1e-6 * sum.recorded;
}

/* The fifth of what is recorded in which ranks are in MPI most; where no rank is, the one in the middle. */
static size_t find_fifth(const struct ar_timeline *t, size_t *n, bool *is_mpi)
{
    size_t from, to, best;
    double most;

    find_recorded(t, &from, &to);
    *n = (to - from) / 5 ? (to - from) / 5 : 1;
    best = from + (to - from - *n) / 2;
    most = score(t, best, *n, is_mpi);
    for (size_t first = from; first + *n <= to; first++) {
        bool has_mpi;
        double sum = score(t, first, *n, &has_mpi);

        if (sum > most * 1.0001) {
            most = sum;
            best = first;
            *is_mpi = has_mpi;
        }
    }
    return best;
}

static void print_zoom(const struct ar_timeline_view *view, size_t n_screen_columns)
{
    const struct ar_timeline *t = view->t;
    double column_ns = (double)(t->to_ns - t->from_ns) / (double)t->n_columns;
    char from[40], to[40];
    bool is_mpi;
    size_t n, first = find_fifth(t, &n, &is_mpi), n_used;
    const char *why = is_mpi ? "ranks are in MPI most: " : "zoom in: ";

    if (column_ns < 20)
        return;
    time_text(t->from_ns + (int64_t)((double)first * column_ns), t, from, sizeof from);
    time_text(t->from_ns + (int64_t)((double)(first + n) * column_ns), t, to, sizeof to);
    n_used = strlen(why) + strlen("allranks timeline  --from  --to ") +
             strlen(ar_quote(view->path)) + strlen(from) + strlen(to);
    ar_print("%s%s", n_used <= n_screen_columns ? why : "", ar_dim());
    ar_print("allranks timeline %s --from %s --to %s%s\n", ar_quote(view->path), from, to,
             ar_plain());
}

static void print_left_out(const struct ar_timeline *t)
{
    if (t->n_left_out)
        ar_print("%s: --threads\n", ar_show_items(t->n_left_out, "thread or child is not shown",
                                                  "threads and children are not shown"));
}

void ar_timeline_text(const struct ar_timeline_view *view, size_t n_screen_columns)
{
    size_t n_columns = view->t->n_columns;
    size_t most = n_screen_columns > n_columns + 6 ? n_screen_columns - n_columns - 1 : 5;
    size_t width = width_of_labels(view->t, most);

    print_head(view);
    print_axis(view->t, width);
    for (size_t i = 0; i < view->t->n_rows; i++)
        print_row(view->t, i, width);
    print_legend(view->t, n_screen_columns);
    print_left_out(view->t);
    print_zoom(view, n_screen_columns);
}
