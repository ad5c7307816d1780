# SPDX-License-Identifier: BSD-3-Clause
"""The command line: help, errors in one line, and outputs that other programs can read."""

import json
import pstats
import random
import re

import pytest
from harness import Sandbox, workload
from readings import counts_by_name

# Of `export`, in the order of its help.
FORMATS = ["pstats", "lprof", "otf2", "cubex", "perfetto", "chrome", "speedscope"]
LISTED, CHOICES = ", ".join(FORMATS), "|".join(FORMATS)

OPTIONS_OF = {
    "run": ["--output", "--quiet", "--live-dir", "--max-size", "--version", "-m", "-c", "--as"],
    "report": ["--rows", "--min", "--json", "--csv", "--tree", "--functions", "--callers", "--sort", "--depth", "--ranks", "--region"],
    "diff": ["--paths", "--inclusive", "--fail-if", "--rows", "--csv", "--json", "'total > 5%'"],
    "scale": ["--weak", "--rows", "--functions", "--csv", "--json"],
    "info": ["--json"],
    "export": ["--format", "--rank", "--from", "--to", "--output", "--quiet", *FORMATS],
    "merge": ["--output"],
    "install-shims": ["--remove", "--list", "--json", "mpiprof"],
}


def test_help_names_every_command(python: Sandbox):
    text = python.answer("--help").decode()
    for command in OPTIONS_OF:
        assert re.search(rf"^  {command} ", text, re.MULTILINE), command


@pytest.mark.parametrize("command", OPTIONS_OF)
def test_help_of_a_command_names_its_options(python: Sandbox, command: str):
    text = python.answer(command, "--help").decode()
    assert text.startswith(f"usage: allranks {command}")
    for option in OPTIONS_OF[command]:
        assert option in text
    assert [line for line in text.splitlines() if len(line) > 90] == []
    assert python.answer(command, "-h").decode() == text


def test_help_is_the_same_through_python(python: Sandbox):
    done = python.plain("-m", "allranks", "--help")
    assert (done.code, done.stdout) == (0, python.answer("run", "--help"))
    done = python.plain("-m", "allranks", "report", "--help")
    assert (done.code, done.stdout) == (0, python.answer("report", "--help"))


def test_the_version_is_the_same_everywhere(python: Sandbox):
    text = python.answer("--version").decode()
    assert re.match(r"allranks \d+\.\d+\.\d+\n$", text)
    assert python.plain("-m", "allranks", "--version").out == text


def assert_one_line_of_error(done, *parts: str) -> None:
    assert (done.code, done.out) == (2, ""), done
    assert re.match(r"allranks: error: [^\n]+\n$", done.err), done
    for part in parts:
        assert part in done.err


@pytest.mark.parametrize("words", [
    ("--nonsense", "x.py"), ("-z", "x.py"), (), ("-m",), ("-c",), ("-o",), ("--live-dir",), ("--max-size", "3", "x.py"),
    ("--max-size", "many", "x.py"), ("--max-size", "", "x.py"), ("--output",), ("missing.py",), ("missing/",),
])  # fmt: skip
def test_wrong_words_to_run_are_one_line(python: Sandbox, words: tuple):
    assert_one_line_of_error(python.plain("-m", "allranks", *words))
    assert_one_line_of_error(python.allranks("run", *words))
    assert python.files() == set()


@pytest.mark.parametrize("words", [
    ("nonsense",), ("--nonsense",), ("report",), ("report", "a", "b"), ("report", "--rows", "x", "y"),
    ("report", "--min", "x", "y"), ("report", "--sort", "x", "y"), ("report", "--tree", "x", "y"), ("info",), ("export", "x"), ("export", "-f", "pstats"),
    ("export", "x", "-f", "nonsense"), ("export", "x", "-f", "pstats", "--rank", "-1"),
    ("export", "x", "-f", "pstats", "--rank", "one"), ("merge",), ("merge", "x"), ("merge", "-o", "x"),
    ("diff",), ("diff", "x"), ("diff", "x", "y", "z"), ("diff", "x", "--"), ("diff", "--", "x"), ("diff", "x", "y"),
    ("diff", "--fail-if", "total", "x", "y"), ("diff", "--fail-if", "total > 5", "x", "y"), ("scale", "x"), ("scale", "x", "y"),
])  # fmt: skip
def test_wrong_words_are_one_line(python: Sandbox, words: tuple):
    assert_one_line_of_error(python.allranks(*words))
    assert python.files() == set()


