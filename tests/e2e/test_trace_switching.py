# SPDX-License-Identifier: BSD-3-Clause
"""Traces that are switched on and off: by the program, by chosen functions and regions, and from outside."""

from __future__ import annotations

import os
import re
import shutil
import signal
import struct
from pathlib import Path

import pytest
from harness import Done, Running, Sandbox
from trace_events import by_thread, check_sound, events_of, main_thread, steps

# ---- by the program ----


def run_code(sandbox: Sandbox, code: str, *options: str, name: str = "x") -> Done:
    (sandbox.cwd / "x.py").write_text(code)
    done = sandbox.recorded("x.py", options=(*options, "-o", f"{name}.allranks"))
    assert done.code == 0, done
    return done


PHASES = """
import allranks
def a(): pass
def b(): a()
b()
allranks.trace_on(); allranks.trace_on()
b()
allranks.trace_off(); allranks.trace_off()
b()
allranks.trace_on()
a()
allranks.trace_off()
"""


@pytest.mark.parametrize("option", [(), ("--trace-later",)])
def test_a_program_switches_its_trace(any_python: Sandbox, option: tuple[str, ...]):
    run_code(any_python, PHASES, *option)
    events = events_of(any_python, "x.allranks")
    check_sound(events)
    assert steps(main_thread(events), "a", "b") == ["+b", "+a", "-a", "-b", "off", "on", "+a", "-a", "off"]


def test_a_trace_from_the_start_can_be_switched_off(any_python: Sandbox):
    run_code(any_python, PHASES, "--trace")
    found = steps(main_thread(events_of(any_python, "x.allranks")), "a", "b")
    assert found == ["+b", "+a", "-a", "-b"] * 2 + ["off", "on", "+a", "-a", "off"]


def test_without_a_recording_switching_does_nothing(any_python: Sandbox):
    assert any_python.plain("-c", PHASES).code == 0


def test_the_profile_is_whole_whatever_is_traced(any_python: Sandbox):
    calls = {}
    for name, options in (("plain", ()), ("later", ("--trace-later",)), ("traced", ("--trace",)), ("at", ("--trace", "--trace-at", "b"))):
        run_code(any_python, PHASES, *options, name=name)
        calls[name] = {key: each.calls for key, each in any_python.pstats(f"{name}.allranks").items() if key[0].endswith("x.py")}
    assert calls["plain"] and all(each == calls["plain"] for each in calls.values())


def test_what_is_open_when_it_is_switched_is_open_in_the_trace(any_python: Sandbox):
    code = """
import allranks
def inner(): pass
def outer():
    inner()
    allranks.trace_on()
    inner()
    allranks.trace_off()
    inner()
    allranks.trace_on()
outer()
inner()
"""
    run_code(any_python, code)
    events = events_of(any_python, "x.allranks")
    check_sound(events)
    main = main_thread(events)
    assert steps(main, "inner", "outer") == ["+inner", "-inner", "off", "on", "-outer", "+inner", "-inner"]
    assert [each.name for each in main if each.kind == "enter" and each.is_implied][-1] == "outer"


def test_other_threads_follow_at_their_next_event(any_python: Sandbox):
    code = """
import threading, allranks
go, done = threading.Semaphore(0), threading.Semaphore(0)
def traced(): pass
def untraced(): pass
def work():
    for function in (untraced, traced, untraced, traced):
        go.acquire()
        function()
        done.release()
def step():
    go.release()
    done.acquire()
thread = threading.Thread(target=work)
thread.start()
step(); allranks.trace_on(); step(); allranks.trace_off(); step(); allranks.trace_on(); step(); allranks.trace_off()
thread.join()
"""
    run_code(any_python, code)
    events = events_of(any_python, "x.allranks")
    check_sound(events)
    threads = by_thread(events)
    (worker,) = (each for (_, number), each in threads.items() if number)
    found = steps(worker, "traced", "untraced")  # it may end before it is switched off the second time
    assert found[:6] == ["+traced", "-traced", "off", "on", "+traced", "-traced"] and found[6:] in ([], ["off"])


