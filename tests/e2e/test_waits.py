# SPDX-License-Identifier: BSD-3-Clause
"""The records of waiting: one for each call that synchronises ranks, the same on all of them, at the right time, with what came
before. And the clocks of ranks that are not on one host.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from types import SimpleNamespace

import pytest
from harness import Sandbox, workload

CLOCK_SLACK_S = 0.002  # two processes look at one clock, and are put off their processors in between
N_RANKS = 3


def rows(table: dict[str, list]) -> list[SimpleNamespace]:
    return [SimpleNamespace(**dict(zip(table, values))) for values in zip(*table.values())]


def load(mpi: Sandbox, run: str) -> SimpleNamespace:
    done = mpi.plain(workload("dump_run.py"), run, "python")
    assert done.code == 0, done
    return SimpleNamespace(**{name: rows(table) for name, table in json.loads(done.out)["tables"].items()})


@pytest.fixture
def run(mpi: Sandbox) -> SimpleNamespace:
    done = mpi.recorded_ranks(N_RANKS, workload("waits.py"))
    assert done.code == 0, done
    found = load(mpi, "waits.allranks")
    found.truth = [mpi.read_json(f"waits-{rank}.json") for rank in range(N_RANKS)]
    return found


def test_waits(run: SimpleNamespace):
    """One program, looked at from all sides: it takes seconds to run."""
    check_collectives(run)
    check_late_ranks(run)
    check_messages(run)
    check_nonblocking(run)
    assert all(rank.lost_synchronisations == 0 for rank in run.ranks)


def collective_rows(run: SimpleNamespace) -> dict[tuple[int, int], list[SimpleNamespace]]:
    found: dict[tuple[int, int], list[SimpleNamespace]] = {}
    for row in run.synchronisations:
        if row.sequence >= 0:
            found.setdefault((row.communicator, row.sequence), []).append(row)
    return found


def check_collectives(run: SimpleNamespace) -> None:
    """The same call has the same number on all members; nobody leaves a barrier before the last has come."""
    calls = Counter()
    for (communicator, _), members in collective_rows(run).items():
        size = run.communicators[communicator].size
        assert len(members) == len({row.rank for row in members}) == size
        assert len({(row.kind, row.function, row.line) for row in members}) == 1
        if members[0].kind in ("barrier", "all"):
            last = max(row.posted_s if row.nonblocking else row.enter_s for row in members)
            assert min(row.exit_s for row in members) >= last - CLOCK_SLACK_S
        for row in members:
            calls[row.rank, run.communicators[communicator].origin] += 1
    noted = Counter()
    for rank, done in enumerate(run.truth):
        for origin, n in done["collective"].items():
            noted[rank, {"row": "split"}.get(origin, origin)] += n
    assert calls == +noted


def check_late_ranks(run: SimpleNamespace) -> None:
    """Who was late, what he did meanwhile, and how long the others waited for him."""
    barriers = [m for _, m in sorted(collective_rows(run).items()) if m[0].function == "MPI_Barrier" and len(m) == N_RANKS]
    assert len(barriers) == N_RANKS
    for late, members in enumerate(barriers):
        by_rank = {row.rank: row for row in members}
        assert max(members, key=lambda row: row.enter_s).rank == late
        begin, end = run.truth[late]["slow"][0]
        parts = [run.sync_causes[i] for i in range(by_rank[late].first_cause, by_rank[late].first_cause + by_rank[late].causes)]
        slept = sum(part.self_s for part in parts if part.function in ("slow", "built-in method time.sleep"))
        assert slept == pytest.approx(end - begin, abs=CLOCK_SLACK_S)
        assert by_rank[late].enter_s >= end - CLOCK_SLACK_S
        for rank, row in by_rank.items():
            if rank != late:
                assert row.exit_s >= end - CLOCK_SLACK_S


def check_messages(run: SimpleNamespace) -> None:
    """Each on both sides; in order, by peer and tag; nothing is received before it is sent."""
    assert_same_messages(run, "send", "sent")
    assert_same_messages(run, "receive", "received")
    sent: dict[tuple[int, int, int, int], list[SimpleNamespace]] = {}
    for row in run.synchronisations:
        if row.kind == "send":
            sent.setdefault((row.communicator, row.rank, row.peer, row.tag), []).append(row)
    for row in run.synchronisations:
        if row.kind == "receive":
            send = sent[row.communicator, row.peer, row.rank, row.tag].pop(0)
            assert row.exit_s >= send.enter_s - CLOCK_SLACK_S
    assert not any(sent.values())
    (probe,) = [row for row in run.synchronisations if row.kind == "probe"]
    assert (probe.rank, probe.peer, probe.tag) == (0, 1, 9)


def assert_same_messages(run: SimpleNamespace, kind: str, noted: str) -> None:
    found = Counter((row.rank, row.peer, row.tag) for row in run.synchronisations if row.kind == kind)
    assert found == Counter((rank, *message) for rank, done in enumerate(run.truth) for message in done[noted])


def check_nonblocking(run: SimpleNamespace) -> None:
    # Sends that were waited for are there only if that took a while.
    waits = [row for row in run.synchronisations if row.function in ("MPI_Waitall", "MPI_Wait") and row.kind != "taken"]
    assert len(waits) == 2 * N_RANKS
    for row in waits:
        assert row.nonblocking and row.posted_s <= row.enter_s <= row.exit_s
    (late,) = [row for row in waits if row.rank == N_RANKS - 1 and row.kind == "receive"]
    begin, end = run.truth[N_RANKS - 1]["slow"][-1]
    assert late.posted_s <= begin + CLOCK_SLACK_S and late.enter_s >= end - CLOCK_SLACK_S


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="host names of one's own need root")
def test_clocks_of_several_hosts(mpi: Sandbox):
    """Each rank on a host of its own, as far as names go: the clock is one, so every offset found must be within its error."""
    rank = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
    in_own_host = f'exec unshare --uts sh -c "hostname node{rank}; exec \\"\\$@\\"" sh "$@"'
    words = mpi.recorder("--live-dir", str(mpi.cwd / "shared"))
    done = mpi.run(mpi.ranks(4, "sh", "-c", in_own_host, "sh", *words, workload("late_rank.py")))
    assert done.code == 0, done
    if not (mpi.cwd / "late_rank.allranks").exists():
        pytest.skip("this launcher names its jobs after the host")
    processes = load(mpi, "late_rank.allranks").processes
    assert {process.host for process in processes} == {f"node{rank}" for rank in range(4)}
    for process in processes:
        assert process.clock_compared and process.clock_end_compared
        assert abs(process.clock_offset_s) <= process.clock_error_s
        assert abs(process.clock_end_offset_s) <= process.clock_end_error_s
        assert (process.clock_error_s > 0) == (process.rank > 0)
