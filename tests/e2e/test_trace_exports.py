# SPDX-License-Identifier: BSD-3-Clause
"""Traces in other tools' formats hold, event by event, what `allranks dump` prints."""

from __future__ import annotations

import json
import os
import re
import resource
import stat
import subprocess
from collections import Counter
from pathlib import Path

import perfetto_engine
import pytest
from harness import Done, Sandbox, workload
from readings import read_pstats
from trace_formats import (
    Flow,
    Step,
    Trace,
    dumped,
    read_chrome,
    read_perfetto,
    read_speedscope,
    without_details,
)

TRACES = {"perfetto": read_perfetto, "chrome": read_chrome}
FORMATS = {"perfetto": ".perfetto-trace", "chrome": ".chrome.json", "speedscope": ".speedscope.json"}


def recorded(sandbox: Sandbox, program: str, *options: str, n_ranks: int = 0) -> None:
    options = ("--trace", "-o", "t.allranks", *options)
    if n_ranks:
        done = sandbox.recorded_ranks(n_ranks, program, options=options)
    else:
        done = sandbox.recorded(program, options=options)
    assert done.code == 0, done


def exported(sandbox: Sandbox, name: str, *options: str) -> bytes:
    target = sandbox.cwd / f"t{FORMATS[name]}"
    assert sandbox.answer("export", "t.allranks", "-f", name, "--quiet", "-o", target, *options) == b""
    return target.read_bytes()


def by_name(sandbox: Sandbox, *options: str) -> Trace:
    """What is dumped, by what processes and threads are called."""
    facts = json.loads(sandbox.answer("info", "--json", "t.allranks"))["processes"]
    rank_of_pid = {str(each["pid"]): each for each in facts}
    trace: Trace = {}
    for (pid, _, thread), steps in dumped(sandbox.answer("dump", "--csv", "t.allranks", *options)).items():
        process = rank_of_pid[pid]
        root = facts[process["rank_id"]]
        name = re.sub(r"^[^ ]*/", "", process["command"].replace("\n", "?"))
        if root["rank"] is not None:
            name = f"rank {root['rank']}"
        trace[name + (f" child {pid}" if root is not process else ""), thread] = steps
    return numbered(dict(sorted(trace.items(), key=lambda item: (item[0][0], int(item[0][1])))))


def numbered(trace: Trace) -> Trace:
    """With threads as numbers, by the order in which they stand: the main thread is 0."""
    found: Trace = {}
    seen: dict[str, int] = {}
    for (process, _), steps in trace.items():
        found[process, str(seen.setdefault(process, 0))] = steps
        seen[process] += 1
    return found


def shown(trace: Trace) -> Trace:
    """Texts as a terminal shows them, as dump does; JSON has them as they are."""

    def clean(text: str) -> str:
        return "".join(c if c.isprintable() else "?" for c in text)

    return {thread: [Step(s.kind, s.ns, clean(s.name), s.is_implied, s.messages, clean(s.value), s.category, s.source) for s in steps]
            for thread, steps in trace.items()}  # fmt: skip


def assert_same(found: Trace, expected: Trace) -> None:
    assert {thread for thread, steps in found.items() if steps} == {thread for thread, steps in expected.items() if steps}
    for thread, steps in expected.items():
        for at, (one, other) in enumerate(zip(found.get(thread, []), steps)):
            assert one == other, (thread, at)
            if other.source:
                assert one.source == other.source, (thread, at)
        assert len(found.get(thread, [])) == len(steps)


def assert_exports_agree(sandbox: Sandbox, *window: str) -> list[Trace]:
    """Returns what the formats of traces have."""
    expected = by_name(sandbox, *window)
    read = {}
    for name, reader in TRACES.items():
        read[name] = reader(exported(sandbox, name, *window))
        read[name].trace = shown(numbered(read[name].trace))
        assert_same(read[name].trace, expected)
        assert {process for process, _ in expected} <= set(read[name].processes)
    assert read["perfetto"].flows == read["chrome"].flows
    evented, others, _ = read_speedscope(exported(sandbox, "speedscope", *window))
    assert others == {}
    of_process = {name: next(process for process, _ in expected if name == process or name.startswith(f"{process}, "))
                  for name, steps in evented.items() if steps}  # fmt: skip
    plain = {thread: [Step(s.kind, s.ns, s.name if s.kind == "begin" or s.kind == "off" else "", source=s.source) for s in without_details(steps)]
             for thread, steps in expected.items()}  # fmt: skip
    assert_same(shown(numbered({(of_process[name], name): steps for name, steps in evented.items() if steps})), plain)
    return [each.trace for each in read.values()]


