# SPDX-License-Identifier: BSD-3-Clause
"""What a program gets of allranks._runtime where that cannot be loaded: everything is there, and does nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from types import TracebackType

_T = TypeVar("_T")


class paused:
    def __enter__(self: _T) -> _T:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None, /
    ) -> None:
        pass


class region(paused):
    def __new__(cls, name: object, /, **params: object) -> object:  # type: ignore[misc]
        return super().__new__(cls) if isinstance(name, str) else name

    def __init__(self, name: str, /, **params: object) -> None:
        self.name = name

    def __call__(self, function: _T, /) -> _T:
        return function


def pause() -> None:
    pass


def resume() -> None:
    pass


def functions_off() -> None:
    pass


def functions_on() -> None:
    pass


def functions_are_on() -> bool:
    return False


def end_region(region: object, /) -> bool:
    return True


def lines(function: _T, /) -> _T:
    return function


def trace_on() -> None:
    pass


def trace_off() -> None:
    pass


def parameter(name: str, value: int | str, is_unsigned: bool = False, /) -> None:
    pass


def trace_place() -> int:
    return 0


def trace_take_back(place: int, /) -> None:
    pass


def is_recording() -> bool:
    return False
