# SPDX-License-Identifier: BSD-3-Clause
"""A drop-in for pyop2.profiling: the timers that PyOP2's documentation describes. See docs/drop-ins.md.

    with timed_region("assemble"): ...       timing("assemble") is the time spent there so far
    summary()                                a table of all timers

In a recorded program each of them is a region, on every rank. Without a recording they only time.
"""

from __future__ import annotations

import builtins
import os
import sys
from _thread import get_ident
from time import perf_counter

from allranks import region

TYPE_CHECKING = False  # like all that runs beside a program, this loads next to nothing
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _F = TypeVar("_F", bound=Callable[..., Any])

__all__ = [
    "Timer",
    "get_timers",
    "lineprof",
    "memprof",
    "profile",
    "reset_timers",
    "summary",
    "tic",
    "timed_function",
    "timed_region",
    "timing",
    "toc",
]

# ---- timers ----

_timers: dict[str, Timer] = {}  # by name; also timers that have never run

# Of one timer in one thread, which alone writes there: open regions, start of the outermost one, calls, their seconds.
_N_OPEN, _BEGIN, _N_CALLS, _SECONDS = range(4)


class Timer:
    """Timer(name=None, timer=perf_counter)

    Adds up the seconds between start and stop. There is one Timer per name: a second Timer("x") is the first one.
    `timer` is the clock; without a name it is called timer0, timer1 and so on.

    Calls inside a region of the same name, as in recursion, are counted, and their time is counted once.
    """

    _name: str
    _clock: Callable[[], float]
    _region: region
    _start: float | None  # of start and stop
    _starter: int  # the thread that called start
    _threads: dict[int, list[Any]]
    _has_run: bool

    def __new__(cls, name: str | None = None, timer: Callable[[], float] = perf_counter) -> Timer:
        name = name or _unused_name()
        known = _timers.get(name)
        if known is not None:
            return known
        self = super().__new__(cls)
        self._name = name
        self._clock = timer
        self._region = region(str(name))
        self._start = None
        self._starter = 0
        self._threads = {}
        self._has_run = False
        return _timers.setdefault(name, self)

    def _register(self) -> None:
        """A timer that outlived reset_timers returns under its name, unless another one has taken it."""
        self._has_run = True
        _timers.setdefault(self._name, self)

    def _here(self) -> list[Any]:
        thread = get_ident()
        return self._threads.get(thread) or self._threads.setdefault(thread, [0, 0.0, 0, 0.0])

    def _record(self, seconds: float) -> None:
        here = self._here()
        here[_N_CALLS] += 1
        here[_SECONDS] += seconds

    # -- regions --

    def _begin(self) -> None:
        if not self._has_run:
            self._register()
        here = self._here()
        self._region.__enter__()
        here[_N_OPEN] += 1
        if here[_N_OPEN] == 1:
            here[_BEGIN] = self._clock()

    def _end(self) -> None:
        now = self._clock()
        here = self._here()
        self._region.__exit__(None, None, None)
        if not here[_N_OPEN]:  # begun in another thread
            return
        here[_N_OPEN] -= 1
        here[_N_CALLS] += 1
        if not here[_N_OPEN]:
            here[_SECONDS] += now - here[_BEGIN]

    # -- start and stop --

    def start(self) -> None:
        """Begins, or begins anew."""
        self._register()
        self._leave_region()
        self._region.__enter__()
        self._starter = get_ident()
        self._start = self._clock()

    def stop(self) -> float:
        """The seconds since start, which are added."""
        seconds = self.elapsed
        self._start = None
        self._leave_region()
        self._record(seconds)
        return seconds

    def _leave_region(self) -> None:
        """In the thread that has entered it: a region belongs to a thread."""
        if self._starter == get_ident():
            self._region.__exit__(None, None, None)
        self._starter = 0

    def reset(self) -> None:
        for thread in list(self._threads.values()):
            thread[_N_CALLS], thread[_SECONDS] = 0, 0.0

    def add(self, t: float) -> None:
        """A timing that was measured by other means."""
        self._register()
        self._record(t)

    # -- figures, in seconds --

    @property
    def name(self) -> str:
        return self._name

    @property
    def elapsed(self) -> float:
        """Since start."""
        now = self._clock()
        if self._start is None:
            raise AssertionError(f"Timer {self._name} has not been started yet.")
        return now - self._start

    @property
    def ncalls(self) -> int:
        return sum(thread[_N_CALLS] for thread in list(self._threads.values()))

    @property
    def total(self) -> float:
        return sum((thread[_SECONDS] for thread in list(self._threads.values())), 0.0)

    @property
    def average(self) -> float:
        """Of a timer without calls nan."""
        n_calls = self.ncalls
        return self.total / n_calls if n_calls else float("nan")

    # -- all of them --

    @classmethod
    def summary(cls, filename: Any = None) -> None:
        """A table of all timers on standard output, or as CSV in a file."""
        rows = [(timer.name, timer.total, timer.ncalls, timer.average) for _, timer in sorted(cls.get_timers().items())]
        if rows and filename is not None:
            _write_csv(rows, filename)
        elif rows:
            sys.stdout.write(_as_table(rows))

    @classmethod
    def get_timers(cls) -> dict[str, Timer]:
        """By name, those that have been started."""
        return {name: timer for name, timer in list(_timers.items()) if timer._has_run}

    @classmethod
    def reset_all(cls) -> None:
        """Forgets all timers; the objects themselves keep their figures."""
        for timer in list(_timers.values()):
            timer._has_run = False
        _timers.clear()


