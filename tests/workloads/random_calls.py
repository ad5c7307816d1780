# SPDX-License-Identifier: BSD-3-Clause
"""Not a program to be recorded but a comparison: runs random programs under cProfile and under allranks.Profile.

    python random_calls.py FIRST_SEED N_PROGRAMS

Timers count how often they are asked, so that times agree to the digit only where each profiler asked at the same
calls in the same order. Prints as JSON what was compared, and the first differences.
"""

import collections
import cProfile
import functools
import gc
import itertools
import json
import random
import re
import sys

import allranks

N_FUNCTIONS = 9

PRELUDE = '''
import functools, re, json, collections
class Spent(Exception): pass
fuel = [0]
def tick():
    fuel[0] -= 1
    return fuel[0] > 0
class Base:
    kept = 0
    def __init__(self, n): self.n = n
    def method(self, n): return f0(n) if tick() else 0
    def __call__(self, n): return self.method(n)
    def __enter__(self): return self
    def __exit__(self, *error): return error[0] is ValueError
    def __len__(self): return self.n
    @property
    def half(self): return self.n // 2
    @classmethod
    def make(cls, n): return cls(n)
    @staticmethod
    def twice(n): return 2 * n
    def __getattr__(self, name):
        if name == "absent": raise AttributeError(name)
        return name
class Derived(Base):
    def __init__(self, n): super().__init__(n + 1)
    def method(self, n): return super().method(n) if tick() else 1
class Kept(list):
    def append(self, item): super().append(item)
class Strange(list):
    extend = list.extend
def numbers(n):
    for i in range(n):
        yield i
def chained(n):
    yield from numbers(n)
    return n
def patient(n):
    while n > 0:
        try:
            n = (yield n) or n - 1
        except KeyError:
            n -= 2
        except ValueError:
            return
async def inner(n): return n
async def outer(n):
    total = 0
    for i in range(n): total += await inner(i)
    return total
def drive(coroutine):
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
'''

# {f} and {g} are functions of the program, {n} is a small number.
STATEMENTS = [
    "x += {f}(n - 1)",
    "x += {f}(n - 1) + {g}(n - 2)",
    "x += Base({n}).method(n - 1)",
    "x += Derived.make({n})(n - 1)",
    "x += Base.twice({n}) + Base({n}).half + len(Base({n}))",
    "x += len([i for i in range({n})])",
    "x += sum(i * i for i in range({n}))",
    "x += sum(map({f}, [n - 2] * {n}))",
    "x += len(sorted([n - 1] * {n}, key={f}))",
    "x += len(list(filter({g}, [n - 1, n - 2])))",
    "x += max([1, 2], key=lambda i: -i)",
    "x += max(*[1, 2], **dict(key=abs))",
    "x += functools.reduce(lambda a, b: a + b, range({n} + 1))",
    "x += functools.partial({f}, n - 1)()",
    "x += sum(numbers({n})) + sum(chained({n}))",
    "x += any(i == 1 for i in range({n} + 2))",
    "g = numbers({n} + 2); next(g); next(g); del g",
    "g = chained({n} + 2); next(g); g.close()",
    "g = patient({n} + 4); next(g); x += g.send(3)\n    try: g.throw(KeyError)\n    except StopIteration: pass",
    "g = patient({n} + 1)\n    try: g.throw(ValueError)\n    except ValueError: pass",
    "g = patient({n} + 1); next(g)\n    try: g.throw(ValueError)\n    except StopIteration: pass",
    "g = patient(1)\n    try: [next(g) for _ in range(3)]\n    except StopIteration: pass",
    "x += drive(outer({n}))",
    "outer({n}).close()",
    "try: int('x')\n    except ValueError: x += 1",
    "try: [].pop()\n    except IndexError: x += 1",
    "try: {f}('x')\n    except (TypeError, Spent): x += 1",
    "try: x += failing_{f}(n - 1)\n    except Spent: x += 1",
    "try: sorted([n - 1, n - 2], key=failing_{f})\n    except Spent: x += 1",
    "try: list(map(failing_{g}, [n - 1]))\n    except Spent: x += 1",
    "with Base({n}): x += {g}(n - 1)",
    "with Base({n}): raise ValueError",
    "l = []; l.append(1); a = l.append; a(2); list.append(l, 3); x += len(l)",
    "k = Kept(); k.append(1); k.extend([2]); x += k.pop()",
    "s = Strange(); s.extend([2]); x += len(s)",
    "try: list.append()\n    except TypeError: x += 1",
    "try: len()\n    except TypeError: x += 1",
    "x += hasattr(Base(1), 'absent') + hasattr(Base(1), 'present')",
    "x += len('-'.join(['a', 'b'])) + len(dict.fromkeys('ab')) + len(str.maketrans('a', 'b'))",
    "x += int.from_bytes(b'a', 'big') + (3).bit_length() + isinstance(x, int)",
    "x += len(json.dumps([1, {{'a': None}}])) + len(re.sub('a', lambda m: m[0] * 2, 'banana'))",
    "x += collections.Counter('banana')['a'] + collections.OrderedDict(a=1).pop('a')",
    "d = {{}}; d.setdefault('a', {f}); x += d['a'](n - 1) + d.get('b', 0)",
    "x += (lambda m: {f}(m))(n - 1)",
    "exec('x = {f}(n - 1)', globals(), locals())",
    "x += eval('{g}(n - 2)')",
    "object.__repr__(x); repr([x]); str(Base.twice); type('T', (), {{}})()",
]


