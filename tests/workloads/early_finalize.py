# SPDX-License-Identifier: BSD-3-Clause
"""Proves that a program may end MPI long before it ends itself: calls `before` 5 times, ends MPI, calls `after` 7
times. With a word it ends in another way:

    late     rank 0 goes on for a while after the others have ended
    exit     by os._exit
    killed   rank 1 is killed when rank 0 has come as far; rank 0 then ends in good order, if the launcher lets it
    moved    rank 0 has moved the run file away
    exits    MPI is ended by an exit function
"""

import atexit
import os
import signal
import sys
import time

from mpi4py import MPI

HOW = sys.argv[1] if len(sys.argv) > 1 else ""
RANK = MPI.COMM_WORLD.Get_rank()


def before():
    return None


def after():
    return None


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.01)


for _ in range(5):
    before()
if HOW == "exits":
    atexit.register(lambda: [after() for _ in range(7)])
    atexit.register(MPI.Finalize)
else:
    MPI.Finalize()
    for _ in range(7):
        after()
print("done", flush=True)
if HOW == "late" and RANK == 0:
    wait_for("others-ended")
if HOW == "late" and RANK == 1:
    open("others-ended", "w").close()
if HOW == "moved" and RANK == 0:
    os.rename("early_finalize.allranks", "elsewhere.allranks")
if HOW == "killed" and RANK == 1:
    wait_for("rank-0-is-here")
    os.kill(os.getpid(), signal.SIGKILL)
if HOW == "killed":
    open("rank-0-is-here", "w").close()
    time.sleep(0.5)
if HOW == "exit":
    os._exit(0)
