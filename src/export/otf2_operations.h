// SPDX-License-Identifier: BSD-3-Clause
/*
 * otf2_operations: what OTF2 calls the functions of MPI.
 */
#pragma once

#include <otf2/otf2.h>

#include <stdbool.h>

/* Of a collective call by that function, blocking or not; false: there is no word for it. */
bool ar_otf2_operation(const char *function, OTF2_CollectiveOp *operation);
OTF2_RegionRole ar_otf2_role_of_mpi(const char *function);
