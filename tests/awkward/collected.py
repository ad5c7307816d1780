# SPDX-License-Identifier: BSD-3-Clause
# options: --builtins none
# run: SCRIPT
# run: -X dev SCRIPT
# unlined: 3.9 3.10 3.11
# mask: <\w+ object at\s*>
"""The garbage collector: what it sees of the program's objects, and when."""

import gc
import io
import sys
import weakref


class Node:
    def __init__(self, other=None):
        self.other = other

    def method(self):
        return self


def cycle():
    a = Node()
    a.other = Node(a)
    return weakref.ref(a)


def mine():
    return sum(type(o) is Node for o in gc.get_objects())


gc.collect()
print("thresholds", gc.get_threshold(), gc.isenabled(), gc.get_debug(), gc.garbage, gc.get_freeze_count())
print("callbacks", gc.callbacks)
nodes = [Node() for _ in range(100)]
print("objects", mine())
del nodes
print("objects", mine())
reference = cycle()
print("alive", reference() is not None)
print("collected", gc.collect() >= 2, reference())

one = Node()
holders = gc.get_referrers(one)
print("referrers", len(holders), [type(h).__name__ for h in holders])


def local():
    inner = Node()
    holders = gc.get_referrers(inner)
    print("referrers of a local", [type(h).__name__ for h in holders])
    print("refcount of a local", sys.getrefcount(inner))
    inner.method()
    print("refcount after a call", sys.getrefcount(inner))


local()
events = []
gc.callbacks.append(lambda phase, info: events.append((phase, info["generation"])))
gc.collect(0)
gc.collect(1)
gc.collect(2)
gc.callbacks.clear()
print(events)
gc.freeze()
gc.unfreeze()
print("freeze", gc.get_freeze_count())
gc.disable()
cycles = [cycle() for _ in range(1000)]
print("disabled", all(r() is not None for r in cycles), gc.isenabled())
gc.enable()
gc.collect()
print("enabled", any(r() is not None for r in cycles))


class Resurrected:
    def __del__(self):
        global kept
        kept = self


thing = Resurrected()
del thing
print("resurrected", type(kept).__name__, gc.is_finalized(kept))
gc.set_debug(gc.DEBUG_SAVEALL)
cycle()
gc.collect()
print("garbage", sum(type(o) is Node for o in gc.garbage))
gc.set_debug(0)
gc.garbage.clear()


def automatic():
    """Collections come at the same moments: nothing of ours is counted by the collector."""
    gc.collect()
    started = []
    gc.callbacks.append(lambda phase, info: phase == "start" and started.append((len(kept_lists), info["generation"])))
    kept_lists = []
    for i in range(5000):
        kept_lists.append([i])
    gc.callbacks.clear()
    return started


if hasattr(sys, "_jit") and sys._jit.is_available():
    automatic()  # instrumenting a function then makes a list for a moment: see docs/differences.md
print("automatic", automatic())
print("counted", gc.get_count()[1:])
del io
