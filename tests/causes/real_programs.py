# SPDX-License-Identifier: BSD-3-Clause
"""The programs that run for real. Their delays are 50 ms or more, so that those of a busy machine do not count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from operations import Body, Comm, Program, Rank, Steps
from programs import PROGRAMS
from random_delays import random_program

REAL = (
    "plain", "shuffled_bcast", "merged_ring", "two_mains", "solve_below_different_callers", "met_in_between",
    "late_progress", "wandering", "thread_does_it_all", "pairs_meet_often", "twelve_lines", "forty_functions",
    "direct_and_indirect", "late_receiver", "other_ways_inside",
)  # fmt: skip
SCALES = {  # how much longer everything takes
    "plain": 1.5, "wandering": 2.0, "other_ways_inside": 2.0, "pairs_meet_often": 3.0, "balanced": 2.0, "random": 2.0,
}  # fmt: skip
SIMPLE_MEETINGS = ("barrier", "all", "halo", "pair")  # every MPI library waits in them as MPI says


def real_program(name: str, seed: int = 0) -> Program:
    scale = SCALES.get(name, 1.0)
    if name == "random":
        program = random_program(seed, n_delays=1, most_ranks=5, meetings=SIMPLE_MEETINGS).program
    else:
        program = PROGRAMS[name]
    threads = {location: lengthen(body, scale) for location, body in program.threads.items()}
    return replace(program, body=lengthen(program.body, scale), threads=threads)


def lengthen(body: Body, scale: float) -> Body:
    def longer(me: Rank, comms: Mapping[str, Comm]) -> Steps:
        steps, answer = body(me, comms), None
        while True:
            try:
                op = steps.send(answer)
            except StopIteration:
                return
            op.seconds *= scale
            answer = yield op

    return longer
