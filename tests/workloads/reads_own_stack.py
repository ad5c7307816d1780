# SPDX-License-Identifier: BSD-3-Clause
"""Proves that a sampling profiler which reads this process's memory finds the whole stack, from 3.15 on down to the frame
that marks its end."""

import os

from _remote_debugging import RemoteUnwinder


def inner():
    unwinder = RemoteUnwinder(os.getpid(), all_threads=True)
    for interpreter in unwinder.get_stack_trace():
        for thread in interpreter.threads:
            print([(frame.filename, frame.funcname) for frame in thread.frame_info])


inner()
