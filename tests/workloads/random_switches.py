# SPDX-License-Identifier: BSD-3-Clause
"""Calls, generators, exceptions and regions in an order that a seed decides, with functions switched off and on in between.

    random_switches.py SEED LOG      LOG gets a line for each event that a recording has to have
"""

import random
import sys

from allranks import functions_off, functions_on, region

LIMIT = 3000
choose = random.Random(int(sys.argv[1]))
events = []
is_on = True
n_left = LIMIT


class Stop(Exception):
    pass


def switch(on):
    global is_on
    is_on = on
    (functions_on if on else functions_off)()


def act(depth):
    """Whatever comes next, from within a function."""
    global n_left
    for _ in range(choose.randint(0, 4)):
        n_left -= 1
        if n_left < 0:
            return
        what = choose.random()
        if what < 0.25:
            switch(not is_on)
        elif what < 0.40:
            name = choose.choice(("r_one", "r_two"))
            with region(name):
                events.append(f"enter {name}")
                try:
                    if depth < 12:
                        call(depth + 1)
                finally:
                    events.append(f"leave {name}")
        elif what < 0.50 and depth < 12:
            try:
                f_raises(depth + 1)
            except Stop:
                pass
        elif what < 0.62 and generators:
            advance(choose.choice(list(generators)))
        elif what < 0.68:
            number = len(made)
            made.append(number)
            generators[number] = g_steps(depth + 1)
        elif what < 0.69:
            for _ in range(choose.randint(1, 1500)):
                f_leaf(is_on)
        elif depth < 12:
            call(depth + 1)


made = []
generators = {}
running = set()


def advance(number):
    if number in running:
        return
    running.add(number)
    try:
        next(generators[number])
    except (StopIteration, Stop):
        generators.pop(number, None)
    finally:
        running.discard(number)


def call(depth):
    choose.choice((f_plain, f_other, f_recurses))(depth)


def entered(name):
    """What the function is to do at its end."""
    if is_on:
        events.append(f"enter {name}")
    return f"leave {name}" if is_on else None


def left(event):
    if event:
        events.append(event)


def f_leaf(recorded):
    left(entered("f_leaf"))


def f_plain(depth):
    event = entered("f_plain")
    act(depth)
    left(event)


def f_other(depth):
    event = entered("f_other")
    act(depth)
    act(depth)
    left(event)


def f_recurses(depth):
    event = entered("f_recurses")
    act(depth)
    if depth < 12:
        f_recurses(depth + 1)
    act(depth)
    left(event)


def f_raises(depth):
    event = entered("f_raises")
    try:
        act(depth)
        if choose.random() < 0.7:
            raise Stop
    finally:
        left(event)


def g_steps(depth):
    for _ in range(choose.randint(1, 5)):
        event = entered("g_steps")
        act(depth)
        left(event)
        yield
    event = entered("g_steps")
    left(event)


def main():
    if choose.random() < 0.5:
        switch(False)
    while n_left > 0:
        call(0)
    switch(True)


main()
with open(sys.argv[2], "w") as file:
    file.writelines(f"{event}\n" for event in events)
