# SPDX-License-Identifier: BSD-3-Clause
"""allranks.Profile: cProfile's interface over allranks' own recorder. See docs/profile-class.md.

Which frames of this file a profile shows is part of that interface: what is called between enable() and disable() is
called here as directly as it is in cProfile.
"""

from __future__ import annotations

from types import CodeType

from allranks import _runtime

TYPE_CHECKING = False  # typing is not needed to profile
if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from typing import Any, TypeVar, Union

    Label = tuple[str, int, str]  # file, first line, name: how pstats knows a function
    CallerTimes = tuple[int, int, float, float]
    FunctionTimes = tuple[int, int, float, float, dict[Label, CallerTimes]]
    SortKeys = Union[int, str, tuple[Union[int, str], ...]]
    Result = TypeVar("Result")
    Self = TypeVar("Self", bound="Profile")


class Profile(_runtime.Profiler):
    """Profile(timer=None, timeunit=0.0, subcalls=True, builtins=True)

    Records how often and how long functions run, in the thread that calls enable() and in no other. `timer`, if given,
    is a function that returns seconds, or, if `timeunit` is given, integers of that many seconds each. With `subcalls`
    times are also kept by caller; with `builtins` functions in C have entries of their own.
    """

    stats: dict[Label, FunctionTimes]

    def __enter__(self: Self) -> Self:
        self.enable()
        return self

    def __exit__(self, *exception: object) -> None:
        self.disable()

    def run(self: Self, cmd: str | CodeType) -> Self:
        """Record a statement that is run in the module __main__."""
        import __main__

        names = __main__.__dict__
        return self.runctx(cmd, names, names)

    def runctx(
        self: Self, cmd: str | CodeType, globals: dict[str, Any], locals: Any
    ) -> Self:
        """Record a statement that is run in these namespaces."""
        self.enable()
        try:
            exec(cmd, globals, locals)
        finally:
            self.disable()
        return self

    def runcall(self, func: Callable[..., Result], /, *args: Any, **kw: Any) -> Result:
        """Record a call of a function, and return what it returns."""
        self.enable()
        try:
            return func(*args, **kw)
        finally:
            self.disable()

    def create_stats(self) -> None:
        """End the recording and bring the results into `stats`, where pstats looks for them."""
        self.disable()
        self.snapshot_stats()

    def snapshot_stats(self) -> None:
        """Bring the results so far into `stats`."""
        entries = self.getstats()
        self.stats = {}
        for entry in entries:
            add_function(self.stats, entry)
        # A callee that has not returned yet has no entry of its own.
        seen = {id(entry.code) for entry in entries}
        for entry in entries:
            for callee in entry.calls or ():
                if id(callee.code) in seen:
                    add_caller(self.stats[label(callee.code)][4], label(entry.code), callee)

    def dump_stats(self, file: str | bytes | os.PathLike[str] | os.PathLike[bytes] | int) -> None:
        """End the recording and write the results to a file that pstats reads."""
        import marshal

        with open(file, "wb") as output:
            self.create_stats()
            marshal.dump(self.stats, output)

    def print_stats(self, sort: SortKeys = -1) -> None:
        """End the recording and print the results, sorted by one or several of pstats' keys."""
        import pstats

        keys: tuple[Any, ...] = sort if isinstance(sort, tuple) else (sort,)
        # pstats takes whatever has create_stats and stats.
        stats = pstats.Stats(self)  # type: ignore[arg-type]
        stats.strip_dirs().sort_stats(*keys).print_stats()


def label(code: CodeType | str) -> Label:
    if isinstance(code, str):
        return ("~", 0, code)
    return (code.co_filename, code.co_firstlineno, code.co_name)


def add_function(stats: dict[Label, FunctionTimes], entry: _runtime.profiler_entry) -> None:
    """Functions of one label, such as two lambdas in a line, are one in a report: they are added up."""
    cc, nc, tt, ct, callers = stats.get(label(entry.code), (0, 0, 0.0, 0.0, {}))
    stats[label(entry.code)] = (
        cc + entry.callcount - entry.reccallcount,
        nc + entry.callcount,
        tt + entry.inlinetime,
        ct + entry.totaltime,
        callers,
    )


def add_caller(
    callers: dict[Label, CallerTimes], caller: Label, callee: _runtime.profiler_subentry
) -> None:
    # All calls first and primitive ones second: the other way round than for a function.
    nc, cc, tt, ct = callers.get(caller, (0, 0, 0.0, 0.0))
    callers[caller] = (
        nc + callee.callcount,
        cc + callee.callcount - callee.reccallcount,
        tt + callee.inlinetime,
        ct + callee.totaltime,
    )


def run(statement: str | CodeType, filename: str | None = None, sort: SortKeys = -1) -> None:
    """Record a statement that is run in the module __main__; print the results, or write them to a file."""
    profile = Profile()
    try:
        profile.run(statement)
    except SystemExit:
        pass
    finally:
        show(profile, filename, sort)


def runctx(
    statement: str | CodeType,
    globals: dict[str, Any],
    locals: Any,
    filename: str | None = None,
    sort: SortKeys = -1,
) -> None:
    """The same for a statement that is run in these namespaces."""
    profile = Profile()
    try:
        profile.runctx(statement, globals, locals)
    except SystemExit:
        pass
    finally:
        show(profile, filename, sort)


def show(profile: Profile, filename: str | None, sort: SortKeys) -> None:
    if filename is None:
        profile.print_stats(sort)
    else:
        profile.dump_stats(filename)
