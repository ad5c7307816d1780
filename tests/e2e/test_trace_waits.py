# SPDX-License-Identifier: BSD-3-Clause
"""Messages of a trace are matched as MPI did it; exact waits and the critical path are those of a slow reference, and of programs
whose waits are arithmetic.
"""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict

import pytest
import trace_reference as reference
from harness import Sandbox, workload

SLACK_S = 0.005  # two processes look at one clock, and are put off their processors in between
N_RANKS = 4
FIRST_LINE = 20  # of planted_trace_waits.py that is no import


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def trace(mpi: Sandbox, n: int, program: str, *words: str) -> str:
    done = mpi.recorded_ranks(n, workload(program), *words, options=("--trace", "-o", "run.allranks"))
    assert done.code == 0, done
    return "run.allranks"


def asked(mpi: Sandbox, *words: str) -> str:
    done = mpi.allranks(*words)
    assert done.code == 0, done
    return done.out


# ---- who received what ----


class Log:
    """What the program noted of a rank, in the order of its events in the trace: those that were not recorded are not in it."""

    def __init__(self, mpi: Sandbox, rank: int) -> None:
        noted = mpi.read_json(f"messages-{rank}.json")
        self.of = {kind: [number for number, is_on in noted[kind] if is_on] for kind in ("sends", "receives")}


def numbers_of_events(mpi: Sandbox, run: str) -> dict[tuple[int, int], int]:
    """The number of the message that each event of the program's own sends or receives: by rank, and which event it is."""
    logs = [Log(mpi, rank) for rank in range(N_RANKS)]
    n_events: dict[int, int] = defaultdict(int)
    n_seen: dict[tuple[int, str], int] = defaultdict(int)
    found = {}
    for row in table(asked(mpi, "dump", run, "--csv")):
        if row["event"] in ("enter", "leave", "on", "off", "parameter", "full"):
            continue
        rank = int(row["rank"])
        kind = "sends" if row["event"] in reference.SENDS else "receives" if row["event"] in reference.RECEIVES else ""
        if kind:
            found[rank, n_events[rank]] = logs[rank].of[kind][n_seen[rank, kind]]
            n_seen[rank, kind] += 1
        n_events[rank] += 1
    for rank, log in enumerate(logs):
        assert [n_seen[rank, kind] for kind in log.of] == [len(numbers) for numbers in log.of.values()]
    return found


