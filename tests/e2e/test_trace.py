# SPDX-License-Identifier: BSD-3-Clause
"""What a trace keeps: its limits, processes and threads, stacks that are switched, and what is left after a kill."""

from __future__ import annotations

import os
import random
import re
import signal
import time
from pathlib import Path

import pytest
from harness import Done, Sandbox
from trace_events import Event, by_thread, check_sound, events_of, main_thread, steps

N_KILLS = 6


def run_code(sandbox: Sandbox, code: str, *options: str, name: str = "x", code_of_exit: int = 0) -> Done:
    (sandbox.cwd / "x.py").write_text(code)
    done = sandbox.recorded("x.py", options=(*options, "-o", f"{name}.allranks"))
    assert done.code == code_of_exit, done
    return done


def calls_of(sandbox: Sandbox, run: str) -> dict[tuple[str, int, str], int]:
    return {key: each.calls for key, each in sandbox.pstats(run).items() if key[0].endswith("x.py")}


def check(sandbox: Sandbox, run: str | Path) -> None:
    done = sandbox.allranks("info", "--check", run)
    assert done.code == 0, done


def entered(events: list[Event], name: str) -> int:
    return sum(each.kind == "enter" and not each.is_implied and each.name == name for each in events)


# ---- limits ----

MANY = """
def leaf(): pass
def work(n):
    for _ in range(n): leaf()
work(250000)
def end(): pass
end()
"""


def traced_span(info: str) -> tuple[float, float]:
    """In seconds, as `allranks info` says."""
    units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
    found = re.search(r"^trace .* from ([\d.]+) (\w+) to ([\d.]+) (\w+)$", info, re.MULTILINE)
    assert found, info
    return float(found[1]) * units[found[2]], float(found[3]) * units[found[4]]


def test_at_the_limit_the_trace_stops_and_the_profile_goes_on(any_python: Sandbox):
    done = run_code(any_python, MANY, "--trace", "--trace-limit", "1M")
    events = events_of(any_python, "x.allranks")
    check_sound(events)
    assert [each.kind for each in events if each.kind not in ("enter", "leave")] == ["full"]
    n_traced = entered(events, "leaf")
    assert 100_000 < n_traced < 200_000 and entered(events, "end") == 0
    assert {name: n for (_, _, name), n in calls_of(any_python, "x.allranks").items()} == {"<module>": 1, "leaf": 250_000, "work": 1, "end": 1}
    text = any_python.answer("info", "x.allranks").decode()
    assert re.search(r"^trace full +the limit was reached, see --trace-limit$", text, re.MULTILINE), text
    assert re.search(r"^lost .*trace ends early", text, re.MULTILINE), text
    (_, end) = traced_span(text)
    (full,) = (each.ns for each in events if each.kind == "full")
    assert end == pytest.approx(full / 1e9, rel=0.01) and "(the trace ends early: the limit was reached, see --trace-limit)" in done.err, done
    check(any_python, "x.allranks")
    plain, traced = (Path(any_python.cwd, f"{name}.allranks") for name in ("plain", "x"))
    run_code(any_python, MANY, name="plain")
    assert traced.stat().st_size - plain.stat().st_size <= (1 << 20) + (64 << 10)


def test_the_last_seconds_are_kept_in_bounded_room(any_python: Sandbox):
    """What is older goes, as room is needed; what is younger stays."""
    code = """
import time
def leaf(): pass
def old():
    for _ in range(200000): leaf()
def late():
    for _ in range(1000): leaf()
old()
time.sleep(0.6)
old()
time.sleep(0.6)
late()
"""
    run_code(any_python, code, "--trace", "--trace-last", "500ms")
    events = events_of(any_python, "x.allranks")
    check_sound(events)
    assert entered(events, "late") == 1
    (late,) = (each for each in events if each.name == "late" and each.kind == "enter" and not each.is_implied)
    assert sum(each.kind == "enter" and each.name == "leaf" and each.ns >= late.ns for each in events) == 1000
    assert entered(events, "leaf") < 250_000  # of 401,000
    check(any_python, "x.allranks")


def test_the_last_seconds_are_whole(any_python: Sandbox):
    """An event that is younger than what was asked for is never dropped, at the limit of the room aside."""
    code = """
import time
def leaf():
    for _ in range(2000): pass
end = time.monotonic() + 1.5
while time.monotonic() < end: leaf()
"""
    run_code(any_python, code, "--trace", "--trace-last", "400ms")
    main = main_thread(events_of(any_python, "x.allranks"))
    leaves = [each.ns for each in main if each.name == "leaf" and not each.is_implied]
    assert leaves[-1] - leaves[0] >= 400e6
    assert not any(each.kind == "off" for each in main if each.ns > leaves[0])


