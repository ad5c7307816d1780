# SPDX-License-Identifier: BSD-3-Clause
# unlined: 3.11
"""Recursion through len, which the interpreter has an instruction for, ends at the same level."""

import sys


class Again:
    n = 0

    def __len__(self):
        Again.n += 1
        return len(self)


def deepest():
    Again.n = 0
    try:
        len(Again())
    except RecursionError:
        return Again.n
    return "no error"


for limit in (300, 900):
    sys.setrecursionlimit(limit)
    print(limit, [deepest() for _ in range(4)][-2:])  # the first ones are not specialised
