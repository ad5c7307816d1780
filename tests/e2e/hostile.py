# SPDX-License-Identifier: BSD-3-Clause
"""Files as nobody's recording leaves them, made byte by byte after docs/file-format.md.

Each is a name and its bytes. Whether one is refused or read is the reader's choice, where nothing else is said: what
matters is that it is one of the two.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable

from harness import ROOT

PAGE = 4096
LIVE_VERSION = int(re.search(r"#define AR_LIVE_VERSION (\d+)", (ROOT / "src/format/livefile.h").read_text()).group(1))
NAMES = {
    "escapes": b"\x1b[2J\x1b]0;title\x07",
    "c1": b"\xc2\x9b2J",
    "lines": b"a\nallranks: error: b\r\x08\x7f",
    "right to left": b"\xe2\x80\xaeevil\xe2\x81\xa6",
    "not utf-8": b"\xff\xfe\x80abc\xc3",
    "long": b"x" * 300_000,
    "dots": b"a." * 150_000,
    "empty": b"",
}

# Calls, how many of them were timed, squares.
ESTIMATES = {
    "plain": (100, 10, 500.0),
    "none timed": (100, 0, 0.0),
    "one timed": (2**64 - 1, 1, 25.0),
    "more timed than called": (1, 2**64 - 1, 1.0),
    "squares no number": (100, 10, float("nan")),
    "squares without end": (2**64 - 1, 2, float("inf")),
    "squares below nothing": (100, 10, -1e308),
}

# ---- run files ----


def varint(n: int) -> bytes:
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes([*out, n])


def column(numbers: Iterable[int]) -> bytes:
    return b"".join(map(varint, numbers))


def run_file(sections: list[tuple[int, bytes]], version: int = 2, table: list[tuple[int, int]] | None = None) -> bytes:
    """`table` may say other offsets and lengths than those of the sections."""
    at = 16 + 40 * len(sections)
    entries, bodies = b"", b""
    for kind, body in sections:
        entries += struct.pack("<IIQQQII", kind, 0, at, len(body), len(body), zlib.crc32(body), 0)
        bodies += body
        at += len(body)
    whole = b"ALLRANKS" + struct.pack("<II", version, len(sections)) + entries + bodies
    for i, (offset, length) in enumerate(table or []):
        crc = zlib.crc32(whole[offset : offset + length])
        entry = struct.pack("<QQQI", offset, length, length, crc)
        whole = whole[: 16 + 40 * i + 8] + entry + whole[16 + 40 * i + 36 :]
    return whole


def sections(
    *, names: list[bytes] = (), kind: int = 1, parents: list[int] | None = None, facts: list[tuple[int, int]] = (),
    hosts: list[int] = (1,), metrics: list[bytes] | None = None,
) -> list[tuple[int, bytes]]:  # fmt: skip
    """A function a name, in a file of that name; a node a function, each the last one's child if nobody says otherwise.

    Strings are "", "main" and the names; `parents` are distances.
    """
    texts = [b"", b"main", *names]
    n = len(names)
    n_nodes = n + 1 if parents is None else len(parents) + 1
    distances = [1] * n if parents is None else parents
    ids = list(range(2, n + 2))
    functions = [i + 1 if i < n else 0 for i in range(n_nodes - 1)]
    time = varint(4) + b"time" + varint(2) + b"ns" + varint(0) + varint(n_nodes)
    time += column(x for i in range(n_nodes) for x in (1 if i else 0, 1, 0)) + column([10**9] * n_nodes)
    n_processes = len(hosts)
    return [
        (1, varint(len(texts)) + b"".join(varint(len(text)) + text for text in texts)),
        (2, varint(len(facts)) + column(key for key, _ in facts) + column(value for _, value in facts)),
        (3, varint(n + 1) + column([3] + [kind] * n) + column([0, *ids]) + column([0, *ids]) + column([0] + [7] * n)),
        (4, varint(n_nodes) + column(distances) + column([0, *functions]) + column([0] * n_nodes)),
        (5, varint(n_processes) + varint(8) + column([0] * n_processes) * 2 + column(hosts)
            + column([77] * n_processes) + column([1] * n_processes) + column([10**18] * n_processes)
            + column([10**9] * n_processes) + column([0] * n_processes) * 8 + column([0] * n_processes) * 2),
        (6, varint(1) + column([0, 0, 1])),
        *[(7, body) for body in ([time] if metrics is None else metrics)],
    ]  # fmt: skip


def hostile_runs() -> dict[str, bytes]:
    plain = sections(names=[b"f", b"g"])
    whole = run_file(plain)
    files = {f"name, {name}": run_file(sections(names=[b"f", text], facts=[(2, 3), (3, 2)], hosts=[3]))
             for name, text in NAMES.items() if text}  # fmt: skip
    files |= {f"name in C, {name}": run_file(sections(names=[b"f", text], kind=4)) for name, text in NAMES.items() if text}
    files |= {f"count of section {kind}": run_file([(k, varint(2**32 - 1) + body if k == kind else body) for k, body in plain])
              for kind in range(1, 8)}  # fmt: skip
    return files | {
        "plain": whole,
        "newer": run_file(plain, version=99),
        "version 0": run_file(plain, version=0),
        "parent itself": run_file(sections(names=[b"f", b"g"], parents=[1, 0])),
        "parent before all": run_file(sections(names=[b"f", b"g"], parents=[1, 9])),
        "string of 2^60": run_file([(1, varint(1) + varint(2**60)), *plain[1:]]),
        "no strings": run_file(plain[1:]),
        "twice": run_file(plain + plain),
        "backwards": run_file(plain[::-1]),
        "row beyond": run_file(sections(names=[b"f"], metrics=[b"\x04time\x02ns\x00\x01" + column([99, 1, 0, 5])])),
        "values without rows": run_file(sections(names=[b"f"], metrics=[b"\x04time\x02ns\x00" + varint(2**32 - 1)])),
        "metric of nobody": run_file(sections(names=[b"f"], metrics=[b"\x05other\x02ns\x00" + varint(2**32 - 1)])),
        "overlapping": run_file([(99, b"")] * 3000 + [(99, b"x" * 300_000)], table=[(16, 400_000)] * 3000),
        "deep": run_file(sections(names=[b"%d" % i for i in range(60_000)])),
        "wide": run_file(sections(names=[b"%d" % i for i in range(60_000)], parents=[i + 1 for i in range(60_000)])),
        "many facts": run_file(sections(names=[b"%d" % i for i in range(60_000)], parents=[],
                                        facts=[(i, 1) for i in range(60_000)])),
        "many hosts": run_file(sections(names=[b"%d" % i for i in range(40_000)], parents=[], hosts=list(range(40_000)))),
    }  # fmt: skip


# ---- live files ----


def record(kind: int, name: bytes, file: bytes = b"", *, function_kind: int = 1, table: bytes = b"", table_kind: int = 0,
           other: int = 0) -> bytes:  # fmt: skip
    body = name + file + table
    n_bytes = (32 + len(body) + 7) // 8 * 8
    head = struct.pack("<IBBBBIIIIII", n_bytes, kind, function_kind, table_kind, 0, 7, len(name), len(file), len(table), other, 0)
    return (head + body).ljust(n_bytes, b"\0")


def node(key: int, parent: int, ticks: int = 100, values: int = 0, n_calls: int = 1) -> bytes:
    return struct.pack("<QqQIIIIQIIII", key, ticks, n_calls, parent, 0, values, 0, 0, 0, 0, 0, 0)


def thread(number: int, root: int, name: bytes = b"MainThread") -> bytes:
    return struct.pack("<IIQ48xIIQQ40s", root, root, 2500, number, 77, 1000, 0, name)


def extent(kind: int, owner: int, body: bytes, used: int | None = None) -> bytes:
    n_bytes = (64 + len(body) + PAGE - 1) // PAGE * PAGE
    head = struct.pack("<IIQQ", kind, owner, n_bytes, 64 + len(body) if used is None else used)
    return (head.ljust(64, b"\0") + body).ljust(n_bytes, b"\0")


def live_file(extents: list[bytes], *, version: int = LIVE_VERSION, used: int | None = None, host: bytes = b"host",
              costs: tuple[float, float] = (40.0, 50.0)) -> bytes:  # fmt: skip
    body = b"".join(extents)
    head = b"ALLRLIVE" + struct.pack("<IIIIQQIIQIIII", version, PAGE, 1, 0, PAGE + len(body) if used is None else used,
                                     1 << 40, 77, 1, 5, 0xFFFFFFFF, 0, 0, 0)  # fmt: skip
    head += host.ljust(64, b"\0")[:64] + b"job".ljust(64, b"\0")
    head += struct.pack("<6Q8Q2d", 1000, 50_000, 10**18, 3000, 54_000, 10**18, *[0] * 8, *costs)
    return head.ljust(PAGE, b"\0") + body


ROOT_REF = 3 * 64 + 1  # header, threads and records are a page each


def live_of(records: list[bytes], nodes: list[bytes], *more: bytes, threads: bytes | None = None, **how) -> bytes:
    """The records have to fit a page, so that the root is where ROOT_REF says."""
    body = b"".join(records)
    assert len(body) <= PAGE - 64
    return live_file([extent(1, 0, thread(0, ROOT_REF) if threads is None else threads), extent(2, 0, body),
                      extent(3, 0, b"".join(nodes)), *more], **how)  # fmt: skip


def hostile_lives() -> dict[str, bytes]:
    known = [record(1, b"f"), record(1, b"g", b"g.py", function_kind=4), record(2, b"builtins", b"counted"),
             record(1, b"time.sleep", function_kind=11)]
    root = node(0, 0, -1000)
    n = 4000
    values_ref = ROOT_REF - 1 + 64 * ((64 + 64 * (n + 1) + PAGE - 1) // PAGE) + 1
    chain = b"".join(struct.pack("<II56x", 3, values_ref + i - 1 if i else 0) for i in range(n))
    in_circle = struct.pack("<II56x", 3, ROOT_REF + 2 * 64) * 2
    tables = {
        "lnotab": (1, b"\xff\x80" * 400),
        "pep626": (2, b"\x00\x80\xff\x7f" * 300),
        "pep657": (3, b"\xff" * 50 + b"\xe8" + b"\x7f" * 300),
        "of no kind": (99, b"abc"),
    }
    files = {f"name, {name}": live_of([record(2, text[:900], text[:900]), record(1, text[:900], text[:900])],
                                      [root, node(1, ROOT_REF, -1500)], threads=thread(0, ROOT_REF, text[:40]), host=text)
             for name, text in NAMES.items()}  # fmt: skip
    files |= {f"lines, {name}": live_of([record(1, b"f", b"f.py", table=table, table_kind=kind), record(1, b"g")],
                                        [root, node(1, ROOT_REF, -1100), node(2 | 2**63, ROOT_REF + 1), node(2 | 9 << 32, ROOT_REF + 1)])
              for name, (kind, table) in tables.items()}  # fmt: skip
    for name, (n_calls, n_timed, squares) in ESTIMATES.items():
        block = struct.pack("<IIQd40x", 4, 0, n_timed, squares)
        nodes = [node(2, ROOT_REF + 1, ticks, ROOT_REF + 64, n_calls) for ticks in (0, 5, 2**63 - 1, -(2**63))]
        files[f"estimate, {name}"] = live_of(known, [root, node(1, ROOT_REF), *nodes, node(3, ROOT_REF + 2, 7, 0, n_calls)],
                                             extent(4, 0, block))  # fmt: skip
    return files | {
        "plain": live_of(known, [root, node(1, ROOT_REF), node(2, ROOT_REF + 1)]),
        "not assigned": live_of(known, [root, node(3, ROOT_REF), node(3, ROOT_REF + 1, 2**63 - 1, 0, 2**64 - 1), node(1, ROOT_REF + 1)]),
        "newer": live_of(known, [root], version=99),
        "used beyond": live_of(known, [root], used=1 << 40),
        "used all bits": live_of(known, [root], used=2**64 - 1),
        "used within": live_of(known, [root], used=PAGE + 17),
        "parent itself": live_of(known, [root, node(1, ROOT_REF + 1), node(2, ROOT_REF + 1)]),
        "parent later": live_of(known, [root, node(1, ROOT_REF + 2), node(2, ROOT_REF + 1)]),
        "parent beyond": live_of(known, [root, node(1, 2**32 - 1)]),
        "parent in header": live_of(known, [root, node(1, 1)]),
        "function beyond": live_of(known, [root, node(2**32 - 1, ROOT_REF)]),
        "root beyond": live_of(known, [root], threads=thread(0, 2**32 - 1)),
        "thread wild": live_of(known, [root], threads=thread(2**32 - 1, ROOT_REF)),
        "threads the same": live_of(known, [root, node(1, ROOT_REF)], threads=thread(0, ROOT_REF) * 20),
        "ticks wild": live_of(known, [root, node(1, ROOT_REF, -(2**63)), node(2, ROOT_REF + 1, 2**63 - 1)]),
        "costs are no numbers": live_of(known, [root, node(1, ROOT_REF)], costs=(float("nan"), float("inf"))),
        "values in a circle": live_of(known, [root, node(1, ROOT_REF, 5, ROOT_REF + 2 * 64)], extent(4, 0, in_circle)),
        "long chains": live_of(known, [root, *[node(1 | i << 32, ROOT_REF, 5, values_ref + n - 1) for i in range(1, n + 1)]],
                               extent(4, 0, chain)),
        "extent too long": live_file([extent(3, 0, root)[:8] + struct.pack("<Q", 1 << 62) + extent(3, 0, root)[16:]]),
        "extent overfull": live_file([extent(3, 0, root, used=2**64 - 1)]),
        "no extents": live_file([]),
        "record too long": live_file([extent(2, 0, b"\xff\xff\xff\x7f" + record(1, b"f")[4:])]),
        "record of nothing": live_file([extent(2, 0, bytes(32))]),
        "texts too long": live_file([extent(2, 0, record(1, b"f")[:12] + b"\xff" * 12 + record(1, b"f")[24:])]),
        "many facts": live_file([extent(2, 0, b"".join(record(2, b"%d" % i) for i in range(40_000)))]),
        "deep": live_of(known, [root, *[node(1, ROOT_REF + i) for i in range(30_000)]]),
    }  # fmt: skip
