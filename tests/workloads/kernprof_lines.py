# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: B018, F821, UP028
"""Functions with the builtin `profile`, whose lines run as often as the remarks behind them say. Ends in the way that is named."""

import asyncio
import os
import signal
import sys
import threading
import time


@profile
def loop(n):
    total = 0  # 6
    for i in range(n):  # 101
        total += i  # 95
    return total  # 6


@profile
def fib(n):
    if n < 2:  # 177
        return n  # 89
    return fib(n - 1) + fib(n - 2)  # 88


@profile
def count(n):
    for i in range(n):  # 8
        yield i  # 7


class Solver:
    @profile
    def step(self):
        try:
            if self.fails:  # 3
                raise ValueError  # 1
            self.fails = True  # 2
        except ValueError:  # 1
            self.fails = False  # 1
        finally:
            self.done = True  # 3

    fails = False

    @profile
    @staticmethod
    def still():
        return 4  # 2

    @profile
    @classmethod
    def made(cls):
        return cls()  # 1

    @property
    @profile
    def value(self):
        return 7  # 5


@profile
async def wait(n):
    while n:  # 5
        n -= 1  # 4
        await asyncio.sleep(0)  # 4


def make():
    @profile
    def inner(x):
        return x  # 3

    return inner


def main():
    loop(10)
    loop(5)
    threads = [threading.Thread(target=loop, args=(20,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fib(10)
    list(count(5))
    generator = count(9)
    next(generator)
    next(generator)
    generator.close()
    solver = Solver.made()
    for _ in range(3):
        solver.step()
    solver.still()
    Solver.still()
    for _ in range(5):
        solver.value
    asyncio.run(wait(4))
    for _ in range(3):
        make()(1)
    print("worked")


def end(how):
    if how == "raise":
        raise ValueError("as it should")
    if how == "exit":
        sys.exit(3)
    if how == "_exit":
        sys.stdout.flush()
        os._exit(4)
    if how.startswith("SIG"):
        sys.stdout.flush()
        os.kill(os.getpid(), getattr(signal, how))
        time.sleep(10)


main()
end(sys.argv[1] if len(sys.argv) > 1 else "")
