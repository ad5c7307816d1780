# SPDX-License-Identifier: BSD-3-Clause
"""Proves that coroutines and asynchronous generators count once for each time they run, driven by hand, where every
step is known, and by asyncio, where tasks take turns.

Each coroutine notes when it starts and when it comes back from an await that suspended it; the notes go into the
file that is named on the command line.
"""

import asyncio
import json
import sys
import types
from collections import Counter

done = Counter()


@types.coroutine
def pause():
    """Suspends whoever awaits it, up to the driver."""
    done["pause"] += 1
    yield
    done["pause"] += 1


async def pauses_twice():
    done["pauses_twice"] += 1
    await pause()
    done["pauses_twice"] += 1
    await pause()
    done["pauses_twice"] += 1
    return 2


async def outer():
    done["outer"] += 1
    n = await pauses_twice()
    # Entered again for each of the pauses below it.
    done["outer"] += n
    return n


async def never_awaited_but_closed():
    done["never_awaited_but_closed"] += 1


async def numbers(n):
    """An asynchronous generator that yields, and suspends before it does."""
    done["numbers"] += 1
    try:
        for i in range(n):
            await pause()
            done["numbers"] += 1
            yield i
            done["numbers"] += 1
    finally:
        done["numbers finished"] += 1


class Manager:
    async def __aenter__(self):
        done["__aenter__"] += 1
        await pause()
        done["__aenter__"] += 1

    async def __aexit__(self, *exception):
        done["__aexit__"] += 1


async def uses_them():
    total = 0
    async for number in numbers(3):
        total += number
    async with Manager():
        total += 1
    return total


async def closes_early():
    source = numbers(5)
    assert await source.__anext__() == 0
    try:
        await source.athrow(LookupError("thrown"))
    except LookupError as error:
        assert error.args == ("thrown",)
    # The throw ran it once more than it notes: it does not come back from the yield.
    done["numbers"] += 1
    source = numbers(5)
    assert await source.asend(None) == 0
    await source.aclose()
    done["numbers"] += 1


def drive(coroutine):
    """Runs a coroutine to its end; returns its result and how often it was suspended."""
    done["drive"] += 1
    for n_suspended in range(1000):
        try:
            coroutine.send(None)
        except StopIteration as stop:
            return stop.value, n_suspended
    raise AssertionError("it never ends")


async def worker(n):
    done["worker"] += 1
    for _ in range(n):
        await asyncio.sleep(0)
        done["worker"] += 1
    return n


async def many_workers():
    return sum(await asyncio.gather(*(worker(n) for n in range(6))))


def main():
    done["main"] += 1
    assert drive(outer()) == (2, 2)
    assert drive(uses_them()) == (4, 4)
    assert drive(closes_early()) == (None, 2)
    never_awaited_but_closed().close()
    assert asyncio.run(many_workers()) == 15


main()
del done["numbers finished"]
with open(sys.argv[1], "w") as file:
    json.dump(done, file)
