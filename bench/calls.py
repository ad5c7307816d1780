# SPDX-License-Identifier: BSD-3-Clause
"""Programs that do little but call: what a profiler adds to a call is all that differs.

Run plainly, under allranks, under cProfile (--under cprofile) or under hooks that do nothing (--under floor). Prints
{name: ns per call}, the best of several; with --again, for counting instructions, {name: calls in each round}; with
--slices too, the median and the mean of as many rounds of that workload.
"""

import argparse
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


# ---- Python functions and functions written in C; both are counted as calls ----

NUMBERS = list(range(100))
WORDS = ["one", "two", "three"]


def clamp(i):
    return min(len(NUMBERS), abs(i))


def builtins():
    for i in range(5000):
        clamp(i)
    return 4 * 5000 + 1


class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        return self.items.pop()


def containers():
    stack = Stack()
    for i in range(5000):
        stack.push(i)
        stack.pop()
    return 4 * 5000 + 2


def negative(x):
    return -x


def callbacks():
    for _ in range(100):
        sorted(NUMBERS, key=negative)
    return 101 * 100 + 1


def look_up(owner):
    try:
        return getattr(owner, "missing")  # noqa: B009  (the call is the point)
    except AttributeError:
        return None


def raising():
    for _ in range(5000):
        look_up(clamp)
    return 2 * 5000 + 1


def shout(words):
    return "-".join(words).upper().split("-")


def strings():
    for _ in range(5000):
        shout(WORDS)
    return 4 * 5000 + 1


N_ROUNDS = 20

WORKLOADS = {
    "python": [recursion, methods, generators, exceptions, deep_stacks, wide_tree],
    "mixed": [builtins, containers, callbacks, raising, strings],
}


def best_ns_per_call(workload):
    """In processor time: on a busy machine a round of milliseconds is always interrupted."""
    best = float("inf")
    for _ in range(N_ROUNDS):
        start = time.thread_time_ns()
        n_calls = workload()
        best = min(best, (time.thread_time_ns() - start) / n_calls)
    return best


def measure(options):
    return {w.__name__: best_ns_per_call(w) for w in WORKLOADS[options.set]}


def repeat(options):
    """Every workload twice, so that all that happens once has happened; then one of them some more."""
    workloads = {w.__name__: w for w in WORKLOADS[options.set]}
    for workload in workloads.values():
        workload()
    n_calls = {name: workload() for name, workload in workloads.items()}
    for _ in range(options.n_again):
        workloads[options.again]()
    return n_calls


def slices(options):
    """One workload over and over; of all its rounds the median and the mean, in ns a call."""
    workload = {w.__name__: w for w in WORKLOADS[options.set]}[options.again]
    workload()
    found = []
    for _ in range(options.slices):
        start = time.thread_time_ns()
        n_calls = workload()
        found.append((time.thread_time_ns() - start) / n_calls)
    return {"median_ns": sorted(found)[len(found) // 2], "mean_ns": sum(found) / len(found)}


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--set", choices=list(WORKLOADS), default="python")
    parser.add_argument("--under", choices=["cprofile", "floor"])
    parser.add_argument("--floor", metavar="DIR", help="where bench/floors.py has put the hooks")
    parser.add_argument("--again", metavar="WORKLOAD")
    parser.add_argument("--n-again", type=int, default=0)
    parser.add_argument("--slices", type=int, help="times of --again's workload, one by one")
    return parser.parse_args()


def run_under(options, function):
    if options.under == "cprofile":
        import cProfile

        profile = cProfile.Profile()
        profile.enable(builtins=options.set == "mixed")  # from 3.14 on runcall() forgets it
        try:
            return function(options)
        finally:
            profile.disable()
    if options.under == "floor":
        sys.path.insert(0, options.floor)
        import floor

        (floor.all_functions if options.set == "mixed" else floor.python_functions)()
    return function(options)


def main():
    options = parse()
    print(json.dumps(run_under(options, slices if options.slices else repeat if options.again else measure)))


if __name__ == "__main__":
    main()
