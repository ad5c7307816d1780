# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT
# run: -X dev SCRIPT
# mask: (?<=subprocess )\d+
# mask: (?<=pid=)\d+
"""fork in the main thread and in others, fork and exec, subprocess, popen, a pseudo terminal; what children inherit."""

import atexit
import os
import pty
import subprocess
import sys
import threading

atexit.register(lambda: os.write(1, b"exit function\n"))


def work(n):
    return n if n < 2 else work(n - 1) + work(n - 2)


def in_child(function):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(function() or 0)
        finally:
            os._exit(99)
    return os.WEXITSTATUS(os.waitpid(pid, 0)[1])


print("fork", in_child(lambda: work(10) % 50))
print("nested", in_child(lambda: in_child(lambda: in_child(lambda: work(5)) + 1) + 1))
thread = threading.Thread(target=lambda: print("in a thread", in_child(lambda: work(7))))
thread.start()
thread.join()


def threads_in_child():
    results = []
    thread = threading.Thread(target=lambda: results.append(work(6)))
    thread.start()
    thread.join()
    return results[0]


print("threads in a child", in_child(threads_in_child))
print("many", sum(in_child(lambda: 1) for _ in range(20)))
print("exec", in_child(lambda: os.execv(sys.executable, [sys.executable, "-c", "print('executed'); raise SystemExit(4)"])))
sys.stdout.flush()
code = "import os, sys; print(sorted(k for k in os.environ), sys.argv)"
print("subprocess", subprocess.run([sys.executable, "-c", code, "x"], capture_output=True, text=True, check=True).stdout)
inherited = subprocess.check_output(["env", "-0"]).decode().split("\0")
print("environment", [x for x in inherited if not x.startswith("ALLRANKS_CHILD=")] == [f"{k}={v}" for k, v in os.environ.items()] + [""])
with os.popen("echo from a shell; exit 3") as shell:  # closed here: what else warns of it depends on when it has ended
    print("popen", shell.read(), os.system("exit 5"))
print("spawn", os.posix_spawn, os.waitpid(os.posix_spawn("/bin/true", ["true"], os.environ), 0)[1])
print("descriptors", subprocess.run(["ls", "/proc/self/fd"], capture_output=True, text=True, close_fds=False, check=True).stdout)
sys.stdout.flush()
pid, fd = pty.fork()
if pid == 0:
    print("in a terminal", os.isatty(0), sys.stdout.isatty())
    sys.stdout.flush()
    os._exit(0)
print(os.read(fd, 1000))
os.waitpid(pid, 0)
sys.stdout.flush()
pid = os.fork()
if pid == 0:
    sys.exit(3)  # with its exit functions
print("child that exits", os.WEXITSTATUS(os.waitpid(pid, 0)[1]))
sys.stdout.flush()
pid = os.fork()
if pid == 0:
    raise ValueError("in the child")
print("child that fails", os.WEXITSTATUS(os.waitpid(pid, 0)[1]))
sys.stdout.flush()
events = []
os.register_at_fork(before=lambda: events.append("before"), after_in_parent=lambda: events.append("parent"))
print(in_child(lambda: 1), events)
