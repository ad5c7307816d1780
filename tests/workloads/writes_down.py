# SPDX-License-Identifier: BSD-3-Clause
"""Proves what a killed process leaves: writes down every call before it makes it, when it is in it, when it is about to
leave it and when it is back, and goes on for ever. What is written stays when the process is killed.

    writes_down.py LOG N_THREADS [N_ROUNDS]      further threads besides the main one; rounds: for ever

A line is the thread's number in the system, and one of `c NAME`, `> NAME`, `< NAME`, `r NAME`. Rounds make ever new call
paths, so that the live file grows.
"""

import os
import sys
import threading

LOG = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
N_THREADS = int(sys.argv[2])
N_ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else -1


def write(what):
    os.write(LOG, f"{threading.get_native_id()} {what}\n".encode())


def deep(n):
    write("> deep")
    if n:
        write("c deep")
        deep(n - 1)
        write("r deep")
    write("< deep")


def leaf():
    write("> leaf")
    write("< leaf")


def middle(n):
    write("> middle")
    write("c leaf")
    leaf()
    write("r leaf")
    write("c deep")
    deep(n % 3)
    write("r deep")
    write("< middle")


def new_function(n):
    """One that has never been called before, with calls from sixty places in it: sixty new call paths."""
    space = {}
    exec(f"def new_{n}(f):\n" + "    f()\n" * 60, space)
    return space[f"new_{n}"]


def nothing():
    pass


def turn(n):
    write("> turn")
    write("c middle")
    middle(n)
    write("r middle")
    if n % 4 == 0:
        new_function(n)(nothing)
    write("< turn")


def forever():
    n = 0
    while n != N_ROUNDS:
        write("c turn")
        turn(n)
        write("r turn")
        n += 1


threads = [threading.Thread(target=forever) for _ in range(N_THREADS)]
for thread in threads:
    thread.start()
forever()
for thread in threads:
    thread.join()
