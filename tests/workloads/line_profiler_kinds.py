# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: B007, B018, E741, F841
"""All that the class LineProfiler takes, by the module that is named; prints hits by line, and what sys.gettrace says."""

import asyncio
import functools
import importlib
import sys
import threading

LineProfiler = importlib.import_module(sys.argv[1]).LineProfiler
lp = LineProfiler()


@lp
def work(n):
    total = 0
    for i in range(n):
        total += i
    return total


class A:
    @lp
    def m(self):
        x = 1
        return x

    @lp
    @classmethod
    def c(cls):
        y = 2
        return y

    @staticmethod
    @lp
    def s():
        z = 3
        return z

    @lp
    @property
    def p(self):
        q = 4
        return q


@lp
def gen(n):
    for i in range(n):
        got = yield i
        if got:
            n += 1
    return 7


@lp
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


@lp
async def co(n):
    for i in range(n):
        await asyncio.sleep(0)
    return n


@lp
async def agen(n):
    for i in range(n):
        await asyncio.sleep(0)
        yield i


@lp
def raises(n):
    try:
        if n == 0:
            raise ValueError
        raises(n - 1)
    finally:
        n = 5


@lp
def closes():
    try:
        yield 1
        yield 2
    except GeneratorExit:
        a = 1
        raise
    finally:
        b = 2


@lp
class K:
    def one(self):
        return 1

    @classmethod
    def two(cls):
        return 2

    class In:
        def three(self):
            return 3


def plain(n):
    a = n
    b = [a for i in range(n)]
    with open("/dev/null") as f:
        pass
    return len(b)


part = lp(functools.partial(plain, 3))
work(10)
work(n=5)
a = A()
a.m()
A.c()
a.c()
A.s()
a.p
a.p
list(gen(3))
g = gen(2)
next(g)
g.send(1)
list(g)
fib(10)
asyncio.run(co(4))


async def main():
    return [i async for i in agen(3)]


asyncio.run(main())
try:
    raises(3)
except ValueError:
    pass
g = closes()
next(g)
g.close()
K().one()
K.two()
K.In().three()
part()
threads = [threading.Thread(target=work, args=(20,)) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()


def added(n):
    r = 0
    while r < n:
        r += 1
    return r


added(5)
lp.add_function(added)
lp.runcall(added, 6)
with lp:
    added(2)
lp.enable_by_count()
lp.enable_by_count()
added(1)
lp.disable_by_count()
added(1)
lp.disable_by_count()
added(1)
st = lp.get_stats()
for k in sorted(st.timings):
    print(k[1], k[2].split(".")[-1], [(l, h) for l, h, t in st.timings[k]])
print(lp.enable_count, sys.gettrace())
