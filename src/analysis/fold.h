// SPDX-License-Identifier: BSD-3-Clause
/*
 * fold: a profile made coarser, for reading.
 *
 * Calls of one function from several lines of its caller become one node; MPI calls and
 * methods of mpi4py keep their lines, since that is where ranks wait. The inside of Python's import system becomes one node
 * "(import)" a line that imports; the modules' own code stays below it. The result is a profile
 * like any other. Caller pairs stay as they are.
 */
#pragma once

#include "format/profile.h"

/* `out` is not initialised yet; on failure there is nothing to free. */
AR_MUST_CHECK enum ar_status ar_fold(struct ar_profile *out, const struct ar_profile *p);
