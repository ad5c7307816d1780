# SPDX-License-Identifier: BSD-3-Clause
from collections.abc import Callable
from types import CodeType
from typing import Any, final

def start(
    output: bytes, live_dir: bytes, max_bytes: int, quiet: bool, own_directory: bytes, /
) -> None: ...
def fact(key: str, value: bytes, /) -> None: ...
def finish() -> None: ...
def cancel() -> None: ...
def run_file(path: bytes, /) -> bool: ...
def run_code(source: bytes, /) -> bool: ...
def run_module(function: Callable[..., object], /, *args: object) -> bool: ...

@final
class profiler_subentry(tuple[Any, ...]):
    code: CodeType | str
    callcount: int
    reccallcount: int
    totaltime: float
    inlinetime: float

@final
class profiler_entry(tuple[Any, ...]):
    code: CodeType | str
    callcount: int
    reccallcount: int
    totaltime: float
    inlinetime: float
    calls: list[profiler_subentry] | None

class Profiler:
    def __init__(
        self,
        timer: Callable[[], float] | None = None,
        timeunit: float = 0.0,
        subcalls: bool = True,
        builtins: bool = True,
    ) -> None: ...
    def enable(self, subcalls: bool = True, builtins: bool = True) -> None: ...
    def disable(self) -> None: ...
    def clear(self) -> None: ...
    def getstats(self) -> list[profiler_entry]: ...
