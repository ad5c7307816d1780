# SPDX-License-Identifier: BSD-3-Clause
"""Runs a script and counts its lines by the interpreter's own events: line_counter.py OUTPUT SCRIPT."""

import collections
import json
import sys
import threading

output, script = sys.argv[1:3]
sys.argv = sys.argv[2:]
hits = collections.Counter()


def on_line(frame, event, argument):
    if event == "line":
        hits[frame.f_lineno] += 1
    return on_line


def on_call(frame, event, argument):
    return on_line if frame.f_code.co_filename == script else None


def on_line_event(code, line):
    if code.co_filename == script:
        hits[line] += 1


def start():
    if sys.version_info < (3, 12):
        threading.settrace(on_call)
        sys.settrace(on_call)
        return
    # Of a jump back to the line itself, as in a comprehension, sys.settrace makes an event, and this does not.
    events = sys.monitoring
    events.use_tool_id(4, "counter")
    events.register_callback(4, events.events.LINE, on_line_event)
    # Without this event 3.13 leaves out lines on which their function begins.
    events.register_callback(4, events.events.PY_START, lambda code, offset: None)
    events.set_events(4, events.events.LINE | events.events.PY_START)


def stop():
    if sys.version_info < (3, 12):
        sys.settrace(None)
    else:
        sys.monitoring.set_events(4, 0)


with open(script) as file:
    code = compile(file.read(), script, "exec")
start()
exec(code, {"__name__": "__main__", "__file__": script})
stop()
with open(output, "w") as file:
    json.dump(hits, file)
