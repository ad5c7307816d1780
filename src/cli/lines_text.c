// SPDX-License-Identifier: BSD-3-Clause
#include "cli/lines_text.h"

#include "analysis/names.h"
#include "cli/mpi_text.h"
#include "cli/screen.h"
#include "cli/source_lines.h"

#include <stdio.h>
#include <string.h>

#define PLACE_COLUMNS 20
#define NAME_COLUMNS 16
#define WIDE_COLUMNS 110 /* from there on there is room for all columns */

/* A function with its source. */
struct annotated {
    struct ar_lines_screen *s;
    size_t n_line;   /* columns of lines and ranges */
    size_t n_indent; /* blanks in front of every line of the source */
    const struct ar_line *rows;
    size_t n_rows;
    double whole_ns; /* all lines */
    bool is_counted;
    struct ar_source_lines source;
    bool has_source;
};

static const struct ar_function *function_of(const struct ar_lines_screen *s,
                                             const struct ar_line *line)
{
    return &s->p->functions[line->function];
}

static const char *file_of(const struct ar_lines_screen *s, const struct ar_line *line)
{
    return ar_strtab_text(&s->p->strings, function_of(s, line)->file);
}

static bool open_source(const struct ar_lines_screen *s, const struct ar_line *line,
                        struct ar_source_lines *source)
{
    uint64_t began = s->p->n_processes ? s->p->processes[0].start_real_ns : 0;

    return ar_source_open(source, file_of(s, line), s->path, began);
}

static size_t columns_left(const struct ar_lines_screen *s, size_t n_used)
{
    return s->n_columns > n_used + 8 ? s->n_columns - n_used : 8;
}

/* Cut, but not padded: it is the last column. */
static void print_last(const struct ar_lines_screen *s, const char *text, size_t n_used)
{
    size_t n_left = columns_left(s, n_used), n = ar_count_columns(text, n_left);

    ar_print_fit(text, n < n_left ? n : n_left, AR_KEEP_START);
}

/* Without the blanks in front. */
static const char *bare(const char *text)
{
    return text + strspn(text, " ");
}

/* "25", "23-25", "12-end". */
static const char *show_range(const struct ar_lines_screen *s, const struct ar_line *line)
{
    char *text = ar_text_buffer();
    uint32_t first = line->first ? line->first : function_of(s, line)->first_line;

    if (!ar_line_is_range(line))
        snprintf(text, 32, "%u", line->first);
    else if (!line->last)
        snprintf(text, 32, "%u-end", first);
    else
        snprintf(text, 32, "%u-%u", first, line->last);
    return text;
}

static const char *show_mean(struct ar_lines_screen *s, const struct ar_spread *spread)
{
    ar_mark_shown(&s->marks, spread->doubt, s->p->n_roots);
    return ar_show_doubted(spread->doubt, spread->mean, s->unit_ns);
}

static bool has_mpi(const struct ar_lines_screen *s)
{
    return s->t->mpi_ns > 0;
}

static bool is_wide(const struct ar_lines_screen *s)
{
    return s->n_columns >= WIDE_COLUMNS;
}

static bool has_ranges(const struct ar_lines_screen *s)
{
    return s->p->n_roots > 1 && is_wide(s);
}

/* Where there is no room for both ends of the range. */
static bool has_most(const struct ar_lines_screen *s)
{
    return s->p->n_roots > 1 && !is_wide(s);
}

static bool has_per_hit(const struct annotated *a)
{
    return a->is_counted && !has_most(a->s);
}

static const char *share_of(double part, double whole)
{
    return whole > 0 && part > 0 ? ar_show_share(part / whole) : "";
}

static const char *unit_name(const struct ar_lines_screen *s)
{
    bool is_ms = s->unit_ns == 1e6;

    return s->p->n_roots > 1 ? is_ms ? "ms, mean of ranks" : "seconds, mean of ranks"
           : is_ms           ? "milliseconds"
                             : "seconds";
}

/* ---- the hottest ------------------------------------------------------------------------------ */

