# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: E402, I001
"""The examples of PyOP2's page on profiling, as the page has them."""

from pyop2 import timing
timing("ParLoop compute")               # get total time
timing("ParLoop compute", total=False)  # get average time per call

from pyop2.profiling import timed_region, timed_function

with timed_region("my code"):
    # my code
    print("my code")

@timed_function("my function")
def my_func():
    # my func
    print("my func")

my_func()
my_func()

from pyop2.profiling import profile

@profile
def lines():
    print("lines")

lines()

from pyop2.profiling import lineprof, memprof

@lineprof
def by_line():
    print("by line")

@memprof
def by_memory():
    print("by memory")

by_line()
by_memory()

import pyop2.profiling

for name in ("my code", "my function", "ParLoop compute"):
    print(name, pyop2.profiling.timing(name) > 0, timing(name, total=False) > 0)
