// SPDX-License-Identifier: BSD-3-Clause
#include "cli/top_screen.h"

#include "cli/screen.h"
#include "cli/stack_text.h"
#include "cli/who.h"
#include "format/import_system.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FEWEST_FUNCTIONS 3
#define FIXED_ROWS                                                                                 \
    6 /* head, status, two empty ones, and two for the keys and functions not shown */

/* ---- functions -------------------------------------------------------------------------------- */

static const struct ar_profile *names_of(const struct ar_top_view *view)
{
    return &view->watch->names;
}

uint32_t ar_top_picked(const struct ar_top_view *view)
{
    for (uint32_t i = 0; view->has_picked && i < view->watch->n_processes; i++) {
        const struct ar_process *process = &view->watch->processes[i].process;

        if (process->pid == view->picked.pid && process->host == view->picked.host &&
            process->start_real_ns == view->picked.start_real_ns)
            return i;
    }
    return AR_NO_ID;
}

const char *ar_top_sort_name(enum ar_top_sort sort)
{
    static const char *const names[AR_TOP_N_SORTS] = {
        "self", "total", "self since start", "total since start", "calls", "name"};

    return names[sort];
}

static bool passes(const struct ar_top_view *view, uint32_t function)
{
    const struct ar_function *f = &names_of(view)->functions[function];
    const char *name = ar_show_function(names_of(view), function, SIZE_MAX);
    const char *file = ar_strtab_text(&names_of(view)->strings, f->file);

    if (f->kind == AR_FUNCTION_THREAD)
        return false;
    return !*view->filter || strcasestr(name, view->filter) || strcasestr(file, view->filter);
}

static int compare(uint64_t a, uint64_t b)
{
    return (a < b) - (a > b);
}

static int compare_rows(const void *a, const void *b, void *data)
{
    const struct ar_top_row *x = a, *y = b;
    const struct ar_top_view *view = data;
    int order = 0;

    switch (view->sort) {
    case AR_TOP_BY_SELF:
        order = compare(x->lately.self_ns, y->lately.self_ns);
        break;
    case AR_TOP_BY_TOTAL:
        order = compare(x->lately.time_ns, y->lately.time_ns);
        break;
    case AR_TOP_BY_TOTAL_EVER:
        order = compare(x->ever.time_ns, y->ever.time_ns);
        break;
    case AR_TOP_BY_CALLS:
        order = compare(x->lately.n_calls, y->lately.n_calls);
        break;
    case AR_TOP_BY_NAME:
        order = strcasecmp(ar_show_function(names_of(view), x->function, SIZE_MAX),
                           ar_show_function(names_of(view), y->function, SIZE_MAX));
        break;
    default:
        break;
    }
    if (!order)
        order = compare(x->ever.self_ns, y->ever.self_ns);
    return order ? order : (x->function > y->function) - (x->function < y->function);
}

struct ar_top_row *ar_top_rows(const struct ar_top_view *view, size_t *n_rows)
{
    const struct ar_watch *w = view->watch;
    uint32_t process = ar_top_picked(view);
    struct ar_top_row *rows = calloc(w->names.n_functions + 1, sizeof *rows);

    *n_rows = 0;
    for (uint32_t f = 0; rows && f < w->names.n_functions; f++) {
        struct ar_share ever = ar_watch_share(w, process, f, true);

        if (ever.n_calls && passes(view, f))
            rows[(*n_rows)++] = (struct ar_top_row){
                f, view->has_interval ? ar_watch_share(w, process, f, false) : ever, ever};
    }
    if (rows)
        qsort_r(rows, *n_rows, sizeof *rows, compare_rows, (void *)(uintptr_t)view);
    return rows;
}

/* ---- lines ------------------------------------------------------------------------------------ */

struct page {
    struct ar_top_view *view;
    struct ar_bytes *text;
    size_t n_lines;
};

/* A line is cut at the edge and ends there; blanks at its end are left out. */
static void put_line(struct page *page, const char *style, const char *line)
{
    size_t n = ar_count_columns(line, SIZE_MAX), n_columns = page->view->n_columns;
    bool styled = !page->view->is_plain && *style;

    if (page->view->n_rows && page->n_lines >= page->view->n_rows)
        return;
    if (styled)
        ar_bytes_put(page->text, style, strlen(style));
    ar_fit(page->text, line, n < n_columns ? n : n_columns, AR_KEEP_START);
    while (page->text->n && page->text->data[page->text->n - 1] == ' ')
        page->text->n--;
    if (styled)
        ar_bytes_put(page->text, ar_plain(), strlen(ar_plain()));
    ar_bytes_u8(page->text, '\n');
    page->n_lines++;
}

