# SPDX-License-Identifier: BSD-3-Clause
"""Rank 0 waits for a process that it has started, in every way there is, and the others wait for rank 0.

waits_for_children.py WAY
"""

import multiprocessing
import os
import subprocess
import sys
import time

from mpi4py import MPI

SLEEPS = ["sleep", "0.5"]


def runs():
    subprocess.run(SLEEPS, check=True)


def reads_output():
    subprocess.run(SLEEPS, check=True, capture_output=True)


def has_a_hook():
    subprocess.run(SLEEPS, check=True, preexec_fn=os.getpid)  # then Python forks, and has no use for vfork


def calls_the_shell():
    os.system("sleep 0.5")


def spawns():
    os.waitpid(os.posix_spawnp("sleep", SLEEPS, os.environ), 0)


def runs_two():
    subprocess.run(["true"], check=True)
    subprocess.run(SLEEPS, check=True)


def rests():
    time.sleep(0.5)


def joins():
    process = multiprocessing.get_context("fork").Process(target=rests)
    process.start()
    process.join()


if MPI.COMM_WORLD.rank == 0:
    globals()[sys.argv[1]]()
MPI.COMM_WORLD.barrier()
