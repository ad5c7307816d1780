// SPDX-License-Identifier: BSD-3-Clause
/*
 * The picture as SVG: one file without anything from elsewhere.
 *
 * Columns side by side of one class are one run. While there are few enough of them each is a rectangle whose title says what it was; of more
 * a row has one path for each class, of which a run takes nine bytes.
 */
#include "base/text.h"
#include "cli/screen.h"
#include "cli/time_axis.h"
#include "cli/timeline_view.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_WIDTH 96
#define MARGIN 16
#define HEAD_HEIGHT 74 /* title, what it is, axis */
#define LEGEND_LINE 22
#define MOST_TITLES 6000
#define LEAST_LABEL_GAP 13

/* On light ground, and on dark ground. */
static const struct {
    const char *light, *dark;
} colours[AR_N_WINDOW_CLASSES] = {
    [AR_CLASS_NONE] = {"none", "none"},         [AR_CLASS_OTHER] = {"#dddfe2", "#41474f"},
    [AR_CLASS_PYTHON] = {"#1f6fb2", "#4d9fe0"}, [AR_CLASS_C] = {"#63b3e4", "#9fd4f5"},
    [AR_CLASS_REGION] = {"#2a8c82", "#4fb8ac"}, [AR_CLASS_IMPORT] = {"#8f959e", "#868d97"},
    [AR_CLASS_IO] = {"#7a5cab", "#a48bd0"},     [AR_CLASS_SLEEP] = {"#cbb2d9", "#6d5680"},
    [AR_CLASS_MPI4PY] = {"#f9e7ba", "#fbeec8"}, [AR_CLASS_MPI] = {"#cdbb84", "#a8965e"},
    [AR_CLASS_P2P] = {"#ecb338", "#f3da8a"},    [AR_CLASS_COLLECTIVE] = {"#a8741a", "#b98a34"},
    [AR_CLASS_WAIT] = {"#c04e00", "#dd6a22"},   [AR_WINDOW_UNWANTED] = {"#efefec", "#23272c"},
};

struct drawing {
    const struct ar_timeline_view *view;
    const struct ar_timeline *t;
    struct ar_bytes *out;
    uint8_t *classes; /* of one row */
    size_t row_height, row_step;
    bool with_titles;
};

/* ---- text ------------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void put(struct ar_bytes *out, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ar_bytes_put(out, text, strlen(text));
}

/* Names come from a file. */
static void put_escaped(struct ar_bytes *out, const char *text)
{
    struct ar_bytes plain = {0};

    ar_text_put(&plain, text, strlen(text));
    for (size_t i = 0; i < plain.n; i++)
        switch (plain.data[i]) {
        case '<':
            put(out, "&lt;");
            break;
        case '>':
            put(out, "&gt;");
            break;
        case '&':
            put(out, "&amp;");
            break;
        default:
            ar_bytes_u8(out, plain.data[i]);
        }
    out->bad = out->bad || plain.bad;
    ar_bytes_free(&plain);
}

/* ---- sizes ------------------------------------------------------------------------------------ */

static void choose_sizes(struct drawing *d)
{
    static const struct {
        size_t most_rows, height, step;
    } sizes[] = {{24, 20, 25}, {64, 13, 16}, {128, 8, 10}, {SIZE_MAX, 4, 4}};
    size_t i = 0;

    while (d->t->n_rows > sizes[i].most_rows)
        i++;
    d->row_height = sizes[i].height;
    d->row_step = sizes[i].step;
}

static size_t row_top(const struct drawing *d, size_t row)
{
    return HEAD_HEIGHT + row * d->row_step;
}

static size_t legend_top(const struct drawing *d)
{
    return row_top(d, d->t->n_rows) + 14;
}

/* ---- around the rows -------------------------------------------------------------------------- */

static void put_styles(struct drawing *d)
{
    put(d->out,
        "<style>"
        "svg{background:#fff;font:12px Inter,\"Segoe UI\",system-ui,\"Noto Sans\",sans-serif;"
        "fill:#1b1d21}.m{fill:#565a62}.l{stroke:#e3e3df}.a{text-anchor:end}"
        ".t{font-size:16px;font-weight:600}");
    put(d->out, "path{fill:none;stroke-width:%zu}", d->row_height);
    for (unsigned k = 1; k < AR_N_WINDOW_CLASSES; k++)
        put(d->out, ".c%u{fill:%s}path.c%u{fill:none;stroke:%s}", k, colours[k].light, k,
            colours[k].light);
    put(d->out, "@media(prefers-color-scheme:dark){svg{background:#1a1d21;fill:#e9eaec}"
                ".m{fill:#abb0b8}.l{stroke:#2a2e34}");
    for (unsigned k = 1; k < AR_N_WINDOW_CLASSES; k++)
        put(d->out, ".c%u{fill:%s}path.c%u{fill:none;stroke:%s}", k, colours[k].dark, k,
            colours[k].dark);
    put(d->out, "}</style>\n");
}