def test_a_flight_recorder_stays_in_its_room(any_python: Sandbox):
    """Where the last seconds do not fit either, it is the newest that are kept."""
    done = run_code(any_python, MANY, "--trace", "--trace-last", "60s", "--trace-limit", "1M")
    assert "(of the trace less than --trace-last fits into --trace-limit)" in done.err, done
    for words in (["dump", "-n", "1"], ["timeline"]):
        said = any_python.allranks(*words, "x.allranks").err
        assert re.fullmatch(r"allranks: x.allranks: the trace has [\d.]+ m?s, up to its end: less than --trace-last fits into --trace-limit\n", said), said
    assert re.search(r"^trace short +less than --trace-last", any_python.answer("info", "x.allranks").decode(), re.MULTILINE)
    events = events_of(any_python, "x.allranks")
    check_sound(events)
    assert entered(events, "end") == 1 and 50_000 < entered(events, "leaf") < 250_000
    assert "full" not in {each.kind for each in events}
    assert Path(any_python.cwd, "x.allranks").stat().st_size < 3 << 19


NESTED = """
import time
def short(): pass
def inner(): short()
def long(): time.sleep(0.01)
def outer():
    inner(); long(); inner()
for _ in range(3): outer()
"""


def test_short_calls_are_left_out(any_python: Sandbox):
    run_code(any_python, NESTED, "--trace", "--trace-min", "5ms")
    events = events_of(any_python, "x.allranks")
    check_sound(events)
    assert steps(main_thread(events), "short", "inner", "long", "outer") == ["+outer", "+long", "-long", "-outer"] * 3
    calls = {name: n for (_, _, name), n in calls_of(any_python, "x.allranks").items()}
    assert calls == {"<module>": 1, "outer": 3, "long": 3, "inner": 6, "short": 6}


def test_deep_calls_are_left_out(any_python: Sandbox):
    run_code(any_python, NESTED, "--trace")
    depths = {each.name: each.depth for each in events_of(any_python, "x.allranks") if each.kind == "enter"}
    for limit, names in ((depths["outer"], ("outer",)), (depths["inner"], ("outer", "inner", "long")), (depths["short"], ("outer", "inner", "long", "short"))):
        run_code(any_python, NESTED, "--trace", "--trace-depth", str(limit), name=f"d{limit}")
        events = events_of(any_python, f"d{limit}.allranks")
        check_sound(events)
        found = {name: entered(events, name) for name in ("outer", "inner", "long", "short")}
        whole = {"outer": 3, "inner": 6, "long": 3, "short": 6}
        assert found == {name: whole[name] if name in names else 0 for name in whole}


# ---- what happens ----


def test_the_profile_is_the_same_with_a_trace(any_python: Sandbox):
    run_code(any_python, NESTED + MANY, name="plain")
    for name, options in (("whole", ()), ("last", ("--trace-last", "1ms")), ("min", ("--trace-min", "1ms")), ("depth", ("--trace-depth", "2"))):
        run_code(any_python, NESTED + MANY, "--trace", *options, name=name)
        assert calls_of(any_python, f"{name}.allranks") == calls_of(any_python, "plain.allranks")
        assert any_python.info(f"{name}.allranks").lost == 0


def test_without_a_trace_there_is_nothing_of_one(any_python: Sandbox):
    run_code(any_python, NESTED, name="plain")
    run_code(any_python, NESTED, "--trace-later", name="later")
    for name in ("plain", "later"):
        assert not re.search("^trace .*events", any_python.answer("info", f"{name}.allranks").decode(), re.MULTILINE)
        done = any_python.allranks("dump", f"{name}.allranks")
        assert done.code == 2 or done.out == "", done


def test_calls_that_last_for_seconds_end_when_they_end(any_python: Sandbox):
    """A time that is too long for the short forms of an event names its node in another way."""
    code = """
import time
def waits(): time.sleep(2.3)
def leaf(): pass
leaf(); waits(); leaf()
"""
    run_code(any_python, code, "--trace")
    main = main_thread(events_of(any_python, "x.allranks"))
    assert steps(main, "waits", "leaf", "sleep") == ["+leaf", "-leaf", "+waits", "+sleep", "-sleep", "-waits", "+leaf", "-leaf"]
    at = {kind + each.name: each.ns for each in main for kind in [{"enter": "+", "leave": "-"}.get(each.kind, "")]}
    assert at["-sleep"] - at["+sleep"] >= 2.3e9
    assert at["-sleep"] < at["-waits"]


