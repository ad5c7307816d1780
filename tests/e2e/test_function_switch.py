# SPDX-License-Identifier: BSD-3-Clause
"""allranks.functions_off and functions_on: functions are left out, and regions, parameters and MPI calls are not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from harness import Sandbox, workload
from test_fallback import BEFORE_MONITORING, build_other_tool
from test_fallback import held as held  # the fixture

EVENT = re.compile(r"\s+(enter|leave) ([frg]_\w+)(?:  .*)?$")


def events_of(sandbox: Sandbox, run: str) -> list[str]:
    found = []
    for line in sandbox.answer("dump", run).decode().splitlines():
        match = EVENT.search(line)
        if match:
            found.append(f"{match[1]} {match[2]}")
    return found


@pytest.mark.parametrize("seed", range(6))
def test_exactly_what_runs_while_functions_are_on_is_in_the_trace(any_python: Sandbox, seed: int):
    program = [workload("random_switches.py"), str(seed)]
    plain = any_python.plain(*program, "plain.log")
    assert (plain.code, plain.out, plain.err) == (0, "", ""), plain
    done = any_python.recorded(*program, "run.log", options=("-q", "--trace", "-o", "run.allranks"))
    assert (done.code, done.out, done.err) == (0, "", ""), done
    expected = Path(any_python.cwd / "run.log").read_text().splitlines()
    assert len(expected) > 100
    found = events_of(any_python, "run.allranks")
    assert found == expected
    assert "lost       nothing" in any_python.answer("info", "run.allranks").decode()
    # Sums agree with the order.
    report = any_python.report("run.allranks")
    calls = {each["name"]: each["calls"] for each in report.data["functions"]}
    for name in {event.split()[1] for event in expected}:
        assert calls[name] == expected.count(f"enter {name}"), name


@pytest.mark.parametrize("seed", [1, 4])
def test_the_same_through_the_trace_api(any_python: Sandbox, held: dict[str, str], seed: int):
    program = [workload("random_switches.py"), str(seed), "run.log"]
    done = any_python.recorded(*program, options=("-q", "--trace", "-o", "run.allranks"), env=held)
    assert (done.code, done.out, done.err) == (0, "", ""), done
    assert any_python.info("run.allranks").data["facts"]["engine"].startswith("trace API")
    assert events_of(any_python, "run.allranks") == Path(any_python.cwd / "run.log").read_text().splitlines()


THREADS = """
import sys, threading
from allranks import functions_off, functions_on, region
off, on, done = threading.Event(), threading.Event(), threading.Barrier(4)
def f_in_on(): pass
def f_in_off():
    with region("r_thread"):
        abs(-1)
def f_waits():
    f_in_on()
    done.wait()
    off.wait()
    for _ in range(int(sys.argv[1])):
        f_in_off()
    done.wait()
    on.wait()
    f_in_on()
def f_outer():
    f_waits()
    f_in_on()
threads = [threading.Thread(target=f_outer) for _ in range(3)]
for thread in threads:
    thread.start()
done.wait()
functions_off()
off.set()
done.wait()
functions_on()
on.set()
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize("n_calls", [1, 3000])
def test_it_holds_for_all_threads(any_python: Sandbox, n_calls: int):
    (any_python.cwd / "program.py").write_text(THREADS)
    done = any_python.recorded("program.py", str(n_calls), options=("-q", "-o", "run.allranks"))
    assert (done.code, done.out, done.err) == (0, "", ""), done
    calls = {each["name"]: each["calls"] for each in any_python.report("run.allranks").data["functions"]}
    assert {name: n for name, n in calls.items() if name[:2] in ("f_", "r_")} == {
        "f_in_on": 9, "f_waits": 3, "f_outer": 3, "r_thread": 3 * n_calls,
    }  # fmt: skip
    assert calls.get("built-in method builtins.abs", 0) == 0
    assert "lost       nothing" in any_python.answer("info", "run.allranks").decode()


