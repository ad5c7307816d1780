# SPDX-License-Identifier: BSD-3-Clause
"""Programs that do little but call: what a profiler adds to a call is all that differs.

Run plainly, under cProfile (`--cprofile`) or under allranks; prints {name: ns per call}, the best of several.
"""

import json
import sys
import time


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def recursion():
    fib(20)
    return 21891


class Point:
    def __init__(self, x):
        self.x = x

    def get(self):
        return self.x

    def move(self, by):
        self.x += by


def methods():
    point = Point(0)
    for _ in range(10_000):
        point.move(1)
        point.get()
    return 20_001


def count_up(n):
    yield from range(n)


def generators():
    for _ in count_up(20_000):
        pass
    return 20_001


def fail(depth):
    if depth == 0:
        raise ValueError
    fail(depth - 1)


def exceptions():
    for _ in range(1000):
        try:
            fail(9)
        except ValueError:
            pass
    return 10_000


def descend(depth):
    if depth:
        descend(depth - 1)


def deep_stacks():
    for _ in range(25):
        descend(799)
    return 25 * 800


WIDE = [eval(f"lambda: {i}") for i in range(500)]


def wide_tree():
    for _ in range(40):
        for function in WIDE:
            function()
    return 20_000


WORKLOADS = [recursion, methods, generators, exceptions, deep_stacks, wide_tree]


def best_ns_per_call(workload, n_rounds):
    best = float("inf")
    for _ in range(n_rounds):
        start = time.perf_counter_ns()
        n_calls = workload()
        best = min(best, (time.perf_counter_ns() - start) / n_calls)
    return best


def main():
    result = {w.__name__: best_ns_per_call(w, 7) for w in WORKLOADS}
    print(json.dumps(result))


if __name__ == "__main__":
    if "--cprofile" in sys.argv:
        import cProfile

        profile = cProfile.Profile(builtins=False)
        profile.enable(builtins=False)  # from 3.14 on runcall() forgets what the profile was made with
        main()
        profile.disable()
    else:
        main()
