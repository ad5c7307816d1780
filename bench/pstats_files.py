# SPDX-License-Identifier: BSD-3-Clause
"""Writes pstats files as cProfile leaves them, one for each rank: pstats_files.py DIRECTORY [RANKS [FUNCTIONS [CALLERS]]]

A key is a tuple of its own wherever it stands, and names and files are shared texts, as in what cProfile dumps.
"""

from __future__ import annotations

import marshal
import random
import sys
from pathlib import Path

N_FILES = 40


def stats_of(rank: int, n_functions: int, n_callers: int) -> dict[tuple[object, ...], tuple[object, ...]]:
    """Of a program that is the same on all ranks; times differ, and each rank lacks some of the functions."""
    shape, figures = random.Random(1), random.Random(rank)
    files = [f"/site-packages/package/module_{i}.py" for i in range(N_FILES)]
    names = [(files[i % N_FILES], 10 * i + 1, f"function_{i}") for i in range(n_functions)]
    stats = {}
    for name in names:
        callers = shape.sample(names, n_callers)
        if figures.random() < 0.05:
            continue
        parts = {(*caller,): figures_of(figures) for caller in callers}
        stats[(*name,)] = (*figures_of(figures), parts)
    return stats


def figures_of(figures: random.Random) -> tuple[int, int, float, float]:
    n_calls, ns = figures.randrange(1, 5000), figures.randrange(10**8)
    return n_calls, n_calls + figures.randrange(3), ns / 1e9, (ns + figures.randrange(10**8)) / 1e9


def write(directory: Path, n_ranks: int = 64, n_functions: int = 3000, n_callers: int = 3) -> list[str]:
    files = []
    for rank in range(n_ranks):
        files.append(str(directory / f"cpu_{rank}.prof"))
        with open(files[-1], "wb") as file:
            marshal.dump(stats_of(rank, n_functions, n_callers), file)
    return files


if __name__ == "__main__":
    write(Path(sys.argv[1]), *map(int, sys.argv[2:]))
