# SPDX-License-Identifier: BSD-3-Clause
"""The drop-in for Score-P's Python bindings: what their README promises, and what their own tests ask for.

Traces are read by otf2-print and by Debian's python3-otf2, profiles by pycubexr: neither is ours.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from harness import Done, Sandbox, own_copy

MODULE = "allranks.compat.scorep"
EVENT = re.compile(r"^(ENTER|LEAVE) +(\d+) +\d+  Region: \"(.*)\" <\d+>$", re.M)
TIMED = re.compile(r"^(ENTER|LEAVE) +(\d+) +(\d+)  Region: \"(.*)\" <\d+>$", re.M)
PRINTER = shutil.which("otf2-print")
needs_printer = pytest.mark.skipif(not PRINTER, reason="otf2-print is missing: apt install otf2-tools")


def write(sandbox: Sandbox, text: str, name: str = "program.py") -> str:
    (sandbox.cwd / name).write_text(text)
    return name


def settings(sandbox: Sandbox, **more: str) -> dict[str, str]:
    """Tracing on and profiling off, as in the bindings' own tests."""
    return {
        "SCOREP_ENABLE_TRACING": "true",
        "SCOREP_ENABLE_PROFILING": "false",
        "SCOREP_EXPERIMENT_DIRECTORY": "experiment",
        "ALLRANKS_LIVE_DIR": str(sandbox.live),
        **more,
    }


def run(sandbox: Sandbox, *words: str, code: int = 0, err: str = "", **more: str) -> Done:
    done = sandbox.plain("-m", MODULE, *words, env=settings(sandbox, **more))
    assert (done.code, done.err) == (code, err), done
    return done


def printed(sandbox: Sandbox, directory: str = "experiment") -> str:
    assert PRINTER
    done = sandbox.run([PRINTER, f"{directory}/traces.otf2"])
    assert (done.code, done.err) == (0, ""), done
    return done.out


def events(text: str, *groups: str) -> list[str]:
    """"+name" and "-name" of regions whose names begin so; every region that is entered is left."""
    n_open: dict[tuple[str, str], int] = {}
    found = []
    for kind, location, name in EVENT.findall(text):
        key = location, name
        n_open[key] = n_open.get(key, 0) + (1 if kind == "ENTER" else -1)
        if name.startswith(groups):
            found.append(("+" if kind == "ENTER" else "-") + name)
    assert n_open and not any(n_open.values()), n_open
    return found


def both(*names: str) -> list[str]:
    return [each for name in names for each in (f"+{name}", f"-{name}")]


# ---- regions and the instrumenter, as the README has them ----

REGIONS = """\
import scorep.user
import scorep.instrumenter

def do_something():
    pass

with scorep.user.region("region_name"):
    do_something()

@scorep.user.region("region_name")
def named():
    do_something()

@scorep.user.region()
def unnamed():
    pass

named()
unnamed()
scorep.user.region_begin("begun")
scorep.user.region_end("begun")
with scorep.instrumenter.disable():
    do_something()
    unnamed()
with scorep.instrumenter.enable():
    do_something()
    unnamed()
print("done")
"""
REGIONS_ON = [
    "+user:region_name", *both("__main__:do_something"), "-user:region_name",
    "+user:region_name", "+__main__:named", *both("__main__:do_something"), "-__main__:named", "-user:region_name",
    *both("__main__:unnamed", "user:begun", "__main__:unnamed", "__main__:do_something", "__main__:unnamed"),
]  # fmt: skip
REGIONS_OFF = both(
    "user:region_name", "user:region_name", "__main__:unnamed", "user:begun", "__main__:unnamed", "__main__:do_something", "__main__:unnamed",
)  # fmt: skip


@needs_printer
@pytest.mark.parametrize(("options", "expected"), [((), REGIONS_ON), (("--noinstrumenter",), REGIONS_OFF)])
def test_regions_and_the_instrumenter(any_python: Sandbox, options: tuple[str, ...], expected: list[str]):
    done = run(any_python, *options, write(any_python, REGIONS))
    assert done.out == "done\n"
    found = events(printed(any_python), "user:", "__main__:")
    assert [each for each in found if "<module>" not in each] == expected
    assert any_python.files() >= {"experiment/scorep.cfg", "experiment/MANIFEST.md", "experiment/program.allranks"}
    assert any_python.left_overs() == []


@pytest.mark.parametrize("kind", ["profile", "trace", "cProfile", "cTrace", "dummy"])
@needs_printer
def test_all_types_of_instrumenters(debian: Sandbox, kind: str):
    run(debian, f"--instrumenter-type={kind}", write(debian, REGIONS))
    found = events(printed(debian), "user:", "__main__:")
    assert [each for each in found if "<module>" not in each] == (REGIONS_OFF if kind == "dummy" else REGIONS_ON)


NAMED = """\
import scorep.instrumenter

def fun_calls(n):
    if (n>0):
        fun_calls(n-1)

with scorep.instrumenter.disable("my_fun_calls"):
    fun_calls(900)

with scorep.instrumenter.disable():
    with scorep.instrumenter.disable("my_fun_calls"):
        fun_calls(900)
    with scorep.instrumenter.enable("enabled_region_name"):
        fun_calls(1)

@scorep.instrumenter.disable("decorated")
def quiet(n):
    fun_calls(n)
    return quiet(n - 1) if n else "end"

@scorep.instrumenter.enable()
def loud():
    fun_calls(0)

print(quiet(3), quiet.__name__)
scorep.instrumenter.unregister()
fun_calls(2)
loud()
fun_calls(2)
scorep.instrumenter.register()
fun_calls(0)
try:
    with scorep.instrumenter.disable("raises"):
        raise ValueError
except ValueError:
    fun_calls(0)
print(scorep.instrumenter.get_instrumenter().get_registered(), scorep.instrumenter.has_c_instrumenter())
"""