def steps_of(trace: Trace, *kinds: str) -> list[Step]:
    return [step for steps in trace.values() for step in steps if step.kind in kinds]


def test_all_that_a_trace_can_have(python: Sandbox):
    recorded(python, workload("trace_all.py"), "--exact")
    read = assert_exports_agree(python)
    for trace in read:
        begun = {step.name: step for step in steps_of(trace, "begin")}
        assert begun["recurse"].category == "python" and begun["recurse"].source.startswith(workload("trace_all.py") + ":")
        assert begun["größer → 数"].category == "region" and begun['"quoted", \\ and?broken'].category == "region"
        assert begun["sorted"].category == "c" and begun["kid"].category == "python"
        parameters = {step.name: step.value for step in steps_of(trace, "parameter")}
        assert parameters == {"level": "7", "huge": str(2**64 - 1), "text": 'a "text", with 数?and a tab', "from the thread": "-3"}
        assert len(steps_of(trace, "off")) == len(steps_of(trace, "on")) >= 2
        assert len(trace) == 3


def test_messages(mpi: Sandbox):
    recorded(mpi, workload("trace_messages.py"), n_ranks=4)
    read = assert_exports_agree(mpi)
    for trace in read:
        ends = [step for step in steps_of(trace, "end") if step.messages]
        kinds = {dict(message)["kind"] for step in ends for message in step.messages}
        assert {"send-posted", "receive-posted", "send-done", "receive-done", "collective", "collective-posted",
                "collective-done"} <= kinds  # fmt: skip
        both = [step for step in ends if len(step.messages) == 2]
        assert len(both) == 4 * 4 and all({dict(each)["tag"] for each in step.messages} == {7} for step in both)
        mpi_calls = [step for step in steps_of(trace, "begin") if step.category == "mpi"]
        assert all(step.name.startswith("MPI_") for step in mpi_calls)
        waits = {step.source for step in mpi_calls if step.name == "MPI_Waitall"}
        lines = Path(workload("trace_messages.py")).read_text().splitlines()
        line = 1 + next(i for i, text in enumerate(lines) if "Waitall" in text)
        assert waits == {f"{workload('trace_messages.py')}:{line}"}


def test_arrows(one_mpi: Sandbox):
    """A message leads from the rank that sends it to the one that receives it, a collective call through all its ranks."""
    recorded(one_mpi, workload("trace_messages.py"), n_ranks=4)
    flows = read_perfetto(exported(one_mpi, "perfetto")).flows
    arrows: dict[int, list[Flow]] = {}
    for flow in flows:
        arrows.setdefault(flow.id, []).append(flow)
    assert all("".join(flow.phase for flow in arrow) == "s" + "t" * (len(arrow) - 2) + "f" for arrow in arrows.values())
    assert all(arrow == sorted(arrow, key=lambda flow: flow.ns) for arrow in arrows.values())
    messages = Counter((arrow[0].process, arrow[1].process) for arrow in arrows.values() if len(arrow) == 2 and arrow[0].id < 1 << 32)
    assert messages == {("rank 0", "rank 1"): 5, ("rank 1", "rank 2"): 4, ("rank 2", "rank 3"): 4, ("rank 3", "rank 0"): 4}
    collective = [arrow for arrow in arrows.values() if arrow[0].id > 1 << 32]
    assert all(len({flow.process for flow in arrow}) == len(arrow) for arrow in collective)
    assert {len(arrow) for arrow in collective} == {2, 4}  # of half of the ranks, and of all


def test_ranks_stand_in_order(one_mpi: Sandbox):
    recorded(one_mpi, workload("trace_messages.py"), n_ranks=4)
    for name, reader in TRACES.items():
        assert reader(exported(one_mpi, name)).processes == ["rank 0", "rank 1", "rank 2", "rank 3"]
        assert reader(exported(one_mpi, name, "--ranks", "1,3")).processes == ["rank 1", "rank 3"]
    evented, _, _ = read_speedscope(exported(one_mpi, "speedscope"))
    assert [name for name in evented if "," not in name] == ["rank 0", "rank 1", "rank 2", "rank 3"]


