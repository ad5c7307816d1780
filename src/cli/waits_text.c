// SPDX-License-Identifier: BSD-3-Clause
#include "cli/waits_text.h"

#include "analysis/mpi_class.h"
#include "cli/screen.h"

#include <stdlib.h>
#include <string.h>

const char *ar_show_operation(const struct ar_profile *p, uint32_t node)
{
    const struct ar_function *f = &p->functions[p->nodes[node].function];
    const char *name = ar_strtab_text(&p->strings, f->name);

    if (f->kind == AR_FUNCTION_OPERATION) {
        const char *dot = strrchr(name, '.');

        return dot ? dot + 1 : name;
    }
    name = ar_mpi_class_of(name).function;
    return strncmp(name, "MPI_", 4) == 0 ? name + 4 : name;
}

static int in_order(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

#define MOST_RANGES 4

/* Ranges of numbers in order, the first few of them. */
static void put_ranges(char *text, size_t n_text, const uint32_t *ranks, size_t n)
{
    size_t at = strlen(text), n_ranges = 0, i = 0;

    while (i < n && n_ranges < MOST_RANGES) {
        size_t end = i + 1;

        while (end < n && ranks[end] == ranks[end - 1] + 1)
            end++;
        at += (size_t)snprintf(text + at, n_text - at, n_ranges ? ",%u" : "%u", ranks[i]);
        if (end > i + 1)
            at += (size_t)snprintf(text + at, n_text - at, end == i + 2 ? ",%u" : "-%u",
                                   ranks[end - 1]);
        n_ranges++;
        i = end;
    }
    if (i < n)
        snprintf(text + at, n_text - at, " and %zu more", n - i);
}

const char *ar_show_ranks(const struct ar_profile *p, const uint32_t *processes, size_t n)
{
    static char texts[4][160];
    static int turn;
    char *text = texts[turn++ % 4];
    uint32_t *ranks = malloc((n + 1) * sizeof *ranks);

    if (n == 1)
        snprintf(text, sizeof texts[0], "%s", ar_show_process(p, processes[0]));
    else
        snprintf(text, sizeof texts[0], "%zu ranks", n);
    if (ranks && n > 1) {
        for (size_t i = 0; i < n; i++)
            ranks[i] = p->processes[processes[i]].world_rank;
        qsort(ranks, n, sizeof *ranks, in_order);
        if (ranks[n - 1] != AR_RANK_NONE) {
            snprintf(text, sizeof texts[0], "ranks ");
            put_ranges(text, sizeof texts[0], ranks, n);
        }
    }
    free(ranks);
    return text;
}

const char *ar_show_wait_class(enum ar_wait_class class)
{
    static const char *const words[AR_N_WAIT_CLASSES] = {
        [AR_WAIT_BARRIER] = "at a barrier",         [AR_WAIT_ALL] = "for all ranks",
        [AR_WAIT_LATE_BROADCAST] = "for the root",  [AR_WAIT_EARLY_REDUCE] = "as the root",
        [AR_WAIT_EARLY_SCAN] = "for lower ranks",   [AR_WAIT_LATE_SENDER] = "for a sender",
        [AR_WAIT_LATE_RECEIVER] = "for a receiver",
    };

    return words[class];
}
