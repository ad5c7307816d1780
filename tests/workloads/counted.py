"""Touches a known number of new pages in regions and functions, and says what the kernel counted for it."""

import json
import mmap
import os
import resource
import signal
import sys
import threading

import allranks

PAGE = mmap.PAGESIZE


def touch(pages):
    fresh = mmap.mmap(-1, pages * PAGE)
    fresh.madvise(mmap.MADV_NOHUGEPAGE) if hasattr(mmap, "MADV_NOHUGEPAGE") else None
    for page in range(pages):
        fresh[page * PAGE] = 1
    fresh.close()


def faults():
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt


def in_region(name, pages):
    before = faults()
    with allranks.region(name):
        touch(pages)
    return faults() - before


@allranks.region("decorated")
def decorated(pages):
    touch(pages)


def nested(depth):
    with allranks.region("outer"):
        touch(10)
        if depth:
            nested(depth - 1)


def failing(pages):
    with allranks.region("failing"):
        touch(pages)
        raise ValueError


def forked(pages):
    child = os.fork()
    if child == 0:
        with allranks.region("in the child"):
            touch(pages)
        os._exit(0)
    os.waitpid(child, 0)


def main():
    logged = {"first": in_region("first", 1000), "second": in_region("second", 250)}
    decorated(40)
    nested(2)
    try:
        failing(30)
    except ValueError:
        pass
    if "fork" in sys.argv:
        forked(70)
    thread = threading.Thread(target=lambda: logged.update(thread=in_region("thread", 300)))
    thread.start()
    thread.join()
    print(json.dumps(logged))
    if "dies" in sys.argv:
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGKILL)


main()
