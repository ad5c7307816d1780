# SPDX-License-Identifier: BSD-3-Clause
# needs: gevent
# slow: 3.9 3.11 3.12 3.13
"""gevent with everything patched."""

from gevent import monkey

monkey.patch_all()

import queue
import subprocess
import sys
import threading
import time

import gevent
import gevent.pool


def work(n):
    return n if n < 2 else work(n - 1) + work(n - 2)


def sleeper(i):
    time.sleep(0.001 * i)
    return i, work(5)


print([job.value for job in gevent.joinall([gevent.spawn(sleeper, i) for i in range(10)])])
print(gevent.pool.Pool(3).map(work, range(8)))
channel = queue.Queue()
thread = threading.Thread(target=lambda: [channel.put(work(i)) for i in range(5)])
thread.start()
print([channel.get() for _ in range(5)])
thread.join()
with gevent.Timeout(0.01, False):
    gevent.sleep(10)
gevent.get_hub().print_exception = lambda *args: None
failed = gevent.spawn(lambda: 1 / 0)
sys.stderr.flush()
failed.join()
print(repr(failed.exception))
killed = gevent.spawn(gevent.sleep, 100)
gevent.sleep(0)
killed.kill()
print(killed.dead, subprocess.check_output(["echo", "child"]))
