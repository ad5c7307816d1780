# SPDX-License-Identifier: BSD-3-Clause
"""Live files made by hand, as docs/file-format.md describes them, by other code than the one that is tested: what a
process would leave that did exactly these calls. A tick is a nanosecond.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

PAGE = 4096
THREADS, RECORDS, NODES, VALUES = 1, 2, 3, 4
PYTHON, MPI, BUILTIN, REGION, TASK, OPERATION, UNASSIGNED = 1, 2, 4, 5, 7, 10, 11
WORLD, SELF, DUP, SPLIT = 1, 2, 3, 4
ALL_PEERS = 0xFFFFFFFF
START = 1_000_000


def size_class(n_bytes: int) -> int:
    return n_bytes.bit_length()


class Extent:
    """Pages of one kind, at a place that is known from the beginning."""

    def __init__(self, kind: int, owner: int, at: int, n_pages: int) -> None:
        self.kind, self.owner, self.at, self.n_bytes = kind, owner, at, n_pages * PAGE
        self.data = bytearray()

    def add(self, item: bytes) -> int:
        """Returns its ref."""
        at = self.at + 64 + len(self.data)
        self.data += item
        assert 64 + len(self.data) <= self.n_bytes, "no room in the extent"
        return at // 64

    def put(self, ref: int, offset: int, word: bytes) -> None:
        at = ref * 64 - self.at - 64 + offset
        self.data[at : at + len(word)] = word

    def bytes(self) -> bytes:
        head = struct.pack("<IIQQ", self.kind, self.owner, self.n_bytes, 64 + len(self.data))
        return (head.ljust(64, b"\0") + self.data).ljust(self.n_bytes, b"\0")


class LiveFile:
    """One process with one thread. Texts may hold bytes that are no UTF-8, as os.fsdecode has them."""

    host, job, thread_name = "node-1", "job", "MainThread"

    def __init__(self, rank: int, size: int, wall_ns: int, n_pages: tuple[int, int, int] = (4, 16, 64)) -> None:
        """`n_pages` of records, nodes and values."""
        self.rank, self.size, self.wall_ns = rank, size, wall_ns
        self.lost = [0] * 12
        records, nodes, values = n_pages
        self.threads = Extent(THREADS, 0, PAGE, 1)
        self.records = Extent(RECORDS, 0, 2 * PAGE, records)
        self.nodes = Extent(NODES, 0, (2 + records) * PAGE, nodes)
        self.values = Extent(VALUES, 0, (2 + records + nodes) * PAGE, values)
        self.n_functions = self.n_comms = 0
        self.first_lines: dict[int, int] = {}
        self.python_above: dict[int, int] = {}  # by ref
        self.root = self.nodes.add(struct.pack("<QqQIIIIQIIII", 0, wall_ns, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        self.mpi_values: dict[int, int] = {}

    def record(self, kind: int, name: str, file: str = "", table: bytes = b"", *, function_kind: int = 0,
               linetable_kind: int = 0, first_line: int = 0, other: int = 0) -> None:  # fmt: skip
        encoded, encoded_file = os.fsencode(name), os.fsencode(file)
        texts = encoded + encoded_file + table
        n_bytes = (32 + len(texts) + 7) // 8 * 8
        head = struct.pack("<IBBBBIIIIII", n_bytes, kind, function_kind, linetable_kind, 0, first_line,
                           len(encoded), len(encoded_file), len(table), other, 0)  # fmt: skip
        self.records.add((head + texts).ljust(n_bytes, b"\0"))

    def fact(self, key: str, value: str) -> None:
        self.record(2, key, value)

    def function(self, kind: int, name: str, file: str = "", first_line: int = 0) -> int:
        """Instruction k of a Python function, two bytes long, is on its line k."""
        table = b"\x02\x01" * 200 if kind == PYTHON else b""
        self.record(1, name, file, table, function_kind=kind, linetable_kind=1 if table else 0, first_line=first_line)
        self.n_functions += 1
        if kind == PYTHON:
            self.first_lines[self.n_functions] = first_line
        return self.n_functions

    def comm(self, name: str, origin: int, size: int, *, identity: int = 0, parent: int = 0, made_ref: int = 0,
             hidden: bool = False) -> int:  # fmt: skip
        self.record(4, name, table=struct.pack("<QIIIIIIII", identity, parent, origin, size, 0, 0, made_ref, hidden, 0))
        self.n_comms += 1
        return self.n_comms

    def call(self, parent: int, function: int, line: int, n_calls: int, ns: int) -> int:
        """A node, `line` being in the nearest Python function above; returns its ref."""
        above = self.python_above.get(parent, 0)
        site = 2 * (line - self.first_lines[above]) + 1 if line and above else 0
        ref = self.nodes.add(struct.pack("<QqQIIIIQIIII", function | site << 32, ns, n_calls, parent, 0, 0, 0, 0, 0, 0, 0, 0))
        self.python_above[ref] = function if function in self.first_lines else above
        return ref

    def _values(self, kind: int, next_ref: int, *words: int) -> int:
        return self.values.add(struct.pack("<II7Q", kind, next_ref, *words, *[0] * (7 - len(words))))

    def moved(self, ref: int, bytes_out: int, bytes_in: int, shortest: int = 1, longest: int = 1) -> None:
        self.mpi_values[ref] = self._values(1, 0, bytes_out, bytes_in, shortest, longest)
        self.nodes.put(ref, 32, struct.pack("<I", self.mpi_values[ref]))

    def timed(self, ref: int, n_timed: int, squares: float) -> None:
        """Of the node's calls only so many were timed: its time is theirs, and this the sum of the squares of each."""
        block = self._values(4, 0, n_timed, *struct.unpack("<Q", struct.pack("<d", squares)))
        self.nodes.put(ref, 32, struct.pack("<I", block))

    def _chain(self, ref: int, kind: int, *words: int) -> None:
        """After the first block, where the runtime puts what it adds."""
        if ref not in self.mpi_values:
            self.moved(ref, 0, 0)
        first = self.mpi_values[ref]
        (after,) = struct.unpack_from("<I", self.values.data, first * 64 - self.values.at - 64 + 4)
        self.values.put(first, 4, struct.pack("<I", self._values(kind, after, *words)))

    def traffic(self, ref: int, comm: int, peer: int, world_peer: int, *, out: tuple[int, int] = (0, 0),
                into: tuple[int, int] = (0, 0), ns: int = 0) -> None:  # fmt: skip
        """`out` and `into` are (messages, bytes of each)."""
        size = size_class(out[1] or into[1])
        self._chain(ref, 6, ref << 32 | comm << 8 | size, peer | world_peer << 32, out[0], out[0] * out[1], into[0],
                    into[0] * into[1], ns)  # fmt: skip

    def completed(self, ref: int, posted: int, n: int, flight_ns: int, waited_ns: int) -> None:
        self._chain(ref, 7, ref << 32, posted, n, flight_ns, waited_ns, min(waited_ns, flight_ns))

    def bytes(self) -> bytes:
        end = START + self.wall_ns
        thread = struct.pack("<IIQ48xIIQQ40s", self.root, self.root, end, 0, 77, START, end,
                             os.fsencode(self.thread_name)[:40])  # fmt: skip
        self.threads.data = bytearray(thread)
        extents = [self.threads, self.records, self.nodes, self.values]
        n_bytes = PAGE + sum(e.n_bytes for e in extents)
        real = 1_700_000_000_000_000_000
        head = b"ALLRLIVE" + struct.pack("<IIIIQQ", 7, PAGE, 2, 0, n_bytes, n_bytes)
        head += struct.pack("<IIQIIII", 5000 + self.rank, 1, 4711, self.rank, self.size, 0, 1)
        head += b"".join(os.fsencode(text)[:63].ljust(64, b"\0") for text in (self.host, self.job))
        head += struct.pack("<QQQQQQ", START, START, real, end, end, real + self.wall_ns)
        head += struct.pack("<12Q", *self.lost) + struct.pack("<dd", 0, 0) + struct.pack("<QQII", 0, 0, 0, 0)
        return head.ljust(PAGE, b"\0") + b"".join(e.bytes() for e in extents)

    def write(self, directory: Path) -> Path:
        path = directory / f"r{self.rank}-p{5000 + self.rank}-4711.live"
        path.write_bytes(self.bytes())
        return path


