# SPDX-License-Identifier: BSD-3-Clause
"""Subinterpreters: code runs in them, fails in them, and they go away."""

import sys

if sys.version_info >= (3, 13):
    import _interpreters as interpreters
else:
    import _xxsubinterpreters as interpreters

CODE = """
def work(n):
    return n if n < 2 else work(n - 1) + work(n - 2)
import os
os.write(1, str(work(12)).encode() + b"\\n")
def down(n):
    try:
        return down(n + 1)
    except RecursionError:
        return n
os.write(1, str(down(0) > 100).encode() + b"\\n")
"""


def create():
    """An own GIL is what newer versions have by default: extension modules may refuse that, allranks' is not asked."""
    made = interpreters.create()
    return made[0] if isinstance(made, tuple) else made


def main_work(n):
    return n if n < 2 else main_work(n - 1) + main_work(n - 2)


for _ in range(3):
    one = create()
    print("running", flush=True)
    interpreters.run_string(one, CODE)
    main_work(10)
    try:
        result = interpreters.run_string(one, "raise ValueError('inside')")
        print(getattr(result, "formatted", result))
    except Exception as error:
        print(type(error).__name__, str(error)[:50])
    interpreters.destroy(one)
print(main_work(10), len(interpreters.list_all()))
