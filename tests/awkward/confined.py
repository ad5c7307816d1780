# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT chroot => 0, perhaps a complaint
# run: SCRIPT another_user => 0, perhaps a complaint
"""The program locks itself in, or becomes somebody else, where it may: then no file of ours can be found or written."""

import os
import sys
import tempfile


def work(n):
    return n if n < 2 else work(n - 1) + work(n - 2)


def many_functions():
    for i in range(5_000):
        space = {}
        exec(f"def function_with_a_long_name_{i}(x):\n    return x + {i}\n", space)
        space[f"function_with_a_long_name_{i}"](1)


def chroot():
    place = tempfile.mkdtemp()
    os.chroot(place)
    os.chdir("/")
    many_functions()
    print(os.listdir("/"), work(10))


def another_user():
    os.setgid(65534)
    os.setuid(65534)
    many_functions()
    print(os.getuid(), work(10))


try:
    globals()[sys.argv[1]]()
except PermissionError as error:
    print(error)
