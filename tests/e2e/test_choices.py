# SPDX-License-Identifier: BSD-3-Clause
"""What the user chooses to have recorded: filters, imports, a budget. Times that are left out are their callers'."""

from __future__ import annotations

import textwrap

import pytest
from harness import Sandbox, settled, times_unlike
from readings import Report

BEFORE_MONITORING = ("3.9", "3.10", "3.11")

PROGRAM = """
    import json, sys, time
    import package.inner, package.other, alone
    clock = time.perf_counter
    logged = {}
    def spin(seconds):
        end = clock() + seconds
        while clock() < end:
            pass
    class Solver:
        def step(self):
            spin(0.01)
            package.inner.work(spin)
        def reset(self):
            spin(0.01)
    def main():
        start = clock()
        solver = Solver()
        solver.step()
        logged["step"] = clock() - start
        solver.reset()
        package.other.work(spin)
        before = clock()
        alone.helper(spin)
        logged["helper"] = clock() - before
        logged["main"] = clock() - start
    main()
    json.dump(logged, open("log.json", "w"))
"""
FILES = {
    "program.py": PROGRAM,
    "package/__init__.py": "",
    "package/inner.py": "def work(spin):\n    deeper(spin)\ndef deeper(spin):\n    spin(0.01)\n",
    "package/other.py": "def work(spin):\n    spin(0.01)\n",
    "alone.py": "def helper(spin):\n    spin(0.01)\n",
}
OWN = ("main", "Solver.step", "Solver.reset", "package.inner.work", "package.inner.deeper", "package.other.work", "alone.helper", "spin")


def write(python: Sandbox) -> None:
    for name, text in FILES.items():
        path = python.cwd / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))


def run(python: Sandbox, *options: str) -> Report:
    write(python)
    (python.cwd / "run.allranks").unlink(missing_ok=True)
    done = python.recorded("program.py", options=("-q", "-o", "run.allranks", *options))
    assert (done.code, done.err) == (0, ""), done
    return python.report("run.allranks")


def own_functions(report: Report) -> set[str]:
    """Of the program, by module and name; names have their class from 3.11 on."""
    found = set()
    for node in report.nodes:
        file = node.function["file"] or ""
        name = {"step": "Solver.step", "reset": "Solver.reset"}.get(node.name, node.name)
        for module in ("package.inner", "package.other", "alone"):
            if file.endswith(module.replace(".", "/") + ".py") and name != "<module>":
                found.add(f"{module}.{name}")
        if file.endswith("program.py") and name in OWN:
            found.add(name)
    return found


def less(*names: str) -> set[str]:
    return set(OWN) - set(names)


WITHOUT_QUALIFIED_NAMES = ("3.9", "3.10")

CHOICES = {
    "all": ((), less()),
    "module": (("--exclude", "package.inner"), less("package.inner.work", "package.inner.deeper")),
    "package": (("--exclude", "package"), less("package.inner.work", "package.inner.deeper", "package.other.work")),
    "file name": (("--exclude", "alone.py"), less("alone.helper")),
    "whole file": (("--exclude", "*/package/oth*.py"), less("package.other.work")),
    "name": (("--exclude", "work"), less("package.inner.work", "package.other.work")),
    "name with module": (("--exclude", "package.inner.work"), less("package.inner.work")),
    "several": (("--exclude", "spin", "--exclude", "alone"), less("spin", "alone.helper")),
    "include": (("--include", "package"), {"package.inner.work", "package.inner.deeper", "package.other.work"}),
    "exclude wins": (("--include", "package", "--exclude", "*.deeper"), {"package.inner.work", "package.other.work"}),
    "exclude wins in any order": (("--exclude", "*.deeper", "--include", "package"), {"package.inner.work", "package.other.work"}),
    "nothing": (("--exclude", "*"), set()),
}


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("mode", ["costly"])
def test_who_is_recorded(any_python: Sandbox, choice: str, mode: str):
    options, expected = CHOICES[choice]
    report = run(any_python, *options, "--builtins", mode)
    assert own_functions(report) == expected


def test_methods_are_known_by_their_qualified_names(any_python: Sandbox):
    """Up to 3.10 a code object does not know its class."""
    report = run(any_python, "--exclude", "Solver.*")
    expected = less() if any_python.stack.python_version in WITHOUT_QUALIFIED_NAMES else less("Solver.step", "Solver.reset")
    assert own_functions(report) == expected


