# SPDX-License-Identifier: BSD-3-Clause
"""planted_in_family.py LIVE WHAT NAMES: puts something else in the place of files of its own recording, each under the name of
the recording and an ending, and ends as a program with a child does. LIVE "-" plants nothing."""

import os
import sys
from pathlib import Path


def tick() -> None:
    pass


def plant(path: Path, what: str) -> None:
    if what == "fifo":
        os.mkfifo(path)
    elif what == "terminal":
        path.symlink_to("/dev/ptmx")
    elif what == "directory":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")


live, what, *endings = sys.argv[1:]
if live != "-":
    (own,) = Path(live).rglob(f"p{os.getpid()}-*.live")
    for ending in endings:
        plant(own.with_suffix(ending), what)
for _ in range(10):
    tick()
sys.stdout.flush()
child = os.fork()
for _ in range(5):
    tick()
if child:
    os.waitpid(child, 0)
    print("ended")
