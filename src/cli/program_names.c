// SPDX-License-Identifier: BSD-3-Clause
#include "cli/program_names.h"

#include "cli/screen.h"

#include <string.h>

#define NAME_COLUMNS 26

/* "heat.py", "-m heat"; "" where it is not known, as of files of cProfile. */
static const char *program_of(const struct ar_summary *s)
{
    const char *program = ar_profile_fact_text(&s->p, "program");

    return *program == '-' ? program : ar_file_name(program);
}

static void print_name(const char *name)
{
    ar_print_fit(name, ar_count_columns(name, NAME_COLUMNS - 1), AR_KEEP_START);
}

size_t ar_print_programs(const struct ar_summary *runs, size_t n_runs)
{
    const char *first = program_of(&runs[0]), *other = first;

    for (size_t i = 1; i < n_runs && strcmp(first, other) == 0; i++)
        other = program_of(&runs[i]);
    if (strcmp(first, other) == 0 || !*first || !*other)
        return 0;
    ar_print("the programs differ: ");
    print_name(first);
    ar_print(" and ");
    print_name(other);
    ar_print("\n");
    return 1;
}
