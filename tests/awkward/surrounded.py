# SPDX-License-Identifier: BSD-3-Clause
# run: SCRIPT
# env: LC_ALL=C
# env: TZ=Asia/Kathmandu
# env: EMPTY=
# env: ODD=a=b
"""What the process has of the system: environment, directory, locale, time zone, umask, ids, priority."""

import decimal
import locale
import os
import random
import signal
import sys
import time

print(sorted((k, v) for k, v in os.environ.items()))
print(list(os.environb)[:3] == [os.fsencode(k) for k in list(os.environ)[:3]])
with open("/proc/self/environ", "rb") as file:
    print(sorted(filter(None, file.read().split(b"\0"))) == sorted(k + b"=" + v for k, v in os.environb.items()))
print(os.getcwd(), os.path.realpath("."))
print(locale.setlocale(locale.LC_ALL), locale.getpreferredencoding(), sys.getfilesystemencodeerrors())
print(time.tzname, time.timezone, time.localtime(0)[:6])
print(oct(os.umask(0o77)), os.getpgrp() == os.getpid(), os.getsid(0) == os.getpid(), os.nice(0), os.getpriority(os.PRIO_PROCESS, 0))
print(len(os.sched_getaffinity(0)), os.sched_getscheduler(0))
print(decimal.getcontext(), decimal.Decimal(1) / 3)
random.seed(1)
print(random.random(), hash("text"), hash(frozenset("abc")))
print(signal.pthread_sigmask(signal.SIG_BLOCK, ()), signal.sigpending(), signal.set_wakeup_fd(-1))
print(sys.float_info.rounds, sys.hash_info.seed_bits, sys.int_info, sys.thread_info)
print(sorted(os.listdir(".")))
with open("/proc/self/status") as file:
    print([line.split() for line in file if line.startswith(("Threads", "SigBlk", "SigIgn", "SigCgt", "NoNewPrivs", "Seccomp:"))])
with open("/proc/self/comm") as file:
    print(file.read())
with open("/proc/self/coredump_filter") as file:
    print(file.read())
