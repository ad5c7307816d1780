// SPDX-License-Identifier: BSD-3-Clause
#include "import/file_ranks.h"

#include "format/livefile.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DIGITS 9 /* more would not fit a rank */

static size_t n_digits(const char *at)
{
    return strspn(at, "0123456789");
}

/*
 * Goes along two names; of the numbers in them, which one differs? False: none, more than one, or
 * something else.
 */
static bool find_difference(const char *a, const char *b, size_t *which)
{
    size_t n_numbers = 0, n_differ = 0;

    while (*a || *b) {
        size_t in_a = n_digits(a), in_b = n_digits(b);

        if (in_a && in_b) {
            if (in_a != in_b || memcmp(a, b, in_a) != 0) {
                *which = n_numbers;
                n_differ++;
            }
            n_numbers++;
            a += in_a;
            b += in_b;
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return n_differ == 1;
}

static bool number_at(const char *name, size_t which, uint32_t *number)
{
    for (; *name; name++) {
        size_t n = n_digits(name);

        if (n && which-- == 0) {
            *number = (uint32_t)strtoul(name, NULL, 10);
            return n <= MOST_DIGITS;
        }
        name += n ? n - 1 : 0;
    }
    return false;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* cpu_1 and cpu_01 are not the same rank. */
static bool all_different(const uint32_t *numbers, size_t n)
{
    uint32_t *sorted = malloc((n + 1) * sizeof *sorted);
    bool different = sorted != NULL;

    if (!sorted)
        return false;
    memcpy(sorted, numbers, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_number);
    for (size_t i = 1; i < n; i++)
        different = different && sorted[i - 1] != sorted[i];
    free(sorted);
    return different;
}

static bool ranks_from_names(char *const *paths, size_t n, uint32_t *ranks)
{
    size_t which = 0, other = 0;

    if (n < 2 || !find_difference(paths[0], paths[1], &which))
        return false;
    for (size_t i = 2; i < n; i++)
        if (!find_difference(paths[0], paths[i], &other) || other != which)
            return false;
    for (size_t i = 0; i < n; i++)
        if (!number_at(paths[i], which, &ranks[i]))
            return false;
    return all_different(ranks, n);
}

void ar_file_ranks(char *const *paths, size_t n, uint32_t *ranks)
{
    if (!ranks_from_names(paths, n, ranks))
        for (size_t i = 0; i < n; i++)
            ranks[i] = (uint32_t)i;
}
