// SPDX-License-Identifier: BSD-3-Clause
/*
 * cubex_system: hosts, processes and threads in the order of a CUBE file, where each thread is a column of the values.
 *
 * Processes follow each other by host, ranks in their order, each before its children. Every process needs a number
 * of its own there. A rank of MPI_COMM_WORLD has that; all others, child processes and programs without MPI, have the
 * numbers after the last rank, in the order of the file. A process none of whose threads was recorded has a column of zeros.
 *
 * Life cycle: ar_cubex_system_build of a profile in order, ar_cubex_system_free. Threads: read-only once built.
 */
#pragma once

#include "format/profile.h"

struct ar_cubex_process {
    uint32_t process; /* of the profile */
    uint32_t rank;
    uint32_t host; /* string */
    uint32_t first_column, n_columns;
};

struct ar_cubex_system {
    struct ar_cubex_process *processes;
    uint32_t n_processes, n_columns;
    uint32_t *column_of;   /* by location */
    uint32_t *location_at; /* by column; AR_NO_ID: no thread */
};

AR_MUST_CHECK enum ar_status ar_cubex_system_build(struct ar_cubex_system *out,
                                                   const struct ar_profile *p);
void ar_cubex_system_free(struct ar_cubex_system *system);
/* "MPI Rank 3", "MPI Rank 3: worker.py (pid 4711)" of a child process; cut where there is no room. */
void ar_cubex_process_name(const struct ar_profile *p, uint32_t process, char *name, size_t n_name);
