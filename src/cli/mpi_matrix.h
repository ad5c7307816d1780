// SPDX-License-Identifier: BSD-3-Clause
/* mpi_matrix: who sends how much to whom, in the columns of a terminal. */
#pragma once

#include "analysis/mpi_tables.h"

enum ar_matrix_of { AR_MATRIX_BYTES, AR_MATRIX_MESSAGES, AR_MATRIX_TIME };

/* As numbers for up to 16 ranks, else shaded, several ranks a square. Returns an exit status. */
int ar_print_matrix(const struct ar_mpi_pair *pairs, size_t n, enum ar_matrix_of of);