# Events of 200 bytes: few of them make a chunk.
FILLING = "def fill(n):\n    for i in range(n):\n        allranks.parameter('p', 'x' * 200)\n"


def test_the_limit_of_a_trace_is_shown(python: Sandbox):
    (python.cwd / "long.py").write_text(f"import allranks\n{FILLING}fill(6000)\n")
    recorded(python, "long.py", "--trace-limit", "1M")
    for trace in assert_exports_agree(python):
        assert len(steps_of(trace, "full")) == 1


def test_the_last_seconds_of_a_trace(python: Sandbox):
    (python.cwd / "long.py").write_text(f"import allranks, time\n{FILLING}for i in range(9):\n    fill(6000)\n    time.sleep(0.3)\n")
    recorded(python, "long.py", "--trace-last", "1s")
    for trace in assert_exports_agree(python):
        assert any(step.is_implied for step in steps_of(trace, "begin"))


def test_windows(python: Sandbox):
    recorded(python, workload("trace_all.py"))
    everything = by_name(python)
    times = sorted(step.ns for steps in everything.values() for step in steps)
    begin, end = times[len(times) // 3], times[2 * len(times) // 3]
    window = ("--from", f"{begin}ns", "--to", f"{end}ns")
    for trace in assert_exports_agree(python, *window):
        assert all(begin <= step.ns <= end for step in steps_of(trace, "begin", "end"))
        assert any(step.is_implied for step in steps_of(trace, "begin"))
        assert any(step.is_implied for step in steps_of(trace, "end"))


# ---- runs without a trace ----


def test_speedscope_shows_any_run(python: Sandbox):
    (python.cwd / "tree.py").write_text(
        "import time\ndef a():\n    time.sleep(0.02)\ndef b():\n    a()\n    time.sleep(0.01)\nb()\na()\n"
    )
    assert python.recorded("tree.py", options=("-o", "t.allranks", "--exact")).code == 0
    evented, others, frames = read_speedscope(exported(python, "speedscope"))
    assert evented == {} and list(others) == ["tree.py"]
    profile = others["tree.py"]
    assert len(profile["samples"]) == len(profile["weights"]) and profile["unit"] == "nanoseconds"
    assert sum(profile["weights"]) == profile["endValue"] and profile["startValue"] == 0
    own: dict[tuple[str, int, str], int] = {}
    for stack, ns in zip(profile["samples"], profile["weights"]):
        if not stack:
            continue  # outside of all functions
        frame = frames[stack[-1]]
        key = (frame.get("file", ""), frame.get("line", 0), frame["name"])
        own[key] = own.get(key, 0) + ns
    target = python.cwd / "t.pstats"
    python.answer("export", "t.allranks", "-f", "pstats", "--quiet", "-o", target)
    script = str(python.cwd / "tree.py")
    expected = {key: calls for key, calls in read_pstats(target).items() if key[0] == script}
    assert {name for _, _, name in expected} == {"<module>", "a", "b"}
    for key, calls in expected.items():
        assert abs(own[key] / 1e9 - calls.self_s) < 2e-9 * len(profile["weights"]), key
    names = [[frames[frame]["name"] for frame in stack] for stack in profile["samples"]]
    assert ["<module>", "b", "a", "time.sleep"] in names and ["<module>", "a", "time.sleep"] in names


def test_speedscope_has_a_profile_of_each_rank(one_mpi: Sandbox):
    done = one_mpi.recorded_ranks(3, workload("trace_messages.py"), options=("-o", "t.allranks"))
    assert done.code == 0, done
    evented, others, _ = read_speedscope(exported(one_mpi, "speedscope"))
    assert evented == {} and list(others) == ["rank 0", "rank 1", "rank 2"]
    assert all(sum(profile["weights"]) == profile["endValue"] > 0 for profile in others.values())


def test_speedscope_shows_files_of_cprofile(python: Sandbox):
    (python.cwd / "tree.py").write_text("def a():\n    return sum(range(9000))\na()\na()\n")
    assert python.plain("-m", "cProfile", "-o", "t.prof", "tree.py").code == 0
    python.answer("export", "t.prof", "-f", "speedscope", "--quiet", "-o", "t.speedscope.json")
    _, others, frames = read_speedscope((python.cwd / "t.speedscope.json").read_bytes())
    (profile,) = others.values()
    assert all(len(stack) == 1 for stack in profile["samples"])
    (total,) = [ns for (frame,), ns in zip(profile["samples"], profile["weights"]) if frames[frame]["name"] == "a"]
    (calls,) = [each for (_, _, name), each in read_pstats(python.cwd / "t.prof").items() if name == "a"]
    assert abs(total / 1e9 - calls.self_s) < 1e-8


@pytest.mark.parametrize("name", TRACES)
def test_a_run_without_a_trace_is_one_line(python: Sandbox, name: str):
    (python.cwd / "x.py").write_text("pass\n")
    assert python.recorded("x.py", options=("-o", "t.allranks")).code == 0
    before = python.files()
    done = python.allranks("export", "t.allranks", "-f", name)
    assert (done.code, done.out) == (2, "")
    assert done.err == "allranks: error: t.allranks: it has no trace (record one with: allranks run --trace)\n"
    assert python.files() == before


# ---- files ----


@pytest.fixture
def traced(python: Sandbox) -> Sandbox:
    (python.cwd / "x.py").write_text("def f(n):\n    return n and f(n - 1)\nfor i in range(500):\n    f(i % 7)\n")
    recorded(python, "x.py")
    return python


def assert_one_line(done: Done, *words: str) -> None:
    assert (done.code, done.out) == (2, ""), done
    assert done.err.startswith("allranks: error: ") and done.err.count("\n") == 1, done
    assert all(word in done.err for word in words), done


@pytest.mark.parametrize("name", FORMATS)
def test_the_ending_of_a_name_is_enough(traced: Sandbox, name: str):
    done = traced.allranks("export", "t.allranks", "-f", name)
    assert (done.code, done.out, done.err) == (0, "", f"allranks: wrote t{FORMATS[name]}\n")
    data = (traced.cwd / f"t{FORMATS[name]}").read_bytes()
    assert traced.answer("export", "t.allranks", "-o", f"other{FORMATS[name]}") == b""
    assert (traced.cwd / f"other{FORMATS[name]}").read_bytes() == data
    assert traced.answer("export", "t.allranks", "-f", name, "-o", "-") == data


@pytest.mark.parametrize("name", FORMATS)
def test_what_cannot_be_written_leaves_nothing(traced: Sandbox, name: str):
    target = traced.cwd / f"t{FORMATS[name]}"
    target.write_bytes(b"as it was")
    before = traced.files()

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    words = [traced.command, "export", "t.allranks", "-f", name]
    done = subprocess.run(words, cwd=traced.cwd, preexec_fn=limited, capture_output=True)
    assert_one_line(Done(words, done.returncode, done.stdout, done.stderr), f"t{FORMATS[name]}: cannot write: File too large")
    assert traced.files() == before and target.read_bytes() == b"as it was"
    assert_one_line(traced.allranks("export", "t.allranks", "-f", name, "-o", "/dev/full"), "/dev/full: cannot write: No space left")
    assert_one_line(traced.allranks("export", "t.allranks", "-f", name, "-o", "no/such"), "no/such: cannot write: No such file")
    assert traced.files() == before


def test_a_link_stays_and_modes_are_usual(traced: Sandbox):
    (traced.cwd / "real").write_bytes(b"old")
    (traced.cwd / "t.pftrace").symlink_to("real")
    assert traced.answer("export", "t.allranks", "-o", "t.pftrace") == b""
    assert (traced.cwd / "t.pftrace").is_symlink() and read_perfetto((traced.cwd / "real").read_bytes()).processes == ["x.py"]
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((traced.cwd / "real").stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_trace_is_one_line(traced: Sandbox, name: str):
    path = traced.cwd / "t.allranks"
    data = bytearray(path.read_bytes())
    middle = len(data) // 2  # most of the file is events
    data[middle : middle + 60] = bytes(60)
    path.write_bytes(data)
    before = traced.files()
    assert_one_line(traced.allranks("export", "t.allranks", "-f", name), "t.allranks: the trace is damaged")
    assert traced.files() == before


@pytest.mark.parametrize(("words", "said"), [
    (("-f", "perfetto", "--rank", "0"), "--ranks 0"),
    (("-f", "pstats", "--from", "1s"), "--from, --to"),
    (("-f", "chrome", "--from", "2s", "--to", "1s"), "--from 2s"),
    (("-f", "speedscope", "--to", "soon"), "--to soon"),
])  # fmt: skip
def test_wrong_words_are_one_line(traced: Sandbox, words: tuple, said: str):
    assert_one_line(traced.allranks("export", "t.allranks", *words), said)


@pytest.mark.parametrize("ending", [".pftrace", ".chrome.json", ".speedscope.json"])
def test_merging_makes_no_trace_files(traced: Sandbox, ending: str):
    done = traced.allranks("merge", "t.allranks", "-o", f"x{ending}")
    assert_one_line(done, f"x{ending}: ", "allranks export RUN -f ")
    assert not (traced.cwd / f"x{ending}").exists()


# ---- Perfetto itself ----

SHOWN = """
import threading, time
import allranks
def inner(n):
    allranks.parameter("n", n)
def worker():
    with allranks.region("step"):
        inner(2)
def main():
    inner(1)
    with allranks.region("counted"):
        inner(3)
    allranks.pause()
    allranks.parameter("n", 4)
    time.sleep(0.002)
    allranks.resume()
    thread = threading.Thread(target=worker, name="the worker")
    thread.start()
    thread.join()
main()
"""
COUNTED_MESSAGES = """
import mpi4py.MPI as MPI
comm = MPI.COMM_WORLD
def exchange(n):
    for i in range(n):
        if comm.rank == 0:
            comm.send(i, dest=1)
        else:
            comm.recv(source=0)
exchange(7)
"""
FAULTS = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"


def slices_of(exported_trace: Trace) -> Counter[str]:
    return Counter(step.name for steps in exported_trace.values() for step in steps if step.kind == "begin")


def test_perfetto_itself_shows_what_was_recorded(any_python: Sandbox):
    (any_python.cwd / "x.py").write_text(SHOWN)
    recorded(any_python, "x.py", "--counters", "page-faults")
    data = exported(any_python, "perfetto")
    faults, slices, times, counters, threads, off = perfetto_engine.ask(
        any_python, data, FAULTS, "select name, count(*) from slice where dur > 0 or category not in ('parameter') group by name",
        "select min(dur), count(*) from slice where dur < 0", "select count(*) from counter",
        "select name from thread where name = 'the worker'", "select dur from slice where name = 'not recorded'",
    )  # fmt: skip
    assert faults == [] and times[0][1] == 0 and threads == [("the worker",)] and len(off) == 1 and off[0][0] >= 1_000_000
    expected = slices_of(read_perfetto(data).trace)
    found = {name: n for name, n in slices if name in expected}
    assert found == dict(expected) and found["inner"] == 3
    assert counters[0][0] >= 4


def test_perfetto_itself_draws_the_arrows(debian: Sandbox):
    (debian.cwd / "x.py").write_text(COUNTED_MESSAGES)
    recorded(debian, "x.py", n_ranks=2)
    data = exported(debian, "perfetto")
    faults, flows, processes = perfetto_engine.ask(
        debian, data, FAULTS,
        "select a.name, b.name, count(*), min(b.ts + b.dur >= a.ts) from flow join slice a on a.id = slice_out join slice b on b.id = slice_in "
        "where a.name like 'MPI_%end%' group by 1, 2", "select name from process where name like 'rank%' order by name",
    )  # fmt: skip
    assert faults == [] and processes == [("rank 0",), ("rank 1",)]
    assert sum(row[2] for row in flows) == 7 and all(row[3] for row in flows), flows


def test_perfetto_itself_refuses_a_damaged_file(debian: Sandbox):
    (debian.cwd / "x.py").write_text(SHOWN)
    recorded(debian, "x.py")
    data = exported(debian, "perfetto")
    (whole,) = perfetto_engine.ask(debian, data, "select count(*) from slice")
    middle = len(data) // 2
    for damaged in (data[:middle], bytes(byte ^ 0xFF if i % 50 == 49 else byte for i, byte in enumerate(data))):
        try:
            (found, faults) = perfetto_engine.ask(debian, damaged, "select count(*) from slice", FAULTS)
        except AssertionError:
            continue
        assert found != whole or faults
