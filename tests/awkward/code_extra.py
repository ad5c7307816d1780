# SPDX-License-Identifier: BSD-3-Clause
"""Tools that keep data in code objects: each free function is called for the objects that its tool touched, and for no other."""

import ctypes
import gc
import sys

api = ctypes.pythonapi
stable = sys.version_info >= (3, 12)
request_index = api.PyUnstable_Eval_RequestCodeExtraIndex if stable else api._PyEval_RequestCodeExtraIndex
get_extra = api.PyUnstable_Code_GetExtra if stable else api._PyCode_GetExtra
set_extra = api.PyUnstable_Code_SetExtra if stable else api._PyCode_SetExtra
free_function = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
request_index.argtypes, request_index.restype = (free_function,), ctypes.c_ssize_t
get_extra.argtypes = (ctypes.py_object, ctypes.c_ssize_t, ctypes.POINTER(ctypes.c_void_p))
set_extra.argtypes = (ctypes.py_object, ctypes.c_ssize_t, ctypes.c_void_p)

freed = []
kept = []


class Tool:
    def __init__(self, name):
        self.name = name
        self.free = free_function(lambda data: freed.append((name, data)))
        self.index = request_index(self.free)

    def touch(self, function, data):
        set_extra(function.__code__, self.index, data)

    def data_of(self, function):
        data = ctypes.c_void_p(1)
        get_extra(function.__code__, self.index, ctypes.byref(data))
        return data.value


def made(text="lambda: 42"):
    """A function that nobody else holds, as new as its code."""
    return eval(text)


def told(what):
    gc.collect()
    print(what, sorted(freed, key=str))
    freed.clear()


early = made()
early()
first = Tool("first")
del early
told("called before the tool came")

before, after, untouched = made(), made(), made()
before()
first.touch(before, 100)
first.touch(after, 200)
after()
untouched()
print("data", first.data_of(before), first.data_of(after), first.data_of(untouched))
first.touch(before, 101)
told("replaced")
del before, after, untouched
told("two of three touched")

second = Tool("second")
print("indices", second.index - first.index)
functions = [made() for _ in range(4)]
first.touch(functions[0], 1)
for function in functions:
    function()
    function()
first.touch(functions[1], 2)
second.touch(functions[2], 3)
second.touch(functions[1], 4)
print("data", [(first.data_of(function), second.data_of(function)) for function in functions])
for i in range(4):
    functions.pop(0)
    told(f"function {i}")


def generator():
    yield 1
    yield 2


class Kept:
    """Functions that are called now and end with the interpreter, when the tools' functions in Python are gone."""

    def method(self):
        return list(generator())


kept.append(Kept())
for _ in range(1000):
    kept[0].method()
told("at the end")
del first.free, second.free, first, second
