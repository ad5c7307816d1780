# SPDX-License-Identifier: BSD-3-Clause
"""The process is ended from C while threads make new calls all the time: what they have recorded is read as it changes."""

import ctypes
import random
import threading


def walk(depth):
    if depth > 0:
        for step in random.sample((left, right, ahead), 2):
            step(depth)


def left(depth):
    walk(depth - 1)


def right(depth):
    walk(depth - 1), walk(0)


def ahead(depth):
    right(depth - 1) if random.random() < 0.5 else walk(depth - 1)


def busy():
    while True:
        walk(9)
        begun.release()


begun = threading.Semaphore(0)
for _ in range(4):
    threading.Thread(target=busy, daemon=True).start()
for _ in range(8):
    begun.acquire()
print("ends", flush=True)
ctypes.CDLL(None).exit(0)  # without the lock of the interpreter: the threads go on
