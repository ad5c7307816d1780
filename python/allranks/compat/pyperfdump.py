# SPDX-License-Identifier: BSD-3-Clause
"""A drop-in for PyPerfDump: counters of named regions, dumped as CSV or HDF5. See docs/drop-ins.md.

    PDUMP_EVENTS=PAPI_TOT_INS,perf::PAGE-FAULTS python script.py

    pyperfdump.init()
    pyperfdump.start_region("region1")
    pyperfdump.start_profile()
    ...
    pyperfdump.end_profile()
    pyperfdump.end_region()                  appends to perf_dump.h5, or perf_dump.csv
    pyperfdump.finalize()

In a recorded program each region is a region of the recording, too, with its counters as metrics.
"""

from __future__ import annotations

import os
import sys
from _thread import get_ident

TYPE_CHECKING = False  # like all that runs beside a program, this loads next to nothing
if TYPE_CHECKING:
    from collections.abc import Callable

    from allranks._runtime import Counting, region
    from allranks.compat._pdump_files import Dump, Row
    from allranks.compat._pdump_ranks import Ranks

__all__ = ["end_profile", "end_region", "error", "finalize", "init", "start_profile", "start_region"]


class error(SystemError):  # the original raises a SystemError, and has this as its cause
    pass


error.__module__ = "pyperfdump"

# ---- what it says ----

_NOT_STARTED, _INITIALIZED, _IN_REGION, _IN_PROFILE = range(4)
_STATES = (
    "Not initialized",
    "Initialized, not within a region",
    "Initialized and within a region, not profiling",
    "Initialized and profiling within a region",
)


def _say(text: str) -> None:
    """One write, since ranks share the terminal."""
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):  # closed, or the program has none
        pass


def _warn(text: str) -> None:
    _say(f"PyPerfDump WARNING: {text}")


def _out_of_order(text: str) -> None:
    if os.environ.get("PDUMP_SILENCE_WARNINGS", "") in ("", "0"):
        _warn(f"{text}\nPyPerfDump STATE: {_STATES[_session.state]}")


def _failure(text: str) -> error:
    return error(f"PyPerfDump ERROR: {text}\nPyPerfDump STATE: {_STATES[_NOT_STARTED]}")


def _aside(function: Callable[..., None], *args: object) -> None:
    """In a recording this is a region of its own."""
    from allranks import region

    with region("(pyperfdump)"):
        function(*args)


# ---- the session ----


class _Session:
    """From init to finalize; there is one per process."""

    def __init__(self) -> None:
        self.state = _NOT_STARTED
        self.is_child_of_rank = False  # forked from a process that had begun to use MPI
        self.n_regions = 0  # since the process began, for generic names
        self.events: list[str] = []
        self.has_warned_of_estimates = False
        self.counting: Counting | None = None
        self.ranks: Ranks | None = None
        self.dump: Dump | None = None
        # The open region:
        self.name = ""
        self.region: region | None = None
        self.thread = 0
        self.profile_region: region | None = None  # the same in another thread, while it has a profile
        self.profile_thread = 0
        self.totals: list[int] = []
        self.runtime_ns = 0

    def open_region(self, name: str) -> None:
        from allranks import region

        self.name = name
        self.totals = [0] * len(self.events)
        self.runtime_ns = 0
        self.region = region(name)
        self.thread = get_ident()
        self.state = _IN_REGION
        self.region.__enter__()

    def open_profile(self) -> None:
        from allranks import region

        assert self.counting
        self.state = _IN_PROFILE
        self.profile_thread = get_ident()
        self.profile_region = region(self.name) if self.profile_thread != self.thread else None
        if self.profile_region:
            self.profile_region.__enter__()
        try:
            self.counting.start(self.name)
        except RuntimeError as why:
            self.not_counted(why)

    def not_counted(self, why: RuntimeError) -> None:
        _warn(f"a profile of {self.name} is not counted: {why}")
        self.close_profile()

    def close_profile(self) -> None:
        self.state = _IN_REGION
        if self.profile_region and self.profile_thread == get_ident():
            self.profile_region.__exit__(None, None, None)
        self.profile_region = None

    def add_profile(self) -> None:
        assert self.counting
        try:
            values, runtime_ns, is_estimate = self.counting.stop()
        except RuntimeError as why:
            self.not_counted(why)
            return
        self.close_profile()
        self.totals = [total + value for total, value in zip(self.totals, values)]
        self.runtime_ns += runtime_ns
        if is_estimate and not self.has_warned_of_estimates:
            self.has_warned_of_estimates = True
            _warn("values are estimates: there are more events than the processor can count at a time (ask for fewer)")

    def save_region(self) -> None:
        assert self.dump and self.counting
        self.state = _INITIALIZED
        self.counting.close()
        if self.region and self.thread == get_ident():  # a region belongs to a thread
            self.region.__exit__(None, None, None)
        self.region = None
        row: Row = (self.name, self.totals, self.runtime_ns)
        _aside(self.dump.save, row)

    def forked(self) -> None:
        """In the child: what is open is the parent's, and so is MPI."""
        if self.ranks and self.ranks.has_mpi:
            self.state = _NOT_STARTED
            self.ranks = self.dump = self.counting = None
        elif self.state > _INITIALIZED:
            self.state = _INITIALIZED
        self.region = self.profile_region = None
        if "mpi4py.MPI" in sys.modules:
            from allranks.compat._pdump_ranks import mpi_in_use

            self.is_child_of_rank = self.is_child_of_rank or mpi_in_use() is not None


