# SPDX-License-Identifier: BSD-3-Clause
"""What counting lines costs, per line, beside line_profiler on the same loops; and what it costs functions that were not chosen."""

from __future__ import annotations

from rounds import BENCH, ROOT, Figures, Interpreter, Options, best_of, figures_of, install, scratch
from tables import Check, Outcome, heads, number, row, title

PROGRAM = str(BENCH / "lined.py")
REQUIREMENTS = ROOT / "tools/requirements-lines.txt"
MOST_OF_PEER = 0.25
MOST_NOT_CHOSEN = 1.02


def peer(interpreter: Interpreter) -> list[str]:
    site = install(interpreter, REQUIREMENTS, "lines")
    code = f"import sys, runpy; sys.path[:0] = [{str(BENCH)!r}, {str(site)!r}]; sys.argv[0] = {PROGRAM!r}; runpy.run_path({PROGRAM!r}, run_name='__main__')"
    return [interpreter.python, "-c", code, "--peer"]


def chosen() -> list[str]:
    """As with the peer: what they call is not among them."""
    return [word for name in ("arithmetic", "branches", "calls", "recurse", "recursion") for word in ("--lines", f"lined.py:{name}")]


def times(interpreter: Interpreter, options: Options) -> dict[str, Figures]:
    with scratch() as directory:
        modes = {
            "plain": figures_of([interpreter.python, PROGRAM], directory),
            "profile": figures_of([*interpreter.allranks(), PROGRAM], directory),
            "not_chosen": figures_of([*interpreter.allranks("--lines", "nothing.py:*"), PROGRAM], directory),
            "lines": figures_of([*interpreter.allranks(*chosen()), PROGRAM], directory),
            "line_profiler": figures_of(peer(interpreter), directory),
        }
        return best_of(modes, options.n_rounds(5), f"{interpreter.name} lines")


def show(interpreter: Interpreter, best: dict[str, Figures]) -> None:
    title(f"Python {interpreter.name}: counted lines, ns per line beyond the program itself")
    heads("plain", "lines|more", "line_profiler|more", "ratio", "not chosen|x profile")
    for loop, plain in best["plain"].items():
        ours, theirs = best["lines"][loop] - plain, best["line_profiler"][loop] - plain
        cells = [number(plain), number(ours), number(theirs), number(ours / theirs, ".2f")]
        row(loop, [*cells, number(best["not_chosen"][loop] / best["profile"][loop], ".2f")])


def measure(interpreter: Interpreter, options: Options) -> Outcome:
    best = times(interpreter, options)
    show(interpreter, best)
    plain = best["plain"]
    ratio = max((best["lines"][loop] - ns) / (best["line_profiler"][loop] - ns) for loop, ns in plain.items())
    beside = max(best["not_chosen"][loop] / best["profile"][loop] for loop in plain)
    checks = [
        Check("counted lines, of what line_profiler adds", ratio, MOST_OF_PEER),
        Check("functions that were not chosen, x profile", beside, MOST_NOT_CHOSEN),
    ]
    return Outcome({"ns_per_line": best}, checks)
