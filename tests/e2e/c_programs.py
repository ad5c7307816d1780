# SPDX-License-Identifier: BSD-3-Clause
"""Writes random programs that call C functions in known numbers and for known times.

Each program is a list of blocks, which run in random order, some of them several times. A block is a Python function
whose name no other function has, so that `block_7` and the name of a C function say which calls are meant. The
program writes what it did into the file that is named on its command line:

    calls    [caller, C function, calls by Python code, calls by C code]
    spans    [caller, C function, least ns, most ns]: what certain calls lasted
    blocks   {name: [calls, least ns, most ns]} of the blocks themselves

`most` is the time between two stamps of the program around the calls, so no recorded time of these calls is longer.
`least` is what lies within the calls for certain: the time that a sleep was asked for, the time from the first stamp of
a callback to the last one, or the processor time of a call, minus what the stamps and the profiler may take of it. Both
hold on a machine that is busy with other things. The spans of a caller and a C function cover all calls of this
function by this caller.

The program notes its calls with operators and Python functions of its own, so that its notes add no call to a block.
"""

from __future__ import annotations

import random
from collections.abc import Callable

CPU_SLACK_NS = 1_000_000  # stamps, the slow path of a first call, page faults of the profiler

PRELUDE = f'''\
import functools
import itertools
import json
import math
import pickle
import re
import sys
import threading
import time
import zlib

try:
    from greenlet import getcurrent, greenlet
except ImportError:
    greenlet = None

now = time.perf_counter_ns
cpu = time.thread_time_ns
calls, spans, blocks = {{}}, [], {{}}
numbers = [n * 7919 % 10007 for n in range(300_000)]
floats = [n * 7919 % 1000003 / 3 for n in range(40_000)]
endless = itertools.count()
data = b"words and more of them, " * 700_000


def note_calls(caller, name, n, n_from_c=0):
    key = caller, name
    python, c = calls[key] if key in calls else (0, 0)
    calls[key] = python + n, c + n_from_c


def length(items):
    """In a function of its own, since len is a C function."""
    return len(items)


def note_span(caller, name, least, most):
    spans.append((caller, name, least, most))


def note_busy(caller, name, cpu_ns, most):
    note_span(caller, name, cpu_ns - {CPU_SLACK_NS} if cpu_ns > {CPU_SLACK_NS} else 0, most)


def run_block(block, name):
    start = now()
    least = block()
    most = now() - start
    n, before_least, before_most = blocks[name] if name in blocks else (0, 0, 0)
    blocks[name] = n + 1, before_least + least, before_most + most


class Stamps:
    """The first and the last moment of all callbacks of one call."""

    first = last = 0

    def begin(self):
        if not self.first:
            self.first = now()

    def end(self):
        self.last = now()

    def span(self):
        return self.last - self.first


'''

ENDING = """\
for name in order:
    run_block(globals()[name], name)
with open(sys.argv[1], "w") as file:
    noted = [[*key, *n] for key, n in calls.items()]
    json.dump({"calls": noted, "spans": spans, "blocks": blocks}, file)
"""

