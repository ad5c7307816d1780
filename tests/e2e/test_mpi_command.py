# SPDX-License-Identifier: BSD-3-Clause
"""`allranks mpi` and `allranks ranks`, on live files made by hand whose sums are known (live_writing.py), and on runs
that have less to tell.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from harness import ROOT, Sandbox, workload
from live_writing import MS, ring_rank, write_ring

N = 4
SCREENS = (
    ("mpi",),
    *(("mpi", "--by", what) for what in ("path", "function", "class", "communicator", "peer", "size")),
    *(("mpi", f"--matrix={what}") for what in ("bytes", "messages", "time")),
    ("mpi", "--requests"),
    ("mpi", "--ranks", "1-2"),
    ("ranks",),
    ("ranks", "--inclusive"),
)


@pytest.fixture
def ring(python: Sandbox) -> Path:
    return write_ring(python.cwd / "ring", N)


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def named(rows: list[dict], name: str) -> dict:
    (row,) = (row for row in rows if row["name"] == name)
    return row


def check_screen(done) -> None:
    lines = done.out.splitlines()
    assert done.code == 0 and done.err == "", str(done)
    assert len(lines) <= 24 and max(map(len, lines)) <= 80, str(done)


def test_every_screen_fits(python: Sandbox, ring: Path):
    for words in SCREENS:
        check_screen(python.allranks(*words, ring))
    check_screen(python.allranks("mpi", ring, "halo.py:51"))
    check_screen(python.allranks("mpi", ring, "exchange"))
    check_screen(python.allranks("ranks", ring, "step"))
    check_screen(python.allranks("report", ring.name))
    many = write_ring(python.cwd / "many", 16)
    for words in SCREENS:
        check_screen(python.allranks(*words, many))
    more = write_ring(python.cwd / "more", 33)
    assert max(map(len, python.allranks("mpi", "--matrix", more).out.splitlines())) <= 80


def test_what_the_screens_say(python: Sandbox, ring: Path):
    text = python.answer("mpi", ring).decode()
    assert "4 ranks on 1 host" in text and "in MPI 483.5 ms, 48.4 %: wait 25 %, collective 23 %" in text
    assert "out 641.3 kB, in 643.3 kB, 80 messages, 3 communicators" in text
    assert " Comm.bcast      heat.py:25       4  0.060   6  1.0k  3.0k  1.0k 0.060-0.060\n" in text
    assert "pickling 0.001, within MPI 0.030, unpickling 0.004\n" in text
    assert "MPI_Isend " in text and "Isend_c" not in text  # mpi4py chooses which of them it is
    assert "MPI_Bcast" not in text  # it is the method's

    matrix = python.answer("mpi", "--matrix=messages", ring).decode().splitlines()[-N:]
    assert [line.split()[1:] for line in matrix] == [
        [".", "10", ".", "10"],
        ["10", ".", "10", "."],
        [".", "10", ".", "10"],
        ["10", ".", "10", "."],
    ]
    one = python.answer("mpi", ring, "halo.py:51").decode()
    assert "Irecv      halo.py:45   Waitall    halo.py:51         80    12.0 ms    10.0 ms" in one
    assert "MPI_Allreduce" not in one
    ranks = python.answer("ranks", ring, "step").decode()
    assert "mean 0.102, sd 0.001, least 0.100 (0), most 0.103 (3)" in ranks
    assert [line.split()[:2] for line in ranks.splitlines()[-N:]] == [["rank", str(i)] for i in range(N)]
    assert "MPI_Isend" in python.answer("ranks", ring, "halo.py:46").decode()


def check_json(told: dict) -> None:
    assert (told["schema"], told["version"], told["ranks"]) == ("allranks.mpi", 1, N)
    assert told["mpi_ns"] == sum(485 * MS - rank * MS for rank in range(N)) / N
    bcast = named(told["paths"], "Comm.bcast")
    assert (bcast["operation"], bcast["file"], bcast["line"], bcast["caller"]) == (True, "/home/ada/heat.py", 25, "main")
    assert (bcast["bytes_out"], bcast["bytes_in"], bcast["time_ns"]["mean"]) == (1000, 3000, 60 * MS)
    assert (bcast["pickling_ns"], bcast["within_mpi_ns"], bcast["unpickling_ns"]) == (5 * MS, N * 30 * MS, 15 * MS)
    assert (bcast["waiting_ns"], bcast["transferring_ns"]) == (None, None), "waits were not recorded"
    isend = named(told["functions"], "MPI_Isend")
    assert (isend["class"], isend["calls"], isend["bytes_out"], isend["messages_out"]) == ("p2p", 80, 640_000, 80)
    reduce = named(told["paths"], "MPI_Allreduce")["time_ns"]
    assert (reduce["min"], reduce["min_rank"], reduce["max"], reduce["max_rank"]) == (197 * MS, 3, 200 * MS, 0)
    assert [(c["name"], c["origin"], c["parent"], c["hidden"]) for c in told["communicators"]] == [
        ("MPI_COMM_WORLD", "world", None, False), ("MPI_COMM_SELF", "self", None, False), ("", "dup", 0, True),
        ("ring", "split", 0, False),
    ]  # fmt: skip
    assert (told["communicators"][3]["file"], told["communicators"][3]["line"]) == ("/home/ada/heat.py", 15)
    by_comm = {row["communicator"]: row for row in told["by_communicator"]}
    assert by_comm[0]["messages_out"] == 41 and by_comm[3]["bytes_in"] == 640_000 and 2 not in by_comm
    assert {row["class"]: row["messages_out"] for row in told["by_size"]} == {4: 40, 10: 1, 13: 80}
    peers = {row["rank"]: row for row in told["by_peer"] if row["kind"] == "rank"}
    assert sorted(peers) == [0, 1, 2, 3] and peers[1]["messages_out"] == 20
    (collective,) = (row for row in told["by_peer"] if row["kind"] == "all")
    assert collective["messages_in"] == 40
    assert {(p["from"], p["to"]): (p["messages"], p["bytes"]) for p in told["matrix"]} == {
        (rank, peer % N): (10, 80_000) for rank in range(N) for peer in (rank - 1, rank + 1)
    }
    receive, send = told["requests"]
    assert (receive["posted"]["name"], receive["posted"]["line"], receive["completed"]["line"]) == ("MPI_Irecv", 45, 51)
    assert (receive["n"], receive["in_flight_ns"], receive["waited_ns"]) == (80, 80 * 12 * MS, 80 * 10 * MS)
    assert receive["exposed_ns"] == 80 * 10 * MS
    assert send["posted"]["name"] == "MPI_Isend"


def test_json_and_sheets_tell_the_same(python: Sandbox, ring: Path):
    check_json(json.loads(python.answer("mpi", "--json=1", ring)))
    assert python.allranks("merge", ring, "-o", "ring.allranks").code == 0
    check_json(json.loads(python.answer("mpi", "--json=1", "ring.allranks")))

    rows = rows_of(python.answer("mpi", "--csv", ring).decode())
    assert next(row for row in rows if row["function"] == "Comm.bcast")["unpickling_ns"] == str(15 * MS)
    assert rows_of(python.answer("mpi", "--csv", "--matrix", ring).decode())[0] == {
        "from_rank": "0", "to_rank": "1", "messages": "10", "bytes": "80000", "time_ns": str(3 * MS // 2),
    }  # fmt: skip
    assert rows_of(python.answer("mpi", "--csv", "--requests", ring).decode())[0]["requests"] == "80"
    by_name = [row["function"] for row in rows_of(python.answer("mpi", "--csv", "--sort", "name", ring).decode())]
    assert by_name == sorted(by_name)

    told = json.loads(python.answer("ranks", "--json=1", ring, "step"))
    (step,) = told["functions"]
    assert [rank["self_ns"] for rank in step["by_rank"]] == [(100 + rank) * MS for rank in range(N)]
    assert round(step["self_ns"]["sd"]) == round(1.25**0.5 * MS)
    shares = rows_of(python.answer("ranks", "--csv", ring, "step").decode())
    assert [row["self_ns"] for row in shares] == [str((100 + rank) * MS) for rank in range(N)]
    spread = rows_of(python.answer("ranks", "--csv", ring).decode())
    assert named(spread, "step")["self_max_rank"] == "3"


def test_losses_are_said(python: Sandbox):
    (python.cwd / "lossy").mkdir()
    live = ring_rank(0, 1)
    live.lost[6:9] = 7, 2, 3
    live.write(python.cwd / "lossy")
    info = python.answer("info", "lossy").decode()
    for number, words in ((7, "messages"), (2, "requests"), (3, "calls that synchronise")):
        assert f"lost       {number} {words}" in info
    assert "handles    3 communicators, windows and files, and 1 of mpi4py's own\n" in info
    text = python.answer("report", "lossy").decode()
    assert "no details of 7 messages, 2 requests, 3 waits" in text
    assert "no room to tell apart 7 messages, nor to follow 2 requests" in python.answer("mpi", "lossy").decode()


def test_where_there_is_less_to_tell(python: Sandbox, ring: Path):
    assert python.recorded(workload("without_mpi.py")).code == 0
    done = python.allranks("mpi", "without_mpi.allranks")
    assert done.code == 0 and done.out.startswith("no MPI call was recorded: ")
    told = json.loads(python.answer("mpi", "--json=1", "without_mpi.allranks"))
    assert told["paths"] == told["matrix"] == told["communicators"] == []
    assert "Functions, self time" in python.answer("ranks", "without_mpi.allranks").decode()

    python.answer("export", ring, "-f", "pstats", "-o", "ring.prof")
    text = python.answer("mpi", "ring.prof").decode()
    assert "MPI_Allreduce" in text and "Comm.bcast" in text
    done = python.allranks("mpi", "--matrix", "ring.prof")
    assert done.code == 2 and "pstats files do not tell who sent what to whom (record" in done.err
    assert "MPI_Waitall" in python.answer("ranks", "ring.prof").decode()


@pytest.mark.parametrize(
    "words, error",
    [
        (("mpi", "{}", "nowhere.py:3"), "{}: no MPI call at or below nowhere.py:3 (allranks mpi {} shows where they are)"),
        (("mpi", "--ranks", "9", "{}"), "{}: --ranks 9: no such ranks (a list is 0-3,8)"),
        (("mpi", "--ranks", "0-", "{}"), "{}: --ranks 0-: no such ranks (a list is 0-3,8)"),
        (("mpi", "--by", "line", "{}"), "--by line: not one of path, function, class, communicator, peer or size"),
        (("mpi", "--matrix=all", "{}"), "--matrix all: not one of bytes, messages or time"),
        (("mpi", "-n", "x", "{}"), "--rows x: not a number"),
        (("mpi", "-n"), "-n needs a value (try: allranks mpi --help)"),
        (("mpi", "--what"), "unknown option --what (try: allranks mpi --help)"),
        (("mpi",), "one run is needed (usage: allranks mpi RUN [FILE:LINE|FUNCTION])"),
        (("ranks", "{}", "nobody"), "{}: no function nobody in it (allranks ranks -n 0 {} shows all)"),
        (("ranks", "--self", "--inclusive", "{}"), "--self and --inclusive: one of them (try: allranks ranks --help)"),
    ],
)
def test_what_cannot_be_answered(python: Sandbox, ring: Path, words: tuple[str, ...], error: str):
    done = python.allranks(*(word.format(ring) for word in words))
    assert (done.code, done.out, done.err) == (2, "", f"allranks: error: {error.format(ring, ring)}\n")


def test_an_older_run_has_calls_but_no_messages(python: Sandbox):
    """Version 3 had no communicators, messages and requests."""
    old = ROOT / "tests/golden/run-3.allranks"
    text = python.answer("mpi", old).decode()
    assert "MPI_Barrier" in text and "messages" not in text
    done = python.allranks("mpi", "--by", "peer", old)
    assert done.code == 2 and "an older allranks recorded it (record it again)" in done.err
