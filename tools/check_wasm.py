#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Proves that reading and analysing a run needs no operating system. Run by `make lint`.

    check_wasm.py BUILD      a meson build directory

The folders below are compiled for WebAssembly, without the files of NEEDS_SYSTEM. Then

1. each function that they call must be defined in them or be one of LIBC;
2. they are linked with tests/wasm/run_tables.c to a module, which may import nothing but OF_STDIO;
3. the module and a program of the same source, for this machine, show the files of tests/golden: byte for byte the same.

Without a compiler for WebAssembly the check says that it is skipped.
"""

from __future__ import annotations

import cProfile
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "wasm"
INCLUDES = Path("/usr/include/wasm32-wasi")
FOLDERS = ("base", "format", "import", "analysis", "findings", "run", "export")

# Files of these folders that are not part of the module.
NEEDS_SYSTEM = {
    "base/clock.c": "reads clocks",
    "base/file.c": "opens files",
    "base/file_system.c": "asks where a directory is mounted from",
    "base/limits.c": "asks for limits of the process",
    "base/process.c": "reads /proc",
    "base/room.c": "asks for the room that disks and memory have left",
    "format/bulk_read.c": "opens files again, to read traces",
    "format/live_names.c": "asks who the user is, and for the environment",
    "format/live_open.c": "opens live files",
    "format/runfile_read.c": "opens run files",
    "format/runfile_write.c": "writes run files",
    "analysis/jobs.c": "lists directories",
    "analysis/last_sign.c": "opens live files",
    "analysis/leftovers.c": "lists and removes files",
    "analysis/load.c": "opens whatever a path names",
    "analysis/look.c": "looks at live files again and again",
    "analysis/summary_load.c": "loads a path",
    "analysis/trace_switch.c": "writes into live files of other processes",
    "analysis/validate.c": "opens live files twice, and compares their clocks with that of the machine",
    "export/otf2.c": "starts threads, and writes files through libotf2; otf2_missing.c is there instead",
    "export/otf2_definitions.c": "writes through libotf2",
    "export/otf2_directory.c": "makes and removes directories",
    "export/otf2_events.c": "writes through libotf2",
    "export/otf2_library.c": "loads libotf2",
    "export/otf2_names.c": "has a lock of threads",
    "export/otf2_operations.c": "has the numbers of libotf2's header",
}

# Functions of the C library whose results depend on nothing but their arguments and memory.
PURE = {
    "memory": "aligned_alloc calloc free malloc realloc memchr memcmp memcpy memmove memrchr memset",
    "texts": "stpcpy strchr strcmp strcpy strcspn strdup strlen strncasecmp strncmp strndup strnlen strpbrk strrchr strspn strstr fnmatch",
    "characters": "isalnum isalpha isdigit isspace tolower toupper",
    "numbers as texts": "strtod strtol strtoll strtoul strtoull snprintf vasprintf vsnprintf",
    "numbers": "ceil exp floor fmax fmin hypot ldexp log log2 pow sqrt",
    "order": "bsearch qsort",
    "dates": "localtime_r strftime",  # local time is UTC there
}
LIBC = {name for names in PURE.values() for name in names.split()}
# snprintf shares code with printf, which is never called: run_tables.mjs supplies functions that throw.
OF_STDIO = {"fd_close", "fd_seek", "fd_write"}

# Lengths of 64 bits become a size_t of 32 there. A file may do so without a cast if all of them were checked before.
SHORTENS: dict[str, str] = {}

FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-ffp-contract=off", f"-I{ROOT / 'src'}", "-Wall", "-Wextra", "-Werror"]
WASM = ["--target=wasm32-wasi", "-nostdlibinc", "-isystem", str(INCLUDES), "-fvisibility=default", "-Wshorten-64-to-32"]
# Nothing is dropped: what the module does not call must need no operating system either.
LINK = ["-mexec-model=reactor", "-Wl,--export-dynamic,--stack-first,-z,stack-size=1048576"]
DRIVER = ROOT / "tests" / "wasm" / "run_tables.c"
UNDEFINED = re.compile(r"error: .*?([^/\s]+)\.o: undefined symbol: (\S+)")


def missing() -> str | None:
    """The Debian package that is missing, by its name."""
    for command, package in (("clang", "clang"), ("wasm-ld", "lld"), ("node", "nodejs")):
        if not shutil.which(command):
            return package
    if not (INCLUDES / "stdio.h").exists():
        return "wasi-libc"
    return None if builtins().exists() else "libclang-rt-VERSION-dev-wasm32"


def builtins() -> Path:
    """What clang calls for arithmetic that the machine has no instruction for."""
    asked = ["clang", "--target=wasm32-wasi", "-print-libgcc-file-name"]
    return Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())


def sources() -> list[str]:
    found = (path for folder in FOLDERS for path in sorted((ROOT / "src" / folder).glob("*.c")))
    names = [path.relative_to(ROOT / "src").as_posix() for path in found]
    return [name for name in names if name not in NEEDS_SYSTEM]


def check_lists() -> Iterator[str]:
    for listed in (NEEDS_SYSTEM, SHORTENS):
        yield from (f"src/{name} does not exist: remove it from tools/check_wasm.py" for name in listed if not (ROOT / "src" / name).exists())


def object_of(name: str) -> Path:
    return OUT / (Path(name).name + ".o")


def compile_one(source: Path, build: Path) -> Iterator[str]:
    name = os.path.relpath(source, ROOT / "src")
    command = ["clang", *WASM, *FLAGS, f"-I{build / 'src'}", "-c", str(source), "-o", str(object_of(name))]
    if name in SHORTENS:
        command.append("-Wno-shorten-64-to-32")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        yield done.stderr.replace(f"{ROOT}/", "").rstrip()
        yield f"{source.relative_to(ROOT)} does not compile for WebAssembly (there is no operating system, and a size_t has 32 bits)"


def compile_all(names: list[str], build: Path) -> list[str]:
    paths = [ROOT / "src" / name for name in names] + [DRIVER]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [line for lines in pool.map(lambda path: list(compile_one(path, build)), paths) for line in lines]


def undefined(objects: list[Path]) -> set[tuple[str, str]]:
    """Symbols that none of the objects defines, each with a file that needs it. The linker names only the first such file."""
    command = ["wasm-ld", "--no-entry", "--no-gc-sections", "--error-limit=0", *objects, builtins(), "-o", OUT / "none"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    return {(match[1], match[2]) for match in UNDEFINED.finditer(done.stderr)}


def owner(symbol: str) -> str:
    """The file that was left out and defines a function."""
    begins = re.compile(rf"^\w[^;=]*\b{re.escape(symbol)}\(", re.MULTILINE)
    for name, why in NEEDS_SYSTEM.items():
        if begins.search((ROOT / "src" / name).read_text(encoding="utf-8")):
            return f" of src/{name}, which {why}"
    return ""


def check_symbols(names: list[str]) -> Iterator[str]:
    bad = {symbol for _, symbol in undefined([object_of(name) for name in names])} - LIBC
    if not bad:
        return
    for name in names:
        for symbol in sorted(symbol for _, symbol in undefined([object_of(name)]) if symbol in bad):
            yield f"src/{name} needs {symbol}{owner(symbol)}: there is no operating system in src/{Path(name).parts[0]} (see tools/check_wasm.py)"


def link(names: list[str]) -> tuple[Path, list[str]]:
    """The module, or why there is none."""
    module = OUT / "run_tables.wasm"
    objects = [str(object_of(name)) for name in [*names, DRIVER.name]]
    done = subprocess.run(["clang", "--target=wasm32-wasi", *LINK, *objects, "-lm", "-o", str(module)], capture_output=True, text=True)
    return module, [done.stderr.rstrip()] if done.returncode else []


def check_imports(module: Path) -> Iterator[str]:
    script = "for (const i of WebAssembly.Module.imports(new WebAssembly.Module(require('fs').readFileSync(process.argv[1])))) console.log(i.name)"
    listed = subprocess.run(["node", "-e", script, str(module)], capture_output=True, text=True, check=True)
    for name in sorted(set(listed.stdout.split()) - OF_STDIO):
        yield f"the WebAssembly module imports {name}: a function in LIBC of tools/check_wasm.py needs the operating system"


def inputs() -> list[Path]:
    """Run files and live files of every version (those that can no longer be read have a message), and a pstats file."""
    golden = ROOT / "tests" / "golden"
    directory = OUT / "inputs"
    directory.mkdir(exist_ok=True)
    for path in golden.glob("live-*.tar.xz"):
        with tarfile.open(path) as archive:
            for member in archive.getmembers():
                if member.name.endswith(".live"):
                    live = archive.extractfile(member)
                    assert live
                    (directory / f"{path.name.split('.')[0]}-{Path(member.name).name}").write_bytes(live.read())
    profile = cProfile.Profile()
    profile.runcall(re.compile, r"(a|b)*c{2,3}[^d-f]\w+")
    profile.dump_stats(directory / "pstats")
    return sorted(golden.glob("run-*.allranks")) + sorted(directory.iterdir())


def build_native(build: Path) -> Path:
    program = OUT / "run_tables"
    libraries = [str(build / "src" / name) for name in ("libreading.a", "libcore.a")]
    subprocess.run(["cc", *FLAGS, str(DRIVER), *libraries, "-lm", "-pthread", "-o", str(program)], check=True)
    return program


def check_answers(module: Path, build: Path) -> Iterator[str]:
    files = inputs()
    program = build_native(build)
    answers = OUT / "answers"
    answers.mkdir(exist_ok=True)
    script = [ROOT / "tests" / "wasm" / "run_tables.mjs", module, answers, *files]
    done = subprocess.run(["node", *map(str, script)], capture_output=True, text=True)
    if done.returncode:
        yield f"the WebAssembly module failed: {done.stderr.rstrip()}"
        return
    for path in files:
        native = subprocess.run([program, path], capture_output=True, check=True, env={**os.environ, "TZ": "UTC"}).stdout
        if native != (answers / path.name).read_bytes():
            (answers / f"{path.name}.native").write_bytes(native)
            yield f"{path.name}: WebAssembly and this machine differ (diff build/wasm/answers/{path.name}*)"


def check(build: Path) -> list[str]:
    names = sources()
    findings = list(check_lists()) or compile_all(names, build) or list(check_symbols(names))
    if findings:
        return findings
    module, findings = link(names)
    return findings or list(check_imports(module)) or list(check_answers(module, build))


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    lacking = missing()
    if lacking:
        print(f"lint: WebAssembly: skipped, there is no {lacking} (this is the name of a Debian package)")
        return 0
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    findings = check(Path(sys.argv[1]).resolve())
    print("\n".join(findings), end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
