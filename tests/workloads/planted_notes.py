# SPDX-License-Identifier: BSD-3-Clause
"""What a program with planted faults writes down of itself, rank by rank, into truth-R.json:

    entered   by fault: when this rank came to each of its synchronising calls
    since     by fault: when it had set out for each of them, free of whatever was before
    left      by fault: when it left them, where that matters
    posted    by fault: when it had posted what is waited for later
    spans     by function: [begin, end] of what is to blame, where there are several to tell apart
    whole     [begin, end] of all that was written down

All ranks of a host have one clock. `# WAIT: fault` in the program marks the line where ranks wait, `# POST: fault` the one that
posts.
"""

import json
import time

from mpi4py import MPI

clock = time.perf_counter
entered, since, left, posted, spans = {}, {}, {}, {}, {}
begin = start = clock()


def set_out():
    global start
    start = clock()


def enter(fault):
    since.setdefault(fault, []).append(start)
    entered.setdefault(fault, []).append(clock())


def leave(fault):
    left.setdefault(fault, []).append(clock())


def post(fault):
    posted.setdefault(fault, []).append(clock())


def span(function, begun):
    spans.setdefault(function, []).append([begun, clock()])


def write():
    noted = {"entered": entered, "since": since, "left": left, "posted": posted, "spans": spans}
    noted["whole"] = [begin, clock()]
    with open(f"truth-{MPI.COMM_WORLD.rank}.json", "w") as file:
        json.dump(noted, file)