@needs_printer
def test_a_named_block_is_a_region_without_its_inside(any_python: Sandbox):
    done = run(any_python, write(any_python, NAMED))
    assert done.out == "end quiet\nTrue True\n"
    found = events(printed(any_python), "user_instrumenter:", "__main__:")
    f = "__main__:fun_calls"
    assert [each for each in found if "<module>" not in each] == [
        *both("user_instrumenter:my_fun_calls"),
        "+user_instrumenter:enabled_region_name", f"+{f}", f"+{f}", f"-{f}", f"-{f}", "-user_instrumenter:enabled_region_name",
        *both("user_instrumenter:decorated"),
        "+__main__:loud", *both(f), "-__main__:loud", *both(f), *both("user_instrumenter:raises"), *both(f),
    ]  # fmt: skip


INSTRUMENTER_FILE = """\
import scorep.user

# import module that shall be instrumented
import module_to_instrument
import module

# hand over the imported module, containing functions which shall be instrumented
scorep.user.instrument_module(module_to_instrument)

# hand the function to be instrumented, and overwrite the original definiton of that function
module.function_to_instrument = scorep.user.instrument_function(module.function_to_instrument)

import scorep.instrumenter
module.enabled = scorep.user.instrument_function(module.enabled, instrumenter_fun=scorep.instrumenter.enable)
"""


@needs_printer
def test_an_instrumenter_file_wraps_functions_of_others(any_python: Sandbox):
    write(any_python, "def one():\n    return 1\ndef two():\n    return one() + 1\nclass Left:\n    def alone(self): pass\n", "module_to_instrument.py")
    write(any_python, "def function_to_instrument():\n    return 3\ndef other():\n    pass\ndef enabled():\n    other()\n", "module.py")
    program = write(any_python, "import module, module_to_instrument\nprint(module_to_instrument.two(), module.function_to_instrument())\n"
                    "module_to_instrument.Left().alone()\nmodule.other()\nmodule.enabled()\n")  # fmt: skip
    done = run(any_python, "--noinstrumenter", f"--instrumenter-file={write(any_python, INSTRUMENTER_FILE, 'file.py')}", program)
    assert done.out == "2 3\n"
    assert events(printed(any_python), "module") == [
        "+module_to_instrument:two", *both("module_to_instrument:one"), "-module_to_instrument:two",
        *both("module:function_to_instrument"), "+module:enabled", *both("module:other"), "-module:enabled",
    ]  # fmt: skip


@needs_printer
def test_np_dot_without_the_import_of_numpy(debian: Sandbox):
    program = write(debian, "import numpy as np\nimport scorep\n\na = [[1, 2], [3, 4]]\nb = [[1, 2], [3, 4]]\n"
                    "with scorep.instrumenter.enable():\n    c = np.dot(a,b)\nprint(c)\n", "run.py")  # fmt: skip
    assert run(debian, "--noinstrumenter", program).out == "[[ 7 10]\n [15 22]]\n"
    names = {name for _, _, name in EVENT.findall(printed(debian))} - {"thread:main"}
    major = debian.plain("-c", "import numpy; print(numpy.__version__)").out.partition(".")[0]
    assert f"numpy.{'core' if int(major) < 2 else '_core'}._multiarray_umath:dot" in names and "numpy:dot" not in names, names
    assert all(name.startswith("numpy") for name in names) and len(names) <= 4, names  # all of it is below np.dot


@needs_printer
@pytest.mark.parametrize("option", ["--noinstrumenter", "--instrumenter-type=dummy"])
def test_a_trace_without_events_is_an_archive(any_python: Sandbox, option: str):
    assert run(any_python, option, write(any_python, "print(1)\n")).out == "1\n"
    assert not EVENT.findall(printed(any_python))
    assert "traces.otf2" in (any_python.cwd / "experiment/MANIFEST.md").read_text()
    definitions = any_python.run([str(PRINTER), "-G", "experiment/traces.otf2"])
    assert definitions.code == 0 and re.search(r"LOCATION +0 .* # Events: 0,", definitions.out)
    done = any_python.allranks("export", "experiment/program.allranks", "-f", "otf2", "-o", "again")
    assert done.code == 0 and done.err.startswith("allranks: warning: experiment/program.allranks: its trace has no events"), done


# ---- what is recorded beside functions ----

OTHERS = """\
import scorep.user

def inner():
    pass

def foo():
    inner()
    scorep.user.rewind_begin("again")
    inner()
    scorep.user.rewind_end("again", True)
    scorep.user.rewind_begin("kept")
    scorep.user.rewind_end("kept", False)
    scorep.user.parameter_int("level", -3)
    scorep.user.parameter_uint("size", 2**64 - 1)
    scorep.user.parameter_string("name", "näme")
    scorep.user.disable_recording()
    inner()
    scorep.user.enable_recording()
    inner()

foo()
scorep.user.reregister_exit_handler()
"""


