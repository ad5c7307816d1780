# SPDX-License-Identifier: BSD-3-Clause
"""--lines auto: the functions that took most time in a previous run, as patterns for --lines."""

from __future__ import annotations

import os
import sys

from allranks import _launch

MOST = 10


def previous_runs(output: str) -> list[str]:
    """Runs that have this name, or this name with a number, in the same directory."""
    directory, name = os.path.split(output)
    stem, ending = os.path.splitext(name)
    names = os.listdir(directory or ".")
    return [
        os.path.join(directory, each)
        for each in names
        if each == name or (each.startswith(stem + "-") and each.endswith(ending) and each[len(stem) + 1 : -len(ending)].isdigit())
    ]


def newest_run(output: str) -> str:
    try:
        runs = previous_runs(output)
    except OSError:
        runs = []
    if not runs:
        raise _launch.UsageError(
            f"--lines auto: there is no {output} of a run before (record the program once without it, or name a run: --lines auto:RUN)"
        )
    return max(runs, key=os.path.getmtime)


def escaped(text: str) -> str:
    return "".join("\\" + char if char in "*?[\\" else char for char in text)


def hottest(rows: list[dict[str, str]]) -> list[tuple[str, str]]:
    sums: dict[tuple[str, str], int] = {}
    for row in rows:
        key = row["file"], row["function"]
        sums[key] = sums.get(key, 0) + int(row["here_ns"])
    return sorted(sums, key=lambda key: -sums[key])[:MOST]


def patterns(run: str) -> tuple[str, ...]:
    import csv

    try:
        status, said = _launch.run_command(["lines", "--csv", run], 1)
    except OSError as error:
        raise _launch.UsageError(f"--lines auto: {_launch.command_path()}: {error.strerror} (install allranks again)") from None
    if status:
        sys.exit(2)  # the command has said why
    rows = csv.DictReader(said.decode("utf-8", "surrogateescape").splitlines())
    found = tuple(f"{escaped(file)}:{escaped(name)}" for file, name in hottest(list(rows)))
    if not found:
        raise _launch.UsageError(f"--lines auto: no Python function of {run} has lines")
    return found


def replace_auto(options: _launch.Options) -> None:
    values = options.values
    wanted: list[str] = []
    for each in values["lines"]:
        if each == "auto":
            wanted.extend(patterns(newest_run(values["output"] or _launch.default_output(options))))
        elif each.startswith("auto:"):
            wanted.extend(patterns(each[len("auto:") :]))
        else:
            wanted.append(each)
    values["lines"] = tuple(wanted)
