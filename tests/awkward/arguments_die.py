# SPDX-License-Identifier: BSD-3-Clause
# known_fault: 3.11: a frame evaluator keeps calls from being inlined: the caller's stack holds the arguments until the return
"""A temporary that is handed to a function belongs to it, and dies when the function lets it go."""

import sys


class Loud:
    def __del__(self):
        print("dies")


def lets_go(x):
    print("references", sys.getrefcount(x))
    del x
    print("let go")


def replaces(x):
    x = None
    print("replaced", x)


lets_go(Loud())
replaces(Loud())
