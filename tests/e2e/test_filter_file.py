# SPDX-License-Identifier: BSD-3-Clause
"""Filter files of Score-P: each element of their syntax, and which functions are recorded, against a slow reading of the rules."""

from __future__ import annotations

import importlib.util
import random
import re
from pathlib import Path

import pytest
from harness import ROOT, Sandbox

EXAMPLES = ROOT / "tests" / "golden" / "filters"
N_RANDOM = 12
FILES, REGIONS = "SCOREP_FILE_NAMES", "SCOREP_REGION_NAMES"


def load_parser():
    spec = importlib.util.spec_from_file_location("filter_file", ROOT / "python" / "allranks" / "_filter_file.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PARSER = load_parser()

# ---- the reference ----


def reference_words(text: str) -> list[str]:
    pieces = re.findall(r"(?s)#[^\n]*|\s+|(?:\\.|[^\s\\#])+", text)
    assert "".join(pieces) == text
    words = [re.sub(r"(?s)\\(.)", lambda m: "" if m[1] == "\n" else m[0], each) for each in pieces if each[0] != "#"]
    return [each for each in words if each.strip()]


def reference_rules(text: str) -> list[tuple[str, bool, str]]:
    """Of each pattern: the block, whether it excludes, and the pattern."""
    rules = []
    block = sign = before = ""
    for word in reference_words(text):
        if word.endswith("_BEGIN"):
            block = word[: -len("_BEGIN")]
        elif word == f"{block}_END":
            block = ""
        elif word in ("EXCLUDE", "INCLUDE"):
            sign = word
        elif not (word == "MANGLED" and before in ("EXCLUDE", "INCLUDE") and block == REGIONS):
            rules.append((block, sign == "EXCLUDE", word))
        before = word
    return rules


def reference_matches(glob: str, text: str) -> bool:
    """By trying every way."""
    if not glob:
        return not text
    if glob[0] == "*":
        return any(reference_matches(glob[1:], text[i:]) for i in range(len(text) + 1))
    if not text:
        return False
    bracket = re.match(r"(?s)\[[!^]?\]?[^]]*\]", glob)
    if bracket:
        inside, is_not = bracket[0][1:-1], bracket[0][1] in "!^"
        inside = inside[is_not:]
        ranges = re.findall(r"(?s)(.)-(.)|(.)", inside)
        found = any(low <= text[0] <= high if low else text[0] == single for low, high, single in ranges)
        return found != is_not and reference_matches(glob[len(bracket[0]) :], text[1:])
    literal = glob[1] if glob[0] == "\\" else glob[0]
    rest = glob[2:] if glob[0] == "\\" else glob[1:]
    return (glob[0] == "?" or literal == text[0]) and reference_matches(rest, text[1:])


def reference_excludes(rules: list[tuple[str, bool, str]], block: str, name: str) -> bool:
    excluded = False
    for each, excludes, glob in rules:
        if each == block and reference_matches(glob, name):
            excluded = excludes
    return excluded


# ---- the syntax ----


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.filt")), ids=lambda path: path.stem)
def test_examples_are_read_as_their_rules_say(path: Path):
    rules = PARSER.read_rules(str(path))
    assert "\n".join(rules) + "\n" == path.with_suffix(".rules").read_text()
    signs = {(False, REGIONS): "+r", (True, REGIONS): "-r", (False, FILES): "+f", (True, FILES): "-f"}
    assert list(rules) == [signs[excludes, block] + glob for block, excludes, glob in reference_rules(path.read_text())]


def block(*lines: str, name: str = REGIONS) -> str:
    return "\n".join([f"{name}_BEGIN", *lines, f"{name}_END", ""])


def test_line_ends_of_another_system_and_a_byte_order_mark_are_no_part_of_a_pattern(tmp_path: Path):
    file = tmp_path / "windows.filt"
    file.write_bytes(b"\xef\xbb\xbf" + block("EXCLUDE a \\", "b # c", "d").replace("\n", "\r\n").encode())
    assert PARSER.read_rules(str(file)) == ("-ra", "-rb", "-rd")


def test_names_in_any_encoding_stay_as_they_are(tmp_path: Path):
    file = tmp_path / "bytes.filt"
    file.write_bytes(block("EXCLUDE */r\udce9sum\udce9.py:*").encode(errors="surrogateescape"))
    (rule,) = PARSER.read_rules(str(file))
    assert rule.encode(errors="surrogateescape") == b"-r*/r\xe9sum\xe9.py:*"


@pytest.mark.parametrize("text", ["", "# nothing\n", block(), block("EXCLUDE"), block("EXCLUDE", "INCLUDE MANGLED"), "SCOREP_FILE_NAMES_BEGIN SCOREP_FILE_NAMES_END"])
def test_files_without_a_pattern_have_no_rules(tmp_path: Path, text: str):
    (tmp_path / "x.filt").write_text(text)
    assert PARSER.read_rules(str(tmp_path / "x.filt")) == ()


BEGINS = "SCOREP_REGION_NAMES_BEGIN or SCOREP_FILE_NAMES_BEGIN"
WRONG = {
    "EXCLUDE a\n": (1, f"EXCLUDE cannot stand here (expected: {BEGINS})"),
    "\n\n SCOREP_NAMES_BEGIN\n": (3, f"SCOREP_NAMES_BEGIN cannot stand here (expected: {BEGINS})"),
    "SCOREP_REGION_NAMES_END\n": (1, f"SCOREP_REGION_NAMES_END cannot stand here (expected: {BEGINS})"),
    block("# c", "a"): (3, "a cannot stand here (expected: EXCLUDE or INCLUDE in front of a pattern)"),
    block("MANGLED a"): (2, "MANGLED cannot stand here (expected: EXCLUDE or INCLUDE in front of a pattern)"),
    block("EXCLUDE a") + "b": (4, f"b cannot stand here (expected: {BEGINS})"),
    block("EXCLUDE a \\", "b", "SCOREP_FILE_NAMES_END"): (
        4, "SCOREP_FILE_NAMES_END cannot stand here (expected: SCOREP_REGION_NAMES_END for line 1)"),
    block("EXCLUDE a", "SCOREP_REGION_NAMES_BEGIN"): (
        3, "SCOREP_REGION_NAMES_BEGIN cannot stand here (expected: SCOREP_REGION_NAMES_END for line 1)"),
    "\nSCOREP_FILE_NAMES_BEGIN\nEXCLUDE a\n\n": (4, "the end of the file (expected: SCOREP_FILE_NAMES_END for line 2)"),
    "\nSCOREP_FILE_NAMES_BEGIN\nEXCLUDE a": (3, "the end of the file (expected: SCOREP_FILE_NAMES_END for line 2)"),
    block("EXCLUDE a").rstrip() + " \\": (3, "a backslash at the end of the file (expected: a character after it)"),
    block("", "EXCLUDE a\0b"): (3, "a zero byte (expected: text)"),
    "x" * 100: (1, "x" * 60 + f"... cannot stand here (expected: {BEGINS})"),
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str):
    (tmp_path / "x.filt").write_text(text)
    with pytest.raises(PARSER.FilterError) as caught:
        PARSER.read_rules(str(tmp_path / "x.filt"))
    line, what = WRONG[text]
    assert str(caught.value) == f"{tmp_path}/x.filt:{line}: {what}"


def test_errors_are_one_line_and_nothing_runs(any_python: Sandbox):
    (any_python.cwd / "x.filt").write_text("foo\n")
    for name, what in (("x.filt", f"x.filt:1: foo cannot stand here (expected: {BEGINS})"), ("none.filt", "none.filt: No such file or directory")):
        done = any_python.recorded("-c", "print(1)", options=("--filter-file", name))
        assert (done.code, done.out) == (2, ""), done
        assert done.err == f"allranks: error: --filter-file {what}\n"
    for rule in ("numpy*", "-x*", "-r", "*"):
        done = any_python.recorded("-c", "print(1)", options=(f"--filter-rule={rule}",))
        assert (done.code, done.out) == (2, ""), done
        assert done.err == f"allranks: error: --filter-rule {rule}: not a rule, such as -rnumpy* or +f*/solver.py\n"


def test_random_files_are_read_as_the_reference_reads_them(tmp_path: Path):
    dice = random.Random(20)
    pieces = ["EXCLUDE", "INCLUDE", "MANGLED", "a*", "b:[c-e]", "\\#", "\\ x", "x\\\\", " ", "\n", "\t", "#c EXCLUDE\n", "\\\n", "d\\*e", "EXCLUDEx", "?:f", "#\\\n"]
    for _ in range(500):
        inside = " ".join(dice.choices(pieces, k=dice.randrange(12))) if dice.random() < 0.5 else "".join(dice.choices(pieces, k=12))
        text = f"{REGIONS}_BEGIN\nINCLUDE z\n{inside}\n{REGIONS}_END"
        (tmp_path / "x.filt").write_text(text)
        expected = [("-r" if excludes else "+r") + glob for _, excludes, glob in reference_rules(text)]
        assert list(PARSER.read_rules(str(tmp_path / "x.filt"))) == expected, text


# ---- what is recorded ----

MODULE = """
def first(): return second()
def second(): return [Grid().refine(), Grid.Cell().split(), outer(), third_9()]
class Grid:
    def refine(self): return 1
    class Cell:
        def split(self): return 2
def outer():
    def inner(): return 3
    return inner()
def third_9(): return 4
"""
# Line, class, name; of a function in another one there is no class. The body of a class is a function, too.
FUNCTIONS = [(2, "", "first"), (3, "", "second"), (4, "", "Grid"), (6, "Grid", "Cell"), (5, "Grid", "refine"), (7, "Cell", "split"), (8, "", "outer"), (9, "", "inner"), (11, "", "third_9")]
MODULES = ("mesh", "solver", "solver_new", "pack.mesh", "pack.deep.solver")


def write_program(directory: Path) -> None:
    for module in MODULES:
        file = directory / (module.replace(".", "/") + ".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(MODULE)
    (directory / "main.py").write_text("\n".join(["import " + ", ".join(MODULES), *(f"for _ in range(3): {each}.first()" for each in MODULES)]) + "\n")


def name_of(sandbox: Sandbox, module: str, cls: str, function: str) -> str:
    has_classes = tuple(map(int, sandbox.stack.python_version.split("."))) >= (3, 11)
    return f"{module}.{cls}:{function}" if cls and has_classes else f"{module}:{function}"


def recorded_functions(sandbox: Sandbox, path: str) -> set[tuple[str, int]]:
    """Those of the program, by module and line."""
    found = set()
    for file, line, name in sandbox.pstats(path):
        module = file.removeprefix(f"{sandbox.cwd}/").removesuffix(".py").replace("/", ".")
        if module in MODULES and name != "<module>":
            found.add((module, line))
    return found


def expected_functions(sandbox: Sandbox, rules: list[tuple[str, bool, str]]) -> set[tuple[str, int]]:
    return {
        (module, line)
        for module in MODULES
        for line, cls, function in FUNCTIONS
        if not reference_excludes(rules, REGIONS, name_of(sandbox, module, cls, function))
        and not reference_excludes(rules, FILES, f"{sandbox.cwd}/{module.replace('.', '/')}.py")
    }


def random_file(dice: random.Random) -> str:
    names = ["*", "mesh:*", "solver*:*", "pack.*", "*:first", "*:second", "*.Grid:*", "*Cell:spli?", "*:[a-h]*", "*:[!a-h]*", "*:third_[0-9]",
             "pack.deep.solver:outer", "mesh*:inner", "*:\\outer", "*:third\\_9", "s*r:*", "nothing:*"]  # fmt: skip
    files = ["*", "*/mesh.py", "*/pack/*", "*/deep/*", "*solver*", "*/solver.py", "*/pack/[a-m]*.py"]
    text = ""
    for _ in range(dice.randrange(1, 3)):
        for kind, globs in ((REGIONS, names), (FILES, files)):
            lines = [f"{dice.choice(('EXCLUDE', 'INCLUDE'))} {' '.join(dice.sample(globs, dice.randrange(1, 4)))}" for _ in range(dice.randrange(1, 5))]
            if dice.random() < 0.7:
                text += block(*lines, name=kind)
    return text or block("EXCLUDE mesh:*")


def test_random_rules_leave_what_the_reference_leaves(any_python: Sandbox):
    write_program(any_python.cwd)
    seen = set()
    for seed in range(N_RANDOM):
        text = random_file(random.Random(seed))
        (any_python.cwd / "x.filt").write_text(text)
        done = any_python.recorded("main.py", options=("--filter-file", "x.filt", "-o", f"{seed}.allranks"))
        assert done.code == 0, done
        expected = expected_functions(any_python, reference_rules(text))
        assert recorded_functions(any_python, f"{seed}.allranks") == expected, text
        assert any_python.info(f"{seed}.allranks").lost == 0
        seen.add(len(expected))
    assert len(seen) > 4  # the dice are no use if all files leave the same


def test_what_is_left_out_counts_in_its_caller(any_python: Sandbox):
    write_program(any_python.cwd)
    (any_python.cwd / "x.filt").write_text(block("EXCLUDE *:second"))
    assert any_python.recorded("main.py", options=("--filter-file", "x.filt", "-o", "x.allranks")).code == 0
    calls = any_python.pstats("x.allranks")
    by_line = {(file, line): each for (file, line, _), each in calls.items()}
    for module in MODULES:
        file = f"{any_python.cwd}/{module.replace('.', '/')}.py"
        assert (file, 3) not in by_line
        assert {line: by_line[file, line].calls for line in (2, 5, 7, 8, 9, 11)} == dict.fromkeys((2, 5, 7, 8, 9, 11), 3)
        assert {line for f, line, _ in by_line[file, 11].callers if f == file} == {2}


def test_regions_and_functions_in_c_have_names_too(any_python: Sandbox):
    code = """
import math
from allranks import region
class K: pass
def work():
    with region("phase one"): math.sqrt(2.0)
    with region("other"): [].append(1)
    with region("lib:step"): math.floor(2.5)
for _ in range(20): work()
"""
    (any_python.cwd / "x.py").write_text(code)
    (any_python.cwd / "x.filt").write_text(block("EXCLUDE user:* math:s* lib:st?p", "INCLUDE user:phase\\ one"))
    done = any_python.recorded("x.py", options=("--filter-file", "x.filt", "--builtins", "all", "-o", "x.allranks"))
    assert done.code == 0, done
    names = {name for _, _, name in any_python.pstats("x.allranks")}
    assert "<region phase one>" in names and "<built-in method math.floor>" in names
    assert names.isdisjoint({"<region other>", "<region lib:step>", "<built-in method math.sqrt>"})
    text = any_python.answer("info", "x.allranks").decode()
    assert re.search(r"^filter +x\.filt, 4 rules$", text, re.MULTILINE), text
    assert re.search(r"^lost +nothing$", text, re.MULTILINE), text


def test_several_files_are_one_after_the_other(any_python: Sandbox):
    write_program(any_python.cwd)
    (any_python.cwd / "a.filt").write_text(block("EXCLUDE *"))
    (any_python.cwd / "b.filt").write_text(block("INCLUDE mesh:outer"))
    for order, expected in ((("a", "b"), {("mesh", 8)}), (("b", "a"), set())):
        options = [word for each in order for word in ("--filter-file", f"{each}.filt")]
        name = "".join(order) + ".allranks"
        assert any_python.recorded("main.py", options=(*options, "-o", name)).code == 0
        assert recorded_functions(any_python, name) == expected
    options = ("--filter-file", "a.filt", "--filter-rule", "+rmesh:inner", "--include", "mesh", "-o", "c.allranks")
    assert any_python.recorded("main.py", options=options).code == 0
    assert recorded_functions(any_python, "c.allranks") == {("mesh", 9)}


def test_children_have_the_rules_wherever_they_run(any_python: Sandbox):
    write_program(any_python.cwd)
    (any_python.cwd / "x.filt").write_text(block("EXCLUDE *", "INCLUDE *:outer"))
    code = f"""
import os, subprocess, sys
sys.path.insert(0, {str(any_python.cwd)!r})
import mesh
mesh.first()
if os.fork() == 0:
    mesh.first()
    sys.exit()
os.wait()
subprocess.run([sys.executable, "-c", "import sys; sys.path.insert(0, {str(any_python.cwd)!r}); import solver; solver.first()"], cwd="/", check=True)
"""
    (any_python.cwd / "parent.py").write_text(code)
    done = any_python.recorded("parent.py", options=("--filter-file", "x.filt", "-o", "x.allranks"))
    assert done.code == 0, done
    assert recorded_functions(any_python, "x.allranks") == {("mesh", 8), ("solver", 8)}
    calls = {(file, line): each.calls for (file, line, _), each in any_python.pstats("x.allranks").items()}
    assert calls[f"{any_python.cwd}/mesh.py", 8] == 2


def test_mpi_functions_are_never_hidden_nor_their_waits(one_mpi: Sandbox):
    code = """
import time
from mpi4py import MPI
comm = MPI.COMM_WORLD
def late():
    time.sleep(0.2)
if comm.rank == 0:
    late()
comm.Barrier()
"""
    (one_mpi.cwd / "x.py").write_text(code)
    (one_mpi.cwd / "x.filt").write_text(block("EXCLUDE * MPI_*") + block("EXCLUDE *", name=FILES))
    done = one_mpi.recorded_ranks(2, "x.py", options=("--filter-file", "x.filt", "-o", "x.allranks"))
    assert done.code == 0, done
    names = {name for _, _, name in one_mpi.pstats("x.allranks")}
    assert any("MPI_Barrier" in name for name in names)
    assert not any("late" in name for name in names)
    waits = one_mpi.answer("waits", "x.allranks").decode()
    assert "Barrier" in waits, waits


def test_a_trace_has_what_the_profile_has(any_python: Sandbox):
    write_program(any_python.cwd)
    (any_python.cwd / "x.filt").write_text(block("EXCLUDE *:second *solver*"))
    options = ("--trace", "--filter-file", "x.filt", "-o", "x.allranks")
    assert any_python.recorded("main.py", options=options).code == 0
    rows = any_python.answer("dump", "--csv", "x.allranks").decode().splitlines()
    entered = {(Path(file).name, int(line)) for file, line in re.findall(r",enter,0,.*?,([^,]*\.py),(\d+),", "\n".join(rows))}
    expected = {(module.rpartition(".")[2] + ".py", line) for module in ("mesh", "pack.mesh") for line, _, function in FUNCTIONS if function != "second"}
    assert {each for each in entered if each[0] in ("mesh.py", "solver.py", "solver_new.py") and each[1] > 1} == expected
