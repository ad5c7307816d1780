# SPDX-License-Identifier: BSD-3-Clause
"""LineProfiler, as a class of its own and as the builtin `profile` of a recording.

By itself it counts in this process, between enable and disable; what counts is allranks._runtime.LineCounter. As the builtin
`profile` (RecordingProfiler) it chooses functions of the recording, which counts them from then on.
"""

from __future__ import annotations

import functools
import sys
import types
from _thread import _local  # threading has nothing else that is needed here

TYPE_CHECKING = False  # in a recording this is loaded before the program, and all else when it is needed
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVar

    from allranks.compat.line_profiler._line_profiler import File, FunctionKey, LineStats
    from allranks.compat.line_profiler._text import show_func, show_text
    from allranks.compat.line_profiler._viewer import main

    _T = TypeVar("_T")

__all__ = ["LineProfiler", "LineStats", "RecordingProfiler", "load_stats", "main", "show_func", "show_text"]

UNIT = 1e-9
COROUTINE, ASYNC_GENERATOR, GENERATOR = 0x80, 0x200, 0x20  # of co_flags
_LAZY = {"LineStats": "_line_profiler", "main": "_viewer", "show_func": "_text", "show_text": "_text"}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(__import__(f"allranks.compat.line_profiler.{_LAZY[name]}", fromlist=[name]), name)
    globals()[name] = value
    return value


def stats_kind() -> type[LineStats]:
    from allranks.compat.line_profiler._line_profiler import LineStats

    return LineStats


def load_stats(filename: File) -> LineStats:
    """What a .lprof file holds."""
    return stats_kind().from_files(filename)


def new_counter() -> Any:
    """Counts lines of code objects in this thread, between enable and disable; see src/runtime/line_counter.h."""
    try:
        from allranks._runtime import LineCounter
    except ImportError:  # built for another Python: nothing is counted
        return NoCounter()
    return LineCounter()


class NoCounter:
    def add(self, code: types.CodeType) -> None:
        pass

    def enable(self) -> None:
        pass

    def disable(self) -> None:
        pass

    def results(self) -> list[tuple[types.CodeType, list[tuple[int, int, int]]]]:
        return []


# ---- what a decorator may be given ----


def functions_in(given: Any) -> Iterator[types.FunctionType]:
    """The functions that it calls in the end, as far as that can be told."""
    if isinstance(given, types.FunctionType):
        inner = given.__dict__.get("__line_profiler_of__")
        yield inner if inner is not None else given
    elif isinstance(given, (classmethod, staticmethod, types.MethodType)):
        yield from functions_in(given.__func__)
    elif isinstance(given, (functools.partial, functools.partialmethod, functools.cached_property)):
        yield from functions_in(given.func)
    elif isinstance(given, property):
        for part in (given.fget, given.fset, given.fdel):
            yield from functions_in(part)
    elif isinstance(given, type):
        for each in vars(given).values():
            if not isinstance(each, type) or each.__qualname__.startswith(given.__qualname__ + "."):
                yield from functions_in(each)
    elif callable(given) and isinstance(getattr(given, "__wrapped__", None), types.FunctionType):
        yield from functions_in(given.__wrapped__)


def name_of(function: types.FunctionType) -> str:
    return getattr(function.__code__, "co_qualname", "") or function.__qualname__


def flags_of(func: Any) -> int:
    code = getattr(func, "__code__", None)
    return code.co_flags if isinstance(code, types.CodeType) else 0


# ---- the profiler ----


class Depths(_local):
    """How often a thread has enabled a profiler."""

    depth = 0


