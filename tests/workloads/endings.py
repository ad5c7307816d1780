# SPDX-License-Identifier: BSD-3-Clause
"""Proves that a program ends as it does without allranks: same exit code or signal, same output, same traceback.

    endings.py WAY      ends in the way that is named; `endings.py` alone lists them
"""

import atexit
import os
import signal
import sys
import threading
import warnings
import weakref


def deeper(n, then):
    """So that tracebacks have some length."""
    if n:
        return deeper(n - 1, then)
    return then()


def returns():
    print("out")
    print("err", file=sys.stderr)


def exit_0():
    sys.exit(0)


def exit_3():
    sys.exit(3)


def exit_none():
    sys.exit()


def exit_true():
    sys.exit(True)


def exit_300():
    sys.exit(300)


def exit_minus_1():
    sys.exit(-1)


def exit_text():
    sys.exit("a text, not a number")


def exit_tuple():
    sys.exit((1, "two"))


def exit_subclass():
    class Leave(SystemExit):
        pass

    raise Leave(5)


def exit_from_finally():
    try:
        sys.exit(3)
    finally:
        print("finally")


def exit_overridden():
    try:
        sys.exit(3)
    finally:
        raise KeyError("instead")


def os_exit_4():
    sys.stdout.flush()
    os._exit(4)


def uncaught():
    deeper(3, lambda: [][1])


def uncaught_with_cause():
    try:
        deeper(2, lambda: {}["missing"])
    except KeyError as error:
        raise ValueError("because") from error


def uncaught_with_context():
    try:
        deeper(2, lambda: {}["missing"])
    except KeyError:
        raise ValueError("while")  # noqa: B904


def uncaught_suppressed():
    try:
        {}["missing"]
    except KeyError:
        raise ValueError("alone") from None


def uncaught_group():
    raise ExceptionGroup("several", [ValueError(1), ExceptionGroup("more", [KeyError(2)])])  # noqa: F821


def uncaught_with_notes():
    error = ValueError("noted")
    error.add_note("a note")
    raise error


def uncaught_in_exec():
    exec(compile("def f():\n    1 / 0\nf()", "made up", "exec"))


def uncaught_in_generator():
    def source():
        yield 1
        raise RuntimeError("in the generator")

    list(source())


def uncaught_in_callback():
    sorted([3, 1, 2], key=lambda n: 1 // (n - 1))


def uncaught_with_bad_str():
    class Bad(Exception):
        def __str__(self):
            raise TypeError

    raise Bad


def uncaught_recursion():
    def forever():
        forever()

    forever()


def uncaught_in_import():
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import broken_module  # noqa: F401


def interrupted():
    raise KeyboardInterrupt


def interrupted_by_signal():
    deeper(2, lambda: os.kill(os.getpid(), signal.SIGINT))


def interrupt_caught():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        print("caught")


def terminated():
    print("before", flush=True)
    os.kill(os.getpid(), signal.SIGTERM)


def terminated_but_handled():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
    os.kill(os.getpid(), signal.SIGTERM)


def killed():
    print("before", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def aborted():
    os.abort()


def in_thread():
    thread = threading.Thread(target=lambda: deeper(2, lambda: 1 / 0), name="worker")
    thread.start()
    thread.join()
    print("main goes on")


def exit_in_thread():
    thread = threading.Thread(target=lambda: sys.exit(9))
    thread.start()
    thread.join()
    print("main goes on")


def thread_outlives_main():
    go_on = threading.Event()

    def last():
        go_on.wait()
        print("thread is last")

    threading.Thread(target=last).start()
    print("main ends")
    go_on.set()


def daemon_thread_is_cut_off():
    started = threading.Event()

    def forever():
        started.set()
        threading.Event().wait()

    threading.Thread(target=forever, daemon=True).start()
    started.wait()


def atexit_in_order():
    class Global:
        def __del__(self):
            print("destroyed", note is not None)

    global keep, note
    note = "seen by a destructor"
    keep = Global()
    for n in range(3):
        atexit.register(print, "atexit", n)
    weakref.finalize(deeper, print, "finalized")
    print("main ends")


def atexit_after_failure():
    atexit.register(print, "atexit")
    raise ValueError("first")


def atexit_fails():
    atexit.register(deeper, 2, lambda: 1 / 0)


def atexit_exits():
    atexit.register(sys.exit, 6)


def own_excepthook():
    sys.excepthook = lambda kind, value, trace: print("hook:", kind.__name__, value)
    raise ValueError("for the hook")


def failing_excepthook():
    def hook(kind, value, trace):
        raise TypeError("hook fails")

    sys.excepthook = hook
    raise ValueError("for the hook")


def exiting_excepthook():
    def hook(kind, value, trace):
        sys.exit(8)

    sys.excepthook = hook
    raise ValueError("for the hook")


def unraisable():
    class Bad:
        def __del__(self):
            raise ValueError("in a destructor")

    Bad()


def coroutine_never_awaited():
    async def forgotten():
        pass

    forgotten()


def resource_left_open():
    warnings.simplefilter("always")
    open(__file__)  # noqa: SIM115


def warned():
    warnings.warn("here", UserWarning, stacklevel=1)
    warnings.warn("one up", UserWarning, stacklevel=2)
    warnings.warn("beyond the top", UserWarning, stacklevel=9)


def stdout_closed():
    print("lost")
    os.close(1)


def streams_gone():
    sys.stdout = sys.stderr = None
    raise ValueError("nobody sees this")


WAYS = {name: value for name, value in list(globals().items()) if callable(value) and name not in ("deeper",)}

if __name__ == "__main__":
    if len(sys.argv) < 2:
        print(*(name for name, value in WAYS.items() if getattr(value, "__module__", "") == "__main__"))
    else:
        WAYS[sys.argv[1]]()
