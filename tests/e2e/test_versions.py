# SPDX-License-Identifier: BSD-3-Clause
"""A Python that allranks was not built for: one line says so, and the program runs as if allranks were not there."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from harness import ROOT, Done, Sandbox, workload

# A pre-release that never was.
PRE_RELEASE = "import sys; sys.hexversion = sys.hexversion & 0xFFFF0000 | 0xA2\n"


def pre_release(python: Sandbox) -> dict[str, str]:
    """Environment in which the interpreter takes itself for a pre-release."""
    place = python.cwd.parent / "site"
    place.mkdir()
    (place / "sitecustomize.py").write_text(PRE_RELEASE)
    return {"PYTHONPATH": str(place)}


def without_runtime(python: Sandbox) -> dict[str, str]:
    """Environment in which allranks is there but its runtime for this Python is not."""
    code = "import allranks; print(allranks.__path__[0])"
    installed = Path(python.plain("-c", code).out.strip())
    place = python.cwd.parent / "copy"
    shutil.copytree(installed, place / "allranks", ignore=shutil.ignore_patterns("_runtime*.so"))
    return {"PYTHONPATH": str(place)}


def assert_runs_unrecorded(python: Sandbox, *program: str, remedy: str = "install allranks again", **how) -> Done:
    plain = python.plain(*program, **how)
    done = python.recorded(*program, **how)
    ours, _, programs = done.err.partition("\n")
    assert (done.code, done.out, programs) == (plain.code, plain.out, plain.err)
    assert ours.startswith("allranks: error: "), done
    assert ours.endswith("; the program runs without being recorded"), done
    assert remedy in ours, done
    assert not [name for name in python.files() if name.endswith(".allranks")]
    assert python.live_files() == []
    return done


def test_a_pre_release_that_it_was_not_built_for(python: Sandbox):
    version = re.escape(python.stack.python_version)
    done = assert_runs_unrecorded(python, "-c", "print(1)", env=pre_release(python))
    assert re.search(rf"built for Python {version}\.\d+, and this is {version}\.0a2 ", done.err), done


ANOTHER_C_LIBRARY = """
#include <errno.h>
#include <unistd.h>
size_t confstr(int name, char *text, size_t n) { errno = EINVAL; return 0; }
"""


def test_another_c_library(python: Sandbox):
    """One that does not call itself GNU's, as musl and what imitates glibc on top of it."""
    source, library = python.cwd.parent / "another.c", python.cwd.parent / "another.so"
    source.write_text(ANOTHER_C_LIBRARY)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    assert_runs_unrecorded(python, "-c", "print(1)", remedy="(use one that runs on glibc)", env={"LD_PRELOAD": str(library)})


@pytest.mark.parametrize("flags", [(), ("-u", "-O", "-W", "error")], ids=["", "flags"])
def test_it_runs_the_same_program(python: Sandbox, flags: tuple[str, ...]):
    env = without_runtime(python)
    script = workload("surroundings.py")
    assert_runs_unrecorded(python, script, "an argument", "-q", flags=flags, env=env)
    assert_runs_unrecorded(python, "-c", "import sys; print(sys.argv); sys.exit(3)", "-x", env=env, flags=flags)
    shutil.copytree(Path(workload("sample_package")), python.cwd / "sample_package")
    assert_runs_unrecorded(python, "-m", "sample_package", "1", env=env, flags=flags)
    assert_runs_unrecorded(python, "sample_package", env=env, flags=flags)
    assert_runs_unrecorded(python, "-", "1", stdin=b"print(2)", env=env, flags=flags)
    assert_runs_unrecorded(python, workload("endings.py"), "uncaught", env=env, flags=flags)


def test_reading_needs_no_runtime(python: Sandbox):
    python.recorded("-c", "pass", options=("-o", "x.allranks"))
    command = str(Path(python.stack.python).with_name("allranks"))
    env = without_runtime(python)
    done = python.plain("-m", "allranks", "report", "x.allranks", env=env)
    assert (done.code, done.err) == (0, ""), done
    assert done.stdout == python.run([command, "report", "x.allranks"]).stdout


def test_pip_is_told_the_same_range():
    header = (ROOT / "src/runtime/pyversion.h").read_text()
    first, last = (
        int(re.search(rf"^#define AR_PYTHON_MINOR_{name} (\d+)$", header, re.MULTILINE)[1])
        for name in ("FIRST", "LAST")
    )
    project = (ROOT / "pyproject.toml").read_text()
    assert f'requires-python = ">=3.{first},<3.{last + 1}"' in project
    named = re.findall(r'"Programming Language :: Python :: 3\.(\d+)"', project)
    assert [int(minor) for minor in named] == list(range(first, last + 1))


# What an interpreter that is refused says about itself.
REFUSED = {
    "Python 3.8": "import sysconfig; sysconfig._PY_VERSION_SHORT = '3.8'",
    "Python 3.99": "import sysconfig; sysconfig._PY_VERSION_SHORT = '3.99'",
    "free-threaded": "import sysconfig; sysconfig.get_config_vars()['Py_GIL_DISABLED'] = 1",
    "pre-release": "import sys; sys.version_info = type('', (tuple,), {'releaselevel': 'beta'})(sys.version_info)",
}


def configure(tmp_path: Path, lie: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "sitecustomize.py").write_text(lie)
    argv = [sys.executable, "-m", "mesonbuild.mesonmain", "setup", str(tmp_path / "build"), str(ROOT)]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # where meson finds the python of its tools
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "PATH": path}
    return subprocess.run(argv, check=False, capture_output=True, text=True, env=env)


@pytest.mark.skipif(not importlib.util.find_spec("mesonbuild"), reason="there is no meson beside pytest")
@pytest.mark.parametrize("what", REFUSED)
def test_it_is_not_built_for_a_python_that_it_does_not_know(tmp_path: Path, what: str):
    done = configure(tmp_path, REFUSED[what])
    errors = [line for line in done.stdout.splitlines() if "ERROR" in line]
    assert done.returncode != 0, done
    assert len(errors) == 1, done
    assert what in errors[0], done
    assert ": use " in errors[0], done


@pytest.mark.skipif(not importlib.util.find_spec("mesonbuild"), reason="there is no meson beside pytest")
def test_it_is_built_for_the_python_that_runs_the_tests(tmp_path: Path):
    done = configure(tmp_path, "")
    assert done.returncode == 0, done
