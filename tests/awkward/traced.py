# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT
"""sys.settrace, sys.setprofile and threading's, with every event they get."""

import sys
import threading

here = __file__


def tracer(frame, event, argument):
    if frame.f_code.co_filename == here:
        what = argument if event in ("return", "c_call") else type(argument).__name__
        what = getattr(what, "__name__", what)
        events.append((event, frame.f_code.co_name, frame.f_lineno - frame.f_code.co_firstlineno, what))
    return tracer


def fails():
    raise ValueError("caught")


def numbers():
    try:
        yield 1
        yield 2
    finally:
        len("x")


def work(n):
    total = sum(i for i in range(n))
    try:
        fails()
    except ValueError:
        total += 1
    for _ in numbers():
        break
    return max([total, 3], key=lambda x: -x)


def show(title):
    print(title, len(events))
    for event in events:
        print("  ", *event)
    events.clear()


events = []
sys.settrace(tracer)
work(2)
sys.settrace(None)
show("settrace")

sys.setprofile(tracer)
work(2)
sys.setprofile(None)
show("setprofile")

threading.setprofile(tracer)
thread = threading.Thread(target=work, args=(2,))
thread.start()
thread.join()
threading.setprofile(None)
show("threading.setprofile")

threading.settrace(tracer)
thread = threading.Thread(target=work, args=(1,))
thread.start()
thread.join()
threading.settrace(None)
show("threading.settrace")


def opcodes(frame, event, argument):
    frame.f_trace_opcodes, frame.f_trace_lines = True, False
    if event == "opcode":
        offsets.append(frame.f_lasti)
    return opcodes


if hasattr(threading, "setprofile_all_threads"):
    go, ready = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: (ready.set(), go.wait(), work(1)))
    thread.start()
    ready.wait()
    threading.setprofile_all_threads(tracer)
    go.set()
    thread.join()
    threading.setprofile_all_threads(None)
    events = [event for event in events if event[1] in ("work", "fails", "numbers")]
    show("setprofile_all_threads")

offsets = []
sys.settrace(opcodes)
work(1)
sys.settrace(None)
print("opcodes", len(offsets), offsets)


def failing(frame, event, argument):
    raise RuntimeError("from the trace function")


sys.settrace(failing)
try:
    work(1)
except RuntimeError as error:
    print("failed", error, sys.gettrace())


def jumps(frame, event, argument):
    if frame.f_code.co_name == "jumped" and event == "line" and frame.f_lineno == jumped.__code__.co_firstlineno + 1:
        frame.f_lineno += 1
    return jumps


def jumped():
    print("jumped over")
    print("not jumped over")


sys.settrace(jumps)
jumped()
sys.settrace(None)
print(sys.gettrace(), sys.getprofile())
