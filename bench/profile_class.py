# SPDX-License-Identifier: BSD-3-Clause
"""What allranks.Profile and cProfile.Profile add to a call, by workload, with entries for functions in C and without.

    .venv/bin/python bench/profile_class.py [ROUNDS]

The three take turns in one process, and of each the best round counts.
"""

from __future__ import annotations

import cProfile
import gc
import sys
import time
from collections.abc import Callable

import allranks
from calls import WORKLOADS


def c_functions() -> int:
    items: list[int] = []
    table = {1: 2}
    for i in range(5_000):
        items.append(i)
        len(items)
        table.get(i)
        isinstance(i, int)
    return 20_000


def c_to_python() -> int:
    sorted(range(10_000), key=lambda i: -i)
    return 10_000


Modes = dict[str, Callable[[], "cProfile.Profile | allranks.Profile | None"]]


def modes(builtins: bool) -> Modes:
    return {
        "plain": lambda: None,
        "cProfile": lambda: cProfile.Profile(builtins=builtins),
        "allranks": lambda: allranks.Profile(builtins=builtins),
    }


def ns_per_call(workload: Callable[[], int], profile: cProfile.Profile | allranks.Profile | None) -> float:
    if profile:
        profile.enable()
    start = time.perf_counter_ns()
    n_calls = workload()
    duration_ns = time.perf_counter_ns() - start
    if profile:
        profile.disable()
    return duration_ns / n_calls


def measure(workload: Callable[[], int], builtins: bool, n_rounds: int) -> dict[str, float]:
    best = dict.fromkeys(modes(builtins), float("inf"))
    for _ in range(n_rounds):
        for name, make in modes(builtins).items():
            best[name] = min(best[name], ns_per_call(workload, make()))
    return best


def main() -> None:
    n_rounds = int(sys.argv[1]) if sys.argv[1:] else 25
    gc.disable()
    print(f"Python {sys.version.split()[0]}: added ns per call")
    print(f"  {'':14}{'plain':>8}{'cProfile':>12}{'allranks':>12}{'ratio':>8}")
    for builtins in (True, False):
        print(f"  builtins={builtins}")
        for workload in [*WORKLOADS, c_functions, c_to_python]:
            best = measure(workload, builtins, n_rounds)
            theirs, ours = best["cProfile"] - best["plain"], best["allranks"] - best["plain"]
            ratio = f"{ours / theirs:8.2f}" if theirs > 1 else ""
            print(f"  {workload.__name__:14}{best['plain']:8.1f}{theirs:12.1f}{ours:12.1f}{ratio}")


main()
