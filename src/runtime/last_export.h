// SPDX-License-Identifier: BSD-3-Clause
/*
 * last_export: SIGTERM, where the user wants a file of another tool's format and not a live file.
 *
 * The handler starts the command, which reads the live file as it does that of any running process, and
 * waits for it. A launcher that sends SIGKILL meanwhile does not reach the command, which is in a session
 * of its own. On any trouble the live file stays.
 *
 * Life cycle: once, after the recording has started.
 */
#pragma once

#include <stdbool.h>

/*
 * `program export` makes a pstats file of the live file, under the name `target`, which it replaces.
 * false: a name is too long, or the signal is not ours to have.
 */
bool ar_export_when_terminated(const char *program, const char *target);
