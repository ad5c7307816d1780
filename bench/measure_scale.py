# SPDX-License-Identifier: BSD-3-Clause
"""What many ranks cost: merging their files, the file that is made of them, and looking at it.

Files are synthetic (synthetic.c): no machine here records ten thousand ranks. Merging live files of 128 ranks runs beside
`pstats.Stats.add` over the pstats files of the same ranks; the run file is weighed against those of 64. Files of cProfile
(pstats_files.py) are merged beside Stats.add over the very same files. Of 10,240 ranks of 5,000
nodes, of which each has a third, `merge` and `report` are held to seconds and memory, and to a fifth of the ranks: five times the
values may not cost more than five times as much, and a tenth more.

Seconds are elapsed ones, or with --processor-time those of the processor: on a busy machine.
"""

from __future__ import annotations

import os
import resource
import subprocess
import time
from pathlib import Path
from typing import Callable

import pstats_files
from rounds import (
    Failed,
    Figures,
    Interpreter,
    Options,
    best_of,
    compiled,
    environment,
    run,
    scratch,
)
from tables import Check, Outcome, heads, number, row, title, verdict_row

ADD = """
import pstats, sys, time
names, start = sys.argv[1:], (time.perf_counter(), time.process_time())
stats = pstats.Stats(names[0])
for name in names[1:]:
    stats.add(name)
print(time.perf_counter() - start[0], time.process_time() - start[1])
"""
MIB = 1 << 20
PEER = {"ranks": 128, "nodes": 3000}
WEIGHED = {"ranks": 64, "nodes": 2000}
FILES = 64  # of 3,000 functions with three callers each
LARGE = {"ranks": 10240, "nodes": 5000, "share": 1 / 3}


def build() -> str:
    """The generator, from the project's own sources of formats."""
    return compiled("synthetic", "base", "format")


def generate(kind: str, target: Path, size: dict[str, float], *more: str) -> Path:
    options = [word for name, value in size.items() for word in (f"--{name}", str(value))]
    if kind == "live":
        target.mkdir()
    run([build(), kind, str(target), *options, *more], "/")
    return target


def figures_of(command: list[str], options: Options) -> Figures:
    """Seconds and the largest resident size of one command."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment())
    assert process.stderr
    words = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    elapsed_s = time.perf_counter() - start
    if status:
        raise Failed(words.decode().strip())
    return {"s": used_s(usage) if options.processor_time else elapsed_s, "bytes": usage.ru_maxrss * 1024.0}


def used_s(usage: resource.struct_rusage) -> float:
    return usage.ru_utime + usage.ru_stime


def merging(allranks: str, sources: list[str], target: Path, options: Options) -> Callable[[], Figures]:
    def measure() -> Figures:
        target.unlink(missing_ok=True)
        figures = figures_of([allranks, "merge", *sources, "-o", str(target)], options)
        return {**figures, "file": float(target.stat().st_size)}

    return measure


def adding(interpreter: Interpreter, files: list[str], options: Options) -> Callable[[], Figures]:
    def measure() -> Figures:
        elapsed_s, processor_s = map(float, run([interpreter.python, "-c", ADD, *files], "/").split())
        return {"s": processor_s if options.processor_time else elapsed_s}

    return measure


def pstats_of(allranks: str, source: Path, size: dict[str, float], directory: Path) -> list[str]:
    """What cProfile would have left of each rank."""
    whole, files = directory / f"{source.name}.allranks", []
    run([allranks, "merge", str(source), "-o", str(whole)], "/")
    for rank in range(int(size["ranks"])):
        files.append(str(directory / f"{source.name}.{rank}.prof"))
        run([allranks, "export", str(whole), "-f", "pstats", "--rank", str(rank), "-o", files[-1]], "/")
    return files


def measure(interpreter: Interpreter, options: Options) -> Outcome:
    large = {**LARGE, "ranks": 512} if options.quick else LARGE
    with scratch() as directory:
        best = measure_in(interpreter, Path(directory), large, options)
    found = checks(best, options)
    show(f"Python {interpreter.name}: many ranks", best, found)
    return Outcome({"modes": best, "large": large}, found)


def measure_in(
    interpreter: Interpreter, at: Path, large: dict[str, float], options: Options
) -> dict[str, Figures]:
    allranks = str(Path(interpreter.python).with_name("allranks"))
    peer, weighed = generate("live", at / "peer", PEER), generate("live", at / "weighed", WEIGHED)
    whole = generate("live", at / "large", large)
    fifth = generate("live", at / "fifth", {**large, "ranks": large["ranks"] // 5})
    files_of_cprofile = pstats_files.write(at, FILES)
    run_file = at / "large.allranks"
    modes = {
        "merge 128": merging(allranks, [str(peer)], at / "merged.allranks", options),
        "Stats.add 128": adding(interpreter, pstats_of(allranks, peer, PEER, at), options),
        "merge 64": merging(allranks, [str(weighed)], at / "merged.allranks", options),
        "merge pstats 64": merging(allranks, files_of_cprofile, at / "merged.allranks", options),
        "Stats.add 64": adding(interpreter, files_of_cprofile, options),
        "merge, a fifth": merging(allranks, [str(fifth)], at / "merged.allranks", options),
        "merge, large": merging(allranks, [str(whole)], run_file, options),
        "report, large": lambda: figures_of([allranks, "report", str(run_file)], options),
    }
    best = best_of(modes, options.n_rounds(3), f"{interpreter.name} many ranks")
    files = pstats_of(allranks, weighed, WEIGHED, at)
    best["pstats 64"] = {"file": float(sum(Path(file).stat().st_size for file in files))}
    return best


def checks(best: dict[str, Figures], options: Options) -> list[Check]:
    merge, report = best["merge, large"], best["report, large"]
    found = [
        Check("merge of 128, of Stats.add", best["merge 128"]["s"] / best["Stats.add 128"]["s"], 0.01, ".4f"),
        Check("merge of pstats, of Stats.add", best["merge pstats 64"]["s"] / best["Stats.add 64"]["s"], 1 / 30, ".4f"),
        Check("run file of 64, of pstats", best["merge 64"]["file"] / best["pstats 64"]["file"], 0.03, ".4f"),
    ]
    if options.quick:  # of fewer ranks, which no limit is for
        return found
    return [
        *found,
        Check("merge of 10,240, s", merge["s"], 20),
        Check("merge of 10,240, MiB", merge["bytes"] / MIB, 2048, ".0f"),
        Check("merge of 10,240, of 5 fifths", merge["s"] / (5 * best["merge, a fifth"]["s"]), 1.1),
        Check("report of 10,240, s", report["s"], 2),
        Check("report of 10,240, MiB", report["bytes"] / MIB, 500, ".0f"),
    ]


def show(heading: str, best: dict[str, Figures], found: list[Check]) -> None:
    title(heading)
    heads("seconds", "resident|MiB", "file|MiB")
    for name, figures in best.items():
        sizes = [figures[key] / MIB if key in figures else None for key in ("bytes", "file")]
        row(name, [number(figures.get("s"), ".3f"), number(sizes[0]), number(sizes[1], ".2f")])
    for check in found:
        verdict_row(check)