static void print_hot(struct ar_lines_screen *s, const struct ar_line *line)
{
    struct ar_source_lines source;
    char place[512];
    char room[AR_NAME_BYTES];
    size_t n_used = 2 + PLACE_COLUMNS + NAME_COLUMNS + 10 + 9 + (has_mpi(s) ? 9 : 0) +
                    (has_ranges(s) ? 21 : 0) + 2;

    snprintf(place, sizeof place, "%s:%s", ar_file_name(file_of(s, line)), show_range(s, line));
    ar_print(" ");
    ar_print_fit(place, PLACE_COLUMNS, AR_KEEP_END);
    ar_print(" ");
    ar_print_fit(ar_plain_name(s->p, line->function, room), NAME_COLUMNS, AR_KEEP_START);
    ar_print(" %9s %8s", show_mean(s, &line->here), share_of(line->here.mean, s->t->mean_wall_ns));
    if (has_mpi(s))
        ar_print(" %8s", share_of(line->mpi.mean, s->t->mean_wall_ns));
    if (has_ranges(s)) {
        ar_print(" ");
        ar_print_range(s->p, &line->here, s->unit_ns);
    }
    if (open_source(s, line, &source)) {
        uint32_t at = line->first ? line->first : line->last;

        ar_print("  %s", ar_dim());
        print_last(s, bare(ar_source_line(&source, at)), n_used);
        ar_print("%s", ar_plain());
        ar_source_close(&source);
    }
    ar_print("\n");
}

static void print_hot_title(const struct ar_lines_screen *s)
{
    char title[128];

    snprintf(title, sizeof title, "Hot lines   %s", unit_name(s));
    ar_print("%s", ar_bold());
    ar_print_fit(title, PLACE_COLUMNS + NAME_COLUMNS + 2, AR_KEEP_START);
    ar_print(" %9s %8s", "here", "share");
    if (has_mpi(s))
        ar_print(" %8s", "MPI");
    if (has_ranges(s))
        ar_print(" %20s", "min-max (rank)");
    ar_print("%s\n", ar_plain());
}

size_t ar_print_hot_lines(struct ar_lines_screen *s, size_t n_rows)
{
    size_t n = 0;

    for (size_t i = 0; i < s->lines->n; i++) {
        const struct ar_line *line = &s->lines->rows[s->lines->hottest[i]];

        if (line->here.sum <= 0)
            break;
        if (n == 0 && n_rows)
            print_hot_title(s);
        if (n++ < n_rows)
            print_hot(s, line);
    }
    return n;
}

/* ---- a function with its source --------------------------------------------------------------- */

static void print_source(const struct annotated *a, uint32_t line, size_t n_used, size_t n_pad)
{
    const char *text = a->has_source ? ar_source_line(&a->source, line) : "";
    size_t n_indent = strspn(text, " ");

    if (!*text)
        return;
    ar_print("%*s  ", (int)n_pad, "");
    print_last(a->s, text + (n_indent < a->n_indent ? n_indent : a->n_indent), n_used);
}

static size_t columns_used(const struct annotated *a)
{
    return 1 + a->n_line + 9 + 9 + (has_per_hit(a) ? 9 : 0) + 8 + (is_wide(a->s) ? 8 : 0) +
           (has_mpi(a->s) ? 8 : 0) + (has_most(a->s) ? 13 : 0) + (has_ranges(a->s) ? 21 : 0) + 2;
}

/* Of a range, or of one line. */
static void print_figures(const struct annotated *a, const struct ar_line *line)
{
    struct ar_lines_screen *s = a->s;
    double per_hit = line->hits ? line->time.sum / (double)line->hits / 1000 : 0;
    uint64_t n = a->is_counted ? line->hits : line->n_calls;

    ar_print(" %8s", n ? ar_show_short_count(n, 8) : "");
    ar_print(" %8s", show_mean(s, &line->time));
    if (has_per_hit(a) && line->hits)
        ar_print(" %8.*f", per_hit < 1 ? 3 : per_hit < 100 ? 1 : 0, per_hit);
    else if (has_per_hit(a))
        ar_print(" %8s", "");
    ar_print(" %7s", share_of(line->time.mean, a->whole_ns));
    if (is_wide(s))
        ar_print(" %7s", share_of(line->c.mean, a->whole_ns));
    if (has_mpi(s))
        ar_print(" %7s", share_of(line->mpi.mean, a->whole_ns));
    if (has_most(s))
        ar_print_most(s->p, &line->time, s->unit_ns);
    if (has_ranges(s)) {
        ar_print(" ");
        ar_print_range(s->p, &line->time, s->unit_ns);
    }
}

static void print_row(const struct annotated *a, const struct ar_line *line)
{
    ar_print(" %*s", (int)a->n_line, show_range(a->s, line));
    print_figures(a, line);
    if (!ar_line_is_range(line))
        print_source(a, line->first, columns_used(a), 0);
    ar_print("\n");
}

