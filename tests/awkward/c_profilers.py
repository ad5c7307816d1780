# SPDX-License-Identifier: BSD-3-Clause
"""Other profilers see the same calls of C functions: sys.setprofile, cProfile, sys.monitoring."""

import cProfile
import functools
import pstats
import re
import sys
import threading


class Thing:
    def __init__(self):
        super().__init__()

    def __len__(self):
        return 3


def back(x):
    return abs(x)


BAD = (
    lambda: [].pop(),
    lambda: abs("a"),
    lambda: abs(),
    lambda: [1].index(2, 3),
    lambda: sorted([1, "a"]),
)


def work():
    items = []
    items.append(1)
    items.extend([2, 3])
    len(items)
    len(Thing())
    isinstance(items, list)
    sorted(items, key=back)
    sorted(items, key=abs)
    list(map(back, items))
    functools.reduce(lambda a, b: max(a, b), items)
    re.compile("a").sub(lambda match: match.group(0).upper(), "banana")
    dict.fromkeys("ab")
    "{}".format(1)
    max(*items, **{"key": back})
    str.upper("a")
    for bad in BAD:
        try:
            bad()
        except (IndexError, TypeError, ValueError):
            pass
    steps = (n for n in range(3))
    next(steps)
    steps.send(None)
    steps.close()
    int.from_bytes(b"a", "big")
    object.__new__(Thing)
    tuple.__new__(tuple, (1,))


work()
events = []


def hook(frame, event, arg):
    events.append((event, frame.f_code.co_name, arg.__qualname__ if event.startswith("c_") else ""))


for _ in range(3):
    events.clear()
    sys.setprofile(hook)
    work()
    sys.setprofile(None)
    print(len(events))
print(events)
threading.setprofile(hook)
events.clear()
thread = threading.Thread(target=work)
thread.start()
thread.join()
threading.setprofile(None)
print([event for event in events if event[1] in ("work", "back", "<lambda>")])
for _ in range(2):
    profile = cProfile.Profile()
    profile.runcall(work)
    work()
    counts = {(file[-14:], line, name): (n, calls) for (file, line, name), (n, calls, *_) in pstats.Stats(profile).stats.items()}
    print(sorted((key, value) for key, value in counts.items() if "0x" not in key[2]))
if sys.version_info >= (3, 12):
    monitoring = sys.monitoring
    monitoring.use_tool_id(1, "seen")
    kinds = [monitoring.events.CALL, monitoring.events.C_RETURN, monitoring.events.C_RAISE]
    seen = []
    for kind in kinds:
        monitoring.register_callback(1, kind, lambda code, offset, function, first, kind=kind: seen.append((kind, code.co_name, getattr(function, "__qualname__", type(function).__name__))))
    for _ in range(3):
        seen.clear()
        monitoring.set_events(1, kinds[0])
        work()
        monitoring.set_events(1, 0)
        print(len(seen))
    print(seen)
    monitoring.free_tool_id(1)
print(sys.getprofile(), sys.gettrace())
