# SPDX-License-Identifier: BSD-3-Clause
"""What is kept of MPI has an end: beyond it nothing goes wrong, and what is missing is counted and said. Requests that fail, the tool
interface, and messages whose end only a request tells.
"""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from harness import Sandbox, workload
from readings import Report

MOST_REQUESTS = MOST_COMMUNICATORS = 16384
MOST_MEMORY_KIB = 16 << 10  # of bookkeeping there are 8 MiB, besides the nodes of the tree and what the allocator makes of it


def calls_of(report: Report, function: str) -> int:
    return sum(node["calls"] for name in (function, f"{function}_c") for node in report.named(name))


def lost_of(mpi: Sandbox, run: str) -> Counter:
    lost: Counter = Counter()
    for process in json.loads(mpi.answer("info", "--json=1", run))["processes"]:
        lost.update(process["lost"])
    return +lost


def test_full_tables(mpi: Sandbox):
    program = (workload("full_tables.py"), "100000", "20000")
    plain = mpi.plain_ranks(2, *program)
    done = mpi.recorded_ranks(2, *program)
    assert (plain.code, done.code) == (0, 0), (plain, done)
    without, noted = json.loads(plain.out), json.loads(done.out)
    print("processor's time without and with:", without["user_s"], noted["user_s"])
    print("grown by, KiB:", without["grown_kib"], noted["grown_kib"])
    assert noted["grown_kib"] - without["grown_kib"] < MOST_MEMORY_KIB
    report = mpi.report("full_tables.allranks")
    assert calls_of(report, "MPI_Irecv") == calls_of(report, "MPI_Isend") == noted["requests"] // 2
    assert calls_of(report, "MPI_Comm_dup") == calls_of(report, "MPI_Comm_free") == noted["communicators"]
    assert calls_of(report, "MPI_Sendrecv") == noted["messages"]
    lost = check_losses(mpi, noted)
    rows = json.loads(mpi.answer("mpi", "--requests", "--json=1", "full_tables.allranks"))["requests"]
    assert sum(row["n"] for row in rows) == MOST_REQUESTS + 200
    said = mpi.answer("report", "full_tables.allranks").decode()
    for n, what in ((lost["traffic"], "messages"), (lost["requests"], "requests"), (lost["communicators"], "communicators")):
        assert f"{n:,} {what}" in said


def check_losses(mpi: Sandbox, noted: dict) -> Counter:
    lost = lost_of(mpi, "full_tables.allranks")
    assert set(lost) == {"requests", "traffic", "communicators"}
    assert lost["requests"] == noted["requests"] - 200 - MOST_REQUESTS
    assert 0 <= lost["communicators"] - (noted["communicators"] - MOST_COMMUNICATORS) <= 3  # WORLD, SELF, mpi4py's own
    assert lost["traffic"] > 0
    cells = json.loads(mpi.answer("mpi", "--json=1", "full_tables.allranks"))
    assert cells["lost"]["traffic"] == lost["traffic"]
    return lost


def test_a_stream_that_is_full(mpi: Sandbox):
    done = mpi.recorded_ranks(2, workload("barriers.py"), "20000", options=("--max-size", "1M"))
    assert done.code == 0, done
    lost = lost_of(mpi, "barriers.allranks")
    assert set(lost) == {"syncs"} and 2 * 10000 < lost["syncs"] < 2 * 20000
    assert calls_of(mpi.report("barriers.allranks"), "MPI_Barrier") == 2 * 20000
    assert re.search(r"^no details of [\d,]+ waits$", mpi.answer("report", "barriers.allranks").decode(), re.MULTILINE)


def test_requests_in_error(mpi: Sandbox):
    plain = mpi.plain_ranks(2, workload("requests_in_error.py"))
    done = mpi.recorded_ranks(2, workload("requests_in_error.py"))
    assert (plain.code, done.code) == (0, 0), (plain, done)
    assert done.out == plain.out
    noted = json.loads(done.out)
    report = mpi.report("requests_in_error.allranks")
    assert sum(node["bytes_in"] for name in ("MPI_Irecv", "MPI_Irecv_c") for node in report.named(name)) == noted["bytes"]
    rows = json.loads(mpi.answer("mpi", "--requests", "--json=1", "requests_in_error.allranks"))["requests"]
    assert sum(row["n"] for row in rows) == noted["requests"]
    assert lost_of(mpi, "requests_in_error.allranks") == {}


def test_bytes_of_truncated_messages(mpi: Sandbox):
    """What there was room for, whatever the status says."""
    plain = mpi.plain_ranks(2, workload("planted_truncated.py"))
    done = mpi.recorded_ranks(2, workload("planted_truncated.py"))
    assert (plain.code, done.code) == (0, 0), (plain, done)
    assert done.out == plain.out
    noted = json.loads(done.out)
    assert noted["failed"] == noted["ways"]
    nodes = mpi.report("planted_truncated.allranks").nodes
    received = sum(node["bytes_in"] for node in nodes if node.kind == "mpi")
    assert received == noted["room"] * noted["messages"]


def test_messages_that_only_a_request_tells(mpi: Sandbox):
    done = mpi.recorded_ranks(2, workload("isendrecv_and_partitions.py"))
    assert done.code == 0, done
    there = json.loads(done.out)
    if not there:
        pytest.skip("this MPI has neither MPI_Isendrecv nor partitioned messages")
    dumped = mpi.plain(workload("dump_run.py"), "isendrecv_and_partitions.allranks", "python")
    table = json.loads(dumped.out)["tables"]["synchronisations"]
    found = Counter(zip(table["kind"], table["rank"], table["peer"], table["tag"]))
    expected: Counter = Counter()
    if "both_ways" in there:
        for rank in (0, 1):
            expected.update({("send", rank, 1 - rank, 3 + rank): 1, ("receive", rank, 1 - rank, 4 - rank): 1})
    if "in_parts" in there:
        expected.update({("send", 0, 1, 5): 2, ("receive", 1, 0, 5): 2})
    assert {key: n for key, n in found.items() if key[0] in ("send", "receive")} == expected


def test_the_tool_interface(mpi: Sandbox):
    plain = mpi.plain_ranks(1, workload("mpi_tool_interface.py"))
    done = mpi.recorded_ranks(1, workload("mpi_tool_interface.py"))
    assert (plain.code, done.code) == (0, 0), (plain, done)
    assert done.out == plain.out
    report = mpi.report("mpi_tool_interface.allranks")
    noted = json.loads(done.out)["calls"]
    assert {name: calls_of(report, name) for name in noted} == noted
