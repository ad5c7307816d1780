# SPDX-License-Identifier: BSD-3-Clause
# python: 3.12+
"""sys.monitoring with other tool ids: all the ids that are free, all the events, DISABLE and restart."""

import sys

m = sys.monitoring
E_ = m.events
log = []


def callback(name):
    def called(code, *rest):
        if code.co_filename == __file__ and code.co_name in ("work", "fails", "numbers"):
            log.append((name, code.co_name, *(getattr(r, "__name__", type(r).__name__) for r in rest)))

    return called


def fails():
    raise ValueError


def numbers():
    yield 1
    yield 2


def work(n):
    for i in range(n):
        if i:
            len("x")
    list(numbers())
    try:
        fails()
    except ValueError:
        pass


names = ["PY_START", "PY_RESUME", "PY_RETURN", "PY_YIELD", "CALL", "LINE", "JUMP", "BRANCH", "STOP_ITERATION",
         "RAISE", "EXCEPTION_HANDLED", "PY_UNWIND", "PY_THROW", "RERAISE", "C_RETURN", "C_RAISE", "INSTRUCTION"]  # fmt: skip
m.use_tool_id(m.DEBUGGER_ID, "mine")
print([m.get_tool(i) for i in range(3)], m.get_tool(m.OPTIMIZER_ID))
for name in names:
    m.register_callback(m.DEBUGGER_ID, getattr(E_, name), callback(name))
m.set_events(m.DEBUGGER_ID, sum(getattr(E_, name) for name in names if not name.startswith("C_")))
work(2)
m.set_events(m.DEBUGGER_ID, 0)
print(len(log))
for entry in log:
    print("  ", *entry)
log.clear()

m.use_tool_id(m.COVERAGE_ID, "lines")
lines = []


def once(code, line):
    if code is work.__code__:
        lines.append(line - code.co_firstlineno)
    return m.DISABLE


m.register_callback(m.COVERAGE_ID, E_.LINE, once)
m.set_local_events(m.COVERAGE_ID, work.__code__, E_.LINE)
work(3)
work(3)
print("disabled", lines)
m.restart_events()
work(1)
print("again", lines)
m.set_local_events(m.COVERAGE_ID, work.__code__, 0)
print(m.get_local_events(m.COVERAGE_ID, work.__code__), m.get_events(m.COVERAGE_ID))


def starts(code, offset):
    started.append(code.co_name)
    return m.DISABLE


started = []
m.register_callback(m.COVERAGE_ID, E_.PY_START, starts)
m.set_events(m.COVERAGE_ID, E_.PY_START)
work(1)
work(1)
m.set_events(m.COVERAGE_ID, 0)
print("started", started)

instructions = []


def small():
    return len("x")


def counted(code, offset):
    instructions.append(offset)


small()
m.register_callback(m.COVERAGE_ID, E_.INSTRUCTION, counted)
m.register_callback(m.COVERAGE_ID, E_.PY_START, lambda code, offset: None)
m.set_local_events(m.COVERAGE_ID, small.__code__, E_.INSTRUCTION)
for events in (0, E_.PY_START, 0):  # an event that another tool may listen to as well comes and goes
    m.set_events(m.COVERAGE_ID, events)
    small()
    print("instructions", instructions)
    instructions.clear()
m.set_local_events(m.COVERAGE_ID, small.__code__, 0)
small()
print("no instructions", instructions)
for tool in (m.DEBUGGER_ID, m.COVERAGE_ID):
    m.free_tool_id(tool)
