# SPDX-License-Identifier: BSD-3-Clause
from collections.abc import Callable
from types import CodeType
from typing import Any, Literal

def start(
    output: str, live_dir: str | None, max_bytes: int, quiet: bool, own_directory: str, /
) -> None: ...
def fact(key: str, value: str, /) -> None: ...
def call_main(
    function_or_code: Callable[..., Any] | CodeType, /, *args: Any
) -> tuple[Literal["done", "failed", "interrupted"], Any]: ...
