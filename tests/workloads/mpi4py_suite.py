# SPDX-License-Identifier: BSD-3-Clause
"""Runs mpi4py's own tests and writes down how each ended, on each rank: SUITE OUTCOMES [MODULE ...]

A test that never ends is the one that was started last. What tests print is left alone: some print nothing but warnings.
"""

import os
import sys
import unittest
from pathlib import Path

# As the suite's own main program does where nobody asks for them.
sys.modules["cupy"] = sys.modules["numba"] = None
sys.dont_write_bytecode = True
SUITE, OUTCOMES, *MODULES = sys.argv[1:]
sys.path.insert(0, SUITE)


class Outcomes(unittest.TestResult):
    """One line a test, in the file as soon as it is known."""

    def __init__(self, file):
        super().__init__()
        self.file = file

    def note(self, outcome, test):
        self.file.write(f"{outcome} {test.id()}\n")
        self.file.flush()

    def startTest(self, test):
        self.note("started", test)

    def addSuccess(self, test):
        self.note("passed", test)

    def addFailure(self, test, err):
        self.note("failed", test)
        print(self._exc_info_to_string(err, test), file=sys.stderr)

    def addError(self, test, err):
        self.note("broke", test)
        print(self._exc_info_to_string(err, test), file=sys.stderr)

    def addSkip(self, test, reason):
        self.note("skipped", test)

    def addExpectedFailure(self, test, err):
        self.note("failed-as-expected", test)

    def addUnexpectedSuccess(self, test):
        self.note("passed-unexpectedly", test)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.note("failed", subtest)


def main():
    from mpi4py import MPI

    names = MODULES or sorted(path.stem for path in Path(SUITE).glob("test_*.py"))
    tests = unittest.TestLoader().loadTestsFromNames(names)
    with open(f"{OUTCOMES}.{MPI.COMM_WORLD.Get_rank()}", "w") as file:
        tests.run(Outcomes(file))
        file.write(f"ended {os.path.basename(SUITE)}\n")


main()
