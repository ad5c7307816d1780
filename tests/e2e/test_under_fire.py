# SPDX-License-Identifier: BSD-3-Clause
"""Whatever happens to the program, its files and its limits: it runs on as without us, what was recorded stands, and what
was lost is counted and told.
"""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from harness import Done, Sandbox, is_closing_line, workload

PROGRAM = workload("under_fire.py")
RUN = "under_fire.allranks"
NOBODY = 65534


def same_as_plain(sandbox: Sandbox, *words: str, options: tuple[str, ...] = (), **how) -> Done:
    """Recorded, with the answer and the end that it has without us."""
    plain = sandbox.plain(PROGRAM, *words, **how)
    with sandbox.polled():
        recorded = sandbox.recorded(PROGRAM, *words, options=options, **how)
    assert (recorded.code, recorded.out) == (plain.code, plain.out), recorded
    return recorded


def recovered(sandbox: Sandbox, *words: str | Path, code: int = 0) -> Done:
    done = sandbox.allranks("recover", *words)
    assert (done.code, done.out) == (code, ""), done
    return done


def lost(sandbox: Sandbox, path: str | Path) -> dict[str, int]:
    (process,) = sandbox.info(path).processes
    return {kind: n for kind, n in process["lost"].items() if n}


def assert_told(sandbox: Sandbox, path: str | Path) -> None:
    """In words, where people look."""
    assert "lost       nothing" not in sandbox.answer("info", path).decode()
    report = sandbox.answer("report", path).decode()
    assert re.search(r"no room for [\d,]+ calls?, [\d,]+ functions?: their callers' now \(--max-size\)", report)


# ---- limits ----


def test_a_limit_on_file_size_is_not_run_into(any_python: Sandbox):
    """Its signal would kill: the live file stops growing, and the run file is small enough here."""
    done = same_as_plain(any_python, "file_size", "600000")
    assert is_closing_line(done.err.splitlines()[-1])
    assert lost(any_python, RUN).keys() in ({"nodes", "functions"}, {"nodes"}, {"functions"})
    assert_told(any_python, RUN)
    assert any_python.report(RUN).calls("work") == 1


def test_a_run_file_beyond_the_limit_is_not_written(python: Sandbox):
    done = same_as_plain(python, "file_size", "5000")
    assert "File too large" in done.err and "allranks recover" in done.err
    assert python.files() == set()
    recovered(python, python.live)
    assert python.report(RUN).calls("work") == 1


def test_the_closing_line_is_not_worth_a_signal(python: Sandbox):
    """Standard error is a file here, and longer than a file may become."""
    code = (
        "import os, resource, signal, sys\n"
        "os.write(2, b'x' * 200)\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))\n"
    )
    done = python.recorded("-c", code)
    assert (done.code, done.err) == (0, "x" * 200), done
    recovered(python, python.live)
    assert python.report("command.allranks").calls("<module>") >= 1


def test_address_space_is_the_programs(python: Sandbox):
    """A limit that leaves the program what it needs, and no room for the 256 MiB that a live file may have."""
    limited = ["prlimit", f"--as={700 << 20}"]
    words = [PROGRAM, "uses_memory", "500"]
    plain = python.run([*limited, python.stack.python, *words])
    recorded = python.run([*limited, *python.recorder(), *words])
    assert (plain.code, plain.out) == (recorded.code, recorded.out) == (0, "524288000 1000\n"), recorded
    assert lost(python, RUN) == {}


def test_out_of_memory(any_python: Sandbox):
    same_as_plain(any_python, "out_of_memory")
    if any_python.files():
        assert any_python.report(RUN).calls("out_of_memory") == 1
    else:
        recovered(any_python, any_python.live)


def test_without_descriptors_growth_is_tried_again_later(any_python: Sandbox):
    same_as_plain(any_python, "no_descriptors")
    assert lost(any_python, RUN)["functions"] > 0
    report = any_python.report(RUN)
    assert report.calls("afterwards") == 1
    assert [node["calls"] for node in report.named("nothing") if "afterwards" in node.path] == [1] * 100
    assert_told(any_python, RUN)


