// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/match.h"

#include "analysis/names.h"
#include "analysis/place.h"

#include <fnmatch.h>
#include <stdio.h>
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

static bool has_pattern(const struct ar_wanted *wanted)
{
    return wanted->text && !wanted->file && strpbrk(wanted->text, "*?[");
}

bool ar_wanted_file(const struct ar_wanted *wanted, const char *file)
{
    const char *slash = strrchr(file, '/');

    if (!wanted->text || wanted->file || !*file)
        return false;
    if (ends_in(file, wanted->text, strlen(wanted->text), '/'))
        return true;
    return has_pattern(wanted) && (fnmatch(wanted->text, file, 0) == 0 ||
                                   (slash && fnmatch(wanted->text, slash + 1, 0) == 0));
}

bool ar_wanted_region(const struct ar_wanted *wanted, const struct ar_profile *p, uint32_t function)
{
    const char *name = ar_strtab_text(&p->strings, p->functions[function].name);
    char plain[AR_NAME_BYTES];

    if (p->functions[function].kind != AR_FUNCTION_REGION)
        return false;
    snprintf(plain, sizeof plain, "%s", name);
    plain[strcspn(plain, "(")] = '\0';
    return ar_wanted_name(wanted, name) || ar_wanted_name(wanted, plain);
}

static bool name_fits(const struct ar_wanted *wanted, const struct ar_profile *p, uint32_t function)
{
    char room[AR_NAME_BYTES];
    const char *plain = ar_plain_name(p, function, room);

    return ar_wanted_name(wanted, ar_strtab_text(&p->strings, p->functions[function].name)) ||
           ar_wanted_name(wanted, plain) || ar_wanted_region(wanted, p, function) ||
           (strncmp(plain, "MPI_", 4) == 0 && ar_wanted_name(wanted, plain + 4));
}

bool ar_wanted_function(const struct ar_wanted *wanted, const struct ar_profile *p,
                        uint32_t function)
{
    const struct ar_function *f = &p->functions[function];

    if (wanted->file)
        return ar_wanted_place(wanted, ar_strtab_text(&p->strings, f->file), f->first_line);
    return name_fits(wanted, p, function);
}

bool ar_wanted_node(const struct ar_wanted *wanted, const struct ar_profile *p, uint32_t node)
{
    uint32_t kind = p->functions[p->nodes[node].function].kind;

    if (!wanted->file || (kind != AR_FUNCTION_MPI && kind != AR_FUNCTION_OPERATION))
        return ar_wanted_function(wanted, p, p->nodes[node].function);

    struct ar_place place = ar_place_of_call(p, node);

    return ar_wanted_place(wanted, ar_place_file(p, place), place.line);
}
