// SPDX-License-Identifier: BSD-3-Clause
#include "export/rank_choice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* "0-3, 7" of sorted ranks, cut short with "..." where the room ends. */
static void describe_ranks(const uint32_t *ranks, size_t n_ranks, char *text, size_t n_text)
{
    size_t used = 0;

    for (size_t i = 0, last; i < n_ranks; i = last + 1) {
        const char *comma = i ? ", " : "";

        for (last = i; last + 1 < n_ranks && ranks[last + 1] - ranks[last] <= 1;)
            last++;
        if (n_text - used < 40) { /* two numbers, two commas, "..." */
            snprintf(text + used, n_text - used, "%s...", comma);
            return;
        }
        used += (size_t)snprintf(text + used, n_text - used, "%s%" PRIu32, comma, ranks[i]);
        if (ranks[last] != ranks[i])
            used += (size_t)snprintf(text + used, n_text - used, "-%" PRIu32, ranks[last]);
    }
}

static enum ar_status fail_no_such_rank(const struct ar_profile *p, uint32_t world_rank,
                                        struct ar_error *err)
{
    uint32_t *ranks = calloc(p->n_processes + 1, sizeof *ranks);
    size_t n_ranks = 0;
    char text[256];

    if (!ranks)
        return ar_fail(err, AR_NOMEM, "out of memory");
    for (size_t i = 0; i < p->n_processes; i++)
        if (p->processes[i].world_rank != AR_RANK_NONE)
            ranks[n_ranks++] = p->processes[i].world_rank;
    qsort(ranks, n_ranks, sizeof *ranks, by_number);
    describe_ranks(ranks, n_ranks, text, sizeof text);
    free(ranks);
    if (!n_ranks)
        return ar_fail(err, AR_BAD,
                       "there is no rank %" PRIu32 ": no process of this run has a rank "
                       "(ask for all of them)",
                       world_rank);
    return ar_fail(err, AR_BAD, "there is no rank %" PRIu32 " in this run (it has %s %s)",
                   world_rank, n_ranks == 1 ? "only rank" : "ranks", text);
}

enum ar_status ar_export_choose_locations(const struct ar_profile *p,
                                          const struct ar_export_choice *which, bool *wanted,
                                          struct ar_error *err)
{
    bool found = !which->one_rank;

    for (size_t i = 0; i < p->n_processes && !found; i++)
        found =
            p->processes[i].world_rank == which->world_rank && which->world_rank != AR_RANK_NONE;
    if (!found)
        return fail_no_such_rank(p, which->world_rank, err);
    for (size_t i = 0; i < p->n_locations; i++)
        wanted[i] = !which->one_rank ||
                    p->processes[p->locations[i].process].world_rank == which->world_rank;
    return AR_OK;
}