def test_a_recording_may_begin_without_functions(any_python: Sandbox):
    program = "import allranks\ndef f(): pass\nf()\nwith allranks.region('r'):\n    allranks.functions_on()\n    f()\n"
    (any_python.cwd / "program.py").write_text(program)
    done = any_python.recorded("program.py", options=("-q", "--functions-later", "-o", "run.allranks"))
    assert (done.code, done.out, done.err) == (0, "", ""), done
    report = any_python.report("run.allranks")
    assert (report.calls("f"), report.calls("r")) == (1, 1)
    assert [each["name"] for each in report.data["functions"] if each["kind"] == "python"] == ["f"]


def record(python: Sandbox, program: str, *arguments: str, env: dict[str, str] | None = None):
    (python.cwd / "program.py").write_text(program)
    options = ("-q", "-o", "run.allranks")
    done = python.recorded("program.py", *arguments, options=options, env=env or {})
    assert (done.code, done.out, done.err) == (0, "", ""), done
    return python.report("run.allranks")


# The frames of two greenlets are open when functions are switched on, and those of the first one return first.
GREENLETS = """
import gc, allranks, greenlet
main = greenlet.getcurrent()
def f_deep(n):
    a = b = c = d = e = f = g = h = None
    if n:
        return f_deep(n - 1)
    allranks.functions_on()
    main.switch()
def f_in_off(): pass
def f_in_on(): pass
for _ in range(10):
    allranks.functions_off()
    first = greenlet.greenlet(f_deep)
    first.switch(400)
    allranks.functions_off()
    second = greenlet.greenlet(f_deep)
    second.switch(5)
    first.switch()
    del first
    gc.collect()
    allranks.functions_off()
    for _ in range(3000):
        f_in_off()
    allranks.functions_on()
    second.switch()
    f_in_on()
"""


def test_greenlets_return_in_any_order(any_python: Sandbox):
    if any_python.plain("-c", "import greenlet").code:
        pytest.skip("no greenlet here")
    report = record(any_python, GREENLETS)
    assert (report.calls("f_in_on"), report.calls("f_in_off"), report.calls("f_deep")) == (10, 0, 0)


OTHER_TOOL_COMES = """
import sys, allranks
def f(): pass
def run(n):
    for _ in range(n):
        f()
run(100)
allranks.functions_off()
run(5000)
sys.monitoring.use_tool_id(0, "other")
allranks.functions_on()
run(50)
sys.monitoring.free_tool_id(0)
run(50)
"""


def test_functions_come_back_though_another_tool_has_come(any_python: Sandbox):
    if any_python.stack.python_version in BEFORE_MONITORING:
        pytest.skip("no sys.monitoring here")
    report = record(any_python, OTHER_TOOL_COMES)
    assert (report.calls("f"), report.calls("run")) == (200, 3)


OTHER_EVALUATOR_COMES = """
import allranks
def f(): pass
f()
allranks.functions_off()
f()
import other_tool
allranks.functions_on()
f()
"""


def test_it_is_said_if_another_evaluator_has_come(any_python: Sandbox):
    if any_python.stack.python_version not in BEFORE_MONITORING:
        pytest.skip("functions are not seen by frame evaluation here")
    build_other_tool(any_python, any_python.cwd)
    report = record(any_python, OTHER_EVALUATOR_COMES)
    assert report.calls("f") == 1
    assert "lost       nothing" not in any_python.answer("info", "run.allranks").decode()


# A frame that was entered in a pause is of the same function as the open one outside it.
PAUSED = """
import sys, allranks
def f_leaf(): pass
def f_end():
    f_leaf()
def f_recurses(n, where):
    if n:
        allranks.pause()
        f_recurses(0, where)
        allranks.resume()
    else:
        if where == "after":
            allranks.resume()
        allranks.functions_off()
def f_on():
    allranks.functions_on()
f_recurses(1, sys.argv[1])
f_on()
f_end()
"""


@pytest.mark.parametrize("where", ["in", "after"])
@pytest.mark.parametrize("through", ["native", "trace API"])
def test_what_is_open_is_not_taken_for_what_a_pause_left_out(
    any_python: Sandbox, held: dict[str, str], where: str, through: str
):
    report = record(any_python, PAUSED, where, env=held if through == "trace API" else None)
    assert report.calls("f_recurses") == 1
    assert [node.path for node in report.named("f_end")] == [["<module>", "f_end"]]
