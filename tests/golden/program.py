"""A little of everything that a run can hold, on three ranks."""

import sys
import threading
import time
from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
half = comm.Split(comm.rank % 2, comm.rank)
half.Set_name("half")
values = array("d", [0.0] * 64)


def work(n):
    total = 0.0
    for i in range(n):
        total += step(i)
    return total


def step(i):
    return sorted(range(i % 50), key=negative)[0] if i % 50 else 0.0


def negative(i):
    return -i


def exchange():
    """Messages around a ring, blocking and not."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    request = comm.Irecv(values, left, 1)
    comm.Send(array("d", [1.0] * 64), right, 1)
    work(200)
    request.Wait()
    return comm.sendrecv({"rank": comm.rank}, right, 2, None, left, 2)


def late():
    if comm.rank == comm.size - 1:
        time.sleep(0.05)
    comm.Barrier()


def recursive(n):
    return recursive(n - 1) + 1 if n else 0


def failing():
    try:
        raise ValueError("expected")
    except ValueError:
        return half.allreduce(1)


def main():
    thread = threading.Thread(target=work, args=(500,), name="beside")
    thread.start()
    for _ in range(5):
        exchange()
        late()
    recursive(20)
    failing()
    thread.join()
    if len(sys.argv) > 1:  # killed there
        open(f"{sys.argv[1]}-{comm.rank}", "w").close()
        time.sleep(60)


main()
