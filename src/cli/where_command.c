// SPDX-License-Identifier: BSD-3-Clause
/*
 * allranks where: the stacks of all processes and threads, put together. Whoever hangs is seen in the
 * first line and who waits for whom in the groups; all fits 80 columns and 24 lines.
 */
#include "analysis/stacks.h"
#include "cli/choose_job.h"
#include "cli/commands.h"
#include "cli/hang_json.h"
#include "cli/hang_text.h"
#include "cli/options.h"
#include "cli/screen.h"
#include "cli/selecting.h"
#include "cli/shown.h"
#include "cli/stack_text.h"
#include "cli/where_json.h"
#include "cli/who.h"
#include "export/tables_json.h"
#include "format/import_system.h"
#include "format/livefile.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] =
    "usage: allranks where [options] [DIR|RUN]\n"
    "\n"
    "Show where every process and thread is: processes with the same stack in one line each.\n"
    "DIR is the directory of a job that runs, which is not disturbed, or was killed; RUN a run\n"
    "file made of it. Without either it is your only job that runs on this host, or in\n"
    "$ALLRANKS_LIVE_DIR where that is set.\n"
    "\n"
    "A line is where a function made the call that is open in it. \"still\" is how long no call\n"
    "has begun or ended there.\n";

#define SCREEN_ROWS 24
#define MOVING_NS 1000000000u /* whoever has moved within a second does not hang */

struct where {
    struct ar_run *run;
    const struct ar_profile *p;
    const struct ar_stacks *s;
    struct ar_arena arena;
    char path[4096];
    bool from_live_files, main_only, wants_tree;
    int json;      /* enum ar_json_version */
    bool fits;     /* nobody asked for a number of rows: all of it is one screen */
    size_t n_rows; /* of groups; 0: all */
    size_t n_columns;
};

/* ---- head ------------------------------------------------------------------------------------ */

static size_t count_state(const struct where *w, enum ar_process_state state)
{
    size_t n = 0;

    for (size_t i = 0; i < w->p->n_processes; i++)
        n += w->p->processes[i].state == (uint32_t)state;
    return n;
}

static const char *state_word(uint32_t state)
{
    static const char *const words[AR_N_PROCESS_STATES] = {[AR_PROCESS_SILENT] = "dead",
                                                           [AR_PROCESS_FINISHED] = "finished",
                                                           [AR_PROCESS_RUNNING] = "running",
                                                           [AR_PROCESS_REPLACED] = "replaced"};

    return state < AR_N_PROCESS_STATES ? words[state] : "?";
}

/* "running", or "3 running, 1 dead"; in a run file it is how they were when it was made. */
static void print_states(const struct where *w)
{
    static const enum ar_process_state order[] = {AR_PROCESS_RUNNING, AR_PROCESS_SILENT,
                                                  AR_PROCESS_FINISHED, AR_PROCESS_REPLACED};
    const char *before = "";

    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        size_t n = count_state(w, order[i]);

        if (n && n == w->p->n_processes)
            ar_print("%s%s", n > 1 ? "all " : "", state_word(order[i]));
        else if (n) {
            ar_print("%s%zu %s", before, n, state_word(order[i]));
            before = ", ";
        }
    }
    if (!w->from_live_files && count_state(w, AR_PROCESS_RUNNING))
        ar_print(" when this was read");
}

/* Since when nobody that runs has moved; 0: somebody does, or nobody runs. */
static uint64_t nothing_moved_ns(const struct where *w)
{
    uint64_t least = UINT64_MAX;

    for (size_t i = 0; i < w->s->n_groups; i++)
        if (w->s->groups[i].state == AR_PROCESS_RUNNING && w->s->groups[i].still_ns < least)
            least = w->s->groups[i].still_ns;
    return least == UINT64_MAX || least < MOVING_NS ? 0 : least;
}

