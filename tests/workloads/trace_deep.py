# SPDX-License-Identifier: BSD-3-Clause
"""Recursion that is deeper than nodes have numbers in traces. With "late" the trace is switched on at its end."""

import sys
import threading

import allranks

DEPTH = 150_000


def innermost():
    pass


def descend(n):
    if n:
        descend(n - 1)
        return
    if "late" in sys.argv:
        allranks.trace_on()
    innermost()


sys.setrecursionlimit(10 * DEPTH)
threading.stack_size(512 << 20)
thread = threading.Thread(target=descend, args=(DEPTH - 1,))
thread.start()
thread.join()
