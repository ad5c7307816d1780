# SPDX-License-Identifier: BSD-3-Clause
"""Proves that a program can use the interpreter's own tools while it is recorded: trace and profile functions,
cProfile, sys.monitoring, tracemalloc, and evaluation of annotations as the program asked for it.
"""

import cProfile
import pstats
import sys
import tracemalloc
from collections import Counter

events = Counter()


def work(n):
    return [half(i) for i in range(n)]


def half(n):
    if n % 2:
        raise_and_catch()
    return n / 2


def raise_and_catch():
    try:
        raise ValueError
    except ValueError:
        return None


def tracer(frame, event, argument):
    events[frame.f_code.co_name, event] += 1
    return tracer


def with_trace():
    sys.settrace(tracer)
    work(6)
    sys.settrace(None)
    print(sorted(events.items()))
    events.clear()


def with_profile():
    sys.setprofile(tracer)
    work(6)
    sys.setprofile(None)
    print(sorted(events.items()))
    events.clear()


def with_cprofile():
    profile = cProfile.Profile(builtins=False)
    profile.runcall(work, 10)
    stats = pstats.Stats(profile).stats
    print(sorted((name, cc, nc) for (_, _, name), (cc, nc, *_) in stats.items()))


def with_monitoring():
    monitoring = getattr(sys, "monitoring", None)
    if not monitoring:
        return
    for tool in (0, 1, 2, 5):
        monitoring.use_tool_id(tool, f"tool {tool}")
        monitoring.register_callback(tool, monitoring.events.PY_START, on_start)
        monitoring.set_events(tool, monitoring.events.PY_START)
    work(3)
    for tool in (0, 1, 2, 5):
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)
    print(sorted(events.items()))
    events.clear()
    monitoring.restart_events()
    work(3)


def on_start(code, offset):
    if code.co_name != "on_start":
        events[code.co_name] += 1
    return sys.monitoring.DISABLE if code.co_name == "half" else None


def with_tracemalloc():
    tracemalloc.start()
    kept = work(1000)
    here = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, __file__)])
    print(len(kept), len(here.traces) > 500)
    tracemalloc.stop()


def eager(argument: print("annotations are evaluated") = None):
    """They would not be if the launcher's own __future__ flags reached the program."""


assert __debug__ or print("optimized")
with_trace()
with_profile()
with_cprofile()
with_monitoring()
with_tracemalloc()