@needs_printer
def test_rewind_parameters_and_pauses(any_python: Sandbox):
    run(any_python, write(any_python, OTHERS))
    text = printed(any_python)
    found = events(text, "__main__:inner", "again", "kept")
    assert found == [*both("__main__:inner", "kept", "__main__:inner")]
    assert text.count("Mode: OFF\n") == text.count("Mode: ON\n") == 2  # what was taken back, and the pause
    assert re.search(r'PARAMETER_INT64 +\d+ +\d+  Parameter: "level" <\d+>, Value: -3\n', text)
    assert re.search(r'PARAMETER_UINT64 +\d+ +\d+  Parameter: "size" <\d+>, Value: 18446744073709551615\n', text)
    assert re.search(r'PARAMETER_STRING +\d+ +\d+  Parameter: "name" <\d+>, Value: "näme" <\d+>', text)


PAUSES = """\
import time, PLACE as place
def inner(): time.sleep(0.01)
def outer():
    inner()
    place.OFF()
    inner()
    place.ON()
    inner()
outer()
"""
PLACES = {"scorep.user": ("disable_recording", "enable_recording"), "allranks": ("pause", "resume")}
SWITCH = re.compile(r"^MEASUREMENT_ON_OFF +\d+ +(\d+)  Mode: (ON|OFF)$", re.M)


@needs_printer
@pytest.mark.parametrize("place", PLACES)
def test_a_pause_is_measurement_off_and_no_region(any_python: Sandbox, place: str):
    pycubexr = pytest.importorskip("pycubexr")
    off, on = PLACES[place]
    program = write(any_python, PAUSES.replace("PLACE", place).replace("OFF", off).replace("ON", on))
    run(any_python, program, SCOREP_ENABLE_PROFILING="true")
    text = printed(any_python)
    inner = both("__main__:inner")
    assert events(text, "__main__:inner", "__main__:outer", "user:", "MEASUREMENT") == ["+__main__:outer", *inner, *inner, "-__main__:outer"]
    (off_ns, _), (on_ns, _) = found = SWITCH.findall(text)
    assert [mode for _, mode in found] == ["OFF", "ON"] and int(on_ns) - int(off_ns) >= 10_000_000
    assert not [at for _, _, at, _ in TIMED.findall(text) if int(off_ns) < int(at) < int(on_ns)]
    with pycubexr.CubexParser(str(any_python.cwd / "experiment/profile.cubex")) as cubex:
        visits, seconds = (cubex.get_metric_values(cubex.get_metric_by_name(name)) for name in ("visits", "time"))
        (paused,) = [node for node in cubex.all_cnodes() if node.region.name == "MEASUREMENT OFF"]
        assert not [node for node in cubex.all_cnodes() if "paused" in node.region.name]
        assert sum(visits.cnode_values(paused, convert_to_exclusive=True)) == 0
        assert 0.01 <= sum(seconds.cnode_values(paused)) <= (int(on_ns) - int(off_ns)) / 1e9 + 0.001
    rows = any_python.answer("dump", "experiment/program.allranks").decode()
    assert rows.count(" off\n") == rows.count(" on\n") == 1 and "paused" not in rows
    for form in ("chrome", "perfetto"):
        any_python.answer("export", "experiment/program.allranks", "-f", form, "-o", f"out.{form}")
        data = (any_python.cwd / f"out.{form}").read_bytes()
        assert b"not recorded" in data and b"(paused)" not in data
    assert any_python.allranks("info", "--check", "experiment/program.allranks").code == 0


ERROR = (
    "SCOREP_BINDING_PYTHON ERROR: There was a region exit without an enter!\n"
    'SCOREP_BINDING_PYTHON ERROR: For details look for "error_region" in the trace or profile.\n'
)


@needs_printer
@pytest.mark.parametrize("option", ["--noinstrumenter", "--nocompiler"])
def test_ends_without_a_begin(any_python: Sandbox, option: str):
    program = write(any_python, "import scorep.user\nscorep.user.region_end('one')\nscorep.user.region_end('two')\n")
    assert run(any_python, option, program, err=ERROR).out == ""
    text = printed(any_python)
    assert events(text, "error_region") == both("error_region", "error_region")
    for name in ("one", "two"):
        assert re.search(rf'PARAMETER_STRING .* Parameter: "leave-region" <\d+>, Value: "user:{name}" <\d+>', text)


@needs_printer
def test_what_follows_force_finalize_is_not_recorded(any_python: Sandbox):
    program = write(any_python, "import os, scorep.user\ndef foo(): pass\ndef bar(): print(os.path.exists('experiment/traces.otf2'))\n"
                    "foo()\nscorep.user.force_finalize()\nbar()\nscorep.user.force_finalize()\n"
                    "with scorep.user.region('late'):\n    bar()\n")  # fmt: skip
    assert run(any_python, program).out == "True\nTrue\n"
    assert events(printed(any_python), "__main__:foo", "__main__:bar", "user:") == both("__main__:foo")
    assert any_python.left_overs() == []


CLASSES = """\
import scorep.user, scorep.instrumenter
class TestClass:
    def foo(self):
        pass
    def doo(arg):
        arg.foo()
class TestClass2:
    @scorep.user.region()
    def foo(self):
        pass
def foo():
    def doo(arg):
        pass
    doo("test")
TestClass2().foo()
TestClass().doo()
foo()
with scorep.instrumenter.disable():
    TestClass2().foo()
"""


@needs_printer
def test_names_of_methods(any_python: Sandbox):
    run(any_python, write(any_python, CLASSES))
    found = set(events(printed(any_python), "__main__"))
    has_classes = any_python.stack.python_version not in ("3.9", "3.10")  # there code has no qualified name
    one, other = ("__main__.TestClass", "__main__.TestClass2") if has_classes else ("__main__", "__main__")
    assert {f"+{name}" for name in ("__main__:foo", f"{one}:foo", f"{one}:doo", f"{other}:foo")} <= found
    assert printed(any_python).count(f'"{other}:foo"') >= 2 and found >= {"+__main__:foo", "-__main__:foo"}


