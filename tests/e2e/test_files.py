# SPDX-License-Identifier: BSD-3-Clause
"""The file a run leaves, its name, and what happens where it cannot be written."""

import os
import re

import pytest
from harness import Sandbox, is_closing_line, workload

ENDINGS = workload("endings.py")


def test_the_file_is_named_after_the_script(python: Sandbox):
    done = python.recorded(ENDINGS, "exit_3")
    assert done.code == 3
    assert python.files() == {"endings.allranks"}
    assert done.err == (
        "allranks: 1 process recorded in endings.allranks; see: allranks report endings.allranks\n"
    )
    assert list(python.live.rglob("*")) == []
    assert python.report("endings.allranks").calls("exit_3") == 1


@pytest.mark.parametrize("program, name", [(("-m", "json.tool", "--help"), "json.tool.allranks"),
                                           (("-c", "print(1)"), "command.allranks")])  # fmt: skip
def test_the_file_is_named_after_module_or_code(python: Sandbox, program: tuple, name: str):
    assert python.recorded(*program).code == 0
    assert python.files() == {name}


def test_an_existing_file_is_never_overwritten(python: Sandbox):
    contents = {}
    for way, name in (("exit_0", "endings"), ("exit_3", "endings-2"), ("exit_none", "endings-3")):
        done = python.recorded(ENDINGS, way)
        assert f"{name}.allranks; see: allranks report {name}.allranks" in done.err
        contents[f"{name}.allranks"] = way, (python.cwd / f"{name}.allranks").read_bytes()
    assert python.files() == set(contents)
    for name, (way, content) in contents.items():
        assert (python.cwd / name).read_bytes() == content
        assert python.report(name).calls(way) == 1


def test_any_existing_file_is_left_alone(python: Sandbox):
    (python.cwd / "notes").write_text("precious")
    assert python.recorded(ENDINGS, "exit_0", options=("-o", "notes")).code == 0
    assert (python.cwd / "notes").read_text() == "precious"
    assert python.report("notes-2").calls("exit_0") == 1


def test_runs_at_the_same_time_have_a_file_each(python: Sandbox):
    running = [python.start([*python.recorder(), ENDINGS, "returns"]) for _ in range(6)]
    assert {each.wait().code for each in running} == {0}
    assert len(python.files()) == 6
    for name in python.files():
        assert python.report(name).calls("returns") == 1


@pytest.mark.parametrize("options", [("-o", "{}"), ("--output", "{}"), ("--output={}",)])
def test_the_file_can_be_named(python: Sandbox, options: tuple):
    target = python.cwd / "sub" / "chosen"
    target.parent.mkdir()
    done = python.recorded(ENDINGS, "exit_0", options=tuple(word.format(target) for word in options))
    assert f"recorded in {target}" in done.err
    assert python.files() == {"sub/chosen"}
    assert python.report(target).calls("exit_0") == 1


def test_the_file_goes_where_the_program_was_started(python: Sandbox):
    done = python.recorded(workload("moves_away.py"), "chdir")
    assert (done.code, done.out) == (0, "done\n")
    assert python.files() == {"moves_away.allranks"}
    assert str(python.cwd / "moves_away.allranks") in done.err


def test_quiet_says_nothing(python: Sandbox):
    for option in ("-q", "--quiet"):
        done = python.recorded(ENDINGS, "exit_0", options=(option,))
        assert (done.code, done.out, done.err) == (0, "", "")
    assert python.files() == {"endings.allranks", "endings-2.allranks"}


def merge_as_told(python: Sandbox, message: str, output: str) -> None:
    """Does what the message says, with another output."""
    (line,) = message.splitlines()
    assert line.startswith("allranks: ")
    directory = re.search(r"allranks recover (\S+) -o \S+$", line).group(1)
    merged = python.allranks("merge", directory, "-o", output)
    assert (merged.code, merged.out) == (0, ""), merged


@pytest.mark.parametrize("target", ["missing/out.allranks", "a_file/out.allranks", "forbidden/out.allranks"])
def test_what_cannot_be_written_is_not_lost(python: Sandbox, target: str):
    (python.cwd / "a_file").write_text("not a directory")
    (python.cwd / "forbidden").mkdir(mode=0o555)
    if target.startswith("forbidden") and os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    done = python.recorded(ENDINGS, "exit_3", options=("-o", target))
    assert (done.code, done.out) == (3, "")
    warning, closing = done.err.splitlines()  # at the start, and at the end
    assert warning.startswith("allranks: error: ")
    merge_as_told(python, closing, "merged.allranks")
    assert python.report("merged.allranks").calls("exit_3") == 1
    assert python.files() == {"a_file", "merged.allranks"}


