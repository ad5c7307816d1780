# SPDX-License-Identifier: BSD-3-Clause
"""Goes some calls deep, writes down its own stack (function, line) and stays there. `allranks where` must say the same.

    stands_still.py LOG sleep      in time.sleep
    stands_still.py LOG spin       in a loop in Python
    stands_still.py LOG region     in a region, in a recursion
    stands_still.py LOG threads    the main thread waits for two workers, which wait for each other
    stands_still.py LOG task       in a coroutine of an asyncio task
    stands_still.py LOG deadlock   on two ranks: rank 0 receives what nobody sends, rank 1 waits at a barrier
    stands_still.py LOG importing  in a module that is being imported
    stands_still.py LOG unpacking  in one that is being imported from a zip file, by a function of zipimport

The file is renamed into place when it is complete: then the program stands still.
"""

import json
import os
import sys
import threading
import time

stacks = {}
LOG, HOW = sys.argv[1:3]


def note(name, n_lines_on=1):
    """Notes the stack of the caller, which is about to stop so many lines further on."""
    frame = sys._getframe(1)
    stack = []
    while frame:
        if "import" not in frame.f_code.co_filename and "threading" not in frame.f_code.co_filename:
            stack.append([frame.f_code.co_name, frame.f_lineno])
        frame = frame.f_back
    stack[0][1] += n_lines_on
    stacks[name] = stack[::-1]


def write(log=LOG):
    with open(log + ".part", "w") as file:
        json.dump({"stacks": stacks, "at": time.time(), "pid": os.getpid()}, file)
    os.rename(log + ".part", log)


def stop_here():
    note("main", 2)
    write()
    time.sleep(1000)


def middle():
    return 1 + stop_here()


def sleeping():
    for _ in range(2):
        if _:
            middle()


def spinning():
    note("main", 0)
    stacks["main"][-1][1] = None  # where in its loop it is found nobody knows
    write()
    n = 0
    while True:
        n += 1


def recursive(n):
    if n:
        recursive(n - 1)
    else:
        stop_here()


def in_region():
    import allranks

    with allranks.region("assemble"):
        recursive(3)


def worker(name, ready, never):
    note(name, 2)
    ready.set()
    never.wait()


def in_threads():
    never = threading.Event()
    for name in ("one", "two"):
        ready = threading.Event()
        threading.Thread(target=worker, args=(name, ready, never), name=name).start()
        ready.wait()
    note("main", 2)
    write()
    never.wait()


async def inner():
    stop_here()


async def outer():
    await inner()


def in_task():
    import asyncio

    async def main():
        await asyncio.create_task(outer(), name="fetch")

    asyncio.run(main())


def receive(comm):
    note("main", 2)
    write(f"{LOG}-{comm.rank}")
    comm.Recv(bytearray(8), source=1, tag=7)


def meet(comm):
    note("main", 2)
    write(f"{LOG}-{comm.rank}")
    comm.Barrier()


def deadlock():
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    if comm.rank == 0:
        receive(comm)
    else:
        meet(comm)


MODULE = "import __main__\n__main__.stop_here()\n"


def importing():
    with open("stops_when_imported.py", "w") as file:
        file.write(MODULE)
    sys.path.insert(0, os.getcwd())
    import stops_when_imported  # noqa: F401


def unpacking():
    import warnings
    import zipfile
    import zipimport

    with zipfile.ZipFile("modules.zip", "w") as archive:
        archive.writestr("stops_when_imported.py", MODULE)
    warnings.simplefilter("ignore")  # of what is no longer called so, but has always run modules itself
    zipimport.zipimporter("modules.zip").load_module("stops_when_imported")


{
    "sleep": sleeping,
    "spin": spinning,
    "region": in_region,
    "threads": in_threads,
    "task": in_task,
    "deadlock": deadlock,
    "importing": importing,
    "unpacking": unpacking,
}[HOW]()