# ---- what the original cannot do, and threads ----

THREADS = """\
import threading, scorep.user
def bar():
    with scorep.user.region("in thread"):
        pass
def worker(n):
    bar()
threads = [threading.Thread(target=worker, args=(n,)) for n in range(3)]
for each in threads: each.start()
for each in threads: each.join()
"""


@needs_printer
@pytest.mark.parametrize("option", ["--user", "--nopython"])
def test_threads(any_python: Sandbox, option: str):
    run(any_python, option, write(any_python, THREADS))
    found = events(printed(any_python), "__main__:bar", "user:in thread")
    assert found.count("+user:in thread") == 3
    assert found.count("+__main__:bar") == (3 if option == "--user" else 0)
    roots: dict[str, list[str]] = {}
    for _, location, name in EVENT.findall(printed(any_python)):
        if name.startswith(("thread:", "process:")):
            roots.setdefault(location, []).append(name)
    assert roots.pop("0", ["thread:main"] * 2) == ["thread:main"] * 2 and len(roots) == 3
    assert all(len(names) == 2 and len(set(names)) == 1 and "main" not in names[0] for names in roots.values()), roots


CHILDREN = """\
import importlib, multiprocessing, pickle, sys, scorep.user
class Thing:
    pass
def work(n):
    with scorep.user.region("work"):
        return n * n
if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(work, range(5)))
        pool.close()
        pool.join()
    print(type(pickle.loads(pickle.dumps(Thing()))).__name__)
    open("changes.py", "w").write("def foo(): return 1\\n")
    import changes
    changes.foo()
    changes.foo()
    open("changes.py", "w").write("def foo(arg): return arg\\ndef bar(): pass\\n")
    importlib.reload(changes)
    changes.foo(2)
    changes.bar()
"""


@needs_printer
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing_pickling_and_reload(any_python: Sandbox, method: str):
    done = run(any_python, write(any_python, CHILDREN), method)
    assert done.out == "[0, 1, 4, 9, 16]\nThing\n"
    found = events(printed(any_python), "changes:", "user:work")
    assert found.count("+user:work") == 5
    assert found.count("+changes:foo") == 3 and found.count("+changes:bar") == 1


LATE = """\
import os, scorep.user
def late():
    while os.path.exists("wait"):
        pass
if os.fork() == 0:
    late()
    os._exit(0)
"""


def test_a_child_that_outlives_the_program_has_a_run_of_its_own(debian: Sandbox):
    (debian.cwd / "wait").touch()
    run(debian, write(debian, LATE), SCOREP_ENABLE_TRACING="no")
    assert (debian.cwd / "experiment/program.allranks").exists() and not (debian.cwd / "program.allranks").exists()
    (debian.cwd / "wait").unlink()
    debian.wait_for_the_last()
    assert debian.report("program.allranks").calls("late") == 1
    assert [path.name for path in debian.cwd.iterdir() if path.is_dir()] == ["experiment"]


@pytest.mark.parametrize("module", ["scorep", "mpiprof"])
def test_one_that_is_started_by_a_recorded_program_records_on_its_own(any_python: Sandbox, module: str):
    env = own_copy(any_python)
    assert any_python.plain("-m", "allranks", "install-shims", module, env=env).code == 0
    write(any_python, "print('inner')\n", "inner.py")
    outer = write(any_python, "import subprocess, sys\n"
                  f"sys.exit(subprocess.run([sys.executable, '-m', '{module}', 'inner.py']).returncode)\n", "outer.py")  # fmt: skip
    done = any_python.recorded(outer, options=("-q", "-o", "outer.allranks"), env={**settings(any_python, SCOREP_ENABLE_TRACING="no"), **env})
    assert (done.code, done.out, done.err) == (0, "inner\n", ""), done
    assert {"outer.allranks", {"scorep": "experiment/inner.allranks", "mpiprof": "mpiprof.0.pstats"}[module]} <= any_python.files()


# ---- the command line ----


def test_options_without_effect_are_listed_and_nothing_is_said(debian: Sandbox):
    words = ["--compiler", "--nocompiler", "--thread=pthread", "--thread=omp", "--mpp=mpi", "--user", "--keep-files", "--io=posix",
             "--cuda", "--anything=else"]  # fmt: skip
    program = write(debian, "import sys\nprint(sys.argv, __name__, __file__)\n")
    done = run(debian, *words, program, "--mpp=none", "-x", SCOREP_MPI_ENABLE_GROUPS="all", SCOREP_NO_SUCH="1", SCOREP_TIMER="clock")
    assert done.out == f"['{program}', '--mpp=none', '-x'] __main__ {debian.plain(program).out.split()[-1]}\n"
    cfg = (debian.cwd / "experiment/scorep.cfg").read_text()
    fact = debian.info("experiment/program.allranks").data["facts"]["score-p"]
    for word in (*words, "SCOREP_MPI_ENABLE_GROUPS=all", "SCOREP_NO_SUCH", "SCOREP_TIMER=clock"):
        assert f"#   {word}\n" in cfg and word in fact.split()
    shell = subprocess.run(["sh", "-c", ". experiment/scorep.cfg; echo $SCOREP_ENABLE_TRACING"], cwd=debian.cwd, capture_output=True, check=True)
    assert shell.stdout == b"true\n"