# Statement, name, and what prepares it: calls of less than a microsecond.
SHORT = [
    ("abs(x)", "built-in method builtins.abs", "x = -3"),
    ("divmod(x, 3)", "built-in method builtins.divmod", "x = 11"),
    ("math.sqrt(x)", "built-in method math.sqrt", "x = 2.0"),
    ("x.upper()", "method 'upper' of 'str' objects", "x = 'word'"),
    ("x.hex()", "method 'hex' of 'bytes' objects", "x = b'word'"),
    ("x.get(3)", "method 'get' of 'dict' objects", "x = {3: 4}"),
    ("x.startswith('a', 1)", "method 'startswith' of 'str' objects", "x = 'banana'"),
    ("x.split(sep=',')", "method 'split' of 'str' objects", "x = 'a,b'"),
    ("'{}'.format(x)", "method 'format' of 'str' objects", "x = 5"),
    ("zlib.crc32(x)", "built-in method zlib.crc32", "x = b'word'"),
    ("max(*x)", "built-in method builtins.max", "x = (1, 2)"),
    ("next(x)", "built-in method builtins.next", "x = endless"),
]
# Name, an expression for few microseconds or less, and one for some milliseconds.
EITHER = [
    ("built-in method builtins.sum", "sum(few)", "sum(numbers)"),
    ("built-in method builtins.max", "max(few)", "max(numbers)"),
    ("built-in method zlib.crc32", "zlib.crc32(b'few')", "zlib.crc32(data)"),
    ("built-in method builtins.sorted", "sorted(few)", "sorted(floats)"),
    ("method 'count' of 'bytes' objects", "b'few'.count(b'e')", "data.count(b'wm')"),
    ("built-in method time.sleep", "time.sleep(0)", "time.sleep(0.004)"),
]
MEDIUM = [
    ("built-in method zlib.crc32", "zlib.crc32(some)", "some = data[:100_000]"),
    ("built-in method zlib.compress", "zlib.compress(some)", "some = data[:20_000]"),
    ("built-in method builtins.sorted", "sorted(some)", "some = floats[:1000]"),
    ("built-in method builtins.sum", "sum(some)", "some = numbers[:3000]"),
]
# Call, name of the C function that calls back; CALLBACK takes one argument and returns it, COUNT is the number of items.
CALLBACKS = [
    ("sorted(items, key=CALLBACK)", "built-in method builtins.sorted"),
    ("max(items, key=CALLBACK)", "built-in method builtins.max"),
    ("min(*items, key=CALLBACK)", "built-in method builtins.min"),
    ("sum(map(CALLBACK, items))", "built-in method builtins.sum"),
    ("items.sort(key=CALLBACK)", "method 'sort' of 'list' objects"),
    ("'-'.join(map(str, filter(CALLBACK, items)))", "method 'join' of 'str' objects"),
    ("functools.reduce(lambda a, b: CALLBACK(b), items, 0)", "built-in method _functools.reduce"),
    ("pattern.sub(lambda match: str(CALLBACK(1)), 'a' * COUNT)", "method 'sub' of 're.Pattern' objects"),
    ("json.loads(text, object_hook=lambda found: CALLBACK(1))", ""),
    ("pickle.dumps([Reduced(CALLBACK) for _ in items])", "built-in method _pickle.dumps"),
]
RAISING = [
    ("getattr(1, 'absent')", "built-in method builtins.getattr", "AttributeError"),
    ("''.index('a')", "method 'index' of 'str' objects", "ValueError"),
    ("math.sqrt(-1)", "built-in method math.sqrt", "ValueError"),
    ("[].pop()", "method 'pop' of 'list' objects", "IndexError"),
    ("abs('a')", "built-in method builtins.abs", "TypeError"),
]

Write = Callable[[random.Random, str], str]


def write_loop(caller: str, name: str, statement: str, n: int) -> str:
    """A number of calls between two stamps."""
    return f"""\
    start = now()
    for _ in range({n}):
        {statement}
    most = now() - start
    note_span("{caller}", "{name}", 0, most)
    note_calls("{caller}", "{name}", {n})
"""


def write_long(caller: str, name: str, statement: str) -> str:
    """One call of a millisecond or more; a sleep takes no processor time, but lasts what it was asked for."""
    if "sleep" in name:
        asked_ns = round(float(statement.partition("(")[2].rstrip(")")) * 1e9)
        least = f'note_span("{caller}", "{name}", {asked_ns}, most)'
    else:
        least = f'note_busy("{caller}", "{name}", busy, most)'
    return f"""\
    start, start_cpu = now(), cpu()
    kept = {statement}
    busy, most = cpu() - start_cpu, now() - start
    {least}
    note_calls("{caller}", "{name}", 1)
"""


def write_each(caller: str, name: str, statement: str, n: int) -> str:
    """A number of calls, each between two stamps; `i` counts them."""
    return f"""\
    for i in range({n}):
        start, start_cpu = now(), cpu()
        kept = {statement}
        busy, most = cpu() - start_cpu, now() - start
        note_busy("{caller}", "{name}", busy, most)
    note_calls("{caller}", "{name}", {n})
"""


