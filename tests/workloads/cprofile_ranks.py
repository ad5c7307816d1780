# SPDX-License-Identifier: BSD-3-Clause
"""Recursion, threads, functions in C and odd names under cProfile itself: argv is the file to write and how much to do."""

import cProfile
import json
import sys
import threading


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


# Pythons differ in which names they allow; what they refuse need not be read either.
ODD = {}
for file, name in (
    ("/dir of \udcff/snow \u2603.py", "caf\u00e9"),
    ("/dir/b.py", "dot.in.<name>"),
    ("", "\U0001f600"),
    ("~", "<built-in method fake>"),
    ("line\nend", "quote'\"\\"),
    ("/x/" + "y" * 300, "z" * 300),
):
    code = compile("def f(x): return sorted(x)", file, "exec")
    scope = {}
    inner = code.co_consts[0].replace(co_name=name)
    exec(code.replace(co_consts=(inner, *code.co_consts[1:])), scope)
    ODD[name] = scope["f"]


def work(amount):
    fib(6 + amount)
    even(5 * amount)
    json.dumps({"a": [1, 2, 3] * amount})
    [max(x, 3) for x in range(amount)]
    thread = threading.Thread(target=fib, args=(amount,))
    thread.start()
    thread.join()
    for function in ODD.values():
        function([3, 1, 2])


profile = cProfile.Profile()
profile.enable()
work(int(sys.argv[2]))
profile.disable()
profile.dump_stats(sys.argv[1])
