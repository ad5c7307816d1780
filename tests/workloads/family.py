# SPDX-License-Identifier: BSD-3-Clause
"""Starts other Pythons in every way there is. Each process calls `tick` a number of times of its own, and writes it down:

    family.py WAY LOG     a line "pid parent calls" for each process, when all calls are done
"""

import asyncio
import concurrent.futures
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

LOG = sys.argv[2]


def tick():
    return None


def work(n):
    for _ in range(n):
        tick()
    with open(LOG, "a") as log:
        log.write(f"{os.getpid()} {os.getppid()} {n}\n")


def in_child(body, end=os._exit):
    pid = os.fork()
    if pid == 0:
        body()
        end(0)
    return pid


def wait(pid):
    assert os.waitpid(pid, 0)[1] == 0


# ---- fork ----


def fork():
    for n in (20, 30):
        wait(in_child(lambda n=n: work(n)))


def fork_and_exit():
    wait(in_child(lambda: work(20), sys.exit))


def fork_twice():
    wait(in_child(lambda: (work(20), wait(in_child(lambda: work(30))))))


def fork_in_thread():
    thread = threading.Thread(target=lambda: wait(in_child(lambda: work(20))), name="forks")
    thread.start()
    thread.join()


def fork_beside_threads():
    """Others are in the middle of everything when it happens."""
    stop = []

    def busy(n):
        while not stop:
            exec(f"def f{n}_{time.perf_counter_ns()}(): tick_not()\ndef tick_not(): pass\n")
            sorted(range(50), key=lambda x: -x)

    threads = [threading.Thread(target=busy, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for n in range(20):
        wait(in_child(lambda n=n: work(n)))
    stop.append(True)
    for thread in threads:
        thread.join()


def deep(n, body):
    return deep(n - 1, body) + 1 if n else body()


def fork_deep():
    """The child returns through frames that its parent entered."""

    def body():
        pid = os.fork()
        if pid:
            wait(pid)
        return 0 if pid else 1000

    if deep(300, body) >= 1000:
        work(20)
        os._exit(0)


def fork_in_generator():
    def numbers():
        yield 1
        yield os.fork()
        yield 3

    values = list(numbers())
    if values[1] == 0:
        work(20)
        os._exit(0)
    wait(values[1])


def fork_in_task():
    async def one():
        await asyncio.sleep(0)
        return in_child(lambda: work(20))

    async def both():
        pid = await asyncio.create_task(one(), name="forks")
        wait(pid)

    asyncio.run(both())


def fork_storm():
    for n in range(100):
        wait(in_child(lambda n=n: work(n)))


# ---- multiprocessing and its like ----


def square(n):
    work(n)
    return n * n


def pool(method):
    with multiprocessing.get_context(method).Pool(2) as workers:
        assert workers.map(square, range(10, 20), chunksize=1) == [n * n for n in range(10, 20)]
        workers.close()
        workers.join()


def pool_fork():
    pool("fork")


def pool_spawn():
    pool("spawn")


def pool_forkserver():
    pool("forkserver")


def pool_terminated():
    """What with-blocks of pools do: workers are killed."""
    with multiprocessing.get_context("fork").Pool(2) as workers:
        workers.map(square, range(10, 20), chunksize=1)


def executor():
    with concurrent.futures.ProcessPoolExecutor(2) as workers:
        assert list(workers.map(square, range(10, 20))) == [n * n for n in range(10, 20)]


# ---- other programs ----


def run(*words, **how):
    subprocess.run([*words], check=True, **how)


def itself(*more):
    return [sys.executable, __file__, "nothing", LOG, *more]


def nothing():
    pass


def subprocesses():
    run(*itself())
    run(*itself(), env={"PATH": os.environ["PATH"]})
    run(*itself(), preexec_fn=lambda: None)
    run("/bin/sh", "-c", '"$@"; true', "sh", *itself())
    assert os.system(" ".join(map(repr, itself()))) == 0
    wait(os.posix_spawn(sys.executable, itself(), {}))
    wait(os.spawnv(os.P_NOWAIT, sys.executable, itself()))
    run("/bin/true")


def becomes_another():
    sys.stdout.flush()
    os.execv(sys.executable, itself())


def fails_to_become_another():
    for how in (os.execv, lambda path, words: os.execve(path, words, {})):
        try:
            how("/nonexistent", ["x"])
        except OSError as error:
            print(error)
    work(20)


# ---- who dies first ----


def wait_for_orphan(parent):
    while os.getppid() == parent:
        time.sleep(0.01)


def outlived():
    parent = os.getpid()
    read, write = os.pipe()
    in_child(lambda: (os.write(write, b"."), wait_for_orphan(parent), time.sleep(0.1), work(20)))
    os.read(read, 1)  # it has begun before the parent ends


def outlived_by_two():
    parent = os.getpid()
    read, write = os.pipe()
    in_child(lambda: (os.write(write, b"."), wait_for_orphan(parent), time.sleep(0.2), work(20)))
    in_child(lambda: (os.write(write, b"."), wait_for_orphan(parent), time.sleep(0.1), work(30)))
    for _ in range(2):
        os.read(read, 1)


def daemon():
    """As every daemon is made."""
    pid = os.fork()
    if pid:
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    time.sleep(0.2)
    work(20)


def killed_before_child():
    parent = os.getpid()
    in_child(lambda: (wait_for_orphan(parent), time.sleep(0.1), work(20)))
    work(10)
    os.kill(parent, signal.SIGKILL)


def child_killed():
    wait_status = os.waitpid(in_child(lambda: (work(20), os.kill(os.getpid(), signal.SIGKILL))), 0)[1]
    assert os.WTERMSIG(wait_status) == signal.SIGKILL


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    work(10)
