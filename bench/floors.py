# SPDX-License-Identifier: BSD-3-Clause
"""Compiles floor.c for an interpreter, with the interpreter's own settings."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

from rounds import BENCH, BUILD, Failed, Interpreter, run

SOURCE = BENCH / "floor.c"
SETTINGS = """
import json, sysconfig
get = sysconfig.get_config_var
print(json.dumps([get("CC"), get("CFLAGS"), get("CCSHARED"), sysconfig.get_path("include"), get("EXT_SUFFIX")]))
"""


def build(interpreter: Interpreter) -> Path:
    """The directory that holds the module."""
    answer = run([interpreter.python, "-c", SETTINGS], "/")
    cc, cflags, shared, include, suffix = json.loads(answer)
    directory = BUILD / f"floor-{interpreter.name}"
    target = directory / f"floor{suffix}"
    if not target.exists() or target.stat().st_mtime < SOURCE.stat().st_mtime:
        directory.mkdir(parents=True, exist_ok=True)
        flags = shlex.split(f"{cflags} {shared}")
        compile_module([*shlex.split(cc), *flags, "-shared", f"-I{include}"], target)
    return directory


def compile_module(command: list[str], target: Path) -> None:
    done = subprocess.run(
        [*command, str(SOURCE), "-o", str(target)], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise Failed(f"{SOURCE.name} does not compile: {done.stderr.strip()}")
