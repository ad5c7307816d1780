# SPDX-License-Identifier: BSD-3-Clause
"""Proves that a message which is too long for its buffer counts as received: in each way to receive one, the message after it comes late,
and is waited for. Rank 0 of two sends. What really happened goes into truth-R.json, see planted_notes.py; rank 1 prints which ways failed,
how many messages were received, and how many bytes there was room for in each.
"""

import json
import time

from mpi4py import MPI
from planted_notes import enter, set_out, write

ROOM = 4
world = MPI.COMM_WORLD
rank = world.rank
other = 1 - rank
long, short = bytearray(2 * ROOM), bytearray(ROOM)
failed = []


def receive(tag):
    world.Recv(short, MPI.ANY_SOURCE, tag)


def receive_and_send(tag):
    world.Sendrecv(short, other, tag, bytearray(ROOM), other, tag)


def replace(tag):
    world.Sendrecv_replace(short, other, tag, other, tag)


def receive_matched(tag):
    world.Mprobe(other, tag).Recv(short)


def post_matched(tag):
    world.Mprobe(other, tag).Irecv(short).Wait()


def wait(tag):
    world.Irecv(short, other, tag).Wait()


def test(tag):
    request = world.Irecv(short, other, tag)
    while not request.Test():
        pass


def wait_for_all(tag):
    requests = [world.Irecv(short, other, tag), world.Irecv(bytearray(ROOM), rank, tag)]
    world.Send(short, rank, tag)
    try:
        MPI.Request.Waitall(requests, [MPI.Status(), MPI.Status()])
    finally:  # MPICH leaves the other one to be waited for
        MPI.Request.Waitall(requests)


def test_all(tag):
    requests = [world.Irecv(short, other, tag)]
    while not MPI.Request.Testall(requests):
        pass


def wait_for_any(tag):
    MPI.Request.Waitany([world.Irecv(short, MPI.ANY_SOURCE, tag)])


def test_any(tag):
    requests = [world.Irecv(short, other, tag)]
    while not MPI.Request.Testany(requests)[1]:
        pass


def wait_for_some(tag):
    MPI.Request.Waitsome([world.Irecv(short, other, tag)])


def test_some(tag):
    requests = [world.Irecv(short, other, tag)]
    while not MPI.Request.Testsome(requests):
        pass


def persistent(tag):
    request = world.Recv_init(short, other, tag)
    try:
        request.Start()
        request.Wait()
    finally:
        request.Free()


WAYS = (receive, receive_and_send, replace, receive_matched, post_matched, wait, test, wait_for_all, test_all, wait_for_any,
        test_any, wait_for_some, test_some, persistent)  # fmt: skip


def attempt(way, tag):
    try:
        way(tag)
    except MPI.Exception:
        failed.append(way.__name__)


def prepares_the_next():
    time.sleep(0.1)


def send(way, tag):
    request = world.Isend(long, other, tag)
    if way in (receive_and_send, replace):
        world.Recv(bytearray(ROOM), other, tag)
    request.Wait()
    prepares_the_next()
    enter("next")
    world.Send(short, other, tag)


def broadcast(_):
    """All ranks count it, although one of them fails."""
    world.Bcast(long if rank == 0 else short)


def main():
    attempt(broadcast, 0)
    for tag, way in enumerate(WAYS):
        world.Barrier()
        set_out()
        if rank == 0:
            send(way, tag)
        else:
            attempt(way, tag)
            enter("next")
            world.Recv(short, other, tag)  # WAIT: next
    world.Barrier()
    write()
    if rank == 1:
        n_messages = 2 * len(WAYS) + 4  # two each; the broadcast, one from this rank itself, and two that are sent back
        ways = [way.__name__ for way in (broadcast, *WAYS)]
        print(json.dumps({"ways": ways, "failed": failed, "room": ROOM, "messages": n_messages}))


main()
