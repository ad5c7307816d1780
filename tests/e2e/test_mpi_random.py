# SPDX-License-Identifier: BSD-3-Clause
"""Random programs of MPI calls: what they counted themselves is what is found, call for call, byte for byte, peer for peer."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from harness import Sandbox, workload

N_STEPS = 300
MESSAGES = {"p2p", "request"}


def tables_of(mpi: Sandbox) -> dict[str, list[dict]]:
    done = mpi.plain(workload("dump_run.py"), "mpi_random.allranks", "python")
    assert done.code == 0, done
    tables = json.loads(done.out)["tables"]
    return {name: [dict(zip(table, row)) for row in zip(*table.values())] for name, table in tables.items()}


def plain_name(function: str) -> str:
    """mpi4py decides which form is called."""
    return function.removesuffix("_c")


@pytest.mark.parametrize("n_ranks, seed", [(2, 1), (3, 2), (4, 3), (8, 4)])
def test_random_programs(mpi: Sandbox, n_ranks: int, seed: int):
    done = mpi.recorded_ranks(n_ranks, workload("mpi_random.py"), str(seed), str(N_STEPS))
    assert done.code == 0, done
    noted = [mpi.read_json(f"noted-{rank}.json") for rank in range(n_ranks)]
    tables = tables_of(mpi)
    assert calls_found(tables, set().union(*(each["calls"] for each in noted))) == sum((Counter(n["calls"]) for n in noted), Counter())
    for rank, each in enumerate(noted):
        assert bytes_found(tables, rank) == {name: moved for name, moved in each["bytes"].items() if any(moved)}
        assert peers_found(tables, rank) == each["peers"]
    assert all(rank["lost"] == 0 for rank in tables["ranks"])


def calls_found(tables: dict[str, list[dict]], names: set[str]) -> Counter:
    found: Counter = Counter()
    for row in tables["mpi"]:
        if plain_name(row["function"]) in names:
            found[plain_name(row["function"])] += row["calls"]
    return found


def bytes_found(tables: dict[str, list[dict]], rank: int) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for row in tables["messages"]:
        if row["rank"] == rank and (row["bytes_out"] or row["bytes_in"]):
            moved = found.setdefault(plain_name(row["function"]), [0, 0])
            moved[0] += row["bytes_out"]
            moved[1] += row["bytes_in"]
    return found


def peers_found(tables: dict[str, list[dict]], rank: int) -> list[list[int]]:
    found: dict[int, list[int]] = {}
    for row in tables["messages"]:
        if row["rank"] == rank and row["mpi_class"] in MESSAGES and row["world_peer"] >= 0:
            peer = found.setdefault(row["world_peer"], [0, 0, 0, 0])
            for i, column in enumerate(("messages_out", "bytes_out", "messages_in", "bytes_in")):
                peer[i] += row[column]
    return [[peer, *sums] for peer, sums in sorted(found.items())]
