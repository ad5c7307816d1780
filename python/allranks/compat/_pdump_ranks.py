# SPDX-License-Identifier: BSD-3-Clause
"""The ranks that dump together, for pyperfdump.py: all of MPI_COMM_WORLD, or this process alone.

What is sent goes over a communicator of its own, so that no message of the program is ever mistaken for one of ours.

In a recording, making it and the first message of every save are recorded, in the region of _aside (pyperfdump.py): ranks wait for each other
there, and if that was not seen, the wait for a late rank would be charged to the rank that waited.
"""

from __future__ import annotations

import os
import sys

from allranks._runtime import unrecorded
from allranks.compat import rank_of_this_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# How many ranks a launcher has started, as it says itself. Slurm's is set in scripts without srun, too, and then it is 1.
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")
_LAUNCHERS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "PMIX_RANK")


class Ranks:
    """A single process."""

    has_mpi = False
    rank = 0
    size = 1

    def share(self, value: Any) -> list[Any]:
        """Those of all ranks, on all ranks."""
        return [value]

    def collect(self, value: Any) -> list[Any]:
        """Those of all ranks, on rank 0."""
        return [value]

    def is_usable(self) -> bool:
        return True

    def leave(self) -> None:
        pass


class MpiRanks(Ranks):
    has_mpi = True

    def __init__(self, mpi: Any) -> None:
        self.mpi = mpi
        self.comm = mpi.COMM_WORLD.Split(0, 0)  # not Dup: that calls the program's functions for attributes
        unrecorded(self._find_itself)

    def _find_itself(self) -> None:
        self.rank = self.comm.Get_rank()
        self.size = self.comm.Get_size()

    def share(self, value: Any) -> list[Any]:
        return list(self.comm.allgather(value))

    def collect(self, value: Any) -> list[Any]:
        return self.comm.gather(value, root=0) or []

    def is_usable(self) -> bool:
        return not self.mpi.Is_finalized()

    def leave(self) -> None:
        if self.is_usable():
            self.comm.Free()

    def handle(self, of: Any) -> Any:
        """The C handle of an object of mpi4py, as functions of the MPI library take it."""
        import ctypes

        n_bytes = self.mpi._sizeof(of)
        kind: Any = ctypes.c_void_p if n_bytes == ctypes.sizeof(ctypes.c_void_p) else ctypes.c_int
        return kind.from_address(self.mpi._addressof(of))


def mpi_in_use() -> Any:
    """mpi4py's module, between MPI_Init and MPI_Finalize; else None. The program imports it, not we."""
    mpi = sys.modules.get("mpi4py.MPI")
    return mpi if mpi and mpi.Is_initialized() and not mpi.Is_finalized() else None


def _started() -> int:
    """The number of ranks that a launcher has started with this one; 1: none says so."""
    for name in _SIZES:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return 1


def join(warn: Callable[[str], None]) -> Ranks:
    """Collective where MPI is in use. A process that no launcher has started is alone, with MPI or without."""
    mpi = unrecorded(_mpi_to_use, warn)
    return MpiRanks(mpi) if mpi else Ranks()


def _mpi_to_use(warn: Callable[[str], None]) -> Any:
    mpi = mpi_in_use()
    if mpi and (mpi.COMM_WORLD.Get_size() > 1 or any(name in os.environ for name in _LAUNCHERS)):
        return mpi
    n_started = _started()
    if not mpi and n_started > 1 and rank_of_this_process() == "0":
        warn(
            f"{n_started} ranks were started, and this one does not use MPI: rows will not say whose they are "
            "(import mpi4py.MPI before pyperfdump.init, and call finalize before MPI_Finalize)"
        )
    return None
