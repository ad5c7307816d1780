# SPDX-License-Identifier: BSD-3-Clause
"""What counters cost: one read, each way that there is (counter_reads.c), and a region that is counted beside one that is not."""

from __future__ import annotations

import json
import subprocess

from rounds import BENCH, Interpreter, Options, best_of, compiled, figures_of, scratch
from tables import Outcome, note, title

COUNTERS = "page-faults,context-switches"


def reads() -> dict[str, float | str]:
    done = subprocess.run([compiled("counter_reads", "base", "counters")], capture_output=True, check=True)
    found: dict[str, float | str] = json.loads(done.stdout)
    return found


def regions(interpreter: Interpreter, options: Options) -> dict[str, float]:
    program = str(BENCH / "counted_regions.py")
    with scratch() as directory:
        modes = {
            "recorded": figures_of([*interpreter.allranks(), program], directory),
            "counted": figures_of([*interpreter.allranks("--counters", COUNTERS), program], directory),
        }
        best = best_of(modes, options.n_rounds(3), f"{interpreter.name} counters")
    return {mode: found["ns"] for mode, found in best.items()}


def measure(interpreter: Interpreter, options: Options) -> Outcome:
    ways, per_region = reads(), regions(interpreter, options)
    title(f"Python {interpreter.name}: a read of counters, ns")
    for way, ns in ways.items():
        note(f"{way:26} {ns:8.1f}" if isinstance(ns, float) else f"{way:26} not available here:")
        if isinstance(ns, str):
            note(f"    {ns}")
    title(f"Python {interpreter.name}: a region, ns")
    for mode, ns in per_region.items():
        note(f"{mode:26} {ns:8.1f}")
    return Outcome({"reads": ways, "ns_per_region": per_region}, [])
