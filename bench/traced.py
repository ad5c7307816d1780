# SPDX-License-Identifier: BSD-3-Clause
"""Calls functions in three ways again and again. Prints {way: ns}: of a call and its return, with the loop around it.

    traced.py             the figures
    traced.py N           nothing but N rounds of each way: for what a trace takes on disk
"""

import json
import sys

from timed_loops import best_ns

N_CALLS = 20_000
N_TRIES = 15
DEPTH = 20


def empty(x):
    return x


def flat(n=N_CALLS):
    for i in range(n):
        empty(i)


def recurse(n):
    if n:
        recurse(n - 1)


def deep(n=N_CALLS):
    for _ in range(n // DEPTH):
        recurse(DEPTH - 1)


class Point:
    def __init__(self, x):
        self.x = x

    def moved(self):
        return Point(self.x + 1)


def methods(n=N_CALLS):
    point = Point(0)
    for _ in range(n // 2):
        point = point.moved()


WAYS = {"flat": flat, "deep": deep, "methods": methods}

if __name__ != "__main__":
    pass
elif len(sys.argv) > 1:
    for way in WAYS.values():
        way(int(sys.argv[1]))
else:
    print(json.dumps({name: best_ns(way, N_CALLS, N_TRIES) for name, way in WAYS.items()}))
