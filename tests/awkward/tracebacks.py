# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT chained => 1
# run: SCRIPT group => 1
# run: SCRIPT recursion => 1
# run: SCRIPT syntax => 1
# run: SCRIPT notes => 1
# run: SCRIPT through_c => 1
# run: SCRIPT in_generator => 1
# run: SCRIPT in_coroutine => 1
# run: SCRIPT in_class => 1
# run: SCRIPT limited => 1
# run: SCRIPT printed
# run: SCRIPT kept
# run: -c CODE chained => 1
# run: -X no_debug_ranges SCRIPT chained => 1
# run: -O SCRIPT group => 1
# run: STDIN recursion => 1
# run: -m MODULE through_c => 1
# run: DIRECTORY through_c => 1
# run: ARCHIVE through_c => 1
# mask: [^ "]*/lib/python3\.\d+/
"""What exceptions carry, and how they are shown."""

import functools
import sys
import traceback


def fail(text="failed"):
    raise ValueError(text)


def chained():
    try:
        try:
            fail("first")
        except ValueError:
            {}["second"]
    except KeyError as error:
        raise RuntimeError("third") from error


def group():
    if sys.version_info < (3, 11):
        return fail()
    errors = []
    for i in range(3):
        try:
            fail(str(i))
        except ValueError as error:
            errors.append(error)
    raise ExceptionGroup("several", [*errors, ExceptionGroup("inner", [OSError(2, "none")])])


def recursion():
    recursion()


def syntax():
    exec("a b c")


def notes():
    error = ValueError("noted")
    if hasattr(error, "add_note"):
        error.add_note("a note")
    raise error


def through_c():
    sorted([2, 1], key=lambda x: functools.reduce(lambda a, b: fail(), [1, 2]))


def in_generator():
    def numbers():
        yield 1
        fail()

    list(map(str, numbers()))


def in_coroutine():
    import asyncio

    async def inner():
        await asyncio.sleep(0)
        fail()

    async def outer():
        await inner()

    asyncio.run(outer())


def in_class():
    class Thing:
        fail()


def limited():
    sys.tracebacklimit = 1
    chained()


def printed():
    try:
        chained()
    except RuntimeError as error:
        traceback.print_exc(file=sys.stdout)
        print(traceback.format_exception_only(type(error), error))
        for summary in traceback.extract_tb(error.__traceback__):
            print(summary.name, summary.lineno)
        if hasattr(error.__traceback__.tb_frame.f_code, "co_positions"):
            print(len(list(error.__traceback__.tb_frame.f_code.co_positions())))
    print(sys.exc_info())


def kept():
    try:
        through_c()
    except ValueError as error:
        caught, trace = error, error.__traceback__
    while trace:
        print(trace.tb_frame.f_code.co_name, trace.tb_lineno, sorted(trace.tb_frame.f_locals)[:3])
        trace = trace.tb_next
    print(caught.with_traceback(None).__traceback__)


which = sys.argv[1] if len(sys.argv) > 1 else "recursion"
globals()[which]()