MS = 1_000_000


def ring_rank(rank: int, size: int) -> LiveFile:
    """A stencil: a halo exchange with the neighbours in a ring, a sum over all, and objects from rank 0.

    Rank r computes for 100 + r ms; whoever is early waits in the reduction, so that all end together.
    """
    live = LiveFile(rank, size, 1000 * MS)
    live.fact("program", "/home/ada/heat.py")
    live.fact("command", "heat.py --steps 10")
    live.fact("python", "3.11.2")
    live.fact("mpi", "Open MPI 4.1.4")
    live.fact("mpi4py", "3.1.4")
    live.fact("builtins", "counted")
    main = live.function(PYTHON, "main", "/home/ada/heat.py", 10)
    halo = live.function(PYTHON, "exchange", "/home/ada/halo.py", 40)
    step = live.function(PYTHON, "step", "/home/ada/solver.py", 80)
    irecv, isend, waitall = (live.function(MPI, f"MPI_{name}") for name in ("Irecv", "Isend_c", "Waitall"))
    allreduce, bcast, split = (live.function(MPI, f"MPI_{name}") for name in ("Allreduce", "Bcast", "Comm_split"))
    method = live.function(OPERATION, "Comm.bcast")
    dumps = live.function(BUILTIN, "built-in method _pickle.dumps")
    loads = live.function(BUILTIN, "built-in method _pickle.loads")

    in_main = live.call(live.root, main, 0, 1, 990 * MS)
    making = live.call(in_main, split, 15, 1, 2 * MS)
    in_step = live.call(in_main, step, 20, 10, (100 + rank) * MS)
    in_halo = live.call(in_main, halo, 21, 10, 300 * MS)
    receive = live.call(in_halo, irecv, 45, 20, 1 * MS)
    send = live.call(in_halo, isend, 46, 20, 2 * MS)
    wait = live.call(in_halo, waitall, 51, 10, 250 * MS)
    reduce = live.call(in_main, allreduce, 22, 10, (200 - rank) * MS)
    operation = live.call(in_main, method, 25, 1, 60 * MS)
    within = live.call(operation, bcast, 0, 2, 30 * MS)
    assert in_step and live.call(operation, dumps if rank == 0 else loads, 0, 1, 5 * MS)

    world = live.comm("MPI_COMM_WORLD", WORLD, size, identity=11)
    live.comm("MPI_COMM_SELF", SELF, 1, identity=100 + rank)
    hidden = live.comm("", DUP, size, identity=12, parent=world, hidden=True)
    row = live.comm("ring", SPLIT, size, identity=13, parent=world, made_ref=making)

    left, right = (rank - 1) % size, (rank + 1) % size
    live.moved(send, 20 * 8000, 0)
    live.moved(receive, 0, 20 * 8000)
    for peer in (left, right):
        live.traffic(send, row, peer, peer, out=(10, 8000), ns=1 * MS)
        live.traffic(receive, row, peer, peer, into=(10, 8000), ns=MS // 2)
    live.completed(wait, receive, 20, 20 * 12 * MS, 20 * 10 * MS)
    live.completed(wait, send, 20, 20 * 11 * MS, 20 * 2 * MS)
    live.moved(reduce, 80, 80)
    live.traffic(reduce, world, ALL_PEERS, ALL_PEERS, out=(10, 8), into=(10, 8), ns=(200 - rank) * MS)
    live.moved(within, 1000 if rank == 0 else 0, 0 if rank == 0 else 1000)
    live.traffic(within, hidden, 0, 0, **({"out": (1, 1000)} if rank == 0 else {"into": (1, 1000)}), ns=30 * MS)
    return live


def write_ring(directory: Path, size: int) -> Path:
    """A directory of live files of that many ranks."""
    directory.mkdir(parents=True, exist_ok=True)
    for rank in range(size):
        ring_rank(rank, size).write(directory)
    return directory
