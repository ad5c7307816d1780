# SPDX-License-Identifier: BSD-3-Clause
"""Calls functions in C in all the ways there are: by name, as methods, with keywords and stars, failing, calling back."""

import functools
import math
import operator
import sys


class Point:
    def __new__(cls, *args):
        return object.__new__(cls)

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __lt__(self, other):
        return self.norm < other.norm

    @property
    def norm(self):
        return math.hypot(self.x, self.y)

    def __len__(self):
        return len(str(abs(self.x)))


class Loud(list):
    def append(self, item):
        super().append(item)
        list.append(self, item)


def by_name():
    return sum(abs(-i) + max(i, 3) for i in range(50)) + len([1, 2]) + len("abc")


def methods():
    words = []
    for i in range(40):
        words.append(f"{i}".upper())
    loud = Loud()
    loud.append(1)
    loud.extend([2, 3])
    add = words.append
    add("again")
    return ",".join(words).split(",").index("7") + len(loud)


def keywords_and_stars():
    arguments = (7, 3)
    points = [Point(i % 7, -i) for i in range(20)]
    first = sorted(points, key=lambda p: p.x, reverse=True)[0]
    smallest = min(*points, key=operator.attrgetter("y"))
    return divmod(*arguments)[0] + first.x + smallest.y + int(pow(*arguments, **{"mod": 5}))


# A line each: cProfile keeps one of several functions that have line and name in common.
FAILURES = (
    lambda: math.sqrt(-1),
    lambda: [].pop(),
    lambda: next(iter(())),
    lambda: {}.popitem(),
)


def failing():
    caught = 0
    for bad in FAILURES:
        try:
            bad()
        except (ValueError, IndexError, StopIteration, KeyError):
            caught += 1
    return caught


def raises_within(x):
    if x == 3:
        raise ValueError(x)
    return x


def calling_back():
    total = functools.reduce(lambda a, b: a + b, range(30))
    total += sum(map(raises_within, range(3)))
    try:
        list(map(raises_within, range(10)))
        sorted(range(10), key=raises_within)
    except ValueError:
        total += 1
    return total + len(sorted(Point(i, 1) for i in range(9))) + getattr(Point(3, 4), "norm")  # noqa: B009 (a function in C that runs a property)


def nested(depth):
    """Recursion that goes through a function in C."""
    if depth == 0:
        return 1
    return max([depth, depth - 1], key=lambda d: nested(depth - 1)) + any(nested(0) for _ in range(2))


def generated():
    def numbers():
        yield from range(5)

    made = numbers()
    return next(made) + next(made) + sum(made) + sum(n for n in numbers())


def made_at_run_time():
    scope = {}
    exec("def late(x):\n    return abs(x)\n", scope)
    return scope["late"](-2) + isinstance(scope, dict) + callable(scope)


def main():
    parts = (by_name, methods, keywords_and_stars, failing, calling_back, generated, made_at_run_time)
    sys.stdout.write(f"{[part() for part in parts]} {nested(4)}\n")


main()
