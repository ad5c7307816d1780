# SPDX-License-Identifier: BSD-3-Clause
"""Proves that nothing is said where there is nothing to say: programs that come near to a fault and are none.

    not_held_back.py WHICH     a function of this file
"""

import array
import os
import sys
import time

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
one, other = array.array("d", [1]), array.array("d", [0])


def works():
    time.sleep(0.4)


def balanced():
    """All work for the same time; rank 0 also reads, prints and writes a little, as rank 0 does."""
    world.Barrier()
    for step in range(3):
        works()
        world.Allreduce(one, other)
        if rank == 0:
            with open("log.txt", "a") as file:
                file.write(f"step {step}\n")
    world.gather(rank, root=0)


def kernel(seconds):
    time.sleep(seconds)


def first_half(seconds):
    kernel(seconds)


def second_half(seconds):
    kernel(seconds)


def noisy():
    """The same work on all ranks, but for 3 % of noise: one function on two call paths, whose time passes in sleeps."""
    world.Barrier()
    for step in range(10):
        noise = 1 + 0.03 * ((rank + step) % size) / size
        first_half(0.03 * noise)
        second_half(0.06 * noise)
        world.Allreduce(one, other)


def meets_at_its_end():
    """Several functions, none of which all ranks call, but all ranks are equally busy."""
    world.Barrier()
    if rank % 2:
        reads_odd_parts()
    else:
        solves_even_parts()
    world.Barrier()
    writes_own_file()
    world.Barrier()


def reads_odd_parts():
    time.sleep(1)


def solves_even_parts():
    time.sleep(1)


def writes_own_file():
    """All ranks write, each as much."""
    with open(f"part-{rank}.bin", "wb") as file:
        file.write(bytes(1 << 20))
        time.sleep(0.2)


def overlapping():
    """Messages, some of them large, that come while everybody works."""
    outgoing, incoming = bytearray(1 << 20), bytearray(1 << 20)
    world.Barrier()
    for _ in range(3):
        right, left = (rank + 1) % size, (rank - 1) % size
        requests = [world.Irecv(incoming, left), world.Isend(outgoing, right)]
        works()
        MPI.Request.Waitall(requests)
    world.Barrier()


def talks_a_little():
    """Few messages, small objects, a sender that is early, many modules: nothing of it takes long."""
    import argparse  # noqa: F401
    import decimal  # noqa: F401
    import email.message  # noqa: F401
    import logging  # noqa: F401
    import unittest  # noqa: F401

    world.Barrier()
    settings = world.bcast({"steps": 3, "name": "small"}, root=0)
    for step in range(settings["steps"]):
        if rank == 0:
            world.send({"step": step}, dest=1)
        works()
        if rank == 1:
            world.recv(source=0)
        for _ in range(20):
            world.Allreduce(one, other)
    for _ in range(5000):
        calls_a_few_times()
    world.Barrier()


def calls_a_few_times():
    pass


def nobody_else():
    """One rank: there is nobody to wait for."""
    with open("alone.txt", "w") as file:
        file.write(os.getcwd())
    works()
    world.Barrier()


globals()[sys.argv[1]]()
