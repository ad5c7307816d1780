# SPDX-License-Identifier: BSD-3-Clause
# known_fault: 3.11: a frame evaluator keeps calls from being inlined: the caller stands before the caches of its call, not after
"""The instruction that each frame of a traceback is at."""


def fail():
    raise ValueError


def outer():
    fail()


try:
    outer()
except ValueError as error:
    trace = error.__traceback__
    while trace:
        print(trace.tb_frame.f_code.co_name, trace.tb_lineno, trace.tb_lasti)
        trace = trace.tb_next