__attribute__((format(printf, 3, 4))) static void put(struct page *page, const char *style,
                                                      const char *fmt, ...)
{
    char line[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    put_line(page, style, line);
}

/* "41.2", "100": a share of a span, in percent; what is next to nothing is not shown. */
static const char *percent(uint64_t part_ns, uint64_t span_ns, char *text, size_t n_text)
{
    double share = span_ns ? 100 * (double)part_ns / (double)span_ns : 0;

    if (share < 0.05)
        snprintf(text, n_text, "%s", "");
    else
        snprintf(text, n_text, share < 99.95 ? "%.1f" : "%.0f", share);
    return text;
}

/* ---- head ------------------------------------------------------------------------------------- */

static size_t count_state(const struct ar_watch *w, enum ar_process_state state)
{
    size_t n = 0;

    for (size_t i = 0; i < w->n_processes; i++)
        n += w->processes[i].process.state == (uint32_t)state;
    return n;
}

static const char *state_word(uint32_t state)
{
    return state == AR_PROCESS_SILENT ? "dead" : ar_process_state_name(state);
}

static void show_states(const struct ar_watch *w, char *text, size_t n_text)
{
    static const enum ar_process_state order[] = {AR_PROCESS_RUNNING, AR_PROCESS_SILENT,
                                                  AR_PROCESS_FINISHED, AR_PROCESS_REPLACED};

    *text = '\0';
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        size_t n = count_state(w, order[i]), at = strlen(text);

        if (n == w->n_processes)
            snprintf(text + at, n_text - at, "%s%s", n > 1 ? "all " : "", state_word(order[i]));
        else if (n)
            snprintf(text + at, n_text - at, "%s%zu %s", at ? ", " : "", n, state_word(order[i]));
    }
}

static uint64_t longest_wall_ns(const struct ar_watch *w)
{
    uint64_t most = 0;

    for (size_t i = 0; i < w->n_processes; i++)
        if (w->processes[i].now.wall_ns > most)
            most = w->processes[i].now.wall_ns;
    return most;
}

static void put_head(struct page *page)
{
    const struct ar_top_view *view = page->view;
    const struct ar_watch *w = view->watch;
    char states[100], unreadable[60] = "";

    show_states(w, states, sizeof states);
    if (w->n_unreadable)
        snprintf(unreadable, sizeof unreadable, "   %s unreadable",
                 ar_show_items(w->n_unreadable, "file", "files"));
    put(page, ar_bold(), "%.24s   %s on %s, %s   %s%s",
        ar_file_name(ar_profile_fact_text(&w->names, "program")), ar_who_count(&w->names),
        ar_show_items(ar_count_hosts(&w->names), "host", "hosts"), states,
        ar_show_age(longest_wall_ns(w)), unreadable);
}

static void put_status(struct page *page)
{
    const struct ar_top_view *view = page->view;
    uint32_t picked = ar_top_picked(view);
    char which[64] = "";

    if (picked != AR_NO_ID)
        snprintf(which, sizeof which, "   only %s", ar_who_name(names_of(view), picked));
    if (view->is_plain && !view->has_interval)
        put(page, "", "one look, shares since the start");
    else
        put(page, "", "%severy %.3g s   sorted by %s%s%s%s", view->frozen ? "FROZEN   " : "",
            view->interval_s, ar_top_sort_name(view->sort), *view->filter ? "   only " : "",
            view->filter, which);
}

/* ---- processes -------------------------------------------------------------------------------- */

#define PLACE_COLUMN 50 /* where a process is stands from here on */

/* "MPI_Allreduce solver.py:88", "solve solver.py:61+": of a long name what leaves room for the line. */
static void show_place(const struct ar_top_view *view, const struct ar_watched *at,
                       struct ar_bytes *text)
{
    const struct ar_profile *p = names_of(view);
    uint32_t function = at->leaf == AR_NO_ID ? at->function : at->leaf;
    struct ar_arena arena = {0};
    const char *name = "", *place = "";
    size_t room = view->n_columns > PLACE_COLUMN ? view->n_columns - PLACE_COLUMN : 0, n_place;

    if (at->function != AR_NO_ID)
        place = ar_stack_place(p, (struct ar_frame){at->function, at->line}, &arena);
    n_place = place ? ar_count_columns(place, SIZE_MAX) : 0;
    room = room > n_place + 1 ? room - n_place - 1 : 0;
    if (function != AR_NO_ID)
        name = ar_show_function(p, function, room);
    if (ar_count_columns(name, SIZE_MAX) < room)
        room = ar_count_columns(name, SIZE_MAX);
    ar_fit(text, name, room, AR_KEEP_START);
    ar_bytes_u8(text, ' ');
    ar_bytes_put(text, place ? place : "", place ? strlen(place) + 1 : 1);
    ar_arena_free(&arena);
}