def test_help_and_mistakes(any_python: Sandbox):
    done = run(any_python, "--help")
    assert done.out.startswith("Usage: python -m scorep") and "--help" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    assert run(any_python, code=1, err="scorep: Did not find a script to run\n").out == ""
    run(any_python, "missing.py", code=1, err="scorep: Cannot run file 'missing.py' because: [Errno 2] No such file or directory: 'missing.py'\n")
    done = any_python.plain("-m", MODULE, "--instrumenter-type=x", "a.py")
    said = "scorep: --instrumenter-type=x: there is no such type (expected: profile, trace, cProfile, cTrace, dummy)\n"
    assert (done.code, done.out, done.err) == (2, "", said), done
    warned = "scorep: Warning: The option '--mpi' is deprecated and will be removed in future.\n"
    assert run(any_python, "--mpi", "--", write(any_python, "print(1)\n"), err=warned).out == "1\n"
    # A script that looks itself up finds itself.
    main = write(any_python, "import sys\ndef main(): print('own main')\nsys.modules['__main__'].main()\n", "main.py")
    assert run(any_python, main).out == "own main\n"


def test_the_end_is_that_of_the_program(any_python: Sandbox):
    program = write(any_python, "import sys\nopen('no such file') if sys.argv[1] == 'raise' else sys.exit(7)\n")
    plain = any_python.plain(program, "raise")
    done = any_python.plain("-m", MODULE, program, "raise", env=settings(any_python))
    assert (done.code, done.err) == (plain.code, plain.err) and done.code == 1
    run(any_python, program, "exit", code=7)
    assert (any_python.cwd / "experiment/program.allranks").exists()


# ---- without a recording ----

NOTHING = """\
import scorep, scorep.user, scorep.instrumenter
from scorep.instrumenter import get_instrumenter
@scorep.user.region()
def f(x): return x
@scorep.instrumenter.enable("e")
def g(x): return x
with scorep.user.region("a"), scorep.instrumenter.disable("b"), scorep.instrumenter.enable():
    print(f(1), g(2), f.__name__, scorep.__version__ is not None)
scorep.user.region_begin("r"); scorep.user.region_end("r"); scorep.user.region_end("never begun")
scorep.user.rewind_begin("w"); scorep.user.rewind_end("w", True); scorep.user.rewind_end("never", True)
scorep.user.parameter_int("i", -1); scorep.user.parameter_uint("u", 1); scorep.user.parameter_string("s", "t")
scorep.user.disable_recording(); scorep.user.enable_recording()
scorep.user.force_finalize(); scorep.user.reregister_exit_handler()
scorep.instrumenter.register(); scorep.instrumenter.unregister()
print(get_instrumenter().get_registered())
for wrong in (lambda: scorep.user.parameter_int("i", 1.5), lambda: scorep.user.parameter_uint("u", "1"),
              lambda: scorep.user.parameter_string("s", 1), lambda: scorep.user.parameter_int(1, 1)):
    try:
        wrong()
    except TypeError:
        print("TypeError")
try:
    with scorep.user.region():
        pass
except RuntimeError as error:
    print(error)
"""


def test_without_a_recording_nothing_is_done(any_python: Sandbox):
    env = own_copy(any_python)
    done = any_python.plain("-m", "allranks", "install-shims", "scorep", env=env)
    assert (done.code, done.out) == (0, f"scorep: installed, {env['PYTHONPATH']}/scorep.py\n"), done
    plain = any_python.plain(write(any_python, NOTHING), env=env)
    assert (plain.code, plain.err) == (0, ""), plain
    assert plain.out == "1 2 f True\nNone\n" + 4 * "TypeError\n" + "A region name needs to be specified.\n"
    assert any_python.files() == {"program.py"}
    # The shim is what the README says: python -m scorep.
    text = REGIONS.replace("import scorep.user\nimport scorep.instrumenter", "import scorep")
    done = any_python.plain("-m", "scorep", "--mpp=none", write(any_python, text), env={**settings(any_python, SCOREP_ENABLE_TRACING="0"), **env})
    assert (done.code, done.out, done.err) == (0, "done\n", ""), done
    assert any_python.report("experiment/program.allranks").calls("user:region_name") == 2


# ---- the environment ----


def test_where_the_experiment_is(debian: Sandbox):
    program = write(debian, "print(1)\n")
    for _ in range(2):
        run(debian, program, SCOREP_EXPERIMENT_DIRECTORY="", SCOREP_ENABLE_PROFILING="true", SCOREP_ENABLE_TRACING="no")
    made = sorted(path.name for path in debian.cwd.iterdir() if path.is_dir())
    assert len(made) == 2 and all(re.fullmatch(r"scorep-\d{8}_\d{4}_\d+(-\d+)?", name) for name in made), made
    assert sorted(path.name for path in (debian.cwd / made[0]).iterdir()) == ["MANIFEST.md", "profile.cubex", "program.allranks", "scorep.cfg"]
    run(debian, program, SCOREP_ENABLE_TRACING="false", SCOREP_EXPERIMENT_DIRECTORY="deep/er", SCOREP_ENABLE_PROFILING="1", SCOREP_PROFILING_BASE_NAME="mine")
    assert (debian.cwd / "deep/er/mine.cubex").exists()
    run(debian, program, SCOREP_ENABLE_TRACING="false", SCOREP_FORCE_CFG_FILES="no")
    assert not (debian.cwd / "experiment").exists() and (debian.cwd / "program.allranks").exists()


