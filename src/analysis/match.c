// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/match.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct ar_wanted ar_wanted_parse(const char *text)
{
    struct ar_wanted wanted = {.text = text};
    const char *colon = text ? strrchr(text, ':') : NULL;
    char *end;

    if (!colon || colon == text || !colon[1])
        return wanted;

    unsigned long line = strtoul(colon + 1, &end, 10);

    if (!*end && line && line <= UINT32_MAX) {
        wanted.file = text;
        wanted.n_file = (int)(colon - text);
        wanted.line = (uint32_t)line;
    }
    return wanted;
}

/* All of it, or its end from a separator on. */
static bool ends_in(const char *text, const char *end, size_t n_end, char separator)
{
    size_t n = strlen(text);

    if (n < n_end || strncmp(text + n - n_end, end, n_end) != 0)
        return false;
    return n == n_end || text[n - n_end - 1] == separator;
}

bool ar_wanted_name(const struct ar_wanted *wanted, const char *name)
{
    if (!wanted->text)
        return true;
    if (wanted->file || !*name)
        return false;
    if (ends_in(name, wanted->text, strlen(wanted->text), '.'))
        return true;
    return strpbrk(wanted->text, "*?[") && fnmatch(wanted->text, name, 0) == 0;
}

bool ar_wanted_place(const struct ar_wanted *wanted, const char *file, uint32_t line)
{
    return wanted->file && line == wanted->line && *file &&
           ends_in(file, wanted->file, (size_t)wanted->n_file, '/');
}
