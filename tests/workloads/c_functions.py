# SPDX-License-Identifier: BSD-3-Clause
"""Time in functions in C, as the program measured it itself, in seconds by name, goes into the file that is named on
the command line: `measured` are long calls, few of them; `short` are many calls of some microseconds, the least and the
most that they took: another process may have had the processor, in calls that are looked at or in others.
"""

import hashlib
import json
import sys
import time
import zlib

clock = time.perf_counter
measured, short = {}, {}
# Without a call: after thousands of short ones a long one is a matter of its own.
numbers = [n * 7919 % 10007 / 3 for n in range(400)]
many_numbers = [n * 7919 % 1000003 / 3 for n in range(200_000)]
text = b"words and more of them, " * 200_000


def timed(table, name, function, *args):
    start = clock()
    result = function(*args)  # kept: to free it takes time as well
    table[name] = table.get(name, 0) + clock() - start
    return len(result) if result else 0


def sleeps():
    timed(measured, "built-in method time.sleep", time.sleep, 0.1)


def compresses():
    timed(measured, "built-in method zlib.compress", zlib.compress, text)


def hashes():
    timed(measured, "built-in method _hashlib.pbkdf2_hmac", hashlib.pbkdf2_hmac, "sha256", b"a", b"b", 120_000)


def splits():
    timed(measured, "method 'split' of 'bytes' objects", text.split)


def called_often():
    """A function in Python that calls one in C for some microseconds."""
    start = clock()
    sum(numbers)
    return clock() - start


def calls_often():
    times = [called_often() for _ in range(30_000)]
    in_order = times[:]
    in_order.sort()
    longest = 3 * in_order[len(times) // 2]
    least = most = 0  # added up here: the functions in C that could do it are those that are measured
    for seconds in times:
        least += seconds if seconds < longest else longest
        most += seconds
    short["built-in method builtins.sum"] = [least, most]


def called_once():
    """One long call in a function that is called once."""
    timed(measured, "built-in method builtins.sorted", sorted, many_numbers)


def works_in_python():
    end = clock() + 0.05
    n = 0
    while clock() < end:
        for _ in range(1000):
            n += 1
    divmod(n, 3)
    int.bit_length(n)


sleeps()
compresses()
hashes()
splits()
called_once()
works_in_python()
calls_often()
works_in_python()
start, start_cpu = clock(), time.thread_time()
for _ in range(15_000):  # directly in the script
    max(numbers)
short["built-in method builtins.max"] = [time.thread_time() - start_cpu, clock() - start]
works_in_python()
with open(sys.argv[1], "w") as file:
    json.dump({"measured": measured, "short": short, "rare": ["built-in method builtins.divmod", "method 'bit_length' of 'int' objects"]}, file)
