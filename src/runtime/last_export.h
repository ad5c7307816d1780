// SPDX-License-Identifier: BSD-3-Clause
/*
 * last_export: SIGTERM, where the user wants a file of another tool's format, in place of the live file or besides it.
 *
 * The handler starts the command, which reads the live file as it does that of any running process, and
 * waits for it. A launcher that sends SIGKILL meanwhile does not reach the command, which is in a session
 * of its own. On any trouble the live file stays.
 *
 * Life cycle: once, after the recording has started.
 */
#pragma once

#include <stdbool.h>

/* Paths are absolute, since the program may change its directory. */
struct ar_last_export {
    const char *program; /* the command, whose `export` makes a file of the live file */
    const char *format;  /* as after -f */
    const char *target;  /* its name; one that is there is replaced */
    bool keeps;          /* the live file stays as after any SIGTERM: it holds more */
};

/* false: a name is too long, or the signal is not ours to have. */
bool ar_export_when_terminated(const struct ar_last_export *wanted);