def test_a_fast_timer_does_not_stop_growth(any_python: Sandbox):
    same_as_plain(any_python, "fast_timer")
    assert lost(any_python, RUN) == {}
    assert any_python.report(RUN).calls("nothing") == 60000


def test_a_full_live_file_gives_time_to_the_nearest_ancestor(any_python: Sandbox):
    """20,000 calls from as many places; in 1 MiB there is room for 16,384 at most, and for fewer as functions need some."""
    same_as_plain(any_python, "much", options=("--max-size", "1M"))
    report = any_python.report(RUN)
    n_known, n_lost = report.calls("nothing"), lost(any_python, RUN)
    assert 0 < n_known < 16384
    # A call is a node of its own, one that is lost, or one in a function that is lost.
    n_functions = sum(node["calls"] for node in report.nodes if re.fullmatch(r"work_\d+", node.name))
    assert n_functions + n_lost.get("functions", 0) <= 200 + 1
    assert 100 * n_functions - n_lost["nodes"] <= n_known <= 100 * n_functions
    assert_told(any_python, RUN)
    (work,) = report.named("work")
    assert work["time_ns"]["sum"] >= sum(node["time_ns"]["sum"] for node in report.nodes if node["parent"] == work.number)
    assert work["calls"] == 1


@pytest.mark.parametrize("option, words", [
    ("--max-size=12", "not a size from 1M to 256G"), ("--max-size=a", "not a size"), ("--max-size=1T", "not a size"),
    ("--max-size=", "not a size"), ("--max-size=-5M", "not a size"), ("--live-dir=", "needs a directory"),
])  # fmt: skip
def test_bad_values_are_explained(python: Sandbox, option: str, words: str):
    done = python.run([python.stack.python, "-m", "allranks", option, PROGRAM, "little"])
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"allranks: error: {option.partition('=')[0]}") and words in done.err


# ---- ends ----


@pytest.mark.parametrize("name", ["SIGTERM", "SIGSEGV", "SIGABRT", "SIGKILL", "SIGXCPU"])
def test_ended_by_a_signal(python: Sandbox, name: str):
    done = same_as_plain(python, "ends_by", name)
    assert (done.code, done.out) == (-getattr(signal, name), "until here\n")
    told = recovered(python, python.live)
    assert "1 process ended without a word" in told.err
    report = python.report(RUN)
    assert report.calls("ends_by.<locals>.inner") == 1 and report.calls("nothing") == 100
    assert len(python.live_files()) == 1


def test_a_real_segmentation_fault(any_python: Sandbox):
    done = same_as_plain(any_python, "segfault")
    assert done.code == -signal.SIGSEGV
    recovered(any_python, any_python.live, "--remove")
    assert any_python.report(RUN).calls("nothing") == 100
    assert list(any_python.live.rglob("*")) == []


# ---- directories ----


def test_live_directory_removed_while_it_runs(any_python: Sandbox):
    """The mapping is as good as the file was."""
    done = any_python.recorded(PROGRAM, "removes", str(any_python.live))
    assert (done.code, done.out) == (0, "100\n"), done
    assert any_python.report(RUN).calls("nothing") == 100
    assert lost(any_python, RUN) == {}


def test_live_directory_removed_while_the_file_must_grow(any_python: Sandbox):
    done = any_python.recorded(PROGRAM, "removes_and_grows", str(any_python.live))
    assert (done.code, done.out) == (0, "20000\n"), done
    assert any_python.report(RUN).calls("removes_and_grows") == 1
    assert lost(any_python, RUN)
    assert_told(any_python, RUN)


def test_output_directory_removed_while_it_runs(python: Sandbox):
    output = python.cwd / "results"
    output.mkdir()
    done = python.recorded(PROGRAM, "removes", str(output), options=("-o", "results/x.allranks"))
    assert (done.code, done.out) == (0, "100\n"), done
    assert str(python.live) in done.err
    recovered(python, python.live, "--remove")
    assert python.report(RUN).calls("nothing") == 100