def write_function(dice, number, name, fails):
    lines = [f"def {name}(n):", "    x = 0", "    if not tick() or n <= 0: return 0"]
    for _ in range(dice.randint(1, 5)):
        statement = dice.choice(STATEMENTS)
        f, g = (f"f{dice.randrange(N_FUNCTIONS)}" for _ in "fg")
        lines.append("    " + statement.format(f=f, g=g, n=dice.randint(0, 3)))
    lines.append("    raise Spent" if fails else "    return x % 7")
    return lines


def write_program(seed):
    dice = random.Random(seed)
    lines = PRELUDE.splitlines()
    for number in range(N_FUNCTIONS):
        lines += write_function(dice, number, f"f{number}", False)
        lines += write_function(dice, number, f"failing_f{number}", True)
    lines += ["def start():", "    fuel[0] = 2000", "    for i in range(4):"]
    lines += [f"        try: f{dice.randrange(N_FUNCTIONS)}(8)", "        except Spent: pass"]
    return "\n".join(lines)


def counting_ints():
    return itertools.count().__next__


def counting_floats():
    count = itertools.count()
    return lambda: next(count) * 0.37


def falling_floats():
    """Fractions of a nanosecond, below zero."""
    count = itertools.count()
    return lambda: next(count) * -0.1234567890123


def restless_ints():
    """Runs backwards at times, and far."""
    state = [1]

    def timer():
        state[0] = state[0] * 1103515245 % 2147483647
        return state[0]

    return timer


CLOCK = {}  # the profiler's own: then only counts can agree
TIMERS = [
    lambda: CLOCK,
    lambda: {"timer": counting_ints(), "timeunit": 1.0},
    lambda: {"timer": counting_ints(), "timeunit": 0.001},
    lambda: {"timer": counting_floats()},
    lambda: {"timer": falling_floats()},
    lambda: {"timer": restless_ints(), "timeunit": 1e-6},
]


def by_runcall(profile, start):
    profile.runcall(start)


def by_with(profile, start):
    with profile:
        start()
    profile.enable(subcalls=False)
    start()
    profile.disable()


def by_nesting(profile, start):
    """Begins deep inside, and ends elsewhere; looks while it runs."""

    def begin(n):
        begin(n - 1) if n else profile.enable()

    def end(n):
        end(n - 1) if n else profile.disable()

    begin(3)
    start()
    on_the_way = profile.getstats()
    start()
    end(2)
    return on_the_way


def by_runctx(profile, start):
    profile.runctx("start()\nstart()", {"start": start}, None)


WAYS = [by_runcall, by_with, by_nesting, by_runctx]


def neutral(text):
    """The same for both profilers, and for objects wherever they are."""
    text = re.sub(r" at 0x[0-9a-f]+", "", text)
    return text.replace("_lsprof.Profiler", "Profiler").replace("allranks.Profile", "Profiler")


def key_of(code):
    if isinstance(code, str):
        return neutral(code)
    if code.co_filename.endswith(("cProfile.py", "profiling/tracing/__init__.py", "_profile.py")):
        return "own " + code.co_name  # lines differ
    identity = None if code.co_filename == "<string>" else id(code)  # compiled anew in each run
    return (code.co_filename, code.co_firstlineno, code.co_name, identity)


def flat(entries, with_times):
    """Every number there is, by function and by function and callee."""
    found = collections.defaultdict(list)
    n_numbers = 4 if with_times else 2
    for entry in entries:
        found[key_of(entry.code)].append((*entry[1:][:n_numbers], entry.calls is None))
        for callee in entry.calls or ():
            found[key_of(entry.code), key_of(callee.code)].append(tuple(callee[1:][:n_numbers]))
    return {key: sorted(rows) for key, rows in found.items()}


def record(profile_class, code, dice):
    """What was found in the end, and on the way."""
    timing = dice.choice(TIMERS)()
    choice = {"subcalls": dice.random() < 0.8, "builtins": dice.random() < 0.7}
    profile = profile_class(**timing, **choice)
    if profile_class is cProfile.Profile and sys.version_info >= (3, 14):
        profile.enable = functools.partial(profile.enable, **choice)  # it would take both to be true
    names = {"__name__": "program"}
    exec(code, names)
    names["start"]()  # fills caches of the standard library
    on_the_way = dice.choice(WAYS)(profile, names["start"]) or []
    return [flat(each, timing is not CLOCK) for each in (profile.getstats(), on_the_way)]


def compare(seed):
    code = compile(write_program(seed), f"program-{seed}", "exec")
    theirs, ours = (record(each, code, random.Random(seed)) for each in (cProfile.Profile, allranks.Profile))
    differences = [
        f"{seed}: {key}: {expected.get(key)} but {found.get(key)}"
        for expected, found in zip(theirs, ours)
        for key in {**expected, **found}
        if expected.get(key) != found.get(key)
    ]
    return theirs[0], differences


def main():
    first_seed, n_programs = map(int, sys.argv[1:])
    gc.disable()  # what it finalizes, and when, is not the program's doing
    summary = {"programs": 0, "calls": 0, "functions": 0, "pairs": 0, "recursive": 0, "differences": []}
    for seed in range(first_seed, first_seed + n_programs):
        expected, differences = compare(seed)
        rows = [*itertools.chain(*expected.values())]
        functions = [row for row in rows if isinstance(row[-1], bool)]
        summary["programs"] += 1
        summary["functions"] += len(functions)
        summary["pairs"] += len(rows) - len(functions)
        summary["calls"] += sum(row[0] for row in functions)
        summary["recursive"] += sum(row[1] for row in functions)
        summary["differences"] += differences[:5]
    json.dump(summary, sys.stdout)


main()
