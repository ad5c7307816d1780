# SPDX-License-Identifier: BSD-3-Clause
"""Runs one module of CPython's own tests and writes down how each of its tests ended: OUTCOMES MODULE [TEST_TO_LEAVE_OUT ...]

The exit status is 0 however the tests end: another one is a crash, or something at the interpreter's end.
"""

import sys
import unittest


def make_room_for_tool():
    """Each test of test_monitoring looks whether any tool has events, and all but the first say nothing then; one of its three tools has
    our number. So it gets another one, and does not see our events: what is left is whether its own events are the same.
    """
    from test import test_monitoring

    monitoring, ours = sys.monitoring, {number for number in (3, 4) if sys.monitoring.get_tool(number) == "allranks"}
    get_events, all_events = monitoring.get_events, monitoring._all_events

    def others_events():
        others = {event: tools & ~sum(1 << number for number in ours) for event, tools in all_events().items()}
        return {event: tools for event, tools in others.items() if tools}

    monitoring.get_events = lambda number: 0 if number in ours else get_events(number)
    monitoring._all_events = others_events
    test_monitoring.TEST_TOOL3 = 1


class Loader(unittest.TestLoader):
    def __init__(self, left_out):
        super().__init__()
        self.left_out = left_out

    def getTestCaseNames(self, case):
        names = super().getTestCaseNames(case)
        return [name for name in names if f"{case.__module__}.{case.__qualname__}.{name}" not in self.left_out]


def run_deep(tests, result, depth=10):
    """Below as many frames as regrtest has: test_tracemalloc counts them, for an allocation that its address picks."""
    if depth:
        run_deep(tests, result, depth - 1)
    else:
        tests.run(result)


def main():
    # Not at the top: processes that multiprocessing spawns import this file, and their tests look at sys.modules.
    from outcomes import Outcomes
    from test import support

    outcomes, module, *left_out = sys.argv[1:]
    del sys.argv[1:], sys.path[0]
    support.use_resources = {}  # no network, no large files: as regrtest does without -u
    if module == "test_monitoring":
        make_room_for_tool()
    with open(outcomes, "w") as file:
        try:
            tests = Loader(left_out).loadTestsFromName(f"test.{module}")
        except unittest.SkipTest:
            file.write(f"skipped {module}\n")
        else:
            run_deep(tests, Outcomes(file))
        file.write(f"ended {module}\n")


if __name__ == "__main__":
    main()
