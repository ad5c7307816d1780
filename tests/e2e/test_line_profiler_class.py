# SPDX-License-Identifier: BSD-3-Clause
"""The class LineProfiler by itself, without a recording: its counts are those of the real one, and the program is left as it is."""

from __future__ import annotations

import json

import pytest
from harness import Done, Sandbox, own_copy, workload
from line_files import line_profilers, read_lprof

MODULE = "allranks.compat.line_profiler"
KINDS = workload("line_profiler_kinds.py")


def run(sandbox: Sandbox, text: str, *words: str, **how) -> Done:
    """A program in which LineProfiler and so on are there."""
    head = f"import sys\nfrom {MODULE} import *\nlp = LineProfiler()\n"
    (sandbox.cwd / "program.py").write_text(head + text)
    done = sandbox.plain("program.py", *words, **how)
    assert (done.code, done.err) == (0, ""), done
    return done


def test_counts_are_those_of_the_real_one(any_python: Sandbox):
    """The newest one: those before do not take all kinds of callables."""
    version, python = line_profilers(any_python)[-1]
    theirs = any_python.run([python, KINDS, "line_profiler"])
    assert theirs.code == 0, theirs
    ours = any_python.plain(KINDS, MODULE)
    assert (ours.code, ours.out, ours.err) == (0, theirs.out, ""), (version, ours)
    recorded = any_python.recorded(KINDS, MODULE, options=("-q",))
    assert (recorded.code, recorded.out) == (0, theirs.out), recorded


def test_times_add_up_and_recursion_counts_once(any_python: Sandbox):
    done = run(any_python, """\
import time
@lp
def deep(n):
    if n:
        deep(n - 1)
    time.sleep(0.02)
begin = time.perf_counter()
deep(4)
seconds = time.perf_counter() - begin
stats = lp.get_stats()
(lines,) = stats.timings.values()
print(sum(time for _, _, time in lines) / 1e9 / seconds, [time / 1e9 for line, _, time in lines if line == 9][0], seconds)
""")  # fmt: skip
    share, of_line, seconds = map(float, done.out.split())
    assert 0.9 < share <= 1.001 and 0.1 <= of_line <= seconds


TRACED = """\
import sys
seen = []
def tracer(frame, event, argument):
    if frame.f_code.co_name == "work":
        seen.append(event)
    return tracer
@lp
def work(n):
    a = n
    return a
if sys.argv[1:]:
    sys.settrace(tracer)
work(1)
print(sys.gettrace() is (tracer if sys.argv[1:] else None))
sys.settrace(None)
print(seen, [(line, hits) for lines in lp.get_stats().timings.values() for line, hits, _ in lines])
"""


def test_a_trace_function_of_the_program_stays(any_python: Sandbox):
    assert run(any_python, TRACED).out == "True\n[] [(12, 1), (13, 1)]\n"
    expected = "True\n['call', 'line', 'line', 'return'] [(12, 1), (13, 1)]\n"
    assert run(any_python, TRACED, "traced").out == expected


def test_code_is_left_as_it_is(any_python: Sandbox):
    done = run(any_python, """\
def work(n):
    return n
code, before = work.__code__, work.__code__.co_code
wrapped = lp(work)
wrapped(1)
print(work.__code__ is code, code.co_code == before, wrapped.__wrapped__ is work, wrapped.__name__, lp.enable_count)
lp.add_function(work); lp(work); lp(wrapped)
print(len(lp.functions), len(lp.code_map), lp.code_map[code])
""")  # fmt: skip
    assert done.out.startswith("True True True work 0\n1 1 {5: (1, "), done


def test_generators_and_coroutines_behave_as_without(any_python: Sandbox):
    done = run(any_python, """\
import asyncio
@lp
def gen():
    try:
        got = yield 1
        print("got", got)
        try:
            yield 2
        except KeyError:
            print("thrown")
        return 3
    finally:
        print("closed")
def outer():
    print("returned", (yield from gen()))
g = outer()
print(next(g), g.send("x"))
try:
    g.throw(KeyError())
except StopIteration:
    print("stopped")
g = gen(); next(g); g.close()
@lp
async def co():
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        print("cancelled")
        raise
async def main():
    task = asyncio.ensure_future(co())
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("seen")
asyncio.run(main())
@lp
async def agen():
    try:
        for i in range(3):
            yield i
    finally:
        print("end of agen")
async def use():
    async for i in agen():
        print(i)
    a = agen()
    await a.__anext__()
    await a.aclose()
asyncio.run(use())
print(lp.enable_count)
""")  # fmt: skip
    assert done.out == (
        "got x\n1 2\nthrown\nclosed\nreturned 3\nstopped\nclosed\ncancelled\nseen\n0\n1\n2\nend of agen\nend of agen\n0\n"
    )


