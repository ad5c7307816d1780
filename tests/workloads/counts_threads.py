# SPDX-License-Identifier: BSD-3-Clause
"""Proves that calls are counted in every thread: several at once that switch often, threads that die by an
exception, thread pools, and hundreds of threads one after the other.

Each thread notes its calls in a counter of its own; the sums go into the file that is named on the command line.
"""

import json
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

notes = []


def leaf(done):
    done["leaf"] += 1


def branch(done, n):
    done["branch"] += 1
    for _ in range(n):
        leaf(done)


def busy_thread(number):
    done = Counter(busy_thread=1)
    notes.append(done)
    for i in range(300):
        branch(done, i % (number + 2))


def short_thread():
    done = Counter(short_thread=1)
    notes.append(done)
    branch(done, 2)


def failing_thread():
    done = Counter(failing_thread=1)
    notes.append(done)
    branch(done, 1)
    raise SystemExit


def pool_task(n):
    done = Counter(pool_task=1)
    notes.append(done)
    branch(done, n)
    return n


def run_all(threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main():
    notes.append(Counter(main=1, run_all=1))
    run_all(
        [threading.Thread(target=busy_thread, args=(n,)) for n in range(6)]
        + [threading.Thread(target=failing_thread) for _ in range(3)]
    )
    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(pool_task, range(50))) == 1225
    for _ in range(300):
        thread = threading.Thread(target=short_thread)
        thread.start()
        thread.join()


sys.setswitchinterval(1e-5)
main()
with open(sys.argv[1], "w") as file:
    json.dump(sum(notes, Counter()), file)
