# SPDX-License-Identifier: BSD-3-Clause
"""Runs mpi4py's own tests and writes down how each ended, on each rank: SUITE OUTCOMES [MODULE ...]"""

import os
import sys
import unittest
from pathlib import Path

from outcomes import Outcomes

# As the suite's own main program does where nobody asks for them.
sys.modules["cupy"] = sys.modules["numba"] = None
sys.dont_write_bytecode = True
SUITE, OUTCOMES, *MODULES = sys.argv[1:]
sys.path.insert(0, SUITE)


def main():
    from mpi4py import MPI

    names = MODULES or sorted(path.stem for path in Path(SUITE).glob("test_*.py"))
    tests = unittest.TestLoader().loadTestsFromNames(names)
    with open(f"{OUTCOMES}.{MPI.COMM_WORLD.Get_rank()}", "w") as file:
        tests.run(Outcomes(file))
        file.write(f"ended {os.path.basename(SUITE)}\n")


main()
