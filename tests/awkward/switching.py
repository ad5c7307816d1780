# SPDX-License-Identifier: BSD-3-Clause
# slow: 3.9 3.11 3.12 3.13
"""Threads that are switched as often as possible, with generators, exceptions and new functions in each."""

import sys
import threading

sys.setswitchinterval(1e-6)


def numbers(n):
    for i in range(n):
        yield i


def fails(n):
    if n % 3 == 0:
        raise ValueError(n)
    return n


def work(results, index):
    total = 0
    for i in numbers(2000):
        try:
            total += fails(i)
        except ValueError as error:
            total += error.args[0]
        if i % 100 == 0:
            space = {}
            exec(f"def made_{index}_{i}(x): return x + 1", space)
            total += space[f"made_{index}_{i}"](1)
    results[index] = total


results = [0] * 8
threads = [threading.Thread(target=work, args=(results, i)) for i in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(results, sys.getswitchinterval())
