# SPDX-License-Identifier: BSD-3-Clause
"""Traces pass through merging, selecting and copying without a change: the same events come out, whatever way they took."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from harness import Sandbox, workload
from hosts import two_hosts
from trace_reading import Row, check_sound, dump

PROGRAM = workload("mpi_traced.py")
MIB = 1 << 20
GOES_ON = """
import sys
from mpi4py import MPI
def calls(n):
    for i in range(n): leaf(i)
def leaf(i): return i
calls(int(sys.argv[1]))
MPI.COMM_WORLD.Barrier()
MPI.Finalize()
calls(50)
"""
GROWS = """
import json, sys
from mpi4py import MPI
def leaf(i): return i
def calls(n):
    for i in range(n): leaf(i)
def resident(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(name))
calls(int(sys.argv[1]))
MPI.COMM_WORLD.Barrier()
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before, rank = resident("VmRSS"), MPI.COMM_WORLD.rank
MPI.Finalize()
if rank == 0:
    with open("grown.json", "w") as file:
        json.dump(resident("VmHWM") - before, file)
"""


def steps(rows: list[Row]) -> Counter:
    """Without numbers of nodes and times of the run, which depend on what else is in it."""
    return Counter((row.rank, row.thread, row.event, row.implied, row.depth, row.function, row.file, row.line, row.peer, row.tag,
                    row.communicator, row.sequence, row.bytes_out, row.bytes_in, row.request, row.parameter, row.value)
                   for row in rows)  # fmt: skip


def order(rows: list[Row], rank: int) -> list[tuple]:
    return [(row.event, row.function, row.line, row.implied) for row in rows if row.rank == rank]


def record_parts(mpi: Sandbox) -> list[Path]:
    """A run file of each rank."""
    done = mpi.recorded_ranks(3, PROGRAM, "7", "30", options=("--trace", "--per-rank", "-o", "part.{rank}.allranks"))
    assert done.code == 0, done
    return [mpi.cwd / f"part.{rank}.allranks" for rank in range(3)]


def test_merged_from_parts_it_is_the_same(one_mpi: Sandbox):
    parts = record_parts(one_mpi)
    single = [dump(one_mpi, part) for part in parts]
    one_mpi.allranks("merge", *parts, "-o", "whole.allranks")
    whole = dump(one_mpi, "whole.allranks")
    check_sound(whole)
    assert steps(whole) == sum((steps(rows) for rows in single), Counter())
    for rank, rows in enumerate(single):
        assert order(whole, rank) == order(rows, rank)
    one_mpi.allranks("merge", "whole.allranks", "-o", "again.allranks")
    assert (one_mpi.cwd / "again.allranks").read_bytes() == (one_mpi.cwd / "whole.allranks").read_bytes()


def test_a_selection_has_the_events_of_its_ranks(one_mpi: Sandbox):
    done = one_mpi.recorded_ranks(3, PROGRAM, "8", "30", options=("--trace",))
    assert done.code == 0, done
    whole = dump(one_mpi, "mpi_traced.allranks")
    part = dump(one_mpi, "mpi_traced.allranks", "--ranks", "1-2")
    assert {row.rank for row in part} == {1, 2}
    assert steps(part) == steps([row for row in whole if row.rank != 0])
    first, last = window_of_all(whole, 3)
    window = dump(one_mpi, "mpi_traced.allranks", "--from", f"{first / 1e9:.9f}s", "--to", f"{last / 1e9:.9f}s")
    check_sound(window)
    assert all(first - 2 <= row.ns <= last + 2 for row in window)  # seconds are rounded
    for rank in range(3):
        assert inside(window, rank, first, last) == inside(whole, rank, first, last) != []


def window_of_all(rows: list[Row], n_ranks: int) -> tuple[int, int]:
    """In which each rank has a sixth of its events, however far apart a busy machine runs them."""
    times = [[row.ns for row in rows if row.rank == rank] for rank in range(n_ranks)]
    return min(each[len(each) // 3] for each in times), max(each[len(each) // 2] for each in times)


def inside(rows: list[Row], rank: int, first: int, last: int) -> list[tuple]:
    """Messages are told of calls that end in the window."""
    found: list[tuple] = []
    messages: list[tuple] = []
    for row in rows:
        if row.rank != rank:
            continue
        is_inside = not row.implied and first + 2 < row.ns < last - 2
        if row.event in ("enter", "leave", "parameter", "off", "on", "full"):
            found += [*messages, (row.ns, row.event, row.node)] if is_inside else []
            messages = []
        elif is_inside:
            messages.append((row.ns, row.event, row.node))
    return found


def test_a_copy_is_read_where_it_lies(one_mpi: Sandbox):
    done = one_mpi.recorded_ranks(2, PROGRAM, "9", "20", options=("--trace",))
    assert done.code == 0, done
    run = one_mpi.cwd / "mpi_traced.allranks"
    rows = dump(one_mpi, run)
    (one_mpi.cwd / "elsewhere").mkdir()
    shutil.move(run, one_mpi.cwd / "elsewhere" / "moved.allranks")
    assert dump(one_mpi, "elsewhere/moved.allranks") == rows


def test_a_file_that_is_cut_says_so(one_mpi: Sandbox):
    """The profile is there, its trace in part: never wrong events, a crash or silence."""
    done = one_mpi.recorded_ranks(2, PROGRAM, "9", "20", options=("--trace",))
    assert done.code == 0, done
    content = (one_mpi.cwd / "mpi_traced.allranks").read_bytes()
    for share in (0.3, 0.7, 0.99):
        (one_mpi.cwd / "cut.allranks").write_bytes(content[: int(share * len(content))])
        cut = one_mpi.allranks("dump", "cut.allranks")
        assert cut.code == 2 and cut.out == "" and cut.err.startswith("allranks: error: cut.allranks: "), cut
        assert "truncated" in cut.err or ("the file is cut off: " in cut.err and cut.err.count("cut.allranks") == 1), cut
    for words in (["report"], ["info"], ["waits"]):  # the sections are in front of the trace
        whole = one_mpi.allranks(*words, "cut.allranks")
        assert whole.code == 0 and whole.err.count("\n") == 1, whole
        assert "the file is cut off: " in whole.err and "the profile is whole" in whole.err, whole
    assert "lost       nothing" not in one_mpi.allranks("info", "cut.allranks").out
    refused = one_mpi.allranks("info", "--check", "cut.allranks")
    assert refused.code == 2 and "cut off" in refused.err + refused.out, refused
    (one_mpi.cwd / "cut.allranks").write_bytes(content[:-1000])
    merged = one_mpi.allranks("merge", "cut.allranks", "-o", "all.allranks")
    assert merged.code == 2 and "the file is cut off: " in merged.err and not (one_mpi.cwd / "all.allranks").exists(), merged
    damaged = bytearray(content)
    damaged[-2000] ^= 1
    (one_mpi.cwd / "damaged.allranks").write_bytes(damaged)
    read = one_mpi.allranks("info", "--check", "damaged.allranks")
    assert read.code != 0, read


@pytest.mark.parametrize("n_calls", [10, 3000, 60000])
def test_a_program_that_goes_on_after_the_ranks_were_merged(one_mpi: Sandbox, n_calls: int):
    """Its trace is longer then, in the same chunk or in another one."""
    (one_mpi.cwd / "goes_on.py").write_text(GOES_ON)
    done = one_mpi.recorded_ranks(2, "goes_on.py", str(n_calls), options=("--trace",))
    assert done.code == 0, done
    rows = dump(one_mpi, "goes_on.allranks")
    check_sound(rows)
    leaves = Counter(row.rank for row in rows if row.event == "leave" and row.name == "leaf")
    assert leaves == {0: n_calls + 50, 1: n_calls + 50}


def grown(mpi: Sandbox, n_calls: int, *options: str) -> int:
    (mpi.cwd / "grows.py").write_text(GROWS)
    done = mpi.recorded_ranks(4, "grows.py", str(n_calls), options=(*options, "-o", f"grows{len(options)}.allranks"))
    assert done.code == 0, done
    return mpi.read_json("grown.json")


def test_rank_0_needs_little_memory_to_merge_and_events_few_bytes(one_mpi: Sandbox):
    """Of 16 million events: 48 MB, of which rank 0 may not hold as much as the limit says."""
    n_calls = 2_000_000
    plain, traced = grown(one_mpi, n_calls), grown(one_mpi, n_calls, "--trace")
    assert traced - plain <= 64 * MIB, (plain, traced)
    sizes = [(one_mpi.cwd / f"grows{n}.allranks").stat().st_size for n in (0, 1)]
    assert 4 * 2 * n_calls * 2 < sizes[1] - sizes[0] <= 4 * 2 * n_calls * 4, sizes


def test_ranks_that_share_no_files(one_mpi: Sandbox):
    with two_hosts(one_mpi) as hosts:
        done = one_mpi.run(hosts.launcher(one_mpi.stack.python, "-m", "allranks", "--trace", PROGRAM, "11", "30"))
        assert done.code == 0, done
        home = hosts.bring_home(0, ".", Path("home"))
    rows = dump(one_mpi, home / "mpi_traced.allranks")
    check_sound(rows)
    assert {row.rank for row in rows} == {0, 1, 2, 3}
    messages = Counter(row.rank for row in rows if row.communicator)
    assert all(messages[rank] > 20 for rank in range(4))
    assert one_mpi.answer("info", "--check", home / "mpi_traced.allranks")
