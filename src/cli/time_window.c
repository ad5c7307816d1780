// SPDX-License-Identifier: BSD-3-Clause
#include "cli/time_window.h"

#include "cli/screen.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    double ns;
} units[] = {{"ns", 1},     {"us", 1e3},   {"ms", 1e6}, {"s", 1e9},
             {"min", 60e9}, {"h", 3600e9}, {"", 1e9}};

static bool read_time(const char *text, int64_t *ns)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || !(value >= 0 && value < 1e18))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].name) == 0) {
            double in_ns = value * units[i].ns;

            *ns = in_ns < 0x1p62 ? (int64_t)(in_ns + 0.5) : INT64_MAX / 2;
            return true;
        }
    return false;
}

bool ar_window_read(struct ar_time_window *window)
{
    window->from_ns = 0;
    window->to_ns = INT64_MAX / 2;
    if (window->from && !read_time(window->from, &window->from_ns)) {
        ar_complain("--from %s: not a time (such as 1.5s, 200ms or 2min)", window->from);
        return false;
    }
    if (window->to && !read_time(window->to, &window->to_ns)) {
        ar_complain("--to %s: not a time (such as 1.5s, 200ms or 2min)", window->to);
        return false;
    }
    if (window->from_ns >= window->to_ns) {
        ar_complain("--from %s: is not before --to %s", window->from ? window->from : "0",
                    window->to ? window->to : "");
        return false;
    }
    return true;
}
