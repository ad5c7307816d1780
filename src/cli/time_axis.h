// SPDX-License-Identifier: BSD-3-Clause
/*
 * time_axis: where the ticks of an axis of time are, and what is written at them.
 *
 * Ticks are a round number apart: 1, 2 or 5 of a power of ten; from a minute on as clocks have them.
 *
 *     struct ar_time_axis axis = ar_time_axis_of(from_ns, to_ns, 5);     // about five ticks, not more
 *     for (int64_t at = axis.first_ns; at <= to_ns; at += axis.step_ns)
 *         puts(ar_time_axis_label(&axis, at, room, sizeof room));        // "1.25 s"
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ar_time_axis {
    int64_t first_ns, step_ns;
    double unit_ns;
    const char *unit;
    int n_decimals;
};

struct ar_time_axis ar_time_axis_of(int64_t from_ns, int64_t to_ns, size_t most_ticks);
const char *ar_time_axis_label(const struct ar_time_axis *axis, int64_t at_ns, char *room,
                               size_t n_room);
/* As --from and --to take it, with as many digits as tell apart what is `resolution_ns` apart: "1.25s". */
const char *ar_time_option(int64_t at_ns, double resolution_ns, char *room, size_t n_room);
