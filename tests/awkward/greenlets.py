# SPDX-License-Identifier: BSD-3-Clause
# needs: greenlet
"""Switching stacks: greenlets nested, raising, killed, in threads, left unfinished, deeply recursive."""

import sys
import threading

from greenlet import GreenletExit, getcurrent, greenlet

log = []


def depth():
    frame, n = sys._getframe(1), 0
    while frame:
        frame, n = frame.f_back, n + 1
    return n


def ping(n):
    for i in range(n):
        log.append(("ping", i, depth()))
        second.switch(i)
    return "ping done"


def pong(value):
    while True:
        log.append(("pong", value, depth()))
        value = first.switch()


first, second = greenlet(ping), greenlet(pong)
print(first.switch(3), log)


def nested(n):
    if n == 0:
        return depth()
    return greenlet(nested).switch(n - 1)


print(nested(20))


def fails():
    getcurrent().parent.switch("started")
    raise ValueError("in a greenlet")


g = greenlet(fails)
print(g.switch())
try:
    g.switch()
except ValueError as error:
    print(error, g.dead)


def killed():
    try:
        getcurrent().parent.switch()
    except GreenletExit:
        print("killed")
        raise


g = greenlet(killed)
g.switch()
print(repr(g.throw()), g.dead)


def generator():
    for i in range(3):
        getcurrent().parent.switch(("switched", i))
        yield i


g = greenlet(lambda: list(generator()))
print([g.switch() for _ in range(4)])


def down(n):
    if n == 0:
        return getcurrent().parent.switch(depth())
    return down(n - 1)


several = [greenlet(down) for _ in range(5)]
print([g.switch(100 * i) for i, g in enumerate(several)])
print([g.switch("back") for g in several])


def in_thread():
    g = greenlet(lambda: getcurrent().parent.switch(1))
    print("thread", g.switch(), depth())


thread = threading.Thread(target=in_thread)
thread.start()
thread.join()


def plain(n):
    try:
        return plain(n + 1)
    except RecursionError:
        return n


print("limit", greenlet(plain).switch(0), plain(0))
left = greenlet(killed)
left.switch()
many = 0


def counts():
    global many
    while True:
        many += 1
        getcurrent().parent.switch()


crowd = [greenlet(counts) for _ in range(200)]
for _ in range(20):
    for g in crowd:
        g.switch()
print(many)
print("end")
