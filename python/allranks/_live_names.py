# SPDX-License-Identifier: BSD-3-Clause
"""Names in the directory of live files, as far as Python needs them. All of them are in src/format/live_names.h.

A Python that MPI_Comm_spawn has started looks for a note before it loads anything else of allranks, so it does not ask C. A test
holds both to the same list of names.
"""

import os


def homes() -> "list[str]":
    """Where the user's live files are, unless --live-dir says otherwise."""
    chosen = os.environ.get("TMPDIR", "")
    places = ["/dev/shm", *([chosen] if chosen.startswith("/") and chosen != "/tmp" else []), "/tmp"]
    return [f"{place}/allranks-{os.geteuid()}" for place in places]


def is_number(text: str, n_bits: int) -> bool:
    return text.isascii() and text.isdigit() and int(text) < 1 << n_bits


def pid_in(word: str, letter: str) -> int:
    """Of "p100-7", or "p100-7-2" where that name was taken; 0: it is something else."""
    pid, *numbers = word[1:].split("-")
    fits = word.startswith(letter) and len(numbers) in (1, 2) and is_number(pid, 32) and all(is_number(n, 64) for n in numbers)
    return int(pid) if fits else 0


def spawner(name: str) -> int:
    """The process that has left this note for Pythons which it starts through MPI; 0: it is another file."""
    process, _, ending = name.rpartition(".")
    root, *children = process.split(".")
    if root.startswith("r"):
        rank, _, root = root[1:].partition("-")
        root = root if is_number(rank, 32) else ""
    pids = [pid_in(root, "p"), *(pid_in(child, "c") for child in children)]
    return pids[-1] if ending == "spawns" and all(pids) else 0
