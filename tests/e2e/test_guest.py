# SPDX-License-Identifier: BSD-3-Clause
"""The runtime is a guest in the program's process: it brings nothing along and shows nothing of itself."""

import subprocess
from pathlib import Path

from harness import Sandbox

EXPORTED = {"PyInit__runtime"}
LIBRARIES = {"libc.so.6", "libdl.so.2", "libpthread.so.0"}  # the last two are part of libc where it is new


def runtime_of(python: Sandbox) -> Path:
    code = "import allranks._runtime; print(allranks._runtime.__file__)"
    done = subprocess.run(
        [python.stack.python, "-c", code], capture_output=True, text=True, check=True
    )
    return Path(done.stdout.strip())


def lines_of(*command: object) -> list[str]:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_it_exports_nothing_but_its_entry(python: Sandbox):
    symbols = lines_of("nm", "-D", "--defined-only", runtime_of(python))
    assert {line.split()[-1] for line in symbols} == EXPORTED


def test_it_needs_no_library_but_libc(python: Sandbox):
    dynamic = lines_of("readelf", "-d", runtime_of(python))
    needed = {line.split("[")[1].rstrip("]") for line in dynamic if "(NEEDED)" in line}
    assert needed - LIBRARIES == set()
    assert not any("TEXTREL" in line or "RPATH" in line for line in dynamic)


def test_it_keeps_no_descriptor_and_no_thread(python: Sandbox):
    program = python.cwd / "counts_itself.py"
    program.write_text(
        "import os\n"
        "def mine():\n"
        "    return sorted(os.listdir('/proc/self/fd')), len(os.listdir('/proc/self/task'))\n"
        "print(mine())\n"
    )
    plain, recorded = python.plain(program.name), python.recorded(program.name, options=("-q",))
    assert plain.code == recorded.code == 0
    assert plain.out == recorded.out
