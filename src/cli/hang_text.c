// SPDX-License-Identifier: BSD-3-Clause
#include "cli/hang_text.h"

#include "analysis/hang.h"
#include "cli/screen.h"
#include "findings/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PLACES 3 /* of missing ranks: there are other things on the screen */

static bool is_in_c(const struct ar_profile *p, uint32_t node)
{
    return p->functions[p->nodes[node].function].kind == AR_FUNCTION_BUILTIN;
}

/* " at solver.py:12", or nothing where no line is known. */
static const char *show_at(const struct ar_profile *p, uint32_t node)
{
    const char *line = ar_show_line(p, ar_place_of_call(p, node));
    char *text = ar_text_buffer();

    snprintf(text, AR_TEXT_BYTES, "%s%s", *line ? " at " : "", line);
    return text;
}

static const char *show_call(const struct ar_profile *p, uint32_t call)
{
    const char *name = ar_strtab_text(&p->strings, p->functions[p->nodes[call].function].name);
    char *text = ar_text_buffer();

    snprintf(text, AR_TEXT_BYTES, "%s%s", name, show_at(p, call));
    return text;
}

/* A function in C has no line: the function that called it, and the line of that call. */
static const char *show_code(const struct ar_profile *p, uint32_t node)
{
    uint32_t code = node, called = AR_NO_ID;
    char *text = ar_text_buffer();

    while (code && is_in_c(p, code)) {
        called = code;
        code = p->nodes[code].parent;
    }
    snprintf(text, AR_TEXT_BYTES, "%s%s%s",
             ar_strtab_text(&p->strings, p->functions[p->nodes[code].function].name),
             called == AR_NO_ID ? " " : show_at(p, called),
             called == AR_NO_ID ? ar_show_place(p, code) : "");
    return text;
}

/* "is in compute solver.py:12"; "has left the script and is in MPI_Finalize" */
static const char *show_where(const struct ar_profile *p, const struct ar_hang_rank *rank)
{
    char *text = ar_text_buffer();

    if (rank->node == AR_NO_ID)
        snprintf(text, AR_TEXT_BYTES, "has finished");
    else if (rank->call == AR_NO_ID)
        snprintf(text, AR_TEXT_BYTES, "is in %s", show_code(p, rank->node));
    else if (p->nodes[rank->call].parent == 0)
        snprintf(text, AR_TEXT_BYTES, "has left the script and is in %s", show_call(p, rank->call));
    else
        snprintf(text, AR_TEXT_BYTES, "is in %s", show_call(p, rank->call));
    return text;
}

/* Of ranks that are at the same place, "ranks 0,3", from one on; those that were shown are marked. */
static const char *show_alike(const struct ar_profile *p, const struct ar_hang *hang, size_t first,
                              const char *where, bool *is_shown, uint32_t *processes)
{
    size_t n = 0;

    for (size_t i = first; i < hang->n_missing; i++)
        if (!is_shown[i] && strcmp(show_where(p, &hang->missing[i]), where) == 0) {
            is_shown[i] = true;
            processes[n++] = hang->missing[i].process;
        }
    return ar_show_ranks(p, processes, n);
}

static size_t print_line(const char *text)
{
    ar_print("    ");
    return ar_print_wrapped(text, ar_screen_columns() - 1, 4, NULL);
}

static size_t print_missing(const struct ar_profile *p, const struct ar_hang *hang, bool *is_shown,
                            uint32_t *processes)
{
    size_t n_lines = 0, n_places = 0;

    for (size_t i = 0; i < hang->n_missing; i++) {
        char where[AR_TEXT_BYTES], line[3 * AR_TEXT_BYTES];

        if (is_shown[i] || ++n_places > MOST_PLACES)
            continue;
        snprintf(where, sizeof where, "%s", show_where(p, &hang->missing[i]));
        snprintf(line, sizeof line, "not in it: %s, which %s",
                 show_alike(p, hang, i, where, is_shown, processes), where);
        n_lines += print_line(line);
    }
    return n_lines;
}

/* " for 2.01 s"; of a killed job that is how long it is known to have gone on, which may be next to nothing. */
static const char *show_time(const struct ar_hang *hang, bool is_running)
{
    char *text = ar_text_buffer();

    snprintf(text, AR_TEXT_BYTES, " for %s%s", is_running ? "" : "at least ",
             ar_show_duration((double)hang->most_ns));
    return text;
}

static size_t print_hang(const struct ar_profile *p, const struct ar_hang *hang, bool *is_shown,
                         uint32_t *processes)
{
    bool is_running = p->processes[hang->in[0].process].state == AR_PROCESS_RUNNING;
    char line[3 * AR_TEXT_BYTES];

    for (size_t i = 0; i < hang->n_in; i++)
        processes[i] = hang->in[i].process;
    snprintf(line, sizeof line, "%s ha%s been in %s%s", ar_show_ranks(p, processes, hang->n_in),
             hang->n_in == 1 ? "s" : "ve", show_call(p, hang->in[0].call),
             show_time(hang, is_running));
    ar_print("\n%s%s%s\n", ar_bold(),
             is_running ? "Where it hangs" : "Where ranks were when the job was killed",
             ar_plain());
    return 2 + print_line(line) + print_missing(p, hang, is_shown, processes);
}

size_t ar_print_hang(const struct ar_profile *p)
{
    bool *is_shown = calloc(2 * p->n_roots + 1, sizeof *is_shown);
    uint32_t *processes = malloc((2 * p->n_roots + 1) * sizeof *processes);
    struct ar_hang hang = {0};
    size_t n_lines = 0;

    if (is_shown && processes && ar_hang_find(&hang, p) == AR_OK && hang.n_in)
        n_lines = print_hang(p, &hang, is_shown, processes);
    ar_hang_free(&hang);
    free(is_shown);
    free(processes);
    return n_lines;
}
