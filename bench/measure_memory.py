# SPDX-License-Identifier: BSD-3-Clause
"""What it costs in memory: a fixed part and so much a tree node, from one run with few nodes and one with many.

The same program is run plainly beside it, and what that takes is subtracted. Three things are told apart: the resident size
while the program runs, the same up to the end of the process, when the run file is written, and the live file, whose
steps double: between two of them it takes up to twice what is in it. What is resident holds the pages of the live file that the
process has touched; when the run file is written, it gives them back.

It is started as `allranks run`. Started as `python -m allranks`, the modules that `python -m` itself loads stay in the process, too.
"""

from __future__ import annotations

from typing import Callable

from rounds import BENCH, Figures, Interpreter, Options, best_of, figures_of, scratch
from tables import Check, Outcome, heads, number, row, title, verdict_row

PROGRAM = str(BENCH / "nodes.py")
# Just beyond a power of two, where tables have doubled: the dearest number of nodes there is.
DEPTHS = {"few": 2, "many": 14}
KINDS = {"running": "RSS, running", "ended": "RSS, to the end", "live": "live file"}
MIB = 1 << 20


def modes_for(interpreter: Interpreter, directory: str) -> dict[str, Callable[[], Figures]]:
    modes = {}
    for size, depth in DEPTHS.items():
        program = [PROGRAM, str(depth)]
        options = ["--live-dir", "live", *program, "live"]
        modes[f"plain {size}"] = figures_of([interpreter.python, *program], directory)
        modes[f"allranks {size}"] = figures_of(interpreter.allranks_run(*options), directory)
        if size == "few":
            modes["python -m few"] = figures_of(interpreter.allranks(*options), directory)
    return modes


def price(best: dict[str, Figures], kind: str) -> Figures:
    """The line through both points: bytes = fixed + nodes x each."""
    few, many = (best[f"allranks {size}"][kind] - best[f"plain {size}"][kind] for size in DEPTHS)
    n_few, n_many = (best[f"plain {size}"]["nodes"] for size in DEPTHS)
    each = (many - few) / (n_many - n_few)
    return {"fixed_bytes": few - each * n_few, "bytes_per_node": each}


def measure(interpreter: Interpreter, options: Options) -> Outcome:
    with scratch() as directory:
        best = best_of(
            modes_for(interpreter, directory), options.n_rounds(5), f"{interpreter.name} memory"
        )
    prices = {kind: price(best, kind) for kind in KINDS}
    found = checks(prices)
    by_module = best["python -m few"]["ended"] - best["allranks few"]["ended"]
    show(f"Python {interpreter.name}: memory", prices, by_module, found)
    return Outcome({"bytes": best, "price": prices}, found)


def checks(prices: dict[str, Figures]) -> list[Check]:
    found = []
    for kind in ("running", "ended"):
        found.append(Check(f"{KINDS[kind]}: fixed, MiB", prices[kind]["fixed_bytes"] / MIB, 1))
        found.append(
            Check(f"{KINDS[kind]}: bytes a node", prices[kind]["bytes_per_node"], 100, ".0f")
        )
    return found


def show(heading: str, prices: dict[str, Figures], by_module: float, found: list[Check]) -> None:
    title(heading)
    heads("fixed|MiB", "bytes|a node")
    for kind, values in prices.items():
        row(
            KINDS[kind],
            [number(values["fixed_bytes"] / MIB, ".2f"), number(values["bytes_per_node"])],
        )
    row("by python -m, more", [number(by_module / MIB, ".2f"), ""])
    for check in found:
        verdict_row(check)
