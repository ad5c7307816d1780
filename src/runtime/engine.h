// SPDX-License-Identifier: BSD-3-Clause
/*
 * engine: sees Python functions being entered and left, in all threads, and tells the tree.
 *
 * One is built in, by the version of Python: frame evaluation (PEP 523) up to 3.11, sys.monitoring
 * from 3.12 on. Each is the cheapest hook that its interpreters offer without changing what
 * programs can do; `make bench` measures what each adds to a call.
 *
 * Threads: start and stop under the GIL. Errors: start returns false with a Python exception set.
 */
#pragma once

#include <stdbool.h>

extern const char *const ar_engine_name;

bool ar_engine_start(void);
void ar_engine_stop(void);
