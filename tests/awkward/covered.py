# SPDX-License-Identifier: BSD-3-Clause
# needs: coverage
# run: -m coverage run --data-file=data SCRIPT
# slow: 3.9 3.11 3.12 3.13
"""Run by coverage as module, and shown by its report."""

import sys


def work(n):
    if n > 100:
        return "never"
    return n if n < 2 else work(n - 1) + work(n - 2)


print(work(10), sys.argv, __name__, sys.path[0])
import coverage

running = coverage.Coverage.current()
print(running is not None)