class LineProfiler:
    """LineProfiler(*functions)

    Counts how often each line of the functions runs, and for how long: while it is enabled, in the threads that enabled it.
    As a decorator it is enabled while the function runs.
    """

    timer_unit = UNIT

    def __init__(self, *functions: Callable[..., object], wrap_trace: bool | None = None, set_frame_local_trace: bool | None = None) -> None:
        self.functions: list[types.FunctionType] = []
        self._depths = Depths()
        self._counter = self._new_counter()
        self._names: dict[types.CodeType, str] = {}
        for function in functions:
            self.add_callable(function)

    def _new_counter(self) -> Any:
        return new_counter()

    def _choose(self, function: types.FunctionType) -> None:
        self._counter.add(function.__code__)

    # -- which functions --

    def add_function(self, func: Callable[..., object]) -> None:
        for function in functions_in(func):
            if function.__code__ not in self._names:
                self._names[function.__code__] = name_of(function)
                self.functions.append(function)
            self._choose(function)

    def add_callable(self, func: object, guard: Callable[[Any], bool] | None = None, name: str | None = None) -> int:
        """The number of functions in it that are new here. `guard`: true for a function that is to be left out."""
        n_before = len(self.functions)
        for function in functions_in(func):
            if guard is None or not guard(function):
                self.add_function(function)
        return len(self.functions) - n_before

    def add_class(self, cls: type, *, scoping_policy: object = None, wrap: bool = False) -> int:
        return self._add_members(cls, vars(cls), wrap)

    def add_module(self, mod: types.ModuleType, *, scoping_policy: object = None, wrap: bool = False) -> int:
        """Functions and classes that the module defines, not those that it imports."""
        own = {name: each for name, each in vars(mod).items() if getattr(each, "__module__", None) == mod.__name__}
        return self._add_members(mod, own, wrap)

    def _add_members(self, owner: Any, members: Any, wrap: bool) -> int:
        n_added = 0
        for name, each in list(members.items()):
            if isinstance(each, type) and (isinstance(owner, types.ModuleType) or each.__qualname__.startswith(owner.__qualname__ + ".")):
                n_added += self.add_class(each, wrap=wrap)
            elif not isinstance(each, type):
                n_added += self.add_callable(each)
                if wrap and any(functions_in(each)):
                    setattr(owner, name, self.wrap_callable(each))
        return n_added

    # -- decorating --

    def __call__(self, func: _T) -> _T:
        self.add_callable(func)
        wrapped: _T = self.wrap_callable(func)
        return wrapped

    def wrap_callable(self, func: Any) -> Any:
        """What does the same and is counted meanwhile."""
        if isinstance(func, (classmethod, staticmethod)):
            return type(func)(self.wrap_callable(func.__func__))
        if isinstance(func, types.MethodType):
            return types.MethodType(self.wrap_callable(func.__func__), func.__self__)
        if isinstance(func, functools.partialmethod):
            return functools.partialmethod(self.wrap_callable(func.func), *func.args, **func.keywords)
        if isinstance(func, functools.partial):
            return type(func)(self.wrap_callable(func.func), *func.args, **func.keywords)
        if isinstance(func, property):
            fget, fset, fdel = (each and self.wrap_callable(each) for each in (func.fget, func.fset, func.fdel))
            return type(func)(fget, fset, fdel, func.__doc__)
        if isinstance(func, functools.cached_property):
            return self._wrapped_cached(func)
        if isinstance(func, type):
            self._add_members(func, vars(func), wrap=True)
            return func
        return self._wrapped_function(func) if callable(func) else func

    def _wrapped_cached(self, given: Any) -> Any:
        wrapped = type(given)(self.wrap_callable(given.func))
        wrapped.attrname = given.attrname
        return wrapped

    def _wrapped_function(self, func: Any) -> Any:
        if getattr(func, "__line_profiler__", None) is self:
            return func
        flags = flags_of(func)
        if flags & COROUTINE:
            wrapper = self._wrapped_coroutine(func)
        elif flags & ASYNC_GENERATOR:
            wrapper = self._wrapped_async_generator(func)
        elif flags & GENERATOR:
            wrapper = self._wrapped_generator(func)
        else:
            wrapper = self._wrapped_call(func)
        functools.update_wrapper(wrapper, func)
        wrapper.__dict__["__line_profiler__"] = self
        wrapper.__dict__["__line_profiler_of__"] = next(functions_in(func), None)
        return wrapper

    def _wrapped_call(self, func: Any) -> types.FunctionType:
        def wrapper(*args: Any, **kwds: Any) -> Any:
            self.enable_by_count()
            try:
                return func(*args, **kwds)
            finally:
                self.disable_by_count()

        return wrapper  # type: ignore[return-value]

    def _wrapped_coroutine(self, func: Any) -> types.FunctionType:
        @types.coroutine
        def drive(coroutine: Any) -> Any:
            return (yield from self._driven(coroutine))

        async def wrapper(*args: Any, **kwds: Any) -> Any:
            return await drive(func(*args, **kwds))

        return wrapper  # type: ignore[return-value]

    def _wrapped_generator(self, func: Any) -> types.FunctionType:
        def wrapper(*args: Any, **kwds: Any) -> Any:
            return (yield from self._driven(func(*args, **kwds)))

        return wrapper  # type: ignore[return-value]

    def _driven(self, inner: Any) -> Any:
        """A generator or coroutine that is counted while it runs, and not while it waits."""
        step: Any = inner.send
        given: Any = None
        while True:
            self.enable_by_count()
            try:
                value = step(given)
            except StopIteration as end:
                return end.value
            finally:
                self.disable_by_count()
            try:
                given = yield value
                step = inner.send
            except GeneratorExit:
                inner.close()
                raise
            except BaseException as error:
                given, step = error, inner.throw

    def _wrapped_async_generator(self, func: Any) -> types.FunctionType:
        @types.coroutine
        def drive(awaitable: Any) -> Any:
            return (yield from self._driven(awaitable.__await__()))

        async def wrapper(*args: Any, **kwds: Any) -> Any:
            inner = func(*args, **kwds)
            step = inner.asend(None)
            try:
                while True:
                    try:
                        value = await drive(step)
                    except StopAsyncIteration:
                        return
                    try:
                        step = inner.asend((yield value))
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        step = inner.athrow(error)
            finally:
                await drive(inner.aclose())

        return wrapper  # type: ignore[return-value]

    # -- when --

    def enable(self) -> None:
        self._counter.enable()

    def disable(self) -> None:
        self._counter.disable()

    @property
    def enable_count(self) -> int:
        return self._depths.depth

    def enable_by_count(self) -> None:
        """Only the outermost of several takes effect."""
        depths = self._depths
        depths.depth += 1
        if depths.depth == 1:
            self.enable()

    def disable_by_count(self) -> None:
        depths = self._depths
        if depths.depth > 0:
            depths.depth -= 1
            if depths.depth == 0:
                self.disable()

    def __enter__(self) -> LineProfiler:
        self.enable_by_count()
        return self

    def __exit__(self, *error: object) -> None:
        self.disable_by_count()

    def run(self, cmd: str) -> LineProfiler:
        names = sys.modules["__main__"].__dict__
        return self.runctx(cmd, names, names)

    def runctx(self, cmd: str, globals: dict[str, Any], locals: Any) -> LineProfiler:
        with self:
            exec(cmd, globals, locals)
        return self

    def runcall(self, func: Callable[..., Any], /, *args: Any, **kw: Any) -> Any:
        with self:
            return func(*args, **kw)

    # -- what was counted --

    def _key_of(self, code: types.CodeType) -> FunctionKey:
        return code.co_filename, code.co_firstlineno, self._names.get(code, code.co_name)

    @property
    def code_map(self) -> dict[types.CodeType, dict[int, tuple[int, int]]]:
        """By code object, of each line its hits and its time."""
        timings = self.get_stats().timings
        lines = {code: timings.get(self._key_of(code), []) for code in self._names}
        return {code: {line: (hits, time) for line, hits, time in of_code} for code, of_code in lines.items()}

    def get_stats(self) -> LineStats:
        kind = stats_kind()
        parts = [kind({self._key_of(code): lines}, UNIT) for code, lines in self._counter.results()]
        return kind.from_stats_objects(kind({}, UNIT), *parts)

    def dump_stats(self, filename: File) -> None:
        self.get_stats().to_file(filename)

    def print_stats(
        self,
        stream: Any = None,
        output_unit: float | None = None,
        stripzeros: bool = False,
        details: bool = True,
        summarize: bool = False,
        sort: bool = False,
        rich: bool = False,
        *,
        config: object = None,
    ) -> None:
        self.get_stats().print(
            stream, output_unit=output_unit, stripzeros=stripzeros, details=details, summarize=summarize, sort=sort, rich=rich
        )


# What programs ask of a decorator, to find out which one it is.
LineProfiler.__module__ = "line_profiler.line_profiler"


# ---- in a recording ----


class RecordingProfiler(LineProfiler):
    """The builtin `profile` of a recording. What it decorates stays as it is, and is counted from then on."""

    def _new_counter(self) -> Any:
        return NoCounter()

    def _choose(self, function: types.FunctionType) -> None:
        import allranks

        allranks.lines(function)

    def wrap_callable(self, func: Any) -> Any:
        return func

    def _recorded(self) -> LineStats:
        from allranks.compat.line_profiler._recorded import lines_so_far

        return lines_so_far()

    def get_stats(self) -> LineStats:
        """Of this process, of all its threads, until now."""
        recorded = self._recorded().timings
        wanted = {code: self._key_of(code) for code in self._names}
        by_place = {key[:2]: lines for key, lines in recorded.items()}
        return stats_kind()({key: by_place.get(key[:2], []) for key in wanted.values()}, UNIT)


RecordingProfiler.__module__ = "line_profiler.line_profiler"
