# SPDX-License-Identifier: BSD-3-Clause
"""No harm: a program behaves the same with and without allranks, to the byte."""

import re
import shutil

import pytest
from harness import WORKLOADS, Done, Sandbox, is_closing_line, workload
from readings import counts_by_name, in_file

WAYS_TO_END = (
    "returns", "exit_0", "exit_3", "exit_none", "exit_true", "exit_300", "exit_minus_1", "exit_text",
    "exit_tuple", "exit_subclass", "exit_from_finally", "exit_overridden", "os_exit_4",
    "uncaught", "uncaught_with_cause", "uncaught_with_context", "uncaught_suppressed",
    "uncaught_group", "uncaught_with_notes", "uncaught_in_exec", "uncaught_in_generator",
    "uncaught_in_callback", "uncaught_with_bad_str", "uncaught_recursion", "uncaught_in_import",
    "interrupted", "interrupted_by_signal", "interrupt_caught", "terminated", "terminated_but_handled",
    "killed", "aborted", "in_thread", "exit_in_thread", "thread_outlives_main",
    "daemon_thread_is_cut_off", "atexit_in_order", "atexit_after_failure", "atexit_fails",
    "atexit_exits", "own_excepthook", "failing_excepthook", "exiting_excepthook", "unraisable",
    "coroutine_never_awaited", "resource_left_open", "warned", "stdout_closed", "streams_gone",
)  # fmt: skip
EXPECTED_CODES = {
    "returns": 0, "exit_0": 0, "exit_3": 3, "exit_text": 1, "uncaught": 1, "os_exit_4": 4,
    "interrupted": -2, "interrupted_by_signal": -2, "terminated": -15, "killed": -9, "aborted": -6,
    "stdout_closed": 120,
}  # fmt: skip
# The process is gone before anybody could say a word.
ENDS_AT_ONCE = {"terminated", "killed", "aborted"}


def split_stderr(done: Done) -> tuple[list[str], list[str]]:
    """What the program wrote, and what allranks added."""
    lines = done.err.splitlines(keepends=True)
    return (
        [line for line in lines if not is_closing_line(line)],
        [line for line in lines if is_closing_line(line)],
    )


def without_addresses(text: str) -> str:
    """<function f at 0x7f66776c7ec0> is somewhere else in every run."""
    return re.sub(r"\b0x[0-9a-f]{6,}\b", "0x...", text)


def behaviour(done: Done) -> tuple[int, str, str]:
    return done.code, without_addresses(done.out), without_addresses(done.err)


def assert_same(python: Sandbox, *program: str, closing_line: bool = True, **how) -> Done:
    """Runs it plain, recorded quietly, and recorded; the last adds one line, or none."""
    plain = python.plain(*program, **how)
    quiet = python.recorded(*program, options=("-q",), **how)
    assert behaviour(quiet) == behaviour(plain)
    loud = python.recorded(*program, **how)
    programs, ours = split_stderr(loud)
    assert behaviour(loud)[:2] == behaviour(plain)[:2]
    assert without_addresses("".join(programs)) == without_addresses(plain.err)
    assert len(ours) == closing_line, loud
    return plain


def test_all_ways_to_end_are_tested(python: Sandbox):
    assert set(python.plain(workload("endings.py")).out.split()) == set(WAYS_TO_END)


@pytest.mark.parametrize("way", WAYS_TO_END)
def test_it_ends_in_the_same_way(python: Sandbox, way: str):
    plain = assert_same(python, workload("endings.py"), way, closing_line=way not in ENDS_AT_ONCE)
    assert plain.code == EXPECTED_CODES.get(way, plain.code), plain


@pytest.mark.parametrize("way", ["uncaught", "interrupted", "exit_3", "exit_text", "warned", "uncaught_with_cause"])
@pytest.mark.parametrize("how", ["-m", "-c"])
def test_it_ends_in_the_same_way_as_module_or_code(python: Sandbox, how: str, way: str):
    shutil.copy(workload("endings.py"), python.cwd)
    program = ("-m", "endings", way) if how == "-m" else ("-c", f"import endings; endings.{way}()")
    assert_same(python, *program, closing_line=way not in ENDS_AT_ONCE)


def test_its_surroundings_are_the_same(python: Sandbox):
    plain = assert_same(python, workload("surroundings.py"), "an argument", "--option", "-q")
    assert "same class: True" in plain.out, plain
    assert "depth: " in plain.out, plain


def test_its_surroundings_are_the_same_in_its_own_directory(python: Sandbox):
    shutil.copy(workload("surroundings.py"), python.cwd)
    assert_same(python, "surroundings.py")
    assert_same(python, "./surroundings.py")