def write_mixed(caller: str, name: str, statement: str, arguments: str) -> str:
    """Short and long calls in one line; `x` is their argument. Each is between two stamps."""
    return f"""\
    arguments = {arguments}
    least = total = 0
    for x in arguments:
        start, start_cpu = now(), cpu()
        kept = {statement}
        busy, most = cpu() - start_cpu, now() - start
        total += most
        if busy > {CPU_SLACK_NS}:
            least += busy - {CPU_SLACK_NS}
    note_span("{caller}", "{name}", least, total)
    note_calls("{caller}", "{name}", length(arguments))
"""


def write_body(name: str, body: str) -> str:
    """A block returns what it lasted at least."""
    return f"def {name}():\n    begun = now()\n{body}    return now() - begun\n"


def write_dense_python(dice: random.Random, name: str) -> str:
    """Python calls, thousands of them, and then a few long calls of C functions."""
    long_name, _, long_call = dice.choice(EITHER)
    longs = write_long(name, long_name, long_call) * dice.randint(1, 3)
    body = f"    x = 0\n    for _ in range({dice.randint(500, 20_000)}):\n        x = step_of_{name}(x)\n"
    return f"def step_of_{name}(x):\n    return x + 1\n\n\n" + write_body(name, body + longs)


def write_short(dice: random.Random, name: str) -> str:
    body = ""
    for statement, c_name, before in dice.sample(SHORT, dice.randint(1, 3)):
        body += f"    {before}\n" + write_loop(name, c_name, statement, dice.randint(1, 20_000))
    return write_body(name, body)


def write_medium(dice: random.Random, name: str) -> str:
    c_name, statement, before = dice.choice(MEDIUM)
    return write_body(name, f"    {before}\n" + write_loop(name, c_name, statement, dice.randint(5, 60)))


def write_cheap_then_long(dice: random.Random, name: str) -> str:
    """Calls that prove cheap, and long ones of the same function, in turns, with work in Python in between."""
    c_name, short, long = dice.choice(EITHER)
    body = "    few = [3, 1, 2]\n"
    for _ in range(dice.randint(1, 3)):
        n_short = dice.choice((1, 100, 300, 3000, 30_000)) if "sleep" not in c_name else dice.randint(1, 300)
        body += write_loop(name, c_name, short, n_short)
        body += f"    x = 0\n    while x < {dice.choice((0, 100_000))}:\n        x += 1\n"
        body += write_long(name, c_name, long) * dice.randint(1, 4)
    return write_body(name, body)


def write_in_one_line(dice: random.Random, name: str) -> str:
    """The same, at one place, which has one node in the tree."""
    c_name, short, long = dice.choice((
        ("built-in method builtins.sum", "[1]", "numbers"),
        ("built-in method builtins.max", "[1]", "numbers"),
        ("built-in method zlib.crc32", "b'few'", "data"),
    ))  # fmt: skip
    parts = []
    for _ in range(dice.randint(1, 3)):
        parts += [f"[{short}] * {dice.choice((1, 20, 300, 5000, 15_000))}", f"[{long}] * {dice.randint(1, 4)}"]
    statement = f"{c_name.rpartition(' ')[2].replace('builtins.', '')}(x)"
    return write_body(name, write_mixed(name, c_name, statement, " + ".join(parts)))


def write_callback(dice: random.Random, name: str) -> str:
    """A C function that calls Python back, which calls C functions, and sleeps now and then."""
    call, c_name = dice.choice(CALLBACKS)
    n, slow, seconds = dice.randint(2, 300), dice.choice((0, 0, 1, 2)), dice.choice((0.0015, 0.004))
    callback = f"callback_of_{name}"
    call = call.replace("CALLBACK", callback).replace("COUNT", str(n))
    head = f"""\
stamps_of_{name} = Stamps()
left_of_{name} = [0]


def {callback}(x):
    stamps_of_{name}.begin()
    abs(x)
    if left_of_{name}[0] > 0:
        left_of_{name}[0] -= 1
        start = now()
        time.sleep({seconds})
        note_span("{callback}", "built-in method time.sleep", {round(seconds * 1e9)}, now() - start)
        note_calls("{callback}", "built-in method time.sleep", 1)
    note_calls("{callback}", "built-in method builtins.abs", 1)
    stamps_of_{name}.end()
    return x


class Reduced_of_{name}:
    def __init__(self, callback):
        self.callback = callback

    def __reduce__(self):
        return divmod, (7, self.callback(3))


"""
    body = f"""\
    stamps = stamps_of_{name}
    stamps.first = 0
    left_of_{name}[0] = {slow}
    items = [n + 1 for n in range({n})]
    pattern, text = re.compile("a"), "[" + "{{}}, " * {n - 1} + "{{}}]"
    start = now()
    kept = {call.replace("Reduced", f"Reduced_of_{name}")}
    most = now() - start
"""
    if c_name:
        body += f"""\
    note_span("{name}", "{c_name}", stamps.span(), most)
    note_calls("{name}", "{c_name}", 1)
"""
    return head + write_body(name, body)