def test_an_experiment_that_is_there_stays(debian: Sandbox):
    program = write(debian, "print(1)\n")
    run(debian, program)
    (debian.cwd / "experiment/mark").touch()
    run(debian, program)
    (old,) = debian.cwd.glob("experiment-*")
    assert (old / "mark").exists() and not (debian.cwd / "experiment/mark").exists()
    done = debian.plain("-m", MODULE, program, env=settings(debian, SCOREP_OVERWRITE_EXPERIMENT_DIRECTORY="false"))
    assert done.code == 0 and re.fullmatch(r"scorep: .*/experiment: is there already, and is not to be overwritten; this run is in .*\n", done.err), done
    assert len(list(debian.cwd.glob("experiment-*"))) == 2


def test_the_end_of_a_line_in_a_variable(debian: Sandbox):
    program = write(debian, "print(1)\n")
    name = "my\nexperi%0Ament"
    env = {"SCOREP_METRIC_PLUGINS": "a\nb", "SCOREP_METRIC_PLUGINS_SEP": "\n", "SCOREP_EXPERIMENT_DIRECTORY": name}
    assert run(debian, program, **env).out == "1\n"
    cfg = (debian.cwd / name / "scorep.cfg").read_text()
    assert "#   SCOREP_METRIC_PLUGINS=a?b\n" in cfg
    shell = subprocess.run(["sh", "-c", f'. "{debian.cwd}/{name}/scorep.cfg"; printf "%s" "$SCOREP_EXPERIMENT_DIRECTORY"'], capture_output=True, check=True)
    assert shell.stdout.decode() == name
    assert {"traces.otf2", "MANIFEST.md", "program.allranks"} <= {path.name for path in (debian.cwd / name).iterdir()}


def other_file_system(sandbox: Sandbox) -> Path:
    place = Path("/dev/shm")
    if not place.is_dir() or place.stat().st_dev == sandbox.cwd.stat().st_dev:
        pytest.skip("there is no other file system")
    return Path(tempfile.mkdtemp(prefix="allranks-test-", dir=place))


@pytest.mark.parametrize("n_ranks", [0, 2])
def test_a_directory_on_another_file_system_whose_parent_is_missing(debian: Sandbox, n_ranks: int):
    place = other_file_system(debian)
    env = settings(debian, SCOREP_EXPERIMENT_DIRECTORY=str(place / "new/experiment"), SCOREP_ENABLE_PROFILING="true")
    program = write(debian, "from mpi4py import MPI\n" if n_ranks else "print()\n")
    words = [debian.stack.python, "-m", MODULE, program]
    try:
        done = debian.run(debian.ranks(n_ranks, *words) if n_ranks else words, env=env)
        assert (done.code, done.err) == (0, ""), done
        found = {path.name for path in (place / "new/experiment").iterdir()}
        assert found >= {"MANIFEST.md", "profile.cubex", "program.allranks", "scorep.cfg", "traces.otf2"} and "program.allranks" not in debian.files()
        assert debian.allranks("info", "--check", place / "new/experiment/program.allranks").code == 0
    finally:
        shutil.rmtree(place)


LONG = "def f(): pass\nfor i in range(200000):\n    f()\n    abs(i)\n"


@needs_printer
def test_a_trace_that_is_cut_says_so(debian: Sandbox):
    program = write(debian, LONG)
    done = debian.plain("-m", MODULE, program, env=settings(debian, SCOREP_TOTAL_MEMORY="1M"))
    text = printed(debian)
    at = SWITCH.findall(text)[-1]
    n_events = sum(int(n) for n in re.findall(r'"events": (\d+)', debian.answer("info", "--json=1", "experiment/program.allranks").decode()))
    place = f"ends early: 1 of 1 thread reached the limit of 1M per process, the first at {int(at[0]) / 1e9:.6f} s; it has {n_events:,} events"
    assert done.code == 0 and re.fullmatch(rf"scorep: .*/experiment/traces.otf2 {re.escape(place)} \(.*\)\n", done.err), done
    assert 100_000 < len(EVENT.findall(text)) < n_events + 10
    for name in ("MANIFEST.md", "scorep.cfg"):
        said = (debian.cwd / "experiment" / name).read_text()
        assert place in said and "lacks most calls of 1 C function that proved to be short" in said and "every event" not in said
    shutil.rmtree(debian.cwd / "experiment")
    run(debian, program)
    manifest = (debian.cwd / "experiment/MANIFEST.md").read_text()
    assert "every event" in manifest and "ends early" not in manifest and "lacks most calls of 1 C function" in manifest


DEEP = """\
import sys
sys.setrecursionlimit(100000)
def f(n):
    return f(n - 1) if n else 0
f(20000)
"""


def test_recursion_too_deep_to_be_recorded_is_said(any_python: Sandbox):
    if any_python.stack.python_version != "3.11":
        pytest.skip("3.11 alone lets a program get as deep while our evaluator takes C stack")
    program = write(any_python, DEEP)
    run(any_python, program, SCOREP_ENABLE_TRACING="no")
    info = any_python.answer("info", "experiment/program.allranks").decode()
    assert any_python.report("experiment/program.allranks").calls("f") < 20001
    assert re.search(r"^too deep +calls beyond half of the C stack were not recorded", info, re.M)
    assert "and all that they called (see `too deep`)" in info
    for name in ("scorep.cfg", "MANIFEST.md"):
        assert "how many is not known" in (any_python.cwd / "experiment" / name).read_text()


