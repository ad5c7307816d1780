# SPDX-License-Identifier: BSD-3-Clause
"""Proves that processes a program starts are undisturbed, and that they do not disturb the recording of their parent.

    children.py WAY     starts them in the way that is named
"""

import atexit
import multiprocessing
import os
import subprocess
import sys


def square(n):
    return n * n


def in_parent():
    return None


def in_child():
    return None


def pool(method):
    with multiprocessing.get_context(method).Pool(2) as workers:
        print(workers.map(square, range(10)))


def forked(end):
    """The parent calls `in_parent` 10 times before and 10 times after, the child `in_child` 1000 times."""
    atexit.register(print, "atexit", flush=True)
    for _ in range(10):
        in_parent()
    child = os.fork()
    if child == 0:
        for _ in range(1000):
            in_child()
        print("child", flush=True)
        end()
        return
    _, status = os.waitpid(child, 0)
    for _ in range(10):
        in_parent()
    print("parent", os.waitstatus_to_exitcode(status))


def fork_and_return():
    forked(lambda: None)


def fork_and_exit():
    forked(lambda: sys.exit(5))


def fork_and_os_exit():
    forked(lambda: os._exit(6))


def fork_and_fail():
    forked(lambda: 1 / 0)


def fork_and_exec():
    forked(lambda: os.execv(sys.executable, [sys.executable, "-c", "print('executed', flush=True)"]))


def fork_twice():
    """The child of a child."""

    def again():
        if os.fork() == 0:
            in_child()
            print("grandchild", flush=True)
            os._exit(0)
        os.wait()
        os._exit(0)

    forked(again)


def fork_pool():
    pool("fork")


def spawn_pool():
    pool("spawn")


def forkserver_pool():
    pool("forkserver")


def run_python():
    code = "import sys; print(sys.argv, sys.path[0] == ''); sys.exit(4)"
    print(subprocess.run([sys.executable, "-c", code, "x"], check=False).returncode)


def run_shell():
    print(subprocess.check_output("echo from the shell", shell=True, text=True))


def count_variables():
    print(subprocess.check_output("env | grep -c ALLRANKS || true", shell=True, text=True))


def replace_itself():
    """The process goes on as another program: what was recorded until then stays where it is."""
    for _ in range(10):
        in_parent()
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-c", "print('executed')"])


if __name__ == "__main__":
    globals()[sys.argv[1]]()
