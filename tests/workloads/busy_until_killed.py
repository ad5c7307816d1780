"""Works until it is killed: threads that come and go, generators, recursion, regions out of order, tasks, exceptions.

    busy_until_killed.py READY       makes the file READY when it is at work
"""

import asyncio
import itertools
import sys
import threading

import allranks

NO_NEW_FUNCTIONS = 500  # from this round on: the file is not to be full

def leaf(n):
    return n + 1


def recurse(n):
    return leaf(n) if n == 0 else recurse(n - 1) + leaf(n)


def numbers(n):
    for i in range(n):
        yield recurse(i % 5)


def raises(n):
    if n == 0:
        raise ValueError(n)
    raises(n - 1)


def regions_out_of_order():
    outer, inner = allranks.region("outer"), allranks.region("inner")
    outer.__enter__()
    leaf(1)
    inner.__enter__()
    leaf(2)
    outer.__exit__(None, None, None)
    leaf(3)
    inner.__exit__(None, None, None)


@allranks.region("decorated")
def decorated():
    return sorted(numbers(8), key=leaf)


async def step(n):
    with allranks.region("awaited"):
        await asyncio.sleep(0)
        return leaf(n)


async def tasks():
    await asyncio.gather(*(step(i) for i in range(4)))


def fresh_functions(n):
    """New functions and new nodes: records and extents grow."""
    scope = {}
    for i in range(20):
        exec(f"def fresh_{n}_{i}(): return {i}", scope)
        scope[f"fresh_{n}_{i}"]()


def round_of(n):
    sum(numbers(30))
    try:
        raises(6)
    except ValueError:
        pass
    regions_out_of_order()
    decorated()
    if n < NO_NEW_FUNCTIONS:
        fresh_functions(n)


def in_thread():
    for _ in range(20):
        round_of(NO_NEW_FUNCTIONS)


for round_number in itertools.count():
    threads = [threading.Thread(target=in_thread) for _ in range(2)]
    for thread in threads:
        thread.start()
    round_of(round_number)
    asyncio.run(tasks())
    for thread in threads:
        thread.join()
    if round_number == 1:
        open(sys.argv[1], "w").close()
