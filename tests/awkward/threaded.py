# SPDX-License-Identifier: BSD-3-Clause
"""Threads: local data, hooks, many short ones, raw ones, pools, timers, and daemons that outlive the program."""

import _thread
import concurrent.futures
import queue
import sys
import threading
import time

local = threading.local()


class Dies:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        died.append(self.name)


died = []


def uses_local(i):
    local.value = Dies(i)
    return local.value.name


def run(target, *args, **kwargs):
    thread = threading.Thread(target=target, args=args, **kwargs)
    thread.start()
    thread.join()


for i in range(5):
    run(uses_local, i)
print(sorted(died), hasattr(local, "value"))

hook = threading.excepthook
threading.excepthook = lambda args: print("hook", args.exc_type.__name__, args.thread.name)
run(lambda: 1 / 0, name="divides")
threading.excepthook = hook
run(lambda: [][1], name="indexes")

count = 0
lock = threading.Lock()


def adds():
    global count
    with lock:
        count += 1


for _ in range(20):
    batch = [threading.Thread(target=adds) for _ in range(100)]
    for thread in batch:
        thread.start()
    for thread in batch:
        thread.join()
print(count, threading.active_count(), len(sys._current_frames()))

done = _thread.allocate_lock()
done.acquire()
_thread.start_new_thread(lambda: (adds(), done.release()), ())
done.acquire()
print(count)

with concurrent.futures.ThreadPoolExecutor(3) as pool:
    print(list(pool.map(lambda x: x * x, range(10))))
    future = pool.submit(lambda: {}["missing"])
    print(repr(future.exception()))
items = queue.Queue()
timer = threading.Timer(0.001, items.put, ("timer",))
timer.start()
print(items.get())
barrier = threading.Barrier(3)
for _ in range(2):
    threading.Thread(target=barrier.wait).start()
barrier.wait()
print(threading.main_thread() is threading.current_thread(), threading.current_thread().name)


def generator():
    while True:
        yield threading.current_thread().name


g = generator()
print(next(g))
run(lambda: print(next(g)), name="other")
print(next(g))


def busy():
    started.release()
    while True:
        adds()


def idle():
    started.release()
    time.sleep(1000)


started = threading.Semaphore(0)
# Plain 3.10 crashes once in a thousand times when a thread still runs at the end: it looks at the interpreter, which is gone.
for target in (idle,) if sys.version_info[:2] == (3, 10) else (busy, idle, busy):
    threading.Thread(target=target, daemon=True).start()
    started.acquire()
threading.Thread(target=lambda: (threading.main_thread().join(), print("a thread that ends after main"))).start()
print("main ends")