def test_a_directory_that_is_gone_loses_nothing(python: Sandbox):
    done = python.recorded(workload("moves_away.py"), "remove")
    assert (done.code, done.out) == (0, "done\n")
    python.cwd.mkdir()
    merge_as_told(python, done.err, "merged.allranks")
    assert python.report("merged.allranks").calls("<module>") >= 1


# ---- live files ----


def live_file_seen(python: Sandbox, *places: str, env: dict | None = None, options: tuple = ()) -> str:
    """Where a running program found its own live file."""
    argv = [python.stack.python, "-m", "allranks", *options, workload("own_live_file.py"), *places]
    done = python.run(argv, env=env)
    assert done.code == 0 and len(done.out.splitlines()) == 1, done
    return done.out.strip()


def test_the_default_for_live_files_is_what_the_help_says(python: Sandbox):
    assert "/dev/shm/allranks-UID" in python.allranks("run", "--help").out
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no /dev/shm here")
    home = f"/dev/shm/allranks-{os.geteuid()}"
    path = live_file_seen(python, "/dev/shm", "/tmp/allranks-" + str(os.geteuid()))
    assert path.startswith(home + "/")
    assert not os.path.exists(os.path.dirname(path))


def test_the_directory_for_live_files_can_be_chosen(python: Sandbox):
    by_option, by_variable = python.cwd / "by option", python.cwd / "by variable"
    places = (str(python.cwd), "/dev/shm")
    variable = {"ALLRANKS_LIVE_DIR": str(by_variable)}
    path = live_file_seen(python, *places, env=variable)
    assert path.startswith(str(by_variable))
    path = live_file_seen(python, *places, env=variable, options=("--live-dir", str(by_option)))
    assert path.startswith(str(by_option))
    assert not os.path.exists(path)


@pytest.mark.parametrize("where", ["a_file", "missing/directory", "/proc/nowhere"])
def test_without_a_place_for_live_files_the_program_runs_unrecorded(python: Sandbox, where: str):
    (python.cwd / "a_file").write_text("not a directory")
    argv = [python.stack.python, "-m", "allranks", "--live-dir", where, ENDINGS, "returns"]
    done = python.run(argv)
    assert (done.code, done.out) == (0, "out\n")
    assert python.files() == {"a_file"}
    ours, programs = done.err.splitlines()
    assert programs == "err"
    assert ours.startswith("allranks: error: ") and "without being recorded" in ours
    assert where in ours


def test_a_full_live_file_is_no_harm_and_is_told(python: Sandbox):
    """65,536 call paths in 1 MiB, where a path takes 64 bytes."""
    code = (
        "for i in range(16):\n"
        "  for s in 'lr':\n"
        "    exec(f'def {s}{i}(): ' + (f'return l{i + 1}() + r{i + 1}()' if i < 15 else 'return 1'))\n"
        "print(l0() + r0())\n"
    )
    done = python.recorded("-c", code, options=("--max-size", "1M"))
    assert (done.code, done.out) == (0, "65536\n")
    assert python.info("command.allranks").lost > 0
    assert "lost       nothing" not in python.answer("info", "command.allranks").decode()
    head = python.answer("report", "command.allranks").decode()
    assert "dropped" in head and "dropped 0" not in head
    killed = python.recorded("-c", code + "import os\nos.kill(os.getpid(), 9)", options=("--max-size", "1M"))
    assert killed.code == -9
    (live,) = python.live_files()
    assert live.stat().st_size <= 1 << 20


# ---- ends without a word ----


@pytest.mark.parametrize("way", ["terminated", "killed", "aborted"])
def test_what_a_process_recorded_stays_when_it_ends_at_once(python: Sandbox, way: str):
    python.recorded(ENDINGS, way)
    assert python.files() == set()
    (live,) = python.live_files()
    assert python.report(live).calls(way) == 1
    merged = python.allranks("merge", python.live, "-o", "merged.allranks")
    assert (merged.code, merged.out) == (0, "")
    assert python.report("merged.allranks").calls(way) == 1


def test_an_interrupted_program_has_its_file(python: Sandbox):
    done = python.recorded(ENDINGS, "interrupted_by_signal")
    assert done.code == -2
    assert is_closing_line(done.err.splitlines()[-1])
    assert python.report("endings.allranks").calls("interrupted_by_signal") == 1
