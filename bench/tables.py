# SPDX-License-Identifier: BSD-3-Clause
"""How figures are shown: tables of at most 80 columns, and a limit beside each figure that has one."""

from __future__ import annotations

from typing import Any, NamedTuple

NO_FIGURE = "-"


class Check(NamedTuple):
    """A figure that is to stay below a limit; None where it could not be had."""

    what: str
    value: float | None
    limit: float
    form: str = ".2f"

    @property
    def verdict(self) -> str:
        if self.value is None:
            return "not available"
        return "ok" if self.value <= self.limit else "OVER"

    def as_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "value": self.value,
            "limit": self.limit,
            "verdict": self.verdict,
        }


class Outcome(NamedTuple):
    """What one measurement on one interpreter gives: what goes into the JSON, and what has limits."""

    data: dict[str, Any]
    checks: list[Check]

    def as_json(self) -> dict[str, Any]:
        return {**self.data, "checks": [check.as_json() for check in self.checks]}


def number(value: float | None, form: str = ".1f") -> str:
    return NO_FIGURE if value is None else format(value, form)


def title(text: str) -> None:
    print(f"\n{text}")


def note(text: str) -> None:
    print(f"  {text:.77}")


def heads(*names: str) -> None:
    """A name may take two lines: "floor|adds"."""
    parts = [name.rpartition("|") for name in names]
    row("", [upper for upper, _, _ in parts])
    row("", [lower for _, _, lower in parts])


def row(label: str, cells: list[str]) -> None:
    print(f"  {label:19}{''.join(f'{cell:>10}' for cell in cells)}".rstrip())


def verdict_row(check: Check) -> None:
    limit = f"limit {check.limit:{check.form}}"
    print(f"  {check.what:45}{number(check.value, check.form):>10}  {limit:14}{check.verdict}")


def summary(checks: dict[str, list[Check]]) -> None:
    """One line for each limit, one column for each interpreter: six of them fit."""
    title("All limits (! is over)")
    names: list[str] = []
    for of_one in checks.values():
        names += [check.what for check in of_one if check.what not in names]
    print(f"  {'':30}" + "".join(f"{version:>8}" for version in checks))
    for name in names:
        found = {
            version: next((c for c in of_one if c.what == name), None)
            for version, of_one in checks.items()
        }
        print(f"  {name:30}" + "".join(f"{cell(check):>8}" for check in found.values()))


def cell(check: Check | None) -> str:
    if check is None:
        return ""
    return number(check.value, check.form) + ("!" if check.verdict == "OVER" else "")
