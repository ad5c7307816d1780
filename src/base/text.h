// SPDX-License-Identifier: BSD-3-Clause
/* text: what string.h leaves out. */
#pragma once

#include <stdbool.h>
#include <string.h>

static inline bool ar_starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static inline bool ar_ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);

    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}
