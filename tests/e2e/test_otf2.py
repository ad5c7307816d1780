# SPDX-License-Identifier: BSD-3-Clause
"""`allranks export -f otf2`: what OTF2's own tools and its Python module read is what the trace has, event by event."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
import shutil
import subprocess
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from harness import Sandbox, workload
from traced_programs import write_traced

PROGRAM = workload("archived.py")
MPI_PROGRAM = workload("archived_mpi.py")
SEED = int(os.environ.get("ALLRANKS_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 31)
READER = str(Path(__file__).with_name("otf2_reading.py"))
SYSTEM_PYTHON = "/usr/bin/python3"
NONE = 2**32 - 1
BEGINS = ("send", "send-posted", "receive-posted", "collective", "collective-posted")
OPERATIONS = {
    "Comm_split": "CREATE_HANDLE", "Comm_dup": "CREATE_HANDLE", "Intercomm_create": "CREATE_HANDLE",
    "Comm_free": "DESTROY_HANDLE",
}  # fmt: skip


def imports_otf2() -> bool:
    command = [SYSTEM_PYTHON, "-c", "import otf2"]
    return Path(SYSTEM_PYTHON).exists() and subprocess.run(command, capture_output=True).returncode == 0


pytestmark = [
    pytest.mark.skipif(not shutil.which("otf2-print"), reason="there is no otf2-print (Debian: otf2-tools)"),
    pytest.mark.skipif(not imports_otf2(), reason="the system's Python has no module otf2 (Debian: python3-otf2)"),
]


# ---- reading ----


@dataclass
class Event:
    time: int
    kind: str
    fields: dict


@dataclass
class Archive:
    path: Path
    clock: list[int]
    locations: list[dict]
    regions: list[dict]
    comms: list[dict]
    events: dict[tuple[str, str], list[Event]] = field(default_factory=lambda: defaultdict(list))

    def names(self, kind: str, process: str, thread: str = "Master thread") -> list[str]:
        """Of the regions that are entered, or left."""
        return [self.regions[each.fields["region"]]["name"] for each in self.events[process, thread] if each.kind == kind]


def export(sandbox: Sandbox, run: str, *options: str, to: str = "archive") -> Path:
    done = sandbox.allranks("export", run, "-f", "otf2", "-o", to, *options)
    if "built without OTF2" in done.err:
        pytest.skip("allranks was built without OTF2 (Debian: libotf2-trace-dev)")
    assert (done.code, done.out, done.err) == (0, "", ""), done
    return sandbox.cwd / to


def printed(sandbox: Sandbox, directory: Path, *options: str) -> list[str]:
    """otf2-print complains of whatever does not fit together."""
    done = sandbox.run(["otf2-print", *options, str(directory / "traces.otf2")])
    assert (done.code, done.err) == (0, ""), done
    return done.out.splitlines()


def read(sandbox: Sandbox, directory: Path) -> Archive:
    done = sandbox.run([SYSTEM_PYTHON, READER, str(directory / "traces.otf2")])
    assert (done.code, done.err) == (0, ""), done
    found = json.loads(done.out)
    archive = Archive(directory, found["clock"], found["locations"], found["regions"], found["comms"])
    for where, time, kind, fields in found["events"]:
        location = archive.locations[where]
        archive.events[location["process"], location["name"]].append(Event(time, kind, fields))
    lines = Counter(line.split()[0] for line in printed(sandbox, directory) if line[:1].isupper())
    assert lines["ENTER"] == lines["LEAVE"] == sum(each.kind == "Enter" for all_of_one in archive.events.values() for each in all_of_one)
    return archive


def dumped(sandbox: Sandbox, run: str, *options: str) -> dict[tuple[str, int], list[dict]]:
    """What `allranks dump` says of each thread: by rank or pid, and its number."""
    rows = defaultdict(list)
    for row in csv.DictReader(io.StringIO(sandbox.answer("dump", "--csv", run, *options).decode())):
        process = f"MPI Rank {row['rank']}" if row["rank"] else f"Process {row['process']}"
        rows[process, int(row["thread"])].append(row)
    return rows


# ---- what is expected of the events of a thread ----


def operation(row: dict) -> str | None:
    name = row["function"].removeprefix("MPI_")
    name = OPERATIONS.get(name, name)
    return name if name == name.upper() else re.sub("^I(?=[a-z])", "", name).upper()


@dataclass
class Expected:
    """The events that the rows of `dump` are to be."""

    events: list[tuple] = field(default_factory=list)
    acts: list[dict] = field(default_factory=list)
    posted: dict[str, str | None] = field(default_factory=dict)

    def begin(self, row: dict) -> None:
        time, kind, request = int(row["time_ns"]), row["event"], row["request"]
        if kind in ("send-posted", "receive-posted", "collective-posted"):
            self.posted[request] = operation(row)
        if kind == "send":
            self.events.append((time, "MpiSend", int(row["peer"]), row["communicator"], int(row["tag"]), int(row["bytes_out"])))
        elif kind == "send-posted":
            self.events.append((time, "MpiIsend", int(row["peer"]), row["communicator"], int(row["tag"]), int(row["bytes_out"]), int(request)))
        elif kind == "receive-posted":
            self.events.append((time, "MpiIrecvRequest", int(request)))
        elif kind == "collective-posted":
            self.events.append((time, "NonBlockingCollectiveRequest", int(request)))
        elif kind == "collective":
            self.events.append((time, "MpiCollectiveBegin"))

    def collective(self, row: dict) -> tuple:
        return row["communicator"], int(row["peer"] or NONE), int(row["bytes_out"]), int(row["bytes_in"])

    def end(self, row: dict, time: int) -> None:
        kind, request = row["event"], row["request"]
        received = [row["communicator"], int(row["tag"]), int(row["bytes_in"])]
        if kind == "receive":
            self.events.append((time, "MpiRecv", int(row["peer"]), *received))
        elif kind == "receive-done":
            self.events.append((time, "MpiIrecv", int(row["peer"]), *received, int(request)))
        elif kind == "send-done":
            self.events.append((time, "MpiIsendComplete", int(request)))
        elif kind == "cancelled":
            self.events.append((time, "MpiRequestCancelled", int(request)))
        elif kind == "collective":
            self.events.append((time, "MpiCollectiveEnd", operation(row), *self.collective(row)))
        elif kind == "collective-done":
            self.events.append((time, "NonBlockingCollectiveComplete", self.posted[request], *self.collective(row), int(request)))

    def add(self, row: dict) -> None:
        kind, time = row["event"], int(row["time_ns"])
        if kind in (*BEGINS, "receive", "receive-done", "send-done", "collective-done", "cancelled", "probed"):
            self.acts.append(row)
            return
        for each in self.acts:
            self.begin(each)
        for each in self.acts:
            self.end(each, time)
        self.acts.clear()
        if kind in ("enter", "leave"):
            self.events.append((time, kind.capitalize(), row["function"], row["file"], int(row["line"])))
        elif kind == "counter":
            self.events.append((time, "Metric", row["parameter"], int(row["value"])))
        elif kind == "parameter":
            self.events.append((time, "Parameter", row["parameter"], row["value"]))
        else:
            self.events.append((time, "MeasurementOnOff", "ON" if kind == "on" else "OFF"))


def source_of(region: dict) -> tuple[str, int]:
    """As `dump` has it, which knows of no source of a region of the program."""
    return ("", 0) if region["role"] == "CODE" else (region["file"], region["line"])


def found(archive: Archive, events: list[Event], called: dict[int, str]) -> list[tuple]:
    """The same of an archive; a region is called as `dump` calls the function that is the same, see same_names."""
    result = []
    for each in events:
        f = each.fields
        if each.kind in ("Enter", "Leave"):
            region = archive.regions[f["region"]]
            result.append((each.time, each.kind, called[f["region"]], *source_of(region)))
        elif each.kind.startswith("Parameter"):
            result.append((each.time, "Parameter", f["parameter"], str(f["value"] if "value" in f else f["string"])))
        else:
            values = [value or "?" if name == "communicator" else value for name, value in f.items()]
            result.append((each.time, each.kind, *values))
    return result


def same_names(archive: Archive, rows: list[dict], events: list[Event], called: dict[int, str]) -> None:
    """Each region is one function, and each function one region."""
    steps = [row for row in rows if row["event"] in ("enter", "leave")]
    regions = [each.fields["region"] for each in events if each.kind in ("Enter", "Leave")]
    assert len(steps) == len(regions)
    for row, region in zip(steps, regions):
        assert called.setdefault(region, row["function"]) == row["function"], archive.regions[region]
        assert source_of(archive.regions[region]) == (row["file"], int(row["line"]))


def compare(archive: Archive, rows: dict[tuple[str, int], list[dict]], sandbox: Sandbox) -> None:
    """All events of all threads, with their times; each of them is left again, and none goes back in time."""
    called: dict[int, str] = {}
    threads = {(process, name): events for (process, name), events in archive.events.items() if events}
    assert len(threads) == len(rows)
    for (process, thread), all_rows in rows.items():
        # The root of a trace is that of the main thread: others have one of their own below it, and in the archive that one only.
        second = all_rows[1]
        has_own = thread or (second["implied"] == "1" and second["depth"] == "1" and not second["file"])
        its_rows = [row for row in all_rows if not has_own or row["node"] != "0"]
        names = [name for of, name in threads if of == process]
        name = "Master thread" if thread == 0 else names[thread]
        events = threads[process, name]
        expected = Expected()
        for row in its_rows:
            expected.add(row)
        same_names(archive, its_rows, events, called)
        assert found(archive, events, called) == expected.events, (process, name)
        check_one(archive, events)
    assert len(called) == len({(name, *source_of(archive.regions[i])) for i, name in called.items()})
    for location in archive.locations:
        assert location["events"] == len(archive.events[location["process"], location["name"]])


def check_one(archive: Archive, events: list[Event]) -> None:
    first, length = archive.clock[1:3]
    times = [each.time for each in events]
    assert times == sorted(times)
    assert first <= times[0] and times[-1] <= first + length
    stack = []
    for each in events:
        if each.kind == "Enter":
            stack.append(each.fields["region"])
        elif each.kind == "Leave":
            assert stack.pop() == each.fields["region"]
    assert not stack


# ---- programs without MPI ----


def without(names: list[str], *prefixes: str) -> list[str]:
    return [name for name in names if name.startswith(prefixes)]


def names_in(python: Sandbox) -> dict[str, str]:
    """Before 3.11 code objects do not know the class that they belong to."""
    has_classes = tuple(map(int, python.stack.python_version.split("."))) >= (3, 11)
    return {"relax": "__main__.Grid:relax" if has_classes else "__main__:relax"}


def test_threads_regions_and_parameters(python: Sandbox):
    python.recorded(PROGRAM, options=("--trace", "-o", "run.allranks"))
    archive = read(python, export(python, "run.allranks"))
    rows = dumped(python, "run.allranks")
    compare(archive, rows, python)
    (process,) = {each["process"] for each in archive.locations}
    assert next(each["name"] for each in archive.locations) == "Master thread"
    (helper,) = [each["name"] for each in archive.locations if each["name"] == "helper"]
    relax = names_in(python)["relax"]
    own = ("__main__", "user")
    assert without(archive.names("Enter", process), *own) == [
        "__main__:<module>", "__main__:Grid", "__main__:main", "user:assemble(level=2)", relax, "__main__:step", "__main__:step",
        "__main__:named", "__main__:outer", "__main__:inner", "__main__:step", "__main__:step",
    ]  # fmt: skip
    assert without(archive.names("Enter", process, helper), *own) == ["__main__:work", relax] + 3 * ["__main__:step"]
    main = archive.events[process, "Master thread"]
    parameters = [(each.kind, *each.fields.values()) for each in main if each.kind.startswith("Parameter")]
    assert sorted(parameters) == [
        ("ParameterInt", -3, "signed"),
        ("ParameterString", 'grüße, "quoted"', "text"),
        ("ParameterUnsignedInt", 2**64 - 1, "unsigned"),
    ]
    assert [each.fields["measurement_mode"] for each in main if each.kind == "MeasurementOnOff"] == ["OFF", "ON"]


@pytest.mark.parametrize("seed", [1, pytest.param(SEED, id="any")])
def test_random_programs(python: Sandbox, seed: int):
    """What `dump` says of them is held against their own notes in test_random_traces.py."""
    print("ALLRANKS_SEED", seed)
    (python.cwd / "written.py").write_text(write_traced(seed, is_alone=True))
    done = python.recorded("written.py", "notes.json", "2", "1", options=("--trace", "--exact"))
    assert done.code == 0, done
    compare(read(python, export(python, "written.allranks")), dumped(python, "written.allranks"), python)


def test_random_messages(one_mpi: Sandbox):
    """The same of test_mpi_traces.py."""
    print("ALLRANKS_SEED", SEED)
    done = one_mpi.recorded_ranks(3, workload("mpi_traced.py"), str(SEED), "60", options=("--trace",))
    assert done.code == 0, done
    compare(read(one_mpi, export(one_mpi, "mpi_traced.allranks")), dumped(one_mpi, "mpi_traced.allranks"), one_mpi)


def test_definitions(python: Sandbox):
    python.recorded(PROGRAM, options=("--trace", "-o", "run.allranks"))
    archive = read(python, export(python, "run.allranks"))
    regions = {each["name"]: each for each in archive.regions}
    lines = Path(PROGRAM).read_text().splitlines()
    step = regions["__main__:step"]
    assert (step["file"], step["line"], step["role"]) == (PROGRAM, lines.index("def step():") + 1, "FUNCTION")
    begun = regions["user:assemble(level=2)"]
    (line,) = [number for number, line in enumerate(lines, 1) if "assemble" in line and "level=2" in line]
    assert (begun["file"], begun["line"], begun["role"]) == (PROGRAM, line, "CODE")
    resolution, _, length, began = archive.clock
    info = python.info("run.allranks")
    assert resolution == 10**9
    assert 0 <= began / 1e9 - info.processes[0]["start"] < 60 if "start" in info.processes[0] else began > 10**18
    assert 0 < length < 3600e9


def test_a_killed_run(python: Sandbox):
    python.recorded(PROGRAM, "KILL", options=("--trace",))
    done = python.allranks("recover", python.live, "-o", "run.allranks")
    assert done.code == 0, done
    archive = read(python, export(python, "run.allranks"))
    compare(archive, dumped(python, "run.allranks"), python)
    (process,) = {each["process"] for each in archive.locations}
    assert archive.names("Enter", process).count("__main__:step") == 4


def test_a_child(python: Sandbox):
    code = "import os; pid = os.fork(); pid and os.waitpid(pid, 0)"
    (python.cwd / "forks.py").write_text(f"def child(): pass\n{code}\nif not pid: child()\n")
    python.recorded("forks.py", options=("--trace", "-o", "run.allranks"))
    python.wait_for_the_last()
    archive = read(python, export(python, "run.allranks"))
    compare(archive, dumped(python, "run.allranks"), python)
    parent, child = sorted(archive.locations, key=lambda each: each["creator"] is not None)
    assert (parent["creator"], child["creator"]) == (None, parent["process"])
    assert "__main__:child" in archive.names("Enter", child["process"])


# ---- a part ----


def test_a_window_of_time(python: Sandbox):
    python.recorded(PROGRAM, options=("--trace", "-o", "run.allranks"))
    times = [int(row["time_ns"]) for rows in dumped(python, "run.allranks").values() for row in rows]
    begin, end = sorted(times)[len(times) // 4], sorted(times)[3 * len(times) // 4]
    window = ("--from", f"{begin}ns", "--to", f"{end}ns")
    whole, part = (read(python, export(python, "run.allranks", *options, to=to)) for options, to in (((), "whole"), (window, "part")))
    compare(part, dumped(python, "run.allranks", *window), python)
    count = [sum(map(len, each.events.values())) for each in (whole, part)]
    assert 0 < count[1] < 0.7 * count[0]


# ---- MPI ----


def messages(rank: int, size: int, half: int) -> list[tuple]:
    """What one rank of archived_mpi.py does, in order, without times and requests."""
    to, source, world = (rank + 1) % size, (rank - 1) % size, "MPI_COMM_WORLD"
    mine = 0 if rank >= half else 1  # of two; the order is reversed

    def collective(name: str, comm: str, root: int = NONE, sent: int = 0, received: int = 0) -> list[tuple]:
        return [("MpiCollectiveBegin",), ("MpiCollectiveEnd", name, comm, root, sent, received)]

    def nonblocking(name: str, root: int = NONE, sent: int = 0, received: int = 0) -> list[tuple]:
        return [("NonBlockingCollectiveRequest",), ("NonBlockingCollectiveComplete", name, "part", root, sent, received)]

    expected = [
        ("MpiIrecvRequest",), ("MpiIsend", to, world, 5, 80), ("MpiIrecv", source, world, 5, 80), ("MpiIsendComplete",),
        ("MpiSend", to, world, 7, 24), ("MpiRecv", source, world, 7, 24),
        ("MpiIrecvRequest",), ("MpiRequestCancelled",),
        *collective("CREATE_HANDLE", world),
        *collective("ALLREDUCE", "part", NONE, 64, 64),
        *collective("BCAST", "part", 1, 32 * mine, 32 * (1 - mine)),
        ("MpiSend", 1, "part", 3, 40) if mine == 0 else ("MpiRecv", 0, "part", 3, 40),
        *nonblocking("BCAST", 0, 16 * (1 - mine), 16 * mine),
        *nonblocking("BARRIER"),
        *collective("GATHER", "part", 0, 4, 8 * (1 - mine)),
        *collective("CREATE_HANDLE", "part"),
        *collective("BARRIER", ""),
        *collective("DESTROY_HANDLE", ""),
        *collective("BARRIER", "MPI_COMM_SELF"),
    ]  # fmt: skip
    if size == 4:
        is_root = rank % 2 == 0 and mine == 1
        expected += collective("CREATE_HANDLE", "part")
        expected += collective("BCAST", "", 1 if is_root or rank % 2 else NONE, 8 * is_root, 8 * (rank % 2))
        expected += collective("DESTROY_HANDLE", "")
    return [*expected, *collective("BARRIER", world)]


def without_requests(events: list[Event]) -> list[tuple]:
    kinds = ("Mpi", "NonBlocking")
    return [
        (each.kind, *(value for name, value in each.fields.items() if name != "request_id"))
        for each in events if each.kind.startswith(kinds)
    ]  # fmt: skip


def requests_of(events: list[Event]) -> dict[int, list[str]]:
    all_of = defaultdict(list)
    for each in events:
        if "request_id" in each.fields:
            all_of[each.fields["request_id"]].append(each.kind)
    return all_of


PAIRS = (
    ["MpiIrecvRequest", "MpiIrecv"], ["MpiIsend", "MpiIsendComplete"], ["MpiIrecvRequest", "MpiRequestCancelled"],
    ["NonBlockingCollectiveRequest", "NonBlockingCollectiveComplete"],
)  # fmt: skip


@pytest.mark.parametrize("size", [2, 4])
def test_messages_and_collective_calls(one_mpi: Sandbox, size: int):
    done = one_mpi.recorded_ranks(size, MPI_PROGRAM, options=("--trace", "-o", "run.allranks"))
    assert done.code == 0, done
    archive = read(one_mpi, export(one_mpi, "run.allranks"))
    half = size // 2
    for rank in range(size):
        events = archive.events[f"MPI Rank {rank}", "Master thread"]
        assert without_requests(events) == messages(rank, size, half), rank
        assert all(each in PAIRS for each in requests_of(events).values())
    # A communicator has its ranks in their order.
    ranks = [f"MPI Rank {rank}" for rank in range(size)]
    comms = defaultdict(list)
    for each in archive.comms:
        comms[each["name"]].append((each["parent"], each["groups"]))
    parts = [ranks[color::half][::-1] for color in range(half)]
    assert comms["MPI_COMM_WORLD"] == [(None, [ranks])]
    assert comms["MPI_COMM_SELF"] == [(None, [[]])]
    assert sorted(comms["part"]) == sorted(("MPI_COMM_WORLD", [part]) for part in parts)
    # Two groups are one, the second from its end.
    both = [parts[0] + parts[1][::-1]] if size == 4 else []
    assert sorted(groups for _, groups in comms[""]) == sorted([each] for each in [*parts, *both])


def test_all_events_of_ranks(one_mpi: Sandbox):
    done = one_mpi.recorded_ranks(2, MPI_PROGRAM, options=("--trace", "-o", "run.allranks"))
    assert done.code == 0, done
    archive = read(one_mpi, export(one_mpi, "run.allranks"))
    compare(archive, dumped(one_mpi, "run.allranks"), one_mpi)
    assert {each["paradigm"] for each in archive.regions if each["name"].startswith("MPI_")} == {"MPI"}
    roles = {each["name"]: each["role"] for each in archive.regions}
    assert (roles["MPI_Allreduce"], roles["MPI_Barrier"], roles["MPI_Bcast"]) == ("COLL_ALL2ALL", "BARRIER", "COLL_ONE2ALL")


def test_ranks_that_are_not_in_it_keep_their_place(one_mpi: Sandbox):
    one_mpi.recorded_ranks(4, MPI_PROGRAM, options=("--trace", "-o", "run.allranks"))
    archive = read(one_mpi, export(one_mpi, "run.allranks", "--ranks", "1,2"))
    for rank in (1, 2):
        assert without_requests(archive.events[f"MPI Rank {rank}", "Master thread"]) == messages(rank, 4, 2), rank
    (world,) = [each for each in archive.comms if each["name"] == "MPI_COMM_WORLD"]
    absent = " (not in this trace)"
    assert world["groups"] == [[f"MPI Rank 0{absent}", "MPI Rank 1", "MPI Rank 2", f"MPI Rank 3{absent}"]]


# ---- the directory ----


def small_run(python: Sandbox) -> None:
    (python.cwd / "small.py").write_text("def f(): pass\nf()\n")
    python.recorded("small.py", options=("--trace", "-o", "run.allranks"))


def test_directories_above_it_are_made(python: Sandbox):
    small_run(python)
    for name in ("a/b/c", "d//e/", f"{python.cwd}/f/g"):
        done = python.allranks("export", "run.allranks", "-f", "otf2", "--quiet", "-o", name)
        assert (done.code, done.err) == (0, "") and (python.cwd / name / "traces.otf2").exists(), done
    (python.cwd / "file").touch()
    done = python.allranks("export", "run.allranks", "-f", "otf2", "--quiet", "-o", "file/x")
    assert done.code == 2 and done.err.count("\n") == 1 and "file/x: cannot make the directory" in done.err, done


def test_the_directory(python: Sandbox):
    small_run(python)
    directory = export(python, "run.allranks")
    assert {path.name for path in directory.iterdir()} == {"traces", "traces.def", "traces.otf2"}
    # What is beside it stays; an archive of allranks is replaced.
    (directory / "profile.cubex").write_text("another's")
    (directory / "traces" / "99.evt").write_text("of a longer one before")
    export(python, "run.allranks")
    assert (directory / "profile.cubex").read_text() == "another's"
    assert {path.name for path in (directory / "traces").iterdir()} == {"0.evt", "0.def"}
    read(python, directory)


@pytest.mark.parametrize("name", ["traces", "traces.def", "traces.otf2", "traces/notes.txt"])
def test_what_others_wrote_is_not_replaced(python: Sandbox, name: str):
    small_run(python)
    directory = python.cwd / "archive"
    if "/" in name:
        export(python, "run.allranks")
    (directory / name).parent.mkdir(parents=True, exist_ok=True)
    (directory / name).write_text("another's")
    before = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}
    done = python.allranks("export", "run.allranks", "-f", "otf2", "-o", "archive")
    assert done.code == 2 and done.err.count("\n") == 1 and "not from allranks" in done.err, done
    assert {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()} == before


def test_failures_leave_nothing(python: Sandbox):
    small_run(python)
    (python.cwd / "file").write_text("")
    plain = python.cwd / "plain.allranks"
    python.recorded("small.py", options=("-o", "plain.allranks"))
    before = python.files()
    for run, to, said in (
        ("plain.allranks", "archive", "it has no trace"),
        ("run.allranks", "file/archive", "Not a directory"),
        ("run.allranks", "file", "is no directory"),
        ("run.allranks", "-", "not written to standard output"),
    ):
        done = python.allranks("export", run, "-f", "otf2", "-o", to)
        assert done.code == 2 and said in done.err and done.err.count("\n") == 1, done
    assert python.files() == before and not (python.cwd / "archive").exists()
    assert plain.exists()


@pytest.mark.parametrize("limit", [8, 1000, 5000])
def test_a_full_disk(python: Sandbox, limit: int):
    """A limit of files is as good as a full disk: of 7 MB the library has written some when it notices, or does not notice at all."""
    (python.cwd / "long.py").write_text("def f(): pass\nfor _ in range(300000): f()\n")
    python.recorded("long.py", options=("--trace", "-o", "run.allranks"))
    shell = f"trap '' XFSZ; ulimit -f {limit}; exec {python.command} export run.allranks -f otf2 -o archive"
    done = python.run(["bash", "-c", shell])
    assert done.code == 2 and done.err.count("\n") == 1, done
    assert "libotf2" in done.err or "cannot write all of" in done.err, done
    assert not (python.cwd / "archive").exists()


def test_without_the_library(python: Sandbox):
    small_run(python)
    done = python.allranks("export", "run.allranks", "-f", "otf2", "-o", "archive", env={"ALLRANKS_OTF2": "/none/libotf2.so"})
    assert done.code == 2 and done.err.count("\n") == 1 and "/none/libotf2.so" in done.err, done
    assert not (python.cwd / "archive").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written(python: Sandbox):
    small_run(python)
    directory = python.cwd / "archive"
    directory.mkdir(mode=0o500)
    done = python.allranks("export", "run.allranks", "-f", "otf2", "-o", "archive")
    assert done.code == 2 and "cannot write" in done.err, done
    assert list(directory.iterdir()) == []
