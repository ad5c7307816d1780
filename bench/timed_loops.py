# SPDX-License-Identifier: BSD-3-Clause
"""For programs that are measured: what a round of a loop takes."""

import time


def best_ns(loop, n_rounds, n_tries):
    """Of one round; the least of several tries, since what disturbs only adds."""
    found = []
    for _ in range(n_tries):
        start = time.perf_counter_ns()
        loop()
        found.append(time.perf_counter_ns() - start)
    return min(found) / n_rounds
