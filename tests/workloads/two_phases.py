# SPDX-License-Identifier: BSD-3-Clause
"""Is busy in `early` until the file go_on is there, then in `late`, and ends when there is also the file finish. With an
argument it is busy in a function `other` instead. Writes `started` when it is at work, with how long it had run, and
every hundred calls of `early` their number into `counts`.
"""

import time

BEGUN = time.time()

import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402


def write(name, data):
    with open(f"{name}.{os.getpid()}.part", "w") as file:
        json.dump(data, file)
    os.rename(f"{name}.{os.getpid()}.part", name)


def early():
    n = 0
    for _ in range(20000):
        n += 1
    return n


def late():
    n = 0
    for _ in range(20000):
        n -= 1
    return n


def other():
    n = 0
    for _ in range(20000):
        n += 2
    return n


write("started", {"at": time.time(), "before_s": time.time() - BEGUN})
n_calls = 0
while sys.argv[1:]:
    other()
while not os.path.exists("go_on"):
    early()
    n_calls += 1
    if n_calls % 100 == 0:
        write("counts", {"early": n_calls})
while not os.path.exists("finish"):
    late()
