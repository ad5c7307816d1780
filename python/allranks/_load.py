# SPDX-License-Identifier: BSD-3-Clause
"""Run files as data: allranks.load. docs/load.md describes it, docs/tables.md every table and column.

The files are decoded by _reader, in C, which hands over whole columns. Here they become what the user works with: pandas
data frames, or tables of NumPy arrays, or tables of plain Python.
"""

from __future__ import annotations

import os
import re
from array import array
from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any, Generic, Literal, TypeVar, Union, overload

from allranks import _reader

__all__ = ["LoadError", "Run", "Table", "load"]

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
TableType = TypeVar("TableType", covariant=True)

ROW_NAMES = {
    "functions": "Function",
    "tree": "Node",
    "mpi": "MpiCall",
    "communicators": "Communicator",
    "messages": "Messages",
    "requests": "Requests",
    "synchronisations": "Synchronisation",
    "sync_causes": "SyncCause",
    "ranks": "Rank",
    "processes": "Process",
    "threads": "Thread",
}
NUMPY_TYPES = {"q": "int64", "I": "uint32", "d": "float64", "?": "bool"}

MAX_ROWS_SHOWN = 20
MAX_CELL_WIDTH = 20


class LoadError(OSError, ValueError):
    """What is at the path cannot be loaded; the text is the line that the command gives."""


    __module__ = "allranks"


# ---- tables ----


class Table:
    """Named columns of one length: NumPy arrays where there is NumPy, else array.array and list.

    table["calls"] is a column, table[0] a row, table[:10] a table; len() and iteration are over rows, which are named tuples.
    """

    __module__ = "allranks"

    def __init__(self, name: str, columns: dict[str, Any]) -> None:
        self._name = name
        self._columns = columns
        # Metrics and columns of a file may have any name: papi.PAPI_TOT_INS is the attribute papi_PAPI_TOT_INS of a row.
        fields = [re.sub(r"\W", "_", column) for column in columns]
        self._row: Any = namedtuple(ROW_NAMES.get(name, "Row"), fields, rename=True)  # type: ignore[misc]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names."""
        return tuple(self._columns)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def __iter__(self) -> Iterator[Any]:
        return map(self._row._make, zip(*(column.tolist() if hasattr(column, "tolist") else column
                                          for column in self._columns.values())))  # fmt: skip

    def __getitem__(self, key: str | int | slice) -> Any:
        if isinstance(key, str):
            return self._columns[key]
        if isinstance(key, slice):
            return Table(self._name, {name: column[key] for name, column in self._columns.items()})
        return self._row._make(plain(column[key]) for column in self._columns.values())

    def to_dict(self) -> dict[str, list[Any]]:
        """Each column as a list, by name."""
        return {name: [plain(value) for value in column] for name, column in self._columns.items()}

    def to_pandas(self) -> Any:
        """The same as a pandas.DataFrame."""
        return frame_of(import_module("pandas"), self)

    def __repr__(self) -> str:
        return text_of(self)


def plain(value: Any) -> Any:
    """A NumPy number as Python's own."""
    return value.item() if hasattr(value, "item") else value


def frame_of(pandas: Any, table: Table) -> Any:
    try:
        return pandas.DataFrame(table._columns, copy=False)
    except UnicodeEncodeError:  # names that are not UTF-8 are none to Arrow, on which pandas may build its texts
        texts = {name: pandas.Series(c, dtype=object) for name, c in table._columns.items() if is_text(c)}
        return pandas.DataFrame({**table._columns, **texts}, copy=False)


def is_text(column: Any) -> bool:
    return len(column) > 0 and isinstance(column[0], str)


def rows_of(table: Table, rows: list[int]) -> Table:
    def pick(column: Any) -> Any:
        if isinstance(column, array):
            return array(column.typecode, [column[i] for i in rows])
        return [column[i] for i in rows] if isinstance(column, list) else column[rows]

    return Table(table._name, {name: pick(column) for name, column in table._columns.items()})


# ---- a table as text ----


def cell_text(value: Any, keep_end: bool) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    # Control characters would upset the table, lone surrogates the code that prints it.
    text = "".join(c if c.isprintable() else "?" for c in str(value))
    if len(text) <= MAX_CELL_WIDTH:
        return text
    return "..." + text[3 - MAX_CELL_WIDTH :] if keep_end else text[: MAX_CELL_WIDTH - 3] + "..."


