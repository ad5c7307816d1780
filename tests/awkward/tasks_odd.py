# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT names
# run: SCRIPT audit
# run: SCRIPT loops
# run: SCRIPT python
# run: SCRIPT coroutine
# run: SCRIPT hash
# run: SCRIPT nested
# run: SCRIPT eager
# run: SCRIPT replaced
# run: SCRIPT missing
# env: MALLOC_MMAP_THRESHOLD_=4096
"""Tasks, event loops and coroutines that count who asks them: it is asyncio and the program, and nobody else."""

import asyncio
import collections.abc
import sys
import threading

counts = collections.Counter()


class Asked(asyncio.Task):
    def get_name(self):
        counts["get_name"] += 1
        return helper(super().get_name())

    def get_coro(self):
        counts["get_coro"] += 1
        return super().get_coro()

    def __getattribute__(self, name):
        counts[name] += 1
        return super().__getattribute__(name)

    def __hash__(self):
        counts["hash"] += 1
        return id(self)

    def __eq__(self, other):
        counts["eq"] += 1
        return self is other


def helper(name):
    return name


async def step(n):
    for _ in range(n):
        await asyncio.sleep(0)
    return n


async def many(n=20):
    named = [asyncio.get_running_loop().create_task(step(3)) for _ in range(n)]
    for i, task in enumerate(named):  # 3.13.0 calls those that a factory makes "None"
        task.set_name(f"Task-{i}" if i else "a name of its own")
    return sum(await asyncio.gather(*named))


def with_factory(make, n=20):
    async def main():
        asyncio.get_running_loop().set_task_factory(make)
        return await many(n)

    return asyncio.run(main())


def names():
    print(with_factory(lambda loop, coro, **more: Asked(coro, loop=loop, **more)))


def audit():
    sys.addaudithook(lambda event, args: counts.update([event]))
    print(asyncio.run(many()))


class Elsewhere(asyncio.Task):
    """Its name takes a loop of its own, in another thread."""

    def get_name(self):
        counts["get_name"] += 1
        other = threading.Thread(target=asyncio.run, args=(many(2000),))
        other.start()
        other.join()
        return "elsewhere"


def loops():
    print(with_factory(lambda loop, coro, **more: Elsewhere(coro, loop=loop, **more), 2))


class InPython(asyncio.tasks._PyTask):
    @property
    def _name(self):
        counts["_name"] += 1
        return "a name"

    @_name.setter
    def _name(self, name):
        counts["_name ="] += 1

    @property
    def _coro(self):
        counts["_coro"] += 1
        return self.kept

    @_coro.setter
    def _coro(self, coro):
        self.kept = coro


def python():
    print(with_factory(lambda loop, coro, **more: InPython(coro, loop=loop, **more)))
    print(with_factory(lambda loop, coro, **more: asyncio.tasks._PyTask(coro, loop=loop, **more)))


class Coroutine(collections.abc.Coroutine):
    """One that is none of the interpreter's."""

    def __init__(self):
        self.inside = step(3).__await__()

    def __await__(self):
        return self

    def send(self, value):
        return helper(self.inside.send(value))

    def throw(self, *args):
        return self.inside.throw(*args)

    def close(self):
        self.inside.close()

    def __getattribute__(self, name):
        counts[name] += 1
        return super().__getattribute__(name)

    @property
    def cr_code(self):
        counts["cr_code itself"] += 1
        return step.__code__


def coroutine():
    async def main():
        return await asyncio.gather(*(asyncio.ensure_future(Coroutine()) for _ in range(5)))

    print(asyncio.run(main()))


class Hashed(asyncio.SelectorEventLoop):
    def __hash__(self):
        counts["hash"] += 1
        return 1

    def __eq__(self, other):
        counts["eq"] += 1
        return self is other


def hash():
    loops = [Hashed(), Hashed()]

    def run(loop):
        asyncio.set_event_loop(loop)
        print(loop.run_until_complete(many()))

    for loop in loops:
        other = threading.Thread(target=run, args=(loop,))
        other.start()
        other.join()
        loop.close()


class Nested(asyncio.Task):
    """A step that is made by hand, of a handle that no loop runs."""

    def get_name(self):
        counts["get_name"] += 1
        handle = asyncio.Handle(helper, ("x",), asyncio.new_event_loop())
        handle._run()
        handle._loop.close()
        return "nested"


def nested():
    print(with_factory(lambda loop, coro, **more: Nested(coro, loop=loop, **more)))


def eager():
    factory = getattr(asyncio, "eager_task_factory", None)
    print(with_factory(factory) if factory else 60)
    if factory:
        print(with_factory(asyncio.create_eager_task_factory(Asked)))


class Module:
    def __getattr__(self, name):
        counts[name] += 1
        raise AttributeError(name)


def replaced():
    sys.modules["_asyncio"] = Module()
    current_task = asyncio.tasks.current_task

    def counted(loop=None):  # asyncio.gather asks it from 3.14 on
        counts["current_task"] += 1
        return current_task(loop)

    asyncio.current_task = asyncio.tasks.current_task = counted
    print(asyncio.run(many()))
    for name in ("current_task", "_get_running_loop", "_current_tasks"):
        setattr(Module, name, lambda *args: counts.update(["called"]))
    print(asyncio.run(many()))


def missing():
    del sys.modules["_asyncio"]
    print(asyncio.run(many()))
    sys.modules["_asyncio"] = module = type(sys)("_asyncio")
    module._get_running_loop = module.current_task = lambda *args: counts.update(["called"])
    module._current_tasks = collections.Counter()
    print(asyncio.run(many()))
    module.__getattr__ = lambda name: counts.update([name])
    del module._get_running_loop, module.current_task
    print(asyncio.run(many()))


globals()[sys.argv[1]]()
for what, n in sorted(counts.items()):
    print(what, n)
