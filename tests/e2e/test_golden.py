# SPDX-License-Identifier: BSD-3-Clause
"""What every command says of runs of every version that was ever written, to the byte: tests/golden/README.md."""

from __future__ import annotations

import difflib
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from harness import ROOT, clean_environment

GOLDEN = ROOT / "tests/golden"
ANSWERS = GOLDEN / "answers"
RUNS = sorted(path.stem for path in GOLDEN.glob("run-*.allranks"))
LIVES = sorted(path.name.removesuffix(".tar.xz") for path in GOLDEN.glob("live-*.tar.xz"))
# As text, and where it is not for people also packed: it is long.
COMMANDS = {
    "report": ("report", "{}"),
    "report-all": ("report", "--rows", "0", "--min", "0", "{}"),
    "report-functions": ("report", "--functions", "--rows", "0", "{}"),
    "report-bottom-up": ("report", "--tree", "bottom-up", "--rows", "20", "{}"),
    "report-callers": ("report", "--callers", "work", "--callees", "work", "{}"),
    "report-rank": ("report", "--ranks", "1", "--thread", "0", "{}"),
    "report-json": ("report", "--json=1", "{}"),
    "report-csv": ("report", "--csv", "{}"),
    "ranks": ("ranks", "{}"),
    "ranks-function": ("ranks", "{}", "late"),
    "ranks-json": ("ranks", "--json=1", "{}"),
    "ranks-csv": ("ranks", "--csv", "{}"),
    "mpi": ("mpi", "{}"),
    "mpi-functions": ("mpi", "--by", "function", "{}"),
    "mpi-communicators": ("mpi", "--by", "communicator", "{}"),
    "mpi-peers": ("mpi", "--by", "peer", "{}"),
    "mpi-sizes": ("mpi", "--by", "size", "{}"),
    "mpi-requests": ("mpi", "--requests", "{}"),
    "mpi-matrix": ("mpi", "--matrix", "{}"),
    "mpi-json": ("mpi", "--json=1", "{}"),
    "mpi-csv": ("mpi", "--csv", "{}"),
    "waits": ("waits", "{}"),
    "waits-first": ("waits", "{}", "1"),
    "waits-json": ("waits", "--json=1", "{}"),
    "waits-csv": ("waits", "--csv", "{}"),
    "where": ("where", "{}"),
    "where-json": ("where", "--json=1", "{}"),
    "info": ("info", "{}"),
    "info-json": ("info", "--json=1", "{}"),
    "info-check": ("info", "--check", "{}"),
    "diff": ("diff", "{}", "run-9.allranks"),
    "diff-json": ("diff", "--json=1", "{}", "run-9.allranks"),
    "diff-csv": ("diff", "--csv", "{}", "run-9.allranks"),
    "scale": ("scale", "{}", "run-9.allranks"),
    "scale-json": ("scale", "--json=1", "{}", "run-9.allranks"),
    "scale-csv": ("scale", "--csv", "{}", "run-9.allranks"),
}
# Of runs with a trace, besides.
TRACED = {"run-11"}
OF_TRACES = {
    "dump": ("dump", "--rows", "60", "{}"),
    "dump-csv": ("dump", "--csv", "{}"),
    "dump-pairs-csv": ("dump", "--pairs", "--csv", "{}"),
    "timeline": ("timeline", "--width", "80", "{}"),
    "timeline-threads": ("timeline", "--threads", "--width", "80", "--from", "0.2s", "{}"),
    "timeline-json": ("timeline", "--json", "--width", "200", "{}"),
    "waits-trace": ("waits", "--trace", "{}"),
    "critical-path": ("waits", "--critical-path", "{}"),
    "waits-trace-json": ("waits", "--trace", "--json", "{}"),
    "export-chrome": ("export", "-f", "chrome", "-o", "-", "--ranks", "1", "--from", "0.9s", "{}"),
}
COMMAND = Path(sys.executable).with_name("allranks")
ACCEPT = os.environ.get("ALLRANKS_ACCEPT", "0") != "0"


def is_packed(name: str) -> bool:
    return name.endswith(("-json", "-csv"))


def place(run: str, name: str) -> Path:
    return ANSWERS / run / f"{name}.{'xz' if is_packed(name) else 'txt'}"


def accept(run: str, name: str, said: str) -> None:
    path = place(run, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    packed = lzma.compress(said.encode(), preset=9) if is_packed(name) else said.encode()
    path.write_bytes(packed)


def expected(run: str, name: str) -> str:
    raw = place(run, name).read_bytes()
    return (lzma.decompress(raw) if is_packed(name) else raw).decode()


def answer(directory: Path, words: tuple[str, ...], run: str) -> str:
    """Status, output and errors."""
    done = subprocess.run(
        [COMMAND, *(word.format(run) for word in words)],
        cwd=directory,
        env={**clean_environment(), "TZ": "UTC"},
        capture_output=True,
        text=True,
    )
    return f"status {done.returncode}\n{done.stdout}{done.stderr}"


def check(run: str, name: str, said: str) -> None:
    if ACCEPT:
        accept(run, name, said)
    wanted = expected(run, name)
    difference = difflib.unified_diff(wanted.splitlines(), said.splitlines(), "was", "is", lineterm="", n=1)
    assert said == wanted, "\n".join(list(difference)[:60])


@pytest.mark.parametrize("run", RUNS)
def test_runs(tmp_path: Path, run: str) -> None:
    for path in GOLDEN.glob("*.allranks"):
        shutil.copy(path, tmp_path)
    for name, words in {**COMMANDS, **(OF_TRACES if run in TRACED else {})}.items():
        check(run, name, answer(tmp_path, words, f"{run}.allranks"))


@pytest.mark.parametrize("live", LIVES)
def test_live_files(tmp_path: Path, live: str) -> None:
    with tarfile.open(GOLDEN / f"{live}.tar.xz") as archive:
        archive.extractall(tmp_path / live)
    for name in ("report", "report-all", "report-json", "where", "info", "info-check"):
        check(live, name, answer(tmp_path, COMMANDS[name], live))
