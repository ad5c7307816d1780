// SPDX-License-Identifier: BSD-3-Clause
/*
 * engine: sees Python functions being entered and left, in all threads, and tells the tree.
 *
 * Two are built in. The native one is the cheapest hook that the interpreter offers without
 * changing what programs can do: frame evaluation (PEP 523) up to 3.11, sys.monitoring from 3.12
 * on. The other is the trace API, for where another tool holds that hook. `make bench` measures
 * what each adds to a call.
 *
 * Threads: start and stop under the GIL. Errors: start returns false with a Python exception set.
 */
#pragma once

#include "runtime/sources.h"

#include <stdbool.h>

/* Which functions in C are recorded; how: c_stubs.h. */
enum ar_builtins {
    AR_BUILTINS_NONE,
    AR_BUILTINS_COUNTED, /* all that are called through a pointer */
    AR_BUILTINS_ALL,     /* all that cProfile sees, as often as it does */
    AR_N_BUILTINS
};
extern const char *const ar_builtins_names[AR_N_BUILTINS]; /* as --builtins has them */

struct ar_engine {
    const char *name;
    bool (*start)(void);
    void (*stop)(void);
    void (*thread_starts)(struct ar_thread *t); /* NULL: it has no need of it */
};

extern const struct ar_engine ar_engine_native, ar_engine_trace;

/* Python functions, by the native engine, or by the other one where that cannot be had. */
extern const struct ar_source ar_source_python;
/* The one that was started. */
const char *ar_engine_name(void);
