// SPDX-License-Identifier: BSD-3-Clause
/*
 * started: the commands of other programs that this process starts, for those who ask what it waited for.
 *
 * The last moment at which a command is known is just before exec, in the child. There the live file cannot be written: after
 * fork its mapping is the parent's, and after vfork its descriptor may be closed already. So commands are noted in a page that a
 * process shares with its children, and each process writes its own to its live file as the fact "started", at the latest when its
 * file is closed:
 *
 *     started = "4711-815 gcc -c x.c"      pid and start time of the process that started it, and the command
 *
 * The first AR_MOST_STARTED commands that differ are noted; of each the first AR_STARTED_BYTES - 1 bytes.
 *
 * Threads:    any. Signals: ar_started_note is safe in a child of vfork.
 * Allocation: one page, at the start. Without it nothing is noted.
 */
#pragma once

#include <stdint.h>

#define AR_MOST_STARTED 48
#define AR_STARTED_BYTES 64

void ar_started_open(void);
/* `arguments` are those of exec; `starter` is the pid of the process that will wait for it. */
void ar_started_note(char *const arguments[], uint32_t starter);
/* A command for the shell. */
void ar_started_note_line(const char *command, uint32_t starter);
/* Writes what this process has started since the last time to its live file. */
void ar_started_write(uint32_t pid, uint64_t pid_start);
