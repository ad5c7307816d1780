# SPDX-License-Identifier: BSD-3-Clause
# unlined: 3.11
"""Calls that C code leaves for the interpreter to make, one of them while another is being made."""

import ctypes
import threading

pending = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
made = []


def work():
    return sum(range(3))


def numbers():
    yield work()
    yield work()


@pending
def call(argument):
    made.append(work())
    if len(made) < 20:
        leave(call)
        made.extend(numbers())
    return 0


def leave(function):
    ctypes.pythonapi.Py_AddPendingCall(function, None)


leave(call)
for _ in range(100):
    work()
print(made)


@pending
def once(argument):
    made.append("from a thread")
    return 0


made.clear()
other = threading.Thread(target=leave, args=(once,))
other.start()
other.join()
for _ in range(100):
    work()
print(made)
