// SPDX-License-Identifier: BSD-3-Clause
/*
 * options: what a command understands, as a table, which its help is printed from as well.
 *
 *     bool json = false, tree = false;
 *     const struct ar_option options[] = {
 *         AR_HEADING("options"),
 *         {.name = "tree", .kind = AR_OPTION_FLAG, .to = &tree, .help = "all stacks as one tree"},
 *         AR_CSV_OPTION(&csv, "for spreadsheets"),
 *         AR_HELP_OPTION,
 *     };
 *     int status = ar_options_parse(argc, argv, options, 4, usage, NULL);
 *
 * Those that several commands have are below; those that choose a part of a run are in selecting.h.
 * Operands are what is left from getopt's optind on.
 */
#pragma once

#include "analysis/select.h"

enum ar_option_kind {
    AR_OPTION_FLAG,    /* bool: true where it is given */
    AR_OPTION_COUNT,   /* size_t */
    AR_OPTION_TEXT,    /* const char * */
    AR_OPTION_LIST,    /* struct ar_words: one more each time it is given */
    AR_OPTION_CHOICE,  /* int: index of the word among `choices` */
    AR_OPTION_MAYBE,   /* the same, where --name alone is the first of them */
    AR_OPTION_HELP,    /* prints the help, and that is all */
    AR_OPTION_HEADING, /* none, but a line of the help: `help` and a colon */
};

struct ar_option {
    const char *name; /* NULL: only the letter */
    char letter;      /* 0: none */
    enum ar_option_kind kind;
    void *to;
    const char *const *choices; /* NULL ends them */
    const char *value;          /* as the help calls it */
    const char *help;           /* in lines of 67 columns */
};

#define AR_HEADING(text)                                                                           \
    {                                                                                              \
        .kind = AR_OPTION_HEADING, .help = (text)                                                  \
    }
#define AR_HELP_OPTION                                                                             \
    {                                                                                              \
        .name = "help", .letter = 'h', .kind = AR_OPTION_HELP, .help = "show this help"            \
    }
#define AR_CSV_OPTION(target, text)                                                                \
    {                                                                                              \
        .name = "csv", .kind = AR_OPTION_FLAG, .to = (target), .help = (text)                      \
    }
#define AR_ROWS_OPTION(target, text)                                                               \
    {                                                                                              \
        .name = "rows", .letter = 'n', .kind = AR_OPTION_COUNT, .to = (target), .value = "N",      \
        .help = (text)                                                                             \
    }
#define AR_ROWS_HELP "rows (default: one screen; 0: all of them)"
#define AR_OUTPUT_OPTION(target, text)                                                             \
    {                                                                                              \
        .name = "output", .letter = 'o', .kind = AR_OPTION_TEXT, .to = (target), .value = "FILE",  \
        .help = (text)                                                                             \
    }

/*
 * Returns an exit status, or -1 to go on; complains itself. In the help `usage` stands before the
 * options, and `end` after them; NULL: nothing.
 */
int ar_options_parse(int argc, char **argv, const struct ar_option *options, size_t n,
                     const char *usage, const char *end);
