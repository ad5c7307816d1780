# SPDX-License-Identifier: BSD-3-Clause
"""No harm, continued: the programs in tests/awkward do the same with and without allranks, on every Python.

Each program is run plainly, under `python -m allranks -q`, without the -q, with the lines of every function counted, and with counters that
are read in every function (the last three on the oldest and the newest Python, unless ALLRANKS_TEST_ALL is set). Standard output, standard error, and the exit code or
signal have to be the same, but for the one closing line in the third case. Addresses and process numbers are masked.

What a program needs is said in comments at its head, one or more of

    # run: -X dev SCRIPT one two          how to start it, any number of times; by default: SCRIPT
                                          SCRIPT, -m MODULE, -c CODE, DIRECTORY, ARCHIVE: the program in that form
                                          STDIN: the interpreter reads the program from standard input
    # run: SCRIPT fail => 1               the exit code that is right, or a signal such as SIGTERM; by default 0
    # run: SCRIPT end => 0; 3.14+: SIGINT      … and from 3.14 on, or with 3.14: on that version, where Python itself differs
    # run: SCRIPT kill => SIGKILL, no line     the process ends before a closing line can be written
    # run: SCRIPT fill => 0, complaint    the run file cannot be written: a line says so, with -q as well;
                                          or "perhaps a complaint", where that depends on the Python or the user
    # run: SCRIPT count => 0, uncounted   not with counters: it looks for what they are known to leave (docs/differences.md)
    # stdin: one\\ntwo\\n                   what it reads
    # env: NAME=value                     in its environment; PACKAGES in it: where allranks is installed
    # python: 3.11+                       the first version that can run it
    # slow: 3.9 3.13                      only these versions, unless ALLRANKS_TEST_ALL is set
    # needs: greenlet                     a package; skipped where it is missing
    # options: --builtins none            of allranks: what it looks at is known to be noticed otherwise (docs/differences.md)
    # mask: [0-9]+ us                     a regular expression for what differs by nature, which is cut out
    # unlined: 3.9 3.10                   on these versions not with counted lines: it sees what the interpreter does for a trace
                                          function (docs/differences.md)
    # known_fault: 3.11 3.12: why         it is known to fail there, and must: who mends it removes the line

A program has to print what it sees: one that prints nothing and ends well proves next to nothing.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import shutil
import signal
import subprocess
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from conftest import PLAIN
from harness import ROOT, Done, Running, Stack, clean_environment, end_session

AWKWARD = ROOT / "tests" / "awkward"
EVERYTHING = os.environ.get("ALLRANKS_TEST_ALL", "0") != "0"
FORMS = ("SCRIPT", "MODULE", "CODE", "DIRECTORY", "ARCHIVE", "STDIN")
ALWAYS_MASKED = (r"\b0x[0-9a-f]{6,}\b", r"(?<=\bpid )\d+", r"(?<=-run)\d")
CLOSING_LINE = re.compile(rb"allranks: 1 process[^\n]* recorded in [^\n]*; see: allranks report [^\n]*\n")
COMPLAINT = re.compile(rb"allranks: [^\n]*; what was recorded can be had by: [^\n]*\n")


@dataclass
class Program:
    path: Path
    runs: list[str] = field(default_factory=list)
    stdin: bytes = b""
    env: dict[str, str] = field(default_factory=dict)
    first_version: int = 0
    slow: set[str] = field(default_factory=set)
    needs: list[str] = field(default_factory=list)
    masks: list[str] = field(default_factory=lambda: list(ALWAYS_MASKED))
    faults: dict[str, str] = field(default_factory=dict)
    options: list[str] = field(default_factory=list)
    unlined: set[str] = field(default_factory=set)

    def take(self, key: str, value: str) -> None:
        if key == "run":
            self.runs.append(value)
        elif key == "stdin":
            self.stdin += value.encode().decode("unicode_escape").encode()
        elif key == "env":
            name, _, text = value.partition("=")
            self.env[name] = text
        elif key == "python":
            self.first_version = minor_of(value.rstrip("+"))
        elif key == "slow":
            self.slow |= set(value.split())
        elif key == "unlined":
            self.unlined |= set(value.split())
        elif key == "needs":
            self.needs += value.split()
        elif key == "mask":
            self.masks.append(value)
        elif key == "options":
            self.options += value.split()
        elif key == "known_fault":
            versions, _, why = value.partition(": ")
            self.faults.update(dict.fromkeys(versions.split(), why))
        else:
            raise pytest.UsageError(f"{self.path}: unknown directive {key}")

    def masked(self, text: bytes) -> str:
        shown = text.decode(errors="backslashreplace")
        for mask in self.masks:
            shown = re.sub(mask, "", shown)
        return shown


@dataclass(frozen=True)
class Case:
    """One way of starting a program, and how it has to end."""

    program: Program
    flags: tuple[str, ...]
    target: tuple[str, ...]
    ends: str
    remark: str

    def code_on(self, version: str) -> int:
        code, *others = self.ends.split("; ")
        for other in others:
            versions, _, special = other.partition(": ")
            if version == versions or (versions.endswith("+") and minor_of(version) >= minor_of(versions[:-1])):
                code = special
        return code_of(code) if code else 0

    def our_lines(self, is_quiet: bool) -> list[tuple[int, int]]:
        """How many closing lines and complaints are right."""
        closing, complaint, nothing = (int(not is_quiet), 0), (0, 1), (0, 0)
        return {
            "": [closing], "uncounted": [closing], "no line": [nothing], "complaint": [complaint],
            "perhaps a complaint": [closing, complaint],
        }[self.remark]  # fmt: skip

    def __str__(self) -> str:
        words = [*self.flags, *self.target]
        return "-".join([self.program.path.stem, *(word for word in words if word != "SCRIPT")])


def minor_of(version: str) -> int:
    return int(version.partition(".")[2])


def read_program(path: Path) -> Program:
    program = Program(path)
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            break
        directive = re.match(r"# (\w+): (.*)", line)
        if directive and directive[1] not in ("ruff",):
            program.take(directive[1], directive[2].strip())
    program.runs = program.runs or ["SCRIPT"]
    return program


def code_of(text: str) -> int:
    return -signal.Signals[text].value if text.startswith("SIG") else int(text)


def case_of(program: Program, run: str) -> Case:
    words_text, _, end = run.partition(" => ")
    words = shlex.split(words_text)
    start = next(i for i, word in enumerate(words) if word in (*FORMS, "-m", "-c"))
    ends, _, remark = end.partition(", ")
    return Case(program, tuple(words[:start]), tuple(words[start:]), ends, remark)


def cases_of(path: Path) -> list[Case]:
    program = read_program(path)
    return [case_of(program, run) for run in program.runs]


CASES = [case for path in sorted(AWKWARD.glob("*.py")) for case in cases_of(path)]


def runs_on(case: Case, stack: Stack) -> bool:
    program = case.program
    if minor_of(stack.python_version) < program.first_version:
        return False
    return EVERYTHING or not program.slow or stack.python_version in program.slow


def runs_of(case: Case, stacks: list[Stack]) -> list[tuple[Case, Stack, bool]]:
    chosen = [stack for stack in stacks if runs_on(case, stack)]
    return [(case, stack, EVERYTHING or stack in (chosen[0], chosen[-1])) for stack in chosen]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        stacks = metafunc.config.stash[PLAIN]
        if not stacks:
            raise pytest.UsageError("no plain interpreters in .stacks: make test prepares them")
        runs = [run for case in CASES for run in runs_of(case, stacks)]
        ids = [f"{case}-py{stack.python_version}" for case, stack, _ in runs]
        metafunc.parametrize(("case", "stack", "in_all_ways"), runs, ids=ids)


@cache
def has_package(python: str, name: str) -> bool:
    return subprocess.run([python, "-c", f"import {name}"], capture_output=True, check=False).returncode == 0


# ---- running ----


def lay_out(case: Case, directory: Path) -> tuple[list[str], bytes]:
    """The program in the form it is to be run in; the words that start it, and its input."""
    source, name = case.program.path, case.program.path.name
    forms = {"SCRIPT": name, "MODULE": source.stem, "DIRECTORY": "packed", "ARCHIVE": "packed.zip"}
    words = [forms.get(word, word) for word in case.target]
    if "DIRECTORY" in case.target or "ARCHIVE" in case.target:
        (directory / "packed").mkdir()
        shutil.copy(source, directory / "packed" / "__main__.py")
    if "ARCHIVE" in case.target:
        with zipfile.ZipFile(directory / "packed.zip", "w") as archive:
            archive.write(source, "__main__.py")
    if "CODE" in case.target:
        words[words.index("CODE")] = source.read_text()
    if "STDIN" in case.target:
        words[words.index("STDIN")] = "-"
        return words, source.read_bytes()
    if "SCRIPT" in case.target or "MODULE" in case.target:
        shutil.copy(source, directory / name)
    return words, case.program.stdin


def start(case: Case, stack: Stack, directory: Path, recorder: list[str]) -> Running:
    """In directories of the same length, whose names may be printed, cut and measured."""
    directory.mkdir(parents=True)
    words, stdin = lay_out(case, directory)
    packages = str(next(Path(stack.python).parent.parent.glob("lib/python3*/site-packages")))
    special = {name: text.replace("PACKAGES", packages) for name, text in case.program.env.items()}
    env = {**clean_environment(), "PYTHONHASHSEED": "0", "ALLRANKS_TEST_ALL": str(int(EVERYTHING)), **special}
    env["PATH"] = f"{Path(stack.python).parent}:{env['PATH']}"
    return Running([stack.python, *case.flags, *recorder, *words], directory, env, stdin)


def run_each_way(case: Case, stack: Stack, directory: Path, in_all_ways: bool) -> list[Done]:
    """Plainly, quietly recorded, recorded, with counted lines, and counted: side by side, since none of them looks at a clock."""
    record = ["-m", "allranks", "--live-dir", str(directory / "live"), "-o", str(directory / "x.allranks")]
    record += case.program.options
    counted = [*record, "-q", "--counters", "page-faults", "--counters-at", "*", "--counters-optional"]
    ways = [[], [*record, "-q"]]
    if in_all_ways:
        ways += [record]
        ways += [] if stack.python_version in case.program.unlined else [[*record, "-q", "--lines", "*"]]
        ways += [] if case.remark == "uncounted" else [counted]
    running: list[Running] = []
    try:
        for i, recorder in enumerate(ways):
            running.append(start(case, stack, directory / f"at-run{i}", recorder))
        return [each.wait() for each in running]
    finally:
        for each in running:
            if each.process.poll() is None:
                end_session(each.process)
            each.close()


def without_our_lines(case: Case, stderr: bytes) -> tuple[bytes, int, int]:
    """Where the program's last line has no end, ours is its continuation."""
    rest, n_closing_lines = CLOSING_LINE.subn(b"", stderr)
    rest, n_complaints = COMPLAINT.subn(b"", rest) if "complaint" in case.remark else (rest, 0)
    return rest, n_closing_lines, n_complaints


