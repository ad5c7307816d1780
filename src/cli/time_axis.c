// SPDX-License-Identifier: BSD-3-Clause
#include "cli/time_axis.h"

#include <stdio.h>

static const struct {
    double ns;
    const char *name;
} units[] = {{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}};

/* The smallest one that is long enough. */
static int64_t step_for(double least_ns)
{
    static const int64_t factors[] = {1, 2, 5};
    static const int64_t long_s[] = {60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400};

    for (int64_t power = 1; power <= INT64_C(10000000000); power *= 10)
        for (int i = 0; i < 3; i++)
            if ((double)(factors[i] * power) >= least_ns)
                return factors[i] * power;
    for (size_t i = 0; i < sizeof long_s / sizeof *long_s; i++)
        if ((double)long_s[i] * 1e9 >= least_ns)
            return long_s[i] * 1000000000;
    return (int64_t)(least_ns / 86400e9 + 1) * 86400 * 1000000000;
}

/* In which times up to there are short numbers. */
static size_t unit_for(double ns)
{
    size_t best = 0;

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (ns >= units[i].ns)
            best = i;
    return best;
}

static int decimals_for(double step_ns, double unit_ns)
{
    int n = 0;

    for (double step = step_ns / unit_ns; step < 0.999 && n < 9; step *= 10)
        n++;
    return n;
}

struct ar_time_axis ar_time_axis_of(int64_t from_ns, int64_t to_ns, size_t most_ticks)
{
    double length = (double)(to_ns - from_ns);
    int64_t step = step_for(length / (double)(most_ticks ? most_ticks : 1));
    size_t unit = unit_for((double)to_ns);

    return (struct ar_time_axis){.first_ns = (from_ns + step - 1) / step * step,
                                 .step_ns = step,
                                 .unit_ns = units[unit].ns,
                                 .unit = units[unit].name,
                                 .n_decimals = decimals_for((double)step, units[unit].ns)};
}

const char *ar_time_axis_label(const struct ar_time_axis *axis, int64_t at_ns, char *room,
                               size_t n_room)
{
    if (at_ns == 0)
        snprintf(room, n_room, "0 %s", axis->unit);
    else
        snprintf(room, n_room, "%.*f %s", axis->n_decimals, (double)at_ns / axis->unit_ns,
                 axis->unit);
    return room;
}

const char *ar_time_option(int64_t at_ns, double resolution_ns, char *room, size_t n_room)
{
    size_t unit = at_ns ? unit_for((double)at_ns) : sizeof units / sizeof *units - 1;
    int n_decimals =
        !at_ns ? 0 : decimals_for(resolution_ns < 1 ? 1 : resolution_ns, units[unit].ns);

    snprintf(room, n_room, "%.*f%s", n_decimals, (double)at_ns / units[unit].ns, units[unit].name);
    return room;
}
