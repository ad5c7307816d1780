// SPDX-License-Identifier: BSD-3-Clause
/*
 * blocking: is the main thread of this process blocked, so that it may be waiting for another thread?
 *
 * A thread beside the main one that waits in MPI costs its process nothing while the main one works: it listens. Only where
 * both are blocked is the process held up. What blocks are locks, queues, joins and polls, by name: Python's functions that
 * do nothing else, and those in C that they call.
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>

/* Does it do nothing else? */
bool ar_blocks_in_python(const char *name, const char *file);
bool ar_blocks_in_c(const char *name);

/* A look at another thread: it may be wrong a moment later. */
bool ar_main_thread_is_blocked(void);