static void print_bare(const struct annotated *a, uint32_t line)
{
    ar_print(" %*u", (int)a->n_line, line);
    print_source(a, line, columns_used(a), columns_used(a) - 3 - a->n_line);
    ar_print("\n");
}

static void print_heads(const struct annotated *a)
{
    const struct ar_lines_screen *s = a->s;

    ar_print("%s %*s %8s %8s", ar_bold(), (int)a->n_line, "line", a->is_counted ? "hits" : "calls",
             s->unit_ns == 1e6 ? "ms" : "seconds");
    if (has_per_hit(a))
        ar_print(" %8s", "us/hit");
    ar_print(" %7s", "share");
    if (is_wide(s))
        ar_print(" %7s", "C");
    if (has_mpi(s))
        ar_print(" %7s", "MPI");
    if (has_most(s))
        ar_print(" %12s", "max (rank)");
    if (has_ranges(s))
        ar_print(" %20s", "min-max (rank)");
    ar_print("%s\n", ar_plain());
}

static size_t widest_range(const struct annotated *a)
{
    size_t n = 4;

    for (size_t i = 0; i < a->n_rows; i++) {
        size_t n_here = strlen(show_range(a->s, &a->rows[i]));

        n = n_here > n ? n_here : n;
    }
    return n;
}

/* Methods stand inside a class: what all lines have in front says nothing. */
static size_t common_indent(const struct annotated *a)
{
    const char *def =
        a->has_source ? ar_source_line(&a->source, function_of(a->s, a->rows)->first_line) : "";

    return strspn(def, " ");
}

static double sum_of(const struct ar_line *rows, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += rows[i].time.mean;
    return sum;
}

static uint32_t last_line(const struct annotated *a)
{
    uint32_t last = 0;

    for (size_t i = 0; i < a->n_rows; i++) {
        last = a->rows[i].first > last ? a->rows[i].first : last;
        last = a->rows[i].last > last ? a->rows[i].last : last;
    }
    return last;
}

static void print_head(const struct annotated *a)
{
    const struct ar_lines_screen *s = a->s;
    const struct ar_function *f = function_of(s, a->rows);
    char room[AR_NAME_BYTES];

    ar_print("\n%s%s%s   %s:%u   %s", ar_bold(), ar_plain_name(s->p, a->rows->function, room),
             ar_plain(), ar_file_name(file_of(s, a->rows)), f->first_line,
             ar_show_duration(a->whole_ns));
    ar_print(", %s of the run   %s\n", ar_show_share(a->whole_ns / s->t->mean_wall_ns),
             a->is_counted ? "lines counted" : "between calls: sampled");
    if (a->has_source && a->source.is_newer)
        ar_print(" %sThe file was changed after the run began: lines may have moved.%s\n", ar_dim(),
                 ar_plain());
    if (!a->has_source)
        ar_print(" %s%s is not here: only numbers of lines are shown.%s\n", ar_dim(),
                 file_of(s, a->rows), ar_plain());
}

/* Ranges of which only the end is known come first, as their line is 0. Behind the end of the source only rows are shown. */
static void print_lines(struct annotated *a)
{
    uint32_t first = function_of(a->s, a->rows)->first_line, last = last_line(a);
    uint32_t n_source = a->has_source ? a->source.n : 0;
    size_t at = 0;

    for (; at < a->n_rows && a->rows[at].first < first; at++)
        print_row(a, &a->rows[at]);
    for (uint32_t line = first; line <= last && line <= n_source; line++) {
        if (at == a->n_rows || a->rows[at].first != line || a->rows[at].last != line)
            print_bare(a, line);
        for (; at < a->n_rows && a->rows[at].first == line; at++)
            print_row(a, &a->rows[at]);
    }
    for (; at < a->n_rows; at++)
        print_row(a, &a->rows[at]);
}

void ar_print_function_lines(struct ar_lines_screen *s, size_t first, size_t last)
{
    struct annotated a = {.s = s, .rows = &s->lines->rows[first], .n_rows = last - first};

    a.whole_ns = sum_of(a.rows, a.n_rows);
    a.is_counted = a.rows->is_counted;
    a.has_source = open_source(s, a.rows, &a.source);
    a.n_line = widest_range(&a);
    a.n_indent = common_indent(&a);
    print_head(&a);
    print_heads(&a);
    print_lines(&a);
    if (a.has_source)
        ar_source_close(&a.source);
}
