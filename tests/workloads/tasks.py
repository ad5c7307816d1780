# SPDX-License-Identifier: BSD-3-Clause
"""asyncio tasks that run and wait for known spans. What each did by its own clock, by the name it is to be known by, goes
into the file that is named on the command line: seconds running and seconds waiting, from its first step to its last,
and the number of its steps.
"""

import asyncio
import json
import sys
import time

clock = time.perf_counter
running, waiting, steps = {}, {}, {}


def add(table, name, value):
    table[name] = table.get(name, 0) + value


def spin(seconds):
    end = clock() + seconds
    while clock() < end:
        pass


class Log:
    """Of one task: asleep() is the only way it gives up the processor."""

    def __init__(self, name):
        self.name, self.since = name, clock()
        add(steps, name, 1)

    def stop(self):
        add(running, self.name, clock() - self.since)
        self.since = clock()

    def go_on(self):
        add(waiting, self.name, clock() - self.since)
        add(steps, self.name, 1)
        self.since = clock()

    async def asleep(self, seconds):
        self.stop()
        try:
            await asyncio.sleep(seconds)
        finally:
            self.go_on()


async def work(name, busy_s, asleep_s, n):
    log = Log(name)
    for _ in range(n):
        spin(busy_s)
        await log.asleep(asleep_s)
    log.stop()
    return name


async def nameless(n):
    return await work("nameless", 0.004, 0.01, n)


async def other_nameless(n):
    return await work("other_nameless", 0.004, 0.02, n)


async def fails(name):
    log = Log(name)
    await log.asleep(0.02)
    spin(0.005)
    log.stop()
    raise KeyError(name)


async def never_ends(name):
    log = Log(name)
    try:
        await log.asleep(60)
    finally:
        spin(0.005)
        log.stop()


async def yields(name):
    """Gives way without waiting for anything."""
    add(steps, name, 1)
    for _ in range(50):
        await asyncio.sleep(0)
        add(steps, name, 1)


def task(coroutine, name=None):
    return asyncio.get_running_loop().create_task(coroutine, name=name)


async def named():
    tasks = [task(work("first", 0.01, 0.02, 4), "first"), task(work("second", 0.02, 0.03, 3), "second")]
    tasks += [task(work("both", 0.005, 0.01, 2), "both") for _ in range(2)]
    print(await asyncio.gather(*tasks))


async def unnamed():
    print(len(await asyncio.gather(*[nameless(2) for _ in range(5)], *[other_nameless(1) for _ in range(3)])))


async def cancelled():
    endless = task(never_ends("cancelled"), "cancelled")
    failing = task(fails("failing"), "failing")
    unstarted = task(never_ends("never started"), "never started")
    unstarted.cancel()
    await asyncio.sleep(0.03)
    endless.cancel()
    print([type(error).__name__ for error in await asyncio.gather(endless, failing, unstarted, return_exceptions=True)])


async def in_group():
    if sys.version_info < (3, 11):
        return
    async with asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(work(f"group {number}", 0.005, 0.01 * (number + 1), 2), name=f"group {number}")


async def with_timeout():
    try:
        await asyncio.wait_for(task(never_ends("timed out"), "timed out"), 0.03)
    except asyncio.TimeoutError:
        print("timed out")


async def giving_way():
    await asyncio.gather(task(yields("gives way"), "gives way"), task(yields("gives way too"), "gives way too"))


async def main():
    for part in (named, unnamed, cancelled, in_group, with_timeout, giving_way):
        await part()


asyncio.run(main())
for _ in range(2):  # another event loop each
    asyncio.run(work("work", 0.005, 0.01, 2))
with open(sys.argv[1], "w") as file:
    json.dump({"running": running, "waiting": waiting, "steps": steps}, file)
