#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""docs/tables.md: every table that JSON, CSV and allranks.load show, from the descriptions in src/run/tables_*.c.

    gen_tables.py >docs/tables.md      with a Python that has allranks

A test compares the file with what this prints.
"""

from __future__ import annotations

from allranks import _reader

HEAD = """\
# Tables

<!-- made by tools/gen_tables.py from src/run/tables_*.c: change these -->

All figures are shown as tables, each with one name, one key and one set of columns, in [JSON](json.md), CSV and
[`allranks.load`](load.md). A column has the same name everywhere, but for the unit of times:

| | times | groups of columns | a value that is not there |
|---|---|---|---|
| JSON | nanoseconds, `wall_ns` | nested: `"time_ns": {"sum": 5, "mean": 2.5, "max_rank": 3}` | `null` |
| CSV | nanoseconds, `wall_ns` | joined: `time_ns` (the sum), `time_mean_ns`, `time_max_rank` | an empty cell |
| `load` | seconds, `wall_s` | joined: `time_s` (the sum), `time_mean_s`, `time_max_rank` | -1, `""` or `nan` |

The columns below are named as in CSV. A group over ranks has

| member | |
|---|---|
| `sum`, `mean` | over ranks; a rank that never was there counts as 0 |
| `sd` | standard deviation of these ranks |
| `min`, `min_rank`, `max`, `max_rank` | the ranks that have least and most; of equal ones the first |
| `estimated` | whether it is estimated from some of the calls |
| `error` | standard error of the sum, which is that of the mean times the ranks; in 19 of 20 cases the true value is within twice that. 0: it was measured; none: not known (files of older versions) |

Counts are exact. Sets of ranks are arrays of numbers in JSON, else texts as `0-3,7`. New tables and columns may come at any time.

Most tables are about a run. Those of `diff`, `scale`, `top`, `clean` and `timeline` are about several runs, a running job, files that jobs
have left or a window of a trace: `allranks.load` does not have these.
"""
SPREAD = ["sum", "mean", "sd", "min", "min_rank", "max", "max_rank", "estimated", "error"]


def short_name(name: str) -> str:
    """Of a column within its group, as CSV has it."""
    return name.removesuffix("_ns")


def group_row(group: str, columns: list[tuple[str, str, str | None, str, str, str]]) -> str:
    names = [name for _, name, *_ in columns]
    members = [short_name(name).removeprefix(group).removeprefix("_") or "sum" for name in names]
    if members == SPREAD or members == SPREAD[1:7]:
        return f"| `{names[0]}` … `{names[-1]}` | {columns[0][-1].removesuffix(', mean over ranks')}: a group over ranks |"
    helps = dict.fromkeys(text for *_, text in columns)
    return f"| {', '.join(f'`{name}`' for name in names)} | {'; '.join(helps)} |"


def rows(columns: list[tuple[str, str, str | None, str, str, str]]) -> list[str]:
    lines = []
    done = set()
    for _, name, group, _, _, text in columns:
        if group is None:
            lines.append(f"| `{name}` | {text} |")
        elif group not in done:
            lines.append(group_row(group, [column for column in columns if column[2] == group]))
            done.add(group)
    return lines


def main() -> None:
    print(HEAD)
    for name, command, key, text, columns in _reader.tables():
        keys = ", ".join(f"`{column}`" for column in key.split(", ")) if key else "there is one row"
        shown_by = f" Of `allranks {command}`." if command else ""
        print(f"## `{name}`\n\n{text[0].upper()}{text[1:]}.{shown_by} Key: {keys}.\n\n| column | |\n|---|---|")
        print("\n".join(rows(columns)), end="\n\n")


if __name__ == "__main__":
    main()