# ---- by chosen functions and regions ----

AT = {
    "recursion": ("""
def solve(n):
    leaf()
    if n: solve(n - 1)
def leaf(): pass
leaf(); solve(2); leaf(); solve(0); leaf()
""", ["+leaf", "-leaf", "+solve", "+leaf", "-leaf", "+solve", "+leaf", "-leaf", "-solve", "-solve", "-solve", "off",
      "on", "+leaf", "-leaf", "-solve", "off"]),
    "exceptions": ("""
def leaf(): pass
def fails():
    leaf()
    raise ValueError
def solve():
    leaf()
    fails()
for _ in range(2):
    try: solve()
    except ValueError: leaf()
""", ["+leaf", "-leaf", "+leaf", "-leaf", "-solve", "off", "on", "+leaf", "-leaf", "+leaf", "-leaf", "-solve", "off"]),
    "generators": ("""
def leaf(): pass
def solve():
    leaf(); yield 1
    leaf(); yield 2
for _ in solve(): leaf()
leaf()
""", ["+leaf", "-leaf", "-solve", "off", "on", "+leaf", "-leaf", "-solve", "off", "on", "-solve", "off"]),
    "a region as a context manager": ("""
from allranks import region
def leaf(): pass
leaf()
for _ in range(2):
    with region("solve"): leaf()
    with region("other"): leaf()
""", ["+leaf", "-leaf", "-solve", "off", "on", "+leaf", "-leaf", "-solve", "off"]),
    "a region as a decorator": ("""
from allranks import region
def leaf(): pass
@region("solve")
def work(): leaf()
@region
def solve(): leaf()
leaf(); work(); leaf(); solve(); leaf()
""", ["+leaf", "-leaf", "-work", "-solve", "off", "on", "+leaf", "-leaf", "-solve", "-solve", "off"]),
    "one in the other": ("""
def leaf(): pass
def solve_inner(): leaf()
def solve_outer():
    leaf(); solve_inner(); leaf()
solve_outer(); leaf(); solve_inner()
""", ["+leaf", "-leaf", "+solve_inner", "+leaf", "-leaf", "-solve_inner", "+leaf", "-leaf", "-solve_outer", "off",
      "on", "+leaf", "-leaf", "-solve_inner", "off"]),
}  # fmt: skip


@pytest.mark.parametrize("what", AT)
@pytest.mark.parametrize("more", [(), ("--counters", "page-faults"), ("--trace-min", "1ns")], ids=["", "counters", "min"])
def test_a_trace_is_on_while_a_chosen_function_runs(any_python: Sandbox, what: str, more: tuple[str, ...]):
    code, expected = AT[what]
    run_code(any_python, code, "--trace", "--trace-at", "solve*", *more)
    events = events_of(any_python, "x.allranks")
    check_sound(events)
    found = steps(main_thread(events), "leaf", "solve", "work", "solve_inner", "solve_outer")
    assert [each for each in found if each != "+work"] == expected  # a region and its function begin at the same time


def test_functions_are_chosen_by_their_file(any_python: Sandbox):
    (any_python.cwd / "part.py").write_text("def leaf(): pass\ndef one(): leaf()\n")
    code = "import part\ndef own(): part.one()\nown()\nown()\n"
    run_code(any_python, code, "--trace", "--trace-at", "part.py:*")
    found = steps(main_thread(events_of(any_python, "x.allranks")), "leaf", "one", "own")
    assert found == ["off", "on", *["+leaf", "-leaf", "-one", "off", "on"] * 2][:-1]  # first the module itself


def test_it_is_on_while_any_thread_is_inside(any_python: Sandbox):
    code = """
import threading
inside, leave = threading.Event(), threading.Event()
def solve():
    inside.set()
    leave.wait()
def leaf(): pass
leaf()
thread = threading.Thread(target=solve)
thread.start()
inside.wait()
leaf()
leave.set()
thread.join()
leaf()
"""
    run_code(any_python, code, "--trace", "--trace-at", "solve")
    events = events_of(any_python, "x.allranks")
    check_sound(events)
    (main,) = (each for (_, number), each in by_thread(events).items() if number == 0)
    assert steps(main, "leaf") == ["+leaf", "-leaf", "off"]


