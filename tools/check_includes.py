#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The include law and the few rules about files that no compiler checks. Run by `make lint`.

    base <- format <- runtime
    base <- format <- import <- analysis <- findings <- run <- open <- reader, cli
    run <- export <- cli
    base <- counters <- runtime, cli

A file in src/X includes "Y/..." only where X may see Y, so that the runtime drags no analysis into the user's process
and the analysis needs no Python and no MPI.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

MAY_SEE = {
    "base": {"base"},
    "format": {"base", "format"},
    "counters": {"base", "counters"},
    "runtime": {"base", "format", "counters", "runtime"},
    "import": {"base", "format", "import"},
    "analysis": {"base", "format", "import", "analysis"},
    "export": {"base", "format", "analysis", "run", "export"},
    "findings": {"base", "format", "analysis", "findings"},
    "run": {"base", "format", "analysis", "findings", "run"},
    "open": {"base", "format", "analysis", "run", "open"},
    "reader": {"base", "format", "analysis", "run", "open", "reader"},
    "cli": {"base", "format", "analysis", "export", "findings", "run", "open", "counters", "cli"},
}
SPDX = "// SPDX-License-Identifier: BSD-3-Clause"
INCLUDE = re.compile(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
PRINTS = re.compile(r"\b(v?f?printf|f?puts|f?putc|putchar|perror)\s*\(|\bf(write|flush)\s*\([^;]*\bstd(out|err)\b")
GENERATED = re.compile(r"mpi_\w+\.inc")

Finding = tuple[int, str]


def check_head(path: Path, lines: list[str]) -> Iterator[Finding]:
    if not lines or lines[0] != SPDX:
        yield 1, f"first line is not {SPDX}"
    if path.suffix == ".h" and "#pragma once" not in lines:
        yield 1, "header without #pragma once"


def includes(lines: list[str]) -> Iterator[tuple[int, str, bool]]:
    """Line number, name, and whether it is quoted."""
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[1] or match[2], match[1] is not None


def check_law(path: Path, lines: list[str]) -> Iterator[Finding]:
    folder = path.relative_to(ROOT / "src").parts[0]
    if folder not in MAY_SEE:
        yield 1, f"src/{folder} is not part of the include law (see tools/check_includes.py)"
        return
    for number, name, quoted in includes(lines):
        target = name.split("/")[0] if "/" in name else None
        if not quoted:
            if target in MAY_SEE:
                yield number, f'<{name}> is ours: write "{name}"'
        elif target is None:
            if not GENERATED.fullmatch(name):
                yield number, f'"{name}" must name its folder'
        elif target not in MAY_SEE[folder]:
            yield number, f'{folder} must not include "{name}" (it sees {see(folder)})'


def see(folder: str) -> str:
    return ", ".join(name for name in MAY_SEE if name in MAY_SEE[folder])


def check_printing(path: Path, lines: list[str]) -> Iterator[Finding]:
    """One file knows what may be shown, and whether it could be written."""
    if path.suffix != ".c" or path.name == "printing.c":
        return
    for number, line in enumerate(lines, 1):
        if PRINTS.search(line):
            yield number, "only src/cli/printing.c prints (see cli/printing.h)"


def check_own_header_first(path: Path, lines: list[str]) -> Iterator[Finding]:
    """A header that is read first cannot lean on what others include."""
    own = path.with_suffix(".h")
    if path.suffix != ".c" or not own.exists():
        return
    wanted = own.relative_to(ROOT / "src").as_posix()
    number, name, _ = next(includes(lines), (1, "", True))
    if name != wanted:
        yield number, f'the first include must be its own header, "{wanted}"'


def check_unique_names(paths: list[Path]) -> Iterator[tuple[Path, Finding]]:
    seen: dict[str, Path] = {}
    for path in paths:
        first = seen.setdefault(path.name, path)
        if first is not path:
            yield path, (1, f"file name is already taken by {first.relative_to(ROOT)}")


def check_all() -> Iterator[tuple[Path, Finding]]:
    sources = sorted(p for p in (ROOT / "src").rglob("*") if p.is_file())
    tests = sorted((ROOT / "tests").rglob("*"))
    c_files = [p for p in sources + tests if p.suffix in (".c", ".h")]
    for path in c_files:
        lines = path.read_text(encoding="utf-8").splitlines()
        findings = list(check_head(path, lines))
        if path in sources:
            findings += check_law(path, lines)
            findings += check_printing(path, lines)
            findings += check_own_header_first(path, lines)
        yield from ((path, finding) for finding in findings)
    yield from check_unique_names([p for p in sources if p.name != "meson.build"])


def main() -> int:
    n_findings = 0
    for path, (number, message) in check_all():
        print(f"{path.relative_to(ROOT)}:{number}: {message}")
        n_findings += 1
    return 1 if n_findings else 0


if __name__ == "__main__":
    sys.exit(main())