static void put_head(struct drawing *d)
{
    const struct ar_timeline *t = d->t;
    double length_ns = (double)(t->to_ns - t->from_ns);
    char from[40], to[40];

    put(d->out, "<text class=\"t\" x=\"%d\" y=\"26\">", MARGIN);
    put_escaped(d->out, ar_file_name(d->view->path));
    put(d->out, "</text>\n<text class=\"m\" x=\"%d\" y=\"46\">%s to %s, %zu %s", MARGIN,
        ar_time_option(t->from_ns, length_ns / 1000, from, sizeof from),
        ar_time_option(t->to_ns, length_ns / 1000, to, sizeof to), t->n_threads,
        t->n_threads == 1 ? "thread" : "threads");
    if (t->per_row > 1)
        put(d->out, ", a row is the mean of %zu", t->per_row);
    if (d->view->match) {
        put(d->out, ", in ");
        put_escaped(d->out, d->view->match);
    }
    put(d->out, "</text>\n");
}

static void put_axis(struct drawing *d)
{
    const struct ar_timeline *t = d->t;
    struct ar_time_axis axis = ar_time_axis_of(t->from_ns, t->to_ns, t->n_columns / 110 + 1);
    double length_ns = (double)(t->to_ns - t->from_ns);
    char room[40];

    for (int64_t ns = axis.first_ns; ns <= t->to_ns; ns += axis.step_ns) {
        double x =
            MARGIN + LABEL_WIDTH + (double)(ns - t->from_ns) / length_ns * (double)t->n_columns;

        put(d->out, "<line class=\"l\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%zu\"/>", x, x,
            HEAD_HEIGHT - 8, row_top(d, t->n_rows));
        /* One at the right edge ends there. */
        put(d->out, "<text class=\"%s\" font-size=\"11\" x=\"%.1f\" y=\"%d\">%s</text>\n",
            x + 60 > MARGIN + LABEL_WIDTH + (double)t->n_columns ? "m a" : "m", x, HEAD_HEIGHT - 12,
            ar_time_axis_label(&axis, ns, room, sizeof room));
    }
}

static void put_legend(struct drawing *d, size_t width)
{
    unsigned classes[AR_N_WINDOW_CLASSES];
    size_t n = ar_timeline_legend(d->t, classes), x = MARGIN, y = legend_top(d);

    for (size_t i = 0; i < n; i++) {
        double share = d->t->class_ns[classes[i]] / (double)(d->t->to_ns - d->t->from_ns);
        const char *label = ar_timeline_class_label(classes[i]);
        size_t n_wide = 24 + 7 * (strlen(label) + 8);

        if (x > MARGIN && x + n_wide > width) {
            x = MARGIN;
            y += LEGEND_LINE;
        }
        if (classes[i] == AR_CLASS_NONE)
            put(d->out,
                "<rect class=\"l\" fill=\"none\" x=\"%zu\" y=\"%zu\" width=\"12\" height=\"12\"/>",
                x, y);
        else
            put(d->out, "<rect class=\"c%u\" x=\"%zu\" y=\"%zu\" width=\"12\" height=\"12\"/>",
                classes[i], x, y);
        put(d->out, "<text x=\"%zu\" y=\"%zu\">%s <tspan class=\"m\">", x + 18, y + 10, label);
        put_escaped(d->out, ar_show_share(share));
        put(d->out, "</tspan></text>\n");
        x += n_wide;
    }
}

static size_t legend_lines(const struct drawing *d, size_t width)
{
    unsigned classes[AR_N_WINDOW_CLASSES];
    size_t n = ar_timeline_legend(d->t, classes), x = MARGIN, n_lines = 1;

    for (size_t i = 0; i < n; i++) {
        size_t n_wide = 24 + 7 * (strlen(ar_timeline_class_label(classes[i])) + 8);

        if (x > MARGIN && x + n_wide > width) {
            x = MARGIN;
            n_lines++;
        }
        x += n_wide;
    }
    return n_lines;
}

/* ---- rows ------------------------------------------------------------------------------------- */

static size_t run_length(const struct drawing *d, size_t from)
{
    size_t n = 1;

    while (from + n < d->t->n_columns && d->classes[from + n] == d->classes[from])
        n++;
    return n;
}

static size_t count_runs(struct drawing *d)
{
    size_t n = 0;

    for (size_t row = 0; row < d->t->n_rows && n <= MOST_TITLES; row++) {
        ar_timeline_classes(d->t, row, d->classes);
        for (size_t i = 0; i < d->t->n_columns; i += run_length(d, i))
            n += d->classes[i] != AR_CLASS_NONE;
    }
    return n;
}

