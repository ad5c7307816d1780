# SPDX-License-Identifier: BSD-3-Clause
"""Proves that a call is known by the line it was made from. Lines are found by the marks in this file; what was
called where and how often goes into the file that is named on the command line.
"""

import json
import sys

with open(__file__) as file:
    LINES = {
        text.rpartition("# mark: ")[2].strip(): number
        for number, text in enumerate(file, start=1)
        if "# mark: " in text
    }


def target():
    return 1


class Thing:
    def method(self):
        return target()  # mark: in method


def several_lines():
    target()  # mark: first
    for _ in range(7):
        target()  # mark: loop
    return [
        target(),  # mark: in list
        (
            target() + target()  # mark: two on a line
        ),
    ]


def conditional(n):
    if n % 2:
        return target()  # mark: odd
    else:
        return target()  # mark: even


def in_handler():
    try:
        raise ValueError
    except ValueError:
        target()  # mark: handler
    finally:
        target()  # mark: finally


def by_callback():
    list(map(lambda _: target(), range(4)))  # mark: lambda


def main():
    several_lines()
    for n in range(5):
        conditional(n)
    in_handler()
    by_callback()
    Thing().method()


main()
expected = {
    "first": 1, "loop": 7, "in list": 1, "two on a line": 2, "odd": 2, "even": 3,
    "handler": 1, "finally": 1, "lambda": 4, "in method": 1,
}  # fmt: skip
with open(sys.argv[1], "w") as file:
    json.dump({LINES[mark]: n for mark, n in expected.items()}, file)
