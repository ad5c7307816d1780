# SPDX-License-Identifier: BSD-3-Clause
"""Code that calls nothing: a profiler of calls has no reason to slow it down.

Every loop is run once, as in a program whose main function is one loop. Prints {name: ns per iteration}; with --count the loops
are between calls of getpgid, at which valgrind writes down how many instructions it has counted, and have been run before, so that
what is done once for each function is not counted.
"""

import argparse
import json
import os
import time

INNER = range(100)


def empty_loop(n):
    for _ in range(n):
        pass


def for_loop(n):
    total = 0
    for i in range(n):
        total += i & 7
    return total


def while_loop(n):
    i = total = 0
    while i < n:
        total += i & 7
        i += 1
    return total


def comprehension(n):
    return [i & 7 for i in range(n)]


def nested_loops(n):
    total = 0
    for i in range(n // len(INNER)):
        for j in INNER:
            total += i ^ j
    return total


def sums(n):
    total = 0
    for i in range(n):
        total += i & 7
    yield total


def generator(n):
    for total in sums(n):
        return total


LOOPS = (empty_loop, for_loop, while_loop, comprehension, nested_loops, generator)


def ns_per_iteration(loop, n):
    start = time.thread_time_ns()
    loop(n)
    return (time.thread_time_ns() - start) / n


def count(n):
    """One more than there are loops: what lies before the first is the start of the interpreter."""
    for loop in LOOPS:
        loop(100)
    for loop in LOOPS:
        os.getpgid(0)
        loop(n)
    os.getpgid(0)
    return [loop.__name__ for loop in LOOPS]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=3_000_000)
    parser.add_argument("--count", action="store_true")
    options = parser.parse_args()
    print(json.dumps(count(options.n) if options.count else {loop.__name__: ns_per_iteration(loop, options.n) for loop in LOOPS}))


if __name__ == "__main__":
    main()
