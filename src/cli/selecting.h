// SPDX-License-Identifier: BSD-3-Clause
/*
 * selecting: the options that choose a part of a run, the same in every command that has them, and the
 * run that is left; see analysis/select.h.
 *
 *     const struct ar_option options[] = {…, AR_SELECTION_OPTIONS(&selection)};
 *     struct ar_run *run;
 *     int status = ar_open_run(&run, &(struct ar_run_choice){.path = path, .selection = &selection});
 *     if (status >= 0)
 *         return status;
 *     … ar_run_profile(run, AR_FORM_RECORDED) …
 *     ar_run_close(run);
 */
#pragma once

#include "cli/options.h"
#include "run/run.h"

#define AR_RANKS_OPTION(target, what)                                                              \
    {                                                                                              \
        .name = "ranks", .kind = AR_OPTION_TEXT, .to = (target), .value = "LIST",                  \
        .help = "only " what "these ranks: 0-3,8"                                                  \
    }

#define AR_SELECTION_OPTIONS(selection)                                                            \
    AR_HEADING("a part of the run, of which all figures then are"),                                \
        AR_RANKS_OPTION(&(selection)->ranks, ""),                                                  \
        {.name = "thread",                                                                         \
         .kind = AR_OPTION_TEXT,                                                                   \
         .to = &(selection)->thread,                                                               \
         .value = "T",                                                                             \
         .help = "only threads of that name, or number: 0 is the main thread"},                    \
        {.name = "region",                                                                         \
         .kind = AR_OPTION_LIST,                                                                   \
         .to = &(selection)->regions,                                                              \
         .value = "NAME",                                                                          \
         .help = "only what is done in regions of that name"},                                     \
        {.name = "include",                                                                        \
         .kind = AR_OPTION_LIST,                                                                   \
         .to = &(selection)->include,                                                              \
         .value = "X",                                                                             \
         .help = "of functions of Python and C show only X; others are their callers'"},           \
    {                                                                                              \
        .name = "exclude", .kind = AR_OPTION_LIST, .to = &(selection)->exclude, .value = "X",      \
        .help = "do not show functions X; their time is their callers'\n"                          \
                "X is a name, a file (solver.py), FILE:LINE where it begins, or a\n"               \
                "pattern ('*/numpy/*'). No time is lost, as with pprof's -show and\n"              \
                "-hide; these and --region can be given several times"                             \
    }

/* Where there are any: what becomes of parts of a file that are of no known kind. */
void ar_note_newer_parts(const struct ar_profile *p, const char *path, const char *what_then);
/*
 * Where a file of the run is cut off: commands that read the trace cannot go on without it, others have the whole profile, and are
 * told. Returns an exit status, or -1 to go on.
 */
int ar_check_whole(const struct ar_profile *p);
/* Returns an exit status, or -1 to go on; complains itself. */
int ar_open_run(struct ar_run **out, const struct ar_run_choice *choice);

/* "only ranks 0-3, only region solve" in a line, or nothing; returns how many lines that are. */
size_t ar_print_selection(const struct ar_selection *s);