static void print_head(const struct where *w)
{
    const struct ar_profile *p = w->p;
    const char *name = ar_file_name(ar_profile_fact_text(p, "program"));
    size_t n_name = ar_count_columns(name, SIZE_MAX);

    ar_print("%s", ar_bold());
    ar_print_fit(name, n_name < 24 ? n_name : 24, AR_KEEP_START);
    ar_print("%s%s%s on %s, ", ar_plain(), n_name ? "   " : "", ar_who_count(p),
             ar_show_items(ar_count_hosts(p), "host", "hosts"));
    print_states(w);
    if (nothing_moved_ns(w))
        ar_print("   %snothing moved for %s%s", ar_bold(), ar_show_age(nothing_moved_ns(w)),
                 ar_plain());
    ar_print("\n");
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* What stands in the columns of a group; its path is made when the widths are known. */
struct row {
    const struct ar_stack_group *group;
    struct ar_frame *frames;
    size_t n_frames;
    const char *who, *place, *leaf, *still;
};

/* In which state its processes are is said there, too, unless they run. */
static const char *show_still(const struct where *w, const struct ar_stack_group *group)
{
    const struct ar_location *first = &w->p->locations[w->s->threads[group->first]];
    const char *host = ar_strtab_text(&w->p->strings, w->p->processes[first->process].host);
    char here[65] = "";

    gethostname(here, sizeof here - 1);
    if (group->state == AR_PROCESS_SILENT && w->from_live_files && strncmp(here, host, 63) != 0)
        return "elsewhere";
    if (group->state != AR_PROCESS_RUNNING)
        return state_word(group->state);
    return group->still_ns < MOVING_NS ? "moving" : ar_show_age(group->still_ns);
}

/* "0-3 (8 threads)", "0 worker"; where there is but one process, it need not be said which. */
static void add_threads(const struct where *w, const struct ar_stack_group *group,
                        struct ar_bytes *text)
{
    const struct ar_location *first = &w->p->locations[w->s->threads[group->first]];
    bool one_process = w->p->n_processes == 1;
    char words[64];

    text->n = one_process ? 0 : text->n - 1; /* the NUL */
    if (group->n_threads == 1)
        snprintf(words, sizeof words, "%s%s", one_process ? "" : " ",
                 ar_strtab_text(&w->p->strings, first->name));
    else
        snprintf(words, sizeof words, one_process ? "%u threads" : " (%u threads)",
                 group->n_threads);
    ar_bytes_put(text, words, strlen(words) + 1);
}

static const char *show_who(struct where *w, const struct ar_stack_group *group)
{
    uint32_t *processes = malloc((group->n_threads + 1) * sizeof *processes);
    struct ar_bytes text = {0};
    const char *who = NULL;

    if (!processes)
        return NULL;
    for (uint32_t i = 0; i < group->n_threads; i++)
        processes[i] = w->p->locations[w->s->threads[group->first + i]].process;
    ar_who_list(w->p, processes, group->n_threads, &text);
    if (!group->is_main && !text.bad)
        add_threads(w, group, &text);
    if (!text.bad)
        who = ar_arena_copy(&w->arena, text.data, text.n);
    ar_bytes_free(&text);
    free(processes);
    return who;
}

/* Of a long list the beginning, with how many there are. */
static const char *shorten_who(struct where *w, const struct ar_stack_group *group, const char *who)
{
    size_t most = w->n_columns / 5;
    struct ar_bytes text = {0};
    char count[32];

    if (!who || ar_count_columns(who, SIZE_MAX) <= most)
        return who;
    snprintf(count, sizeof count, "%u: ", group->n_threads);
    ar_bytes_put(&text, count, strlen(count));
    ar_fit(&text, who, most - strlen(count) - 2, AR_KEEP_START);
    ar_bytes_put(&text, "..", 3);
    who = text.bad ? NULL : ar_arena_copy(&w->arena, text.data, text.n);
    ar_bytes_free(&text);
    return who;
}

static bool fill_row(struct where *w, const struct ar_stack_group *group, struct row *row)
{
    row->group = group;
    row->n_frames = ar_stacks_frames(w->s, group->node, NULL);
    row->frames = ar_arena_alloc(&w->arena, (row->n_frames + 1) * sizeof *row->frames);
    if (!row->frames)
        return false;
    ar_stacks_frames(w->s, group->node, row->frames);
    row->who = shorten_who(w, group, show_who(w, group));
    row->place = ar_stack_innermost(w->p, row->frames, row->n_frames, &w->arena);
    row->leaf = ar_stack_leaf(w->p, row->frames, row->n_frames, w->n_columns / 5, &w->arena);
    row->still = ar_arena_copy(&w->arena, show_still(w, group), strlen(show_still(w, group)));
    return row->who && row->place && row->leaf && row->still;
}

struct widths {
    size_t who, path, place, leaf, still;
};

static void widen(size_t *width, const char *text, size_t most)
{
    size_t n = ar_count_columns(text, SIZE_MAX);

    if (n > *width)
        *width = n < most ? n : most;
}

/* Each column takes what it needs up to a limit, the path the rest. */
static struct widths find_widths(const struct where *w, const struct row *rows, size_t n)
{
    struct widths widths = {.who = 7, .place = 5, .leaf = 2, .still = 6};
    size_t taken;

    for (size_t i = 0; i < n; i++) {
        widen(&widths.still, rows[i].still, SIZE_MAX);
        widen(&widths.who, rows[i].who, w->n_columns / 5);
        widen(&widths.place, rows[i].place, w->n_columns / 4);
        widen(&widths.leaf, rows[i].leaf, w->n_columns / 5);
    }
    taken = widths.who + widths.place + widths.leaf + widths.still + 9; /* with what is between */
    widths.path = taken + 10 < w->n_columns ? w->n_columns - taken : 10;
    return widths;
}

static void print_columns(const struct widths *widths, const char *who, const char *path,
                          const char *place, const char *leaf, const char *still)
{
    ar_print(" ");
    ar_print_fit(who, widths->who, AR_KEEP_START);
    ar_print("  ");
    ar_print_fit(path, widths->path, AR_KEEP_END);
    ar_print("  ");
    ar_print_fit(place, widths->place, AR_KEEP_END);
    ar_print("  ");
    ar_print_fit(leaf, widths->leaf, AR_KEEP_START);
    ar_print("  %*s\n", (int)widths->still, still);
}

static void print_title(const struct where *w, const struct widths *widths, bool is_main)
{
    bool ranks = w->p->processes[0].world_rank != AR_RANK_NONE;

    ar_print("\n%s", ar_bold());
    print_columns(widths,
                  !is_main ? "threads"
                  : ranks  ? "ranks"
                           : "process",
                  "stack", "line", "in", "still");
    ar_print("%s", ar_plain());
}

static bool is_begin(const char *place)
{
    size_t n = strlen(place);

    return n && place[n - 1] == '+';
}

/* Main threads, then a title and the others; returns how many lines were printed. */
static size_t print_rows(struct where *w, const struct row *rows, size_t n)
{
    struct widths widths = find_widths(w, rows, n);
    size_t n_lines = n;

    for (size_t i = 0; i < n; i++) {
        const struct row *row = &rows[i];
        const char *path = ar_stack_path(w->p, row->frames, row->n_frames, widths.path, &w->arena);

        if (i == 0 || row->group->is_main != rows[i - 1].group->is_main) {
            print_title(w, &widths, row->group->is_main);
            n_lines += 2;
        }
        print_columns(&widths, row->who, path ? path : "", row->place, row->leaf, row->still);
    }
    return n_lines;
}

/* ---- tree ------------------------------------------------------------------------------------ */

/* Whoever is at a frame and no further; groups in several states may be. */
static const char *who_ends_at(struct where *w, const struct row *rows, size_t n, uint32_t node)
{
    struct ar_bytes text = {0};
    const char *who = NULL;

    for (size_t i = 0; i < n; i++)
        if (rows[i].group->node == node) {
            ar_bytes_put(&text, ",", text.n > 0);
            ar_bytes_put(&text, rows[i].who, strlen(rows[i].who));
        }
    if (!text.bad)
        who = ar_arena_copy(&w->arena, text.n ? (const char *)text.data : "", text.n);
    ar_bytes_free(&text);
    return who ? who : "";
}

static void print_tree_row(struct where *w, const struct row *rows, size_t n, uint32_t node,
                           size_t depth)
{
    const struct ar_stack_node *at = &w->s->nodes[node];
    const char *name = ar_stack_name(w->p, at->frame.function, &w->arena);
    const char *place = ar_stack_place(w->p, at->frame, &w->arena);
    const char *who = who_ends_at(w, rows, n, node);
    size_t indent = depth < 24 ? depth : 24, n_who = ar_count_columns(who, SIZE_MAX);
    size_t n_name = w->n_columns - 8 - 24 - 16;

    ar_print(" %6s %*s", ar_show_count(at->n_threads), (int)indent, "");
    ar_print_fit(name ? name : "", n_name - indent, AR_KEEP_START);
    ar_print(" ");
    ar_print_fit(place ? place : "", n_who ? 23 : n_who + strlen(place ? place : ""), AR_KEEP_END);
    ar_print("%s", n_who ? " " : "");
    ar_print_fit(who, n_who < 15 ? n_who : 15, AR_KEEP_START);
    ar_print("\n");
}

/* Of the import system's frames the outermost stands for all. */
static bool is_inner_import(const struct where *w, uint32_t node)
{
    uint32_t parent = w->s->nodes[node].parent;

    return parent != 0 && ar_function_imports(w->p, w->s->nodes[node].frame.function) &&
           ar_function_imports(w->p, w->s->nodes[parent].frame.function);
}

/* Depth first, without recursion: stacks are as deep as programs recurse. */
static void print_tree(struct where *w, const struct row *rows, size_t n)
{
    uint32_t node = w->s->nodes[0].first_child;
    size_t depth = 0;

    ar_print("\n%s%7s %-*s %-23s %s%s\n", ar_bold(), "threads", (int)(w->n_columns - 48), "frame",
             "line", "who", ar_plain());
    while (node != AR_NO_ID && node != 0) {
        if (!is_inner_import(w, node))
            print_tree_row(w, rows, n, node, depth);
        if (w->s->nodes[node].first_child != AR_NO_ID) {
            node = w->s->nodes[node].first_child;
            depth++;
            continue;
        }
        while (node != 0 && w->s->nodes[node].next_sibling == AR_NO_ID) {
            node = w->s->nodes[node].parent;
            depth--;
        }
        if (node != 0)
            node = w->s->nodes[node].next_sibling;
    }
}

/* ---- command --------------------------------------------------------------------------------- */

static void print_nobody(const struct where *w)
{
    const char *which = w->p->n_locations ? "no thread has a stack left" : "no thread was recorded";
    bool ended = count_state(w, AR_PROCESS_FINISHED) == w->p->n_processes;

    ar_print("\n %s%s\n", which, ended ? ": they have finished" : "");
    if (!ended && !w->from_live_files)
        ar_print(" (a run file that an older allranks wrote does not hold them)\n");
}

static void print_notes(const struct where *w, const struct row *rows, size_t n_shown)
{
    bool any_begin = false;

    for (size_t i = 0; i < n_shown; i++)
        any_begin = any_begin || is_begin(rows[i].place);
    if (n_shown < w->s->n_groups)
        ar_print(" %s%s: allranks where --rows 0 %s%s\n", ar_dim(),
                 ar_show_items(w->s->n_groups - n_shown, "more group", "more groups"),
                 ar_quote(w->path), ar_plain());
    if (any_begin)
        ar_print(" %s+ somewhere in the function that begins at this line%s\n", ar_dim(),
                 ar_plain());
}

/* Two titles and two notes may come along. */
static size_t choose_rows(const struct where *w, size_t n, size_t n_lines)
{
    size_t taken = n_lines + 4 + 2 + 1;
    size_t room = taken < SCREEN_ROWS ? SCREEN_ROWS - taken : 1;

    if (w->fits && n > room)
        n = room;
    return w->n_rows && n > w->n_rows ? w->n_rows : n;
}

static int print_where(struct where *w)
{
    size_t n = w->s->n_groups;
    struct row *rows = calloc(n + 1, sizeof *rows);
    int status = AR_EXIT_OK;

    for (size_t i = 0; i < n && status == AR_EXIT_OK; i++)
        if (!rows || !fill_row(w, &w->s->groups[i], &rows[i]))
            status = ar_complain("out of memory");
    if (!rows || status != AR_EXIT_OK) {
        free(rows);
        return AR_EXIT_BAD;
    }
    print_head(w);

    size_t n_lines = 1 + ar_print_hang(w->p), n_shown = choose_rows(w, n, n_lines);

    if (n == 0)
        print_nobody(w);
    n_lines += print_rows(w, rows, n_shown);
    print_notes(w, rows, n_shown);
    if (w->wants_tree ||
        (w->fits && n && n_shown == n && n_lines + 2 + 2 + w->s->n_nodes - 1 < SCREEN_ROWS))
        print_tree(w, rows, n);
    free(rows);
    return status;
}

/* Returns an exit status, or -1 to go on. */
static int parse(int argc, char **argv, struct where *w)
{
    const struct ar_option options[] = {
        AR_HEADING("options"),
        {.name = "tree",
         .kind = AR_OPTION_FLAG,
         .to = &w->wants_tree,
         .help = "all stacks as one tree, too (by default if there is room)"},
        {.name = "main", .kind = AR_OPTION_FLAG, .to = &w->main_only, .help = "main threads only"},
        {.name = "rows",
         .kind = AR_OPTION_COUNT,
         .to = &w->n_rows,
         .value = "N",
         .help = "rows of groups (default: one screen; 0: all of them)"},
        AR_JSON_OPTION(&w->json, "everything"),
        AR_HELP_OPTION,
    };
    int status =
        ar_options_parse(argc, argv, options, sizeof options / sizeof *options, usage, NULL);

    if (status >= 0)
        return status;
    w->fits = w->n_rows == SIZE_MAX;
    w->n_rows = w->fits ? 0 : w->n_rows;
    if (argc - optind > 1)
        return ar_complain("one job or run at a time (usage: allranks where [DIR|RUN])");
    if (argc == optind)
        return ar_choose_job("where", w->path, sizeof w->path);
    snprintf(w->path, sizeof w->path, "%s", argv[optind]);
    return ar_refuse_several_jobs("where", w->path);
}

static bool is_of_live_files(const char *path)
{
    struct ar_live_header header;
    struct stat st;

    return (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) || ar_live_read_header(path, &header);
}

static int print_json(struct where *w)
{
    static const char *const tables[] = {"processes", "stacks", "stack_threads", "stack_frames",
                                         NULL};
    struct ar_bytes bytes = {0};
    struct ar_json j = {.out = &bytes};
    enum ar_status status;

    ar_json_begin(&j, "where");
    ar_json_about(&j, w->run);
    status = ar_json_tables(&j, ar_run_subject(w->run), tables);
    ar_json_hang(&j, w->p);
    ar_json_end(&j);
    return ar_print_json(&j, status);
}

static int show(struct where *w)
{
    w->p = ar_run_profile(w->run, AR_FORM_RECORDED);
    w->s = ar_run_stacks(w->run);
    if (!w->s)
        return ar_complain("out of memory");
    if (w->json != AR_NO_JSON)
        return w->json == AR_JSON_1 ? ar_where_json(w->p, w->s) : print_json(w);
    return print_where(w);
}

int ar_command_where(int argc, char **argv)
{
    struct where w = {.json = AR_NO_JSON, .n_rows = SIZE_MAX, .n_columns = ar_screen_columns()};
    int status = parse(argc, argv, &w);

    if (status < 0)
        status =
            ar_open_run(&w.run, &(struct ar_run_choice){.path = w.path, .main_only = w.main_only});
    if (status >= 0)
        return status;
    w.from_live_files = is_of_live_files(w.path);
    status = show(&w);
    ar_arena_free(&w.arena);
    ar_run_close(w.run);
    return status;
}
