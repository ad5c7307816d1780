# SPDX-License-Identifier: BSD-3-Clause
"""Enters a region again and again. Prints {"ns"}: of a round of the loop, without that of an empty one."""

import json
import time

import allranks

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


def best_ns(loop):
    found = []
    for _ in range(N_TRIES):
        start = time.perf_counter_ns()
        loop()
        found.append(time.perf_counter_ns() - start)
    return min(found) / N_ROUNDS


print(json.dumps({"ns": best_ns(with_region) - best_ns(empty)}))