static const char *show_seen(const struct ar_watched *at)
{
    if (at->process.state != AR_PROCESS_RUNNING)
        return "-";
    return at->still_ns < 1000000000u ? "now" : ar_show_age(at->still_ns);
}

/* "3", "3 child", "-" */
static void show_rank(const struct ar_top_view *view, uint32_t i, char *text, size_t n_text)
{
    uint32_t root = ar_who_root(names_of(view), i);
    uint32_t rank = view->watch->processes[root == AR_NO_ID ? i : root].process.world_rank;

    if (rank == AR_RANK_NONE)
        snprintf(text, n_text, "%s", root == AR_NO_ID ? "-" : "child");
    else
        snprintf(text, n_text, "%u%s", rank, root == AR_NO_ID ? "" : " child");
}

static void put_process(struct page *page, uint32_t i)
{
    const struct ar_top_view *view = page->view;
    const struct ar_watched *at = &view->watch->processes[i];
    bool ever = !view->has_interval || at->is_new;
    char rank[24], mpi[16];
    struct ar_bytes place = {0};

    show_rank(view, i, rank, sizeof rank);
    show_place(view, at, &place);
    put(page, i == ar_top_picked(view) ? ar_bold() : "", "%7s %7u  %-8.8s %-8s %7s %5s  %s", rank,
        at->process.pid, ar_strtab_text(&names_of(view)->strings, at->process.host),
        state_word(at->process.state), show_seen(at),
        percent(ar_watch_mpi_ns(view->watch, i, ever), ar_watch_span_ns(view->watch, i, ever), mpi,
                sizeof mpi),
        place.bad ? "" : (const char *)place.data);
    ar_bytes_free(&place);
}

/* So many that functions have two thirds of what is left, where there is a screen. */
static size_t process_rows(const struct ar_top_view *view)
{
    size_t n = view->watch->n_processes, room;

    if (!view->n_rows)
        return n;
    room = view->n_rows > FIXED_ROWS + FEWEST_FUNCTIONS ? (view->n_rows - FIXED_ROWS) / 3 : 1;
    return n < room ? n : room;
}

static void put_processes(struct page *page)
{
    struct ar_top_view *view = page->view;
    size_t n = view->watch->n_processes, n_shown = process_rows(view);

    if (view->first_process > n - n_shown)
        view->first_process = n - n_shown;
    put(page, ar_bold(), "%7s %7s  %-8s %-8s %7s %5s  %s%s", "rank", "pid", "host", "state",
        "moved", "MPI %", "now in",
        n_shown < n ? view->scrolls_processes ? " (more: arrows)" : " (more: tab, arrows)" : "");
    for (size_t i = 0; i < n_shown; i++)
        put_process(page, (uint32_t)(view->first_process + i));
}

/* ---- functions on the screen ------------------------------------------------------------------ */

/* "~12.3": of a time that is estimated. */
static const char *marked(struct ar_doubt doubt, const char *share)
{
    char *text = ar_text_buffer();

    snprintf(text, AR_TEXT_BYTES, "%s%s", *share && doubt.marks & AR_MARK_ESTIMATED ? "~" : "",
             share);
    return text;
}

static void put_function(struct page *page, const struct ar_top_row *row, uint64_t lately_ns,
                         uint64_t ever_ns)
{
    const struct ar_top_view *view = page->view;
    const struct ar_function *f = &names_of(view)->functions[row->function];
    size_t n_name = view->n_columns > 80 ? view->n_columns - 58 : 22;
    char shares[4][16];
    struct ar_bytes name = {0};
    struct ar_arena arena = {0};
    const char *place = ar_stack_place(names_of(view), (struct ar_frame){row->function, 0}, &arena);

    ar_fit(&name, ar_show_function(names_of(view), row->function, n_name), n_name, AR_KEEP_START);
    ar_bytes_u8(&name, '\0');
    put(page, "", "%5s %5s  %5s %5s %10s  %s %.*s",
        view->has_interval
            ? marked(row->lately.self_doubt, percent(row->lately.self_ns, lately_ns, shares[0], 16))
            : "-",
        view->has_interval
            ? marked(row->lately.time_doubt, percent(row->lately.time_ns, lately_ns, shares[1], 16))
            : "-",
        marked(row->ever.self_doubt, percent(row->ever.self_ns, ever_ns, shares[2], 16)),
        marked(row->ever.time_doubt, percent(row->ever.time_ns, ever_ns, shares[3], 16)),
        row->lately.n_calls ? ar_show_count(row->lately.n_calls) : "",
        name.bad ? "" : (const char *)name.data,
        place && *place ? (int)strlen(place) - 1 : 16, /* without the mark */
        place && *place                                      ? place
        : ar_function_imports(names_of(view), row->function) ? "(import)"
        : f->kind == AR_FUNCTION_BUILTIN                     ? "C"
        : f->kind == AR_FUNCTION_MPI                         ? "MPI"
        : f->kind == AR_FUNCTION_OPERATION                   ? "mpi4py"
                                                             : ar_function_kind_name(f->kind));
    ar_arena_free(&arena);
    ar_bytes_free(&name);
}

