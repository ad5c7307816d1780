# SPDX-License-Identifier: BSD-3-Clause
"""Recording paused and resumed, in all orders. Functions named `hidden…` run only while it is paused, all others only
while it is not. How often they were called goes into the file that is named on the command line, and the seconds spent
in each part.
"""

import json
import sys
import threading
import time
from collections import Counter

import allranks

calls, seconds = Counter(), {}
clock = time.perf_counter


def spin(ms):
    end = clock() + ms / 1000
    while clock() < end:
        pass


def hidden(n=1):
    if n > 1:
        hidden(n - 1)
    spin(2)


def seen(name):
    """A function of that name."""
    namespace = {"calls": calls, "spin": spin}
    exec(f"def {name}():\n calls['{name}'] += 1\n spin(2)", namespace)
    return namespace[name]


seen_in_block, seen_deeper, seen_higher, seen_after_error, seen_nested = map(
    seen, ("seen_in_block", "seen_deeper", "seen_higher", "seen_after_error", "seen_nested")
)
seen_in_thread, seen_by_generator = map(seen, ("seen_in_thread", "seen_by_generator"))


def block():
    seen_in_block()
    with allranks.paused():
        hidden(3)
    seen_in_block()
    for _ in range(50):
        with allranks.paused():
            pass
    seen_in_block()


def nested():
    allranks.pause()
    hidden()
    with allranks.paused():
        hidden()
        allranks.pause()
        hidden()
        allranks.resume()
        hidden()
    hidden()
    allranks.resume()
    seen_nested()


def deeper():
    """Resumed in functions that are not seen, as recording was paused when they were entered."""
    allranks.pause()
    hidden_and_resumes()
    seen_deeper()


def hidden_and_resumes():
    hidden()
    hidden_and_resumes_there()
    seen_deeper()


def hidden_and_resumes_there():
    allranks.resume()
    seen_deeper()


def higher():
    """Resumed when the function that paused is over."""
    pauses_two_below()
    hidden()
    allranks.resume()
    seen_higher()


def pauses_two_below():
    pauses_below()
    hidden()


def pauses_below():
    allranks.pause()
    hidden()


def after_error():
    try:
        with allranks.paused():
            hidden_error()
    except KeyError:
        pass
    seen_after_error()
    try:
        pauses_and_fails()
    except KeyError:
        hidden()
        allranks.resume()
    seen_after_error()


def hidden_error():
    hidden()
    raise KeyError


def pauses_and_fails():
    allranks.pause()
    raise KeyError


def by_generator():
    """It begins while it is seen and ends while it is not, and the other way round."""
    steps = generator()
    next(steps)
    with allranks.paused():
        next(steps)
    seen_by_generator()
    other = generator()
    with allranks.paused():
        next(other)
    next(other)
    seen_by_generator()
    del steps, other


def generator():
    spin(1)
    yield 1
    spin(1)
    yield 2


def in_thread(go, gone):
    seen_in_thread()
    go[0].set()
    gone[0].wait()
    hidden()
    go[1].set()
    gone[1].wait()
    seen_in_thread()


def threads():
    """Two are there before the pause, one comes in it."""
    go, gone = ([threading.Event(), threading.Event()] for _ in "ab")
    thread = threading.Thread(target=in_thread, args=(go, gone))
    thread.start()
    go[0].wait()
    allranks.pause()
    gone[0].set()
    go[1].wait()
    late = threading.Thread(target=hidden)
    late.start()
    late.join()
    allranks.resume()
    gone[1].set()
    thread.join()


def recursive(n):
    """Paused at one depth of a recursion, resumed at another."""
    if n == 4:
        allranks.pause()
    if n == 2:
        allranks.resume()
    if n:
        recursive(n - 1)
    spin(4)


def main():
    for part in (block, nested, deeper, higher, after_error, by_generator, threads):
        start = clock()
        part()
        seconds[part.__name__] = clock() - start
    start = clock()
    recursive(6)
    seconds["recursive"] = clock() - start
    start = clock()
    main_goes_on()
    seconds["main_goes_on"] = clock() - start


def main_goes_on():
    calls["main_goes_on"] += 1
    spin(5)


main()
with open(sys.argv[1], "w") as file:
    json.dump({"calls": calls, "seconds": seconds}, file)
