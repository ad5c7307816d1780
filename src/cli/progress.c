// SPDX-License-Identifier: BSD-3-Clause
#include "cli/progress.h"

#include "base/clock.h"
#include "cli/screen.h"

#include <stdio.h>
#include <unistd.h>

#define SILENT_NS 1000000000u
#define BETWEEN_NS 100000000u

/* The command's own, from its first step on. */
static struct {
    uint64_t start_ns, shown_ns;
    bool is_shown;
} progress;

static void take_away(void)
{
    if (progress.is_shown)
        ar_note("\r\033[K");
    progress.is_shown = false;
}

/* Not more often than a person can read. */
static bool is_due(void)
{
    uint64_t now_ns = ar_clock_ns(CLOCK_MONOTONIC);

    if (!progress.start_ns)
        progress.start_ns = now_ns;
    if (now_ns - progress.start_ns < SILENT_NS || now_ns - progress.shown_ns < BETWEEN_NS ||
        !isatty(STDERR_FILENO))
        return false;
    progress.shown_ns = now_ns;
    return true;
}

static void show(const char *what)
{
    ar_note("\r\033[Kallranks: %s ...", what);
    progress.is_shown = true;
}

void ar_progress(const char *what)
{
    if (!what)
        take_away();
    else if (is_due())
        show(what);
}

void ar_progress_files(size_t n_read, size_t n_files)
{
    char text[96];

    if (n_read >= n_files) {
        take_away();
    } else if (is_due()) {
        snprintf(text, sizeof text, "reading %s of %s", ar_show_count(n_read + 1),
                 ar_show_items(n_files, "file", "files"));
        show(text);
    }
}