def test_what_is_left_out_is_its_callers(any_python: Sandbox):
    assert not settled(lambda: callers_unlike(any_python))


def callers_unlike(any_python: Sandbox) -> dict[str, str]:
    report = run(any_python, "--exclude", "spin", "--exclude", "package.inner", "--builtins", "none")
    (main,) = report.named("main")
    (step,) = [node for node in report.nodes if node.name.endswith("step")]
    (helper,) = report.named("helper")
    assert step["self_ns"]["sum"] == step["time_ns"]["sum"]
    inside = sum(node["self_ns"]["sum"] for node in report.nodes if "main" in node.path)
    assert inside == pytest.approx(main["time_ns"]["sum"], abs=1000)
    return times_unlike(
        {"main": main["time_ns"]["sum"] / 1e9, "step": step["self_ns"]["sum"] / 1e9, "helper": helper["self_ns"]["sum"] / 1e9},
        any_python.read_json("log.json"),
    )


def import_system(report: Report) -> set[str]:
    return {node.name for node in report.nodes if "importlib" in node.function["file"]}


def test_imports_without_the_import_system(any_python: Sandbox):
    assert {"_find_and_load", "_load_unlocked"} <= import_system(run(any_python, "--builtins", "all"))
    for options in ((), ("--builtins", "none"), ("--builtins", "all", "--no-import")):
        report = run(any_python, *options)
        assert import_system(report) == {"_find_and_load"}, "an import is one call"
        modules = {node.function["file"].rpartition("/")[2] for node in report.named("<module>")}
        assert {"inner.py", "other.py", "alone.py", "program.py"} <= modules
        assert own_functions(report) == less()


def test_what_imports_call_in_c(any_python: Sandbox):
    """Of the import system's own calls only those that read, load or run something; of the program's own all."""
    write(any_python)
    source = "import package.inner, package.other, alone\nfor _ in range(7):\n    'a.b'.rpartition('.')\n"
    (any_python.cwd / "program.py").write_text(source)
    done = any_python.recorded("program.py", options=("-q", "-o", "run.allranks"))
    assert (done.code, done.err) == (0, ""), done
    report = any_python.report("run.allranks")
    below = {node.name for node in report.nodes if "_find_and_load" in node.path[-2:-1]}
    assert {"built-in method posix.stat", "built-in method builtins.compile", "built-in method builtins.exec"} <= below
    assert not any("rpartition" in name or "_thread" in name for name in below), below
    calls = [node["calls"] for node in report.nodes if "'rpartition'" in node.name]
    assert calls == [7]


@pytest.mark.parametrize("wrong", [("--builtins", "some"), ("--budget", "0"), ("--budget", "much"), ("--budget", "101%"), ("--include",)])
def test_what_cannot_be_understood_is_refused(any_python: Sandbox, wrong: tuple[str, ...]):
    if any_python.stack.python_version != "3.9":
        pytest.skip("the same on all")
    done = any_python.recorded(*wrong)
    assert done.code == 2 and done.err.startswith("allranks: error: "), done


# ---- budget ----

MANY_TINY_CALLS = """
    import json, time
    clock = time.perf_counter
    logged = {}
    def spin(seconds):
        end = clock() + seconds
        while clock() < end:
            pass
    def tiny(n):
        return n + 1
    def recursive(n):
        if n:
            recursive(n - 1)
            recursive(n - 1)
    def generator(n):
        for i in range(n):
            yield i
    def long_one():
        spin(0.02)
    def calls_abs(n):
        return abs(n)
    def of_abs():
        for n in range(200_000):
            calls_abs(n)
    def of_tiny():
        start = clock()
        for n in range(200_000):
            tiny(n)
        long_one()
        logged["of_tiny"] = clock() - start
    def of_generator():
        start = clock()
        for _ in generator(200_000):
            pass
        long_one()
        logged["of_generator"] = clock() - start
    def of_recursive():
        start = clock()
        recursive(17)
        logged["recursive"] = clock() - start
        long_one()
        long_one()
        logged["of_recursive"] = clock() - start
    def main():
        start = clock()
        of_tiny()
        of_generator()
        of_recursive()
        of_abs()
        logged["main"] = clock() - start
    main()
    json.dump(logged, open("log.json", "w"))
"""

