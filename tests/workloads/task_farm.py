# SPDX-License-Identifier: BSD-3-Clause
"""Task farms: rank 0 hands out tasks, the others ask for the next. Time passes in sleeps in functions with names.

    task_farm.py FARM                                a function of this file
    -m mpi4py.futures task_farm.py in_pool TASKS     the same with workers of mpi4py, which poll
    task_farm.py in_communicator TASKS
"""

import sys
import time

from mpi4py import MPI

world = MPI.COMM_WORLD
ASKS, WORKS, STOPS = 1, 2, 3


def prepares_next():
    time.sleep(0.06)


def takes_long(*_):
    time.sleep(1.0)


def is_short(*_):
    time.sleep(0.02)


def hands_out(tasks, prepare=None):
    status = MPI.Status()
    n_busy = world.size - 1
    while n_busy:
        world.recv(source=MPI.ANY_SOURCE, tag=ASKS, status=status)
        if tasks:
            if prepare:
                prepare()
            world.send(tasks.pop(0), dest=status.Get_source(), tag=WORKS)
        else:
            world.send(None, dest=status.Get_source(), tag=STOPS)
            n_busy -= 1


def works():
    status = MPI.Status()
    while True:
        world.send(None, dest=0, tag=ASKS)
        task = world.recv(source=0, tag=MPI.ANY_TAG, status=status)
        if status.Get_tag() == STOPS:
            return
        globals()[task]()


def farm(tasks, prepare=None):
    if world.rank == 0:
        hands_out(tasks, prepare)
    else:
        works()
    world.barrier()


def slow_master():
    farm(["is_short"] * 18, prepares_next)


def long_task_at_the_end():
    farm(["is_short"] * 12 + ["takes_long"])


def too_few_tasks():
    farm(["takes_long"])


def polls_for_requests():
    """As hands_out, but rank 0 sleeps between two looks."""
    status = MPI.Status()
    tasks, n_busy = ["is_short"] * 6 + ["takes_long"], world.size - 1
    while n_busy:
        while not world.iprobe(source=MPI.ANY_SOURCE, tag=ASKS, status=status):
            time.sleep(0.02)
        world.recv(source=status.Get_source(), tag=ASKS)
        task = tasks.pop(0) if tasks else None
        n_busy -= task is None
        world.send(task, dest=status.Get_source(), tag=WORKS if task else STOPS)


def polling_master():
    if world.rank == 0:
        polls_for_requests()
    else:
        works()
    world.barrier()


def submits(executor):
    if sys.argv[2] == "long_task_at_the_end":
        for task in [executor.submit(is_short) for _ in range(12)] + [executor.submit(takes_long)]:
            task.result()
    else:
        for _ in range(3):
            thinks()
            list(executor.map(is_short, range(6)))


def thinks():
    time.sleep(0.5)


def in_pool():
    from mpi4py.futures import MPIPoolExecutor

    with MPIPoolExecutor() as executor:
        submits(executor)


def in_communicator():
    from mpi4py.futures import MPICommExecutor

    with MPICommExecutor(world, root=0) as executor:
        if executor is not None:
            submits(executor)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