static bool any_estimated(const struct ar_top_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].ever.self_doubt.marks & AR_MARK_ESTIMATED)
            return true;
    return false;
}

static void put_functions(struct page *page, const struct ar_top_row *rows, size_t n,
                          size_t n_shown)
{
    struct ar_top_view *view = page->view;
    uint32_t picked = ar_top_picked(view);
    uint64_t lately_ns = ar_watch_span_ns(view->watch, picked, false);
    uint64_t ever_ns = ar_watch_span_ns(view->watch, picked, true);
    char lately[32];

    if (n_shown > n)
        n_shown = n;
    if (view->first_function > n - n_shown)
        view->first_function = n - n_shown;
    snprintf(lately, sizeof lately, "last %.3g s", view->interval_s);
    put(page, ar_bold(), "%11.11s  %-11s  shares in %%%s", lately, "since start",
        any_estimated(rows, n) ? ", ~ estimated" : "");
    put(page, ar_bold(), "%5s %5s  %5s %5s %10s  %s", "self", "total", "self", "total", "calls",
        "function");
    for (size_t i = 0; i < n_shown; i++)
        put_function(page, &rows[view->first_function + i], lately_ns, ever_ns);
    if (n == 0)
        put(page, "", "%s",
            *view->filter ? "no function has that in its name or file"
                          : "no function has been called yet");
}

/* ---- the rest --------------------------------------------------------------------------------- */

static void put_help(struct page *page)
{
    static const char *const lines[] = {
        "",
        "  s          sort by: self, total, the same since the start, calls, name",
        "  / or f     show only functions with a text in their name or file",
        "  p          show only functions of one process: type its rank or pid",
        "  space      freeze, and go on",
        "  arrows     scroll; page up, page down, home and end, too",
        "  tab        scroll processes instead of functions, and back",
        "  ?          this help",
        "  q          quit; the program goes on",
        "",
        "Shares are of the time of all processes shown: 100 % is one thread of each.",
        "\"self\" is without what a function calls, \"total\" with it. \"moved\" is when a",
        "call last began or ended. \"~\" is before shares that are estimated: of short",
        "functions in C only some calls are timed (all of them with --exact).",
        "Only files are read: the program does not notice.",
        "",
        "any key goes back",
    };

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        put(page, "", "%s", lines[i]);
}

/* At the bottom, wherever the rest ends. */
static void put_keys(struct page *page)
{
    const struct ar_top_view *view = page->view;

    if (view->is_plain)
        return;
    while (page->n_lines + 1 < view->n_rows)
        put(page, "", "%s", "");
    if (view->prompt)
        put(page, ar_bold(), "%s%s_", view->prompt, view->typed);
    else
        put(page, ar_dim(), "%s",
            "s sort   / filter   p process   space freeze   arrows scroll   ? help   q quit");
}

static void put_tables(struct page *page, const struct ar_top_row *rows, size_t n)
{
    size_t n_rows = page->view->n_rows, n_shown = n;

    put_status(page);
    put(page, "", "%s", "");
    put_processes(page);
    put(page, "", "%s", "");
    if (n_rows)
        n_shown = n_rows > page->n_lines + 3 ? n_rows - page->n_lines - 3 : 0;
    put_functions(page, rows, n, n_shown);
}

bool ar_top_screen(struct ar_top_view *view, struct ar_bytes *text)
{
    struct page page = {.view = view, .text = text};
    size_t n = 0;
    struct ar_top_row *rows = ar_top_rows(view, &n);

    if (!rows)
        return false;
    put_head(&page);
    if (view->helps)
        put_help(&page);
    else
        put_tables(&page, rows, n);
    put_keys(&page);
    free(rows);
    if (text->n && !view->is_plain)
        text->n--; /* no line after the last: it would scroll */
    return !text->bad;
}
