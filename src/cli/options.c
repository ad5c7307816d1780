// SPDX-License-Identifier: BSD-3-Clause
#include "cli/options.h"

#include "cli/screen.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OPTIONS 32
#define FIRST_CODE 256 /* beyond any letter */

static int set_count(const struct ar_option *o)
{
    char *end;
    size_t n = strtoul(optarg, &end, 10);

    if (end == optarg || *end || *optarg == '-')
        return ar_complain("--%s %s: not a number", o->name, optarg);
    *(size_t *)o->to = n;
    return -1;
}

static int add_word(const struct ar_option *o)
{
    struct ar_words *words = o->to;

    if (words->n == AR_MOST_WORDS)
        return ar_complain("--%s %s: no more than %d of these", o->name, optarg, AR_MOST_WORDS);
    words->items[words->n++] = optarg;
    return -1;
}

/* "path, function or class" */
static void list_choices(const struct ar_option *o, char *text, size_t n_text)
{
    size_t n = 0;

    *text = '\0';
    for (size_t i = 0; o->choices[i] && n < n_text; i++)
        n += (size_t)snprintf(text + n, n_text - n, "%s%s",
                              i == 0              ? ""
                              : o->choices[i + 1] ? ", "
                                                  : " or ",
                              o->choices[i]);
}

static int set_choice(const struct ar_option *o)
{
    char words[256];

    for (int i = 0; o->choices[i]; i++)
        if (!optarg || strcmp(optarg, o->choices[i]) == 0) {
            *(int *)o->to = i;
            return -1;
        }
    list_choices(o, words, sizeof words);
    return ar_complain("--%s %s: not one of %s", o->name, optarg, words);
}

static int set(const struct ar_option *o)
{
    switch (o->kind) {
    case AR_OPTION_FLAG:
        *(bool *)o->to = true;
        return -1;
    case AR_OPTION_TEXT:
        *(const char **)o->to = optarg;
        return -1;
    case AR_OPTION_LIST:
        return add_word(o);
    case AR_OPTION_COUNT:
        return set_count(o);
    case AR_OPTION_CHOICE:
    case AR_OPTION_MAYBE:
        return set_choice(o);
    case AR_OPTION_HELP:
    case AR_OPTION_HEADING:
        break;
    }
    return -1;
}

/* As getopt wants it: words, and letters. */
static void describe(const struct ar_option *options, size_t n, struct option *words, char *letters)
{
    strcpy(letters, ":");
    for (size_t i = 0; i < n; i++) {
        const struct ar_option *o = &options[i];
        int takes = o->kind == AR_OPTION_FLAG || o->kind == AR_OPTION_HELP ? no_argument
                    : o->kind == AR_OPTION_MAYBE                           ? optional_argument
                                                                           : required_argument;

        if (o->name)
            *words++ = (struct option){o->name, takes, NULL, FIRST_CODE + (int)i};
        if (o->letter) {
            strncat(letters, &o->letter, 1);
            strcat(letters, takes == required_argument ? ":" : "");
        }
    }
    words[0] = (struct option){NULL, 0, NULL, 0};
}

static const struct ar_option *option_of(const struct ar_option *options, size_t n, int c)
{
    for (size_t i = 0; i < n; i++)
        if (c == FIRST_CODE + (int)i || (options[i].letter && c == options[i].letter))
            return &options[i];
    return NULL;
}

/* ---- help ------------------------------------------------------------------------------------ */

#define HELP_COLUMN 21  /* of what an option does, at least */
#define MOST_COLUMNS 22 /* of an option that has the first line of that beside it */

/* "  -n, --rows N", "      --matrix[=OF]", "  -d SECONDS" */
static size_t put_entry(const struct ar_option *o, char *text, size_t n_text)
{
    char letter[5] = "    ", name[64] = "", value[64] = "";

    if (o->letter)
        snprintf(letter, sizeof letter, "-%c%s", o->letter, o->name ? ", " : "");
    if (o->name)
        snprintf(name, sizeof name, "--%s", o->name);
    if (o->value)
        snprintf(value, sizeof value, o->kind == AR_OPTION_MAYBE ? "[=%s]" : " %s", o->value);
    return (size_t)snprintf(text, n_text, "  %s%s%s", letter, name, value);
}

static size_t find_column(const struct ar_option *options, size_t n)
{
    size_t column = HELP_COLUMN;
    char entry[160];

    for (size_t i = 0; i < n; i++) {
        size_t n_columns =
            options[i].kind == AR_OPTION_HEADING ? 0 : put_entry(&options[i], entry, sizeof entry);

        if (n_columns <= MOST_COLUMNS && n_columns + 2 > column)
            column = n_columns + 2;
    }
    return column;
}

static void print_option(const struct ar_option *o, size_t column)
{
    char entry[160], line[256];

    if (put_entry(o, entry, sizeof entry) > MOST_COLUMNS) {
        snprintf(line, sizeof line, "%s\n", entry);
        ar_print_own(stdout, line);
        *entry = '\0';
    }
    for (const char *at = o->help; at; *entry = '\0') {
        const char *end = strchrnul(at, '\n');

        snprintf(line, sizeof line, "%-*s%.*s\n", (int)column, entry, (int)(end - at), at);
        ar_print_own(stdout, line);
        at = *end ? end + 1 : NULL;
    }
}

static int print_help(const struct ar_option *options, size_t n, const char *usage, const char *end)
{
    size_t column = find_column(options, n);
    char line[256];

    ar_print_own(stdout, usage);
    for (size_t i = 0; i < n; i++)
        if (options[i].kind == AR_OPTION_HEADING) {
            snprintf(line, sizeof line, "\n%s:\n", options[i].help);
            ar_print_own(stdout, line);
        } else {
            print_option(&options[i], column);
        }
    if (end) {
        ar_print_own(stdout, "\n");
        ar_print_own(stdout, end);
    }
    return AR_EXIT_OK;
}

/* ---------------------------------------------------------------------------------------------- */

int ar_options_parse(int argc, char **argv, const struct ar_option *options, size_t n,
                     const char *usage, const char *end)
{
    struct option words[MOST_OPTIONS + 1];
    char letters[2 * MOST_OPTIONS + 2];
    int status = -1;

    if (n > MOST_OPTIONS)
        return ar_complain("too many options");
    describe(options, n, words, letters);
    for (int c; status < 0 && (c = getopt_long(argc, argv, letters, words, NULL)) != -1;) {
        const struct ar_option *o = option_of(options, n, c);

        if (!o)
            status = ar_complain_option(c, argv);
        else if (o->kind == AR_OPTION_HELP)
            status = print_help(options, n, usage, end);
        else
            status = set(o);
    }
    return status;
}
