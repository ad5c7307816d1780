# SPDX-License-Identifier: BSD-3-Clause
"""Measures every figure that the README states, and prints them as tables; JSON goes to build/bench.json.

Machines are noisy, so what is compared runs interleaved, the best of several rounds counts, and ratios are taken within one
run. `make build PYTHON=python3.12` adds an interpreter: every .venv* that holds allranks is measured.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CALLS = str(ROOT / "bench/calls.py")


def find_interpreters() -> dict[tuple[int, ...], str]:
    """Version to python, one of each version."""
    found: dict[tuple[int, ...], str] = {}
    for venv in sorted(ROOT.glob(".venv*")):
        python = venv / "bin/python"
        probe = "import sys, allranks; print(*sys.version_info[:3])"
        answer = subprocess.run([python, "-c", probe], capture_output=True, text=True, cwd="/")
        if answer.returncode == 0:
            version = tuple(int(part) for part in answer.stdout.split())
            found.setdefault(version, str(python))
    return found


def measure(command: list[str], directory: str) -> dict[str, float]:
    done = subprocess.run(command, capture_output=True, text=True, cwd=directory)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    result: dict[str, float] = json.loads(done.stdout)
    return result


def measure_calls(python: str, n_rounds: int) -> dict[str, dict[str, float]]:
    """Mode to workload to ns per call, the best of all rounds."""
    best: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as directory:
        modes = {
            "plain": [python, CALLS],
            "allranks": [python, "-m", "allranks", "-q", CALLS],
            "cprofile": [python, CALLS, "--cprofile"],
        }
        for number in range(n_rounds):
            progress(f"{python}: round {number + 1} of {n_rounds}")
            for mode, command in modes.items():
                for name, ns in measure(command, directory).items():
                    seen = best.setdefault(mode, {})
                    seen[name] = min(ns, seen.get(name, math.inf))
    progress("")
    return best


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:<78.78}", end="\r" if not text else "", file=sys.stderr, flush=True)


def added(best: dict[str, dict[str, float]], mode: str, name: str) -> float:
    """Never below a tenth of a nanosecond: what cannot be told from nothing must not make a ratio of nothing."""
    return max(best[mode][name] - best["plain"][name], 0.1)


def geometric_mean(values: list[float]) -> float:
    return math.exp(sum(math.log(v) for v in values) / len(values))


def print_calls(version: str, best: dict[str, dict[str, float]]) -> float:
    ratios = {n: added(best, "allranks", n) / added(best, "cprofile", n) for n in best["plain"]}
    print(f"\nPython {version}: ns per Python call")
    print(f"  {'':14}{'plain':>9}{'allranks adds':>15}{'cProfile adds':>15}{'ratio':>8}")
    for name, ratio in ratios.items():
        print(
            f"  {name:14}{best['plain'][name]:9.1f}{added(best, 'allranks', name):15.1f}"
            f"{added(best, 'cprofile', name):15.1f}{ratio:8.2f}"
        )
    mean = geometric_mean(list(ratios.values()))
    print(f"  {'geometric mean':53}{mean:8.2f}")
    return mean


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="rounds to take the best of")
    options = parser.parse_args()

    interpreters = find_interpreters()
    if not interpreters:
        sys.exit("no interpreter with allranks found (run: make build)")
    results = {}
    for version, python in sorted(interpreters.items()):
        best = measure_calls(python, options.rounds)
        name = ".".join(map(str, version))
        results[name] = {"ns_per_call": best, "ratio_to_cprofile": print_calls(name, best)}
    target = ROOT / "build/bench.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps({"calls": results}, indent=1) + "\n")
    print(f"\n{target.relative_to(ROOT)} has the same for programs")


if __name__ == "__main__":
    main()