@pytest.fixture
def mounted() -> Iterator[Callable[[Path, str], Path]]:
    places: list[Path] = []

    def mount(place: Path, options: str) -> Path:
        place.mkdir(exist_ok=True)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", place], capture_output=True)
        if done.returncode:
            pytest.skip("no file system can be mounted here")
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", "-l", place], check=True)


def test_live_directory_on_a_full_file_system(any_python: Sandbox, mounted):
    mounted(any_python.live, "size=1m")
    same_as_plain(any_python, "much")
    assert set(lost(any_python, RUN)) >= {"nodes"}
    assert any_python.report(RUN).calls("work") == 1
    assert_told(any_python, RUN)


def test_no_room_for_a_live_file_at_all(python: Sandbox, mounted):
    mounted(python.live, "size=64k")
    done = same_as_plain(python, "much")
    assert "no room for 256 KiB; the program runs without being recorded" in done.err
    assert python.files() == set() and python.live_files() == []


def test_output_directory_on_a_full_file_system(python: Sandbox, mounted):
    place = mounted(python.cwd / "full", "size=16k")
    done = same_as_plain(python, "much", options=("-o", "full/x.allranks"))
    assert "No space left on device" in done.err
    assert list(place.iterdir()) == []
    recovered(python, python.live, "--remove")
    assert python.report(RUN).calls("nothing") == 20000


def test_recover_to_a_full_file_system_removes_nothing(python: Sandbox, mounted):
    place = mounted(python.cwd / "full", "size=16k")
    python.recorded(PROGRAM, "much", options=("-o", "full/x.allranks"))
    done = recovered(python, python.live, "--remove", "-o", "full/x.allranks", code=2)
    assert "No space left on device" in done.err
    assert list(place.iterdir()) == [] and len(python.live_files()) == 1
    recovered(python, python.live)
    assert python.report(RUN).calls("nothing") == 20000


def test_read_only_directories(python: Sandbox, mounted):
    place = mounted(python.cwd / "fixed", "ro")
    done = same_as_plain(python, "little", options=("-o", "fixed/x.allranks"))
    assert "Read-only file system" in done.err
    recovered(python, python.live)
    assert python.report(RUN).calls("nothing") == 100
    argv = [python.stack.python, "-m", "allranks", "--live-dir", str(place), PROGRAM, "little"]
    done = python.run(argv)
    assert (done.code, done.out) == (0, "100\n")
    assert "Read-only file system" in done.err and "without being recorded" in done.err


def test_a_file_system_that_is_full_when_ranks_look_for_each_other(mpi: Sandbox, mounted):
    """They cannot agree, so they do not merge; nobody waits for anybody for long, and all files are beside the output."""
    mounted(mpi.live, "size=4m")
    words = (workload("fills_up.py"), str(mpi.live))
    recorded = mpi.recorded_ranks(2, *words)
    assert (recorded.code, sorted(recorded.out.split())) == (0, ["0", "1"]), recorded
    assert "so they were not merged" in recorded.err, recorded
    recovered(mpi, *mpi.cwd.glob("fills_up.live/*"), "-o", "both.allranks")
    assert mpi.info("both.allranks").ranks == [0, 1]


# ---- shared places ----


