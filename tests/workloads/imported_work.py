# SPDX-License-Identifier: BSD-3-Clause
"""Not a program: what work_at_import.py imports, and which calls a function and a barrier at once."""

from mpi4py import MPI

with open(__file__) as file:
    LINES = {
        text.rpartition("# mark: ")[2].strip(): number
        for number, text in enumerate(file, start=1)
        if "# mark: " in text
    }


def meet():
    MPI.COMM_WORLD.Barrier()  # mark: barrier


meet()  # mark: call
MPI.COMM_WORLD.Barrier()  # mark: barrier of the module
