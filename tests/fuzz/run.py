#!/usr/bin/env python3
"""Fuzz every reader of bytes from a file: clang's libFuzzer, under ASan and UBSan.

    tests/fuzz/run.py [--seconds 60] [--python .venv/bin/python] [TARGET ...]

An input that crashes, takes longer than TIMEOUT_S or more memory than RSS_MB is a finding: it is kept below build/fuzz/findings,
and the exit status is 1. What has been reached so far is kept in build/fuzz/corpus, so that a second run goes on from there.
To look at a finding:  build/fuzz/fuzz_run build/fuzz/findings/run-crash-...
"""

from __future__ import annotations

import argparse
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "fuzz"
BUILD = ROOT / "build" / "fuzz"
SOURCES = [path for part in ("base", "format", "import", "analysis", "findings", "run", "export") for path in sorted((ROOT / "src" / part).glob("*.c"))]
# As it is built without the library that writes archives: all that needs it is a stand-in.
SOURCES = [path for path in SOURCES if path.name == "otf2_missing.c" or "otf2" not in path.name]
FLAGS = ["-std=gnu11", "-g", "-O1", "-D_GNU_SOURCE", "-fno-omit-frame-pointer", f"-I{ROOT / 'src'}", f"-I{ROOT / 'tests/unit'}"]
SANITIZERS = "address,undefined"
TIMEOUT_S = 10
RSS_MB = 1024
TRACED = ["--trace", "--builtins", "none"]
PROGRAM = """
import os, sys, threading, time
def leaf(n): return n
def recurse(n): return leaf(n) if n == 0 else recurse(n - 1)
def steps(n):
    for i in range(n): yield recurse(i)
def work(): return sum(steps(5)) + len(sorted(range(9)))
threads = [threading.Thread(target=work) for _ in range(2)]
for t in threads: t.start()
for t in threads: t.join()
work(); time.sleep(0.01)
if sys.argv[1] == "dies": os.kill(os.getpid(), 9)
"""


def record(python: str, directory: Path, end: str) -> None:
    """However it ends: one that dies leaves its live file."""
    for name, options in {"real": [], "traced": TRACED}.items():
        command = [python, "-m", "allranks", "-q", "--live-dir", directory / f"{name}.files", "-o", directory / name, *options]
        subprocess.run([*command, "-c", PROGRAM, end], check=end == "ends", cwd=directory)


def real_run(python: str, corpus: Path) -> None:
    if not (corpus / "traced").exists():
        record(python, corpus, "ends")


def real_live(python: str, corpus: Path) -> None:
    """A file as a killed process leaves it, without the part that was never used."""
    if (corpus / "traced").exists():
        return
    record(python, corpus, "dies")
    for path in list(corpus.rglob("*.live")):
        content = path.read_bytes()
        name = path.relative_to(corpus).parts[0].removesuffix(".files")
        (corpus / name).write_bytes(content[: struct.unpack_from("<Q", content, 24)[0]])
        path.unlink()
        path.parent.rmdir()
        path.parent.parent.rmdir()


def real_pstats(python: str, corpus: Path) -> None:
    """What cProfile writes, and the same dict in every version of the marshal format."""
    code = (
        "import cProfile, marshal, sys\n"
        "p = cProfile.Profile()\n"
        "def f(n): return n and f(n - 1)\n"
        "p.runcall(lambda: sorted([f(3), f(2)], key=abs))\n"
        "p.create_stats()\n"
        "for version in range(5):\n"
        "    open(f'{sys.argv[1]}/real{version}', 'wb').write(marshal.dumps(p.stats, version))\n"
    )
    subprocess.run([python, "-c", code, corpus], check=True)


# A reader is a line here and a file fuzz_NAME.c; its seeds come from make_seeds.c, and from a run where there is a maker of one.
TARGETS: dict[str, tuple[int, Callable[[str, Path], None] | None]] = {
    # name: (longest input in bytes, maker of a real file)
    "live": (192 << 10, real_live),
    "run": (48 << 10, real_run),
    "trace": (4 << 10, None),
    "linetable": (4 << 10, None),
    "pstats": (8 << 10, real_pstats),
}


def compile_all(names: list[str]) -> None:
    objects = BUILD / "objects"
    objects.mkdir(parents=True, exist_ok=True)
    for what in ("functions", "classes"):
        maker = [ROOT / "tools" / "gen_mpi.py", what, ROOT / "src" / "format" / "mpi.def"]
        subprocess.run([sys.executable, *maker, objects / f"mpi_{what}.inc"], check=True)
    clang = ["clang", *FLAGS, f"-I{objects}", f"-fsanitize={SANITIZERS}", "-fno-sanitize-recover=all"]
    for source in SOURCES:
        made = objects / (source.stem + ".o")
        newest = max(path.stat().st_mtime for path in [source, *ROOT.glob("src/*/*.h")])
        if not made.exists() or made.stat().st_mtime < newest:
            subprocess.run([*clang, "-fsanitize=fuzzer-no-link", "-c", source, "-o", made], check=True)
    linked = [objects / (source.stem + ".o") for source in SOURCES]
    for name in names:
        target = BUILD / f"fuzz_{name}"
        subprocess.run([*clang, "-fsanitize=fuzzer", HERE / f"fuzz_{name}.c", *linked, "-lm", "-o", target], check=True)
    # Without the fuzzer's own counters: they are in its library only.
    seeds = [*clang, HERE / "make_seeds.c", *SOURCES, "-lm", "-o", BUILD / "make_seeds"]
    subprocess.run(seeds, check=True)


def fuzz(name: str, seconds: int, python: str) -> bool:
    longest, real = TARGETS[name]
    corpus, findings = BUILD / "corpus" / name, BUILD / "findings"
    corpus.mkdir(parents=True, exist_ok=True)
    findings.mkdir(exist_ok=True)
    subprocess.run([BUILD / "make_seeds", name, corpus], check=True)
    if real:
        real(python, corpus)
    options = {
        "max_total_time": seconds,
        "max_len": longest,
        "timeout": TIMEOUT_S,
        "rss_limit_mb": RSS_MB,
        "artifact_prefix": f"{findings}/{name}-",
        "print_final_stats": 1,
        "verbosity": 0,
    }
    command = [BUILD / f"fuzz_{name}", *(f"-{key}={value}" for key, value in options.items()), corpus]
    print(f"fuzz: {name}, {seconds} s", flush=True)
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace", env={**os.environ, "ASAN_OPTIONS": "detect_leaks=1"})
    stats = dict(line[6:].split(": ") for line in done.stderr.splitlines() if line.startswith("stat::"))
    inputs = stats.get("number_of_executed_units", "?").strip()
    print(f"fuzz: {name}: {inputs} inputs, {'nothing found' if done.returncode == 0 else 'FOUND'}", flush=True)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60, help="for each reader")
    parser.add_argument("--python", default=sys.executable, help="one with allranks, for seeds that are recorded")
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(TARGETS)}; default: all")
    options = parser.parse_args()
    names = options.targets or list(TARGETS)
    unknown = set(names) - set(TARGETS)
    if unknown:
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    compile_all(names)
    passed = [fuzz(name, options.seconds, options.python) for name in names]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