def write_raising(dice: random.Random, name: str) -> str:
    body = ""
    for statement, c_name, error in dice.sample(RAISING, dice.randint(1, 3)):
        n = dice.randint(1, 2000)
        body += f"""\
    start = now()
    for _ in range({n}):
        try:
            {statement}
        except {error}:
            pass
    note_span("{name}", "{c_name}", 0, now() - start)
    note_calls("{name}", "{c_name}", {n})
"""
    n, at = dice.randint(5, 50), dice.randint(0, 4)
    body += f"""\
    start = now()
    try:
        sorted(range({n}), key=fails_in_{name})
    except KeyError:
        pass
    note_span("{name}", "built-in method builtins.sorted", 0, now() - start)
    note_calls("{name}", "built-in method builtins.sorted", 1)
    note_calls("fails_in_{name}", "built-in method builtins.abs", {at + 1})
"""
    head = f"def fails_in_{name}(x):\n    abs(x)\n    if x == {at}:\n        raise KeyError(x)\n    return x\n\n\n"
    return head + write_body(name, body)


def write_recursion(dice: random.Random, name: str) -> str:
    """Recursion through max; the innermost call sleeps."""
    depth = dice.randint(1, 60)
    c_name = dice.choice(("max", "min", "sorted"))
    call = f"{c_name}([n], key=down_of_{name})"
    head = f"""\
def recurse_of_{name}(n):
    return {call}


def down_of_{name}(n):
    if n:
        recurse_of_{name}(n - 1)
        return n
    start = now()
    time.sleep(0.002)
    note_span("down_of_{name}", "built-in method time.sleep", 2_000_000, now() - start)
    note_calls("down_of_{name}", "built-in method time.sleep", 1)
    return n


"""
    body = f"""\
    start = now()
    recurse_of_{name}({depth})
    note_span("recurse_of_{name}", "built-in method builtins.{c_name}", 2_000_000, now() - start)
    note_calls("recurse_of_{name}", "built-in method builtins.{c_name}", {depth + 1})
"""
    return head + write_body(name, body)


def write_threads(dice: random.Random, name: str) -> str:
    """All at the same time; each proves for itself what is cheap."""
    n_threads, n = dice.randint(2, 5), dice.randint(10, 5000)
    c_name, short, long = dice.choice(EITHER[:2])
    head = f"""\
def work_of_{name}():
    few = [3, 1, 2]
    start = now()
    for _ in range({n}):
        {short}
        divmod(7, 3)
    span = now() - start
    start, start_cpu = now(), cpu()
    kept = {long}
    busy, most = cpu() - start_cpu, now() - start
    note_span("work_of_{name}", "{c_name}", 0, span)
    note_busy("work_of_{name}", "{c_name}", busy, most)
    note_span("work_of_{name}", "built-in method builtins.divmod", 0, span)


"""
    body = f"""\
    threads = [threading.Thread(target=work_of_{name}) for _ in range({n_threads})]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    note_calls("work_of_{name}", "{c_name}", {n_threads * (n + 1)})
    note_calls("work_of_{name}", "built-in method builtins.divmod", {n_threads * n})
"""
    return head + write_body(name, body)


