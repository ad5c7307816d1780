"""Does a known amount of work, by a function of a library whose counters count just that, in regions, a thread and a child."""

import ctypes
import os
import signal
import sys
import threading

import allranks

functions = []  # one per source of counters that is there
if os.path.exists(os.environ.get("ALLRANKS_PAPI", "")):
    functions.append(ctypes.CDLL(os.environ["ALLRANKS_PAPI"]).stand_in_work)
if "LD_PRELOAD" in os.environ:
    functions.append(ctypes.CDLL(None).shim_work)


def work(n):
    for function in functions:
        function(ctypes.c_longlong(n))


def in_region(name, n):
    work(1000)
    with allranks.region(name):
        work(n)
    work(1000)


with allranks.region("first"):
    work(5)
    with allranks.region("second"):
        work(7)
child = os.fork()
if child == 0:
    in_region("in the child", 13)
    os._exit(0)
os.waitpid(child, 0)
thread = threading.Thread(target=in_region, args=("in a thread", 11))
thread.start()
thread.join()
if "dies" in sys.argv:
    os.kill(os.getpid(), signal.SIGKILL)
