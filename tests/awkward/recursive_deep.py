# SPDX-License-Identifier: BSD-3-Clause
# unlined: 3.11
# options: --builtins none
# slow: 3.9 3.11 3.13
"""Far past a raised limit, in a thread with a large stack and in the main thread."""

import sys
import threading


def down(n):
    return 0 if n == 0 else 1 + down(n - 1)


class Tree:
    def __init__(self, n):
        self.child = Tree(n - 1) if n else None

    def __len__(self):
        return 1 + (len(self.child) if self.child is not None else 0)


def generator(n):
    if n:
        yield from generator(n - 1)
    yield n


def in_thread():
    print(down(50_000))
    print(down(100_000))
    if sys.version_info < (3, 12):  # from then on C functions have a limit of their own
        print(len(Tree(20_000)))
    try:
        print(sum(generator(2_000)))
    except RecursionError as error:
        print(error)


sys.setrecursionlimit(200_000)
threading.stack_size(512 << 20)
thread = threading.Thread(target=in_thread)
thread.start()
thread.join()
print(threading.stack_size(0))
print(down(5_000))
try:
    sys.setrecursionlimit(1000)
    down(2_000)
except RecursionError as error:
    print(error)
print("goes on")