def write_greenlets(dice: random.Random, name: str) -> str:
    """Two that switch to each other, from within a C function; both come to their end."""
    n = dice.randint(1, 300)
    switch = "method 'switch' of 'greenlet.greenlet' objects"
    head = f"""\
def ping_of_{name}(pair):
    for i in range({n}):
        divmod(i, 3)
        pair[1].switch(pair)
    note_calls("ping_of_{name}", "built-in method builtins.divmod", {n})
    note_calls("ping_of_{name}", "{switch}", {n})


def pong_of_{name}(pair):
    for _ in range({n}):
        abs(-1)
        pair[0].switch()
    note_calls("pong_of_{name}", "built-in method builtins.abs", {n})
    note_calls("pong_of_{name}", "{switch}", {n})


"""
    body = f"""\
    if not greenlet:
        return 0
    pair = [greenlet(ping_of_{name}), greenlet(pong_of_{name})]
    pair[0].switch(pair)
    pair[1].switch()
    note_calls("{name}", "{switch}", 2)
"""
    body += write_loop(name, "built-in method math.sqrt", "math.sqrt(2)", dice.randint(1, 500))
    body += write_long(name, "built-in method time.sleep", "time.sleep(0.002)")
    return head + write_body(name, body)


def write_generators(dice: random.Random, name: str) -> str:
    n = dice.randint(1, 1000)
    head = f"""\
def generator_of_{name}():
    total = 0
    while True:
        try:
            total += abs((yield total) or 1)
            note_calls("generator_of_{name}", "built-in method builtins.abs", 1)
        except KeyError:
            start = now()
            time.sleep(0.0015)
            note_span("generator_of_{name}", "built-in method time.sleep", 1_500_000, now() - start)
            note_calls("generator_of_{name}", "built-in method time.sleep", 1)


"""
    body = f"""\
    generator = generator_of_{name}()
    start = now()
    next(generator)
    next(generator)
    note_span("{name}", "built-in method builtins.next", 0, now() - start)
    note_calls("{name}", "built-in method builtins.next", 2)
    start = now()
    for _ in range({n}):
        generator.send(2)
    note_span("{name}", "method 'send' of 'generator' objects", 0, now() - start)
    note_calls("{name}", "method 'send' of 'generator' objects", {n})
    start = now()
    generator.throw(KeyError)
    note_span("{name}", "method 'throw' of 'generator' objects", 1_500_000, now() - start)
    note_calls("{name}", "method 'throw' of 'generator' objects", 1)
"""
    return head + write_body(name, body)


def write_from_c(dice: random.Random, name: str) -> str:
    """C functions that C functions call."""
    n, m = dice.randint(1, 3000), dice.randint(1, 3000)
    body = f"""\
    items = [n + 1 for n in range({n})]
    more = [n + 1 for n in range({m})]
    start = now()
    sorted(items, key=abs)
    sum(map(math.sqrt, more))
    most = now() - start
    for c_name, n, n_from_c in (
        ("built-in method builtins.sorted", 1, 0),
        ("built-in method builtins.abs", 0, {n}),
        ("built-in method builtins.sum", 1, 0),
        ("built-in method math.sqrt", 0, {m}),
    ):
        note_span("{name}", c_name, 0, most)
        note_calls("{name}", c_name, n, n_from_c)
"""
    return write_body(name, body)


WRITERS: list[Write] = [
    write_dense_python, write_short, write_medium, write_cheap_then_long, write_in_one_line, write_callback,
    write_callback, write_raising, write_recursion, write_threads, write_greenlets, write_generators, write_from_c,
]  # fmt: skip


def join_program(texts: list[str], order: list[str]) -> str:
    return PRELUDE + "\n\n".join(texts) + f"\n\norder = {order}\n{ENDING}"


def write_program(seed: int, *, with_stacks: bool = True) -> str:
    """One block of each kind, some more, and the order in which they run; or those kinds only that need one stack."""
    dice = random.Random(seed)
    kinds = [write for write in WRITERS if with_stacks or write not in (write_threads, write_greenlets)]
    writers = kinds + dice.choices(kinds, k=5)
    dice.shuffle(writers)
    names = [f"block_{i}" for i in range(len(writers))]
    texts = [write(dice, name) for write, name in zip(writers, names)]
    order = names + dice.choices(names, k=len(names) // 2)
    dice.shuffle(order)
    return f"# Random program {seed}\n" + join_program(texts, order)
