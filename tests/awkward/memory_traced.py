# SPDX-License-Identifier: BSD-3-Clause
# options: --builtins none
# run: SCRIPT
# run: -X tracemalloc=5 SCRIPT
"""tracemalloc counts the program's own lines the same; sys.getallocatedblocks goes back to where it was."""

import sys
import tracemalloc


def make(n):
    return [bytearray(1000) for _ in range(n)]


def nothing():
    pass


tracemalloc.start(3)
kept = make(100)
snapshot = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, __file__)])
for statistic in snapshot.statistics("lineno"):
    if statistic.size > 50_000:
        print(statistic.traceback[0].lineno, statistic.count >= 100, round(statistic.size / 10_000))
traces = [trace for trace in snapshot.traces if trace.size > 1000]
print(len(traces), {len(trace.traceback) for trace in traces})
before = tracemalloc.get_traced_memory()[0]
for _ in range(100_000):
    nothing()
print("grown by calls", tracemalloc.get_traced_memory()[0] - before < 1000)
tracemalloc.stop()
for _ in range(10):
    nothing()
blocks = sys.getallocatedblocks()
for _ in range(10_000):
    nothing()
print("blocks", sys.getallocatedblocks() - blocks < 10)
