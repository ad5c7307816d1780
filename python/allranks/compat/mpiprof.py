# SPDX-License-Identifier: BSD-3-Clause
"""A drop-in for mpiprof: what its README promises. See docs/drop-ins.md.

    mpiexec -n 4 python -m allranks.compat.mpiprof script.py      mpiprof.0.pstats to mpiprof.3.pstats

    comm = MPIProfiler(MPI.COMM_WORLD)                            a communicator that counts and times its calls
    comm.write_statistics()                                       mpiprof.stats.<rank>.json
"""

from __future__ import annotations

import os
import sys
from _thread import _local  # threading has nothing else that is needed here
from time import perf_counter_ns

TYPE_CHECKING = False  # what runs a program brings no modules along
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType
    from typing import Any

__version__ = "0.2.2"  # of mpiprof: programs may ask for it
__all__ = ["MPIProfiler", "__version__"]

# ---- what is timed ----

_POINT_TO_POINT = "send bsend ssend rsend recv sendrecv sendrecv_replace probe mprobe"
_COLLECTIVE = (
    "barrier bcast gather gatherv scatter scatterv allgather allgatherv alltoall alltoallv alltoallw reduce allreduce "
    "reduce_scatter reduce_scatter_block scan exscan neighbor_allgather neighbor_allgatherv neighbor_alltoall "
    "neighbor_alltoallv neighbor_alltoallw"
)
_BLOCKING = frozenset(f"{_POINT_TO_POINT} {_COLLECTIVE}".split())
_NONBLOCKING = frozenset("i" + name for name in _BLOCKING)
_PERSISTENT = frozenset(f"{name}_init" for name in _BLOCKING) | {"psend_init", "precv_init"}
_OF_A_REQUEST = frozenset(("wait", "test"))
_OF_REQUESTS = frozenset(start + end for start in ("wait", "test") for end in ("any", "all", "some"))

# Of what one thread did at one place:
_COUNT, _NS, _NS_BEFORE, _NAME, _CODE, _LINE = range(6)


class _Thread:
    """What one thread has called. It alone writes here, so that no count is lost between two threads."""

    __slots__ = ("is_inside", "last_ns", "places")

    def __init__(self) -> None:
        self.is_inside = False  # of a call that is timed: those that it makes itself are part of it
        self.last_ns = perf_counter_ns()  # when its last call ended
        self.places: dict[tuple[str, int, int], list[Any]] = {}


class _Here(_local):
    """`thread` is that of the caller."""

    def __init__(self, threads: list[_Thread]) -> None:
        self.thread = _Thread()
        threads.append(self.thread)


def _new_place(thread: _Thread, key: tuple[str, int, int], code: CodeType, line: int) -> list[Any]:
    """It holds the code object, so that the key's address stands for nothing else."""
    place = thread.places[key] = [0, 0, 0, key[0], code, line]
    return place