@needs_printer
def test_filters_counters_and_memory(debian: Sandbox):
    rules = "SCOREP_REGION_NAMES_BEGIN\n  EXCLUDE\n    __main__:left_*\n    user:out\nSCOREP_REGION_NAMES_END\n"
    write(debian, rules, "filter.txt")
    program = write(debian, "import scorep.user\ndef left_out(): pass\ndef kept():\n    with scorep.user.region('out'):\n        left_out()\nkept()\n")
    run(debian, program, SCOREP_FILTERING_FILE="filter.txt", SCOREP_METRIC_RUSAGE="ru_minflt,ru_stime", SCOREP_METRIC_PAPI="PAPI_NO_SUCH",
        SCOREP_TOTAL_MEMORY="3G")  # fmt: skip
    found = events(printed(debian), "__main__:", "user:")
    assert [each for each in found if "<module>" not in each] == both("__main__:kept")
    data = debian.info("experiment/program.allranks").data
    assert "ru_stime" in data["facts"]["score-p"]
    assert data["facts"]["counters"] == "minor-faults" and "PAPI_NO_SUCH" in data["facts"]["uncounted"]
    cfg = (debian.cwd / "experiment/scorep.cfg").read_text()
    assert "SCOREP_TOTAL_MEMORY=3G\n" in cfg and "#   metric PAPI_NO_SUCH: " in cfg
    done = debian.plain("-m", MODULE, program, env=settings(debian, SCOREP_FILTERING_FILE="missing.txt"))
    assert done.code == 1 and done.err.startswith("scorep: SCOREP_FILTERING_FILE: missing.txt") and done.out == "", done
    done = debian.recorded(program, options=("--as", "scorep"), env=settings(debian, SCOREP_FILTERING_FILE="missing.txt"))
    assert done.code == 2 and done.err.startswith("allranks: error: SCOREP_FILTERING_FILE: missing.txt") and done.out == "", done


def test_names_and_formats_of_the_profile(debian: Sandbox):
    program = write(debian, "print()\n")
    env = {"SCOREP_ENABLE_TRACING": "no", "SCOREP_ENABLE_PROFILING": "yes", "SCOREP_PROFILING_FORMAT": "bogus", "SCOREP_PROFILING_BASE_NAME": "a/b"}
    run(debian, program, **env)
    assert "experiment/a/b.cubex" in debian.files() and "`a/b.cubex`" in (debian.cwd / "experiment/MANIFEST.md").read_text()
    assert "#   SCOREP_PROFILING_FORMAT=bogus\n" in (debian.cwd / "experiment/scorep.cfg").read_text()


def test_integers_are_those_of_64_bits(debian: Sandbox):
    program = write(debian, "import scorep.user as u\nu.parameter_int('least', -2**63)\nu.parameter_int('most', 2**63 - 1)\n"
                    "for n in (2**63, -2**63 - 1):\n    try:\n        u.parameter_int('n', n)\n    except OverflowError as error:\n        print(error)\n")  # fmt: skip
    done = run(debian, program)
    assert [line.partition(":")[0] for line in done.out.splitlines()] == [f"parameter_int('n', {n})" for n in (2**63, -(2**63) - 1)]


def test_as_scorep_the_run_file_stays_where_it_is_asked_for(any_python: Sandbox):
    done = any_python.recorded(write(any_python, REGIONS), options=("-q", "--as", "scorep", "-o", "mine.allranks"), env=settings(any_python))
    assert (done.code, done.out, done.err) == (0, "done\n", ""), done
    assert any_python.report("mine.allranks").calls("user:begun") == 1
    assert {"experiment/traces.otf2", "experiment/scorep.cfg"} <= any_python.files()


# ---- MPI ----

RANKS = """\
import scorep
import scorep.user
from mpi4py import MPI
import numpy as np

def first(): pass
def other(): pass

scorep.instrumenter.register()
comm = MPI.COMM_WORLD
comm.Barrier()
if comm.rank == 0:
    A = np.arange(5, dtype=np.float64)
    first()
else:
    other()
    A = np.empty(5, dtype=np.float64)
scorep.instrumenter.unregister()
first()
with scorep.user.region("share"):
    comm.Bcast([A, MPI.DOUBLE])
print("[%02d] %s" % (comm.rank, A))
"""


@needs_printer
def test_two_ranks_have_one_experiment(debian: Sandbox):
    env = settings(debian, SCOREP_ENABLE_PROFILING="true")
    program = write(debian, RANKS)
    done = debian.run(debian.ranks(2, debian.stack.python, "-m", MODULE, "--mpp=mpi", "--nocompiler", "--noinstrumenter", program), env=env)
    assert (done.code, done.err) == (0, ""), done
    assert sorted(done.out.splitlines()) == ["[00] [0. 1. 2. 3. 4.]", "[01] [0. 1. 2. 3. 4.]"]
    text = printed(debian)
    found = events(text, "__main__:", "user:", "MPI_Bcast", "MPI_Barrier")
    counts = {name: found.count(f"+{name}") for name in ("__main__:first", "__main__:other", "user:share", "MPI_Bcast", "MPI_Barrier")}
    assert counts == {"__main__:first": 1, "__main__:other": 1, "user:share": 2, "MPI_Bcast": 2, "MPI_Barrier": 2}
    assert re.search(r"MPI_COLLECTIVE_END .* Operation: BCAST, .* Sent: 40, Received: 0", text)
    assert {"experiment/profile.cubex", "experiment/MANIFEST.md"} <= debian.files()
    assert not [path for path in debian.cwd.iterdir() if path.name.startswith(("scorep-", "experiment-"))]
    assert debian.left_overs() == []
    assert visits_in_profile(debian.cwd / "experiment/profile.cubex") == {"user:share": [1, 1], "__main__:first": [1, 0], "__main__:other": [0, 1]}
    assert entered_by_library(debian) == {"user:share": 2, "__main__:first": 1, "__main__:other": 1}