static int64_t time_of_column(const struct ar_timeline *t, size_t column)
{
    return t->from_ns +
           (int64_t)((double)(t->to_ns - t->from_ns) * (double)column / (double)t->n_columns);
}

/* The function that took most of a column in which nothing took longer than its class. */
static uint32_t node_of_run(const struct drawing *d, size_t row, size_t first, size_t n)
{
    uint32_t node = AR_NO_ID;
    float most = 0;

    for (size_t i = first; i < first + n; i++) {
        const struct ar_window_cell *cell = ar_timeline_cell(d->t, row, i);

        if (ar_window_class(cell) == d->classes[first] && cell->node != AR_NO_ID &&
            cell->node_share > most) {
            most = cell->node_share;
            node = cell->node;
        }
    }
    return node;
}

static void put_run(struct drawing *d, size_t row, size_t first, size_t n)
{
    const struct ar_timeline *t = d->t;
    const struct ar_profile *p = t->traces->profile;
    uint32_t node = node_of_run(d, row, first, n);
    double resolution = (double)(t->to_ns - t->from_ns) / (double)t->n_columns;
    char from[40], to[40];

    put(d->out, "<rect class=\"c%u\" x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%zu\"><title>",
        d->classes[first], MARGIN + LABEL_WIDTH + first, row_top(d, row), n, d->row_height);
    if (node != AR_NO_ID) {
        put_escaped(d->out, ar_show_name(p, node, AR_TEXT_BYTES / 2));
        put(d->out, " ");
        put_escaped(d->out, ar_show_place(p, node));
        put(d->out, "\n");
    }
    put(d->out, "%s\n%s to %s</title></rect>\n", ar_timeline_class_label(d->classes[first]),
        ar_time_option(time_of_column(t, first), resolution, from, sizeof from),
        ar_time_option(time_of_column(t, first + n), resolution, to, sizeof to));
}

static void put_path(struct drawing *d, size_t row, unsigned kind)
{
    bool is_begun = false;

    for (size_t i = 0, n; i < d->t->n_columns; i += n) {
        n = run_length(d, i);
        if (d->classes[i] != kind)
            continue;
        if (!is_begun)
            put(d->out, "<path class=\"c%u\" d=\"", kind);
        is_begun = true;
        put(d->out, "M%zu %zuh%zu", MARGIN + LABEL_WIDTH + i, row_top(d, row) + d->row_height / 2,
            n);
    }
    if (is_begun)
        put(d->out, "\"/>\n");
}

static void put_label(struct drawing *d, size_t row)
{
    size_t every = (LEAST_LABEL_GAP + d->row_step - 1) / d->row_step;
    char label[AR_ROW_LABEL_BYTES];

    if (row % every)
        return;
    ar_timeline_label(d->t, row, label);
    put(d->out, "<text class=\"a\" x=\"%d\" y=\"%zu\">%s%s</text>\n", MARGIN + LABEL_WIDTH - 8,
        row_top(d, row) + d->row_height / 2 + 4,
        strcmp(ar_timeline_rows_are(d->t), "rank") == 0 ? "rank " : "", label);
}

static void put_row(struct drawing *d, size_t row)
{
    ar_timeline_classes(d->t, row, d->classes);
    put_label(d, row);
    if (!d->with_titles) {
        for (unsigned k = 1; k < AR_N_WINDOW_CLASSES; k++)
            put_path(d, row, k);
        return;
    }
    for (size_t i = 0, n; i < d->t->n_columns; i += n) {
        n = run_length(d, i);
        if (d->classes[i] != AR_CLASS_NONE)
            put_run(d, row, i, n);
    }
}

void ar_timeline_svg(const struct ar_timeline_view *view, struct ar_bytes *out)
{
    struct drawing d = {.view = view, .t = view->t, .out = out};
    size_t width = 2 * MARGIN + LABEL_WIDTH + d.t->n_columns, height;

    d.classes = calloc(d.t->n_columns + 1, 1);
    if (!d.classes) {
        out->bad = true;
        return;
    }
    width = width < 360 ? 360 : width;
    choose_sizes(&d);
    d.with_titles = count_runs(&d) <= MOST_TITLES;
    height = legend_top(&d) + legend_lines(&d, width) * LEGEND_LINE + MARGIN / 2;
    put(out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" "
        "viewBox=\"0 0 %zu %zu\">\n",
        width, height, width, height);
    put_styles(&d);
    put_head(&d);
    put_axis(&d);
    for (size_t row = 0; row < d.t->n_rows; row++)
        put_row(&d, row);
    put_legend(&d, width);
    put(out, "</svg>\n");
    free(d.classes);
}
