# SPDX-License-Identifier: BSD-3-Clause
"""Writes random programs, each of which notes every call of every function of its own.

A generator or coroutine notes each time it runs on. Where the interpreter runs one without giving it a chance to say so
(one that delegates, one that is ended before it began), the innermost one speaks for it, or it has a name that begins
with `mute`, of which only cProfile knows the count.

What is noted is appended to one list, which is atomic, so that threads need no lock. No two functions share file, line
and name, as cProfile keeps only one of such.
"""

from __future__ import annotations

import random

N_FUNCTIONS = 8
FUEL = 300

PRELUDE = '''\
import functools
import json
import sys
import threading
import types

notes = []
note = notes.append
local = threading.local()


class Spent(Exception):
    pass


def tick():
    note("tick")
    local.fuel -= 1
    return local.fuel > 0


class Base:
    def __init__(self, n):
        note("__init__")
        self.n = n

    def method(self, n):
        note("method")
        return f0(n) if tick() else 0

    def __call__(self, n):
        note("__call__")
        return self.method(n)

    def __enter__(self):
        note("__enter__")
        return self

    def __exit__(self, *error):
        note("__exit__")
        return error[0] is ValueError

    def __len__(self):
        note("__len__")
        return self.n

    def __lt__(self, other):
        note("__lt__")
        return self.n < other.n

    def __del__(self):
        note("__del__")

    def __getattr__(self, name):
        note("__getattr__")
        if name == "absent":
            raise AttributeError(name)
        return name

    @property
    def half(self):
        note("half")
        return self.n // 2

    @classmethod
    def make(cls, n):
        note("make")
        return cls(n)

    @staticmethod
    def twice(n):
        note("twice")
        return 2 * n


class Derived(Base):
    def __init__(self, n):
        note("__init__")
        super().__init__(n + 1)

    def method(self, n):
        note("method")
        return super().method(n) if tick() else 1


def is_even(n):
    note("is_even")
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    note("is_odd")
    return False if n == 0 else is_even(n - 1)


def fib(n):
    note("fib")
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def numbers(n):
    note("numbers")
    for i in range(n):
        try:
            yield i
        finally:
            note("numbers")


def passed_on(n):
    note("passed_on")
    for i in range(n):
        yield i
        note("passed_on")
        note("delegating")


def delegating(n):
    note("delegating")
    yield from passed_on(n)


def patient(n):
    note("patient")
    word = None
    while n > 0:
        n -= 1
        try:
            word = yield word
            note("patient")
        except KeyError:
            note("patient")
        except (ValueError, GeneratorExit):
            note("patient")
            raise


def mute_generator(n):
    yield n


async def mute_coroutine(n):
    return n


def use_patient(n):
    note("use_patient")
    generator = patient(n + 3)
    next(generator)
    generator.send("word")
    generator.throw(KeyError)
    if n % 3 == 0:
        generator.close()
    elif n % 3 == 1:
        try:
            generator.throw(ValueError)
        except ValueError:
            pass
    else:
        del generator


def use_mute(n):
    note("use_mute")
    mute_generator(n).close()
    mute_coroutine(n).close()
    try:
        mute_generator(n).throw(ValueError)
    except ValueError:
        pass


@types.coroutine
def suspend(chain):
    note("suspend")
    yield
    note("suspend")
    for name in chain:
        note(name)


async def awaited(n):
    note("awaited")
    for _ in range(n):
        await suspend(("awaited", "awaiting"))
    return n


async def awaiting(n):
    note("awaiting")
    total = 0
    async with Door():
        async for i in counting(n):
            total += await awaited(i)
    return total


class Door:
    async def __aenter__(self):
        note("__aenter__")

    async def __aexit__(self, *error):
        note("__aexit__")


async def counting(n):
    note("counting")
    for i in range(n):
        yield i
        note("counting")


def drive(coroutine):
    note("drive")
    try:
        while True:
            coroutine.send(None)
    except StopIteration as end:
        return end.value


def deep(n):
    note("deep")
    if n == 0:
        raise Spent
    deep(n - 1)


def closure(n):
    note("closure")

    def within(m):
        note("within")
        return n + m if m < 1 else within(m - 1)

    return within


def through_c(n):
    note("through_c")
    return functools.reduce(lambda a, b: note("<lambda>") or a + b, range(n + 1))


@functools.lru_cache(maxsize=None)
def remembered(n):
    note("remembered")
    return n
'''

