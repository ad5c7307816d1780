// SPDX-License-Identifier: BSD-3-Clause
/*
 * child_waits: a rank that is late because it waits for a process that it has started, as a compiler.
 *
 * Such time is that of functions of Python's own library, whose names say nothing: sentences say what it is. What a child
 * was started as is known by the fact "started" (runtime/started.h), and of Python programs that were recorded with it.
 *
 * Life cycle: built from a profile and its totals; the profile must outlive it. Threads: read-only once built.
 *
 *     struct ar_child_waits c;
 *     if (ar_child_waits_build(&c, &profile, &totals) < 0) ...
 *     if (c.is_wait[function]) puts(ar_show_child(&c, process));
 *     ar_child_waits_free(&c);
 */
#pragma once

#include "analysis/totals.h"

struct ar_child_waits {
    const struct ar_profile *p;
    bool *is_wait; /* by function: most of its own time is waiting for a child process */
};

AR_MUST_CHECK enum ar_status ar_child_waits_build(struct ar_child_waits *out,
                                                  const struct ar_profile *p,
                                                  const struct ar_totals *t);
void ar_child_waits_free(struct ar_child_waits *c);
/*
 * "a child process (gcc -c x.c)", "a child process (gcc -c x.c and 2 more)", "a forked child process".
 * `process` is the rank that waits; AR_NO_ID: several, and no command is named.
 */
const char *ar_show_child(const struct ar_child_waits *c, uint32_t process);
