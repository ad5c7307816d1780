# SPDX-License-Identifier: BSD-3-Clause
"""Proves that recursion is counted right, all calls and primitive ones, which are those made while the function was
not active already: direct, two branches, mutual, through a callback from C, through methods, from several places.

Each function notes both of its counts; the notes go into the file that is named on the command line.
"""

import json
import sys
from collections import Counter

done, primitive, active = Counter(), Counter(), Counter()


class Noted:
    """with Noted("name"): the body of a call. Itself called twice a call, and noted nowhere."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        done[self.name] += 1
        primitive[self.name] += active[self.name] == 0
        active[self.name] += 1

    def __exit__(self, *exception):
        active[self.name] -= 1


def factorial(n):
    with Noted("factorial"):
        return n * factorial(n - 1) if n > 1 else 1


def fib(n):
    with Noted("fib"):
        return n if n < 2 else fib(n - 1) + fib(n - 2)


def is_even(n):
    with Noted("is_even"):
        return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    with Noted("is_odd"):
        return False if n == 0 else is_even(n - 1)


def through_c(n):
    with Noted("through_c"):
        return max((n,), key=lambda n: through_c(n - 1) if n else 0)


class Tree:
    def __init__(self, depth):
        self.children = []
        self.grow(depth)

    def grow(self, depth):
        with Noted("grow"):
            self.children = [Tree(depth - 1) for _ in range(3)] if depth else []

    def size(self):
        with Noted("size"):
            return 1 + sum(child.size() for child in self.children)


def three_ways(n, way):
    """Returns to itself through one of three others, so that the pairs of callers differ."""
    with Noted("three_ways"):
        if n:
            (by_one, by_two, by_three)[way % 3](n, way)


def by_one(n, way):
    with Noted("by_one"):
        three_ways(n - 1, way + 1)


def by_two(n, way):
    with Noted("by_two"):
        three_ways(n - 1, way + 1)
        three_ways(n - 1, way)


def by_three(n, way):
    with Noted("by_three"):
        by_one(n, way)


def fails_at(n):
    """Recursion that is left by an exception."""
    with Noted("fails_at"):
        if n == 0:
            raise LookupError
        fails_at(n - 1)


def main():
    assert factorial(20) == 2432902008176640000
    assert factorial(5) == 120
    assert fib(13) == 233
    assert is_even(30) and not is_odd(8)
    through_c(12)
    assert Tree(4).size() == 121
    three_ways(9, 0)
    three_ways(6, 1)
    for depth in (3, 7):
        try:
            fails_at(depth)
        except LookupError:
            fails_at_was_seen = True
    assert fails_at_was_seen


main()
with open(sys.argv[1], "w") as file:
    json.dump({"calls": done, "primitive": primitive}, file)