def test_a_thread_that_ends_inside_is_inside_no_more(any_python: Sandbox):
    code = """
import ctypes, threading
def leaf(): pass
def solve():
    leaf()
    ctypes.CDLL(None).pthread_exit(None)
def runs(): solve()
import _thread, time
ready = []
def waits():
    raise SystemExit
thread = threading.Thread(target=lambda: (leaf(), waits()))
thread.start(); thread.join()
leaf()
def solve_again():
    raise SystemExit
thread = threading.Thread(target=solve_again)
thread.start(); thread.join()
leaf()
"""
    run_code(any_python, code, "--trace", "--trace-at", "solve*")
    events = events_of(any_python, "x.allranks")
    check_sound(events)
    for (_, number), thread in by_thread(events).items():
        if number == 0:
            assert "+leaf" not in steps(thread, "leaf")


def test_a_fork_inside_goes_on_inside_and_counts_anew(any_python: Sandbox):
    """Another thread of the parent is inside as well, and is not in the child."""
    code = """
import os, sys, threading
inside, leave = threading.Event(), threading.Event()
def leaf(): pass
def solve():
    leaf()
    return os.fork()
def solve_beside():
    inside.set()
    leave.wait()
thread = threading.Thread(target=solve_beside)
thread.start()
inside.wait()
pid = solve()
leaf()
if pid == 0:
    leaf()
    sys.stdout.flush()
    os._exit(0)
os.waitpid(pid, 0)
leave.set()
thread.join()
leaf()
print(pid)
"""
    done = run_code(any_python, code, "--trace", "--trace-at", "solve*")
    events = events_of(any_python, "x.allranks")
    check_sound(events)
    child = int(done.out)
    for (pid, number), thread in by_thread(events).items():
        if pid == child:
            assert steps(thread, "leaf", "solve") == ["-solve", "off"]
        elif number == 0:
            assert steps(thread, "leaf", "solve") == ["+solve", "+leaf", "-leaf", "-solve", "+leaf", "-leaf", "off"]


def test_a_fork_outside_is_outside(any_python: Sandbox):
    code = """
import os, threading
inside, leave = threading.Event(), threading.Event()
def leaf(): pass
def solve():
    inside.set()
    leave.wait()
thread = threading.Thread(target=solve)
thread.start()
inside.wait()
leaf()
pid = os.fork()
leaf()
if pid == 0:
    leaf()
    os._exit(0)
os.waitpid(pid, 0)
leave.set()
thread.join()
print(pid)
"""
    done = run_code(any_python, code, "--trace", "--trace-at", "solve")
    events = events_of(any_python, "x.allranks")
    assert [each for each in events if each.pid == int(done.out) and each.kind in ("enter", "leave") and not each.is_implied and each.name == "leaf"] == []


def test_what_a_process_that_is_killed_inside_did_is_there(any_python: Sandbox):
    code = """
import os, signal
def leaf(): pass
def solve():
    leaf()
    os.kill(os.getpid(), signal.SIGKILL)
leaf()
solve()
"""
    (any_python.cwd / "x.py").write_text(code)
    assert any_python.recorded("x.py", options=("--trace", "--trace-at", "solve")).code == -signal.SIGKILL
    found = steps(main_thread(events_of(any_python, any_python.live)), "leaf", "solve")
    assert found[:2] == ["+leaf", "-leaf"]


# ---- from outside ----

# Runs until a file is there, and says how often it has done something.
LOOP = """
import os, sys, time
def leaf(): pass
def step(n):
    leaf()
    time.sleep(0.001)
def until(name):
    n = 0
    while not os.path.exists(name):
        step(n)
        n += 1
"""


