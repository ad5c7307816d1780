# SPDX-License-Identifier: BSD-3-Clause
"""Regions of every kind. What really happened goes into the file that is named on the command line: by region the
calls and the seconds, a region inside itself once. What a program may notice of them is printed.
"""

import contextlib
import json
import sys
import threading
import time
from collections import Counter

import allranks
from allranks import region

calls, seconds, open_now = Counter(), Counter(), Counter()
clock = time.perf_counter


def spin(ms):
    end = clock() + ms / 1000
    while clock() < end:
        pass


class Noted:
    """Around exactly what the region is around, and seen by nobody in between."""

    def __init__(self, name, n_calls=1):
        self.name, self.n_calls = name, n_calls

    def __enter__(self):
        calls[self.name] += self.n_calls
        open_now[self.name] += 1
        self.start = clock()

    def __exit__(self, *error):
        open_now[self.name] -= 1
        if not open_now[self.name]:
            seconds[self.name] += clock() - self.start


# ---- blocks ----


def blocks():
    for level in (1, 2, 1):
        with Noted(f"assemble(level={level})"), region("assemble", level=level):
            spin(4)
            with Noted("nested"), region("nested"):
                spin(4)
    with Noted("many(a=1, b='x', c=[2])"), region("many", a=1, b="x", c=[2]):
        spin(3)
    same = region("reused")
    for _ in range(3):
        with Noted("reused"), same:
            spin(2)
    with Noted("in itself"), same_name("in itself"):
        spin(2)
        with Noted("in itself"), same_name("in itself"):
            spin(2)


def same_name(name):
    return region(name)


# ---- decorated ----


@region("function")
def function(a, b=2, *args, c=3, **kwargs):
    """The words of it."""
    spin(2)
    return a, b, args, c, kwargs


@region
def named_after_itself():
    spin(2)


@region("factorial")
def factorial(n):
    spin(1)
    return 1 if n < 2 else n * factorial(n - 1)


class Thing:
    @region("method")
    def method(self):
        spin(2)
        return "method"

    @region("static outside")
    @staticmethod
    def static_outside():
        spin(2)
        return "static"

    @staticmethod
    @region("static inside")
    def static_inside():
        spin(2)
        return "static"

    @region("class outside")
    @classmethod
    def class_outside(cls):
        spin(2)
        return cls.__name__

    @classmethod
    @region("class inside")
    def class_inside(cls):
        spin(2)
        return cls.__name__

    @property
    @region("property")
    def value(self):
        spin(2)
        return 7


def decorated():
    with Noted("function", 2):
        print(function(1), function(1, 2, 3, c=4, d=5))
    with Noted("named_after_itself"):
        named_after_itself()
    with Noted("factorial", 5):
        print(factorial(5))
    thing = Thing()
    for name, call in {
        "method": thing.method,
        "static outside": Thing.static_outside,
        "static inside": thing.static_inside,
        "class outside": Thing.class_outside,
        "class inside": thing.class_inside,
    }.items():
        with Noted(name, 2):
            print(call(), call())
    with Noted("property"):
        print(thing.value)


@region("generator")
def generator(n):
    got = []
    for i in range(n):
        spin(2)
        got.append((yield i))
    return got


@region("coroutine")
async def coroutine():
    spin(2)
    await Ready()
    spin(2)
    return "awaited"


@region("asynchronous generator")
async def asynchronous():
    for i in range(2):
        spin(2)
        yield i


class Ready:
    def __await__(self):
        yield


async def uses_asynchronous():
    return [i async for i in asynchronous()]


def drive(name, n_steps, awaitable):
    """Notes while it runs; what is between its steps is not its time."""
    steps = awaitable
    for _ in range(n_steps):
        with Noted(name):
            try:
                steps.send(None)
            except StopIteration as end:
                return end.value
        spin(2)
    return None


def suspended():
    print(drive("generator", 4, generator(3)))
    print(drive("coroutine", 2, coroutine()))
    with Noted("asynchronous generator", 3):
        try:
            uses_asynchronous().send(None)
        except StopIteration as end:
            print(end.value)


def factory(name):
    @region(name)
    def made():
        spin(2)
        return name

    return made


