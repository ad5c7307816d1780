# SPDX-License-Identifier: BSD-3-Clause
"""Proves that calls left by an exception are closed: through many frames, caught half way, raised again, in
constructors, comprehensions, callbacks from C, generators, finally blocks and at a recursion limit.

Each function notes its own calls; the notes go into the file that is named on the command line.
"""

import json
import sys
from collections import Counter

done = Counter()


def raises(depth):
    done["raises"] += 1
    if depth == 0:
        raise LookupError
    raises(depth - 1)


def catches(depth):
    done["catches"] += 1
    try:
        raises(depth)
    except LookupError:
        return after("caught")


def raises_again(depth):
    done["raises_again"] += 1
    try:
        raises(depth)
    except LookupError as error:
        after("raised again")
        raise ValueError from error


def cleans_up(depth):
    done["cleans_up"] += 1
    try:
        raises(depth)
    finally:
        after("cleaned up")


def after(what):
    """Called once the stack has been unwound: must hang below its caller, not below what was left."""
    done["after"] += 1
    return what


class Refuses:
    def __init__(self):
        done["__init__"] += 1
        raises(1)


def in_callback(n):
    done["in_callback"] += 1
    if n == 3:
        raises(0)
    return n


def in_generator():
    done["in_generator"] += 1
    yield 1
    done["in_generator"] += 1
    raises(2)


n_endless = [0]  # counted without a call, which the limit might refuse


def endless():
    n_endless[0] += 1
    endless()


def use_endless():
    """How deep it goes depends on who called the program: not to be compared with another run."""
    done["use_endless"] += 1
    try:
        endless()
    except RecursionError:
        after("recursion")
    done["endless"] = n_endless[0]


def main():
    done["main"] += 1
    for depth in range(20):
        assert catches(depth) == "caught"
    for function in (raises_again, cleans_up):
        try:
            function(10)
        except (LookupError, ValueError):
            after("main")
    for call in (
        Refuses,
        lambda: sorted(range(6), key=in_callback),
        lambda: [in_callback(n) for n in range(6)],
        lambda: list(in_generator()),
        lambda: {}["missing"],
    ):
        try:
            call()
        except LookupError:
            after("main")
    use_endless()
    for _ in range(100):
        after("all")


main()
with open(sys.argv[1], "w") as file:
    json.dump(done, file)
