# SPDX-License-Identifier: BSD-3-Clause
"""Calls chosen by dice, in several threads, recursive ones among them; every function notes when it is entered and left.

    python event_log.py LOG SEED N_THREADS

LOG gets a list for each thread, of [+1 or -1, name, nanoseconds].
"""

import json
import random
import sys
import threading
import time

clock = time.perf_counter_ns
logs = {}


def spin(log, dice):
    log.append((1, "spin", clock()))
    end = clock() + dice.randint(2, 6) * 1_000_000
    while clock() < end:
        pass
    log.append((-1, "spin", clock()))


def first(log, dice, depth):
    log.append((1, "first", clock()))
    busy(log, dice)
    go_on(log, dice, depth)
    log.append((-1, "first", clock()))


def second(log, dice, depth):
    log.append((1, "second", clock()))
    go_on(log, dice, depth)
    own = clock() + 3_000_000
    while clock() < own:
        pass
    log.append((-1, "second", clock()))


def recursive(log, dice, depth):
    log.append((1, "recursive", clock()))
    busy(log, dice)
    if depth > 0:
        recursive(log, dice, depth - 2)
    go_on(log, dice, depth - 2)
    log.append((-1, "recursive", clock()))


def raising(log, dice, depth):
    log.append((1, "raising", clock()))
    try:
        busy(log, dice)
        go_on(log, dice, depth)
        raise KeyError
    finally:
        log.append((-1, "raising", clock()))


def generating(log, dice, depth):
    """What it does while it is suspended is not its time."""
    for _ in range(2):
        log.append((1, "generating", clock()))
        busy(log, dice)
        log.append((-1, "generating", clock()))
        yield
    log.append((1, "generating", clock()))
    log.append((-1, "generating", clock()))


def through_c(log, dice, depth):
    log.append((1, "through_c", clock()))
    sorted([1, 2], key=lambda n: called_by_c(log, dice, depth if n == 1 else 0))
    for _ in generating(log, dice, depth):
        busy(log, dice)
    log.append((-1, "through_c", clock()))


def called_by_c(log, dice, depth):
    log.append((1, "called_by_c", clock()))
    busy(log, dice)
    go_on(log, dice, depth - 1)
    log.append((-1, "called_by_c", clock()))
    return depth


def busy(log, dice):
    log.append((1, "busy", clock()))
    for _ in range(dice.randint(1, 2)):
        spin(log, dice)
    log.append((-1, "busy", clock()))


def go_on(log, dice, depth):
    log.append((1, "go_on", clock()))
    for _ in range(dice.randint(0, 2) if depth > 0 else 0):
        try:
            dice.choice((first, second, recursive, raising, through_c))(log, dice, depth - 1)
        except KeyError:
            pass
    log.append((-1, "go_on", clock()))


def in_thread(name, seed):
    log = logs[name] = []
    dice = random.Random(seed)
    log.append((1, "in_thread", clock()))
    for function in (first, second, recursive, raising, through_c):
        try:
            function(log, dice, 2)
        except KeyError:
            pass
    log.append((-1, "in_thread", clock()))


seed, n_threads = map(int, sys.argv[2:])
threads = [threading.Thread(target=in_thread, args=(n, seed + n), name=f"logged {n}") for n in range(1, n_threads + 1)]
for thread in threads:
    thread.start()
in_thread(0, seed)
for thread in threads:
    thread.join()
with open(sys.argv[1], "w") as file:
    json.dump([logs[n] for n in sorted(logs)], file)
