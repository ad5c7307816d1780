// SPDX-License-Identifier: BSD-3-Clause
/* mpi_json: all that `allranks mpi` knows, for programs. docs/json.md describes it. */
#pragma once

#include "analysis/mpi_tables.h"
#include "analysis/select.h"

/* Prints to standard output; returns an exit status. */
int ar_mpi_json(const struct ar_mpi *m, const struct ar_selection *selection);