def test_stats_are_added_compared_and_saved(python: Sandbox):
    done = run(python, """\
@lp
def work():
    return 1
work(); work()
stats = lp.get_stats()
lp.dump_stats("one.lprof")
stats.to_file("two.lprof")
print(load_stats("one.lprof") == stats, isinstance(stats, LineStats))
both = LineStats.from_files("one.lprof", "two.lprof")
print(both == stats + stats, both == LineStats.from_stats_objects(stats, stats), both == stats)
stats += stats
print(stats == both, [hits for lines in both.timings.values() for _, hits, _ in lines], both.unit)
coarse = LineStats({("a", 1, "f"): [(2, 3, 4)]}, 1e-6)
print((LineStats({}, 1e-9) + coarse).timings)
import pickle, io
for bad in (b"", b"x", pickle.dumps(print), pickle.dumps({})):
    try:
        load_stats(io.BytesIO(bad))
    except ValueError as error:
        print("no")
""")  # fmt: skip
    assert done.out == "True True\nTrue True False\nTrue [4] 1e-09\n{('a', 1, 'f'): [(2, 3, 4000)]}\nno\nno\nno\nno\n"
    assert read_lprof(python.cwd / "one.lprof").hits == {4: {6: 2}}
    for _, other in line_profilers(python):
        code = "import sys, line_profiler; s = line_profiler.load_stats('one.lprof'); print(type(s).__name__); sys.exit(list(s.timings.values())[0][0][1])"
        done = python.run([other, "-c", code])
        assert (done.code, done.out) == (2, "LineStats\n"), done


def test_files_of_the_real_one_are_read(python: Sandbox):
    (python.cwd / "script.py").write_text("@profile\ndef work(n):\n    for i in range(n):\n        pass\nwork(10)\n")
    for version, other in line_profilers(python):
        assert python.run([other, "-m", "kernprof", "-l", "-o", "theirs.lprof", "script.py"]).code == 0
        done = python.plain("-m", MODULE, "theirs.lprof", "theirs.lprof")
        assert (done.code, done.err) == (0, "") and "     3        22 " in done.out, (version, done)
        expected = python.run([other, "-m", "line_profiler", "theirs.lprof"])
        assert python.plain("-m", MODULE, "theirs.lprof").out == expected.out


def test_the_viewer_explains_itself(python: Sandbox):
    assert python.plain("-m", MODULE, "-V").out == "5.1.0\n"
    assert "--skip-zero" in python.plain("-m", MODULE, "--help").out
    (python.cwd / "no.lprof").write_text("no")
    for words, text in ((["missing.lprof"], "No such file"), (["no.lprof"], "not a file of line_profiler")):
        done = python.plain("-m", MODULE, *words)
        assert (done.code, done.out) == (1, "") and text in done.err and done.err.count("\n") == 1, done
    assert python.plain("-m", MODULE).code == 2


GLOBAL = """\
from line_profiler import profile
@profile
def work(n):
    for i in range(n):
        pass
work(10)
"""


@pytest.mark.parametrize("how", ["", "variable", "flag"])
def test_the_global_profile_is_off_until_it_is_asked_for(python: Sandbox, how: str):
    env = own_copy(python)
    assert python.plain("-m", "allranks", "install-shims", "line_profiler", env=env).code == 0
    (python.cwd / "script.py").write_text(GLOBAL)
    flags = ["--line-profile"] if how == "flag" else []
    done = python.plain("script.py", *flags, env={**env, **({"LINE_PROFILE": "1"} if how == "variable" else {})})
    assert (done.code, done.err) == (0, ""), done
    if not how:
        assert (done.out, python.files()) == ("", {"script.py"})
        return
    assert "Wrote profile results to profile_output.lprof\n" in done.out and " seconds - " in done.out, done
    fixed = {"script.py", "profile_output.lprof", "profile_output.txt"}
    (stamped,) = python.files() - fixed
    assert fixed < python.files() and stamped.startswith("profile_output_2") and stamped.endswith(".txt")
    assert read_lprof(python.cwd / "profile_output.lprof").hits == {2: {4: 11, 5: 10}}


def test_the_global_profile_has_a_file_for_each_rank(debian: Sandbox):
    env = own_copy(debian)
    assert debian.plain("-m", "allranks", "install-shims", "line_profiler", env=env).code == 0
    program = GLOBAL.replace("work(10)", "from mpi4py import MPI\nwork(10 + MPI.COMM_WORLD.rank)")
    (debian.cwd / "script.py").write_text(program)
    done = debian.plain_ranks(2, "script.py", env={**env, "LINE_PROFILE": "1"})
    assert done.code == 0, done
    for rank in range(2):
        assert read_lprof(debian.cwd / f"profile_output_rank{rank}.lprof").hits == {2: {4: 11 + rank, 5: 10 + rank}}


def test_threads_that_enable_it_count(any_python: Sandbox):
    done = run(any_python, """\
import threading
def work(n):
    for i in range(n):
        pass
lp.add_function(work)
def enabled():
    with lp:
        work(100)
threads = [threading.Thread(target=target) for target in 3 * [enabled] + 3 * [lambda: work(1000)]]
for thread in threads: thread.start()
for thread in threads: thread.join()
del threads
print([(line, hits) for lines in lp.get_stats().timings.values() for line, hits, _ in lines])
""")  # fmt: skip
    assert done.out == "[(6, 303), (7, 300)]\n"


def test_two_profilers_at_the_same_time(any_python: Sandbox):
    done = run(any_python, """\
import json
other = LineProfiler()
@other
@lp
def work(n):
    for i in range(n):
        pass
def alone(): return 1
other.add_function(alone)
work(5)
with other:
    alone()
    work.__wrapped__.__wrapped__(3)
def hits(profiler):
    return {key[2]: [hits for _, hits, _ in lines] for key, lines in profiler.get_stats().timings.items()}
print(json.dumps([hits(lp), hits(other)]))
""")  # fmt: skip
    assert json.loads(done.out) == [{"work": [6, 5]}, {"work": [10, 8], "alone": [1]}]