def test_its_surroundings_are_the_same_through_a_link(python: Sandbox):
    """sys.path[0] is where the link leads to, sys.argv[0] is the link."""
    (python.cwd / "link.py").symlink_to(workload("surroundings.py"))
    assert_same(python, "link.py")


def test_its_surroundings_are_the_same_as_module(python: Sandbox):
    shutil.copy(workload("surroundings.py"), python.cwd)
    assert_same(python, "-m", "surroundings", "an argument")


def test_its_surroundings_are_the_same_as_code(python: Sandbox):
    code = (WORKLOADS / "surroundings.py").read_text()
    # There is no source to ask for.
    code = code.replace("    source()\n", "")
    assert_same(python, "-c", code, "an argument", "--option")


@pytest.mark.parametrize("flags", ["-O", "-I", "-E", "-s", "-u", "-B", "-W error", "-X dev", "-P", "-bb"])
def test_its_surroundings_are_the_same_with_flags(python: Sandbox, flags: str):
    words = tuple(flags.split())
    assert_same(python, workload("surroundings.py"), "an argument", flags=words)


def test_a_sampler_finds_the_same_stack(python: Sandbox):
    if tuple(map(int, python.stack.python_version.split("."))) < (3, 15):
        pytest.skip("the interpreter comes with one from 3.15 on")
    plain = assert_same(python, workload("reads_own_stack.py"))
    assert "<module>" in plain.out, plain


def depths(done: Done) -> dict[str, str]:
    return dict(line.split(" ", 1) for line in done.out.splitlines())


def test_it_recurses_exactly_as_deep(python: Sandbox):
    """A call of a function in C that is looked at does not take as many levels as one that the interpreter has
    specialised: where a program recurses through one, it may be a few levels off.
    """
    plain = python.plain(workload("recursion_depth.py"))
    assert "deep 100000" in plain.out, plain
    without_c = python.recorded(workload("recursion_depth.py"), options=("-q", "--builtins", "none"))
    assert behaviour(without_c) == behaviour(plain)
    found, expected = (depths(done) for done in (python.recorded(workload("recursion_depth.py")), plain))
    for name in ("getattr", "repr"):
        depth, expected_depth = (int(table.pop(name)[1:].split(",")[0]) for table in (found, expected))
        assert abs(depth - expected_depth) <= 20, name
    assert found == expected


def test_it_recurses_exactly_as_deep_as_module_or_code(python: Sandbox):
    (python.cwd / "depth.py").write_text(
        "def down(n):\n    try:\n        return down(n + 1)\n    except RecursionError:\n        return n\n"
        "print(down(0))\n"
    )
    assert_same(python, "-m", "depth")
    assert_same(python, "-c", (python.cwd / "depth.py").read_text())


def test_the_interpreters_own_tools_can_be_used(python: Sandbox):
    assert_same(python, workload("own_tools.py"))
    assert_same(python, workload("own_tools.py"), flags=("-O",))


WAYS_TO_START = (
    "fork_and_return", "fork_and_exit", "fork_and_os_exit", "fork_and_fail", "fork_and_exec",
    "fork_twice", "fork_pool", "spawn_pool", "forkserver_pool", "run_python", "run_shell",
)  # fmt: skip


@pytest.mark.parametrize("way", WAYS_TO_START)
def test_its_children_are_the_same(python: Sandbox, way: str):
    assert_same(python, workload("children.py"), way)
    python.wait_for_the_last()


def test_what_is_not_python_sees_nothing_where_children_are_not_wanted(python: Sandbox):
    plain, recorded = (
        python.plain(workload("children.py"), "count_variables"),
        python.recorded(workload("children.py"), "count_variables", options=("-q", "--no-children")),
    )
    assert behaviour(plain) == behaviour(recorded)


@pytest.mark.parametrize("way", ["fork_and_return", "fork_and_exit", "fork_and_fail", "fork_twice", "fork_and_os_exit"])
def test_a_forked_child_does_not_disturb_its_parents_file(python: Sandbox, way: str):
    path = workload("children.py")
    done = python.recorded(path, way)
    assert done.code == 0, done
    assert python.files() == {"children.allranks"}
    counts = counts_by_name(in_file(python.pstats("children.allranks"), path))
    assert counts["in_parent"] == 20
    assert counts["in_child"] == (1001 if way == "fork_twice" else 1000)


def test_a_process_that_becomes_another_program_is_recorded_until_then(python: Sandbox):
    assert_same(python, workload("children.py"), "replace_itself")
    assert python.live_files() == []
    assert python.report("children.allranks").calls("in_parent") == 10


def test_standard_input_reaches_it(python: Sandbox):
    plain = assert_same(python, workload("echo_stdin.py"), stdin=b"one\ntwo\n" + 100_000 * b"x\n")
    assert plain.out == "one\ntwo\n200000\n"


