# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT lowered
# run: SCRIPT lowered_after_depth
# run: SCRIPT lowered_deep_down
# run: SCRIPT lowered_to_next_to_nothing
# run: SCRIPT lowered_from_c
# run: SCRIPT lowered_from_no_limit
# run: SCRIPT lowered_and_raised
# run: SCRIPT lowered_in_thread
# run: SCRIPT small_threads
# run: SCRIPT forked_from_small_thread
# run: SCRIPT on_another_stack
# run: SCRIPT on_another_stack_without_limit
# mask: pid=[0-9]+
# options: --builtins none
"""The limit of the stack changes while the program runs, and it recurses as deep as this Python can: from 3.11 on calls take no C stack."""

import ctypes
import os
import resource
import sys
import threading

TAKES_STACK = sys.version_info < (3, 11)
HARD = resource.getrlimit(resource.RLIMIT_STACK)[1]
sys.setrecursionlimit(1_000_000)


def set_limit(n_bytes):
    resource.setrlimit(resource.RLIMIT_STACK, (n_bytes, HARD))


def down(n):
    return 0 if n == 0 else 1 + down(n - 1)


def deep():
    """As deep as fits into 512 KiB of stack."""
    print(down(300 if TAKES_STACK else 20_000))


def lowered():
    set_limit(512 << 10)
    deep()


def lowered_after_depth():
    print(down(5_000))
    set_limit(512 << 10)
    deep()
    deep()


def lowered_deep_down():
    def on_the_way(n):
        if n:
            return on_the_way(n - 1)
        if TAKES_STACK:
            return deep()
        set_limit(512 << 10)
        deep()
        return print(sorted(range(10), key=lambda i: -i))

    on_the_way(3_000)
    deep()


def lowered_to_next_to_nothing():
    set_limit(16 << 10)
    print(down(20 if TAKES_STACK else 20_000))
    set_limit(0)
    print(down(20 if TAKES_STACK else 20_000))


def lowered_from_c():
    limits = (ctypes.c_ulong * 2)(512 << 10, HARD & (1 << 64) - 1)
    print(ctypes.CDLL(None).setrlimit(resource.RLIMIT_STACK, limits))
    deep()


def lowered_from_no_limit():
    set_limit(HARD)
    print(down(5_000))
    set_limit(512 << 10)
    deep()


def lowered_and_raised():
    for n_bytes in (512 << 10, 4 << 20, 1 << 20, 6 << 20, 512 << 10):
        set_limit(n_bytes)
        deep()
    set_limit(8 << 20)
    print(down(5_000))


def in_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def lowered_in_thread():
    in_thread(lowered)
    deep()


def small_threads():
    for n_bytes in (64 << 10, 256 << 10, 1 << 20):
        threading.stack_size(n_bytes)
        in_thread(lambda: print(down(20 if TAKES_STACK else 20_000)))


def forked_from_small_thread():
    def fork():
        pid = os.fork()
        if not pid:
            print(down(50 if TAKES_STACK else 20_000), flush=True)
            os._exit(0)
        print(os.waitpid(pid, 0)[1])

    threading.stack_size(128 << 10)
    print("before", flush=True)
    in_thread(fork)


def on_another_stack():
    """As libraries of coroutines do it: with makecontext, in memory of their own."""
    libc = ctypes.CDLL(None)
    stack = ctypes.create_string_buffer(256 << 10)
    here, there = (ctypes.create_string_buffer(4096) for _ in range(2))
    callback = ctypes.CFUNCTYPE(None)(lambda: print(down(50 if TAKES_STACK else 20_000)))
    libc.getcontext(there)
    words = ctypes.cast(there, ctypes.POINTER(ctypes.c_void_p))  # uc_flags, uc_link, uc_stack: ss_sp, ss_flags, ss_size
    words[1], words[2], words[4] = ctypes.addressof(here), ctypes.addressof(stack), len(stack)
    libc.makecontext(there, callback, 0)
    ctypes.PyDLL(None).swapcontext(here, there)
    deep()


def on_another_stack_without_limit():
    set_limit(HARD)
    on_another_stack()


globals()[sys.argv[1]]()
print("done")
