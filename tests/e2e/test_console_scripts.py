# SPDX-License-Identifier: BSD-3-Clause
"""`allranks run my-tool`: a command on PATH that is a Python script is run as a shell would run it."""

import os
from pathlib import Path

import pytest
from harness import Sandbox
from readings import counts_by_name, in_file

BODY = """
import sys
def main():
    print(sys.argv, sys.path[0], __name__, __file__, sys.prefix)
    return 10 + len(sys.argv)
if __name__ == "__main__":
    sys.exit(main())
"""
SHAPES = {
    "first line": "#!{python}\n",
    "with an option": "#!{python} -s\n",
    "blank after the mark": "#! {python}\n",
    "env": "#!/usr/bin/env {name}\n",
    "env with options": "#!/usr/bin/env -S {name} -s\n",
    "quoted by pip": "#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n",
    "not quoted by pip": "#!/bin/sh\n'''exec' {python} \"$0\" \"$@\"\n' '''\n",
    "quoted by uv": "#!/bin/sh\n'''exec' '{python}' \"$0\" \"$@\"\n' '''\n",
    "by conda": "#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\" #'''\n",
}  # fmt: skip


class Commands:
    """A directory at the front of PATH, followed by the interpreter's own."""

    def __init__(self, python: Sandbox) -> None:
        self.directory = python.cwd.parent / "bin with blank"
        self.directory.mkdir()
        self.env = {"PATH": f"{self.directory}:{Path(python.stack.python).parent}:{os.environ['PATH']}"}

    def put(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.write_text(text)
        path.chmod(0o755)
        return path


@pytest.fixture
def commands(python: Sandbox) -> Commands:
    return Commands(python)


def assert_same_as_by_shell(python: Sandbox, commands: Commands, *words: str) -> None:
    plain = python.run(["/bin/sh", "-c", '"$0" "$@"', *words], env=commands.env)
    assert plain.code == 10 + len(words), plain
    for recorder in (python.recorder("-q"), [python.command, "run", "--live-dir", str(python.live), "-q"]):
        recorded = python.run([*recorder, *words], env=commands.env)
        assert (recorded.code, recorded.out, recorded.err) == (plain.code, plain.out, plain.err), recorded


@pytest.mark.parametrize("shape", SHAPES)
def test_a_command_is_run_as_the_shell_runs_it(python: Sandbox, commands: Commands, shape: str):
    interpreter = Path(python.stack.python)
    head = SHAPES[shape].format(python=interpreter, name=f"python{python.stack.python_version}")
    path = commands.put("my-tool", head + BODY)
    assert_same_as_by_shell(python, commands, "my-tool", "one", "-q")
    assert python.files() == {"my-tool.allranks", "my-tool-2.allranks"}
    counts = counts_by_name(in_file(python.pstats("my-tool.allranks"), str(path)))
    assert counts["main"] == 1


def test_a_command_that_finds_python_beside_itself(python: Sandbox):
    """As uv writes it into environments that can be moved."""
    head = "#!/bin/sh\n'''exec' \"$(dirname -- \"$(realpath -- \"$0\")\")\"/'python' \"$0\" \"$@\"\n' '''\n"
    commands = Commands(python)
    beside = Path(python.stack.python).with_name("tool-of-the-test")
    try:
        beside.write_text(head + BODY)
        beside.chmod(0o755)
        (commands.directory / "my-tool").symlink_to(beside)
        assert_same_as_by_shell(python, commands, "my-tool", "one")
    finally:
        beside.unlink()


def test_a_real_command_of_pip(python: Sandbox, commands: Commands):
    plain = python.run(["pip", "--version"], env=commands.env)
    recorded = python.recorded("pip", "--version", options=("-q",), env=commands.env)
    assert plain.code == 0, plain
    assert (recorded.code, recorded.out, recorded.err) == (plain.code, plain.out, plain.err), recorded
    assert python.files() == {"pip.allranks"}


def test_the_name_of_the_file_keeps_what_looks_like_an_ending(python: Sandbox, commands: Commands):
    commands.put("tool-1.2", f"#!{python.stack.python}\n{BODY}")
    commands.put("tool.py", f"#!{python.stack.python}\n{BODY}")
    for name in ("tool-1.2", "tool.py"):
        assert python.recorded(name, env=commands.env).code == 11
    assert python.files() == {"tool-1.2.allranks", "tool.allranks"}


def test_a_file_in_the_current_directory_comes_first(python: Sandbox, commands: Commands):
    commands.put("my-tool", f"#!{python.stack.python}\nprint('on PATH')\n")
    (python.cwd / "my-tool").write_text("print('here')\n")
    done = python.recorded("my-tool", env=commands.env)
    assert (done.code, done.out) == (0, "here\n"), done
    (python.cwd / "my-tool").unlink()
    (python.cwd / "my-tool").mkdir()  # its sources
    done = python.recorded("my-tool", env=commands.env)
    assert (done.code, done.out) == (0, "on PATH\n"), done
    (python.cwd / "my-tool" / "__main__.py").write_text("print('here')\n")
    done = python.recorded("my-tool", env=commands.env)
    assert (done.code, done.out) == (0, "here\n"), done


def test_a_path_is_not_looked_for(python: Sandbox, commands: Commands):
    commands.put("my-tool", f"#!{python.stack.python}\n{BODY}")
    done = python.recorded("./my-tool", env=commands.env)
    assert (done.code, done.err) == (2, "allranks: error: ./my-tool: No such file or directory\n")
    done = python.recorded("no-such-tool", env=commands.env)
    assert (done.code, done.err) == (2, "allranks: error: no-such-tool: No such file or directory\n")


NOT_PYTHON = {
    "a shell script": "#!/bin/sh\necho never\n",
    "perl": "#!/usr/bin/perl\n",
    "nothing": "",
    "an empty first line": "#!\n",
    "a trampoline to perl": "#!/bin/sh\n'''exec' /usr/bin/perl \"$0\" \"$@\"\n' '''\n",
    "half a trampoline": "#!/bin/sh\n'''exec' /usr/bin/python3\n",
    "bytes": "\x7fELF\x00\x01",
}


@pytest.mark.parametrize("kind", NOT_PYTHON)
def test_what_is_not_python_is_refused(python: Sandbox, commands: Commands, kind: str):
    path = commands.put("my-tool", NOT_PYTHON[kind])
    done = python.recorded("my-tool", env=commands.env)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"allranks: error: my-tool: {path} is not a Python script (only Python can be recorded)\n"
    assert python.files() == set() and python.live_files() == []


@pytest.mark.parametrize(("command", "remedy"), [
    ("python3", "leave that word out: allranks runs Python itself"),
    ("mpiexec", "put it in front: mpiexec ... python -m allranks SCRIPT"),
])  # fmt: skip
def test_words_in_the_wrong_place_are_explained(python: Sandbox, commands: Commands, command: str, remedy: str):
    path = commands.put(command, "\x7fELF")
    done = python.recorded(command, "heat.py", env=commands.env)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"allranks: error: {command}: {path} is not a Python script ({remedy})\n"


def test_a_shim_in_front_of_the_command_is_named(python: Sandbox, commands: Commands):
    shim = commands.put("pip", "#!/bin/sh\nexec some other pip\n")
    done = python.recorded("pip", env=commands.env)
    own = Path(python.stack.python).with_name("pip")
    assert (done.code, done.out) == (2, "")
    assert done.err == f"allranks: error: pip: {shim} is not a Python script (this Python has its own: {own})\n"


def test_a_command_of_another_environment_is_refused(python: Sandbox, commands: Commands):
    """Made of the very same interpreter, which is then the same file."""
    other = python.cwd.parent / "other"
    made = python.plain("-m", "venv", "--without-pip", str(other))
    assert made.code == 0, made
    path = commands.put("my-tool", f"#!{other}/bin/python\n{BODY}")
    done = python.recorded("my-tool", env=commands.env)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"allranks: error: my-tool: {path} belongs to another Python, {other}/bin/python"
        f" (install allranks there and start {other}/bin/python -m allranks {path})\n"
    )
    assert python.files() == set() and python.live_files() == []


@pytest.mark.parametrize("named", ["/no/such/bin/python3", "/usr/bin/env python-that-is-missing"])
def test_a_command_whose_python_is_gone_is_refused(python: Sandbox, commands: Commands, named: str):
    path = commands.put("my-tool", f"#!{named}\n{BODY}")
    done = python.recorded("my-tool", env=commands.env)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"allranks: error: my-tool: {path} is for a Python that is missing, {named.split()[-1]}"
        f" (with this one: {python.stack.python} -m allranks {path})\n"
    )


def test_other_names_of_the_same_environment_are_accepted(python: Sandbox, commands: Commands):
    elsewhere = python.cwd.parent / "linked"
    elsewhere.symlink_to(Path(python.stack.python).parent.parent)
    for name in ("python", "python3", f"python{python.stack.python_version}"):
        commands.put("my-tool", f"#!{elsewhere}/bin/{name}\n{BODY}")
        done = python.recorded("my-tool", env=commands.env)
        assert done.code == 11, done