def _unused_name() -> str:
    number = len(_timers)
    while f"timer{number}" in _timers:
        number += 1
    return f"timer{number}"


def _named(name: str) -> Timer:
    return _timers.get(name) or Timer(name)


class timed_region:
    """with timed_region("my code"): ..."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        self._timer = _named(self._name)
        self._timer._begin()

    def __exit__(self, *error: object) -> None:
        self._timer._end()


def timed_function(name: Any = None) -> Any:
    """@timed_function("my function"): times all calls. Without a name it is that of the function."""
    if callable(name):  # @timed_function
        return timed_function(None)(name)
    import functools

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        timer_name = name or function.__name__

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            timer = _named(timer_name)
            timer._begin()
            try:
                return function(*args, **kwargs)
            finally:
                timer._end()

        return timed

    return decorate


def tic(name: str) -> None:
    """Starts the timer of this name."""
    Timer(name).start()


def toc(name: str) -> float:
    """Stops the timer of this name, and returns the seconds since tic."""
    return Timer(name).stop()


# ---- results ----


def timing(name: str, reset: bool = False, total: bool = True) -> float:
    """The seconds that the timer has added up, or with total=False their average per call; reset: it begins at 0 again."""
    timer = _timers.get(name)
    if timer is None:
        return 0.0 if total else float("nan")
    seconds = timer.total if total else timer.average
    if reset:
        timer.reset()
    return seconds


def summary(filename: Any = None) -> None:
    """A table of all timers on standard output, or as CSV in a file."""
    Timer.summary(filename)


def get_timers(reset: bool = False) -> dict[str, Timer]:
    """By name, those that have been started; reset: they are forgotten here, and keep their figures."""
    timers = Timer.get_timers()
    if reset:
        Timer.reset_all()
    return timers


def reset_timers() -> None:
    """Forgets all timers."""
    Timer.reset_all()


COLUMNS = ("Timer", "Total time", "Calls", "Average time")


def _as_table(rows: list[tuple[str, float, int, float]]) -> str:
    cells = [(str(name), f"{total:g}", f"{calls:d}", f"{average:g}") for name, total, calls, average in rows]
    widths = [max(map(len, column)) for column in zip(COLUMNS, *cells)]
    lines = [" | ".join(text.rjust(width) for text, width in zip(line, widths)) for line in (COLUMNS, *cells)]
    return "\n".join(lines) + "\n"


def _write_csv(rows: list[tuple[str, float, int, float]], filename: Any) -> None:
    import csv

    with open(filename, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])


# ---- at the end ----


def _wants_summary() -> bool:
    text = os.environ.get("PYOP2_PRINT_SUMMARY", "0")
    try:
        return bool(int(text))
    except ValueError:
        from allranks._launch import complain

        complain(f"PYOP2_PRINT_SUMMARY={text}: not a number (set it to 1, or 0); no summary will be printed")
        return False


def _print_summary() -> None:
    """Unless an installed PyOP2 has a summary of its own."""
    found = sys.modules.get("pyop2.profiling")
    if Timer.get_timers() and (found is None or found.summary is summary):
        sys.stdout.write("**** PyOP2 timings summary ****\n")
        summary()


def _print_summary_at_exit() -> None:
    from allranks.compat import rank_of_this_process

    if _wants_summary() and rank_of_this_process() == "0":
        import atexit

        atexit.register(_print_summary)


_print_summary_at_exit()

# ---- other profilers ----


def _is_line_profiler(given: object) -> bool:
    return str(getattr(given, "__module__", "")).startswith(("line_profiler", "kernprof"))


def _pass_through(function: _F) -> _F:
    return function


def _decorate(given: Any, function: Any, options: dict[str, Any]) -> Any:
    """By what another profiler has put among the builtins. None: the function stays as it is."""
    if given is None or any(given is each for each in (profile, lineprof, memprof)):
        return _pass_through if function is None else function
    return given(**options) if function is None else given(function, **options)


def profile(function: Any = None, **options: Any) -> Any:
    """The builtin `profile` of kernprof or memory_profiler; without them the function stays as it is."""
    return _decorate(getattr(builtins, "profile", None), function, options)


def lineprof(function: Any = None, **options: Any) -> Any:
    """`profile` under kernprof; otherwise the function stays as it is."""
    given = getattr(builtins, "profile", None)
    return _decorate(given if _is_line_profiler(given) else None, function, options)


def memprof(function: Any = None, **options: Any) -> Any:
    """`profile` under memory_profiler or mprof; otherwise the function stays as it is."""
    given = getattr(builtins, "profile", None)
    return _decorate(None if _is_line_profiler(given) else given, function, options)
