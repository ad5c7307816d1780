# SPDX-License-Identifier: BSD-3-Clause
"""A drop-in for the timers of PyOP2: see profiling.py, and docs/drop-ins.md."""

from __future__ import annotations

import sys

from allranks.compat.pyop2 import profiling

__all__ = ["timing"]


def timing(name: str, reset: bool = False, total: bool = True) -> float:
    """That of pyop2.profiling, which is the original's if the original has one."""
    found = sys.modules.get("pyop2.profiling", profiling)
    seconds: float = found.timing(name, reset=reset, total=total)
    return seconds


def main() -> None:
    from allranks._launch import complain

    complain("pyop2: a module for programs to import, with nothing to run (try: allranks run --as pyop2 SCRIPT)")
    sys.exit(2)
