# SPDX-License-Identifier: BSD-3-Clause
"""A drop-in for scorep.user: regions, parameters, and which parts of the program are recorded. See docs/scorep.md."""

from __future__ import annotations

from allranks.compat.scorep import _recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType, TracebackType
    from typing import Any


# ---- regions ----


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a name is a str, not {type(value).__name__}")
    return value


def region_begin(name: str, file_name: str | None = None, line_number: int | None = None) -> None:
    """Begins the region `user:NAME` in this thread. The place is that of the call, in the call path."""
    _recorder.begin("user:" + _text(name))


def region_end(name: str) -> None:
    _recorder.end("user:" + _text(name))


class region:
    """region(region_name="")

    A context manager and a decorator:

        with scorep.user.region("name"): ...

        @scorep.user.region()
        def solve(): ...

    Without a name, which is for decorators only, the region is `MODULE:FUNCTION`, and recorded only while functions are not:
    otherwise the function itself is.
    """

    def __init__(self, region_name: str = "") -> None:
        self.region_name = region_name
        self._region = _recorder.region("user:" + _text(region_name)) if region_name else None

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        import functools

        around = self._region
        of_function = around or _recorder.region(f"{func.__module__}:{func.__name__}")

        @functools.wraps(func)
        def inner(*args: Any, **kwds: Any) -> Any:
            if not around and _recorder.functions_are_on():
                return func(*args, **kwds)
            with of_function:
                return func(*args, **kwds)

        return inner

    def __enter__(self) -> region:
        if self._region is None:
            raise RuntimeError("A region name needs to be specified.")
        self._region.__enter__()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        if self._region is not None:
            self._region.__exit__(exc_type, exc_value, traceback)


def rewind_begin(name: str, file_name: str | None = None, line_number: int | None = None) -> None:
    """Begins the region NAME, which may be taken out of the trace at its end."""
    _recorder.begin_rewind(_text(name))


def rewind_end(name: str, value: bool) -> None:
    """Ends it; with `value` the trace has nothing of this thread since it began."""
    _recorder.end_rewind(_text(name), bool(value))


# ---- parameters ----


def parameter_int(name: str, val: int) -> None:
    """Notes an integer of 64 bits in the trace."""
    number = val.__index__() if hasattr(val, "__index__") else _refuse(val)
    if not -(1 << 63) <= number < 1 << 63:
        raise OverflowError(f"parameter_int({name!r}, {number}): beyond 64 bits with a sign (parameter_uint has none)")
    _recorder.note_parameter(_text(name), number)


def parameter_uint(name: str, val: int) -> None:
    """The same without a sign."""
    _recorder.note_parameter(_text(name), val.__index__() if hasattr(val, "__index__") else _refuse(val), True)


def parameter_string(name: str, string: str) -> None:
    _recorder.note_parameter(_text(name), _text(string))


def _refuse(value: object) -> int:
    raise TypeError(f"an int is needed, not {type(value).__name__}")


# ---- functions of others ----


def instrument_function(fun: Callable[..., Any], instrumenter_fun: Callable[..., Any] = region) -> Callable[..., Any]:
    """The function with scorep.user.region, scorep.instrumenter.enable or scorep.instrumenter.disable around each call."""
    wrapped: Callable[..., Any] = instrumenter_fun()(fun)
    return wrapped


def instrument_module(module: ModuleType, instrumenter_fun: Callable[..., Any] = region) -> None:
    """The same for all functions in the module's namespace; classes stay as they are."""
    function_type = type(instrument_module)
    for name, value in list(vars(module).items()):
        if isinstance(value, function_type):
            setattr(module, name, instrument_function(value, instrumenter_fun))


# ---- recording as a whole ----


def enable_recording() -> None:
    _recorder.resume()


def disable_recording() -> None:
    """Nothing is recorded until enable_recording(), neither regions nor MPI calls."""
    _recorder.pause()


def force_finalize() -> None:
    """Ends the recording now, and writes the experiment directory; with MPI that is done in MPI_Finalize."""
    _recorder.finish()


def reregister_exit_handler() -> None:
    """Nothing to be done: the recording ends after the program's own exit functions."""
