# SPDX-License-Identifier: BSD-3-Clause
"""The builtin `profile` of `kernprof -b`: cProfile's interface, enabled by the functions that it decorates."""

from __future__ import annotations

import functools
from typing import Any

from allranks import Profile


class ContextualProfile(Profile):
    """Calls are counted in functions that it decorates, in `with profile:`, and between enable and disable."""

    enable_count = 0

    def enable_by_count(self, subcalls: bool = True, builtins: bool = True) -> None:
        self.enable_count += 1
        if self.enable_count == 1:
            self.enable(subcalls=subcalls, builtins=builtins)

    def disable_by_count(self) -> None:
        if self.enable_count > 0:
            self.enable_count -= 1
            if self.enable_count == 0:
                self.disable()

    def __enter__(self) -> ContextualProfile:
        self.enable_by_count()
        return self

    def __exit__(self, *error: object) -> None:
        self.disable_by_count()

    def __call__(self, func: Any) -> Any:
        if isinstance(func, (classmethod, staticmethod)):
            return type(func)(self(func.__func__))

        @functools.wraps(func)
        def wrapper(*args: Any, **kwds: Any) -> Any:
            with self:
                return func(*args, **kwds)

        return wrapper


ContextualProfile.__module__ = "kernprof"
