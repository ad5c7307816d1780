// SPDX-License-Identifier: BSD-3-Clause
/*
 * terminated: SIGTERM, where the user wants a file of another tool's format and not a live file.
 *
 * The handler starts the command, which reads the live file as it does that of any running process,
 * waits for it, and lets the signal do what it does without us: the process ends by it. So it works
 * wherever the program is, in MPI_Recv as well, where a handler in Python would wait for the call to
 * return. A launcher that sends SIGKILL meanwhile does not reach the command, which is in a session
 * of its own. On any trouble the live file stays.
 *
 * Only a process in which nobody else cares for the signal has the handler, and one that the program
 * installs replaces it. A forked child has it too, and just ends.
 *
 * Life cycle: once, after the recording has started. Threads: any; the first that gets the signal.
 */
#pragma once

#include <stdbool.h>

/*
 * `program export` makes a pstats file of the live file, under the name `target`, which it replaces.
 * false: a name is too long, or the signal is not ours to have.
 */
bool ar_terminated_export(const char *program, const char *target);