def visits_in_profile(path: Path) -> dict[str, list[int]]:
    """Calls by name and rank, as pycubexr reads them."""
    pycubexr = pytest.importorskip("pycubexr")
    found: dict[str, list[int]] = {}
    with pycubexr.CubexParser(str(path)) as cubex:
        values = cubex.get_metric_values(cubex.get_metric_by_name("visits"))
        for node in cubex.all_cnodes():
            if node.region.name in ("user:share", "__main__:first", "__main__:other"):
                counts = values.cnode_values(node, convert_to_exclusive=True)
                known = found.setdefault(node.region.name, [0] * len(counts))
                found[node.region.name] = [a + int(b) for a, b in zip(known, counts)]
    return found


READER = """
import json, otf2, otf2.events
counts = {}
with otf2.reader.open("experiment/traces.otf2") as trace:
    for location, event in trace.events:
        if isinstance(event, otf2.events.Enter) and event.region.name.startswith(("user:", "__main__:")):
            counts[event.region.name] = counts.get(event.region.name, 0) + 1
print(json.dumps(counts))
"""


def entered_by_library(sandbox: Sandbox) -> dict[str, int]:
    import json

    python = "/usr/bin/python3"
    if subprocess.run([python, "-c", "import otf2"], capture_output=True, check=False).returncode:
        pytest.skip("python3-otf2 is missing")
    done = sandbox.run([python, "-c", READER])
    assert done.code == 0, done
    counts: dict[str, int] = json.loads(done.out)
    return counts


# ---- interrupted and killed ----

INTERRUPTED = """\
import time, scorep.user
with scorep.user.region("step"):
    pass
RAISE
"""
WAITS = "open('ready', 'w').close(); time.sleep(100)"


def check_experiment(sandbox: Sandbox) -> None:
    assert {"experiment/profile.cubex", "experiment/scorep.cfg", "experiment/MANIFEST.md", "experiment/traces.otf2"} <= sandbox.files()
    assert sandbox.left_overs() == []
    assert not (sandbox.cwd / "program.allranks").exists()


def test_an_unhandled_interrupt_leaves_the_experiment(any_python: Sandbox):
    program = write(any_python, INTERRUPTED.replace("RAISE", "raise KeyboardInterrupt"))
    done = any_python.plain("-m", MODULE, program, env=settings(any_python, SCOREP_ENABLE_PROFILING="true"))
    assert done.code == -signal.SIGINT and done.err.endswith("\nKeyboardInterrupt\n"), done
    check_experiment(any_python)


@pytest.mark.parametrize("words", [("-m", MODULE), ("-m", "allranks", "run", "-q", "--as", "scorep")])
def test_sigint_leaves_the_experiment(any_python: Sandbox, words: tuple[str, ...]):
    program = write(any_python, INTERRUPTED.replace("RAISE", WAITS))
    running = any_python.start([any_python.stack.python, *words, program], env=settings(any_python, SCOREP_ENABLE_PROFILING="true"))
    running.wait_until((any_python.cwd / "ready").exists, "it is ready")
    time.sleep(0.05)
    running.process.send_signal(signal.SIGINT)
    done = running.wait()
    assert done.code == -signal.SIGINT and done.err.endswith("\nKeyboardInterrupt\n"), done
    if "run" in words:
        (any_python.cwd / "program.allranks").unlink()
    check_experiment(any_python)


def test_interrupted_ranks_have_one_experiment(debian: Sandbox):
    program = write(debian, "from mpi4py import MPI\n" + INTERRUPTED.replace("RAISE", "MPI.COMM_WORLD.Barrier(); raise KeyboardInterrupt"))
    done = debian.run(debian.ranks(2, debian.stack.python, "-m", MODULE, program), env=settings(debian, SCOREP_ENABLE_PROFILING="true"))
    assert done.code == 130 and done.err.count("\nKeyboardInterrupt\n") == 2, done
    deadline = time.monotonic() + 20  # the launcher ends all ranks when one of them ends by a signal, and does not wait for what they started
    while not (debian.cwd / "experiment/MANIFEST.md").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    check_experiment(debian)
    assert debian.report("experiment/program.allranks").calls("user:step") == 2


def test_what_sigterm_leaves_can_be_recovered(debian: Sandbox):
    program = write(debian, INTERRUPTED.replace("RAISE", WAITS))
    running = debian.start([debian.stack.python, "-m", MODULE, program], env=settings(debian))
    running.wait_until((debian.cwd / "ready").exists, "it is ready")
    running.process.terminate()
    assert running.wait().code == -signal.SIGTERM
    assert debian.allranks("recover", debian.live, "-o", "left.allranks").code == 0
    assert debian.report("left.allranks").calls("user:step") == 1


@needs_printer
def test_what_a_killed_program_leaves_becomes_an_archive(any_python: Sandbox):
    program = write(any_python, "import time, scorep.user\ndef foo():\n    with scorep.user.region('step'):\n        pass\nfoo()\nfoo()\n"
                    "open('ready', 'w').close()\ntime.sleep(100)\n")  # fmt: skip
    running = any_python.start([any_python.stack.python, "-m", MODULE, program], env=settings(any_python))
    running.wait_until((any_python.cwd / "ready").exists, "it is ready")
    time.sleep(0.05)
    assert running.kill().code == -signal.SIGKILL
    assert not (any_python.cwd / "experiment").exists()
    assert any_python.allranks("recover", any_python.live, "-o", "left.allranks").code == 0
    any_python.answer("export", "left.allranks", "-f", "otf2", "--quiet", "-o", "experiment")
    assert events(printed(any_python), "user:step") == both("user:step", "user:step")
