# SPDX-License-Identifier: BSD-3-Clause
"""Options of `allranks run` are declared once: what is made of that table is held together here, whatever is in it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from harness import Sandbox

SAMPLES = {  # of each kind a value that is no default, as it is written and as it is read
    "flag": ("", True),
    "output": ("{host}.allranks", "{host}.allranks"),
    "directory": ("elsewhere", "elsewhere"),
    "text": ("*/solver.py", ["*/solver.py"]),
    "size": ("64M", 64 << 20),
    "share": ("2%", 0.02),
    "timeout": ("7", 7),
    "builtins": ("all", "all"),
    "drop-in": ("mpiprof", ["mpiprof"]),
    "counters": ("page-faults", "page-faults"),
    "span": ("5ms", 0.005),
    "depth": ("20", 20),
    "rule": ("-rnumpy*", ["-rnumpy*"]),
}
LOOK = """
import json, sys
from allranks import _launch as launch
print(json.dumps(eval(sys.argv[1])))
"""
# What the runtime is told by a launcher that got these words, for each list of them, without being started.
TOLD = """
import json, os, sys
from allranks import _launch as launch
told = []
class Runtime:
    def __getattr__(self, name):
        return lambda *_: None
    def start(self, settings):
        told.append({name: value if not isinstance(value, tuple) else list(value) for name, value in settings.items()})
launch._runtime = Runtime()
for words in json.loads(sys.argv[1]):
    launch.start_recording(launch.parse(words), "", {})
print(json.dumps(told, default=bytes.decode), flush=True)
os._exit(0)
"""
LAUNCHERS_OWN = ["own-directory", "stem", "children"]


def look(python: Sandbox, expression: str) -> Any:
    done = python.plain("-c", LOOK, expression)
    assert done.code == 0, done
    return json.loads(done.out)


def parsed(python: Sandbox, *lists: list[str]) -> list[dict[str, Any]]:
    """The values that each list of words gives."""
    return look(python, f"[launch.parse([*words, 'script.py']).values for words in {lists!r}]")


def told(python: Sandbox, *lists: list[str]) -> list[dict[str, Any]]:
    done = python.plain("-c", TOLD, json.dumps([[*words, "script.py"] for words in lists]))
    assert done.code == 0, done
    return json.loads(done.out)


class Table:
    """Of the launcher that is tested."""

    def __init__(self, python: Sandbox) -> None:
        self.rows = look(python, "launch.OPTIONS")
        self.defaults = {row[0]: row[1] for row in self.rows}
        self.samples = {row[0]: SAMPLES[row[2]] for row in self.rows}

    def words(self, name: str) -> list[str]:
        text, _ = self.samples[name]
        return [f"--{name}", *([text] if text else [])]

    def names_for(self, who: str) -> list[str]:
        return [row[0] for row in self.rows if who in row[3].split()]


@pytest.fixture
def table(any_python: Sandbox) -> Table:
    return Table(any_python)


def test_every_option_is_in_the_help(any_python: Sandbox, table: Table):
    text = any_python.answer("run", "--help").decode()
    shown = re.findall(r"^  (-\w,|   ) --(\S+) ?([A-Z]*)(?: |$)", text, re.MULTILINE)
    expected = [(f"{row[5]}," if row[5] else "   ", row[0], row[6]) for row in table.rows]
    assert shown == [*expected, ("   ", "version", ""), ("-h,", "help", "")]
    for row in table.rows:
        assert " ".join(row[7].split()) in " ".join(text.split()), row[0]
    assert [line for line in text.splitlines() if len(line) > 90] == []


def test_every_option_is_accepted_and_changes_nothing_else(any_python: Sandbox, table: Table):
    (nothing,) = parsed(any_python, [])
    assert nothing == table.defaults
    for row in table.rows:
        name, letter = row[0], row[5] or f"--{row[0]}"
        text, value = table.samples[name]
        ways = parsed(any_python, table.words(name), [f"--{name}={text}" if text else f"--{name}"], [letter, *table.words(name)[1:]])
        assert ways == [{**table.defaults, name: value}] * 3


def test_lists_grow_and_other_options_are_replaced(any_python: Sandbox, table: Table):
    twice = parsed(any_python, *([*table.words(name), *table.words(name)] for name in table.defaults))
    for values, (name, (_, value)) in zip(twice, table.samples.items()):
        twice_given = f"{value},{value}" if name == "counters" else value
        assert values[name] == (value * 2 if isinstance(value, list) else twice_given)


def test_every_option_reaches_the_runtime(any_python: Sandbox, table: Table):
    names = table.names_for("runtime")
    plain, *others = told(any_python, [], *map(table.words, names))
    assert sorted(plain) == sorted([*names, *LAUNCHERS_OWN])
    for name, now in zip(names, others):
        _, value = table.samples[name]
        if name in ("output", "live-dir"):
            value = f"{any_python.cwd}/{value}"
        assert now[name] == value != plain[name]
        changed = {other for other in plain if now[other] != plain[other]} - {name}
        assert changed <= ({"children"} if name in table.names_for("children") else set())


def test_every_option_that_children_have_reaches_them(any_python: Sandbox, table: Table):
    names = [name for name in table.defaults if name != "no-children"]
    *given, none = told(any_python, *map(table.words, [*names, "no-children"]))
    assert none["children"] is None
    passed_on = parsed(any_python, *(settings["children"].split("\n") for settings in given))
    for name, values in zip(names, passed_on):
        value = table.samples[name][1] if name in table.names_for("children") else table.defaults[name]
        output = values.pop("output")  # is made absolute
        assert output.startswith(str(any_python.cwd)) and (name != "output" or output.endswith(value))
        assert {**table.defaults, name: value} == {**values, "output": value if name == "output" else ""}


def test_children_of_children_have_them_too(any_python: Sandbox, table: Table):
    """In the environment of a child of a child stands what stands in that of a child."""
    names = [name for name in table.names_for("children") if name not in ("budget", "counters-everywhere")]  # not with --exact, and where reads are dear
    words = [word for name in names for word in table.words(name)]
    note = "import os; os.system('printf %s \"$ALLRANKS_CHILD\" > passed_on_{}')"
    child = "import os, subprocess, sys; " + note.format(2)
    code = f"import os, subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}]); " + note.format(1)
    done = any_python.recorded("-c", code, options=words)
    assert done.code == 0, done
    first, second = ((any_python.cwd / f"passed_on_{i}").read_text().split("\n")[1:] for i in (1, 2))
    assert first == second
    (given,) = parsed(any_python, first)
    assert {name: given[name] for name in names if name != "output"} == {
        name: table.samples[name][1] for name in names if name != "output"
    }


def test_variables_stand_for_options(any_python: Sandbox, table: Table):
    for row in table.rows:
        name, variable = row[0], row[4]
        if not variable:
            continue
        text, value = table.samples[name]
        for given, expected in ((text, value), ("", table.defaults[name])):
            done = any_python.plain("-c", LOOK, "launch.parse(['script.py']).values", env={variable: given})
            assert json.loads(done.out) == {**table.defaults, name: expected}, done
        done = any_python.plain("-c", LOOK, f"launch.parse({[*table.words(name), 'x']!r}).values", env={variable: text})
        assert json.loads(done.out) == {**table.defaults, name: value}, done


REFUSED = """
import sys
from allranks import _launch, _runtime
settings = _launch.settings_for_runtime(_launch.parse(["script.py"]).values)
settings.update({"own-directory": b"", "stem": b"", "children": None})
for name in list(settings):
    for changed in ({other: settings[other] for other in settings if other != name}, {**settings, name: object()}):
        try:
            _runtime.start(changed)
        except TypeError as error:
            print(error)
