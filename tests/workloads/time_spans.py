# SPDX-License-Identifier: BSD-3-Clause
"""Proves that time is right: functions that are busy for known spans and measure themselves with their own clock.

What really happened, in seconds by function, goes into the file that is named on the command line: `total` as pstats
has it (recursion once, suspended generators not at all) and `self` (without what was called).
"""

import json
import sys
import threading
import time

clock = time.perf_counter
total, own = {}, {}


def add(table, name, seconds):
    table[name] = table.get(name, 0) + seconds


# Every function reads the clock first and last, and takes the time of its own spinning, in the same way: inline,
# as a helper would be a call of its own. `add` is called too, but takes no time to speak of.


def leaf():
    start = clock()
    while clock() < start + 0.02:
        pass
    seconds = clock() - start
    add(total, "leaf", seconds)
    add(own, "leaf", seconds)


def parent():
    """100 ms of its own around 5 calls."""
    start = clock()
    mine = 0
    for _ in range(5):
        spin = clock()
        while clock() < spin + 0.02:
            pass
        mine += clock() - spin
        leaf()
    add(own, "parent", mine)
    add(total, "parent", clock() - start)


def recursive(depth):
    start = clock()
    while clock() < start + 0.03:
        pass
    add(own, "recursive", clock() - start)
    if depth:
        recursive(depth - 1)
    if depth == 3:
        add(total, "recursive", clock() - start)


def sleeper():
    """Asleep is spent time too."""
    start = clock()
    time.sleep(0.15)
    add(total, "sleeper", clock() - start)
    add(own, "sleeper", clock() - start)


def generator(n):
    for _ in range(n):
        start = clock()
        while clock() < start + 0.02:
            pass
        add(total, "generator", clock() - start)
        add(own, "generator", clock() - start)
        yield


def consumer():
    """Spends time while the generator is suspended, which is not the generator's."""
    start = clock()
    mine = 0
    for _ in generator(5):
        spin = clock()
        while clock() < spin + 0.03:
            pass
        mine += clock() - spin
    add(own, "consumer", mine)
    add(total, "consumer", clock() - start)


def raiser():
    start = clock()
    while clock() < start + 0.05:
        pass
    add(total, "raiser", clock() - start)
    add(own, "raiser", clock() - start)
    raise LookupError


def catcher():
    """What follows an exception is the catcher's time."""
    start = clock()
    mine = 0
    for _ in range(2):
        try:
            raiser()
        except LookupError:
            spin = clock()
            while clock() < spin + 0.05:
                pass
            mine += clock() - spin
    add(own, "catcher", mine)
    add(total, "catcher", clock() - start)


def in_thread():
    start = clock()
    time.sleep(0.1)
    add(total, "in_thread", clock() - start)
    add(own, "in_thread", clock() - start)


def waits_for_thread():
    start = clock()
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    add(total, "waits_for_thread", clock() - start)


def main():
    start = clock()
    parent()
    recursive(3)
    waits_for_thread()
    sleeper()
    consumer()
    catcher()
    add(total, "main", clock() - start)


main()
with open(sys.argv[1], "w") as file:
    json.dump({"total": total, "self": own}, file)
