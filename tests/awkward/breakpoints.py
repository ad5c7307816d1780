# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT
# run: -m MODULE
# stdin: where\nnext\np 'in function'\ncontinue\nwhere\nstep\nstep\ncontinue\nwhere\nnext\ncontinue\nwhere\nreturn\ncontinue\n
# stdin: where\nnext\ncontinue\nwhere\nuntil\ncontinue\nwhere\nnext\ncontinue\nwhere\nnext\ncontinue\nwhere\nnext\ncontinue\n
# stdin: where\nnext\ncontinue\nwhere\ncontinue\nwhere\ncontinue\ncontinue\ncontinue\ncontinue\ncontinue\ncontinue\ncontinue\n
# unlined: 3.9
# mask: [^ \n]*/lib/python3\.\d+/
"""Where a debugger stops that the program itself starts: pdb.set_trace, breakpoint, bdb, sys.settrace with f_trace and f_trace_opcodes."""

import asyncio
import bdb
import pdb
import sys
import threading


def in_function(n):
    a = n
    breakpoint()
    b = a + 1
    return b


def as_last_statement():
    breakpoint()


def in_loop():
    for i in range(2):
        pdb.set_trace()
        print("loop", i)


def numbers():
    yield 1
    pdb.set_trace()
    yield 2


async def wait():
    await asyncio.sleep(0)
    breakpoint()
    await asyncio.sleep(0)


def in_handler():
    try:
        raise ValueError
    except ValueError:
        breakpoint()
        print("handled")


def caller():
    helper()
    print("back in caller")


def helper():
    pdb.Pdb(nosigint=True, readrc=False).set_trace(sys._getframe().f_back)


in_function(1)
in_function(2)  # known by now
as_last_statement()
in_loop()
print(list(numbers()))
asyncio.run(wait())
in_handler()
caller()
thread = threading.Thread(target=in_function, args=(3,))
thread.start()
thread.join()
breakpoint()
at_module_level = 1
sys.settrace(None)


# ---- bdb


class Stops(bdb.Bdb):
    def user_line(self, frame):
        print("stop", frame.f_code.co_name, frame.f_lineno - frame.f_code.co_firstlineno)
        self.set_continue() if frame.f_code.co_name == "after" else self.set_step()

    def user_return(self, frame, value):
        print("return", frame.f_code.co_name, value)
        self.set_step()


def after():
    return 1


def set_by_bdb():
    Stops().set_trace()
    x = 1
    after()
    return x


set_by_bdb()
sys.settrace(None)


# ---- by hand

events = []


def trace(frame, event, argument):
    if frame.f_code.co_filename == __file__:
        events.append((event, frame.f_code.co_name, frame.f_lineno - frame.f_code.co_firstlineno))
    return trace


def told(what):
    sys.settrace(None)
    print(what, len(events), events)
    events.clear()


def opcodes_then_trace():
    frame = sys._getframe()
    frame.f_trace_opcodes = True
    frame.f_trace = trace
    sys.settrace(trace)
    x = 1
    sys.settrace(None)
    return x


def trace_then_opcodes():
    sys.settrace(trace)
    frame = sys._getframe()
    frame.f_trace = trace
    frame.f_trace_opcodes = True
    x = 1
    frame.f_trace_opcodes = False
    y = 2
    sys.settrace(None)
    return x + y


def traces_caller():
    frame = sys._getframe().f_back
    frame.f_trace = trace
    frame.f_trace_opcodes = True
    sys.settrace(trace)


def is_traced():
    traces_caller()
    x = 1
    y = 2
    sys.settrace(None)
    return x + y


def generator():
    traces_caller()
    yield 1
    yield 2


for function in (opcodes_then_trace, trace_then_opcodes, is_traced, lambda: list(generator())):
    for turn in range(3):  # new to us, known, known to the interpreter
        function()
        told(f"{function.__name__} {turn}")
