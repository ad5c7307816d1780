# SPDX-License-Identifier: BSD-3-Clause
"""Known calls in a known order, on two threads, with regions and parameters; a gap in the trace. The names stand in test_otf2.py.

archived.py          all of it
archived.py KILL     the process is killed in the middle
"""

import os
import signal
import sys
import threading

import allranks


class Grid:
    def relax(self, n):
        for _ in range(n):
            step()


def step():
    pass


def outer():
    def inner():
        step()

    inner()


def work():
    Grid().relax(3)


def not_seen():
    pass


def main():
    allranks.parameter("signed", -3)
    allranks.parameter("unsigned", 2**64 - 1)
    allranks.parameter("text", "grüße, \"quoted\"")
    with allranks.region("assemble", level=2):
        Grid().relax(2)
    with allranks.region("__main__:named"):
        outer()
    thread = threading.Thread(target=work, name="helper")
    thread.start()
    thread.join()
    allranks.trace_off()
    not_seen()
    allranks.trace_on()
    step()
    if len(sys.argv) > 1:
        os.kill(os.getpid(), signal.SIGKILL)


main()
