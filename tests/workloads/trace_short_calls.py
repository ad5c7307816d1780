# SPDX-License-Identifier: BSD-3-Clause
"""Recursion of short calls, deeper than a trace remembers the beginnings of, around one long call; then a shallow one."""

import time

DEPTH = 600


def descend(n):
    if n:
        return descend(n - 1)
    return 0


def around(n):
    if n:
        around(n - 1)
    else:
        rest()


def rest():
    time.sleep(0.1)


def outer():
    time.sleep(0.1)
    descend(DEPTH)
    around(DEPTH)
    descend(10)
    time.sleep(0.1)


outer()
