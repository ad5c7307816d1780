# SPDX-License-Identifier: BSD-3-Clause
"""C that calls back into Python: ctypes, sorting, map, functools, re, sqlite, XML; and exceptions through it."""

import bisect
import ctypes
import functools
import heapq
import itertools
import json
import re
import sqlite3
import sys
import xml.parsers.expat

libc = ctypes.CDLL(None)
compare_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
calls = 0


def compare(a, b):
    global calls
    calls += 1
    return a[0] - b[0]


def depth():
    frame, n = sys._getframe(1), 0
    while frame:
        frame, n = frame.f_back, n + 1
    return n


array = (ctypes.c_int * 6)(5, 1, 4, 2, 3, 0)
libc.qsort(array, len(array), ctypes.sizeof(ctypes.c_int), compare_type(compare))
print(list(array), calls > 5)


def failing(a, b):
    raise ValueError("in a callback of C")


sys.unraisablehook = lambda args: print("unraisable", args.exc_value)
libc.qsort(array, 2, ctypes.sizeof(ctypes.c_int), compare_type(failing))
print("depth", [ctypes.CFUNCTYPE(ctypes.c_int)(depth)(), ctypes.PYFUNCTYPE(ctypes.c_int)(depth)(), depth()])
ctypes.pythonapi.PyErr_SetString.argtypes = (ctypes.py_object, ctypes.c_char_p)
try:
    ctypes.pythonapi.PyErr_SetString(ValueError, b"set from C")
except ValueError as error:
    print(error)
ctypes.set_errno(5)
for _ in range(1000):
    (lambda: 0)()
print("errno", ctypes.get_errno())
libc.__errno_location.restype = ctypes.POINTER(ctypes.c_int)
errno = libc.__errno_location()  # the real one, which a caller in C looks at after its callback
for call in (lambda: 0, lambda: next(x for x in [1]), lambda: sorted([1, 2], key=lambda x: x)):
    errno[0] = 5
    call()
    print("real errno", errno[0])
libc_errno = ctypes.CDLL(None, use_errno=True)
libc_errno.open(b"/no/such", 0)
(lambda: 0)()
print("errno", ctypes.get_errno())


def raise_at(n):
    def f(x):
        if x == n:
            raise KeyError(x)
        return x

    return f


for call in (
    lambda: sorted([3, 2, 1], key=raise_at(2)),
    lambda: list(map(raise_at(1), [0, 1])),
    lambda: list(filter(raise_at(1), [0, 1])),
    lambda: functools.reduce(lambda a, b: raise_at(3)(a + b), [1, 2, 3]),
    lambda: max([1, 2], key=raise_at(2)),
    lambda: re.sub("b", lambda m: raise_at("b")(m[0]), "abc"),
    lambda: json.loads('{"a": 1}', object_hook=lambda d: raise_at(1)(d["a"])),
    lambda: list(itertools.takewhile(raise_at(2), [1, 2])),
    lambda: [].extend(map(raise_at(1), [1])),
    lambda: dict(map(raise_at(1), [1])),
    lambda: functools.cmp_to_key(lambda a, b: raise_at(1)(a))(1) < functools.cmp_to_key(None)(2),
):
    try:
        print(call())
    except KeyError as error:
        trace, n = error.__traceback__, 0
        while trace:
            trace, n = trace.tb_next, n + 1
        print(repr(error), n)
database = sqlite3.connect(":memory:")
database.create_function("twice", 1, lambda x: x * 2)
print(database.execute("select twice(21)").fetchall())
parser = xml.parsers.expat.ParserCreate()
parser.StartElementHandler = lambda name, attributes: print("element", name, depth())
parser.Parse("<a><b/></a>", True)
heap = [(-i, i) for i in range(5)]
heapq.heapify(heap)
print(heapq.nsmallest(2, heap, key=lambda x: x[1]), bisect.bisect([1, 2, 3], 2), sum(map(int, "123")))


class Loud:
    def __init__(self, n):
        self.n = n

    def __lt__(self, other):
        return self.n < other.n

    def __hash__(self):
        return self.n

    def __eq__(self, other):
        return self.n == other.n

    def __index__(self):
        return self.n

    def __format__(self, spec):
        return f"{depth()} {spec}"


print([x.n for x in sorted(map(Loud, [3, 1, 2]))], len({Loud(1), Loud(1), Loud(2)}), [10, 20, 30][Loud(1)], f"{Loud(1):spec}")
