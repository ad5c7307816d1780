# SPDX-License-Identifier: BSD-3-Clause
"""Truth: what was done with MPI, at which line, how often, with how many bytes, and how long it took."""

import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from harness import Sandbox, settled, times_unlike, workload
from readings import Report

BARRIER_SLACK_S = 0.02

# What mpi4py does beside what it is asked for: these move nothing.
HOUSEKEEPING = re.compile(
    r"MPI_(Type_|Comm_set_errhandler|Comm_get_errhandler|Errhandler|Win_set_err|File_set_err|Win_get|Win_set_attr|"
    r"Comm_set_attr|Comm_create_keyval|Win_create_keyval|Group_|Comm_group|Info_|Error_|Topo_|Cart|Graph|Dist_graph_n|"
    r"File_get|Op_|Improbe|Request_get|Get_)"
)


def what_was_noted(mpi: Sandbox, n_ranks: int) -> dict:
    """(function, caller, line) -> (calls, bytes out, bytes in), summed over ranks."""
    sums: dict[tuple, Counter] = {}
    for rank in range(n_ranks):
        for note in mpi.read_json(f"noted-{rank}.json"):
            key = (note["mpi"], note["caller"], note["line"])
            sums.setdefault(key, Counter()).update({k: note[k] for k in ("calls", "out", "in")})
    return {key: (s["calls"], s["out"], s["in"]) for key, s in sums.items()}


def what_was_found(report: Report, callers: set[str]) -> dict:
    """The same from the report, for MPI calls made directly by one of the functions; large-count forms count as the others."""
    sums: dict[tuple, Counter] = {}
    for node in report.nodes:
        if node.kind == "mpi" and node.python_caller in callers and not HOUSEKEEPING.match(node.name):
            key = (node.name.removesuffix("_c"), node.python_caller, node["line"])
            sums.setdefault(key, Counter()).update(
                calls=node["calls"], out=node["bytes_out"], **{"in": node["bytes_in"]}
            )
    return {key: (s["calls"], s["out"], s["in"]) for key, s in sums.items()}


@pytest.mark.every_stack
@pytest.mark.parametrize("n_ranks", [2, 3])
def test_every_call_is_at_its_line_with_its_bytes(mpi: Sandbox, n_ranks: int):
    done = mpi.recorded_ranks(n_ranks, workload("mpi_operations.py"))
    assert done.code == 0, done
    info = mpi.info("mpi_operations.allranks")
    assert (info.ranks, info.lost) == (list(range(n_ranks)), 0)
    noted = what_was_noted(mpi, n_ranks)
    found = what_was_found(mpi.report("mpi_operations.allranks"), {caller for _, caller, _ in noted})
    assert found == noted


@pytest.mark.every_stack
def test_waiting_is_measured_on_the_ranks_that_wait(mpi: Sandbox):
    assert not settled(lambda: waiting_unlike(mpi))


def waiting_unlike(mpi: Sandbox) -> dict[str, str]:
    n_ranks, late = 3, 2
    (mpi.cwd / "late_rank.allranks").unlink(missing_ok=True)
    done = mpi.recorded_ranks(n_ranks, workload("late_rank.py"))
    assert done.code == 0, done
    waited = [mpi.read_json(f"waited-{rank}.json") for rank in range(n_ranks)]
    (barrier,) = mpi.report("late_rank.allranks").mpi("MPI_Barrier", "meet")
    assert barrier["calls"] == n_ranks
    spread = barrier["time_ns"]
    found = {name: spread[name] / 1e9 for name in ("min", "max", "sum")}
    logged = {"min": waited[spread["min_rank"]], "max": waited[spread["max_rank"]]}
    wrong = times_unlike(found, logged, abs_s=BARRIER_SLACK_S)
    wrong.update(times_unlike(found, {"sum": sum(waited)}, abs_s=n_ranks * BARRIER_SLACK_S))
    if spread["min_rank"] != late or spread["max_rank"] == late:
        wrong["who waits"] = f"least of all rank {spread['min_rank']}, most of all rank {spread['max_rank']}"
    return wrong


def test_one_call_path_for_each_way_to_a_line(mpi: Sandbox):
    done = mpi.recorded_ranks(2, workload("mpi_operations.py"))
    assert done.code == 0, done
    report = mpi.report("mpi_operations.allranks")
    paths = {tuple(node.path[-4:-1]): node["calls"] for node in report.mpi("MPI_Barrier", "shared_helper")}
    method = "Comm.Barrier"
    assert paths == {("first_caller", "shared_helper", method): 2, ("second_caller", "shared_helper", method): 2}


