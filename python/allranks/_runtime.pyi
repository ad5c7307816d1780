# SPDX-License-Identifier: BSD-3-Clause
from collections.abc import Callable
from types import CodeType, TracebackType
from typing import Any, TypeVar, final, overload

_F = TypeVar("_F", bound=Callable[..., object])

def start(
    output: bytes,
    per_rank: bool,
    live_dir: bytes,
    max_bytes: int,
    quiet: bool,
    own_directory: bytes,
    builtins: int,
    exact: bool,
    budget: float,
    include: tuple[bytes, ...],
    exclude: tuple[bytes, ...],
    hide_imports: bool,
    stem: bytes,
    children: bytes | None,
    merges: bool,
    merge_timeout: int,
    /,
) -> str: ...
def calibrate(loop: Callable[[], None], loop_in_c: Callable[[], None], n_calls: int, /) -> None: ...
def fact(key: str, value: bytes, /) -> None: ...
def finish(says_nothing: bool, /) -> tuple[bytes, bool] | None: ...
def export_if_terminated(program: bytes, target: bytes, /) -> bool: ...
def remote_file_system() -> tuple[str, bytes] | None: ...
def forked() -> None: ...
def cancel() -> None: ...
def run_file(path: bytes, /) -> bool: ...
def run_code(source: bytes, /) -> bool: ...
def run_module(function: Callable[..., object], /, *args: object) -> bool: ...
def is_recording() -> bool: ...
def pause() -> None: ...
def resume() -> None: ...

class region:
    name: str
    @overload
    def __new__(cls, name: str, /, **params: object) -> region: ...
    @overload
    def __new__(cls, function: _F, /) -> _F: ...  # type: ignore[misc]
    def __call__(self, function: _F, /) -> _F: ...
    def __enter__(self) -> region: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...

class paused:
    def __init__(self) -> None: ...
    def __enter__(self) -> paused: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...

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
