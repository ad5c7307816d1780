# SPDX-License-Identifier: BSD-3-Clause
"""Generators of all kinds: send, throw, close, left alone, resumed from elsewhere, finished by the collector."""

import gc
import inspect
import sys


def numbers(n):
    try:
        for i in range(n):
            got = yield i
            if got:
                print("got", got)
    except ValueError as error:
        print("thrown", error)
        yield "after throw"
    except GeneratorExit:
        print("closed")
        raise
    finally:
        print("finally")
    return "returned"


def delegates(n):
    print("result", (yield from numbers(n)))


g = numbers(2)
print(next(g), g.send("x"), inspect.getgeneratorstate(g))
try:
    next(g)
except StopIteration as stop:
    print("stop", stop.value)
g = delegates(3)
print(next(g), g.throw(ValueError("in")), inspect.getgeneratorstate(g))
g.close()
g = delegates(3)
next(g)
g.close()
g = delegates(3)
next(g)
del g
g = numbers(3)
g.close()
print(inspect.getgeneratorstate(g))
g = numbers(3)
try:
    g.throw(KeyError("before the start"))
except KeyError as error:
    print(error, error.__traceback__.tb_next and error.__traceback__.tb_next.tb_lineno)


def stubborn():
    try:
        yield 1
    except GeneratorExit:
        yield 2


g = stubborn()
next(g)
try:
    g.close()
except RuntimeError as error:
    print(error)


def reenters():
    try:
        next(me)
    except ValueError as error:
        print(error)
    yield 1


me = reenters()
next(me)


def in_cycle():
    holder = []
    try:
        holder.append((yield))
        yield
    finally:
        print("finished by the collector")


gc.collect()
gc.disable()
g = in_cycle()
next(g)
g.send(g)
del g
print("collected", gc.collect() > 0)
gc.enable()


def stops():
    raise StopIteration
    yield


try:
    next(stops())
except RuntimeError as error:
    print(error, repr(error.__cause__))


def frames():
    yield sys._getframe().f_back.f_code.co_name


def caller():
    return next(frames())


print(caller(), next(frames()), list(frames()))
a, b = numbers(3), numbers(3)
print([(next(a), next(b)) for _ in range(3)])
print(sum(x * y for x in range(10) for y in range(10)), {x for x in range(3)}, {x: x for x in range(3)})
deep = iter([1])
for _ in range(200):
    deep = (x for x in deep)
print(list(deep))
left = numbers(5)
next(left)
print("the end")
