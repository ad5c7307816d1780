# SPDX-License-Identifier: BSD-3-Clause
# needs: coverage
"""coverage counts lines and branches, with each of its cores."""

import os
import sys

import coverage


def work(n):
    if n > 3:
        return "never"
    total = 0
    for i in range(n):
        total += i
    return total


for core in ("ctrace", "pytrace", "sysmon"):
    if core == "sysmon" and sys.version_info < (3, 12):
        continue
    os.environ["COVERAGE_CORE"] = core
    measured = coverage.Coverage(data_file=None, branch=core != "sysmon", config_file=False, include=[__file__])
    measured.start()
    print(work(3))
    measured.stop()
    data = measured.get_data()
    print(core, sorted(map(sorted, [data.lines(f) for f in data.measured_files()])))
    if data.has_arcs():
        print(sorted(a for f in data.measured_files() for a in data.arcs(f)))
