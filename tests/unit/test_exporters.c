// SPDX-License-Identifier: BSD-3-Clause
/* Every format in the table can be named, is known by its files, and fits the help. */
#include "export/exporters.h"

#include "tap.h"

#include <string.h>

#define MOST_COLUMNS 66

static bool fits(const char *help)
{
    for (const char *at = help, *end; *at; at = *end ? end + 1 : end) {
        end = at + strcspn(at, "\n");
        if (end == at || end - at > MOST_COLUMNS)
            return false;
    }
    return *help;
}

static bool is_known_by_its_files(const struct ar_exporter *exporter)
{
    for (size_t i = 0; exporter->suffixes[i]; i++) {
        char path[64];

        snprintf(path, sizeof path, "a.dir/run.1%s", exporter->suffixes[i]);
        if (ar_exporter_of_file(path) != exporter)
            return false;
    }
    return exporter->suffixes[0];
}

static void test_each(void)
{
    size_t n = 0;

    for (const struct ar_exporter *e = ar_exporters; e->name; e++, n++) {
        tap_ok(ar_exporter_named(e->name) == e, "%s is found by its name", e->name);
        tap_ok(is_known_by_its_files(e), "%s is known by the names of its files", e->name);
        tap_ok(fits(e->help), "%s says what it is for, in lines that fit", e->name);
        tap_ok((e->write != NULL) + (e->save != NULL) + (e->encode != NULL) == 1,
               "%s is written in one way", e->name);
    }
    tap_ok(n > 0, "there are formats");
}

static void test_others(void)
{
    tap_ok(!ar_exporter_named("") && !ar_exporter_named("PSTATS"), "other names are none");
    tap_ok(!ar_exporter_of_file("run.allranks") && !ar_exporter_of_file("pstats") &&
               !ar_exporter_of_file("run.prof.gz") && !ar_exporter_of_file("-") &&
               !ar_exporter_of_file(".chrome.json") && !ar_exporter_of_file("run.json"),
           "other files are of no format");
}

int main(void)
{
    test_each();
    test_others();
    return tap_done();
}
