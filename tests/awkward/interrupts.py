# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT
"""KeyboardInterrupt at different moments, own handlers, timers."""

import signal
import threading
import time


def interrupted(what, *args):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        what(*args)
    except KeyboardInterrupt as error:
        signal.setitimer(signal.ITIMER_REAL, 0)
        depth, traceback = 0, error.__traceback__
        while traceback.tb_next:
            depth, traceback = depth + 1, traceback.tb_next
        return depth


def spin():
    while True:
        pass


def call():
    while True:
        nothing()


def nothing():
    pass


def sleep():
    time.sleep(100)


def generate():
    def numbers():
        while True:
            yield 1

    for _ in numbers():
        pass


def wait_for_lock():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def interrupt(number, frame):
    if frame.f_code.co_name == "interrupted":  # too early, on a busy machine
        signal.setitimer(signal.ITIMER_REAL, 0.02)
    else:
        raise KeyboardInterrupt


signal.signal(signal.SIGALRM, interrupt)
print("spin", interrupted(spin))
print("call", interrupted(call) >= 2)
print("generate", interrupted(generate) >= 2)
print("sleep", interrupted(sleep))
print("lock", interrupted(wait_for_lock))

seen = []
signal.signal(signal.SIGALRM, lambda number, frame: seen.append((number, frame.f_code.co_name)))
signal.alarm(1)
signal.alarm(0)
signal.raise_signal(signal.SIGALRM)
print(seen)


def ticks():
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    while len(seen) < 20:
        nothing()
    signal.setitimer(signal.ITIMER_REAL, 0, 0)


ticks()
print(len(seen) >= 20, {name for _, name in seen} <= {"ticks", "nothing", "<module>", "<lambda>"})
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
print([str(signal.getsignal(n)) for n in (signal.SIGPIPE, signal.SIGTERM, signal.SIGUSR1, signal.SIGPROF, signal.SIGSEGV)])
print(signal.getitimer(signal.ITIMER_PROF), signal.getitimer(signal.ITIMER_VIRTUAL))
signal.signal(signal.SIGINT, lambda *_: print("own handler"))
signal.raise_signal(signal.SIGINT)
print("goes on")
