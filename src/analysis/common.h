// SPDX-License-Identifier: BSD-3-Clause
/*
 * common: which functions, and which call paths, of several runs are the same.
 *
 * A program changes between runs. A function is the same if it is of the same kind, has the same
 * name, and is in a file of the same name. Where that leaves several (many a module has a
 * `<lambda>`, every package an `__init__.py`), those go together whose directories agree furthest
 * from the file upwards, and then those whose lines are nearest. MPI functions are known without
 * the ending of their large-count form.
 *
 * A call path is the same if its parent is and its function; calls of MPI, which have a line, go
 * together by how far that is from the beginning of the function they are in: a function that moved
 * took its lines along.
 *
 * Each is a row, known by one run that has it: the last. Rows are in no order, but a path's parent
 * comes first.
 *
 * Life cycle: built from profiles, which must outlive it and stay as they are. Threads: read-only
 * once built. Cost: n log n; of those that share their names, the product of their numbers.
 *
 *     struct ar_common functions;
 *     if (ar_common_functions(&functions, profiles, n_runs) < 0) ...
 *     uint32_t id = ar_common_id(&functions, run, row);     // AR_NO_ID: that run has no such
 *     ar_common_free(&functions);
 */
#pragma once

#include "format/profile.h"

struct ar_common {
    size_t n_runs, n_rows, cap_ids;
    uint32_t *ids;     /* n_runs for each row: function, or node; AR_NO_ID: there is none */
    uint32_t **row_of; /* by run, by function or node */
};

AR_MUST_CHECK enum ar_status
ar_common_functions(struct ar_common *out, const struct ar_profile *const *runs, size_t n_runs);
/* `functions` are those of the same runs. */
AR_MUST_CHECK enum ar_status ar_common_paths(struct ar_common *out,
                                             const struct ar_common *functions,
                                             const struct ar_profile *const *runs, size_t n_runs);
void ar_common_free(struct ar_common *c);

static inline uint32_t ar_common_id(const struct ar_common *c, size_t run, uint32_t row)
{
    return c->ids[(size_t)row * c->n_runs + run];
}
/* The last run that has it. */
size_t ar_common_run(const struct ar_common *c, uint32_t row);
