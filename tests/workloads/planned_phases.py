# SPDX-License-Identifier: BSD-3-Clause
"""Does one thing after the other, and writes down how long each took: `phases-RANK.json`.

    planned_phases.py             the phases, alone
    planned_phases.py mpi         the same on each rank, later ranks sleeping longer, with a barrier behind the sleep
    planned_phases.py off         the trace is off for a while
    planned_phases.py killed      ends by SIGKILL within a sleep
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time


def timed(log, name, function, *args):
    start = time.perf_counter()
    function(*args)
    log[name] = log.get(name, 0.0) + time.perf_counter() - start


def compute(seconds):
    end = time.perf_counter() + seconds
    n = 0
    while time.perf_counter() < end:
        n += 1
    return n


def rest(seconds):
    time.sleep(seconds)


def switched_off(seconds):
    import allranks

    allranks.trace_off()
    compute(seconds)
    allranks.trace_on()


def in_thread(seconds):
    thread = threading.Thread(target=rest, args=(seconds,))
    thread.start()
    thread.join()


def main(mode):
    log = {}
    rank = 0
    if mode == "mpi":
        from mpi4py import MPI

        world = MPI.COMM_WORLD
        rank = world.rank
        world.Barrier()  # setting up is no phase
        timed(log, "rest", rest, 0.15 + 0.1 * rank)
        timed(log, "barrier", world.Barrier)
    else:
        timed(log, "rest", rest, 0.2)
    timed(log, "compute", compute, 0.2)
    if mode == "off":
        timed(log, "off", switched_off, 0.3)
    if mode == "threads":
        timed(log, "thread", in_thread, 0.2)
    timed(log, "rest again", rest, 0.05)
    with open(f"phases-{rank}.json", "w") as file:
        json.dump(log, file)
    if mode == "killed":
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGKILL)).start()
        rest(60)


main(sys.argv[1] if len(sys.argv) > 1 else "")
