// SPDX-License-Identifier: BSD-3-Clause
#include "export/exporters.h"

#include "base/text.h"
#include "export/chrome.h"
#include "export/cubex.h"
#include "export/lprof.h"
#include "export/otf2.h"
#include "export/perfetto.h"
#include "export/pstats.h"
#include "export/speedscope.h"

#include <string.h>

const struct ar_exporter ar_exporters[] = {
    {.name = "pstats",
     .suffixes = {".pstats", ".prof", ".dat", ".out"},
     .help = "for Python's pstats, snakeviz, gprof2dot; all ranks summed up,\nor one of them",
     .one_rank = true,
     .write = ar_pstats_encode},
    {.name = "lprof",
     .suffixes = {".lprof"},
     .help = "counted lines (allranks run --lines), for python -m line_profiler;\nall ranks summed "
             "up, or one of them",
     .one_rank = true,
     .write = ar_lprof_encode},
    {.name = "otf2",
     .suffixes = {".otf2"},
     .help = "a trace for Vampir, Scalasca, TraceCompass and otf2-print: in the\n"
             "directory FILE traces.otf2 and what belongs to it, in place of\n"
             "those that allranks wrote; others are not replaced",
     .save = ar_otf2_save,
     .is_directory = true,
     .has_window = true},
    {.name = "cubex",
     .suffixes = {".cubex"},
     .help = "CUBE 4, Score-P's profiles, for Cube, pycubexr and Extra-P: calls,\ntime, bytes and "
             "counters of call paths on each thread",
     .write = ar_cubex_encode},
    {.name = "perfetto",
     .suffixes = {".perfetto-trace", ".pftrace"},
     .help = "a trace for ui.perfetto.dev: all ranks and threads, each call\nand message",
     .encode = ar_perfetto_encode,
     .has_window = true},
    {.name = "chrome",
     .suffixes = {".chrome.json"},
     .help =
         "the same as Trace Event JSON, for chrome://tracing, vizviewer\nand scripts; small runs "
         "only",
     .encode = ar_chrome_encode,
     .has_window = true,
     .most_events = AR_CHROME_MOST_EVENTS},
    {.name = "speedscope",
     .suffixes = {".speedscope.json"},
     .help =
         "for speedscope.app: the calls of each thread in order, if there\nis a trace, else the "
         "call tree of each rank",
     .encode = ar_speedscope_encode,
     .has_window = true,
     .most_events = AR_SPEEDSCOPE_MOST_EVENTS},
    {0},
};

const struct ar_exporter *ar_exporter_named(const char *name)
{
    for (const struct ar_exporter *e = ar_exporters; e->name; e++)
        if (strcmp(name, e->name) == 0)
            return e;
    return NULL;
}

/* And something before it. */
static bool has_suffix(const struct ar_exporter *exporter, const char *name)
{
    for (const char *const *at = exporter->suffixes; *at; at++)
        if (ar_ends_with(name, *at) && strlen(name) > strlen(*at))
            return true;
    return false;
}

const struct ar_exporter *ar_exporter_of_file(const char *path)
{
    for (const struct ar_exporter *e = ar_exporters; e->name; e++)
        if (has_suffix(e, ar_base_name(path)))
            return e;
    return NULL;
}
