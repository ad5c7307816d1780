# SPDX-License-Identifier: BSD-3-Clause
# unlined: 3.11
# options: --builtins none
# run: SCRIPT
# run: -m MODULE
# run: DIRECTORY
# run: -X dev SCRIPT
"""How deep recursion goes until it is refused, by all kinds of paths; and the program goes on."""

import functools
import json
import sys

n = 0


def reset():
    global n
    n = 0


def deepest(f, *args):
    reset()
    try:
        f(*args)
    except RecursionError as error:
        return n, str(error)
    return n, "no error"


def plain():
    global n
    n += 1
    plain()


def with_default(a=1, *args, **kwargs):
    global n
    n += 1
    if n == 3000:  # 3.15.0 does not look at the limit there (CPython's gh-155151)
        return
    with_default(a, *args, **kwargs)


class Thing:
    def __repr__(self):
        global n
        n += 1
        return repr(self)

    def __getattr__(self, name):
        global n
        n += 1
        return self.other

    def __call__(self):
        global n
        n += 1
        self()

    def __lt__(self, other):
        global n
        n += 1
        return self < other

    def __hash__(self):
        global n
        n += 1
        return hash(self)

    def __add__(self, other):
        global n
        n += 1
        return self + other

    def __len__(self):
        global n
        n += 1
        return len(self)


class Made:
    def __init__(self, levels=0):
        global n
        n += 1
        if levels != 1:
            Made(levels - 1)


Made(50)  # until the call is specialised it takes other levels


def by_key(_):
    global n
    n += 1
    return sorted([1], key=by_key)


def by_reduce(a, b):
    global n
    n += 1
    return functools.reduce(by_reduce, [1, 2])


def by_map(_):
    global n
    n += 1
    return list(map(by_map, [1]))


def by_generator():
    global n
    n += 1
    yield from by_generator()


def by_partial():
    global n
    n += 1
    functools.partial(by_partial)()


def by_exec():
    global n
    n += 1
    exec("by_exec()")


def by_default(o):
    global n
    n += 1
    return json.dumps(o, default=by_default)


async def by_await():
    global n
    n += 1
    await by_await()


def by_comprehension():
    global n
    n += 1
    return [by_comprehension() for _ in range(1)]


@functools.lru_cache(None)
def by_cache(x):
    global n
    n += 1
    return by_cache(x + 1)


for round in range(2):
    print(plain.__name__, deepest(plain))
    print("default", deepest(with_default))
    thing = Thing()
    print("repr", deepest(repr, thing))
    print("getattr", deepest(getattr, thing, "x"))
    print("call", deepest(thing))
    print("less", deepest(lambda: thing < thing))
    print("hash", deepest(hash, thing))
    print("add", deepest(lambda: thing + 1))
    print("len", deepest(len, thing))
    print("init", deepest(Made))
    print("key", deepest(by_key, 1))
    print("reduce", deepest(by_reduce, 1, 2))
    print("map", deepest(by_map, 1))
    print("generator", deepest(list, by_generator()))
    print("partial", deepest(by_partial))
    print("exec", deepest(by_exec))
    print("json", deepest(by_default, {1j}))
    print("await", deepest(lambda: by_await().send(None)))
    print("comprehension", deepest(by_comprehension))
    print("cache", deepest(by_cache, 0))
    by_cache.cache_clear()
    sys.setrecursionlimit(200)


class Caught:
    """The error is caught at each level on the way out, and more calls are made there."""

    def down(self):
        global n
        try:
            self.down()
        except RecursionError:
            n += 1
            try:
                self.down()
            except RecursionError:
                n += 1


def nest(k):
    if k:
        try:
            nest(k - 1)
        finally:
            len(str(k))


sys.setrecursionlimit(60)
nest(20)
try:
    nest(100)
except RecursionError as error:
    print(error)
try:
    json.loads("[" * 5000 + "]" * 5000)
except RecursionError as error:
    print(error)
print("goes on", sum(range(10)))
