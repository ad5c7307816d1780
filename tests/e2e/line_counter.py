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


with open(script) as file:
    code = compile(file.read(), script, "exec")
threading.settrace(on_call)
sys.settrace(on_call)
exec(code, {"__name__": "__main__", "__file__": script})
sys.settrace(None)
with open(output, "w") as file:
    json.dump(hits, file)