@pytest.mark.parametrize("command", ["report", "info", "export", "merge"])
def test_unknown_options_are_one_line(python: Sandbox, command: str):
    assert_one_line_of_error(python.allranks(command, "--nonsense", "x"), "--nonsense")


# ---- files that are none ----

READERS = {
    "report": ("report",),
    "report --json": ("report", "--json"),
    "info": ("info",),
    "info --json": ("info", "--json"),
    "export": ("export", "-f", "pstats", "-o", "out"),
    "merge": ("merge", "-o", "out"),
}


@pytest.fixture
def run_file(python: Sandbox) -> bytes:
    done = python.recorded(workload("counts_recursion.py"), "ignored.json", options=("-o", "run.allranks"))
    assert done.code == 0, done
    return (python.cwd / "run.allranks").read_bytes()


@pytest.mark.parametrize("reader", READERS)
def test_wrong_files_are_one_line_that_names_them(python: Sandbox, run_file: bytes, reader: str):
    wrong = {
        "empty": b"",
        "text": b"not a file of allranks\n" * 100,
        "zeros": bytes(100_000),
        "cut": run_file[: len(run_file) // 2],
        "one byte short": run_file[:-1],
        "head only": run_file[:8],
        "cut.live": b"ALLRLIVE" + bytes(10),
        "newer": run_file[:8] + b"\xff" * 4 + run_file[12:],
    }
    for name, content in wrong.items():
        (python.cwd / name).write_bytes(content)
    (python.cwd / "directory").mkdir()
    before = python.files()
    for name in [*wrong, "directory", "missing", "missing/too", "empty/below"]:
        assert_one_line_of_error(python.allranks(*READERS[reader], name), name)
    assert python.files() == before


def test_a_file_cut_anywhere_is_refused(python: Sandbox, run_file: bytes):
    for n_bytes in {*range(0, 200, 7), *range(0, len(run_file), max(1, len(run_file) // 40))}:
        (python.cwd / "cut").write_bytes(run_file[:n_bytes])
        assert_one_line_of_error(python.allranks("report", "cut"), "cut")


def test_a_damaged_file_is_refused_or_read_but_never_a_crash(python: Sandbox, run_file: bytes):
    chance = random.Random(1)
    for _ in range(60):
        damaged = bytearray(run_file)
        for _ in range(chance.choice((1, 2, 8))):
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        (python.cwd / "damaged").write_bytes(damaged)
        done = python.allranks("report", "damaged")
        if done.code != 0:
            assert_one_line_of_error(done, "damaged")


def test_a_damaged_live_file_is_refused_or_read_but_never_a_crash(python: Sandbox):
    python.recorded(workload("endings.py"), "killed")
    (live,) = python.live_files()
    whole = live.read_bytes()
    chance = random.Random(1)
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(chance.choice((1, 8, 64))):
            damaged[chance.randrange(min(len(damaged), 60_000))] = chance.randrange(256)
        (python.cwd / "damaged.live").write_bytes(damaged[: chance.choice((len(damaged), 8192, 40_000))])
        done = python.allranks("report", "--json=1", "damaged.live")
        if done.code != 0:
            assert_one_line_of_error(done)


# ---- outputs ----


def test_json_is_json(python: Sandbox, run_file: bytes):
    for command in ("report", "info"):
        data = json.loads(python.answer(command, "run.allranks", "--json"))
        assert (data["schema"], data["command"]) == (2, command)
        old = json.loads(python.answer(command, "run.allranks", "--json=1"))
        assert (old["schema"], old["version"]) == (f"allranks.{command}", 2)
        assert data["facts"]["python"].startswith(python.stack.python_version)
        assert data["facts"]["directory"] == str(python.cwd)
    info = python.info("run.allranks")
    assert (info.ranks, info.lost, info.data["threads"]) == ([None], 0, 1)
    assert info.processes[0]["finished"] is True


def test_a_command_through_python_is_the_same(python: Sandbox, run_file: bytes):
    done = python.plain("-m", "allranks", "report", "run.allranks")
    assert (done.code, done.stdout, done.err) == (0, python.answer("report", "run.allranks"), "")


def test_run_through_the_command_is_the_same(python: Sandbox):
    done = python.allranks("run", "--live-dir", python.live, workload("endings.py"), "exit_3")
    assert done.code == 3
    assert python.report("endings.allranks").calls("exit_3") == 1


TABLES = ["report", "mpi", "waits", "ranks", "diff", "scale", "where", "top", "info", "export", "merge", "recover", "clean"]
ENTRY = re.compile(r"^ {2}(?:-(\w)(?:, )?| {4})(?:--([a-z-]+))?(\[=[A-Z]+\]| [A-Z]+\b| '.*')?", re.MULTILINE)


def options_in(text: str) -> list[tuple[str, str]]:
    """Words that the help shows as options, and how it calls their values."""
    found = []
    for letter, name, value in ENTRY.findall(text):
        found += [(f"-{letter}", value)] * bool(letter) + [(f"--{name}", value)] * bool(name)
    return found


@pytest.mark.parametrize("command", TABLES)
def test_every_option_that_the_help_shows_is_known(python: Sandbox, command: str):
    text = python.answer(command, "--help").decode()
    options = options_in(text)
    assert ("-h", "") in options and ("--help", "") in options
    assert len(set(options)) == len(options)
    for word, value in options:
        if word in ("-h", "--help"):
            assert python.answer(command, word, "missing").decode() == text
            continue
        done = python.allranks(command, word, *(["1"] if value and "=" not in value else []), "missing")
        assert done.code == 2 and "unknown option" not in done.err and "needs a value" not in done.err, done
    done = python.allranks(command, "--colour", "missing")
    assert (done.code, done.err) == (2, f"allranks: error: unknown option --colour (try: allranks {command} --help)\n")


def test_options_of_several_commands_are_the_same(python: Sandbox):
    texts: dict[str, set[str]] = {}
    for command in TABLES:
        for line in python.answer(command, "--help").decode().splitlines():
            match = re.match(r"  (?:-\w, |    )--(json|ranks|thread|region|include|exclude|help)\b.*?  +(.*)", line)
            if match:
                texts.setdefault(match[1], set()).add(match[2])
    both = "; --json=1: as earlier versions had it"
    plain = {"everything, for programs", "the same, for programs"}
    assert texts.pop("json") == {text + both for text in plain}
    assert texts.pop("ranks") == {"only these ranks: 0-3,8", "only waits of these ranks: 0-3,8"}
    assert {name: len(found) for name, found in texts.items()} == dict.fromkeys(texts, 1)
    assert len(texts) == 5


def test_the_report_is_plain_text_unless_on_a_terminal(python: Sandbox, run_file: bytes):
    assert b"\x1b" not in python.answer("report", "run.allranks")


def test_rows_of_the_report_can_be_chosen(python: Sandbox, run_file: bytes):
    short = python.answer("report", "--rows", "2", "run.allranks").decode()
    every = python.answer("report", "--rows", "0", "--min", "0", "run.allranks").decode()
    assert "more call paths" in short
    assert "more call paths" not in every
    for name in ("factorial", "is_odd", "through_c", "Tree.size", "by_three"):
        assert name in every
    assert len(short.splitlines()) < 10 < len(every.splitlines())


def test_pstats_loads_the_export(python: Sandbox, run_file: bytes):
    done = python.allranks("export", "run.allranks", "-f", "pstats")
    assert (done.code, done.out) == (0, ""), done
    estimated = "(: times of [0-9]+ functions? in C are estimated from some of the calls)?"
    assert re.fullmatch(rf"allranks: wrote run\.pstats{estimated}\n", done.err), done
    stats = pstats.Stats(str(python.cwd / "run.pstats"))
    assert stats.total_calls > stats.prim_calls > 0  # type: ignore[attr-defined]
    to_stdout = python.answer("export", "run.allranks", "-f", "pstats", "--quiet", "-o", "-")
    assert to_stdout == (python.cwd / "run.pstats").read_bytes()


def test_the_format_is_known_by_the_name_of_the_file(python: Sandbox, run_file: bytes):
    """The launcher asks for the same by the same endings."""
    endings = python.plain("-c", "from allranks._launch import PSTATS_ENDINGS; print(*PSTATS_ENDINGS)").out.split()
    assert endings == [".pstats", ".prof", ".dat", ".out"]
    for ending in endings:
        python.answer("export", "run.allranks", "--quiet", "-o", f"run{ending}")
        assert pstats.Stats(str(python.cwd / f"run{ending}")).total_calls > 0  # type: ignore[attr-defined]
        assert python.allranks("merge", "run.allranks", "-o", f"merged{ending}").code == 0
        assert (python.cwd / f"merged{ending}").read_bytes() == (python.cwd / f"run{ending}").read_bytes()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["-f", "csv"], f"csv: no such format (there is: {LISTED})"),
        (["-f", "csv", "-o", "run.prof"], f"csv: no such format (there is: {LISTED})"),
        ([], f"which format? (usage: allranks export run.allranks -f {CHOICES})"),
        (["-o", "run.csv"], f"which format? (usage: allranks export run.allranks -f {CHOICES})"),
        (["run.allranks"], f"one run is needed, not 2 (usage: allranks export RUN -f {CHOICES}; a pattern for the files of all ranks goes in quotes)"),
    ],
)
def test_a_format_is_needed(python: Sandbox, words: list[str], complaint: str):
    done = python.allranks("export", "run.allranks", *words)
    assert (done.code, done.out, done.err) == (2, "", f"allranks: error: {complaint}\n")


def test_the_interpreters_own_pstats_loads_the_export(python: Sandbox, run_file: bytes):
    python.answer("export", "run.allranks", "-f", "pstats", "--quiet", "-o", "run.pstats")
    done = python.plain("-m", "pstats", "run.pstats", stdin=b"sort calls\nstats fib\ncallers fib\nquit\n")
    assert done.code == 0 and done.err == "", done
    assert re.search(r"753/1 .*\(fib\)", done.out), done  # calls of fib(13)


def test_merging_runs_adds_them_up(python: Sandbox, run_file: bytes):
    python.recorded(workload("counts_recursion.py"), "ignored.json", options=("-o", "other.allranks"))
    merged = python.allranks("merge", "run.allranks", "other.allranks", "-o", "both.allranks")
    assert (merged.code, merged.out) == (0, "")
    assert python.report("both.allranks").calls("fib") == 2 * 753
    again = python.allranks("merge", "run.allranks", "-o", "both.allranks")
    assert again.code == 0 and "both-2.allranks" in again.err
    assert python.report("both-2.allranks").calls("fib") == 753


def test_strange_names_get_through(python: Sandbox):
    done = python.recorded(workload("strange_names.py"))
    assert done.code == 0, done
    expected = {name: n + 1 for n, name in enumerate(strange_names())}
    report = python.report("strange_names.allranks")
    assert {name: report.calls(name) for name in expected} == expected
    files = {node.function["file"] for node in report.nodes}
    assert {f"/file of {name}" for name in expected} <= files
    counts = counts_by_name(python.pstats("strange_names.allranks"))
    expected["name"] = expected.pop("dot.in.name")  # the last part is all that cProfile knows
    assert {name: counts.get(name) for name in expected} == expected


def strange_names() -> tuple:
    namespace: dict = {}
    with open(workload("strange_names.py")) as file:
        exec(file.read().partition("for number")[0], namespace)
    return namespace["NAMES"]


def test_the_report_keeps_its_width_whatever_the_names(python: Sandbox):
    script = python.cwd / ("long_name_of_a_script_" * 6 + ".py")
    long = "a_function_with_a_long_name_" * 8
    script.write_text(
        f"import time\ndef {long}(n):\n    time.sleep(0.01)\n    n and {long}(n - 1)\n"
        f"{long}(15)\nexec(compile('def f():\\n  time.sleep(0.02)\\nf()', 'two\\nlines', 'exec'))\n"
    )
    assert python.recorded(script.name, options=("-o", "x.allranks")).code == 0
    lines = python.answer("report", "x.allranks").decode().splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert len(lines) <= 24
