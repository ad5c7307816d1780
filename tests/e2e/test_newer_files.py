# SPDX-License-Identifier: BSD-3-Clause
"""Run files with parts of a kind that is not known: they are said to be left out, and counted where a file is written."""

from __future__ import annotations

import struct
import zlib

from harness import ROOT, Sandbox

HEAD, ENTRY = 16, 40
RUN = ROOT / "tests/golden/run-10.allranks"


def with_section(raw: bytes, kind: int, section: bytes) -> bytes:
    n_sections = int.from_bytes(raw[12:16], "little")
    table = HEAD + n_sections * ENTRY
    entries = bytearray(raw[HEAD:table])
    for i in range(n_sections):
        (offset,) = struct.unpack_from("<Q", entries, i * ENTRY + 8)
        struct.pack_into("<Q", entries, i * ENTRY + 8, offset + ENTRY)
    entries += struct.pack("<IIQQQII", kind, 0, len(raw) + ENTRY, len(section), len(section), zlib.crc32(section), 0)
    return raw[:12] + (n_sections + 1).to_bytes(4, "little") + bytes(entries) + raw[table:] + section


def test_a_kind_that_is_not_known_is_left_out(python: Sandbox) -> None:
    newer = python.cwd / "newer.allranks"
    note = b"allranks: note: newer.allranks has 1 part that only a newer allranks can read: "
    for command in ("report", "ranks", "mpi", "waits", "info"):
        newer.write_bytes(RUN.read_bytes())
        plain = python.allranks(command, "newer.allranks")
        newer.write_bytes(with_section(RUN.read_bytes(), 99, b"whatever"))
        done = python.allranks(command, "newer.allranks")
        assert done.code == plain.code == 0
        assert done.err.encode() == note + b"left out here\n"
        if command != "info":
            assert done.out == plain.out


def test_what_cannot_be_kept_is_counted(python: Sandbox) -> None:
    newer = python.cwd / "newer.allranks"
    newer.write_bytes(with_section(RUN.read_bytes(), 99, b"whatever"))
    merged = python.allranks("merge", "newer.allranks", "-o", "merged.allranks")
    assert merged.code == 0 and "they are not in the result" in merged.err
    done = python.allranks("info", "merged.allranks")
    assert done.err == "" and "lost       1 parts of files that only a newer allranks can read" in done.out
    assert python.info("merged.allranks").processes[0]["lost"]["sections"] == 1
