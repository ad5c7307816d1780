# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT
# run: -X faulthandler SCRIPT
# mask: [Tt]hread 0x[0-9a-f]+
"""faulthandler looks at the raw frames."""

import faulthandler
import os
import signal
import sys
import tempfile
import threading
import time


def outer():
    inner()


def inner():
    faulthandler.dump_traceback(file=sys.stdout)
    faulthandler.dump_traceback(file=sys.stdout, all_threads=False)


def generator():
    inner()
    yield


def in_thread(ready, stop):
    ready.set()
    stop.wait()


outer()
next(generator())
sorted([1], key=lambda _: inner())
faulthandler.register(signal.SIGUSR1, file=sys.stdout, all_threads=False)
signal.raise_signal(signal.SIGUSR1)
faulthandler.unregister(signal.SIGUSR1)
print(faulthandler.is_enabled())
faulthandler.enable()
faulthandler.disable()
with tempfile.TemporaryFile() as file:
    faulthandler.dump_traceback_later(0.01, file=file)
    while not os.fstat(file.fileno()).st_size:
        time.sleep(0.01)
    faulthandler.cancel_dump_traceback_later()
    file.seek(0)
    print(file.readline())
ready, stop = threading.Event(), threading.Event()
thread = threading.Thread(target=lambda: inner() or ready.set())
sys.stdout.flush()
thread.start()
ready.wait()
thread.join()