def test_a_rank_has_its_own_numbers_and_all_have_the_sum(mpi: Sandbox):
    path = workload("uneven_work.py")
    done = mpi.recorded_ranks(3, path)
    assert done.code == 0, done

    def counts(*options: str) -> dict[str, int]:
        stats = mpi.pstats("uneven_work.allranks", *options)
        return {
            name: sum(calls.calls for key, calls in stats.items() if key[0] == path and key[2] == name)
            for name in ("work", "odd_only")
        }

    assert counts("--rank", "0") == {"work": 10, "odd_only": 0}
    assert counts("--rank", "1") == {"work": 20, "odd_only": 20}
    assert counts("--rank", "2") == {"work": 30, "odd_only": 0}
    assert counts() == {"work": 60, "odd_only": 20}
    (node,) = mpi.report("uneven_work.allranks").named("odd_only")
    assert node["calls"] == 20
    assert node["time_ns"]["max_rank"] == 1
    assert node["time_ns"]["min"] == 0


def test_an_mpi_call_has_its_line_however_large_the_tree(mpi: Sandbox):
    done = mpi.recorded_ranks(1, workload("many_call_paths.py"), "line.json")
    assert done.code == 0, done
    report = mpi.report("many_call_paths.allranks")
    assert report.calls("l16", "r16") == 2**17
    (barrier,) = report.mpi("MPI_Barrier", "meet")
    assert barrier["line"] == mpi.read_json("line.json")


def test_an_mpi_call_made_by_an_import_has_its_line(mpi: Sandbox):
    done = mpi.recorded_ranks(1, workload("work_at_import.py"), "lines.json")
    assert done.code == 0, done
    lines = mpi.read_json("lines.json")
    report = mpi.report("work_at_import.allranks")
    (barrier,) = report.mpi("MPI_Barrier", "meet")
    assert barrier["line"] == lines["barrier"]
    (barrier,) = report.mpi("MPI_Barrier", "<module>")
    assert barrier["line"] == lines["barrier of the module"]


def test_threads_have_their_own_mpi_calls(mpi: Sandbox):
    done = mpi.recorded_ranks(2, workload("mpi_threads.py"))
    assert done.code == 0, done
    nodes = mpi.report("mpi_threads.allranks").mpi("MPI_Allreduce", "talk")
    assert [(node["calls"], node["bytes_out"], node["bytes_in"]) for node in nodes] == 3 * [(40, 1280, 1280)]
    assert len({node.path[0] for node in nodes}) == 3


def test_a_job_that_aborts_because_one_rank_failed_does_so_still(mpi: Sandbox):
    plain = mpi.plain_ranks(3, "-m", "mpi4py", workload("one_rank_fails.py"))
    done = mpi.recorded_ranks(3, "-m", "mpi4py", workload("one_rank_fails.py"))
    assert done.code == plain.code != 0
    assert done.err.count("ValueError: rank 1 fails") == plain.err.count("ValueError: rank 1 fails") == 1
    merged = mpi.allranks("merge", mpi.live, "-o", "merged.allranks")
    assert merged.code == 0, merged
    assert mpi.report("merged.allranks").calls("work") == 3


def kinds_noted(mpi: Sandbox, n_ranks: int) -> dict:
    """(function, caller) -> (calls, bytes out, bytes in), summed over ranks."""
    sums: dict[tuple, Counter] = {}
    for rank in range(n_ranks):
        for note in mpi.read_json(f"kinds-{rank}.json"):
            key = (note["mpi"], note["caller"])
            sums.setdefault(key, Counter()).update({k: note[k] for k in ("calls", "out", "in")})
    return {key: (s["calls"], s["out"], s["in"]) for key, s in sums.items()}


def check_every_kind(mpi: Sandbox, n_ranks: int, **how) -> None:
    done = mpi.recorded_ranks(n_ranks, workload("mpi_every_kind.py"), **how)
    assert done.code == 0, done
    assert mpi.info("mpi_every_kind.allranks").lost == 0
    noted = kinds_noted(mpi, n_ranks)
    callers = {caller for _, caller in noted}
    found: dict[tuple, Counter] = {}
    for node in mpi.report("mpi_every_kind.allranks").nodes:
        if node.kind == "mpi" and node.python_caller in callers:
            key = (node.name.removesuffix("_c"), node.python_caller)
            found.setdefault(key, Counter()).update(
                calls=node["calls"], out=node["bytes_out"], **{"in": node["bytes_in"]}
            )
    sums = {key: (s["calls"], s["out"], s["in"]) for key, s in found.items()}
    assert {key: sums.get(key) for key in noted} == noted
    unasked = {key: s for key, s in sums.items() if key not in noted}
    assert not {key for key in unasked if not HOUSEKEEPING.match(key[0])}
    assert all(s[1:] == (0, 0) for s in unasked.values())


@pytest.mark.every_stack
@pytest.mark.parametrize("n_ranks", [1, 4])
def test_every_kind_of_call_has_its_bytes(mpi: Sandbox, n_ranks: int):
    check_every_kind(mpi, n_ranks)


