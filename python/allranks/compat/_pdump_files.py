# SPDX-License-Identifier: BSD-3-Clause
"""The files of pyperfdump.py: rows of CSV, or HDF5 where that is there. Both are appended to.

    region,event,value                one process
    rank,region,event,value           with MPI
"""

from __future__ import annotations

import os
from contextlib import suppress

from allranks._runtime import unrecorded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from allranks.compat._pdump_hdf5 import Hdf5
    from allranks.compat._pdump_ranks import Ranks

    Row = tuple[str, list[int], int]  # a region, the values of its events, its runtime in ns

RUNTIME = "Runtime"


class SaveError(Exception):
    """The text says where, why, and what would help."""


def _cell(text: str) -> str:
    """Quoted only where it would be taken for several cells."""
    return '"' + text.replace('"', '""') + '"' if any(each in text for each in ',"\r\n') else text


def _bytes_of(text: str) -> bytes:
    """Names that are no UTF-8 as they were; half a character, which no file can have, as \\ud800."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


def _reason(why: OSError) -> str:
    return why.strerror or str(why)


def _append(path: str, text: bytes) -> None:
    import fcntl

    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.lockf(file, fcntl.LOCK_EX)
        size = os.fstat(file).st_size
        try:
            while text:
                text = text[os.write(file, text) :]
        except OSError:
            os.ftruncate(file, size)
            raise
    finally:
        os.close(file)


class Dump:
    """Where regions are saved, as rank 0's environment says; made by all ranks together, as all saving is done."""

    def __init__(self, ranks: Ranks, events: list[str], warn: Callable[[str], None]) -> None:
        self.ranks = ranks
        self.events = events
        self.warn = warn
        settings = ranks.share((os.environ.get("PDUMP_DUMP_DIR") or ".", os.environ.get("PDUMP_FILENAME") or "perf_dump", self._format()))
        self.directory, name, self.format = settings[0]
        self.base: str = os.path.join(self.directory, name)
        self.hdf5: Hdf5 | None = None  # of this rank; rank 0 writes for all unless each writes for itself
        self.uses_hdf5 = self.is_parallel = False
        if self.format != "csv":
            self._open_hdf5()

    def _format(self) -> str:
        """csv, hdf5, or nothing: whichever there is."""
        asked = os.environ.get("PDUMP_OUTPUT_FORMAT", "").strip().lower()
        if asked not in ("", "csv", "hdf5", "h5") and self.ranks.rank == 0:
            self.warn(f"PDUMP_OUTPUT_FORMAT={asked}: not a format (csv and hdf5 are); it will be hdf5")
        return asked if asked in ("", "csv") else "hdf5"

    def _open_hdf5(self) -> None:
        from allranks.compat._pdump_hdf5 import Unavailable, open_library

        reason = ""
        try:
            self.hdf5 = open_library(self.ranks)
        except Unavailable as why:
            reason = str(why)
        except Exception as why:  # the others wait for this rank, whatever has happened
            reason = f"{type(why).__name__}: {why}"
        states = self.ranks.share((self.hdf5 is not None, self.hdf5 is not None and self.hdf5.is_parallel))
        self.uses_hdf5 = states[0][0]
        self.is_parallel = all(is_parallel for _, is_parallel in states)
        is_asked_for = self.format == "hdf5" or bool(os.environ.get("ALLRANKS_HDF5"))
        if not self.uses_hdf5 and is_asked_for and self.ranks.rank == 0:
            self.warn(f"HDF5 cannot be used: {reason}; regions are saved in {self.csv_path}")

    def _make_directory(self) -> None:
        """Of the files: PDUMP_FILENAME may have directories in it, too."""
        os.makedirs(os.path.dirname(self.base) or ".", exist_ok=True)

    @property
    def csv_path(self) -> str:
        return self.base + ".csv"

    @property
    def hdf5_path(self) -> str:
        return f"{self.base}.{self.ranks.size}.h5" if self.ranks.has_mpi else self.base + ".h5"

    # -- saving --

    def save(self, row: Row) -> None:
        """Nothing is raised: the program goes on, and the message says what has become of the region."""
        problem = ""
        if not unrecorded(self.ranks.is_usable):
            unrecorded(self._save_alone, row)
            return
        if self.is_parallel:
            exists, problem = unrecorded(self._prepare)
            shared = self.ranks.share((row[0], exists, problem))
            is_done, problem = unrecorded(self._save_together, row, shared)
            rows = [] if is_done else unrecorded(self.ranks.collect, row)
        else:
            rows = self.ranks.collect(row)
        if rows and self.ranks.rank == 0:
            unrecorded(self._save_gathered, rows, problem)

    def _save_gathered(self, rows: list[Row], problem: str) -> None:
        if self.uses_hdf5 and not problem:
            problem = self._try(lambda: self._save_hdf5(rows))
        if problem:
            self.warn(f"{problem}; region {rows[0][0]} is saved in {self.csv_path}")
        if problem or not self.uses_hdf5:
            self._save_csv(list(enumerate(rows)))

    def _save_alone(self, row: Row) -> None:
        self.warn(f"MPI is finalized: rank {self.ranks.rank} saves region {row[0]} in {self.csv_path} (end regions before MPI_Finalize)")
        self._save_csv([(self.ranks.rank, row)])

    def _try(self, save: Callable[[], None]) -> str:
        """Why it has failed, or nothing."""
        try:
            save()
        except SaveError as why:
            return str(why)
        except OSError as why:
            return f"{self.hdf5_path}: {_reason(why)}"
        except Exception as why:  # the others wait for this rank, whatever has happened
            return f"{self.hdf5_path}: {type(why).__name__}: {why}"
        return ""

    def _prepare(self) -> tuple[bool, str]:
        """On rank 0: whether there is a file already, and why it cannot be written."""
        from allranks.compat._pdump_hdf5 import locked

        assert self.hdf5
        if self.ranks.rank:
            return False, ""
        try:
            self._make_directory()
            with locked(self.hdf5_path, self.hdf5.room_for(self.events, (0,))) as exists:
                return exists, ""
        except OSError as why:
            return False, f"{self.hdf5_path}: {_reason(why)}"

    def _save_hdf5(self, rows: list[Row]) -> None:
        assert self.hdf5
        regions: dict[str, list[Row]] = {}
        for name, _, _ in rows:
            regions[name] = [each if each[0] == name else (name, [0] * len(self.events), 0) for each in rows]
        self._make_directory()
        self.hdf5.save(self.hdf5_path, self.events, regions)

    def _save_together(self, row: Row, shared: list[tuple[str, bool, str]]) -> tuple[bool, str]:
        """Whether it is saved, and what has gone wrong. Ranks whose regions have different names do not write together."""
        assert self.hdf5
        hdf5, path = self.hdf5, self.hdf5_path
        _, exists, problem = shared[0]
        if problem or any(name != row[0] for name, _, _ in shared):
            return False, problem
        problem = self._try(lambda: hdf5.save_together(path, exists, self.events, row))
        problem = next((each for each in self.ranks.share(problem) if each), "")
        return not problem, problem

    # -- CSV --

    def _lines(self, rank: int, row: Row) -> str:
        name, values, runtime_ns = row
        start = f"{rank},{_cell(name)}" if self.ranks.has_mpi else _cell(name)
        seconds = f"{runtime_ns / 1e9:.7f}" if self.ranks.has_mpi else f"{runtime_ns / 1e9:g}"
        lines = [f"{start},{_cell(event)},{value}\n" for event, value in zip(self.events, values)]
        return "".join([*lines, f"{start},{RUNTIME},{seconds}\n"])

    def _save_csv(self, rows: list[tuple[int, Row]]) -> None:
        """All rows or none, at the end of the file, where several processes may add theirs."""
        text = "".join(self._lines(rank, row) for rank, row in rows)
        try:
            self._make_directory()
            _append(self.csv_path, _bytes_of(text))
        except OSError as why:
            self.warn(f"{self.csv_path}: {_reason(why)}; region {rows[0][1][0]} is lost (set PDUMP_DUMP_DIR to another directory)")
