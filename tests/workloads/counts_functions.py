# SPDX-License-Identifier: BSD-3-Clause
"""Proves that every kind of call is counted once: functions, methods, properties, operators, closures, lambdas,
decorators, comprehensions, class bodies, callbacks from C, code made by exec, signal handlers.

Each function notes its own calls; the notes go into the file that is named on the command line.
"""

import functools
import json
import os
import signal
import sys
from collections import Counter

done = Counter()


def leaf():
    done["leaf"] += 1


def three_times():
    done["three_times"] += 1
    for _ in range(3):
        leaf()


def five_times():
    done["five_times"] += 1
    for _ in range(5):
        leaf()


def with_everything(a, /, b, *args, c=1, **kwargs):
    done["with_everything"] += 1
    return a + b + c + len(args) + len(kwargs)


class Vector:
    done["Vector"] += 1

    def __init__(self, x):
        done["__init__"] += 1
        self.x = x

    def __add__(self, other):
        done["__add__"] += 1
        return Vector(self.x + other.x)

    def __lt__(self, other):
        done["__lt__"] += 1
        return self.x < other.x

    def __call__(self):
        done["__call__"] += 1
        return self.x

    def __getattr__(self, name):
        done["__getattr__"] += 1
        return name

    def __enter__(self):
        done["__enter__"] += 1
        return self

    def __exit__(self, *exception):
        done["__exit__"] += 1

    def __del__(self):
        done["__del__"] += 1

    @property
    def doubled(self):
        done["doubled"] += 1
        return 2 * self.x

    @staticmethod
    def static():
        done["static"] += 1

    @classmethod
    def of_class(cls):
        done["of_class"] += 1
        return cls(0)


class Longer(Vector):
    done["Longer"] += 1

    def __init__(self, x):
        done["__init__"] += 1
        super().__init__(x + 1)


def use_objects():
    done["use_objects"] += 1
    vectors = [Vector(i) for i in (3, 1, 2)]
    total = sum(vectors, Vector(0))
    assert (total(), total.doubled, total.nothing) == (6, 12, "nothing")
    assert sorted(vectors)[0].x == 1
    assert Longer(1).x == 2
    Vector.static()
    Vector.of_class()
    with Vector(4) as vector:
        vector.static()


def counted(function):
    done["counted"] += 1

    @functools.wraps(function)
    def wrapper(*args):
        done["wrapper"] += 1
        return function(*args)

    return wrapper


@counted
def decorated(n):
    done["decorated"] += 1
    return n


def make_adder(n):
    done["make_adder"] += 1

    def adder(m):
        done["adder"] += 1
        return n + m

    return adder


def note_and_return(value):
    done["note_and_return"] += 1
    return value


def use_callbacks():
    done["use_callbacks"] += 1
    assert sorted(range(7), key=lambda n: note_and_return(-n))[0] == 6
    assert list(map(note_and_return, range(4))) == [0, 1, 2, 3]
    assert functools.reduce(lambda a, b: note_and_return(a + b), range(5)) == 10
    assert max({1: "a", 2: "b"}, key=note_and_return) == 2


def use_comprehensions():
    done["use_comprehensions"] += 1
    assert [note_and_return(i) for i in range(3)] == [0, 1, 2]
    assert {note_and_return(i) for i in range(3)} == {0, 1, 2}
    assert {i: note_and_return(i) for i in range(3)} == {0: 0, 1: 1, 2: 2}
    assert sum(note_and_return(i) for i in range(3)) == 3
    triangle = [
        # On another line than the outer one: cProfile keeps only one of two with the same name and line.
        [note_and_return(j) for j in range(i)]
        for i in range(4)
    ]
    assert triangle[3] == [0, 1, 2]


def use_exec():
    """Many functions, the same names again and again, and no code object that lives on."""
    done["use_exec"] += 1
    for i in range(200):
        names = {"done": done}
        exec(f"def made():\n    done['made'] += 1\n    return {i}", names)
        assert names["made"]() == i


def on_signal(number, frame):
    done["on_signal"] += 1


def use_signals():
    done["use_signals"] += 1
    signal.signal(signal.SIGUSR1, on_signal)
    for _ in range(10):
        os.kill(os.getpid(), signal.SIGUSR1)


def main():
    done["main"] += 1
    for _ in range(4):
        three_times()
    five_times()
    assert with_everything(1, 2, 3, c=4, d=5) == 9
    for i in range(6):
        assert decorated(i) == i
    add_two, add_three = make_adder(2), make_adder(3)
    assert add_two(1) + add_three(1) + add_three(1) == 11
    use_objects()
    use_callbacks()
    use_comprehensions()
    use_exec()
    use_signals()


main()
with open(sys.argv[1], "w") as file:
    json.dump(done, file)
