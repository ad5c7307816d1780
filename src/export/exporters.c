// SPDX-License-Identifier: BSD-3-Clause
#include "export/exporters.h"

#include "export/pstats.h"

#include <string.h>

const struct ar_exporter ar_exporters[] = {
    {"pstats",
     {".pstats", ".prof", ".dat", ".out"},
     "for Python's pstats, snakeviz, gprof2dot; all ranks summed up,\nor one of them",
     true,
     ar_pstats_encode},
    {0},
};

const struct ar_exporter *ar_exporter_named(const char *name)
{
    for (const struct ar_exporter *e = ar_exporters; e->name; e++)
        if (strcmp(name, e->name) == 0)
            return e;
    return NULL;
}

static bool has_suffix(const struct ar_exporter *exporter, const char *suffix)
{
    for (const char *const *at = exporter->suffixes; *at; at++)
        if (strcmp(suffix, *at) == 0)
            return true;
    return false;
}

const struct ar_exporter *ar_exporter_of_file(const char *path)
{
    const char *dot = strrchr(path, '.');

    for (const struct ar_exporter *e = ar_exporters; dot && e->name; e++)
        if (has_suffix(e, dot))
            return e;
    return NULL;
}
