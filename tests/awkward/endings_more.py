# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT code => 3
# run: SCRIPT text => 1
# run: SCRIPT huge => 255
# run: SCRIPT raised => 1
# run: SCRIPT in_atexit
# run: SCRIPT exit_in_atexit
# run: SCRIPT in_thread
# run: SCRIPT exit_in_thread
# run: SCRIPT in_del
# run: SCRIPT at_once => 5
# run: SCRIPT aborted => SIGABRT, no line
# run: SCRIPT killed => SIGKILL, no line
# run: SCRIPT terminated => SIGTERM, no line
# run: SCRIPT segfault => SIGSEGV, no line
# run: SCRIPT interrupted => SIGINT
# run: -m MODULE interrupted => SIGINT
# run: SCRIPT interrupt_in_atexit
# run: SCRIPT interrupt_raised => SIGINT
# run: SCRIPT interrupt_in_import => SIGINT
# run: SCRIPT interrupt_in_del
# run: SCRIPT generator_exit => 1
# run: SCRIPT base_exception => 1
# run: SCRIPT excepthook => 1
# run: SCRIPT unraisablehook
# run: SCRIPT exit_closed_stderr => 1
# run: -X dev SCRIPT raised => 1
# run: -X faulthandler SCRIPT segfault => SIGSEGV, no line
# mask: \n  Binary file ".*
# mask: \n\nExtension modules: .*
"""The ways a process can end."""

import atexit
import os
import signal
import sys
import threading


def code():
    sys.exit(3)


def text():
    sys.exit("a text, to standard error")


def huge():
    sys.exit(2**40 - 1)


def raised():
    class Own(Exception):
        def __str__(self):
            return "own text"

    try:
        {}["missing"]
    except KeyError as error:
        raise Own from error


def in_atexit():
    @atexit.register
    def fail():
        raise ValueError("in atexit")

    atexit.register(print, "before it")


def exit_in_atexit():
    atexit.register(sys.exit, 7)
    atexit.register(print, "before it")


def in_thread():
    thread = threading.Thread(target=lambda: 1 / 0, name="divider")
    thread.start()
    thread.join()


def exit_in_thread():
    thread = threading.Thread(target=sys.exit, args=(4,))
    thread.start()
    thread.join()


def in_del():
    class Fails:
        def __del__(self):
            raise ValueError("in __del__")

    Fails()
    print("still there")


def at_once():
    os.write(1, b"written\n")
    os._exit(5)


def aborted():
    os.abort()


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


def terminated():
    signal.raise_signal(signal.SIGTERM)


def segfault():
    signal.raise_signal(signal.SIGSEGV)


def interrupted():
    os.kill(os.getpid(), signal.SIGINT)
    while True:
        pass


def interrupt_raised():
    try:
        raise KeyboardInterrupt("by hand")
    finally:
        print("finally")


def interrupt_in_atexit():
    @atexit.register
    def interrupt():
        signal.raise_signal(signal.SIGINT)

    atexit.register(print, "before it")


def interrupt_in_import():
    import io  # noqa: F401 (from 3.14 on the interpreter does so itself, to print a traceback)

    class Finder:
        def find_spec(self, *args):
            signal.raise_signal(signal.SIGINT)

    sys.meta_path.insert(0, Finder())
    import nothing_of_that_name


def interrupt_in_del():
    class Interrupted:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    Interrupted()
    print("still there")


def generator_exit():
    raise GeneratorExit


def base_exception():
    class Own(BaseException):
        pass

    raise Own(1, 2)


def excepthook():
    def hook(kind, value, traceback):
        print("hook", kind.__name__, value, traceback.tb_frame.f_code.co_name, traceback.tb_frame.f_back)
        frames = []
        while traceback:
            frames.append(traceback.tb_frame.f_code.co_name)
            traceback = traceback.tb_next
        print(frames)

    sys.excepthook = hook
    raised()


def unraisablehook():
    sys.unraisablehook = lambda args: print("unraisable", args.exc_type.__name__, args.err_msg)
    in_del()


def exit_closed_stderr():
    sys.stderr.close()
    sys.exit("nobody can read this")


print("start", flush=True)
globals()[sys.argv[1]]()
