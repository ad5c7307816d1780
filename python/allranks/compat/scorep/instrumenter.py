# SPDX-License-Identifier: BSD-3-Clause
"""A drop-in for scorep.instrumenter: whether functions are recorded. Regions, parameters and MPI calls are in any case.

    with scorep.instrumenter.disable("name"): ...      a region whose inside is not recorded
    @scorep.instrumenter.enable()

The state is that of the process. A region is recorded only by the block that changes the state.
"""

from __future__ import annotations

from allranks.compat.scorep import _recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, TypeVar

    _S = TypeVar("_S", bound="_Switch")

TYPES = ("profile", "trace", "cProfile", "cTrace", "dummy")


class Instrumenter:
    """What get_instrumenter returns. There is one, whatever type was asked for: functions are seen in the cheapest way."""

    def register(self) -> None:
        _recorder.functions_on()

    def unregister(self) -> None:
        _recorder.functions_off()

    def get_registered(self) -> bool | None:
        """None: the program is not recorded."""
        return _recorder.functions_are_on() if _recorder.is_recording() else None

    def run(self, cmd: Any, globals: dict[str, Any] | None = None, locals: dict[str, Any] | None = None) -> None:
        globals = {} if globals is None else globals
        exec(cmd, globals, {} if locals is None else locals)

    def try_region_begin(self, code_object: object) -> bool:
        return False

    def region_begin(
        self, module_name: str, function_name: str, file_name: object = None, line_number: object = None, code_object: object = None
    ) -> None:
        _recorder.begin(f"{module_name}:{function_name}")

    def try_region_end(self, code_object: object) -> bool:
        return False

    def region_end(self, module_name: str, function_name: str, code_object: object = None) -> None:
        _recorder.end(f"{module_name}:{function_name}")

    def rewind_begin(self, name: str, file_name: object = None, line_number: object = None) -> None:
        _recorder.begin_rewind(name)

    def rewind_end(self, name: str, value: bool) -> None:
        _recorder.end_rewind(name, value)

    def user_enable_recording(self) -> None:
        _recorder.resume()

    def user_disable_recording(self) -> None:
        _recorder.pause()

    def user_parameter_int(self, name: str, val: int) -> None:
        from allranks.compat.scorep.user import parameter_int

        parameter_int(name, val)

    def user_parameter_uint(self, name: str, val: int) -> None:
        from allranks.compat.scorep.user import parameter_uint

        parameter_uint(name, val)

    def user_parameter_string(self, name: str, string: str) -> None:
        from allranks.compat.scorep.user import parameter_string

        parameter_string(name, string)

    def force_finalize(self) -> None:
        _recorder.finish()

    def reregister_exit_handler(self) -> None:
        pass


_instrumenter = Instrumenter()


def has_c_instrumenter() -> bool:
    return True


def get_instrumenter(enable_instrumenter: bool = False, instrumenter_type: str = "dummy") -> Instrumenter:
    """The one of this process. The arguments are those of the first call in the bindings; here the launcher has made it."""
    if instrumenter_type not in TYPES:
        raise RuntimeError(f'instrumenter_type "{instrumenter_type}" unkown')
    return _instrumenter


def register() -> None:
    """Record functions from now on."""
    _recorder.functions_on()


def unregister() -> None:
    """Record no functions until register()."""
    _recorder.functions_off()


class _Switch:
    """A context manager and a decorator. It may be entered while it is entered already, as by a function that recurses."""

    _turns_on: bool

    def __init__(self, region_name: str = "") -> None:
        self.region_name = region_name
        self._changes: list[bool] = []  # whether each block that is open has changed the state; the innermost last

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        import functools

        kind, name = type(self), self.region_name

        @functools.wraps(func)
        def inner(*args: Any, **kwds: Any) -> Any:
            with kind(name):
                return func(*args, **kwds)

        return inner

    def __enter__(self: _S) -> _S:
        changes = _recorder.is_recording() and _recorder.functions_are_on() != self._turns_on
        self._changes.append(changes)
        if changes:
            self._change()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        if self._changes and self._changes.pop():
            self._change_back()

    def _change(self) -> None:
        raise NotImplementedError

    def _change_back(self) -> None:
        raise NotImplementedError

    def _begin(self) -> None:
        if self.region_name:
            _recorder.begin(f"user_instrumenter:{self.region_name}")

    def _end(self) -> None:
        if self.region_name:
            _recorder.end(f"user_instrumenter:{self.region_name}")


class enable(_Switch):
    """enable(region_name="")

    Functions are recorded while the block runs, also after --noinstrumenter.
    """

    _turns_on = True

    def _change(self) -> None:
        self._begin()
        _recorder.functions_on()

    def _change_back(self) -> None:
        _recorder.functions_off()
        self._end()


class disable(_Switch):
    """disable(region_name="")

    Functions are not recorded while the block runs.
    """

    _turns_on = False

    def _change(self) -> None:
        _recorder.functions_off()
        self._begin()

    def _change_back(self) -> None:
        self._end()
        _recorder.functions_on()
