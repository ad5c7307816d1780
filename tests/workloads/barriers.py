# SPDX-License-Identifier: BSD-3-Clause
"""N barriers."""

import sys

from mpi4py import MPI

for _ in range(int(sys.argv[1])):
    MPI.COMM_WORLD.Barrier()
