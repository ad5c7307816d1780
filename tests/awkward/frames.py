# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT
# run: -m MODULE
# run: -c CODE
# run: DIRECTORY
# run: STDIN
"""sys._getframe, inspect.stack, traceback.print_stack from all kinds of places."""

import functools
import inspect
import sys
import threading
import traceback


def depth():
    frame, n = sys._getframe(), 0
    while frame:
        frame, n = frame.f_back, n + 1
    return n


def names():
    return [frame.function for frame in inspect.stack(0)]


def generator():
    yield depth()


async def coroutine():
    return depth()


class Thing:
    at_class_level = depth()

    def __init__(self):
        self.depth = depth()

    @property
    def value(self):
        return depth()

    def __getattr__(self, name):
        return depth()

    def __eq__(self, other):
        print("eq", depth())
        return True

    def __del__(self):
        print("del", depth())


print("module", depth(), names())
print("lambda", (lambda: depth())())
print("generator", next(generator()), list(depth() for _ in range(1)), [depth() for _ in range(1)])
try:
    coroutine().send(None)
except StopIteration as stop:
    print("coroutine", stop.value)
thing = Thing()
print("class", Thing.at_class_level, thing.depth, thing.value, thing.missing, thing == 1)
del thing
print("partial", functools.partial(depth)(), functools.lru_cache(None)(depth)(), list(map(lambda _: depth(), [1])))
print("exec", eval("depth()"), eval(compile("depth()", "odd", "eval")))
exec("print('exec', depth(), names())")
thread = threading.Thread(target=lambda: print("thread", depth(), names()))
thread.start()
thread.join()
for level in range(4):
    try:
        print(level, sys._getframe(level).f_code.co_name)
    except ValueError as error:
        print(level, error)
for limit in (1, 2, 3, 4):
    try:
        sys.setrecursionlimit(limit)
        sys.setrecursionlimit(1000)
        print("limit", limit)
    except RecursionError as error:
        print(error)
frame = sys._getframe()
print(frame.f_back, frame.f_globals is globals(), frame.f_locals is globals(), frame.f_trace, frame.f_lineno, frame.f_builtins is __builtins__.__dict__)
traceback.print_stack()
traceback.print_stack(file=sys.stdout, limit=1)
print("".join(traceback.format_stack()))
print(len(sys._current_frames()), len(sys._current_exceptions()) if hasattr(sys, "_current_exceptions") else 1)
print([f.f_code.co_name for f, line in traceback.walk_stack(frame)])
print(inspect.currentframe() is frame, inspect.getframeinfo(frame)[1:3])
