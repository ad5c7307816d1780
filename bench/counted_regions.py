# SPDX-License-Identifier: BSD-3-Clause
"""Enters a region again and again. Prints {"ns"}: of a round of the loop, without that of an empty one."""

import json

import allranks
from timed_loops import best_ns

N_ROUNDS = 20_000
N_TRIES = 10
region = allranks.region("counted")


def with_region():
    for _ in range(N_ROUNDS):
        with region:
            pass


def empty():
    for _ in range(N_ROUNDS):
        pass


print(json.dumps({"ns": best_ns(with_region, N_ROUNDS, N_TRIES) - best_ns(empty, N_ROUNDS, N_TRIES)}))
