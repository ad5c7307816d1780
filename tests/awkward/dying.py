# SPDX-License-Identifier: BSD-3-Clause
"""Objects die at the expected moment, in the expected order; references are counted the same."""

import gc
import sys
import weakref

gc.collect()  # when the next automatic one comes depends on what was loaded before: docs/differences.md


class Loud:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("dies:", self.name)


def function():
    a = Loud("local")
    b = Loud("second local")
    print("leaving", sys.getrefcount(a), sys.getrefcount(b))


def raises():
    kept = Loud("in a failed frame")
    raise ValueError


def generator():
    kept = Loud("in a generator")
    yield 1


def closure():
    cell = Loud("in a cell")

    def inner():
        return cell

    return inner


function()
try:
    raises()
except ValueError as error:
    print("caught", len(error.args))
print("after the handler")
g = generator()
next(g)
print("generator goes")
del g
c = closure()
print("closure goes", sys.getrefcount(c), sys.getrefcount(c.__code__))
del c
finalizer = weakref.finalize(Loud("x"), print, "finalized")
print("alive", finalizer.alive)
r = weakref.ref(Loud("weak"), lambda _: print("callback"))
print("dead", r() is None)


def frame_refs():
    x = Loud("y")
    frame = sys._getframe()
    return sys.getrefcount(frame), sys.getrefcount(x), sys.getrefcount(frame.f_code)


print("frame", frame_refs())
frame_refs()
print("code", sys.getrefcount(function.__code__), sys.getrefcount(function), sys.getrefcount(Loud))
print("globals", sys.getrefcount(globals()) > 0, sys.getrefcount(Loud.__init__.__code__))
for n in range(3):
    function()
print("sizes", sys.getsizeof(function), sys.getsizeof(Loud("size")), sys.getsizeof(sys._getframe()), sys.getsizeof(generator()))
print("ids", id(Loud("first id")) > 0, id(Loud("second id")) > 0)
wm = weakref.WeakValueDictionary()
wm[1] = Loud("in a weak dictionary")
print(len(wm))
atexit_like = Loud("at the end of all")
other = Loud("also at the end")
