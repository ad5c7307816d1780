# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT
# run: -m MODULE
"""An audit hook sees the program's own events, and none of ours between them."""

import json
import struct
import warnings
import sys

seen = []
watching = True


def hook(event, args):
    if watching:
        seen.append(event)


def work(n):
    return n if n < 2 else work(n - 1) + work(n - 2)


def numbers():
    yield 1


sys.addaudithook(hook)
work(10)
list(numbers())
exec("def made(): return 1\nmade()")
try:
    work("x")
except TypeError:
    pass
open("/dev/null").close()
eval("1")
import wave

json.dumps({})
watching = False
print(len(seen))
for event in seen:
    print(event)
# What comes at the end belongs to the interpreter, but for what we do then: it opens nothing through Python.
at_end = []


def at_end_hook(event, args):
    if event in ("open", "import", "exec", "compile", "os.remove", "os.rename", "mmap.__new__", "subprocess.Popen", "socket.__new__"):
        sys.__stdout__.write(f"at the end: {event} {args[0]}\n")


sys.addaudithook(at_end_hook)
