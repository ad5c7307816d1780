# SPDX-License-Identifier: BSD-3-Clause
"""Regions as blocks, as decorators and in disorder, pauses, and asyncio's tasks; how often is arithmetic."""

import asyncio

import allranks


def work(n):
    return sum(i * i for i in range(n))


@allranks.region("decorated")
def decorated():
    return work(10)


def leave_open():
    region = allranks.region("outlives")
    region.__enter__()
    work(10)
    return region


def regions():
    for _ in range(3):
        with allranks.region("assemble", level=2):
            work(10)
            with allranks.region("solve"):
                work(10)
                work(10)
    for _ in range(5):
        decorated()
    region = leave_open()
    work(10)
    region.__exit__(None, None, None)
    region.__exit__(None, None, None)  # once more than it was begun
    with allranks.paused():
        work(10)


async def step(n):
    for _ in range(n):
        work(10)
        await asyncio.sleep(0.001)


async def tasks():
    named = [asyncio.ensure_future(step(4)) for _ in range(3)]
    for task in named:
        task.set_name("loader")
    await asyncio.gather(*named, asyncio.ensure_future(step(2)))


regions()
asyncio.run(tasks())