def pairs(mpi: Sandbox, run: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    rows = table(asked(mpi, "dump", run, "--pairs", "--csv"))
    assert all(int(row["sent_ns"]) < int(row["received_ns"]) for row in rows)
    return [((int(row["from_rank"]), int(row["from_event"])), (int(row["to_rank"]), int(row["to_event"]))) for row in rows]


@pytest.mark.parametrize("seed", [1, 2])
def test_messages_are_matched(mpi: Sandbox, seed: int):
    run = trace(mpi, N_RANKS, "traced_messages.py", str(seed), "150")
    numbers, found = numbers_of_events(mpi, run), pairs(mpi, run)
    assert len(found) == len(numbers) // 2 > 200
    assert all(numbers[sent] == numbers[received] for sent, received in found)
    assert "not matched" not in mpi.allranks("dump", run, "--pairs").err


@pytest.mark.parametrize("seed", [3, 4])
def test_no_message_is_matched_wrongly_where_the_trace_has_gaps(mpi: Sandbox, seed: int):
    run = trace(mpi, N_RANKS, "traced_messages.py", str(seed), "300", "gaps")
    numbers, found = numbers_of_events(mpi, run), pairs(mpi, run)
    assert all(numbers[sent] == numbers[received] for sent, received in found)
    both = sum(list(numbers.values()).count(number) == 2 for number in set(numbers.values()))
    assert both / 2 < len(found) <= both < len(set(numbers.values()))
    assert "other end not in the trace" in mpi.allranks("dump", run, "--pairs").err


# ---- beside the reference ----


@pytest.mark.parametrize("seed", [5, 6])
def test_waits_are_those_of_the_reference(mpi: Sandbox, seed: int):
    run = trace(mpi, N_RANKS, "traced_messages.py", str(seed), "120")
    calls, spans = reference.read_calls(asked(mpi, "dump", run, "--csv"))
    expected = reference.find_waits(calls, {rank: str(rank % 2) for rank in range(N_RANKS)})
    found = table(asked(mpi, "waits", run, "--trace", "--csv"))

    def key(row: dict[str, str]) -> tuple:
        numbers = (int(row[name]) for name in ("rank", "from_ns", "until_ns", "late_rank", "indirect_ns"))
        return (*numbers, row["wait_class"])

    of_reference = [(w.rank, w.start, w.until, w.late, reference.indirect(w, expected), w.why) for w in expected]
    assert sorted(map(key, found)) == sorted(of_reference)
    assert len({row["wait_class"] for row in found}) >= 5

    parts = [tuple(int(row[name]) for name in ("from_ns", "until_ns", "rank"))
             for row in table(asked(mpi, "waits", run, "--critical-path", "--csv"))]  # fmt: skip
    assert parts == reference.critical_path(expected, spans)


# ---- programs whose waits are arithmetic ----


def planted(mpi: Sandbox) -> tuple[str, list[dict[str, list[float]]]]:
    run = trace(mpi, 3, "planted_trace_waits.py")
    return run, [mpi.read_json(f"planted-{rank}.json") for rank in range(3)]


def seconds(row: dict[str, str], of: str, to: str) -> float:
    return (int(row[to]) - int(row[of])) / 1e9


@pytest.mark.alone
def test_planted_waits(mpi: Sandbox):
    """By the program's own clock: which rank waits in which step, and for how long; and where the critical path goes."""
    run, noted = planted(mpi)
    found = table(asked(mpi, "waits", run, "--trace", "--csv"))

    def wait(why: str, rank: int, function: str) -> list[dict[str, str]]:
        return [row for row in found if row["wait_class"] == why and row["rank"] == str(rank)
                and row["function"].removesuffix("_c") == function and seconds(row, "from_ns", "until_ns") > 0.03]  # fmt: skip

    def expected(step: str, waiting: int, late: int) -> float:
        return noted[late][step][1] - noted[waiting][step][0]

    (first,) = wait("late_sender", 1, "MPI_Recv")
    assert first["late_rank"] == "0"
    assert seconds(first, "from_ns", "until_ns") == pytest.approx(expected("send", 1, 0), abs=SLACK_S)
    (handed_on,) = wait("late_sender", 2, "MPI_Recv")
    assert handed_on["late_rank"] == "1" and int(handed_on["indirect_ns"]) / 1e9 == pytest.approx(
        seconds(first, "from_ns", "until_ns"), abs=SLACK_S
    )
    (receiver,) = wait("late_receiver", 0, "MPI_Ssend")
    assert receiver["late_rank"] == "1"
    assert seconds(receiver, "from_ns", "until_ns") == pytest.approx(expected("receive", 0, 1), abs=SLACK_S)
    for rank in (0, 1):
        (root,) = wait("late_broadcast", rank, "MPI_Bcast")
        assert root["late_rank"] == "2"
        assert seconds(root, "from_ns", "until_ns") == pytest.approx(expected("root", rank, 2), abs=SLACK_S)
    (early,) = wait("early_reduce", 0, "MPI_Reduce")
    assert early["late_rank"] == "1"
    assert seconds(early, "from_ns", "until_ns") == pytest.approx(expected("reduce", 0, 1), abs=SLACK_S)


@pytest.mark.alone
def test_planted_critical_path(mpi: Sandbox):
    """Each planted piece of work is on it, as long as it took, and whoever did it made others wait."""
    run, noted = planted(mpi)
    answer = json.loads(asked(mpi, "waits", run, "--critical-path", "--json"))
    functions = {row["function"]: row for row in answer["critical_path_functions"]}
    for name, rank, step in (("slow_sender", 0, "send"), ("slow_receiver", 1, "receive"), ("slow_root", 2, "root"), ("slow_member", 1, "reduce")):  # fmt: skip
        took = noted[rank][step][1] - noted[rank][step][0]
        assert functions[name]["on_path_ns"] / 1e9 == pytest.approx(took, abs=SLACK_S), name
        assert functions[name]["caused_ns"] / 1e9 >= took - SLACK_S, name
    assert "not_needed" not in functions or functions["not_needed"]["on_path_ns"] < 0.02e9
    path, parts = answer["critical_path"], answer["critical_path_parts"]
    assert path["length_ns"] == path["end_ns"] - path["start_ns"]
    assert sum(part["until_ns"] - part["from_ns"] for part in parts) == path["length_ns"]
    assert all(a["until_ns"] == b["from_ns"] for a, b in zip(parts, parts[1:]))
    assert sum(row["on_path_ns"] for row in answer["critical_path_functions"]) == path["length_ns"]
    assert sum(row["on_path_ns"] for row in answer["trace_wait_ranks"]) == path["length_ns"]


@pytest.mark.alone
def test_beside_waits_of_the_profile(mpi: Sandbox):
    """
    Both find the same waits, as long, on the same lines: they know the same times. They differ in what they call indirect: the profile
    charges what the late one has more of than the waiting one, the trace what the late one does meanwhile. And the profile has
    waits that it guesses, of members that MPI does not need, which the trace has not. MPI_Init is at another line: the profile shows
    an import as one call.
    """
    run, _ = planted(mpi)
    by_trace = json.loads(asked(mpi, "waits", run, "--trace", "--json"))["trace_waits"]
    by_profile = json.loads(asked(mpi, "waits", run, "--json"))["waits"]
    sums: list[dict[tuple, float]] = []
    for rows in (by_trace, by_profile):
        sums.append(defaultdict(float))
        for row in rows:
            if row["file"] and row["file"].endswith("planted_trace_waits.py") and row["line"] > FIRST_LINE:
                sums[-1][row["wait_class"], row["line"]] += row["waited_ns"] / 1e9
    large = {key for each in sums for key, waited in each.items() if waited > 0.03 and not key[0].startswith("late_member")}
    assert len(large) >= 5
    for key in large:
        assert sums[0][key] == pytest.approx(sums[1][key], abs=SLACK_S), key


BLAME_SLACK_S = 0.04  # of splitting a wait among functions: what they take besides their loops


@pytest.mark.alone
def test_profile_and_trace_blame_different_functions(mpi: Sandbox):
    """
    Rank 1 does `extra`, then `common`; rank 0 only `common`, and waits as long as `extra` took. Both know the wait alike. The profile charges what rank 1 had more of,
    `extra`: without it there were no wait. The trace says what rank 1 did meanwhile: `common`, all the time.
    """
    run = trace(mpi, 2, "blame_differs.py")
    noted = [mpi.read_json(f"blame-{rank}.json") for rank in range(2)]
    wait = noted[1]["barrier"][0] - noted[0]["barrier"][0]
    took = noted[1]["extra"][1] - noted[1]["extra"][0]
    assert wait == pytest.approx(took, abs=BLAME_SLACK_S)

    waits = [row for row in table(asked(mpi, "waits", run, "--trace", "--csv")) if row["function"] == "MPI_Barrier" and row["rank"] == "0"]
    assert max(seconds(row, "from_ns", "until_ns") for row in waits) == pytest.approx(wait, abs=SLACK_S)
    by_trace = {row["function"]: row["caused_ns"] / 1e9
                for row in json.loads(asked(mpi, "waits", run, "--critical-path", "--json"))["critical_path_functions"]}  # fmt: skip
    by_profile: dict[str, float] = defaultdict(float)
    for row in json.loads(asked(mpi, "waits", run, "--json"))["wait_ranks"]:
        if row["line"] == 41 and row["role"] == "cause":
            by_profile[row["function"]] += row["waited_ns"] / 1e9
    assert sum(by_profile.values()) == pytest.approx(wait, abs=SLACK_S)
    assert by_profile["extra"] == pytest.approx(took, abs=BLAME_SLACK_S) and by_trace["extra"] == pytest.approx(0, abs=SLACK_S)
    assert by_trace["common"] == pytest.approx(wait, abs=SLACK_S) and by_profile["common"] == pytest.approx(0, abs=BLAME_SLACK_S)
