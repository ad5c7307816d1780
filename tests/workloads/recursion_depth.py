# SPDX-License-Identifier: BSD-3-Clause
"""Proves that a program can recurse exactly as deep as without allranks, in Python, through C and in threads, and
that recursion far deeper than the C stack is safe where plain Python has it safe.
"""

import sys
import threading


def plain(n):
    try:
        return plain(n + 1)
    except RecursionError:
        return n


class Holder:
    def __init__(self, n):
        self.n = n

    def __repr__(self):
        """Through C and back."""
        global reached
        reached = self.n
        return repr(Holder(self.n + 1))

    def __getattr__(self, name):
        global reached
        reached += 1
        return getattr(self, name + "x")


def generator(n):
    global reached
    reached = n
    yield from generator(n + 1)


def deepest(call):
    global reached
    reached = 0
    try:
        call()
    except RecursionError as error:
        return reached, str(error)


def down(n):
    return 0 if n == 0 else 1 + down(n - 1)


def main():
    print("functions", plain(0))
    print("repr", deepest(lambda: repr(Holder(0))))
    print("getattr", deepest(lambda: Holder(0).a))
    print("generators", deepest(lambda: list(generator(0))))
    sys.setrecursionlimit(333)
    print("limit 333", plain(0))
    thread = threading.Thread(target=lambda: print("thread", plain(0)))
    thread.start()
    thread.join()
    sys.setrecursionlimit(120_000)
    print("deep", down(100_000))
    print("again", down(100_000))


print("module", plain(0))
main()