def column_lines(name: str, column: Any) -> list[str]:
    """A column as texts of equal width, headed by its name. Of a path the end is what matters."""
    cells = [name, *(cell_text(plain(value), name == "file") for value in column)]
    width = max(map(len, cells))
    return [cell.ljust(width) if is_text(column) else cell.rjust(width) for cell in cells]


def text_of(table: Table) -> str:
    """As many rows and columns as fit on a screen; what was left out is said."""
    from shutil import get_terminal_size

    room = get_terminal_size((100, 24)).columns
    lines = [""] * (min(len(table), MAX_ROWS_SHOWN) + 1)
    left_out: list[str] = []
    for name in table.columns:
        cells = column_lines(name, table[name][:MAX_ROWS_SHOWN])
        if left_out or (lines[0] and len(lines[0]) + 2 + len(cells[0]) > room):
            left_out.append(name)
        else:
            lines = [f"{line}  {cell}" if line else cell for line, cell in zip(lines, cells)]
    lines = [line.rstrip() for line in lines]
    if len(table) > MAX_ROWS_SHOWN:
        lines.append(f"... {len(table) - MAX_ROWS_SHOWN:,} more rows")
    if left_out:
        lines.append(f"... {len(left_out)} more columns: {', '.join(left_out)}")
    return "\n".join(lines)


# ---- what columns are made of ----


def python_column(kind: str, data: bytearray | list[str]) -> Any:
    if isinstance(data, list):
        return data
    if kind == "?":
        return [byte != 0 for byte in data]
    column = array(kind)
    column.frombytes(data)
    return column


def numpy_column(numpy: Any, kind: str, data: bytearray | list[str]) -> Any:
    if not isinstance(data, list):
        return numpy.frombuffer(data, dtype=NUMPY_TYPES[kind])
    # Of objects: an array of texts would give every text the room of the longest.
    column = numpy.empty(len(data), dtype=object)
    column[:] = data
    return column


class Form:
    """One way to show tables: plain Python, or with NumPy, or with both NumPy and pandas."""

    def __init__(self, numpy: Any = None, pandas: Any = None) -> None:
        self.numpy = numpy
        self.pandas = pandas

    def table(self, name: str, columns: list[_reader.Column]) -> Table:
        if self.numpy is None:
            return Table(name, {column: python_column(kind, data) for column, kind, data in columns})
        return Table(name, {column: numpy_column(self.numpy, kind, data) for column, kind, data in columns})

    def show(self, table: Table) -> Any:
        return table if self.pandas is None else frame_of(self.pandas, table)


def wanted_form(as_: str | None) -> Form:
    if as_ == "python":
        return Form()
    if as_ == "numpy":
        return Form(import_module("numpy"))
    if as_ == "pandas":
        return Form(import_module("numpy"), import_module("pandas"))
    if as_ is not None:
        raise ValueError(f"as_={as_!r}: not one of 'pandas', 'numpy', 'python'")
    for form in ("pandas", "numpy"):
        try:
            return wanted_form(form)
        except Exception:  # also one that is there and broken; who names it is told
            pass
    return Form()


# ---- finding ----


def is_pattern(text: str) -> bool:
    return any(c in text for c in "*?[")


def fits(wanted: str | None, text: str, separator: str) -> bool:
    """All of a name, the end of it from a separator on, or a pattern for all of it."""
    if wanted is None or text == wanted or text.endswith(separator + wanted):
        return True
    return is_pattern(wanted) and fnmatchcase(text, wanted)


def no_such_function(name: str, known: Sequence[str]) -> LookupError:
    from difflib import get_close_matches

    last_names = {each.rpartition(".")[2]: each for each in known}
    near = get_close_matches(name.rpartition(".")[2], last_names, n=3, cutoff=0.7)
    hint = f" (there is {', '.join(last_names[each] for each in near)})" if near else ""
    return LookupError(f"no function {name!r} in this run{hint}")


def too_many_functions(name: str, found: Table) -> LookupError:
    places = [f"{row.name} at {row.file}:{row.line}" if row.file else row.name for row in found[:5]]
    more = ", ..." if len(found) > 5 else ""
    return LookupError(
        f"{len(found)} functions are {name!r}: {', '.join(places)}{more} (choose with kind=, file= or line=)"
    )


# ---- runs ----


