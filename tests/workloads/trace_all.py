"""Everything that a trace can have without MPI: regions, parameters, threads, a child, periods without a recording, calls that end
by exceptions, generators, and names that a format has to escape.
"""

import subprocess
import sys
import threading

import allranks


def leaf(n):
    return len(sorted(str(n)))


def numbers(n):
    for i in range(n):
        yield leaf(i)


def recurse(n):
    return recurse(n - 1) if n else leaf(n)


def fail():
    raise ValueError("as planned")


def in_thread():
    for i in range(3):
        recurse(i)
    allranks.parameter("from the thread", -3)


sum(numbers(5))
recurse(6)
try:
    fail()
except ValueError:
    pass
with allranks.region('"quoted", \\ and\nbroken'):
    leaf(1)
    with allranks.region("größer → 数"):
        allranks.parameter("level", 7)
        allranks.parameter("huge", 2**64 - 1, True)
        allranks.parameter("text", 'a "text", with 数\tand a tab')
    allranks.trace_off()
    recurse(3)
    allranks.trace_on()
    leaf(2)
thread = threading.Thread(target=in_thread, name="helper <&>")
thread.start()
thread.join()
subprocess.run([sys.executable, "-c", "def kid():\n    return 1\nkid()"], check=True)
recurse(1)
allranks.trace_off()
recurse(2)
