# SPDX-License-Identifier: BSD-3-Clause
"""A live file as docs/file-format.md describes it, read by other code than the one that is tested: slow, obvious, and
strict. What a process leaves at any instant must pass.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

PAGE = 4096
THREADS, RECORDS, NODES = 1, 2, 3
FUNCTION_RECORD = 1
PYTHON_FUNCTION = 1


@dataclass
class Node:
    function: int
    ticks: int
    n_calls: int
    parent: int  # ref, 0: none
    owner: int


@dataclass
class Thread:
    number: int
    os_tid: int
    current: int
    root: int
    latest: int


@dataclass
class LiveFile:
    pid: int
    state: int
    start_ticks: int
    functions: list[tuple[int, str, str]] = field(default_factory=lambda: [(0, "", "")])  # kind, name, file
    nodes: dict[int, Node] = field(default_factory=dict)  # by ref
    threads: list[Thread] = field(default_factory=list)

    def stack(self, thread: Thread, file: str) -> list[str]:
        """Names of the Python functions of a file that the thread is in, outermost first."""
        names = []
        ref = thread.current
        while ref:
            node = self.nodes[ref]
            kind, name, where = self.functions[node.function]
            if kind == PYTHON_FUNCTION and where.endswith(file):
                names.append(name)
            ref = node.parent
        return names[::-1]

    def calls(self, name: str) -> int:
        return sum(node.n_calls for node in self.nodes.values() if self.functions[node.function][1] == name)


def read_records(live: LiveFile, data: bytes) -> None:
    at = 0
    while at < len(data):
        n_bytes, kind, function_kind, _, _, _, n_name, n_file, n_table = struct.unpack_from("<IBBBBIIII", data, at)
        assert n_bytes >= 32 and n_bytes % 8 == 0 and at + n_bytes <= len(data), "a record that is not whole"
        assert 32 + n_name + n_file + n_table <= n_bytes
        name = data[at + 32 : at + 32 + n_name].decode("utf-8", "surrogateescape")
        file = data[at + 32 + n_name : at + 32 + n_name + n_file].decode("utf-8", "surrogateescape")
        if kind == FUNCTION_RECORD:
            live.functions.append((function_kind, name, file))
        at += n_bytes


def read_extent(live: LiveFile, kind: int, owner: int, at: int, data: bytes) -> None:
    if kind == RECORDS:
        read_records(live, data)
    elif kind == NODES:
        assert len(data) % 64 == 0
        for i in range(0, len(data), 64):
            key, ticks, n_calls, parent = struct.unpack_from("<QqQI", data, i)
            live.nodes[(at + i) // 64] = Node(key & 0xFFFFFFFF, ticks, n_calls, parent, owner)
    elif kind == THREADS:
        assert len(data) % 128 == 0
        for i in range(0, len(data), 128):
            current, root, latest = struct.unpack_from("<IIQ", data, i)
            number, os_tid = struct.unpack_from("<II", data, i + 64)
            if root:
                live.threads.append(Thread(number, os_tid, current, root, latest))


def read_live(path: Path) -> LiveFile:
    data = path.read_bytes()
    assert data[:8] == b"ALLRLIVE"
    header_bytes, state = struct.unpack_from("<II", data, 12)
    (n_used,) = struct.unpack_from("<Q", data, 24)
    (pid,) = struct.unpack_from("<I", data, 40)
    (start_ticks,) = struct.unpack_from("<Q", data, 200)
    assert header_bytes == PAGE <= n_used <= len(data)
    live = LiveFile(pid, state, start_ticks)
    at = PAGE
    while at < n_used:
        kind, owner, n_bytes, n_in_use = struct.unpack_from("<IIQQ", data, at)
        assert n_bytes >= PAGE and n_bytes % PAGE == 0 and at + n_bytes <= n_used, f"a bad extent at {at}"
        assert 64 <= n_in_use <= n_bytes
        read_extent(live, kind, owner, at + 64, data[at + 64 : at + n_in_use])
        at += n_bytes
    check(live)
    return live


def check(live: LiveFile) -> None:
    """The invariants of src/format/livefile.h, for a process that has stopped."""
    newest = max([thread.latest for thread in live.threads], default=live.start_ticks)
    for ref, node in live.nodes.items():
        if node.parent:
            assert node.parent in live.nodes and node.parent < ref, "a node before its parent"
            assert live.nodes[node.parent].owner == node.owner
            assert 0 < node.function < len(live.functions), "a node of a function that is not recorded"
        if node.ticks < 0:
            assert -node.ticks <= newest, "opened after the last event"
        else:
            assert node.ticks <= newest - live.start_ticks, "longer than the process"
    for thread in live.threads:
        check_stack(live, thread)


def check_stack(live: LiveFile, thread: Thread) -> None:
    """What is open are the ancestors of the current node, give or take the one being entered or left."""
    path = set()
    ref = thread.current
    while ref:
        path.add(ref)
        ref = live.nodes[ref].parent
    assert thread.root in path
    wrong = {ref for ref, node in live.nodes.items() if node.owner == thread.number and (node.ticks < 0) != (ref in path)}
    assert len(wrong) <= 1, f"{len(wrong)} nodes are open that should not be, or the other way round"