def run_with_budget(python: Sandbox, *options: str) -> Report:
    (python.cwd / "run.allranks").unlink(missing_ok=True)
    (python.cwd / "program.py").write_text(textwrap.dedent(MANY_TINY_CALLS))
    done = python.recorded("program.py", options=("-q", "-o", "run.allranks", *options))
    assert (done.code, done.err) == (0, ""), done
    return python.report("run.allranks")


def partial_functions(report: Report) -> set[str]:
    return {node.name for node in report.nodes if node.data.get("partial")}


def calls_and_seconds(report: Report, name: str) -> tuple[int, float]:
    """The seconds without those inside itself."""
    nodes = report.named(name)
    outer = [node for node in nodes if name not in node.path[:-1]]
    return sum(node["calls"] for node in nodes), sum(node["time_ns"]["sum"] for node in outer) / 1e9


CALLS = {"tiny": 200_000, "generator": 200_001, "recursive": 2**18 - 1}


@pytest.mark.parametrize("mode", ["costly", "all", "none"])
def test_what_is_given_up_for_the_budget_is_said_to_be_partial(any_python: Sandbox, mode: str):
    """The price of a call is measured in an instant, and at times comes out as nothing."""

    def look() -> dict[str, str]:
        report = run_with_budget(any_python, "--budget", "0.5%", "--builtins", mode)
        partial = partial_functions(report)
        in_c = {} if mode == "none" else {"built-in method builtins.abs": 200_000}
        for name, n_calls in {**CALLS, **in_c}.items():
            found, _ = calls_and_seconds(report, name)
            assert found == n_calls or (found < n_calls and name in partial), name
        wanted = {"tiny", "calls_abs", *in_c}
        return {name: "is not given up" for name in wanted - partial}

    assert not settled(look)


@pytest.mark.parametrize("mode", ["costly", "none"])
def test_callers_of_what_is_given_up_have_all_of_their_time(any_python: Sandbox, mode: str):
    def look() -> dict[str, str]:
        report = run_with_budget(any_python, "--budget", "0.5%", "--builtins", mode)
        logged = any_python.read_json("log.json")
        partial = partial_functions(report)
        found = {}
        for name in ("main", "of_tiny", "of_generator", "of_recursive"):
            calls, seconds = calls_and_seconds(report, name)
            if calls and name not in partial:
                assert calls == 1, name
                found[name] = seconds
        return times_unlike(found, {name: logged[name] for name in found})

    assert not settled(look)


def test_a_recursive_function_that_is_given_up_is_left(any_python: Sandbox):
    """From 3.12 on it is kept while it is open: returns name a function, not a call of it."""
    is_given_up = any_python.stack.python_version in BEFORE_MONITORING

    def look() -> dict[str, str]:
        report = run_with_budget(any_python, "--budget", "0.5%")
        assert not [node.path for node in report.named("long_one") if "recursive" in node.path]
        if is_given_up and "recursive" not in partial_functions(report):
            return {"recursive": "is not given up"}
        most = any_python.read_json("log.json")["recursive"]
        return times_unlike({"recursive": calls_and_seconds(report, "recursive")[1]}, {"recursive": (0, most)})

    assert not settled(look)


def test_what_the_program_asks_for_is_never_given_up(any_python: Sandbox):
    (any_python.cwd / "program.py").write_text(textwrap.dedent("""
        import allranks
        @allranks.region("wanted")
        def tiny(n):
            return n + 1
        for n in range(100_000):
            tiny(n)
    """))  # fmt: skip
    done = any_python.recorded("program.py", options=("-q", "-o", "run.allranks", "--budget", "0.5%"))
    assert (done.code, done.err) == (0, ""), done
    assert any_python.report("run.allranks").calls("wanted") == 100_000


def test_what_is_called_through_a_function_that_is_left_out_stands_at_the_line_that_called_that(python: Sandbox):
    lines = ["def leaf(): pass", "def hidden(): leaf()", "def outer():", "    hidden()", "    hidden(); leaf()", "outer()"]
    (python.cwd / "lines.py").write_text("\n".join(lines))
    done = python.recorded("lines.py", options=("-q", "-o", "run.allranks", "--exclude", "hidden"))
    assert (done.code, done.err) == (0, ""), done
    leaves = [node for node in python.report("run.allranks").nodes if node.name == "leaf"]
    assert sum(node["calls"] for node in leaves) == 3
    assert {node["line"] for node in leaves} == {4, 5}