@pytest.mark.parametrize("target", ["sample_package", "sample_package.module", "sample_package.missing", "missing", "json.tool"])
def test_modules_are_run_the_same(python: Sandbox, target: str):
    shutil.copytree(WORKLOADS / "sample_package", python.cwd / "sample_package")
    assert_same(python, "-m", target, "--help")


@pytest.mark.parametrize("what", ["fail", "exit", "interrupt"])
def test_a_module_in_a_package_ends_the_same(python: Sandbox, what: str):
    shutil.copytree(WORKLOADS / "sample_package", python.cwd / "sample_package")
    assert_same(python, "-m", "sample_package.module", what)


UNUSUAL_SOURCES = {
    "syntax error": b"print('never reached')\nif True:\n    print('unbalanced'\n",
    "wrong indentation": b"def f():\n  x = 1\n    y = 2\n",
    "latin-1": b'# -*- coding: latin-1 -*-\ntext = "caf\xe9s"\nprint(len(text), ascii(text))\n',
    "undeclared latin-1": b'print("caf\xe9s")\n',
    "unknown encoding": b"# coding: no-such-encoding\nprint(1)\n",
    "byte order mark": b"\xef\xbb\xbfprint('marked')\n",
    "null byte": b"print(1)\0\n",
    "windows line ends": b"print(1)\r\nif True:\r\n    print(2)\r\n1/0\r\n",
    "empty": b"",
    "no line end": b"1/0",
    "warning while compiling": b"print('\\d')\nassert (1, 'always true')\n",
    "future annotations": b"from __future__ import annotations\ndef f(x: 1/0): pass\nprint(f.__annotations__)\n",
    "eager annotations": b"def f(x: print('evaluated')): pass\n",
    "annotated module": b"x: int = 1\nprint(__annotations__)\n",
}  # fmt: skip


@pytest.mark.parametrize("kind", UNUSUAL_SOURCES)
def test_unusual_sources_are_read_the_same(python: Sandbox, kind: str):
    (python.cwd / "unusual.py").write_bytes(UNUSUAL_SOURCES[kind])
    refused = re.search("^(Syntax|Indentation)Error", python.plain("unusual.py").err, re.MULTILINE)
    assert_same(python, "unusual.py", closing_line=not refused)


@pytest.mark.parametrize("code", [
    "1 +", "print('one line')", "if True:\n  1/0\n", "import sys; print(sys.argv, __name__)", "",
    "def f():\n  def g(): 1/0\n  g()\nf()", "print(1 is 1)", "print('a\\d')\n1 +",
])  # fmt: skip
def test_code_is_run_the_same(python: Sandbox, code: str, known_fault):
    warns = "SyntaxWarning" in python.plain("-c", code).err
    known_fault(warns and python.stack.python_version == "3.13", "a SyntaxWarning shows its source line, which 3.13 does not")
    assert_same(python, "-c", code, closing_line=not code.endswith("1 +"))


@pytest.mark.parametrize("code", [
    "\n  print(1)\n  1/0", " \n    def f():\n      1/0\n    f()\n", "\tprint(1)\n\tprint(2)", "\tprint(1)\n  print(2)",
    "  print(1)\n print(2)", '  print("""a\n   \n \n    b""")\n', 'print("""a\n   \n""")', "   \n", "  # a\n  print(1)\n # b",
    '  print("""\n\t""")', '  print(1)\r\n  print("""\r\n   \r\n""")',
])  # fmt: skip
def test_indented_code_is_run_or_refused_the_same(python: Sandbox, code: str):
    refused = "IndentationError" in python.plain("-c", code).err
    assert_same(python, "-c", code, closing_line=not refused)


@pytest.mark.parametrize("kind", ["directory", "archive", "standard input"])
def test_what_else_python_can_run_is_run_the_same(python: Sandbox, kind: str):
    source = "import sys\nprint(__name__, __file__ if len(sys.argv) > 1 else '', sys.argv, sys.path[0])\n"
    (python.cwd / "program").mkdir()
    (python.cwd / "program" / "__main__.py").write_text(source)
    if kind == "directory":
        assert_same(python, "program", "x")
    elif kind == "archive":
        assert python.plain("-m", "zipapp", "program").code == 0
        assert_same(python, "program.pyz", "x")
    else:
        assert_same(python, "-", stdin=source.encode())


def test_a_missing_script_is_named(python: Sandbox):
    done = python.recorded("missing.py")
    assert (done.code, done.out) == (2, "")
    assert done.err == "allranks: error: missing.py: No such file or directory\n"
    assert python.files() == set() and python.live_files() == []
