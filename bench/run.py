# SPDX-License-Identifier: BSD-3-Clause
"""Measures every figure that the README states, and prints them as tables.

Everything is measured beside what it is compared with, in one run (rounds.py). Each figure that has a limit shows it, and
whether it holds. `make build PYTHON=python3.12` adds an interpreter: every .venv* that holds allranks is measured.

build/bench.json has the same for programs:

    {"machine": {"processor", "cores", "system"},
     "pythons": {"3.11.7": {
        "calls":    {"ns_per_call": {mode: {workload: ns}}, "ratio_to_cprofile": {workload: ratio}},
        "builtins": the same, with functions written in C,
        "all":      the same, with --builtins all,
        "loops":    {"ns_per_iteration": {mode: {loop: ns}}, "instructions_per_iteration": {mode: {loop: n}}},
        "lines":    {"ns_per_line": {mode: {loop: ns}}},
        "regions":  {"ns": {"with", "empty"}},
        "counters": {"reads": {way: ns, or why it is not available}, "ns_per_region": {"recorded", "counted"}},
        "real":     {"seconds": {program: {mode: s}}, "clock": {program: "wall" or "cpu"},
                     "missing": {program: why}},
        "programs": {"modes": {program: {mode: {"s"}}}, "missing": {program: why}}, processor seconds; those of allranks have
                     "stated_s" and "stated_start_s", …, too: what allranks itself says it adds,
        "startup":  {"modes": {mode: {"ms", "processor_ms", "opens", "failing_opens"}}},
        "memory":   {"bytes": {"mode size": {"nodes", "running", "ended", "live"}},
                     "price": {kind: {"fixed_bytes", "bytes_per_node"}}},
        "looking":  {"modes": {mode: {"median_ns", "mean_ns", "looks", "instructions"}}},
        "finalize": {"seconds": {library: {ranks: {"gather", "plain", "allranks", "bytes"}}}},
        "mpi":      {"ns": {library: {mode: {case: ns}}}},
        "trace-scale": {"modes": {mode: {"ns", "before", "peak", "finalize_s", "size", "events"}}}, of rank 0; bytes, seconds
        "scale":    {"modes": {mode: {"s", "bytes", "file"}}, "large": {"ranks", "nodes", "share"}},
        "waits":    {"modes": {mode: {"s", "bytes", "file"}}, "many": {"ranks", …}, "wide": {"ranks", …}},
        "windows":  {"modes": {run: {"open", "all", "tenth", "ms", each with ", longest", ", events", ", bins"}}, "runs": {run: {"ranks", …}}},
        "instructions": {"instructions_per_call": {mode: {workload: n}}}}}}

A kind that could not be measured at all has {"failed": why}.

Modes are plain, floor (hooks that do nothing), allranks, none (allranks with --builtins none), budget and cprofile; one that is not available is left out, and so
are kinds that were not asked for. Those of start-up are plain, floor (`python -m` of an empty package), run (`allranks run`) and
module (`python -m allranks`). Each kind has "checks" too: [{"what", "value", "limit", "verdict": "ok", "OVER" or "not
available"}].
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import platform
import sys
from typing import Any, Callable

import measure_calls
import measure_counters
import measure_finalize
import measure_instructions
import measure_lines
import measure_looking
import measure_loops
import measure_memory
import measure_mpi
import measure_petsc
import measure_programs
import measure_real
import measure_regions
import measure_scale
import measure_startup
import measure_trace_exports
import measure_trace_scale
import measure_traces
import measure_waits
import measure_windows
from rounds import ROOT, Failed, Interpreter, Options, find_interpreters
from tables import Check, Outcome, note, summary, title

TARGET = ROOT / "build/bench.json"
KINDS: dict[str, Callable[[Interpreter, Options], Outcome]] = {
    "calls": functools.partial(measure_calls.measure, "python"),
    "builtins": functools.partial(measure_calls.measure, "default"),
    "all": functools.partial(measure_calls.measure, "all"),
    "loops": measure_loops.measure,
    "lines": measure_lines.measure,
    "startup": measure_startup.measure,
    "memory": measure_memory.measure,
    "regions": measure_regions.measure,
    "counters": measure_counters.measure,
    "traces": measure_traces.measure,
    "trace-scale": measure_trace_scale.measure,
    "trace-exports": measure_trace_exports.measure,
    "petsc": measure_petsc.measure,
    "real": measure_real.measure,
    "programs": measure_programs.measure,
    "looking": measure_looking.measure,
    "instructions": measure_instructions.measure,
    "mpi": measure_mpi.measure,
    "finalize": measure_finalize.measure,
    "scale": measure_scale.measure,
    "waits": measure_waits.measure,
    "windows": measure_windows.measure,
}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="a short look: one round, small programs"
    )
    parser.add_argument("--rounds", type=int, help="rounds to take the best of")
    parser.add_argument("--only", metavar="KINDS", help=f"of {','.join(KINDS)}")
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="3.12",
        help="only this one; may be repeated",
    )
    parser.add_argument(
        "--processor-time",
        action="store_true",
        help="for start-up and real programs too: on a busy machine",
    )
    parser.add_argument(
        "--instructions", action="store_true", help="count instructions too (valgrind, minutes)"
    )
    options = parser.parse_args()
    options.kinds = (
        options.only.split(",") if options.only else [k for k in KINDS if k != "instructions"]
    )
    options.kinds += ["instructions"] if options.instructions else []
    for kind in options.kinds:
        if kind not in KINDS:
            parser.error(f"{kind} is none of {','.join(KINDS)}")
    return options


def measure(interpreter: Interpreter, kind: str, options: Options) -> Outcome:
    try:
        return KINDS[kind](interpreter, options)
    except Failed as failure:
        title(f"Python {interpreter.name}: {kind}: not available")
        note(str(failure))
        return Outcome({"failed": str(failure)}, [])
    finally:
        sys.stdout.flush()  # a table is shown when it is there, also into a file


def machine() -> dict[str, Any]:
    return {"processor": processor(), "cores": os.cpu_count(), "system": platform.platform()}


def processor() -> str:
    try:
        with open("/proc/cpuinfo") as info:
            names = [
                line.partition(":")[2].strip() for line in info if line.startswith("model name")
            ]
    except OSError:
        names = []
    return names[0] if names else platform.machine()


def main() -> None:
    wanted = parse()
    interpreters = find_interpreters(wanted.python)
    if not interpreters:
        sys.exit("no such interpreter with allranks found (run: make build)")
    options = Options(wanted.quick, wanted.rounds, wanted.processor_time)
    results: dict[str, Any] = {}
    checks: dict[str, list[Check]] = {}
    for interpreter in interpreters:
        outcomes = {kind: measure(interpreter, kind, options) for kind in wanted.kinds}
        results[interpreter.name] = {kind: outcome.as_json() for kind, outcome in outcomes.items()}
        checks[interpreter.name] = [
            check for outcome in outcomes.values() for check in outcome.checks
        ]
    summary(checks)
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(json.dumps({"machine": machine(), "pythons": results}, indent=1) + "\n")
    print(f"\n{TARGET.relative_to(ROOT)} has the same for programs")


if __name__ == "__main__":
    main()
