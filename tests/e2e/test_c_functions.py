# SPDX-License-Identifier: BSD-3-Clause
"""Functions in C that take time are shown, with the time they take; the others are their callers'."""

from __future__ import annotations

import textwrap

import pytest
from harness import Sandbox, settled, workload
from readings import Report

SWITCH_S = 0.002
SAMPLING = ("3.9", "3.10", "3.11")


def run(python: Sandbox, path: str, *options: str) -> Report:
    (python.cwd / "run.allranks").unlink(missing_ok=True)
    done = python.recorded(path, "log.json", options=("-q", "-o", "run.allranks", *options))
    assert (done.code, done.err) == (0, ""), done
    return python.report("run.allranks")


def run_text(python: Sandbox, text: str, *options: str) -> Report:
    (python.cwd / "program.py").write_text(textwrap.dedent(text))
    return run(python, "program.py", *options)


def seconds_in_c(report: Report) -> dict[str, float]:
    found: dict[str, float] = {}
    for node in report.nodes:
        if node.kind == "builtin":
            found[node.name] = found.get(node.name, 0) + node["self_ns"]["sum"] / 1e9
    return found


def unlike(found: dict[str, float], logged: dict[str, float], tolerance: float) -> list[str]:
    return [
        f"{name}: {found.get(name, 0):.4f} s, logged {seconds:.4f} s"
        for name, seconds in logged.items()
        if found.get(name, 0) != pytest.approx(seconds, rel=tolerance, abs=SWITCH_S)
    ]


def test_those_that_take_time_are_shown(any_python: Sandbox):
    assert not settled(lambda: costly_ones_unlike(any_python))


def costly_ones_unlike(any_python: Sandbox) -> list[str]:
    report = run(any_python, workload("c_functions.py"))
    log = any_python.read_json("log.json")
    found = seconds_in_c(report)
    worth_showing = 0.03 * report.data["wall_ns"] / 1e9
    costly = {name for name, seconds in log["measured"].items() if seconds > worth_showing} | {*log["short"]}
    assert costly <= set(found)
    wrong = unlike(found, {name: log["measured"][name] for name in costly & set(log["measured"])}, 0.05)
    # Where one call stands for 64, another process that has the processor during that one counts 64 times.
    is_exact = any_python.stack.python_version not in SAMPLING
    for name, (least, most) in log["short"].items():
        if found[name] < (0.75 if is_exact else 0.3) * least or (found[name] > 1.25 * most and is_exact):
            wrong.append(f"{name}: {found[name]:.4f} s, logged {least:.4f} to {most:.4f} s")
    assert not set(found) & set(log["rare"])
    estimated = {node.name for node in report.nodes if node.data.get("estimated")}
    assert not estimated & set(log["measured"])
    return wrong


def test_all_of_them_are_shown_on_request(any_python: Sandbox):
    assert not settled(lambda: all_of_them_unlike(any_python))


def all_of_them_unlike(any_python: Sandbox) -> list[str]:
    report = run(any_python, workload("c_functions.py"), "--builtins", "all")
    log = any_python.read_json("log.json")
    found = seconds_in_c(report)
    assert set(log["rare"]) <= set(found)
    by_script = [node for node in report.named("built-in method builtins.max") if node.path[:-1] == ["<module>"]]
    assert sum(node["calls"] for node in by_script) == 15_000
    divmods = report.named("built-in method builtins.divmod")
    assert sum(node["calls"] for node in divmods if node.python_caller == "works_in_python") == 3
    return unlike(found, log["measured"], 0.05)


def test_none_of_them_is_shown_on_request(any_python: Sandbox):
    report = run(any_python, workload("c_functions.py"), "--builtins", "none")
    assert not seconds_in_c(report)
    (sleeps,) = report.named("sleeps")
    (timed,) = [node for node in report.named("timed") if node.parent == sleeps]
    assert timed["self_ns"]["sum"] == timed["time_ns"]["sum"] >= 0.1e9


def test_a_short_burst_after_a_long_silence_is_not_the_whole_of_it(any_python: Sandbox):
    """The calls of half a millisecond do not stand for what came before."""
    report = run_text(any_python, """
        import time
        clock = time.perf_counter
        def spin(seconds):
            end = clock() + seconds
            while clock() < end:
                pass
        def numbers():
            while True:
                yield 1
        def burst():
            steps = numbers()
            for _ in range(4000):
                next(steps)
        for _ in range(6):
            spin(0.04)
            burst()
    """)  # fmt: skip
    burst = sum(node["time_ns"]["sum"] for node in report.named("burst")) / 1e9
    assert seconds_in_c(report).get("built-in method builtins.next", 0) <= burst


DENSE_THEN_LONG = """
    import json, sys, time
    clock = time.perf_counter
    def dense():
        end = clock() + 0.05
        while clock() < end:
            pass
    def calls_long():
        start = clock()
        result = sorted(numbers, key=float)
        logged["built-in method builtins.sorted"] = clock() - start
    def naps():
        start = clock()
        time.sleep(0.1)
        logged["built-in method time.sleep"] += clock() - start
    numbers, logged = [*range(600_000)], {"built-in method time.sleep": 0}
    dense()
    calls_long()
    for _ in range(3):
        dense()
        naps()
    with open(sys.argv[1], "w") as file:
        json.dump(logged, file)
"""


def test_a_long_call_after_many_short_ones_elsewhere(any_python: Sandbox):

    def look() -> list[str]:
        report = run_text(any_python, DENSE_THEN_LONG)
        return unlike(seconds_in_c(report), any_python.read_json("log.json"), 0.25)

    assert not settled(look)


def test_a_long_call_after_compiling_a_pattern(any_python: Sandbox, known_fault):
    """Which calls functions in C by the thousand."""
    known_fault(any_python.stack.python_version in SAMPLING, "one long call is not seen at all")
    report = run_text(any_python, """
        import json, re, sys, time
        def searches():
            pattern = re.compile(r"(w\\w+)s and (m\\w+)|(f\\w+)s or (g\\w+)")
            start = time.perf_counter()
            found = pattern.findall(text)
            return time.perf_counter() - start
        text = "words and more of them, " * 150_000
        seconds = searches()
        with open(sys.argv[1], "w") as file:
            json.dump({"method 'findall' of 're.Pattern' objects": seconds}, file)
    """)  # fmt: skip
    assert not unlike(seconds_in_c(report), any_python.read_json("log.json"), 0.25)


def test_no_function_takes_longer_than_what_calls_it(any_python: Sandbox):
    report = run_text(any_python, DENSE_THEN_LONG)
    inside = [0] * len(report.data["nodes"])
    for node in report.nodes:
        if node.parent and node.kind != "thread":
            inside[node.parent.number] += node["time_ns"]["sum"]
    for name in ("calls_long", "naps"):
        for node in report.named(name):
            assert inside[node.number] <= 1.25 * node["time_ns"]["sum"], name
