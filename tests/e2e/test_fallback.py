# SPDX-License-Identifier: BSD-3-Clause
"""Where another tool holds the interpreter's cheap hook, the trace API records the same."""

from __future__ import annotations

import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest
from harness import Done, Sandbox
from random_programs import write_program
from test_random_programs import of_program, pairs_of, reference, totals_of, unlike, unlike_noted

BEFORE_MONITORING = ("3.9", "3.10", "3.11")
SITE_FOR_MONITORING = """
import sys
for number in (3, 4):
    sys.monitoring.use_tool_id(number, "another tool")
"""
SITE_FOR_EVALUATOR = "import other_tool\n"

# Holds frame evaluation (PEP 523), and passes on.
OTHER_TOOL = """
#include <Python.h>
#if PY_VERSION_HEX >= 0x030B0000
typedef struct _PyInterpreterFrame frame;
#else
typedef PyFrameObject frame;
#endif
static PyObject *evaluate(PyThreadState *ts, frame *f, int throwing)
{
    return _PyEval_EvalFrameDefault(ts, f, throwing);
}
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "other_tool", .m_size = -1};
PyMODINIT_FUNC PyInit_other_tool(void)
{
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), evaluate);
    return PyModule_Create(&definition);
}
"""


def build_other_tool(python: Sandbox, directory: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        pytest.skip("no C compiler for a tool that holds frame evaluation")
    include = python.plain("-c", "import sysconfig; print(sysconfig.get_path('include'))").out.strip()
    (directory / "other_tool.c").write_text(OTHER_TOOL)
    command = [compiler, "-shared", "-fPIC", f"-I{include}", "other_tool.c", "-o", "other_tool.so"]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def held(any_python: Sandbox, tmp_path: Path) -> dict[str, str]:
    """The environment in which another tool is there first."""
    site = tmp_path / "site"
    site.mkdir()
    if any_python.stack.python_version not in BEFORE_MONITORING:
        (site / "sitecustomize.py").write_text(SITE_FOR_MONITORING)
    else:
        build_other_tool(any_python, site)
        (site / "sitecustomize.py").write_text(SITE_FOR_EVALUATOR)
    return {"PYTHONPATH": str(site)}


def record(python: Sandbox, held: dict[str, str], *program: str, options: tuple[str, ...] = ()) -> Done:
    done = python.recorded(*program, options=("-o", "run.allranks", *options), env=held)
    assert done.code == 0, done
    return done


def test_it_is_said(any_python: Sandbox, held: dict[str, str]):
    first, *others = record(any_python, held, "-c", "print(1)").err.splitlines()
    assert first.startswith("allranks: ") and "trace API" in first
    assert len(others) == 1
    assert any_python.info("run.allranks").data["facts"]["engine"].startswith("trace API")
    assert record(any_python, held, "-c", "print(1)", options=("-q",)).err == ""


@pytest.mark.parametrize("mode", ["none", "costly", "all"])
@pytest.mark.parametrize("n_threads", [0, 4])
def test_counts_are_what_the_program_noted(any_python: Sandbox, held: dict[str, str], mode: str, n_threads: int):
    path = any_python.cwd / "random10.py"
    path.write_text(write_program(10))
    record(any_python, held, str(path), "noted.json", str(n_threads), options=("--builtins", mode))
    assert any_python.info("run.allranks").lost == 0
    assert not unlike_noted(any_python, any_python.pstats("run.allranks"), path)


@pytest.mark.parametrize("mode", ["none", "all"])
def test_it_counts_as_cprofile(any_python: Sandbox, held: dict[str, str], mode: str):
    path = any_python.cwd / "random3.py"
    path.write_text(write_program(3))
    record(any_python, held, str(path), "noted.json", "0", options=("--builtins", mode))
    stats = any_python.pstats("run.allranks")
    expected = reference(any_python, path, *(["--builtins"] if mode == "all" else []))
    assert len(of_program(stats, path)) > 30
    assert not unlike(totals_of(stats, path), totals_of(expected, path))
    assert not unlike(pairs_of(stats, path), pairs_of(expected, path))


def test_each_thread_has_a_tree_of_its_own(any_python: Sandbox, held: dict[str, str]):
    (any_python.cwd / "program.py").write_text(textwrap.dedent("""
        import threading, _thread
        def work(n):
            return n if n < 2 else work(n - 1) + work(n - 2)
        def starts():
            inner = threading.Thread(target=work, args=(10,), name="inner")
            inner.start()
            inner.join()
        def bare(done):
            work(10)
            done.release()
        threads = [threading.Thread(target=work, args=(10,), name="worker") for _ in range(3)]
        threads.append(threading.Thread(target=starts, name="starter"))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        done = _thread.allocate_lock()
        done.acquire()
        _thread.start_new_thread(bare, (done,))
        done.acquire()
        work(10)
    """))  # fmt: skip
    record(any_python, held, "program.py", options=("--builtins", "none"))
    report = any_python.report("run.allranks")
    assert report.calls("work") == 6 * 177
    names = [node.name for node in report.nodes if node.kind == "thread" and node.parent]
    assert {"inner", "starter", "worker"} <= set(names)


OWN_PROFILE_FUNCTION = """
    import sys, threading
    def own(frame, what, argument):
        if frame.f_code.co_name == "noted" and what == "call":
            seen.append(frame.f_code.co_name)
    def noted():
        pass
    def starts_another(go, gone):
        go.set()
        gone.wait()
        another = threading.Thread(target=noted)
        another.start()
        another.join()
        noted()
    seen, go, gone = [], threading.Event(), threading.Event()
    thread = threading.Thread(target=starts_another, args=(go, gone))
    thread.start()
    go.wait()
    sys.setprofile(own)
    noted()
    gone.set()
    thread.join()
    noted()
    print(sys.getprofile() is own)
    sys.setprofile(None)
    print(seen)
"""


def test_a_profile_function_of_the_program_stays(any_python: Sandbox, held: dict[str, str]):
    (any_python.cwd / "program.py").write_text(textwrap.dedent(OWN_PROFILE_FUNCTION))
    plain = any_python.plain("program.py", env=held)
    assert plain.out == "True\n['noted', 'noted']\n"
    assert record(any_python, held, "program.py").out == plain.out


def test_without_any_hook_the_program_runs_unrecorded(any_python: Sandbox, held: dict[str, str]):
    site = Path(held["PYTHONPATH"]) / "sitecustomize.py"
    site.write_text(site.read_text() + "import sys\nsys.setprofile(lambda *args: None)\n")
    done = record(any_python, held, "-c", "print('goes on')")
    assert done.out == "goes on\n"
    assert done.err.startswith("allranks: ") and "runs without being recorded" in done.err and done.err.count("\n") == 1
    assert any_python.files() == set() and not any_python.live_files()


WHOSE_HOOK = """
import ctypes
import sys

def evaluator():
    api = ctypes.pythonapi
    api.PyInterpreterState_Get.restype = api._PyInterpreterState_GetEvalFrameFunc.restype = ctypes.c_void_p
    return api._PyInterpreterState_GetEvalFrameFunc(ctypes.c_void_p(api.PyInterpreterState_Get()))

if hasattr(sys, "monitoring"):
    is_free = "allranks" not in [sys.monitoring.get_tool(number) for number in range(6)]
else:
    is_free = evaluator() == ctypes.cast(ctypes.pythonapi._PyEval_EvalFrameDefault, ctypes.c_void_p).value
print("free" if is_free else "held")
"""


def test_a_recording_that_is_cancelled_gives_the_hook_back(any_python: Sandbox):
    """With -i a prompt follows a program that cannot be compiled."""
    for name, text in {"whose_hook": WHOSE_HOOK, "works": "pass\n", "fails": "def f(:\n"}.items():
        (any_python.cwd / f"{name}.py").write_text(text)
    for program, state in (("works.py", "held"), ("fails.py", "free")):
        done = any_python.recorded(program, flags=("-i",), stdin=b"import whose_hook\n")
        assert done.out.split() == [state], done
