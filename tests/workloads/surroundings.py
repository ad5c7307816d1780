# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: E402
"""Proves that a program finds itself where it is without allranks: prints all that it can see of its surroundings.

What differs by nature (sys.orig_argv, the modules that are loaded, addresses, process numbers) is left out.
"""

from __future__ import annotations

# Before anything else is imported or defined.
names_at_start = sorted(globals())

import inspect
import os
import pickle
import signal
import sys
import threading
import traceback


class OfMain:
    """Pickled by reference, to `__main__`."""

    def __init__(self, value):
        self.value = value


def show(what, value):
    print(f"{what}: {value!r}")


def depth_of(frame):
    return 0 if frame is None else 1 + depth_of(frame.f_back)


def main_module():
    module = sys.modules["__main__"]
    show("names at start", names_at_start)
    for name in ("__name__", "__file__", "__doc__", "__package__", "__cached__", "__annotations__"):
        show(name, getattr(module, name, "absent"))
    show("loader", getattr(module.__loader__, "__name__", type(module.__loader__).__name__))
    show("loader of", getattr(module.__loader__, "name", None))
    show("loader path", getattr(module.__loader__, "path", None))
    show("spec", module.__spec__ and (module.__spec__.name, module.__spec__.origin, module.__spec__.parent))
    show("builtins is the module", module.__builtins__ is sys.modules["builtins"])
    show("globals are its own", module.__dict__ is globals())
    show("repr", repr(module))
    show("main is main", __import__("__main__") is module)


def system():
    show("argv", sys.argv)
    show("path", sys.path)
    show("flags", sys.flags)
    show("warnings", sys.warnoptions)
    show("recursion limit", sys.getrecursionlimit())
    show("switch interval", sys.getswitchinterval())
    show("trace", sys.gettrace())
    show("profile", sys.getprofile())
    show("hooks", [sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__])
    show("bytecode", sys.dont_write_bytecode)
    show("streams", [(s.name, s.encoding, s.errors, s.line_buffering) for s in (sys.stdin, sys.stdout, sys.stderr)])
    show("executable", sys.executable)


def process():
    show("environment", sorted(os.environ.items()))
    show("directory", os.getcwd())
    show("descriptors", sorted(os.readlink(f"/proc/self/fd/{fd}").partition(":")[0].partition("/tmp")[0]
                               for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")))  # fmt: skip
    show("threads", (len(os.listdir("/proc/self/task")), threading.active_count(), threading.current_thread().name))
    show("main thread", threading.main_thread() is threading.current_thread())
    for number in sorted(signal.valid_signals()):
        handler = signal.getsignal(number)
        if handler not in (signal.SIG_DFL, None):
            show(f"signal {number}", getattr(handler, "__name__", handler))
    show("mask", signal.pthread_sigmask(signal.SIG_BLOCK, []))
    show("umask", (lambda mask: (os.umask(mask), mask)[1])(os.umask(0o22)))
    show("limits", open("/proc/self/limits").read())  # noqa: SIM115


def stack():
    show("depth", depth_of(sys._getframe()))
    show("stack", [(f.filename, f.lineno, f.function) for f in inspect.stack()])
    show("current frames", [depth_of(frame) for frame in sys._current_frames().values()])
    traceback.print_stack()
    try:
        sys._getframe(3)
    except ValueError as error:
        show("above the top", error)


def source():
    show("source", inspect.getsource(OfMain))
    show("source file", inspect.getsourcefile(main_module))
    show("code file", main_module.__code__.co_filename)


def pickling():
    bytes_ = pickle.dumps(OfMain(3))
    show("pickle", bytes_)
    show("back", pickle.loads(bytes_).value)
    show("same class", type(pickle.loads(bytes_)) is OfMain)


if __name__ == "__main__":
    main_module()
    system()
    process()
    stack()
    source()
    pickling()