def until(sandbox: Sandbox, running: Running, *words: str | Path, says: str) -> str:
    """Asks again and again: a process notices at its next call, and the machine may be busy."""
    said = [""]

    def asked() -> bool:
        said[0] = sandbox.allranks("trace", *words).out
        return re.search(says, said[0], re.MULTILINE) is not None

    running.wait_until(asked, f"allranks trace {words} said {says!r}: {said[0]}")
    return said[0]


def started(sandbox: Sandbox, code: str, *options: str, n: int = 1) -> Running:
    (sandbox.cwd / "x.py").write_text(LOOP + code)
    running = sandbox.start([*sandbox.recorder(*options, "-o", "x.allranks"), "x.py"])
    running.wait_until(lambda: len(sandbox.live_files()) == n and sandbox.allranks("trace", sandbox.live).code == 0, "live files")
    return running


def switch(sandbox: Sandbox, running: Running, how: str, n: int = 1) -> None:
    done = sandbox.allranks("trace", how, sandbox.live)
    assert done.code == 0, done
    assert done.out.startswith(f"trace switched {how} in "), done
    until(sandbox, running, sandbox.live, says=rf"^{how} +(pid|ranks?) ")
    until(sandbox, running, sandbox.live, says=rf"\A{how} .*\n\Z")


@pytest.mark.parametrize("options", [(), ("--trace-later",), ("--trace",), ("--trace", "--trace-last", "60s")], ids=["plain", "later", "trace", "last"])
def test_a_running_program_is_switched(any_python: Sandbox, options: tuple[str, ...]):
    running = started(any_python, "until('end')", *options)
    first = until(any_python, running, any_python.live, says="^(no trace|on) ")
    assert first.startswith("on " if "--trace" in options else "no trace "), first
    for how in ("on", "off", "on", "off"):
        switch(any_python, running, how)
    (any_python.cwd / "end").touch()
    done = running.wait()
    assert done.code == 0, done
    events = events_of(any_python, "x.allranks")
    check_sound(events)
    found = steps(main_thread(events), "step")
    marks = [each for each in found if each in ("on", "off")]
    assert marks == ["off", "on", "off"]
    assert {"+step", "-step"} <= set(found)
    off = False
    for each in found:
        assert not off or each == "on", found
        off = each == "off" if each in ("on", "off") else off


def test_all_processes_are_switched_and_those_that_start_later_too(any_python: Sandbox):
    code = f"""
import subprocess
loop = {LOOP!r}
children = [os.fork() for _ in range(1)]
if children == [0]:
    until('end')
    sys.exit()
until('more')
if (pid := os.fork()) == 0:
    until('end')
    sys.exit()
other = subprocess.Popen([sys.executable, "-c", loop + "until('end')"])
until('end')
os.waitpid(pid, 0)
os.waitpid(children[0], 0)
other.wait()
"""
    running = started(any_python, code.replace(":= ", ":= "), n=2)
    switch(any_python, running, "on")
    (any_python.cwd / "more").touch()
    running.wait_until(lambda: len(any_python.live_files()) == 4, "four live files")
    until(any_python, running, any_python.live, says=r"\Aon  .*\n\Z")
    (any_python.cwd / "end").touch()
    assert running.wait().code == 0
    events = events_of(any_python, "x.allranks")
    check_sound(events)
    traced = {each.pid for each in events if each.name == "step" and not each.is_implied}
    assert len(traced) == 4


def test_a_program_with_rare_calls_notices(any_python: Sandbox):
    """After a long gap the next event is enough, whichever function it is of."""
    code = """
def rare():
    time.sleep(0.05)
while not os.path.exists('end'): rare()
"""
    running = started(any_python, code)
    for how in ("on", "off"):
        assert any_python.allranks("trace", how, any_python.live).code == 0
        until(any_python, running, any_python.live, says=rf"^{how} ")
    (any_python.cwd / "end").touch()
    assert running.wait().code == 0
    n_calls = next(each.calls for key, each in any_python.pstats("x.allranks").items() if key[2] == "rare")
    assert 0 < steps(main_thread(events_of(any_python, "x.allranks")), "rare").count("+rare") < n_calls


