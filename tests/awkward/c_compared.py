# SPDX-License-Identifier: BSD-3-Clause
"""What CPython finds out by comparing addresses of C functions: inherited constructors, states, and json's quick way."""

import collections
import copy
import ctypes
import datetime
import decimal
import json
import pickle
import sys
import threading

TP_NEW = 312  # bytes from the beginning of a type, since 3.8


def constructor(of):
    return ctypes.c_void_p.from_address(id(of) + TP_NEW).value


def derived(base):
    return type(f"Derived{base.__name__}", (base,), {})


class Slotted:
    __slots__ = ("a", "__weakref__")


class WithState:
    def __getstate__(self):
        return {"own": 1}


Pair = collections.namedtuple("Pair", "x y")
bases = (object, int, str, bytes, list, tuple, dict, set, float, complex, Exception, OSError, datetime.date, decimal.Decimal, type, threading.local)
print("inherited", [base.__name__ for base in bases if constructor(derived(base)) != constructor(base)])
print("twice", [base.__name__ for base in bases if constructor(derived(derived(base))) != constructor(base)])
for base in bases[1:]:
    for call in (lambda base=base: object.__new__(base), lambda base=base: object.__new__(derived(base))):
        try:
            print(type(call()).__name__)
        except TypeError as error:
            print(error)
for wrong in (lambda: int.__new__(str), lambda: int.__new__(), lambda: int.__new__(1), lambda: tuple.__new__(list), lambda: object(1)):
    try:
        print(wrong())
    except TypeError as error:
        print(error)


class Own(int):
    def __new__(cls, *args):
        return super().__new__(cls, *args)


print(derived(int)("12") + 1, derived(tuple)("ab"), Pair(1, 2), Own("7"), isinstance(derived(Own)(3), Own), constructor(Own) == constructor(int))
if sys.version_info >= (3, 11):
    slotted = Slotted()
    slotted.a = 5
    print([each.__getstate__() for each in (object(), slotted, derived(dict)(), Pair(1, 2))])


def numbers():
    yield 1


unpickled = [threading.Lock(), threading.RLock(), numbers(), sys, sys._getframe(), sys.stdout, memoryview(b""), lambda: 0, WithState(), {}.keys(), iter([1])]
for each in unpickled:
    for what in (pickle.dumps, copy.copy, copy.deepcopy, lambda x: x.__reduce_ex__(2)):
        try:
            what(each)
            print(type(each).__name__, "done")
        except Exception as error:
            print(type(each).__name__, type(error).__name__, str(error)[:60])
print(pickle.loads(pickle.dumps([len, int.from_bytes, "a".upper, Pair(1, 2), derived, WithState])))
print(json.dumps(["é\n", {"a": "\u2028"}, 1.5]), json.dumps("é", ensure_ascii=False), json.dumps({"b": [1, "c"]}, indent=1))
print(json.encoder.c_make_encoder is not None, json.encoder.encode_basestring_ascii is json.encoder.c_encode_basestring_ascii)
