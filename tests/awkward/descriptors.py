# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT count => 0, uncounted
# run: SCRIPT few => 0, complaint
# run: SCRIPT close_streams => 0, no line
# run: SCRIPT close_all
# run: SCRIPT close_range => 0, no line
# run: SCRIPT no_files => 1, complaint
# run: SCRIPT numbers
"""Open files: how many there are, which numbers new ones get, few of them allowed, all of them closed."""

import errno
import os
import resource
import sys


def listed():
    return sorted((int(fd), os.readlink(f"/proc/self/fd/{fd}").partition(":")[0].partition("/#")[0])
                  for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}"))  # fmt: skip


def count():
    print([fd for fd, _ in listed()])
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(1000):
        (lambda: 0)()
    exec("def f(): return 1\nf()")
    print(len(os.listdir("/proc/self/fd")) - before)
    print(sorted(os.get_inheritable(fd) for fd, _ in listed()))


def few():
    resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5))
    files = []
    try:
        while True:
            files.append(os.open("/dev/null", os.O_RDONLY))
    except OSError as error:
        print(files, errno.errorcode[error.errno])
    for i in range(100):
        exec(f"def f{i}(): return {i}\nf{i}()")
    print("goes on")


def no_files():
    import threading

    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    thread = threading.Thread(target=lambda: print("thread"))
    thread.start()
    thread.join()
    import nothing_can_be_imported_now


def close_streams():
    for fd in (0, 1, 2):
        os.close(fd)
    numbers = [os.open("/dev/null", os.O_RDWR) for _ in range(3)]
    if numbers != [0, 1, 2]:
        os._exit(9)


def close_all():
    resource.getrlimit(resource.RLIMIT_NOFILE)
    print("before", flush=True)
    os.closerange(3, 4096)
    for i in range(100):
        exec(f"def f{i}(): return {i}\nf{i}()")
    print("after", [fd for fd, _ in listed()])


def close_range():
    print("before", flush=True)
    os.closerange(0, 4096)
    for i in range(100):
        exec(f"def f{i}(): return {i}\nf{i}()")


def numbers():
    print([os.open("/dev/null", os.O_RDONLY) for _ in range(3)], os.pipe(), os.dup(1))


globals()[sys.argv[1]]()