def _timed(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """`call`, with a look at the clock before and after it, noted for the line that it was called from."""
    getframe = sys._getframe

    def operation(self: Any, *args: Any, **kwargs: Any) -> Any:
        thread = self._here.thread
        if thread.is_inside:
            return call(self, *args, **kwargs)
        thread.is_inside = True
        begin_ns = perf_counter_ns()
        try:
            return call(self, *args, **kwargs)
        finally:
            end_ns = perf_counter_ns()
            thread.is_inside = False
            frame = getframe(1)
            code = frame.f_code
            key = (name, id(code), frame.f_lasti)
            place = thread.places.get(key) or _new_place(thread, key, code, frame.f_lineno)
            place[0] += 1
            place[1] += end_ns - begin_ns
            place[2] += begin_ns - thread.last_ns
            thread.last_ns = end_ns

    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = call.__doc__
    return operation


# ---- requests ----

_request_kinds: dict[type, type] = {}  # by the class that mpi4py has for it


def _request_kind(kind: type) -> type | None:
    """A request of this kind that times its wait; None: it is not one of mpi4py's own, and stays as it is."""
    if kind.__module__ == "mpi4py.MPI" and hasattr(kind, "Wait"):
        names = [name for name in dir(kind) if name.lower() in _OF_A_REQUEST]
        timed = {name: _timed(name, getattr(kind, name)) for name in names}
        _request_kinds[kind] = type(kind.__name__, (kind,), timed)
    return _request_kinds.get(kind)


def _posting(call: Callable[..., Any]) -> Callable[..., Any]:
    """What it returns is a request, which counts for the same communicator."""

    def post(self: Any, *args: Any, **kwargs: Any) -> Any:
        request = call(self, *args, **kwargs)
        kind = _request_kinds.get(type(request)) or _request_kind(type(request))
        if kind is None:
            return request
        same: Any = kind.__new__(kind, request)  # of the same handle, with its buffers
        same._here = self._here
        return same

    post.__doc__ = call.__doc__
    return post


def _completing_one(name: str) -> Callable[..., Any]:
    def complete(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        """That of a request."""
        return getattr(request, name)(*args, **kwargs)

    return complete


def _completing_several(name: str, request_kind: type) -> Callable[..., Any]:
    def complete(self: Any, requests: Any, *args: Any, **kwargs: Any) -> Any:
        """That of requests."""
        requests = list(requests)
        kind = type(requests[0]) if requests else request_kind
        return getattr(kind, name)(requests, *args, **kwargs)

    return complete


def _request_calls(request_kind: type) -> dict[str, Callable[..., Any]]:
    """wait, waitall and so on, which a communicator of mpi4py does not have."""
    calls = {name: _completing_one(name) for name in dir(request_kind) if name.lower() in _OF_A_REQUEST}
    for name in dir(request_kind):
        if name.lower() in _OF_REQUESTS:
            calls[name] = _completing_several(name, request_kind)
    return {name: _timed(name, call) for name, call in calls.items()}


# ---- communicators ----


def _forwarding(name: str) -> Callable[..., Any]:
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.comm, name)(*args, **kwargs)

    return forward


def _ending(name: str) -> Callable[..., Any]:
    def end(self: Any) -> None:
        """Of the communicator that was given; both then hold what MPI has left of the handle."""
        getattr(self.comm, name)()
        import ctypes

        mpi: Any = sys.modules["mpi4py.MPI"]
        ctypes.memmove(mpi._addressof(self), mpi._addressof(self.comm), mpi._sizeof(self))

    return end


def _operations(kind: type, is_mpi4py: bool) -> dict[str, Callable[..., Any]]:
    """All that is timed, under the names that communicators of this kind have."""
    made = {}
    for name in dir(kind):
        lowered = name.lower()
        call = getattr(kind, name) if is_mpi4py else _forwarding(name)
        if lowered in _BLOCKING:
            made[name] = _timed(name, call)
        elif lowered in _NONBLOCKING or lowered in _PERSISTENT:
            made[name] = _timed(name, _posting(call))
    return made


def _is_mpi4py(kind: type) -> bool:
    """Otherwise it is something else that looks like a communicator."""
    return any(base.__module__ == "mpi4py.MPI" for base in kind.__mro__)


def _new_sharing(kind: type, comm: Any) -> Any:
    """One of this class with the same handle, which it does not free."""
    base: Any = kind.__base__
    while base.__module__ != "mpi4py.MPI":  # the one that lays the object out
        base = base.__base__
    return base.__new__(kind, comm)


_kinds: dict[tuple[type, type], type] = {}  # of profilers, by both classes they are made of


def _profiled_kind(profiler: type, kind: type) -> type:
    """A class that is both. What a subclass of MPIProfiler defines comes before what is timed here."""
    if (profiler, kind) not in _kinds:
        is_mpi4py = _is_mpi4py(kind)
        made: dict[str, Any] = _operations(kind, is_mpi4py)
        if is_mpi4py:
            made.update(_request_calls(sys.modules["mpi4py.MPI"].Request))
            made.update({name: _ending(name) for name in ("Free", "Disconnect")})
        made["_spellings"] = {name.lower(): name for name in sorted(made)}  # of two the one in small letters
        made["_plain_kind"] = kind if is_mpi4py else None
        timed = type("_Timed", (), made)
        bases = (profiler, timed, kind) if is_mpi4py else (profiler, timed)
        # petsc4py knows communicators of mpi4py by the module of their class.
        _kinds[(profiler, kind)] = type(profiler.__name__, bases, {"__module__": kind.__module__})
    return _kinds[(profiler, kind)]


class MPIProfiler:
    """MPIProfiler(comm)

    A communicator, the same as `comm`, that counts and times what is called through it: of what it makes of itself by
    Dup and Split nothing is. It is of the same class as `comm`, so mpi4py takes it wherever it takes that one. Objects
    that only look like a communicator of mpi4py are taken, too.
    """

    comm: Any

    def __new__(cls, comm: Any = None) -> Any:
        if comm is None:
            # mpi4py makes a copy of a communicator as one of the same class.
            plain = getattr(cls, "_plain_kind", None)
            if plain is None:
                raise TypeError("MPIProfiler needs a communicator")
            return plain.__new__(plain)
        if isinstance(comm, MPIProfiler):
            comm = comm.comm
        kind: Any = _profiled_kind(cls, type(comm))
        return _new_sharing(kind, comm) if kind._plain_kind else object.__new__(kind)

    def __init__(self, comm: Any) -> None:
        self.comm = comm.comm if isinstance(comm, MPIProfiler) else comm
        mpi = sys.modules.get("mpi4py.MPI")
        world = mpi.COMM_WORLD if mpi and isinstance(comm, mpi.Comm) else comm
        self._tally = _Tally(world.Get_rank(), world.Get_size(), _name_of(comm))
        self._here = _Here(self._tally.threads)

    def __getattr__(self, name: str) -> Any:
        """What is not timed is the communicator's; what is timed has any letter case."""
        if name in ("comm", "_spellings"):  # not there yet
            raise AttributeError(name)
        spelling = self._spellings.get(name.lower(), name)
        return getattr(self.comm if spelling == name else self, spelling)

    @property
    def statistics(self) -> dict[tuple[str, tuple[tuple[str, int], ...]], dict[str, float]]:
        """By operation and the line that called it, in seconds."""
        return {
            (name, ((file, line),)): {"count": count, "durations": ns / 1e9, "since_last_call": ns_before / 1e9}
            for (name, file, line, _), (count, ns, ns_before) in self._tally.places().items()
        }

    def write_statistics(self, prefix: str = "mpiprof.stats.", suffix: str = ".json") -> None:
        """Write what was counted so far to <prefix><rank of the process><suffix>.

        JSON if `suffix` is .json, otherwise text. Profilers of one process that name the same file are together in it.
        """
        begin_ns = perf_counter_ns()
        path = os.path.abspath(f"{prefix}{self._tally.rank}{suffix}")
        together = _written.setdefault(path, [])
        if self._tally not in together:
            together.append(self._tally)
        text = _as_json(together) if suffix.endswith(".json") else _as_text(together)
        part = f"{path}.{os.getpid()}.part"
        with open(part, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
        os.replace(part, path)
        # This is not the program's time between two calls.
        self._here.thread.last_ns += perf_counter_ns() - begin_ns


def _name_of(comm: Any) -> str:
    try:
        return str(comm.Get_name())
    except Exception:  # no communicator of mpi4py, or none that has a name
        return type(comm).__name__


# ---- results ----


class _Tally:
    """All that was called through one profiler."""

    def __init__(self, rank: int, size: int, communicator: str) -> None:
        self.rank, self.size, self.communicator = rank, size, communicator
        self.threads: list[_Thread] = []

    def places(self) -> dict[tuple[str, str, int, str], tuple[int, int, int]]:
        """Calls, ns in them and ns before them, of all threads, by operation, file, line and function."""
        places: dict[tuple[str, str, int, str], tuple[int, int, int]] = {}
        for thread in list(self.threads):
            for place in list(thread.places.values()):
                code = place[_CODE]
                key = (place[_NAME], code.co_filename, place[_LINE], code.co_name)
                count, ns, ns_before = places.get(key, (0, 0, 0))
                places[key] = (count + place[_COUNT], ns + place[_NS], ns_before + place[_NS_BEFORE])
        return places


_written: dict[str, list[_Tally]] = {}  # who is in which file


def _origins(tallies: list[_Tally]) -> Iterator[dict[str, Any]]:
    """One for each operation at a line on a communicator, those that took longest first."""
    found = [(tally.communicator, *key, *value) for tally in tallies for key, value in tally.places().items()]
    for communicator, name, file, line, function, count, ns, ns_before in sorted(found, key=lambda each: -each[6]):
        yield {
            "operation": name,
            "file": file,
            "line": line,
            "function": function,
            "communicator": communicator,
            "count": count,
            "seconds": ns / 1e9,
            "seconds_before": ns_before / 1e9,
        }


def _as_json(tallies: list[_Tally]) -> str:
    import json

    operations: dict[str, dict[str, Any]] = {}
    for origin in _origins(tallies):
        name = origin.pop("operation")
        sums = operations.setdefault(name, {"count": 0, "seconds": 0.0, "seconds_before": 0.0, "origins": []})
        for field in ("count", "seconds", "seconds_before"):
            sums[field] += origin[field]
        sums["origins"].append(origin)
    result = {
        "rank": tallies[0].rank,
        "size": tallies[0].size,
        "mpi_seconds": sum(sums["seconds"] for sums in operations.values()),
        "non_mpi_seconds": sum(sums["seconds_before"] for sums in operations.values()),
        "operations": operations,
    }
    return json.dumps(result, indent=2) + "\n"


def _as_text(tallies: list[_Tally]) -> str:
    """As mpiprof 0.2 writes it, with the line that made the call as its call stack."""
    import linecache

    lines = []
    origins = list(_origins(tallies))
    for origin in origins:
        source = linecache.getline(origin["file"], origin["line"]).strip()
        lines += [
            f"Function: {origin['operation']}",
            "Call stack: ",
            f"\t{origin['file']}:{origin['line']} {source}".rstrip(),
            f"Number of calls: {origin['count']}",
            f"Duration During Call: {origin['seconds'] / origin['count']:.6f}s",
            f"Duration Before Call: {origin['seconds_before'] / origin['count']:.6f}s",
            "",
        ]
    lines.append(f"Total MPI Time: {sum(origin['seconds'] for origin in origins):.6f}s")
    lines.append(f"Total Non-MPI Time: {sum(origin['seconds_before'] for origin in origins):.6f}s")
    return "\n".join(lines) + "\n"


# ---- the runner ----

USAGE = """\
usage: python -m mpiprof [-h] [-o OUTFILE] [--] SCRIPT [arguments]

Write what cProfile would, of every rank of an MPI job, to a file for each:

    mpiexec -n 4 python -m mpiprof script.py
    python -m pstats mpiprof.0.pstats

It is allranks that records, with its threads and MPI calls; without shims,
`python -m allranks.compat.mpiprof` is the same.

options:
  -o, --outfile OUTFILE  the file to write; {rank} in it is the rank (default:
                         $MPIPROF_OUT, or mpiprof.{rank}.pstats). One that is
                         there already is replaced
  -h, --help             show this help
"""

class Help(Exception):
    """Asked for."""


def parse(argv: list[str]) -> tuple[str, list[str]]:
    """The file, and the program with its arguments."""
    from allranks._launch import UsageError

    output = os.environ.get("MPIPROF_OUT", "mpiprof.{rank}.pstats")
    rest = list(argv)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        name, equals, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        if word == "--":
            break
        if name in ("-h", "--help"):
            raise Help
        if name not in ("-o", "--outfile"):
            raise UsageError(f"mpiprof: unknown option {name} (options of the program come after it)")
        if not equals and not rest:
            raise UsageError(f"mpiprof: {name} needs a file")
        output = value if equals else rest.pop(0)
    if not rest:
        raise UsageError("mpiprof: no script to run (try: python -m mpiprof --help)")
    if rest[1:2] == ["--"]:
        del rest[1]
    return output, rest


def main() -> None:
    from allranks import _launch
    from allranks.compat import rank_of_this_process

    if len(sys.argv) < 2:
        sys.stderr.write(USAGE)
        sys.exit(2)
    try:
        output, program = parse(sys.argv[1:])
        # What it is made of, for a moment: under another name, and other braces stand for themselves.
        run_file = _launch.with_braces(output).replace("{{rank}}", "{rank}") + ".allranks"
        # Quiet as mpiprof is, and with the functions that cProfile counts.
        recording = [f"--output={run_file}", "--per-rank", "--quiet", "--builtins=all", "--as=mpiprof"]
        options = _launch.parse([*recording, "--", *program])
    except _launch.UsageError as error:
        _launch.complain(str(error))
        sys.exit(2)
    except Help:
        _launch.answer(USAGE)
        return
    options.pstats_file = output.replace("{rank}", rank_of_this_process())
    _launch.run_with(options)


if __name__ == "__main__":
    main()