def test_one_that_is_in_a_long_call_is_named(any_python: Sandbox):
    code = """
import select
read, write = os.pipe()
open('inside', 'w').close()
until_written = os.read(0, 1)
leaf()
"""
    (any_python.cwd / "x.py").write_text(LOOP + code)
    os.mkfifo(any_python.cwd / "pipe")
    words = " ".join(map(repr, [*any_python.recorder("-o", "x.allranks"), "x.py"]))
    running = any_python.start(["sh", "-c", f"exec {words} < pipe"])
    with open(any_python.cwd / "pipe", "wb", buffering=0) as pipe:
        running.wait_until((any_python.cwd / "inside").exists, "the long call")
        done = any_python.allranks("trace", "on", any_python.live)
        assert done.code == 0, done
        assert re.search(r"^trace switched on in 0 of 1 process$", done.out, re.MULTILINE), done
        assert re.search(r"^not yet +pid \d+$", done.out, re.MULTILINE), done
        pipe.write(b"x")
    assert running.wait().code == 0
    assert "+leaf" in steps(main_thread(events_of(any_python, "x.allranks")), "leaf")


def test_a_killed_one_has_its_trace(any_python: Sandbox):
    running = started(any_python, "until('end')")
    switch(any_python, running, "on")
    until(any_python, running, any_python.live, says="^on")
    running.wait_until(lambda: "+step" in steps(events_of(any_python, any_python.live), "step"), "events")
    running.kill()
    events = events_of(any_python, any_python.live)
    check_sound(events)
    assert steps(main_thread(events), "step").count("+step") >= 1
    done = any_python.allranks("recover", any_python.live, "-o", "r.allranks")
    assert done.code == 0, done
    assert steps(events_of(any_python, "r.allranks"), "step") == steps(events, "step")
    done = any_python.allranks("trace", "on", any_python.live)
    assert done.code == 2 and done.err.startswith(f"allranks: error: {any_python.live}"), done


def test_commands_at_the_same_time_are_all_followed(any_python: Sandbox):
    running = started(any_python, "until('end')")
    commands = [any_python.start([any_python.command, "trace", how, str(any_python.live)]) for how in ("on", "off") * 4]
    assert [each.wait().code for each in commands] == [0] * 8
    switch(any_python, running, "off")
    (file,) = any_python.live_files()
    wish, state, heard = struct.unpack_from("<3I", file.read_bytes(), 560)
    assert (wish, state) == (heard, 2) and wish % 2 == 0
    (any_python.cwd / "end").touch()
    assert running.wait().code == 0
    check_sound(events_of(any_python, "x.allranks"))


def test_the_number_of_commands_goes_round(any_python: Sandbox):
    running = started(any_python, "until('end')")
    (file,) = any_python.live_files()
    for before, how, after in ((254, "on", 255), (255, "off", 2), (255, "on", 1), (254, "off", 2)):
        with open(file, "r+b") as opened:
            opened.seek(560)
            opened.write(bytes([before]))
        assert any_python.allranks("trace", how, any_python.live).code == 0
        assert file.read_bytes()[560:564] == bytes([after, 0, 0, 0])
        until(any_python, running, any_python.live, says=rf"^{how} ")
    (any_python.cwd / "end").touch()
    assert running.wait().code == 0


PID, HOST, WISH = 40, 72, 560  # in the header of a live file


