# SPDX-License-Identifier: BSD-3-Clause
# slow: 3.9 3.11 3.12 3.13
"""A hundred thousand functions made by exec (a million with ALLRANKS_TEST_ALL): none is kept, and memory stays bounded."""

import gc
import os
import resource
import weakref

n_functions = 1_000_000 if os.environ.get("ALLRANKS_TEST_ALL", "0") != "0" else 100_000
template = compile("def f(x):\n    return x + 1\n", "made", "exec")
code = template.co_consts[0]
total, dead = 0, []
for i in range(n_functions):
    f = type(lambda: 0)(code.replace(co_name=f"f{i}", co_firstlineno=i % 1000 + 1), {})
    total += f(i)
    if i % 10_000 == 0:
        weakref.finalize(f.__code__, dead.append, i)
        before = before if i else None
        if i == 10_000:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for i in range(2000):
    space = {}
    exec(f"def g{i}(x):\n    return x * {i}\n", space)
    total += space[f"g{i}"](2)
del f
gc.collect()
grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(total, len(dead), n_functions)
# The live file has a limit of 256 MiB, of which a function takes some 200 bytes.
print("bounded", grown_kib < 320 << 10)