def test_forked_and_started_children_have_traces_of_their_own(any_python: Sandbox):
    code = """
import os, subprocess, sys
def leaf(): pass
def family():
    leaf()
    pid = os.fork()
    leaf(); leaf()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return pid
child = family()
other = subprocess.Popen([sys.executable, "-c", "def leaf(): pass\\nfor _ in range(5): leaf()"])
other.wait()
print(os.getpid(), child, other.pid)
"""
    done = run_code(any_python, code, "--trace")
    parent, child, other = map(int, done.out.split())
    events = events_of(any_python, "x.allranks")
    check_sound(events)
    found = {pid: steps(each, "leaf", "family") for (pid, _), each in by_thread(events).items()}
    assert found[parent] == ["+family", *["+leaf", "-leaf"] * 3, "-family"]
    assert found[child] == ["+leaf", "-leaf"] * 2
    assert found[other] == ["+leaf", "-leaf"] * 5
    assert sorted(found) == sorted({parent, child, other})
    check(any_python, "x.allranks")


def test_a_program_that_becomes_another_leaves_its_trace(any_python: Sandbox):
    code = """
import os, sys
def leaf(): pass
leaf()
os.execv(sys.executable, [sys.executable, "-c", "def after(): pass\\nafter()"])
"""
    (any_python.cwd / "x.py").write_text(code)
    done = any_python.recorded("x.py", options=("--trace", "-o", "x.allranks"))
    assert done.code == 0, done
    any_python.wait_for_the_last()
    events = events_of(any_python, "x.allranks")
    check_sound(events)
    assert entered(events, "leaf") == 1 and entered(events, "after") == 1


def test_threads_have_traces_of_their_own(any_python: Sandbox):
    code = """
import threading
def leaf(): pass
def work(n):
    for _ in range(n): leaf()
threads = [threading.Thread(target=work, args=(100 * (i + 1),)) for i in range(4)]
for each in threads: each.start()
for each in threads: each.join()
"""
    run_code(any_python, code, "--trace")
    events = events_of(any_python, "x.allranks")
    check_sound(events)
    counts = sorted(entered(each, "leaf") for (_, number), each in by_thread(events).items() if number)
    assert counts == [100, 200, 300, 400]


def test_tasks_and_coroutines_enter_and_leave_at_each_turn(any_python: Sandbox):
    code = """
import asyncio
def leaf(): pass
async def inner(n):
    for _ in range(n):
        leaf()
        await asyncio.sleep(0)
async def main(): await asyncio.gather(inner(3), inner(2))
asyncio.run(main())
"""
    run_code(any_python, code, "--trace")
    events = events_of(any_python, "x.allranks")
    check_sound(events)
    assert entered(events, "leaf") == 5
    found = steps(main_thread(events), "leaf", "inner")
    assert all(before == "+inner" for before, at in zip(found, found[1:]) if at == "+leaf")


def test_greenlets_switch_stacks(any_python: Sandbox):
    if any_python.plain("-c", "import greenlet").code:
        pytest.skip("there is no greenlet for this Python")
    code = """
import greenlet
def leaf(n): pass
def first():
    leaf(1)
    second_one.switch()
    leaf(3)
    second_one.switch()
def second():
    leaf(2)
    first_one.switch()
    leaf(4)
first_one, second_one = greenlet.greenlet(first), greenlet.greenlet(second)
first_one.switch()
leaf(5)
"""
    run_code(any_python, code, "--trace")
    events = events_of(any_python, "x.allranks")
    check_sound(events)
    assert entered(events, "leaf") == 5
    check(any_python, "x.allranks")


# ---- what is left ----

ENDLESS = """
import os
def leaf(n): os.write(1, b"%d\\n" % n)
def work(n):
    leaf(n)
    return n + 1
n = 0
while True: n = work(n)
"""


