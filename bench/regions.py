# SPDX-License-Identifier: BSD-3-Clause
"""Enters a region again and again in a program that is not recorded. Prints {"with", "empty"}: ns a round of the loop."""

import json
import time

import allranks

N_ROUNDS = 100_000
N_TRIES = 20


def with_region():
    for _ in range(N_ROUNDS):
        with allranks.region("assemble"):
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


print(json.dumps({"with": best_ns(with_region), "empty": best_ns(empty)}))
