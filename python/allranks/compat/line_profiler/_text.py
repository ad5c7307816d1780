# SPDX-License-Identifier: BSD-3-Clause
"""The report of line_profiler: programs parse it, so it is the same to the character, but for sources that are not found.

    Timer unit: 1e-06 s

    Total time: 7.2e-06 s
    File: heat.py
    Function: relax at line 3

    Line #      Hits         Time  Per Hit   % Time  Line Contents
    ==============================================================
         3                                           def relax(n):
         4         2          1.3      0.6     17.5      total = 0
"""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

from allranks.compat.line_profiler._line_profiler import FunctionKey, Line

DEFAULT_UNIT = 1e-6
TITLES = ("Line #", "Hits", "Time", "Per Hit", "% Time")
WIDTHS = (6, 9, 12, 8, 8)
NO_CELLS = ("",) * 4


# ---- numbers ----


def hits_text(hits: int) -> str:
    text = str(hits)
    return text if len(text) <= WIDTHS[1] else f"{hits:g}"


def time_text(time: float, width: int) -> str:
    text = f"{time:5.1f}"
    return text if len(text) <= width else f"{time:5.3g}"


def cells_of(lines: Sequence[Line], factor: float) -> dict[int, tuple[str, str, str, str]]:
    """By line, what stands in the columns beside its number."""
    total = sum(time for _, _, time in lines)
    cells = {}
    for line, hits, time in lines:
        scaled = time * factor
        cells[line] = (
            hits_text(hits),
            time_text(scaled, WIDTHS[2]),
            time_text(scaled / hits if hits else 0.0, WIDTHS[3]),
            f"{100 * time / total:5.1f}" if total else "",
        )
    return cells


def widths_for(cells: Mapping[int, Sequence[str]]) -> tuple[int, ...]:
    """Columns that are too narrow for a number grow."""
    return (WIDTHS[0], *(max(width, *(len(row[i]) for row in cells.values()), 0) for i, width in enumerate(WIDTHS[1:])))


# ---- sources ----


def exists(filename: str) -> bool:
    linecache.checkcache(filename)
    return bool(linecache.getlines(filename))


def source_of(filename: str, first_line: int, last_line: int) -> list[str]:
    """The lines of a function, and of a module those up to the last that is counted; none if they are not there."""
    lines = linecache.getlines(filename)[first_line - 1 :]
    try:
        n_lines = len(inspect.getblock(lines))
    except (IndentationError, SyntaxError):
        n_lines = 0
    return [line.rstrip("\r\n") for line in lines[: max(n_lines, last_line - first_line + 1)]]


# ---- the report ----


def show_func(
    filename: str,
    start_lineno: int,
    func_name: str,
    timings: Sequence[Line],
    unit: float,
    output_unit: float | None = None,
    stream: TextIO | None = None,
    stripzeros: bool = False,
    rich: bool = False,
    *,
    config: object = None,
) -> None:
    """One function. `timings`: its lines, as LineStats has them; times are printed in `output_unit`, in seconds."""
    if stripzeros and not any(hits for _, hits, _ in timings):
        return
    stream = stream or sys.stdout
    factor = unit / (output_unit or unit)
    stream.write(f"Total time: {sum(time for _, _, time in timings) * unit:g} s\n")
    stream.write(f"File: {filename}\nFunction: {func_name} at line {start_lineno}\n")
    last_line = max((line for line, _, _ in timings), default=start_lineno)
    source = source_of(filename, start_lineno, last_line) if exists(filename) else []
    if not source:
        stream.write(f"\nThe source is not shown: {filename} cannot be read here (its path is that of the recording).\n")
        source = [""] * (last_line - start_lineno + 1)
    cells = cells_of(timings, factor)
    write_table(stream, start_lineno, source, cells, bool(rich) and find_rich())
    stream.write("\n")


def write_table(stream: TextIO, first_line: int, source: Sequence[str], cells: Mapping[int, Sequence[str]], rich: bool) -> None:
    widths = widths_for(cells)
    head = row_text(TITLES, widths) + "  Line Contents"
    stream.write(f"\n{head}\n{'=' * len(head)}\n")
    numbered = enumerate(source, first_line)
    rows = [(row_text((str(number), *cells.get(number, NO_CELLS)), widths), text) for number, text in numbered]
    if rich:
        from allranks.compat.line_profiler._rich import write_rich_rows

        write_rich_rows(stream, rows)
    else:
        stream.write("".join(f"{numbers}  {text}\n" for numbers, text in rows))


def row_text(cells: Sequence[str], widths: Sequence[int]) -> str:
    return " ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths))


def find_rich() -> bool:
    """Whether the package `rich` is there; without it the report is plain, which is said once."""
    try:
        __import__("rich")
    except ImportError:
        global said_rich_is_missing
        if not said_rich_is_missing:
            print("line_profiler: the package rich is not installed, so the report is plain", file=sys.stderr)
        said_rich_is_missing = True
        return False
    return True


said_rich_is_missing = False


def total_of(item: tuple[FunctionKey, Sequence[Line]]) -> int:
    return sum(time for _, _, time in item[1])


def show_text(
    stats: Mapping[FunctionKey, Sequence[Line]],
    unit: float,
    output_unit: float | None = None,
    stream: TextIO | None = None,
    stripzeros: bool = False,
    details: bool = True,
    summarize: bool = False,
    sort: bool = False,
    rich: bool = False,
    *,
    config: object = None,
) -> None:
    """All functions, by file and line or with `sort` by their time; `summarize` adds a line for each."""
    stream = stream or sys.stdout
    output_unit = output_unit or DEFAULT_UNIT
    items = sorted(stats.items(), key=total_of if sort else None)
    stream.write(f"Timer unit: {output_unit:g} s\n\n")
    if details:
        for (filename, first_line, name), lines in items:
            show_func(
                filename, first_line, name, lines, unit, output_unit=output_unit, stream=stream, stripzeros=stripzeros, rich=rich
            )
    if not summarize:
        return
    for (filename, first_line, name), lines in items:
        seconds = sum(time for _, _, time in lines) * unit
        if seconds or not stripzeros:
            stream.write(f"{seconds:6.2f} seconds - {filename}:{first_line} - {name}\n")