def test_those_that_cannot_be_switched_are_named(any_python: Sandbox):
    """Copies of the file of a process that runs: of an older version, of a process that is not there, and of another host."""
    running = started(any_python, "until('end')")
    (file,) = any_python.live_files()
    content = file.read_bytes()
    (any_python.cwd / "copies").mkdir()
    old, ended, away = (any_python.cwd / "copies" / f"p{number}-7.live" for number in (100, 101, 102))
    old.write_bytes(content[:8] + struct.pack("<I", 7) + content[12:])
    ended.write_bytes(content[:PID] + struct.pack("<I", (1 << 22) + 1) + content[PID + 4 :])
    away.write_bytes(content[:HOST] + b"another-host".ljust(64, b"\0") + content[HOST + 64 :])
    before = {each: each.read_bytes() for each in (old, ended, away)}
    done = any_python.allranks("trace", "on", any_python.cwd / "copies")
    assert done.code == 1, done
    pid = running.process.pid
    assert done.out.splitlines()[0] == "trace switched on in 0 of 2 processes"
    for word, number in (("too old", pid), ("ended", (1 << 22) + 1), ("not yet", pid)):
        assert re.search(rf"^{word} +pid {number}$", done.out, re.MULTILINE), done
    assert {each for each in before if each.read_bytes() != before[each]} == {away}
    assert away.read_bytes()[WISH:][:4] == b"\1\0\0\0"
    (any_python.cwd / "end").touch()
    assert running.wait().code == 0


def test_another_users_process_is_not_switched(any_python: Sandbox):
    """A file that this user may read, and not write."""
    running = started(any_python, "until('end')")
    (file,) = any_python.live_files()
    words = [any_python.command, "trace", "on", str(file)]
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("root may write everything, and there is no setpriv")
        readable = Path(f"/tmp/allranks-test-{os.getpid()}.live")
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", any_python.command, "trace", "on", str(readable)]
        os.link(file, readable) if readable.parent.stat().st_dev == file.stat().st_dev else pytest.skip("another file system")
        readable.chmod(0o644)
    else:
        file.chmod(0o400)
    try:
        done = any_python.run(words)
    finally:
        if os.geteuid() == 0:
            readable.unlink()
    if done.code == 127 or "Permission denied" in done.err:
        pytest.skip("that user cannot run the command")
    assert done.code == 1, done
    assert re.search(r"^forbidden +pid \d+$", done.out, re.MULTILINE), done
    assert file.read_bytes()[560:564] == bytes(4)
    (any_python.cwd / "end").touch()
    assert running.wait().code == 0


def test_directories_without_a_job_are_refused(any_python: Sandbox):
    (any_python.cwd / "empty").mkdir()
    for words, what in ((["empty"], "empty: no job runs there (it holds no live files)"), (["on", "none"], "none: No such file or directory")):
        done = any_python.allranks("trace", *words)
        assert (done.code, done.out, done.err) == (2, "", f"allranks: error: {what}\n"), done
    done = any_python.allranks("trace", "on", "a", "b")
    assert (done.code, done.err) == (2, "allranks: error: one job at a time (usage: allranks trace [on|off] [DIR])\n"), done


def test_ranks_are_switched_inside_mpi_too(one_mpi: Sandbox):
    """Rank 0 works, the others wait for it in MPI: they follow when they come out, and all say so in the end."""
    code = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
comm.Barrier()
if comm.rank == 0:
    until('first')
comm.Barrier()
for _ in range(20): leaf()
comm.Barrier()
if comm.rank == 0:
    until('end')
comm.Barrier()
"""
    (one_mpi.cwd / "x.py").write_text(LOOP + code)
    running = one_mpi.start(one_mpi.ranks(3, *one_mpi.recorder("-o", "x.allranks"), "x.py"))
    running.wait_until(lambda: len(one_mpi.live_files()) == 3 and one_mpi.allranks("trace", one_mpi.live).code == 0, "three live files")
    until(one_mpi, running, "on", one_mpi.live, says=r"^on +rank 0$")
    (one_mpi.cwd / "first").touch()
    until(one_mpi, running, one_mpi.live, says=r"\Aon +ranks 0-2\n\Z")
    (one_mpi.cwd / "end").touch()
    assert running.wait().code == 0
    events = events_of(one_mpi, "x.allranks")
    check_sound(events)
    for rank in "012":
        assert steps([each for each in events if each.rank == rank], "leaf").count("+leaf") >= 20