_session = _Session()
os.register_at_fork(after_in_child=_session.forked)

# ---- which events ----


def _items(variable: str) -> list[str]:
    delimiter = (os.environ.get("PDUMP_DELIMITER") or ",")[0]
    return [item.strip() for item in os.environ.get(variable, "").split(delimiter) if item.strip()]


def _code(text: str) -> int:
    """Presets are negative numbers of 32 bits, which tools also print as hexadecimal ones."""
    code = int(text, 16) if text.lower().startswith("0x") else int(text)
    return code - (1 << 32) if 1 << 31 <= code < 1 << 32 else code


def _add(counting: Counting, text: str, is_code: bool) -> tuple[str, str]:
    """The name of the event, or why it is not counted."""
    what = f'Unable to get {"name" if is_code else "code"} from "{text}"'
    try:
        event = _code(text) if is_code else text
    except ValueError:
        return "", f"{what}, it is not a number"
    try:
        return counting.add(event), ""
    except (LookupError, UnicodeError) as why:
        return "", f"{what}, {why.args[0] if isinstance(why, LookupError) else 'it is not UTF-8'}"
    except ValueError as why:
        return "", f'Unable to add "{text}", {why}'


class _Choice:
    """What one rank can count. It is passed to the others."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.events: list[str] = []
        self.problems: list[str] = []
        self.failure = ""


def _asked() -> tuple[str, list[str]]:
    """The variable that says what to count, and what it says."""
    variable = next((name for name in ("PDUMP_EVENTS", "PDUMP_CODES") if _items(name)), "")
    return variable, _items(variable)


def _choose(counting: Counting, ranks: Ranks) -> _Choice:
    """Launchers need not pass variables on to other nodes: a rank that has none takes those of rank 0."""
    choice = _Choice()
    of_rank_0 = ranks.share(_asked())[0]
    variable, items = _asked() if _asked()[0] else of_rank_0
    for text in items:
        name, problem = _add(counting, text, variable == "PDUMP_CODES")
        choice.asked.append(name or text)
        if name:
            choice.events.append(name)
        else:
            choice.problems.append(problem)
    if not variable:
        choice.failure = "Neither PDUMP_EVENTS nor PDUMP_CODES is set (to one or more of: allranks counters)"
    elif not choice.events:
        choice.failure = f"No valid {'event' if variable == 'PDUMP_EVENTS' else 'code'} in {variable} ({'; '.join(choice.problems)})"
    return choice


def _agree(choice: _Choice, ranks: Ranks) -> list[str]:
    """The events that all ranks count; rank 0 says which are left out, and why."""
    choices = ranks.share(choice)
    events = [name for name in choices[0].events if all(name in other.events for other in choices)]
    if ranks.rank == 0:
        _say_problems(choices)
    if choice.failure:
        raise _failure(choice.failure)
    if not events:
        failures = [f"rank {rank}: {other.failure}" for rank, other in enumerate(choices) if other.failure]
        raise _failure(f"No event that all ranks can count ({failures[0] if failures else 'each has others'})")
    return events


def _problems(choice: _Choice, choices: list[_Choice]) -> list[str]:
    """Those of one rank, and what it could count and others were not asked for."""
    asked_for = [set(other.asked) for other in choices]
    alone = [name for name in choice.events if not all(name in other for other in asked_for)]
    return choice.problems + [f'"{name}" is left out, not all ranks were asked for it' for name in alone]


def _say_problems(choices: list[_Choice]) -> None:
    found: dict[str, list[int]] = {}
    for rank, choice in enumerate(choices):
        for problem in _problems(choice, choices):
            found.setdefault(problem, []).append(rank)
    for problem, ranks in found.items():
        where = "" if len(ranks) == len(choices) else f" (on rank {', '.join(map(str, ranks))}; it is counted on none)"
        _say(f"PAPI WARNING: {problem}{where}")


def _new_counting() -> Counting:
    try:
        from allranks._runtime import Counting
    except ImportError as why:
        raise _failure(f"nothing can be counted: {why}") from None
    return Counting()


def _begin() -> None:
    from allranks._runtime import unrecorded
    from allranks.compat._pdump_ranks import join

    ranks = join(_warn)
    unrecorded(_begin_with, ranks)


def _begin_with(ranks: Ranks) -> None:
    from allranks.compat._pdump_files import Dump

    counting = _new_counting()
    try:
        choice = _choose(counting, ranks)
        events = _agree(choice, ranks)
        if events != choice.events:
            counting = _new_counting()
            for name in events:
                counting.add(name)
        _session.dump = Dump(ranks, events, _warn)
    except BaseException:
        ranks.leave()
        raise
    _session.ranks, _session.events, _session.counting = ranks, events, counting


# ---- its functions ----


def init(*ignored: object) -> None:
    """Reads the environment, and finds out which of the events can be counted. error: none."""
    if _session.state != _NOT_STARTED:
        _out_of_order("Already initialized")
        return
    if _session.is_child_of_rank:
        raise _failure("a forked child of a rank cannot use MPI (call init in the rank, not in its children)")
    _session.has_warned_of_estimates = False
    _new_counting()
    try:
        _aside(_begin)
    except error as why:
        raise why.with_traceback(None) from None  # the text says it all
    _session.state = _INITIALIZED


def start_region(*name: object) -> None:
    """Without a name it is region_1, region_2 and so on."""
    if _session.state != _INITIALIZED:
        _out_of_order("Cannot start a region here")
        return
    _session.n_regions += 1
    given = name[0] if name else None
    _session.open_region(given if isinstance(given, str) and given else f"region_{_session.n_regions}")


def start_profile(*ignored: object) -> None:
    """Counts until end_profile, in this thread."""
    if _session.state != _IN_REGION:
        _out_of_order("Cannot start profiling here")
        return
    _session.open_profile()


def end_profile(*ignored: object) -> None:
    """Adds what was counted to the region."""
    if _session.state != _IN_PROFILE:
        _out_of_order("No profile to end")
        return
    _session.add_profile()


def end_region(*ignored: object) -> None:
    """Saves the region."""
    if _session.state == _IN_PROFILE:
        _out_of_order("Implicitly ending profile with call to end region")
        _session.add_profile()
    if _session.state == _IN_REGION:
        _session.save_region()
    else:
        _out_of_order("No region to end")


def finalize(*ignored: object) -> None:
    """Closes everything; init may follow."""
    if _session.state == _NOT_STARTED:
        _out_of_order("Can't finalize before initialization")
        return
    if _session.state != _INITIALIZED:
        _out_of_order("Finalize called out of order")
    if _session.state == _IN_PROFILE:
        _session.add_profile()
    if _session.state == _IN_REGION:
        _session.save_region()
    assert _session.ranks
    _aside(_session.ranks.leave)
    _session.ranks = _session.dump = _session.counting = None
    _session.state = _NOT_STARTED


def main() -> None:
    from allranks._launch import complain

    complain("pyperfdump: a module for programs to import, with nothing to run (try: allranks run --as pyperfdump SCRIPT)")
    sys.exit(2)


if __name__ == "__main__":
    main()
