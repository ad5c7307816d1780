# SPDX-License-Identifier: BSD-3-Clause
"""Enters a region again and again in a program that is not recorded. Prints {"with", "empty"}: ns a round of the loop."""

import json

import allranks
from timed_loops import best_ns

N_ROUNDS = 100_000
N_TRIES = 20


def with_region():
    for _ in range(N_ROUNDS):
        with allranks.region("assemble"):
            pass


def empty():
    for _ in range(N_ROUNDS):
        pass


print(json.dumps({"with": best_ns(with_region, N_ROUNDS, N_TRIES), "empty": best_ns(empty, N_ROUNDS, N_TRIES)}))