for other in ({**settings, "colour": b"red"}, {**settings, 7: b""}, {**settings, "builtins": b"some"}):
    try:
        _runtime.start(other)
    except TypeError as error:
        print(error)
print(_runtime.is_recording())
"""


def test_the_runtime_knows_the_same_options_and_no_other(any_python: Sandbox, table: Table):
    done = any_python.plain("-c", REFUSED)
    assert (done.code, done.err) == (0, ""), done
    *lines, unknown, number, choice, recording = done.out.splitlines()
    names = [*table.names_for("runtime"), *LAUNCHERS_OWN]
    assert lines[::2] == [f"the option {name} is missing" for name in names]
    assert [line.partition(" is to be ")[0] for line in lines[1::2]] == [f"the option {name}" for name in names]
    assert unknown == "the runtime knows no option 'colour'"
    assert number == "the runtime knows no option 7"
    assert choice == "the option builtins is to be none, counted or all, not b'some'"
    assert recording == "False"


def test_an_option_that_the_runtime_does_not_know_is_said_in_a_line(any_python: Sandbox):
    code = (
        "from allranks import _launch\n"
        "_launch.OPTIONS += (('colour', '', 'text', 'runtime', '', '', 'NAME', 'of what?'),)\n"
        "_launch.run(['--colour', 'red', '-c', 'print(1)'])\n"
    )
    done = any_python.plain("-c", code)
    assert (done.code, done.out) == (0, "1\n"), done
    assert done.err == "allranks: error: the runtime knows no option 'colour'; the program runs without being recorded\n"


@pytest.mark.parametrize("word", ["--colour", "--colour=red", "--per_rank", "--out", "-z", "-oq", "--no-exact"])
def test_other_words_are_no_options(any_python: Sandbox, word: str):
    done = any_python.allranks("run", word, "script.py")
    said = word.partition("=")[0]
    assert (done.code, done.out) == (2, ""), done
    assert done.err == f"allranks: error: unknown option {said} (options of the program come after it)\n"


def test_a_flag_takes_no_value(any_python: Sandbox):
    done = any_python.allranks("run", "--trace=off", "script.py")
    assert (done.code, done.out, done.err) == (2, "", "allranks: error: --trace takes no value\n"), done


@pytest.mark.parametrize("name, value", [("trace-last", "60s"), ("trace-min", "1ms"), ("trace-depth", "3"), ("trace-at", "f")])
def test_options_of_a_trace_ask_for_one(any_python: Sandbox, name: str, value: str):
    done = any_python.allranks("run", f"--{name}", value, "-c", "print(1)")
    assert (done.code, done.out) == (2, ""), done
    assert done.err == f"allranks: error: --{name} is about a trace: give --trace, too\n"
    for trace in ("--trace", "--trace-later"):
        assert any_python.recorded("-c", "print(1)", options=(trace, f"--{name}", value)).out == "1\n"
