# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT
# mask: in \d+\.\d+ seconds
"""cProfile and profile inside the program count the same calls."""

import cProfile
import profile
import pstats
import sys
import threading


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def numbers(n):
    for i in range(n):
        yield i


class Thing:
    def __init__(self):
        self.x = sorted([3, 1], key=lambda x: -x)

    def method(self):
        return sum(numbers(5))


def work():
    fib(10)
    Thing().method()
    try:
        1 / 0
    except ZeroDivisionError:
        len("x")


def counts(profiler):
    stats = pstats.Stats(profiler).stats
    for (file, line, name), (primitive, calls, _, _, callers) in sorted(stats.items()):
        if "allranks" in file:
            print("ours!", file)
        print("  ", file[-12:], line, name, primitive, calls, sorted((k[2], v if isinstance(v, int) else v[:2]) for k, v in callers.items()) if callers else "")


one = cProfile.Profile()
one.runcall(work)
counts(one)
two = profile.Profile()
two.runcall(work)
counts(two)
with cProfile.Profile(builtins=False) as three:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    work()
print(sorted((k[2], v[1]) for k, v in pstats.Stats(three).stats.items() if k[2] in ("fib", "work", "numbers", "method")))
print(sys.getprofile())
