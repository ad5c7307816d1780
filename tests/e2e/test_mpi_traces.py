# SPDX-License-Identifier: BSD-3-Clause
"""Random programs of messages: the trace of each rank has what the program noted, message for message, in the same order, each inside a
call of MPI; a request has one number from where it was posted to where it has ended.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict

import pytest
from harness import Sandbox, workload
from trace_reading import Row, check_paths, check_profile, check_sound, dump, load, threads_of

PROGRAM = workload("mpi_traced.py")
SEED = int(os.environ.get("ALLRANKS_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
STEPS = ("enter", "leave", "parameter", "off", "on", "full")
COLLECTIVE = ("collective", "collective-posted", "collective-done")


def record(mpi: Sandbox, n_ranks: int, seed: int, n_steps: int, *options: str) -> tuple[list[Row], list[list]]:
    print("ALLRANKS_SEED", seed)
    done = mpi.recorded_ranks(n_ranks, PROGRAM, str(seed), str(n_steps), options=("--trace", *options))
    assert done.code == 0, done
    return dump(mpi, "mpi_traced.allranks"), [mpi.read_json(f"noted-{rank}.json") for rank in range(n_ranks)]


def by_rank(rows: list[Row]) -> dict[int, list[Row]]:
    """Messages; of threads of MPI's own there are none."""
    found = defaultdict(list)
    for row in rows:
        if row.event not in STEPS:
            assert row.rank is not None and row.thread == 0, row
            found[row.rank].append(row)
    return found


def word_of(row: Row) -> list:
    """As the program would note it, without the number of the request."""
    tag = None if row.event in COLLECTIVE else row.tag
    return [row.event, row.communicator, row.peer, tag, row.bytes_out, row.bytes_in]


def told(note: list, row: Row) -> list:
    """What was probed has bytes that only its receive says."""
    return note[:4] + ([row.bytes_out, row.bytes_in] if note[0] == "probed" else note[4:6])


def check_rank(rows: list[Row], noted: list[list]) -> None:
    """In order. Open MPI gives sends that are done at once the same handle: which of them has ended is only known when all have."""
    found = [word_of(row) for row in rows]
    assert len(rows) == len(noted), (found[len(noted) :][:3], noted[len(found) :][:3])
    sends: list[list] = []
    expected_sends: list[list] = []
    n_open = 0
    for i, (row, note) in enumerate(zip(rows, noted)):
        word, expected = found[i], told(note, row)
        assert word[0] == expected[0], (i, found[max(i - 3, 0) : i + 3], noted[max(i - 3, 0) : i + 3])
        if word[0] == "send-done":
            sends.append(word)
            expected_sends.append(expected)
        else:
            assert word == expected, (i, found[max(i - 3, 0) : i + 3], noted[max(i - 3, 0) : i + 3])
        n_open += word[0].endswith("-posted")
        n_open -= word[0].endswith("-done")
        if not n_open:
            assert sorted(sends, key=repr) == sorted(expected_sends, key=repr)
            sends, expected_sends = [], []
    check_requests(rows)


def check_requests(rows: list[Row]) -> None:
    """A number is that of one request at a time, from where it was posted to where it has ended; calls that block have none."""
    is_open: dict[int, list] = {}
    for row in rows:
        if row.event.endswith("-posted"):
            assert row.request and row.request not in is_open, row
            is_open[row.request] = word_of(row)
        elif row.event.endswith("-done"):
            assert is_open.pop(row.request)[1:] == word_of(row)[1:], row
        else:
            assert row.request == 0, row
    assert is_open == {}


def check_sequences(found: dict[int, list[Row]]) -> None:
    """Collective calls of a communicator are counted from 0, and their numbers say which belong together."""
    calls: dict[str, list[list[tuple[int, str, int | None]]]] = defaultdict(list)
    for rows in found.values():
        own: dict[str, list[tuple[int, str, int | None]]] = defaultdict(list)
        for row in rows:
            if row.event in ("collective", "collective-posted"):
                own[row.communicator].append((row.sequence, row.function, row.peer))
        for name, each in own.items():
            assert [sequence for sequence, _, _ in each] == list(range(len(each))), (name, each)
            calls[name].append(each)
    for name, each in calls.items():
        assert all(other == each[0] for other in each), name


def check_inside_calls(rows: list[Row]) -> None:
    """Between the two ends of a call."""
    for thread in threads_of(rows).values():
        stack: list[Row] = []
        for row in thread:
            if row.event == "enter":
                stack.append(row)
            elif row.event == "leave":
                stack.pop()
            elif row.event not in STEPS:
                assert row.function.startswith("MPI_") and row.node == stack[-1].node, row


@pytest.mark.parametrize("n_ranks, seed", [(2, 1), pytest.param(3, SEED, id="3-any"), (4, 3)])
def test_messages_are_what_the_program_noted(mpi: Sandbox, n_ranks: int, seed: int):
    rows, noted = record(mpi, n_ranks, seed, 60)
    check_sound(rows)
    check_inside_calls(rows)
    found = by_rank(rows)
    assert sorted(found) == list(range(n_ranks))
    for rank in range(n_ranks):
        check_rank(found[rank], noted[rank])
    check_sequences(found)


def test_calls_of_all_ranks_add_up_to_the_profile(mpi: Sandbox):
    rows, noted = record(mpi, 3, SEED, 40, "--exact", "--builtins", "none")
    assert all(len(each) > 20 for each in noted)
    data = load(mpi, "mpi_traced.allranks")
    check_paths(data, rows)
    assert check_profile(data, rows) > 100
