// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/source_table.h"

#include "runtime/annotations.h"
#include "runtime/c_source.h"
#include "runtime/chosen_lines.h"
#include "runtime/counters.h"
#include "runtime/engine.h"
#include "runtime/function_switch.h"
#include "runtime/functions.h"
#include "runtime/livemap.h"
#include "runtime/mpi4py_methods.h"
#include "runtime/mpi_events.h"
#include "runtime/petsc_log.h"
#include "runtime/regions.h"
#include "runtime/stretches.h"
#include "runtime/tasks.h"
#include "runtime/tracer.h"
#include "runtime/tree.h"

/* All sources write into it, so its locks are the innermost. */
static void fork_tree(enum ar_fork_step step)
{
    ar_functions_forking(step);
    ar_threads_forking(step);
    ar_tree_forking(step);
    ar_livemap_forking(step);
}

static const struct ar_source tree = {.name = "tree", .fork = fork_tree};

/*
 * petsc comes before mpi, whose hook finds its library. mpi4py comes before c, which finds its module. c comes after python, whose
 * start calls functions in C.
 */
const struct ar_source *const ar_source_table[] = {
    &ar_source_petsc,
    &ar_source_mpi,
    &ar_source_mpi4py,
    &ar_source_python,
    &ar_source_c,
    &ar_source_function_switch,
    &ar_source_regions,
    &ar_source_annotations,
    &ar_source_tasks,
    &ar_source_counters,
    &ar_source_trace,
    &ar_source_stretches,
    &ar_source_lines,
    &tree,
    NULL,
};
