# SPDX-License-Identifier: BSD-3-Clause
"""Uses PyOP2's timers, with a clock of its own around the same code: pyop2_timers.py LOG [mpi]

LOG.<rank>.json has, by timer, the seconds and calls that the program noted, and those that the timers report.
"""

import json
import sys
from time import perf_counter, sleep

from pyop2 import timing
from pyop2.profiling import get_timers, tic, timed_function, timed_region, toc

rank = 0
if "mpi" in sys.argv[2:]:
    from mpi4py import MPI

    rank = MPI.COMM_WORLD.Get_rank()

noted = {}
UNIT_S = 0.1 * (rank + 1)


def note(name, begin):
    seconds = perf_counter() - begin
    n_calls, so_far = noted.get(name, (0, 0.0))
    noted[name] = (n_calls + 1, so_far + seconds)


def compute(seconds):
    end = perf_counter() + seconds
    while perf_counter() < end:
        pass


@timed_function("my function")
def my_func(seconds, times=1):
    """Documented."""
    compute(seconds)
    return times + 1


@timed_function("my recursion")
def recurse(depth):
    sleep(UNIT_S / 4)
    if depth > 1:
        recurse(depth - 1)


@timed_function()
def unnamed():
    sleep(UNIT_S)


@timed_function("my failure")
def fail():
    sleep(UNIT_S)
    raise KeyError("as it should")


def begin_solve():
    tic("solve")


def end_solve():
    sleep(UNIT_S)
    return toc("solve")


for i in range(3):
    begin = perf_counter()
    with timed_region("my code"):
        sleep(UNIT_S)
        if i == 1:
            inner = perf_counter()
            with timed_region("my inner code"):
                compute(UNIT_S)
            note("my inner code", inner)
    note("my code", begin)

for i in range(2):
    begin = perf_counter()
    returned = my_func(UNIT_S, times=i)
    note("my function", begin)
    assert returned == i + 1

begin = perf_counter()
recurse(4)
note("my recursion", begin)
noted["my recursion"] = (4, noted["my recursion"][1])

begin = perf_counter()
unnamed()
note("unnamed", begin)

begin = perf_counter()
try:
    fail()
except KeyError as error:
    print("caught", error)
note("my failure", begin)

begin = perf_counter()
begin_solve()
seconds = end_solve()
note("solve", begin)
assert seconds == timing("solve")

print(my_func.__name__, my_func.__doc__)
found = {name: (timer.ncalls, timing(name), timing(name, total=False)) for name, timer in get_timers().items()}
with open(f"{sys.argv[1]}.{rank}.json", "w") as file:
    json.dump({"noted": noted, "found": found}, file)
