# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT
# run: -X dev SCRIPT
# mask: (took|in) \d+\.\d+ seconds
"""asyncio: tasks, cancellation, timeouts, context variables, async generators and comprehensions, executors."""

import asyncio
import contextlib
import contextvars
import sys

variable = contextvars.ContextVar("variable", default="default")


async def ticks(n):
    try:
        for i in range(n):
            await asyncio.sleep(0)
            yield i
    finally:
        print("ticks end")


async def worker(name, n):
    variable.set(name)
    total = 0
    async for i in ticks(n):
        total += i
    return name, total, variable.get()


async def forever():
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        print("cancelled")
        raise
    finally:
        await asyncio.sleep(0)
        print("cleaned up")


async def fails(text):
    await asyncio.sleep(0)
    raise ValueError(text)


@contextlib.asynccontextmanager
async def managed():
    print("enter")
    try:
        yield 1
    finally:
        print("exit")


async def groups():
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(forever())
            group.create_task(fails("in a group"))
    except BaseExceptionGroup as error:
        print(error, error.exceptions)


async def main():
    print(await asyncio.gather(*(worker(f"w{i}", i) for i in range(4))))
    task = asyncio.ensure_future(forever())
    await asyncio.sleep(0)
    task.cancel()
    print(await asyncio.gather(task, fails("x"), return_exceptions=True))
    try:
        await asyncio.wait_for(forever(), 0.01)
    except asyncio.TimeoutError as error:
        print("timeout", repr(error))
    print([x async for x in ticks(3)], [await worker("c", 1) for _ in range(2)])
    async with managed() as value:
        print(value, variable.get())
    abandoned = ticks(10)
    print(await abandoned.__anext__())
    await abandoned.aclose()
    try:
        await abandoned.athrow(ValueError("late"))
    except (ValueError, StopAsyncIteration) as error:
        print(repr(error))
    loop = asyncio.get_running_loop()
    print(await loop.run_in_executor(None, sum, range(10)))
    if hasattr(asyncio, "TaskGroup"):
        await groups()
    lock, queue = asyncio.Lock(), asyncio.Queue(1)
    async with lock:
        consumer = asyncio.ensure_future(queue.get())
        await queue.put(1)
        print(await consumer)
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(1)", stdout=asyncio.subprocess.PIPE)
    print(await process.communicate(), process.returncode)
    print([frame.f_code.co_name for frame in asyncio.current_task().get_stack()])
    left = ticks(5)
    print(await left.__anext__())


asyncio.run(main())
context = contextvars.copy_context()
print(context.run(variable.get), variable.get())


async def never_awaited():
    pass


never_awaited()
loop = asyncio.new_event_loop()
loop.call_soon(lambda: 1 / 0)
loop.call_soon(loop.stop)
loop.set_exception_handler(lambda loop, context: print("handler", repr(context["exception"])))
loop.run_forever()
loop.close()
