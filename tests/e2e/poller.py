# SPDX-License-Identifier: BSD-3-Clause
"""Reads live files while they are written, as fast as it can, and says what it saw of them.

    poller.py DIRECTORY STOP_FILE RESULT_FILE

Ends when STOP_FILE is there. RESULT_FILE then has the number of looks that found something, and everything that was wrong.
"""

import json
import os
import subprocess
import sys
import time

import allranks

SLACK_S = 2.0


def faults_in(run: "allranks.Run[allranks.Table]", most_s: float) -> "list[str]":
    """A tree is a tree, and nothing has lasted longer than a process can have run."""
    faults = []
    if any(parent >= node for node, parent in enumerate(run.tree["parent"])):
        faults.append("a node before its parent")
    for metric, least, most in (("time_s", 0, most_s), ("calls", 1, 1 << 40)):
        values = list(run.values(metric)[metric])
        if values and not (least <= min(values) and max(values) <= most):
            faults.append(f"{metric} from {min(values)} to {max(values)}")
    return faults


def faults_by_check(directory: str) -> "list[str]":
    """What allranks itself holds a live file to, in any state that its writer can be in."""
    command = os.path.join(os.path.dirname(sys.executable), "allranks")
    done = subprocess.run([command, "info", "--check", directory], capture_output=True, text=True)
    return [done.stderr] if "does not hold together" in done.stderr or done.returncode < 0 else []


def main(directory: str, stop_file: str, result_file: str) -> None:
    n_looks, faults = 0, []
    began_s = time.monotonic()
    while not os.path.exists(stop_file):
        try:
            run = allranks.load(directory, as_="python")
        except Exception as error:
            if "no live files" not in str(error) and "No such file" not in str(error):
                faults.append(repr(error))
            continue
        if n_looks % 8 == 0:  # what is unsound is refused already; this takes longer than to load
            faults += faults_in(run, time.monotonic() - began_s + SLACK_S)
        if n_looks % 32 == 0:
            faults += faults_by_check(directory)
        n_looks += 1
    with open(result_file, "w") as file:
        json.dump({"looks": n_looks, "faults": faults[:20]}, file)


main(*sys.argv[1:])