def test_a_kill_at_any_moment_leaves_every_event(any_python: Sandbox):
    """The program says on its standard output how far it has come: what it said is in the trace."""
    (any_python.cwd / "x.py").write_text(ENDLESS)
    dice = random.Random(11)
    for number in range(N_KILLS):
        options = ((), ("--trace-last", "60s"))[number % 2]
        live = any_python.cwd.parent / f"live{number}"
        running = any_python.start([any_python.stack.python, "-m", "allranks", "--live-dir", str(live), "--trace", *options, "x.py"])
        running.wait_until(lambda running=running: os.fstat(running.stdout.fileno()).st_size > 0, "its first word")
        time.sleep(dice.random() * 0.2)
        done = running.kill()
        n_said = done.stdout.count(b"\n")
        events = events_of(any_python, live)
        check_sound(events)
        assert n_said - 1 <= entered(events, "leaf") <= n_said + 1
        assert any_python.allranks("recover", live, "-o", f"{number}.allranks").code == 0
        assert events_of(any_python, f"{number}.allranks") == events
        check(any_python, f"{number}.allranks")


def test_a_job_that_is_killed_has_the_traces_of_all_ranks(one_mpi: Sandbox):
    code = """
import os, signal
from mpi4py import MPI
comm = MPI.COMM_WORLD
def leaf(): pass
def step(n):
    leaf()
    comm.Barrier()
for n in range(50): step(n)
if comm.rank == 1: os.kill(os.getpid(), signal.SIGKILL)
comm.Barrier()
"""
    (one_mpi.cwd / "x.py").write_text(code)
    assert one_mpi.recorded_ranks(3, "x.py", options=("--trace", "-o", "x.allranks")).code != 0
    one_mpi.wait_until_none_runs()
    for run in (one_mpi.live, "r.allranks"):
        if run == "r.allranks":
            assert one_mpi.allranks("recover", one_mpi.live, "-o", run).code == 0
        events = events_of(one_mpi, run)
        check_sound(events)
        counts = {rank: entered([each for each in events if each.rank == rank], "leaf") for rank in "012"}
        assert counts == {"0": 50, "1": 50, "2": 50}


def test_where_a_file_may_not_grow_the_program_runs_and_its_profile_is_whole(any_python: Sandbox):
    code = f"""
import resource
limit = 3 << 20
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
{MANY}
work(1000000)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print("done")
"""
    done = run_code(any_python, code, "--trace")
    assert done.out == "done\n"
    events = events_of(any_python, "x.allranks")
    check_sound(events)
    assert [each.kind for each in events if each.kind not in ("enter", "leave")] == ["full"]
    calls = {name: n for (_, _, name), n in calls_of(any_python, "x.allranks").items()}
    assert calls["leaf"] == 1_250_000


def test_on_a_small_file_system_a_quarter_is_left(any_python: Sandbox):
    place = any_python.cwd.parent / "small"
    place.mkdir()
    if os.geteuid() != 0 or any_python.run(["mount", "-t", "tmpfs", "-o", "size=48M", "none", str(place)]).code:
        pytest.skip("no file system can be mounted here")
    try:
        code = f"""
import os
{MANY}
for _ in range(60): work(250000)
stat = os.statvfs({str(place)!r})
print(stat.f_bavail * stat.f_frsize, stat.f_blocks * stat.f_frsize)
"""
        (any_python.cwd / "x.py").write_text(code)
        done = any_python.run([any_python.stack.python, "-m", "allranks", "--live-dir", str(place), "--trace", "-o", "x.allranks", "x.py"])
        assert done.code == 0, done
        n_left, n_all = map(int, done.out.split())
        assert n_left >= n_all // 8, done  # it looks every 16 MiB
        events = events_of(any_python, "x.allranks", "--rows", "1")
        assert events
        text = any_python.answer("info", "x.allranks").decode()
        assert re.search(r"^trace full +the file system of the live file is nearly full, see --live-dir$", text, re.MULTILINE), text
        calls = {name: n for (_, _, name), n in calls_of(any_python, "x.allranks").items()}
        assert calls["leaf"] == 250_000 * 61
    finally:
        assert any_python.run(["umount", str(place)]).code == 0


def test_a_terminated_program_has_its_trace(any_python: Sandbox):
    (any_python.cwd / "x.py").write_text(ENDLESS)
    running = any_python.start([*any_python.recorder("--trace", "-o", "x.allranks"), "x.py"])
    running.wait_until(lambda: os.fstat(running.stdout.fileno()).st_size > 0, "its first word")
    running.process.send_signal(signal.SIGTERM)
    done = running.wait()
    assert done.code == -signal.SIGTERM
    run = "x.allranks" if (any_python.cwd / "x.allranks").exists() else any_python.live
    events = events_of(any_python, run) if run != any_python.live or any_python.live_files() else []
    if not events:  # the live files were kept beside the output
        events = events_of(any_python, any_python.cwd / "x.live")
    check_sound(events)
    assert entered(events, "leaf") >= done.stdout.count(b"\n") - 1
