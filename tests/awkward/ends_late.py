# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT
# run: -X dev SCRIPT
"""The order of all that happens at the end: exit functions, finalizers, threads, module clearing, unfinished generators."""

import atexit
import sys
import threading
import weakref


class Loud:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        out.write(f"del {self.name} {sys is not None}\n")
        out.flush()


out = sys.stdout


def generator():
    try:
        yield
    finally:
        out.write("generator closed\n")


def work(n):
    return n if n < 2 else work(n - 1) + work(n - 2)


a = Loud("a")
b = Loud("b")
b.cycle = b
_underscore = Loud("_underscore")
sys.kept_by_sys = Loud("kept by sys")
__builtins__.kept = Loud("kept by builtins")
g = generator()
next(g)
weakref.finalize(a, print, "finalize a")
atexit.register(print, "atexit 1")
atexit.register(lambda: print("atexit 2", work(10)))
atexit.register(lambda: atexit.register(print, "registered late"))
threading.Thread(target=lambda: (threading.main_thread().join(), print("thread", work(5)))).start()


@atexit.register
def unregisters():
    atexit.unregister(never)
    print("unregistered", threading.active_count())


def never():
    print("never")


atexit.register(never)
atexit.register(unregisters)
print("main ends", work(5))
