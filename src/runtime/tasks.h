// SPDX-License-Identifier: BSD-3-Clause
/*
 * tasks: asyncio's tasks, by name: how long they ran, and how long they waited to go on.
 *
 * A step of a task is a coroutine that is resumed by the event loop's Handle._run. The tree asks
 * here which task that is; its node comes between the loop and the coroutine. Names that asyncio
 * makes up (Task-1, Task-2 …) would make a node each: such tasks go by their coroutine instead.
 *
 * Neither the task nor its coroutine is asked in a way that could run code of the program: a class
 * that computes the name of its tasks goes by the name that it was given.
 *
 * A task waits from the end of a step to the beginning of the next.
 *
 * Threads: under the GIL.
 */
#pragma once

#include "runtime/sources.h"

extern const struct ar_source ar_source_tasks;
