# SPDX-License-Identifier: BSD-3-Clause
"""docs/file-format.md against the headers: versions, sections and kinds are those of the code."""

from __future__ import annotations

import re

from harness import ROOT

DOCS = (ROOT / "docs/file-format.md").read_text()
FORMAT = ROOT / "src/format"


def defined(header: str, name: str) -> int:
    found = re.search(rf"#define {name} (\d+)", (FORMAT / header).read_text())
    assert found, f"{header} defines no {name}"
    return int(found[1])


def enumerated(header: str, prefix: str) -> dict[str, int]:
    """Names without the prefix, and their values; comments and line breaks may stand between."""
    found = re.findall(rf"\b{prefix}_(\w+)\s*=\s*(\d+)", (FORMAT / header).read_text())
    assert found, f"{header} has no {prefix}_…"
    return {name: int(value) for name, value in found}


def test_version_of_live_files() -> None:
    version = defined("livefile.h", "AR_LIVE_VERSION")
    assert re.search(rf"^\| 8 \| 4 \| version \| {version} \|$", DOCS, re.M)


def test_versions_of_run_files() -> None:
    version, oldest = defined("runfile.h", "AR_RUN_VERSION"), defined("runfile.h", "AR_RUN_OLDEST_VERSION")
    newest = defined("runfile.h", "AR_RUN_NEWEST_VERSION")
    assert f"version u32 = {version}, or {newest} with bulk |" in DOCS
    assert f"Readers of version {newest} read versions {oldest} to {newest - 1}" in DOCS


def test_golden_files_of_every_version() -> None:
    golden = ROOT / "tests/golden"
    oldest, newest = defined("runfile.h", "AR_RUN_OLDEST_VERSION"), defined("runfile.h", "AR_RUN_NEWEST_VERSION")
    for number in range(oldest, newest + 1):
        raw = (golden / f"run-{number}.allranks").read_bytes()
        assert raw[:8] == b"ALLRANKS" and int.from_bytes(raw[8:12], "little") == number
    assert (golden / f"live-{defined('livefile.h', 'AR_LIVE_VERSION')}.tar.xz").exists()


def test_sections() -> None:
    rows = re.findall(r"^\| (\d+) \| [^|]*\| ", DOCS[DOCS.index("| kind | section |") :], re.M)
    assert {int(row) for row in rows} >= set(enumerated("runfile_layout.h", "AR_SECTION").values())


def test_kinds_of_waits() -> None:
    text = DOCS[DOCS.index("**Stream**") :]
    listed = text[text.index("(") : text.index(")")]
    kinds = {value for value in enumerated("kinds.h", "AR_SYNC").values() if value}
    assert {int(number) for number in re.findall(r"(?:^\(|, ?|\n)(\d+) ", listed)} == kinds
