# SPDX-License-Identifier: BSD-3-Clause
"""Regions for more than one function, and around what is not a Python function."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, TypeVar

from allranks import region

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_T = TypeVar("_T")


def wrapped(around: region, function: Callable[..., object]) -> Callable[..., object]:
    """A callable that has no code of its own, as a region."""

    @functools.wraps(function, updated=())
    def call(*args: object, **kwargs: object) -> object:
        with around:
            return function(*args, **kwargs)

    return call


def functions_of(owner: type | types.ModuleType) -> Iterator[types.FunctionType]:
    """Those that are defined there, not those that are imported or inherited."""
    module = owner.__name__ if isinstance(owner, types.ModuleType) else owner.__module__
    for value in list(vars(owner).values()):
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if isinstance(value, property):
            for part in (value.fget, value.fset, value.fdel):
                if isinstance(part, types.FunctionType) and part.__module__ == module:
                    yield part
        elif isinstance(value, types.FunctionType):
            if value.__module__ == module:
                yield value
        elif isinstance(value, type) and value.__module__ == module and value is not owner:
            yield from functions_of(value)


def instrument(target: _T) -> _T:
    """Makes a function, every method of a class or every function of a module a region of its own.

    They are recorded whatever --include, --exclude and --budget say. Returns what it was given, so it is a decorator too.
    Without a recording nothing is done.
    """
    if isinstance(target, (type, types.ModuleType)):
        for function in functions_of(target):
            region(function)
    elif callable(target) or isinstance(target, (staticmethod, classmethod)):
        return region(target)  # type: ignore[type-var,return-value] # a callable becomes itself
    else:
        raise TypeError(f"instrument takes a function, a class or a module, not {type(target).__name__}")
    return target
