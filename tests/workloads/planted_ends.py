# SPDX-License-Identifier: BSD-3-Clause
"""Proves who waits for whom in MPI_Init and MPI_Finalize, on four ranks, which make no other call. What really happened goes
into truth-R.json: see planted_notes.py.
"""

import os
import time

import mpi4py

mpi4py.rc.initialize = mpi4py.rc.finalize = False

from mpi4py import MPI  # noqa: E402
from planted_notes import enter, set_out, write  # noqa: E402

NAMES = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
rank = int(next(os.environ[name] for name in NAMES if name in os.environ))


def reads_its_settings():
    time.sleep(0.5)  # more than ranks are apart when they are started


def writes_the_last_plot():
    time.sleep(0.15)


def main():
    if rank == 2:
        reads_its_settings()
    enter("init")
    MPI.Init()  # WAIT: init
    set_out()
    if rank == 1:
        writes_the_last_plot()
    enter("finalize")
    write()
    MPI.Finalize()  # WAIT: finalize


main()
