# SPDX-License-Identifier: BSD-3-Clause
"""LineStats, what was counted, and the files that hold it.

A file is the pickle of one object, known by the path of its class. All versions of line_profiler from 3 to 5 have the path
that is written; both paths that they write are read, and no other class: such a file cannot run anything.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO, TextIO, Union

FunctionKey = tuple[str, int, str]  # file, first line, name
Line = tuple[int, int, int]  # its number, hits, time
Timings = dict[FunctionKey, list[Line]]
File = Union[str, "PathLike[str]", BinaryIO]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike

PATHS = {("line_profiler._line_profiler", "LineStats"), ("line_profiler.line_profiler", "LineStats")}
HEAD = b"\x80\x02cline_profiler._line_profiler\nLineStats\n)\x81"  # protocol 2, and a new object of that class


class LineStats:
    """LineStats(timings, unit)

    `timings`: for each (file, first line, name) a list of (line, hits, time), sorted by line. `unit`: seconds of a time of 1.
    """

    timings: Timings
    unit: float

    def __init__(self, timings: Mapping[FunctionKey, Iterable[Line]], unit: float) -> None:
        self.timings = {key: sorted((line, hits, time) for line, hits, time in lines) for key, lines in timings.items()}
        self.unit = unit

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.timings!r}, {self.unit!r})"

    def __eq__(self, other: object) -> bool:
        if not hasattr(other, "timings") or not hasattr(other, "unit"):
            return NotImplemented
        return bool(self.timings == other.timings and self.unit == other.unit)

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: LineStats) -> LineStats:
        return self.from_stats_objects(self, other)

    def __iadd__(self, other: LineStats) -> LineStats:
        self.timings = self.from_stats_objects(self, other).timings
        return self

    def print(self, stream: TextIO | None = None, **options: Any) -> None:
        """As a table for each function; options are those of show_text."""
        from allranks.compat.line_profiler._text import show_text

        show_text(self.timings, self.unit, stream=stream, **options)

    def to_file(self, file: File) -> None:
        content = pickled(self)
        if hasattr(file, "write"):
            file.write(content)
            return
        with open(file, "wb") as opened:
            opened.write(content)

    @classmethod
    def from_files(cls, file: File, *files: File) -> LineStats:
        """The sum of all of them."""
        return cls.from_stats_objects(*map(read, (file, *files)))

    @classmethod
    def from_stats_objects(cls, stats: Any, *more: Any) -> LineStats:
        """The sum of all of them, in the unit of the first."""
        sums: dict[FunctionKey, dict[int, list[int]]] = {}
        for each in (stats, *more):
            add(sums, each.timings, each.unit / stats.unit)
        return cls({key: [(line, *sum) for line, sum in lines.items()] for key, lines in sums.items()}, stats.unit)  # type: ignore[misc]


def add(sums: dict[FunctionKey, dict[int, list[int]]], timings: Timings, factor: float) -> None:
    for key, lines in timings.items():
        of_function = sums.setdefault(key, {})
        for line, hits, time in lines:
            sum = of_function.setdefault(line, [0, 0])
            sum[0] += hits
            sum[1] += time if factor == 1 else round(time * factor)


# ---- files ----


def pickled(stats: LineStats) -> bytes:
    """Under the path of the class that all versions have, whatever this class is called."""
    state = pickle.dumps({"timings": stats.timings, "unit": stats.unit}, 2)
    return HEAD + state[2:-1] + b"b."  # without its own beginning and end; it becomes the __dict__


class _Found(LineStats):
    """What a file holds, before it is known to be sound."""

    def __init__(self) -> None:
        pass


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in PATHS:
            return _Found
        raise pickle.UnpicklingError(f"{module}.{name} is not a part of .lprof files")


def read(file: File) -> LineStats:
    """ValueError: it is no such file."""
    if hasattr(file, "read"):
        content = file.read()
    else:
        with open(file, "rb") as opened:
            content = opened.read()
    try:
        found = _Reader(io.BytesIO(content)).load()
        return LineStats(found.timings, float(found.unit))
    except Exception as error:
        raise ValueError(f"not a file of line_profiler ({error})") from None
