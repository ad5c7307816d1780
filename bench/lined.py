# SPDX-License-Identifier: BSD-3-Clause
"""Loops of a few lines each. Prints {loop: ns}: of a line that ran, with what it does.

    lined.py              as it is
    lined.py --peer       with line_profiler's own LineProfiler on the loops
"""

import json
import sys

from timed_loops import best_ns

N_ROUNDS = 20_000
N_TRIES = 11


def arithmetic(n=N_ROUNDS):
    total = 0
    for i in range(n):
        x = i & 15
        x = x + total
        total = x & 255
    return total


def branches(n=N_ROUNDS):
    odd = even = 0
    for i in range(n):
        if i & 1:
            odd += 1
        else:
            even += 1
    return odd - even


def small(x):
    return x


def calls(n=N_ROUNDS):
    total = 0
    for i in range(n):
        total += small(i)
        total &= 255
    return total


def recurse(n):
    if n:
        return recurse(n - 1)
    return 0


def recursion(n=N_ROUNDS):
    for _ in range(n // 50):
        recurse(49)


# Each with how many of its own lines run in a round.
LOOPS = {"arithmetic": (arithmetic, 4), "branches": (branches, 3), "calls": (calls, 3), "recursion": (recursion, 2)}


def with_peer():
    from line_profiler import LineProfiler

    profiler = LineProfiler(arithmetic, branches, calls, recurse, recursion)
    profiler.enable_by_count()


if "--peer" in sys.argv:
    with_peer()
print(json.dumps({name: best_ns(loop, N_ROUNDS * n_lines, N_TRIES) for name, (loop, n_lines) in LOOPS.items()}))
