# SPDX-License-Identifier: BSD-3-Clause
"""Run files of a later version: tables and streams that are not known are shown as far as that can be done; parts of a kind that is
not known are said to be left out, and counted where a file is written.
"""

from __future__ import annotations

import json
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


TABLE, STREAMS = 17, 18  # kinds of sections
NUMBER, STRING, FUNCTION, NODE, PROCESS, LOCATION = range(6)  # roles
KEY, OPTIONAL = 1, 2  # flags


def text(value: str) -> bytes:
    return bytes([len(value)]) + value.encode()


def table(name: str, columns: list[tuple[str, str, int, int]], rows: list[list[int]]) -> bytes:
    """Of numbers below 128, each of which is a byte; keys come first, and rows are sorted by them."""
    described = b"".join(text(name) + text(unit) + bytes([role, 0, flags, 0]) for name, unit, role, flags in columns)
    return text(name) + bytes([len(columns)]) + described + bytes([len(rows)]) + b"".join(map(bytes, zip(*rows)))


LINES = table(
    "later.lines",
    [("node", "", NODE, KEY), ("location", "", LOCATION, KEY), ("what", "", STRING, KEY | OPTIONAL), ("class", "", NUMBER, KEY),
     ("cost", "ns", NUMBER, 0)],
    [[1, 0, 0, 7, 90], [3, 1, 2, 8, 100]],
)  # fmt: skip
TRACE = text("later.trace") + bytes([0, 2, 0, 3]) + b"abc" + bytes([2, 4]) + b"defg"  # of threads 0 and 2
LOAD = """
import json, sys, allranks
run = allranks.load("newer.allranks", as_="python")
rows = [tuple(row) for row in run.table("later.lines")]
print(json.dumps([run.tables[-1], run.table("later.lines").to_dict(), rows, run.table("other_data").to_dict()]))
"""


def test_tables_and_streams_that_are_not_known_are_shown(python: Sandbox) -> None:
    newer = python.cwd / "newer.allranks"
    newer.write_bytes(with_section(with_section(RUN.read_bytes(), TABLE, LINES), STREAMS, TRACE))
    report = json.loads(python.answer("report", "--json", "newer.allranks"))
    first, second = report["other_tables"]["later.lines"]
    assert list(first) == ["node", "function", "file", "line", "thread", "rank", "what", "class", "cost_ns"]
    for row, node in ((first, report["tree"][1]), (second, report["tree"][3])):
        assert {key: row[key] for key in ("function", "file", "line")} == {key: node[key] for key in ("function", "file", "line")}
    assert [first[key] for key in ("node", "thread", "rank", "what", "class", "cost_ns")] == [1, 0, 0, None, 7, 90]
    assert [second[key] for key in ("node", "thread", "class", "cost_ns")] == [3, 1, 8, 100] and second["what"]

    done = python.plain("-c", LOAD)
    assert done.code == 0, done
    name, columns, rows, others = json.loads(done.out)
    assert name == "later.lines" and list(columns) == [key if key != "cost_ns" else "cost_s" for key in first]
    assert columns["class"] == [7, 8] and columns["cost_s"] == [90e-9, 100e-9] and columns["what"][0] == ""
    assert [row[0] for row in rows] == [1, 3]
    assert list(zip(others["kind"], others["name"], others["rows"], others["threads"], others["bytes"])) == [
        ("table", "later.lines", 2, -1, -1), ("stream", "later.trace", -1, 2, 7)
    ]  # fmt: skip

    told = python.answer("info", "newer.allranks").decode()
    assert "\nother      table later.lines, 2 rows\nother      stream later.trace, 2 threads, 7 B\n" in told
    listed = json.loads(python.answer("info", "--json", "newer.allranks"))["other_data"]
    assert [(row["kind"], row["rows"], row["threads"], row["bytes"]) for row in listed] == [
        ("table", 2, None, None), ("stream", None, 2, 7)
    ]  # fmt: skip
    plain = json.loads(python.answer("report", "--json", RUN))
    assert plain["other_tables"] == {} and "unknown" not in python.answer("info", RUN).decode()


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
