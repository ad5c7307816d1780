#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The include law again, by what is linked: a function may be declared below and defined above. Run by `make lint`.

    check_symbols.py BUILD      a meson build directory

Includes do not show that a file calls upward into one that has no header of that name. So the symbols of all objects are
compared with the arrows: those between folders (check_includes.py), and in the runtime those between the layers below.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from check_includes import MAY_SEE

# Each sees those before it.
LAYERS = {
    "live": "elf_slots identity livemap spending started",
    "tree": "blocking budget c_cheap counters measures node_table open_path sources stretches threads tracer tree",
    "python": "annotations c_function c_identity c_scan c_source c_specials c_stubs engine engine_frame_eval engine_monitoring engine_trace filter_rules filters function_switch functions "
    "chosen_lines line_events line_functions monitoring pyframe pyread python_thread pyversion regions tasks trace_functions",
    "mpi": "mpi4py_methods mpi_call mpi_channels mpi_comms mpi_hook mpi_libraries mpi_message mpi_mpich mpi_openmpi mpi_requests "
    "mpi_standard mpi_syncs mpi_traffic petsc_library petsc_log",
    "job": "after_run clock_offsets closing_line endings family finalize_merge keep last_export mpi_events notefiles output own_files "
    "process_hook recording recording_state rollcall sites source_table spawning terminated",
    "top": "counting_object line_counter line_counts module pairs profile_object profile_results recording_options timer_result",
}
LAYER_OF = {unit: layer for layer, units in LAYERS.items() for unit in units.split()}
ORDER = list(LAYERS)


def objects(build: Path) -> Iterator[tuple[str, str, Path]]:
    """Folder, unit and file. meson calls the object of src/base/arena.c base_arena.c.o, in a folder of its target."""
    for path in sorted(build.glob("src/**/*.c.o")):
        name = path.name.removesuffix(".c.o")
        folder, _, unit = name.partition("_")
        if path.parent.parent.name in MAY_SEE:  # a target of its own folder
            yield path.parent.parent.name, name, path
        elif folder in MAY_SEE:
            yield folder, unit, path


def symbols(path: Path) -> tuple[set[str], set[str]]:
    """Those that it defines for others, and those that it needs."""
    listed = subprocess.run(["nm", "-g", str(path)], capture_output=True, text=True, check=True)
    defined, needed = set(), set()
    for line in listed.stdout.splitlines():
        *_, kind, name = line.split()
        (needed if kind == "U" else defined).add(name)
    return defined, needed


def is_against(user: tuple[str, str], owner: tuple[str, str]) -> bool:
    if owner[0] not in MAY_SEE[user[0]]:
        return True
    if user[0] != "runtime" or owner[0] != "runtime":
        return False
    if user[1] not in LAYER_OF or owner[1] not in LAYER_OF:
        return False  # said once, see check
    return ORDER.index(LAYER_OF[owner[1]]) > ORDER.index(LAYER_OF[user[1]])


def check(build: Path) -> Iterator[str]:
    owners: dict[str, tuple[str, str]] = {}
    needs = []
    for folder, unit, path in objects(build):
        defined, needed = symbols(path)
        owners.update(dict.fromkeys(defined, (folder, unit)))
        needs.append(((folder, unit), needed))
    if not needs:
        yield f"{build}: there are no objects (make build)"
    new = sorted(unit for (folder, unit), _ in needs if folder == "runtime" and unit not in LAYER_OF)
    yield from (f"src/runtime/{unit}.c is in no layer: add it to LAYERS in tools/check_symbols.py" for unit in new)
    yield from sorted(
        f"src/{'/'.join(user)}.c uses {name} of src/{'/'.join(owners[name])}.c: against an arrow"
        for user, needed in needs
        for name in needed
        if name in owners and is_against(user, owners[name])
    )


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    findings = list(check(Path(sys.argv[1])))
    print("\n".join(findings), end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
