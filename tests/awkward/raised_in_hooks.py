# SPDX-License-Identifier: BSD-3-Clause
"""Exceptions, signals and returns at awkward moments: in finally, with, except, comprehension, class body, decorator."""

import signal
import sys


def returns_in_finally():
    for i in range(3):
        try:
            raise ValueError(i)
        finally:
            if i == 1:
                return i
            continue


def nested():
    try:
        try:
            raise ValueError("a")
        finally:
            raise KeyError("b")
    except KeyError as error:
        return repr(error.__context__)


class Manager:
    def __enter__(self):
        return self

    def __exit__(self, *args):
        print("exit", args[0] and args[0].__name__)
        return True


def with_manager():
    with Manager():
        raise ValueError
    with Manager():
        return "returned"


def decorator(f):
    print("decorating", f.__name__)
    return lambda *args: (f(*args), "decorated")


@decorator
def decorated(x):
    return [y for y in range(x) if not (y % 2)]


def star(*args, **kwargs):
    return args, kwargs


def bare_raise():
    try:
        raise
    except RuntimeError as error:
        return str(error)


def cleared():
    try:
        raise ValueError
    except ValueError as error:
        kept = error
    return sys.exc_info(), kept.__traceback__.tb_next


def handler(number, frame):
    raise TimeoutError(frame.f_code.co_name)


def signalled():
    signal.signal(signal.SIGUSR1, handler)
    try:
        signal.raise_signal(signal.SIGUSR1)
    except TimeoutError as error:
        return error.args


print(returns_in_finally(), nested(), with_manager(), decorated(5), star(*range(3), a=1, **{"b": 2}))
print(bare_raise(), cleared(), signalled())
try:
    star(**{"a": 1}, **{"a": 2})
except TypeError as error:
    print(error)
for call in (lambda: decorated(), lambda: star.__wrapped__, lambda: (lambda x: x)(), lambda: Manager(1), lambda: int("x")):
    try:
        call()
    except Exception as error:
        print(type(error).__name__, error)
print((lambda: (yield))().__name__, [(lambda: i)() for i in range(3)])
try:
    raise ValueError from None
except ValueError as error:
    print(error.__suppress_context__, error.__cause__)