def test_every_kind_of_call_through_open_mpi_with_the_standards_abi(mpiabi: Sandbox):
    """The mpi4py that was compiled with MPICH, as it is: what changes is the library that is found when it starts."""
    library = next(Path("/usr/lib").glob("*/libmpi_abi_openmpi.so.*"), None)
    launcher = shutil.which("mpiexec.openmpi")
    if not library or not launcher:
        pytest.skip("no Open MPI with that ABI (version 6 has it)")
    place = mpiabi.cwd.parent / "lib"
    place.mkdir()
    (place / "libmpi_abi.so.1").symlink_to(library)
    mpiabi.stack = replace(mpiabi.stack, mpiexec=(launcher, "--oversubscribe", "--allow-run-as-root"))
    check_every_kind(mpiabi, 2, env={"LD_LIBRARY_PATH": str(place)})
    said = mpiabi.answer("info", "mpi_every_kind.allranks").decode()
    assert re.search(r"^mpi +Open MPI v\S+ \(MPI-5 ABI\)$", said, re.MULTILINE), said


@pytest.mark.every_stack
def test_nobody_is_no_peer(mpi: Sandbox):
    n_ranks = 3
    done = mpi.recorded_ranks(n_ranks, workload("open_chain.py"))
    assert done.code == 0, done
    told = json.loads(mpi.answer("mpi", "--json=1", "open_chain.allranks"))
    assert {row["kind"] for row in told["by_peer"]} == {"rank", "all"}
    sent: Counter = Counter()
    for row in told["paths"]:
        sent.update({(row["caller"], "out"): row["messages_out"], (row["caller"], "in"): row["messages_in"]})
        assert row["calls"] == 0 or row["time_ns"]["sum"] > 0
    for way in ("blocking", "nonblocking", "persistent", "both_ways", "objects", "objects_later", "objects_both_ways"):
        assert (sent[way, "out"], sent[way, "in"]) == (2 * (n_ranks - 1), 2 * (n_ranks - 1)), way


def test_what_concerns_no_other_rank_is_no_communication_to_hide(mpi: Sandbox):
    done = mpi.recorded_ranks(3, workload("open_chain.py"))
    assert done.code == 0, done
    followed: Counter = Counter()
    for row in json.loads(mpi.answer("mpi", "--requests", "--json=1", "open_chain.allranks"))["requests"]:
        followed[row["posted"]["caller"]] += row["n"]
    assert followed["nonblocking"] == followed["persistent"] == followed["objects_later"] == 2 * 2 * 2
    assert followed["with_itself"] == 0


def test_what_is_completed_in_a_pause_is_not_taken_for_the_next_one(mpi: Sandbox):
    done = mpi.recorded_ranks(2, workload("requests_in_pauses.py"))
    assert done.code == 0, done
    noted = json.loads(done.out)
    rows = json.loads(mpi.answer("mpi", "--requests", "--json=1", "requests_in_pauses.allranks"))["requests"]
    assert sum(row["n"] for row in rows) == noted["recorded"]
    assert sum(row["in_flight_ns"] for row in rows) / 1e9 < noted["paused_s"]


def test_a_communicator_that_is_freed_is_not_asked_about(mpi: Sandbox):
    done = mpi.recorded_ranks(2, workload("freed_communicators.py"))
    assert (done.code, done.out) == (0, "True\n" * 2), done
    report = mpi.report("freed_communicators.allranks")
    assert sum(node["bytes_out"] for name in ("MPI_Put", "MPI_Put_c", "MPI_Isend", "MPI_Isend_c") for node in report.named(name)) == 2 * 2 * 8


def test_starting_mpi_is_no_importing(mpi: Sandbox):
    """`from mpi4py import MPI` calls MPI_Init: it is shown below the import, of which nothing else is."""
    done = mpi.recorded_ranks(2, workload("open_chain.py"))
    assert done.code == 0, done
    text = mpi.answer("report", "--rows", "200", "--min", "0", "open_chain.allranks").decode()
    lines = text.partition("Where the time goes")[2].partition("\nMPI ")[0].splitlines()
    depth = [len(line) - len(line.lstrip(" *")) for line in lines]
    (init,) = (i for i, line in enumerate(lines) if line.lstrip(" *").startswith("MPI_Init"))
    assert "(import)" in lines[init - 1] and depth[init] == depth[init - 1] + 1
    assert not any("__init__.py" in line for line in lines)
    whole = mpi.answer("report", "--rows", "0", "--min", "0", "open_chain.allranks").decode()
    assert re.search(r"^[ *]+numpy +__init__\.py:1 ", whole, re.MULTILINE)
    assert not re.search(r"<module> +__init__\.py:1 ", whole)