def made_in_a_factory():
    """Of one code: each its own region."""
    made = [factory(name) for name in ("made: a", "made: b", "made: a")]
    for each, name in zip(made, ("made: a", "made: b", "made: a")):
        with Noted(name):
            print(each())


def wrapped():
    """Has no code of its own."""
    sort = region("sorting")(sorted)
    with Noted("sorting", 2):
        print(sort([3, 1, 2]), sort("ba", key=str.upper, reverse=True))
    print(sort.__name__, sort.__doc__ == sorted.__doc__)

    class Callable:
        def __call__(self, n):
            spin(2)
            return n

    call = region("callable object")(Callable())
    with Noted("callable object"):
        print(call(3))


# ---- across functions ----


@contextlib.contextmanager
def timed(name):
    with region(name):
        yield name


class ByHand:
    """Begins in one method, ends in another."""

    def begin(self):
        self.region = region("by hand")
        self.region.__enter__()

    def end(self):
        self.region.__exit__(None, None, None)


def across():
    with Noted("crossing"), timed("crossing") as name:
        spin(5)
        print(name)
        inside_crossing()
    after_crossing()
    by_hand = ByHand()
    with Noted("by hand"):
        by_hand.begin()
        spin(3)
        ended_below(by_hand)
    after_crossing()
    overlap()


def inside_crossing():
    spin(2)


def after_crossing():
    spin(1)


def ended_below(by_hand):
    spin(2)
    by_hand.end()


def overlap():
    """The first ends before the second, which began in it."""
    first, second = region("first of two"), region("second of two")
    with Noted("first of two"):
        first.__enter__()
        spin(2)
        second.__enter__()
        start = clock()
        spin(2)
        first.__exit__(None, None, None)
    spin(3)
    second.__exit__(None, None, None)
    calls["second of two"] += 1
    seconds["second of two"] += clock() - start


def without_begin():
    """Is of no consequence; they are counted as lost."""
    never = region("never begun")
    print(never.__exit__(None, None, None), never.__exit__(ValueError, ValueError(), None))
    allranks.resume()


# ---- exceptions and threads ----


@region("raises")
def raises(n):
    spin(2)
    if n:
        raises(n - 1)
    raise KeyError(n)


def exceptions():
    with Noted("raises", 3):
        try:
            raises(2)
        except KeyError as error:
            print(repr(error))
    try:
        with Noted("left by an exception"), region("left by an exception"):
            spin(2)
            raise ValueError
    except ValueError:
        pass
    with contextlib.suppress(ZeroDivisionError), Noted("left by a deep one"), timed("left by a deep one"):
        spin(2)
        raise ZeroDivisionError
    for i in range(3):
        with Noted("left by a jump"), region("left by a jump"):
            spin(1)
            if i < 2:
                continue
            break


def in_thread(number):
    for _ in range(3):
        with region(f"thread {number}"):
            time.sleep(0.005)
    with region("of all threads"):
        time.sleep(0.005)


def threads():
    all_threads = [threading.Thread(target=in_thread, args=(n,)) for n in range(3)]
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join()
    calls.update({f"thread {n}": 3 for n in range(3)}, **{"of all threads": 3})


# ---- what a program may notice ----


def looks():
    def before(a: int = 1, *, b: str = "") -> None:
        """Documented."""

    n_references, code = sys.getrefcount(before), before.__code__
    after = region("looked at")(before)
    print(after is before, after.__code__ is code, vars(after), after.__doc__, after.__annotations__)
    del after
    print(sys.getrefcount(before) - n_references)
    print(allranks.instrument(before) is before, allranks.instrument(Thing) is Thing)
    static = staticmethod(before)
    print(region("still looked at")(static) is static)
    some = region("name", key=1)
    print(some.name, type(some).__name__, some.__enter__() is some, some.__exit__(None, None, None))
    for wrong in ("region()", "region(1)", "region('a', 'b')", "region('a')(1)", "region('a')(int)", "allranks.instrument(1)"):
        try:
            print(wrong, eval(wrong))
        except TypeError as error:
            print(wrong, error)


def main():
    for part in (
        blocks, decorated, suspended, made_in_a_factory, wrapped, across, without_begin, exceptions, threads, looks,
    ):  # fmt: skip
        part()


main()
with open(sys.argv[1], "w") as file:
    json.dump({"calls": calls, "seconds": seconds}, file)
