# SPDX-License-Identifier: BSD-3-Clause
"""Calls a function 1000 times, 300 of them deep, and ends in the way that its argument names."""

import os
import signal
import sys
import time
import traceback


def step(values):
    return len(values)


def deep(n):
    return n and deep(n - 1)


def wait_for_the_signal():
    time.sleep(60)


def to_itself(number):
    os.kill(os.getpid(), number)
    wait_for_the_signal()


how = sys.argv[1]
for _ in range(1000):
    step(())
deep(299)
assert len(traceback.extract_stack()) == 1  # nobody stands above us
print(signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT), __file__, sys.argv, sys.path[0], flush=True)
if how == "exit":
    sys.exit(3)
elif how == "words":
    sys.exit("some words")
elif how == "raise":
    raise ValueError(how)
elif how == "own handler":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
    to_itself(signal.SIGTERM)
elif how in ("SIGINT", "SIGTERM"):
    to_itself(getattr(signal, how))
elif how == "ignored":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.kill(os.getpid(), signal.SIGTERM)
