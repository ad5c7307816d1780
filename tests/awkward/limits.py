# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT address_space
# run: SCRIPT address_space_tiny => 0, perhaps a complaint
# run: SCRIPT stack
# run: SCRIPT file_size => 0, no line
# run: SCRIPT processes
# run: SCRIPT core
# run: SCRIPT locked_memory
"""Limits that the program sets on itself: allranks has to live with them."""

import resource
import sys
import threading


def work(n):
    return n if n < 2 else work(n - 1) + work(n - 2)


def used_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def many_functions():
    for i in range(3000):
        space = {}
        exec(f"def function_with_a_long_name_{i}(x):\n    return x + {i}\n", space)
        space[f"function_with_a_long_name_{i}"](1)


def address_space():
    limit = used_bytes() + (64 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    many_functions()
    try:
        bytearray(1 << 30)
    except MemoryError:
        print("refused")
    print(work(15))


def address_space_tiny():
    limit = used_bytes()
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        bytearray(64 << 20)
    except MemoryError:
        print("refused")
    print(work(15))


def stack():
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    thread = threading.Thread(target=lambda: print(work(15)))
    thread.start()
    thread.join()
    threading.stack_size(64 << 10)
    thread = threading.Thread(target=lambda: print(work(12)))
    thread.start()
    thread.join()
    print(work(15))


def file_size():
    """Also for our files: a write past it raises a signal that ends the process."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    many_functions()
    sys.stderr = None
    print(work(10))
    sys.stdout = None


def processes():
    try:
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    except OSError:
        pass
    print(work(10))


def core():
    print(resource.getrlimit(resource.RLIMIT_CORE), resource.getrlimit(resource.RLIMIT_STACK), resource.getrlimit(resource.RLIMIT_AS))


def locked_memory():
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (256 << 20, 256 << 20))
    print(work(10))


globals()[sys.argv[1]]()
