# SPDX-License-Identifier: BSD-3-Clause
"""A solver on any number of ranks, as live files made by hand (live_writing.py): every time is arithmetic.

Of `work` milliseconds each rank has its share, in relax; rank 0 writes for 40 ms; every rank sets up for 20 ms; and each
adds 5 ms of MPI a rank there is, for which all wait. Whoever is done early waits in MPI_Allreduce, so that all end together.
"""

from __future__ import annotations

from pathlib import Path

from live_writing import MPI, MS, PYTHON, REGION, LiveFile

WRITING_MS, SETUP_MS, PER_RANK_MS = 40, 20, 5


def heat_rank(
    rank: int, size: int, *, work_ms: float, slow: dict[int, float], home: str, moved: int, jitter: dict[int, float]
) -> LiveFile:
    """`slow` ranks relax that many times as long; functions begin `moved` lines further down, in files below `home`."""

    def relaxing_ms(which: int) -> float:
        return work_ms / size * slow.get(which, 1) * jitter.get(which, 1)

    def computing_ms(which: int) -> float:
        return SETUP_MS + relaxing_ms(which) + (WRITING_MS if which == 0 else 0)

    end_ms = max(map(computing_ms, range(size))) + PER_RANK_MS * size
    live = LiveFile(rank, size, int(end_ms * MS))
    live.fact("program", f"{home}/heat.py")
    live.fact("python", "3.11.2")
    main = live.function(PYTHON, "main", f"{home}/heat.py", 10)
    setup = live.function(PYTHON, "setup", f"{home}/heat.py", 40 + moved)
    relax = live.function(PYTHON, "relax", f"{home}/solver.py", 20 + moved)
    write = live.function(PYTHON, "write", f"{home}/output.py", 5)
    reduce = live.function(MPI, "MPI_Allreduce")
    region = live.function(REGION, "solving")
    in_main = live.call(live.root, main, 0, 1, int(end_ms * MS))
    live.call(in_main, setup, 12, 1, SETUP_MS * MS)
    in_region = live.call(in_main, region, 14, 1, int((end_ms - SETUP_MS) * MS))
    live.call(in_region, relax, 15, 10, int(relaxing_ms(rank) * MS))
    if rank == 0:
        live.call(in_region, write, 16, 1, WRITING_MS * MS)
    live.moved(live.call(in_region, reduce, 17, 10, int((end_ms - computing_ms(rank)) * MS)), 80, 80)
    return live


def write_heat(
    directory: Path,
    size: int,
    *,
    work_ms: float = 800,
    slow: dict[int, float] | None = None,
    home: str = "/home/ada",
    moved: int = 0,
    jitter: dict[int, float] | None = None,
) -> Path:
    directory.mkdir(parents=True)
    for rank in range(size):
        live = heat_rank(
            rank, size, work_ms=work_ms, slow=slow or {}, home=home, moved=moved, jitter=jitter or {}
        )
        live.write(directory)
    return directory
