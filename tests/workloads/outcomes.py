# SPDX-License-Identifier: BSD-3-Clause
"""How the tests of somebody's suite ended, one line per test, in a file as soon as it is known: for comparing two runs.

A test that never ends is the one that was started last. Whatever tests print is left alone; a traceback goes to standard error.
"""

import sys
import unittest


class Outcomes(unittest.TestResult):
    def __init__(self, file):
        super().__init__()
        self.file = file

    def note(self, outcome, test):
        # Parameters of a subtest are whatever they are, addresses and temporary names included: it counts for its test.
        named = getattr(test, "test_case", test)
        self.file.write(f"{outcome} {named.id()}\n")
        self.file.flush()

    def note_error(self, outcome, test, err):
        self.note(outcome, test)
        print(self._exc_info_to_string(err, test), file=sys.stderr)

    def startTest(self, test):
        self.note("started", test)

    def addSuccess(self, test):
        self.note("passed", test)

    def addFailure(self, test, err):
        self.note_error("failed", test, err)

    def addError(self, test, err):
        self.note_error("broke", test, err)

    def addSkip(self, test, reason):
        self.note("skipped", test)

    def addExpectedFailure(self, test, err):
        self.note("failed-as-expected", test)

    def addUnexpectedSuccess(self, test):
        self.note("passed-unexpectedly", test)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.note_error("failed", subtest, err)
