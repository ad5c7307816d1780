// SPDX-License-Identifier: BSD-3-Clause
/*
 * selecting: the options that choose a part of a run, the same in every command that has them, and the
 * run that is left; see analysis/select.h.
 *
 *     const struct ar_option options[] = {…, AR_SELECTION_OPTIONS(&selection)};
 *     static const char usage[] = "… \n" AR_SELECTION_USAGE;
 *     struct ar_part part;
 *     int status = ar_part_open(&part, path, &selection);
 *     if (status >= 0)
 *         return status;
 *     … part.p …
 *     ar_part_close(&part);
 */
#pragma once

#include "analysis/select.h"
#include "export/json.h"

#define AR_SELECTION_OPTIONS(selection)                                                            \
    {.name = "ranks", .kind = AR_OPTION_TEXT, .to = &(selection)->ranks},                          \
        {.name = "thread", .kind = AR_OPTION_TEXT, .to = &(selection)->thread},                    \
        {.name = "region", .kind = AR_OPTION_LIST, .to = &(selection)->regions},                   \
        {.name = "include", .kind = AR_OPTION_LIST, .to = &(selection)->include},                  \
    {                                                                                              \
        .name = "exclude", .kind = AR_OPTION_LIST, .to = &(selection)->exclude                     \
    }

#define AR_SELECTION_USAGE                                                                         \
    "a part of the run, of which all figures then are:\n"                                          \
    "      --ranks LIST   only these ranks: 0-3,8\n"                                               \
    "      --thread T     only threads of that name, or number: 0 is the main thread\n"            \
    "      --region NAME  only what is done in regions of that name\n"                             \
    "      --include X    of functions of Python and C show only X; others are their callers'\n"   \
    "      --exclude X    do not show functions X; their time is their callers'\n"                 \
    "                     X is a name, a file (solver.py), FILE:LINE where it begins, or a\n"      \
    "                     pattern ('*/numpy/*'). No time is lost, as with pprof's -show and\n"     \
    "                     -hide; these and --region can be given several times\n"

struct ar_part {
    struct ar_profile *p; /* one of these */
    struct ar_profile whole, chosen;
};

/* Returns an exit status, or -1 to go on; complains itself. */
int ar_part_open(struct ar_part *out, const char *path, const struct ar_selection *s);
void ar_part_close(struct ar_part *part);

/* "only ranks 0-3, only region solve" in a line, or nothing; returns how many lines that are. */
size_t ar_print_selection(const struct ar_selection *s);
/* The member "selection": null for all of it. */
void ar_json_selection(struct ar_json *j, const struct ar_selection *s);
