// SPDX-License-Identifier: BSD-3-Clause
/*
 * options: what a command understands, as a table.
 *
 *     bool json = false;
 *     size_t n_rows = 0;
 *     const struct ar_option options[] = {
 *         {.name = "json", .kind = AR_OPTION_FLAG, .to = &json},
 *         {.name = "rows", .letter = 'n', .kind = AR_OPTION_COUNT, .to = &n_rows},
 *     };
 *     int status = ar_options_parse(argc, argv, options, 2, usage);
 *
 * --help and -h print the usage. Operands are what is left from getopt's optind on.
 */
#pragma once

#include <stddef.h>

enum ar_option_kind {
    AR_OPTION_FLAG,   /* bool: true where it is given */
    AR_OPTION_COUNT,  /* size_t */
    AR_OPTION_TEXT,   /* const char * */
    AR_OPTION_LIST,   /* struct ar_words: one more each time it is given */
    AR_OPTION_CHOICE, /* int: index of the word among `choices` */
    AR_OPTION_MAYBE,  /* the same, where --name alone is the first of them */
};

#define AR_MOST_WORDS 64

/* What an option was given, as often as it was. */
struct ar_words {
    const char *items[AR_MOST_WORDS];
    size_t n;
};

struct ar_option {
    const char *name; /* NULL: only the letter */
    char letter;      /* 0: none */
    enum ar_option_kind kind;
    void *to;
    const char *const *choices; /* NULL ends them */
};

/* Returns an exit status, or -1 to go on; complains itself. */
int ar_options_parse(int argc, char **argv, const struct ar_option *options, size_t n,
                     const char *usage);