def in_other_places(python: Sandbox, prepare: str, *, uid: int = 0) -> tuple[Done, Path]:
    """With a /dev/shm of its own that is prepared by a line of shell; where the live file then was is printed."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        pytest.skip("needs a name space of its own for mounts")
    elsewhere = python.cwd.parent / "tmp"
    elsewhere.mkdir(exist_ok=True)
    shell = (
        "mount --make-rprivate / && mount -t tmpfs -o size=4m,mode=1777 none /dev/shm && "
        f"{prepare} && "
        '"$@"; code=$?; ls -lan /dev/shm /dev/shm/allranks-0/ >&2; exit $code'
    )
    argv = ["unshare", "-m", "sh", "-c", shell, "sh", python.stack.python, "-m", "allranks", workload("own_live_file.py")]
    return python.run([*argv, str(elsewhere), "/dev/shm"], env={"TMPDIR": str(elsewhere)}), elsewhere


PLANTED = {
    "link": "mkdir /dev/shm/victim && ln -s /dev/shm/victim /dev/shm/allranks-0",
    "fifo": "mkfifo /dev/shm/allranks-0",
    "file": "echo mine > /dev/shm/allranks-0",
    "directory of another user": "mkdir /dev/shm/allranks-0 && chown 65534 /dev/shm/allranks-0",
    "directory that all may write to": "mkdir /dev/shm/allranks-0 && chmod 777 /dev/shm/allranks-0",
    "no memory": "umount /dev/shm && mount -t tmpfs -o ro none /dev/shm",
    "full": "head -c 3500000 /dev/zero > /dev/shm/big",
    "missing": "mount -t tmpfs none /dev",
}


@pytest.mark.parametrize("what", PLANTED)
def test_a_place_that_is_not_ours_is_left_alone(python: Sandbox, what: str):
    done, elsewhere = in_other_places(python, PLANTED[what])
    assert done.code == 0, done
    (path,) = done.out.splitlines()
    assert path.startswith(f"{elsewhere}/allranks-0/"), done
    assert python.report("own_live_file.allranks").calls("<module>") >= 1
    if what == "link":
        assert "victim:" not in done.err and "total 0" in done.err
    assert list(elsewhere.iterdir()) == []


def test_a_place_that_is_ours_is_used(python: Sandbox):
    done, _ = in_other_places(python, "mkdir -m 700 /dev/shm/allranks-0")
    (path,) = done.out.splitlines()
    assert path.startswith("/dev/shm/allranks-0/pid"), done


@pytest.mark.parametrize("what", ["link", "fifo", "directory of another user", "directory that all may write to"])
def test_a_planted_directory_of_the_job_is_refused(python: Sandbox, what: str):
    """The name of a job of ranks can be guessed; then there is no other place to go to."""
    job, victim = python.live / "job7", python.cwd / "victim"
    python.live.mkdir()
    victim.mkdir()
    if what == "link":
        job.symlink_to(victim)
    elif what == "fifo":
        os.mkfifo(job)
    else:
        job.mkdir()
        job.chmod(0o777 if what.endswith("write to") else 0o700)
    if what == "directory of another user":
        if os.geteuid() != 0:
            pytest.skip("only root can give a directory away")
        os.chown(job, NOBODY, NOBODY)
    rank = {"PMIX_RANK": "0", "PMIX_NAMESPACE": "7", "OMPI_COMM_WORLD_SIZE": "1"}
    done = python.recorded(PROGRAM, "little", env=rank)
    assert (done.code, done.out) == (0, "100\n"), done
    assert "not a directory that only you can write to" in done.err and "without being recorded" in done.err
    assert list(victim.iterdir()) == [] and python.files() == set()
    assert not job.is_dir() or list(job.iterdir()) == []


def test_files_are_private(python: Sandbox):
    running = python.start(["sh", "-c", 'umask 0; exec "$@"', "sh", *python.recorder(), PROGRAM, "ends_by", "SIGKILL"])
    running.wait()
    (live,) = python.live_files()
    for path, mode in ((live, 0o600), (live.parent, 0o700)):
        assert stat.S_IMODE(path.stat().st_mode) == mode


# ---- clocks ----


def test_the_time_of_day_may_step(python: Sandbox, shim: str):
    """An hour back and forth at every look at it: spans are measured on another clock."""
    done = python.recorded(PROGRAM, "sleeps", env={"LD_PRELOAD": shim, "CLOCK_STEPS": "1"})
    assert (done.code, done.out) == (0, "slept\n"), done
    (sleeps,) = python.report(RUN).named("sleeps")
    assert 0.2e9 <= sleeps["time_ns"]["sum"] <= 60e9
    (process,) = python.info(RUN).processes
    assert 0.2e9 <= process["wall_ns"] <= 60e9


def test_growth_that_is_interrupted_goes_on_in_pieces(python: Sandbox, shim: str):
    done = python.recorded(PROGRAM, "much", env={"LD_PRELOAD": shim, "INTERRUPTED": "1"})
    assert (done.code, done.out) == (0, "20000\n"), done
    assert lost(python, RUN) == {} and python.report(RUN).calls("nothing") == 20000
