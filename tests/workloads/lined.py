# SPDX-License-Identifier: BSD-3-Clause
"""Lines of every kind. Where a number is in the name, that is how often something runs."""

import asyncio
import contextlib
import functools
import threading


def loop_100():
    total = 0
    for i in range(100):
        if i % 4 == 0:
            total += 1
        else:
            total -= 1
    while total < 0:
        total += 7
    return total


def recursion(n):
    if n == 0:
        return 0
    return 1 + recursion(n - 1)


def generator(n):
    for i in range(n):
        got = yield i
        if got:
            return


def delegating(n):
    yield from generator(n)
    yield -1


def raising(n):
    if n == 0:
        raise ValueError("planted")
    try:
        raising(n - 1)
    finally:
        n += 1


def catching_7():
    caught = 0
    for n in range(7):
        try:
            raising(n)
        except ValueError:
            caught += 1
    return caught


def comprehensions(n):
    a = [i * i for i in range(n)]
    b = {i: [j for j in range(i)] for i in range(5)}
    c = sum(i for i in a)
    return len(b) + c


def decorator(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)

    return wrapper


@decorator
def decorated(x):
    return x + 1


def statements_over_lines():
    return sum(
        [
            1,
            len("two"),
            max(
                3,
                4,
            ),
        ]
    )


@contextlib.contextmanager
def managed():
    try:
        yield 1
    finally:
        pass


def with_9():
    for _ in range(9):
        with managed() as one:
            one += 1


class Point:
    size = 2

    def __init__(self, x):
        self.x = x

    @property
    def double(self):
        return self.x * self.size

    @staticmethod
    def made():
        return Point(3)

    @classmethod
    def twice(cls):
        return [cls(1), cls(2)]

    def __eq__(self, other):
        return (
            isinstance(other, Point)
            and self.x == other.x
        )

    __hash__ = None


async def waiting(n):
    for _ in range(n):
        await asyncio.sleep(0)
    return n


async def gathering():
    results = await asyncio.gather(waiting(3), waiting(5))
    async with asyncio.Lock():
        pass
    return sum(results)


def in_thread(n):
    for _ in range(n):
        recursion(3)


def threads_4():
    threads = [threading.Thread(target=in_thread, args=(10,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def closures():
    count = 0

    def inner(x):
        nonlocal count
        count += x
        return lambda y: y + count

    for i in range(6):
        inner(i)(1)


def walrus_and_match(values):
    found = 0
    for value in values:
        if (twice := value * 2) > 4 and twice < 12:
            found += 1
    return found


def abandoned():
    first = generator(5)
    next(first)
    second = generator(5)
    next(second)
    with contextlib.suppress(StopIteration):
        second.send(True)


def main():
    assert loop_100() == 6
    assert recursion(20) == 20
    assert list(delegating(8)) == [*range(8), -1]
    assert catching_7() == 7
    comprehensions(50)
    for i in range(11):
        decorated(i)
    statements_over_lines()
    with_9()
    assert Point.made() == Point(Point.twice()[0].double + 1)
    asyncio.run(gathering())
    threads_4()
    closures()
    assert walrus_and_match(range(10)) == 3
    abandoned()


main()
