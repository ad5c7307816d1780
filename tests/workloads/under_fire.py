# SPDX-License-Identifier: BSD-3-Clause
"""Programs to which something happens while they run; what each prints does not depend on whether it is recorded.

    under_fire.py WAY [ARGUMENT...]

`work(n)` calls a new function from n places, one call path each, so that a live file has to grow: 64 bytes a path.
"""

import errno
import os
import resource
import shutil
import signal
import sys
import time


def nothing(x):
    return x


N_WORKED = 0


def work(n_paths):
    """So many call paths of `nothing`, in functions of a hundred."""
    global N_WORKED
    total = 0
    for _ in range(n_paths // 100):
        space = {"nothing": nothing}
        exec(f"def work_{N_WORKED}():\n    n = 0\n" + "    n += nothing(1)\n" * 100 + "    return n\n", space)
        total += space[f"work_{N_WORKED}"]()
        N_WORKED += 1
    return total


def much():
    print(work(20000))


def little():
    print(work(100))


def file_size(n_bytes):
    """The signal is on its default, which is to kill; Python itself ignores it."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(n_bytes), resource.RLIM_INFINITY))
    print(work(20000))


def uses_memory(n_mib):
    block = bytearray(int(n_mib) << 20)
    print(len(block), work(1000))


def out_of_memory():
    """Goes on with new functions while nothing can be allocated, as far as Python itself can."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (24 << 20), resource.RLIM_INFINITY))
    hoard = []
    size = 1 << 20
    while size >= 1 << 12:
        try:
            hoard.append(bytearray(size))
        except MemoryError:
            size //= 2
    done = ended = 0
    for _ in range(50):
        try:
            done += work(100)
        except MemoryError:
            ended += 1
    del hoard
    print("survived", done + 100 * ended >= 100, work(100))


def no_descriptors():
    opened = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    try:
        while True:
            opened.append(os.open("/dev/null", os.O_RDONLY))
    except OSError as error:
        print(errno.errorcode[error.errno])
    print(work(20000))
    for fd in opened:
        os.close(fd)
    time.sleep(0.2)
    print(afterwards())


def afterwards():
    return work(100)


def removes(directory):
    shutil.rmtree(directory)
    print(work(100))


def removes_and_grows(directory):
    shutil.rmtree(directory)
    print(work(20000))


def fast_timer():
    """Interrupts whatever takes longer than this; a timer that is too fast stops the program even without us."""
    ticks = []
    signal.signal(signal.SIGALRM, lambda *_: ticks.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
    result = work(60000)
    signal.setitimer(signal.ITIMER_REAL, 0, 0)
    print(result, len(ticks) > 10)


def ends_by(name):
    def inner():
        work(100)
        os.kill(os.getpid(), getattr(signal, name))
        time.sleep(60)

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print("until here", flush=True)
    inner()


def segfault():
    import ctypes

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print(work(100), flush=True)
    ctypes.string_at(0)


def sleeps():
    time.sleep(0.2)
    print("slept")


globals()[sys.argv[1]](*sys.argv[2:])
