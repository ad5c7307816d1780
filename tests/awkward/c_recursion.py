# SPDX-License-Identifier: BSD-3-Clause
# unlined: 3.11
"""Recursion through C functions ends at the same level, and the program goes on."""

import functools
import re
import sys

n = 0


def count():
    global n
    n += 1


def by_max(x):
    count()
    return max([x], key=by_max)


def by_sorted(x):
    count()
    return sorted([x], key=by_sorted)


def by_map(x):
    count()
    return list(map(by_map, [x]))


def by_reduce(x, y=0):
    count()
    return functools.reduce(by_reduce, [x, y])


def by_sub(x):
    count()
    return re.sub("a", by_sub, "a")


def by_next(x):
    count()
    return next(by_next(x) for _ in [1])


def by_getattr(x):
    count()
    return getattr(x, "again")


class Again:
    again = property(by_getattr)

    def __getattr__(self, name):
        count()
        return getattr(self, name)

    def __repr__(self):
        count()
        return repr([self])

    def __hash__(self):
        count()
        return hash((self,))


def deepest(function, argument):
    global n
    n = 0
    try:
        function(argument)
    except RecursionError:
        return n
    return "no error"


shapes = [by_max, by_sorted, by_map, by_reduce, by_sub, by_next]
for limit in (300, 900):
    sys.setrecursionlimit(limit)
    for shape in shapes:
        found = [deepest(shape, 1) for _ in range(4)]
        print(shape.__name__, found[-2:])  # the first ones are not specialised
    for shape in (by_getattr, repr, hash):
        found = [deepest(shape, Again()) for _ in range(4)]
        print(shape.__name__, found[-2:])
print(by_max.__name__, sorted([3, 1, 2], key=lambda x: -x))