# {f} and {g} are functions of the program, {n} is a small number.
STATEMENTS = [
    "x += {f}(n - 1)",
    "x += {f}(n - 1) + {g}(n - 2)",
    "x += Base({n}).method(n - 1)",
    "x += Derived.make({n})(n - 1)",
    "x += Base.twice({n}) + Base({n}).half + len(Base({n}))",
    "x += len(sorted([Base({n}), Derived({n}), Base(1)]))",
    "x += hasattr(Base(1), 'absent') + hasattr(Base(1), 'present')",
    "x += sum(map({f}, [n - 2] * {n}))",
    "x += len(sorted([n - 1] * {n}, key={f}))",
    "x += len(list(filter({g}, [n - 1, n - 2])))",
    "x += max([n - 1, n - 2], key=made_by_exec_{m})",
    "x += functools.partial({f}, n - 1)()",
    "x += through_c({n})",
    "x += is_even({n}) + fib({n})",
    "x += sum(numbers({n})) + sum(delegating({n}))",
    "x += any(i == 1 for i in numbers({n} + 2))",
    "g = numbers({n} + 2); next(g); next(g); del g",
    "use_patient({n})",
    "use_mute({n})",
    "x += drive(awaiting({n}))",
    "x += closure({n})({n})",
    "x += remembered({n})",
    "try: deep({n} + 5)\n    except Spent: x += 1",
    "try: x += failing_{f}(n - 1)\n    except Spent: x += 1",
    "try: sorted([n - 1, n - 2], key=failing_{f})\n    except Spent: x += 1",
    "try: list(map(failing_{g}, [n - 1]))\n    except Spent: x += 1",
    "try: max(1, 'x', key=made_by_exec_{m})\n    except TypeError: x += 1",
    "with Base({n}): x += {g}(n - 1)",
    "with Base({n}): raise ValueError",
    "try: int('x')\n    except ValueError: x += 1",
    "l = []; l.append(1); a = l.append; a(2); list.append(l, 3); x += l.pop() + len(l)",
    "x += (3).bit_length() + isinstance(x, int) + len('-'.join(['a', 'b']))",
    "d = {{}}; d.setdefault('a', {f}); x += d['a'](n - 1) + d.get('b', 0)",
]

ENDING = """\
def start(begin, fuel):
    note("start")
    local.fuel = fuel
    try:
        begin(7)
    except Spent:
        pass


def main(n_threads, begins):
    note("main")
    threads = [threading.Thread(target=start, args=(begin, {fuel})) for begin in begins[:n_threads]]
    for thread in threads:
        thread.start()
    for begin in begins:
        start(begin, {fuel})
    for thread in threads:
        thread.join()


main(int(sys.argv[2]), [{begins}])
counts = {{name: notes.count(name) for name in sorted(set(notes))}}
with open(sys.argv[1], "w") as file:
    json.dump(counts, file)
"""


def write_function(dice: random.Random, name: str, fails: bool, statements: list[str]) -> list[str]:
    lines = [f"def {name}(n):", f"    note('{name}')", "    x = 0", "    if not tick() or n <= 0: return 0"]
    for _ in range(dice.randint(2, 6)):
        f, g = (f"f{dice.randrange(N_FUNCTIONS)}" for _ in "fg")
        statement = dice.choice(statements)
        numbers = {"n": dice.randint(0, 3), "m": dice.randrange(3)}
        lines.append("    " + statement.format(f=f, g=g, **numbers))
    return [*lines, "    raise Spent" if fails else "    return x % 7", "", ""]


def write_made_by_exec(number: int) -> list[str]:
    """One below the other, in a file of the same name: `<string>`."""
    name = f"made_by_exec_{number}"
    text = "\\n" * number + f"def {name}(n):\\n note('{name}')\\n return n"
    return [f'exec("{text}")', "", ""]


def write_program(seed: int, more: tuple[str, ...] = (), fuel: int = FUEL) -> str:
    """With further statements besides those that every program has."""
    dice = random.Random(seed)
    statements = [*STATEMENTS, *more]
    lines = [f"# Random program {seed}", *PRELUDE.splitlines(), "", ""]
    for number in range(3):
        lines += write_made_by_exec(number)
    for number in range(N_FUNCTIONS):
        lines += write_function(dice, f"f{number}", False, statements)
        lines += write_function(dice, f"failing_f{number}", True, statements)
    begins = ", ".join(f"f{dice.randrange(N_FUNCTIONS)}" for _ in range(5))
    return "\n".join(lines) + "\n" + ENDING.format(fuel=fuel, begins=begins)
