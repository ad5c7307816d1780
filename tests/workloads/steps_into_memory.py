# SPDX-License-Identifier: BSD-3-Clause
"""Calls functions at random until it is killed, and notes each step in a file that it has mapped: one byte per step, which nothing
can take back. It calls nothing to do so.

    steps_into_memory.py N_THREADS [mpi]

A byte is 1 + 2 * function, and 1 more where that is left. The file is steps-PID-THREAD.
"""

import mmap
import os
import random
import sys
import threading
import time

N_BYTES = 80_000  # a test reads all of it


class Log:
    def __init__(self, thread):
        name = f"steps-{os.getpid()}-{thread}"
        with open(name + ".new", "wb+") as file:
            file.truncate(N_BYTES)
            self.bytes = mmap.mmap(file.fileno(), N_BYTES)
        os.rename(name + ".new", name)
        self.n = 0
        self.dice = random.Random(thread)


def f0(log, n):
    log.bytes[log.n] = 1
    log.n += 1
    if n:
        f1(log, n - 1)
        f2(log, n - 1)
    log.bytes[log.n] = 2
    log.n += 1


def f1(log, n):
    log.bytes[log.n] = 3
    log.n += 1
    if n:
        f2(log, n - 1)
    log.bytes[log.n] = 4
    log.n += 1


def f2(log, n):
    log.bytes[log.n] = 5
    log.n += 1
    try:
        if n:
            f3(log, n - 1)
    except ValueError:
        pass
    log.bytes[log.n] = 6
    log.n += 1


def f3(log, n):
    log.bytes[log.n] = 7
    log.n += 1
    if n & 1:
        log.bytes[log.n] = 8
        log.n += 1
        raise ValueError
    for _ in f4(log, n):
        if n:
            f0(log, n - 1)
    log.bytes[log.n] = 8
    log.n += 1


def f4(log, n):
    log.bytes[log.n] = 9
    log.n += 1
    for i in range(2):
        log.bytes[log.n] = 10
        log.n += 1
        yield i
        log.bytes[log.n] = 9
        log.n += 1
    log.bytes[log.n] = 10
    log.n += 1


def steps(thread):
    log = Log(thread)
    while log.n < N_BYTES - 40_000:
        for _ in range(50):
            (f0, f1, f2)[log.dice.randrange(3)](log, log.dice.randrange(6))
        time.sleep(0.01)
    threading.Event().wait()


if len(sys.argv) > 2:
    from mpi4py import MPI

    MPI.COMM_WORLD.Barrier()
for number in range(1, int(sys.argv[1]) + 1):
    threading.Thread(target=steps, args=(number,), name=f"steps {number}", daemon=True).start()
steps(0)