class Run(Generic[TableType]):
    """What was recorded. A run is made by load(); its length is its number of functions, and it iterates over them."""

    __module__ = "allranks"

    def __init__(self, path: Path, form: Form, fold: bool, metrics: Mapping[str, str] | None) -> None:
        self.path = os.fsdecode(path)
        if metrics is not None and not hasattr(metrics, "items"):
            raise TypeError(f"metrics are a dict of formulas by name, such as {{'per-call': 'page-faults/calls'}}, not {metrics!r}")
        formulas = tuple(os.fsencode(f"{name}={formula}") for name, formula in (metrics or {}).items())
        try:
            self._handle = _reader.open(os.fsencode(path), fold, formulas)
        except (OSError, ValueError) as error:
            raise LoadError(str(error)) from None
        self._form = form
        self._tables: dict[str, Table] = {}
        self._shown: dict[str, TableType] = {}
        self.facts = _reader.facts(self._handle)
        self.metrics = tuple(_reader.metrics(self._handle))

    def _table(self, name: str) -> Table:
        if name not in self._tables:
            self._tables[name] = self._form.table(name, _reader.table(self._handle, name))
        return self._tables[name]

    def _show(self, name: str) -> TableType:
        if name not in self._shown:
            # The user may change what is shown, but not what this class goes by.
            self._shown[name] = self._form.show(self._form.table(name, _reader.table(self._handle, name)))
        return self._shown[name]

    @property
    def wall_s(self) -> float:
        """How long ranks were recorded, on average."""
        return float(self._table("run")["wall_s"][0])

    @property
    def mpi_s(self) -> float:
        """Time in MPI calls, mean over ranks."""
        return float(self._table("run")["mpi_s"][0])

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of all tables, those that came with the file last; table() has each of them."""
        known = (name for name, command, *_ in _reader.tables() if not command)
        return (*known, *_reader.other_tables(self._handle))

    def table(self, name: str) -> TableType:
        """A table by its name: "waits", "mpi_paths", "findings" …; docs/tables.md has all of them."""
        if name not in self.tables:
            raise LookupError(f"no table {name!r} (there is {', '.join(self.tables)})")
        return self._show(name)

    @property
    def functions(self) -> TableType:
        """A row for each function, over all of its call paths; the longest self time first."""
        return self._show("functions")

    @property
    def tree(self) -> TableType:
        """A row for each call path; the root is the first, and parents come before children."""
        return self._show("tree")

    @property
    def mpi(self) -> TableType:
        """A row for each call path that ends in an MPI call; the longest time first."""
        return self._show("mpi")

    @property
    def communicators(self) -> TableType:
        """A row for each communicator, window and file of the run; the same on all its members."""
        return self._show("communicators")

    @property
    def messages(self) -> TableType:
        """A row for each call path, thread, communicator, peer and size of messages."""
        return self._show("messages")

    @property
    def requests(self) -> TableType:
        """A row for each call path that completed requests, thread, and call path that posted them."""
        return self._show("requests")

    @property
    def synchronisations(self) -> TableType:
        """A row for each call that may have waited for other ranks, as it ended; thread by thread."""
        return self._show("synchronisations")

    @property
    def sync_causes(self) -> TableType:
        """On what a thread had spent its time before it waited; rows of synchronisations say which of these are theirs."""
        return self._show("sync_causes")

    @property
    def ranks(self) -> TableType:
        """A row for each rank, or for the program where there are none. Its child processes count for it."""
        return self._show("ranks")

    @property
    def processes(self) -> TableType:
        """A row for each process, children included."""
        return self._show("processes")

    @property
    def threads(self) -> TableType:
        """A row for each thread."""
        return self._show("threads")

    def values(self, metric: str) -> TableType:
        """What was measured, as a sparse matrix: node (row of tree), thread (row of threads), value."""
        if metric not in self.metrics:
            raise LookupError(f"no metric {metric!r} (there is {', '.join(self.metrics)})")
        shown: TableType = self._form.show(self._form.table("values", _reader.values(self._handle, metric)))
        return shown

    def _find(self, name: str | None, kind: str | None, file: str | None, line: int | None) -> Table:
        functions = self._table("functions")
        keys = zip(*(functions[column] for column in ("name", "kind", "file", "line")))
        found = [
            i
            for i, (its_name, its_kind, its_file, its_line) in enumerate(keys)
            if fits(name, its_name, ".")
            and kind in (None, its_kind)
            and fits(file, its_file, "/")
            and line in (None, its_line)
        ]
        return rows_of(functions, found)

    def find(self, name: str | None = None, *, kind: str | None = None, file: str | None = None,
             line: int | None = None) -> TableType:  # fmt: skip
        """The functions that fit, as `functions` has them.

        A name is given whole ("Solver.step"), by its end ("step") or as a pattern ("*step*"), and so is a file.
        """
        shown: TableType = self._form.show(self._find(name, kind, file, line))
        return shown

    def function(self, name: str, *, kind: str | None = None, file: str | None = None,
                 line: int | None = None) -> Any:  # fmt: skip
        """The one function that fits, as a row; LookupError where there is none, or more than one."""
        found = self._find(name, kind, file, line)
        exact = [i for i, its_name in enumerate(found["name"]) if its_name == name]
        if len(found) > 1 and len(exact) == 1:
            return found[exact[0]]
        if len(found) > 1:
            raise too_many_functions(name, found)
        if len(found) == 0:
            raise no_such_function(name, list(self._table("functions")["name"]))
        return found[0]

    def across_ranks(self, function: Any, **where: Any) -> TableType:
        """Calls, time and self time of a function on each process. It is named as for function(), or a row of it."""
        row = self.function(function, **where) if isinstance(function, str) else function
        number = row if isinstance(row, int) else int(row.id)
        if number not in self._table("functions")["id"]:
            raise LookupError(f"no function {number} in this run")
        columns = self._form.table("", _reader.shares(self._handle, number))._columns
        names = list(columns)[list(columns).index("rank_id") :]  # those before are the function's
        shown: TableType = self._form.show(Table("", {"id" if name == "rank_id" else name: columns[name] for name in names}))
        return shown

    def stack(self, node: int) -> list[Any]:
        """The rows of `tree` on the way from the root, which is left out, to a node."""
        tree = self._table("tree")
        rows = []
        while node > 0:
            rows.append(tree[node])
            node = rows[-1].parent
        return rows[::-1]

    def __len__(self) -> int:
        return len(self._table("functions"))

    def __iter__(self) -> Iterator[Any]:
        return iter(self._table("functions"))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and len(self._find(name, None, None, None)) > 0

    def __repr__(self) -> str:
        ranks = self._table("ranks")
        kind = "rank" if any(rank >= 0 for rank in ranks["rank"]) else "process"
        program = self.facts.get("program", "").rpartition("/")[2] or "?"
        depths = list(self._table("tree")["depth"])
        paths = count(len(depths) - 1, "call path")
        if self.facts.get("source") == "pstats":
            program, paths = self.path, count(depths.count(2), "caller pair")
        return (
            f"<allranks.Run of {program}: {count(len(ranks), kind)}, {count(len(self), 'function')}, "
            f"{paths}, {self.wall_s:.3g} s>"
        )


def count(n: int, noun: str) -> str:
    if n == 1:
        return f"1 {noun}"
    return f"{n:,} {noun}{'es' if noun.endswith('s') else 's'}"


@overload
def load(path: Path, *, as_: Literal["python", "numpy"], fold: bool = ..., metrics: Mapping[str, str] | None = ...) -> Run[Table]: ...
@overload
def load(path: Path, *, as_: Literal["pandas"] | None = ..., fold: bool = ..., metrics: Mapping[str, str] | None = ...) -> Run[Any]: ...


def load(
    path: Path, *, as_: str | None = None, fold: bool = False, metrics: Mapping[str, str] | None = None
) -> Run[Any]:
    """Load what `allranks report` reads: a run file, a live file, a directory of live files, or what cProfile wrote.

    "cpu_*.prof" is a run of one rank a file. Such files know who called whom, but no call paths (docs/load.md).

    The tables are pandas.DataFrames where pandas is installed, else Tables of NumPy arrays where that is, else Tables of
    plain Python; as_="pandas", "numpy" or "python" chooses. With fold=True the call tree is as coarse as in the report:
    calls of one function from several lines are one, and the inside of the import system is one node.

    `metrics` are computed from recorded ones, as by --metric: {"faults-per-call": "page-faults / calls"} gives rows in
    function_metrics and tree_derived.

    Raises LoadError with one line that says what is wrong with the file.
    """
    return Run(path, wanted_form(as_), fold, metrics)
