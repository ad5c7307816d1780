// SPDX-License-Identifier: BSD-3-Clause
/*
 * time_window: the part of a run's time that a command shows, --from and --to.
 *
 *     struct ar_time_window window = {0};
 *     const struct ar_option options[] = {…, AR_WINDOW_OPTIONS(&window)};
 *     ...
 *     if (!ar_window_read(&window)) return AR_EXIT_BAD;      // has complained
 *     … window.from_ns, window.to_ns …                       // since the run began
 */
#pragma once

#include "cli/options.h"

#include <stdint.h>

struct ar_time_window {
    const char *from, *to; /* as the user wrote them; NULL: not given */
    int64_t from_ns, to_ns;
};

#define AR_WINDOW_OPTIONS(window)                                                                  \
    {.name = "from",                                                                               \
     .kind = AR_OPTION_TEXT,                                                                       \
     .to = &(window)->from,                                                                        \
     .value = "TIME",                                                                              \
     .help = "start here, since the run began: 1.5s, 200ms, 2min (default: s)"},                   \
    {                                                                                              \
        .name = "to", .kind = AR_OPTION_TEXT, .to = &(window)->to, .value = "TIME",                \
        .help = "end here"                                                                         \
    }

/* False: it is no window of time, and that has been said. */
bool ar_window_read(struct ar_time_window *window);
