# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT fork
# run: SCRIPT fork_in_callback
# run: SCRIPT execute
# run: SCRIPT execute_in_callback
# run: SCRIPT leave => 3
# run: SCRIPT leave_in_callback => 3
# run: SCRIPT leave_in_thread => 3
# run: SCRIPT stop_in_callback => 4
# run: SCRIPT kill_in_callback => SIGKILL, no line
# run: SCRIPT abandon
# run: SCRIPT end_thread_in_callback
# run: SCRIPT interrupt
"""A process forks, becomes another program or ends while C functions are under way."""

import _thread
import functools
import os
import signal
import sys
import threading
import time


def fork():
    for i in range(3):
        child = os.fork()
        if child == 0:
            print("child", i, sum(divmod(n, 3)[1] for n in range(10)), flush=True)
            os._exit(i)
        print("parent", os.WEXITSTATUS(os.waitpid(child, 0)[1]), flush=True)


def fork_in_callback():
    """The child goes on below sorted, and returns from it, too."""
    is_child = []

    def key(x):
        if x == 2:
            is_child.append(os.fork() == 0)
            if not is_child[0]:
                os.wait()
        return -x

    found = sorted([1, 2, 3], key=key)
    print("child" if is_child[0] else "parent", found, functools.reduce(max, found), flush=True)
    if is_child[0]:
        sys.exit(0)


def execute():
    os.execv(sys.executable, [sys.executable, "-c", "print(sorted([2, 1], key=abs))"])


def execute_in_callback():
    max([1], key=lambda x: execute())


def leave():
    print("leaves", flush=True)
    os._exit(3)


def leave_in_callback():
    sorted([1], key=lambda x: list(map(lambda y: leave(), [x])))


def leave_in_thread():
    threading.Thread(target=leave_in_callback).start()
    time.sleep(60)


def stop_in_callback():
    try:
        sorted([1], key=lambda x: sys.exit(4))
    finally:
        print("stops", max(1, 2))


def kill_in_callback():
    print("kills", flush=True)
    sorted([1], key=lambda x: os.kill(os.getpid(), signal.SIGKILL))


def abandon():
    """Daemon threads that are in C functions and callbacks when the interpreter ends."""
    begun = threading.Semaphore(0)

    def sorts():
        while True:
            sorted(range(1000), key=lambda x: -x)
            begun.release()

    def sleeps():
        begun.release()
        time.sleep(1000)

    def waits():
        begun.release()
        threading.Lock().acquire() and threading.Event().wait()

    for target in (sorts, sorts, sleeps, waits):
        threading.Thread(target=target, daemon=True).start()
    for _ in range(10):
        begun.acquire()
    print("abandons")


def end_thread_in_callback():
    def work():
        sorted([1], key=lambda x: _thread.exit())

    for _ in range(3):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    print("ended", threading.active_count())


def interrupt():
    """An exception that a signal raises, within a C function that calls back and within one that waits."""

    def handler(number, frame):
        raise InterruptedError("by a signal")

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        while True:
            sorted(range(1000), key=lambda x: -x)
    except InterruptedError as error:
        print(error)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        time.sleep(60)
    except InterruptedError as error:
        print(error)
    print(max([1, 2], key=lambda x: -x))


globals()[sys.argv[1]]()