def compare(case: Case, plain: Done, recorded: Done, stderr: bytes) -> None:
    """As texts in one piece, so that a failure is shown as the lines that differ."""
    pairs = ((plain.stdout, recorded.stdout), (plain.stderr, stderr))
    differing = [diff for a, b in pairs for diff in differences(case.program.masked(a), case.program.masked(b))]
    if recorded.code != plain.code or differing:
        ends = f"ends with {plain.code} plainly and {recorded.code} recorded"
        pytest.fail("\n".join([" ".join(recorded.argv), ends, *differing]), pytrace=False)


def differences(plain: str, recorded: str) -> Iterator[str]:
    lines = (plain.splitlines(), recorded.splitlines())
    return difflib.unified_diff(*lines, "plain", "recorded", n=1, lineterm="") if plain != recorded else iter(())


def test_it_behaves_the_same(case: Case, stack: Stack, in_all_ways: bool, tmp_path: Path, known_fault):
    missing = [name for name in case.program.needs if not has_package(stack.python, name)]
    if missing:
        pytest.skip(f"no {' '.join(missing)}")
    known_fault(stack.python_version in case.program.faults, case.program.faults.get(stack.python_version, ""))

    plain, *others = run_each_way(case, stack, tmp_path, in_all_ways)
    right_code = case.code_on(stack.python_version)
    if plain.code != right_code:
        pytest.fail(f"even plainly it does not end with {right_code}:\n{plain}", pytrace=False)
    for recorded, is_quiet in zip(others, (True, False, True, True)):
        said, n_closing_lines, n_complaints = without_our_lines(case, recorded.stderr)
        compare(case, plain, recorded, said)
        if (n_closing_lines, n_complaints) not in case.our_lines(is_quiet):
            pytest.fail(f"{n_closing_lines} closing lines, {n_complaints} complaints:\n{recorded}", pytrace=False)
