# SPDX-License-Identifier: BSD-3-Clause
"""Proves that a generator counts once for each time it runs: next, send, throw, close, delegation, abandonment; and
not at all for being made.

Each generator notes when it starts and when it comes back from a yield; the notes go into the file that is named on
the command line.
"""

import contextlib
import json
import sys
from collections import Counter

done = Counter()


def counter(n):
    done["counter"] += 1
    for i in range(n):
        yield i
        done["counter"] += 1


def echo():
    """Runs on after a throw, ends at a close."""
    done["echo"] += 1
    word = None
    try:
        while True:
            try:
                word = yield word
                done["echo"] += 1
            except LookupError:
                done["echo"] += 1
                word = "caught"
    except GeneratorExit:
        done["echo"] += 1


def delegate(n):
    done["delegate"] += 1
    yield from counted_inner(n)
    # It is entered again for each value that passes through it.
    done["delegate"] += n


def counted_inner(n):
    done["counted_inner"] += 1
    for i in range(n):
        yield i
        done["counted_inner"] += 1
    return n


def ends_by_throw():
    done["ends_by_throw"] += 1
    try:
        yield 1
    finally:
        done["ends_by_throw"] += 1


def abandoned():
    done["abandoned"] += 1
    try:
        yield 1
    finally:
        done["abandoned"] += 1


def never_started():
    done["never_started"] += 1
    yield 1


def walk(depth):
    """A generator that is its own caller."""
    done["walk"] += 1
    yield depth
    done["walk"] += 1
    if depth:
        for value in walk(depth - 1):
            yield value
            done["walk"] += 1


@contextlib.contextmanager
def managed():
    done["managed"] += 1
    try:
        yield
    finally:
        done["managed"] += 1


def two_at_once():
    """Their turns interleave: neither is inside the other."""
    done["two_at_once"] += 1
    first, second = counter(5), counter(5)
    sums = [a + next(second) for a in first]
    assert next(second, "end") == "end"
    return sums


def throw_and_close():
    done["throw_and_close"] += 1
    talk = echo()
    next(talk)
    assert talk.send("a") == "a"
    assert talk.throw(LookupError) == "caught"
    assert talk.send("b") == "b"
    talk.close()
    thrown = ends_by_throw()
    next(thrown)
    try:
        thrown.throw(ArithmeticError("thrown"))
    except ArithmeticError as error:
        assert error.args == ("thrown",)
    left = abandoned()
    next(left)
    del left
    waiting = never_started()
    waiting.close()


def use_contexts():
    done["use_contexts"] += 1
    for _ in range(3):
        with managed():
            pass
    try:
        with managed():
            raise KeyError
    except KeyError:
        return


def main():
    done["main"] += 1
    assert sum(counter(10)) == 45
    assert list(delegate(4)) == [0, 1, 2, 3]
    assert list(walk(3)) == [3, 2, 1, 0]
    assert two_at_once() == [0, 2, 4, 6, 8]
    throw_and_close()
    use_contexts()


main()
with open(sys.argv[1], "w") as file:
    json.dump(done, file)
